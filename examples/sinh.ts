/**
 * TensorFlow's first example of a script op: NumPy's `sinh` as an operation in the graph, by its old and by its new name.
 *
 * `deno run examples/sinh.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

/** Gets a host array with the value of the placeholder below. */
export const sinh = (x: tf.NdArray): tf.NdArray => x.map((v) => Math.sinh(Number(v)));

async function main(): Promise<void> {
  const graph = new tf.Graph();
  const { input, y, twice, dx } = graph.asDefault(() => {
    const input = tf.placeholder("float32", [null]);
    const y = tf.compat.v1.pyFunc(sinh, [input], "float32");
    // What the documentation says of TensorFlow's op holds here as well: the shape of the result is not known …
    if (y.staticShape !== null) {
      throw new Error(`Expected an unknown shape, received ${y.staticShape}`);
    }
    // … unless it is declared, and then it is checked. A gradient can be declared, too.
    const twice = tf.numpyFunction(sinh, [input], "float32", {
      stateful: false,
      shapeFn: (x) => x,
      vjp: ({ inputs: [x] }, dy) => [tf.mul(dy, tf.cosh(x))],
    });
    return { input, y, twice: tf.mul(2, twice), dx: tf.gradients(twice, [input])[0]! };
  });
  console.log(`Declared: ${tf.TensorSpec(twice.staticShape, twice.dtype)}`);

  const session = new tf.Session({ graph });
  const values = [0, 1, -2];
  const feeds = new Map([[input, values]]);
  const [a, b, c] = await session.run([y, twice, dx], { feeds }) as tf.NdArray[];
  console.log("sinh       ", a.toArray());
  console.log("2 sinh     ", b.toArray());
  console.log("d sinh / dx", c.toArray());
  values.forEach((x, i) => {
    expect(a.get(i), Math.sinh(x));
    expect(b.get(i), 2 * Math.sinh(x));
    expect(c.get(i), Math.cosh(x));
  });
  await session.close();
  console.log("All as Math.sinh and Math.cosh have it");
}

function expect(actual: unknown, wanted: number): void {
  if (!(Math.abs(Number(actual) - wanted) <= 1e-6 * Math.max(1, Math.abs(wanted)))) {
    throw new Error(`Expected ${wanted}, received ${actual}`);
  }
}

if (import.meta.main) await main();
