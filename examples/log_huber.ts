/**
 * TensorFlow's own example of `tf.py_function`: a loss with a branch on values, written as plain code, run by a graph and
 * differentiated through it.
 *
 * `deno run examples/log_huber.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

/** The square up to `m`, and beyond it something that grows like the logarithm of the square. */
export const logHuber = (x: tf.Tensor, m: tf.Tensor): tf.Tensor =>
  tf.abs(x).item() <= m.item()
    ? tf.square(x)
    : tf.mul(tf.square(m), tf.add(tf.sub(1, tf.mul(2, tf.log(m))), tf.log(tf.square(x))));

/** The graph: two placeholders, the script, its gradient. */
export function buildGraph(): { x: tf.Tensor; m: tf.Tensor; y: tf.Tensor; dx: tf.Tensor } {
  return new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32"), m = tf.placeholder("float32");
    const y = tf.pyFunction(logHuber, [x, m], "float32");
    return { x, m, y, dx: tf.gradients(y, [x])[0]! };
  });
}

async function main(): Promise<void> {
  const { x, m, y, dx } = buildGraph();
  const session = new tf.Session({ graph: y.graph });
  for (const value of [1, -0.5, 3, -4]) {
    const [loss, slope] = await session.run([y, dx], { feeds: new Map([[x, value], [m, 2]]) });
    console.log(`x = ${value}, m = 2: loss ${loss}, dloss/dx ${slope}`);
    const isSmall = Math.abs(value) <= 2;
    expect(loss, isSmall ? value ** 2 : 4 * (1 - 2 * Math.log(2) + Math.log(value ** 2)));
    expect(slope, isSmall ? 2 * value : 8 / value);
  }
  await session.close();

  // The same function needs no graph: eagerly it is an ordinary function, and `tf.grad` goes through it as well.
  const eager = tf.grad((t) => tf.pyFunction(logHuber, [t, tf.scalar(2)], "float32"))(tf.scalar(3));
  console.log(`Without a graph at x = 3: dloss/dx ${eager.item()}`);
  expect(eager.item(), 8 / 3);
  console.log("All as computed by hand");
}

function expect(actual: unknown, wanted: number): void {
  if (!(Math.abs(Number(actual) - wanted) <= 1e-5 * Math.max(1, Math.abs(wanted)))) {
    throw new Error(`Expected ${wanted}, received ${actual}`);
  }
}

if (import.meta.main) await main();
