/**
 * TensorFlow's first example of a script op once more, with the body as NumPy has it: arrays of numpy-ts.
 *
 * `deno run examples/numpy.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";
import { type NDArray, np, pyFunc } from "@weft/weft/numpy";

/** Gets an array of numpy-ts with the value of the placeholder below. */
export const myFunc = (x: NDArray): unknown => np.sinh(x);

async function main(): Promise<void> {
  const graph = new tf.Graph();
  const { input, y } = graph.asDefault(() => {
    const input = tf.placeholder("float32");
    return { input, y: pyFunc(myFunc, [input], "float32") };
  });
  await using session = new tf.Session({ graph });
  const values = [0, 1, -2];
  const sinh = await session.run(y, { feeds: new Map([[input, values]]) }) as tf.NdArray;
  console.log("sinh", sinh.toArray());
  values.forEach((x, i) => {
    if (!(Math.abs(Number(sinh.get(i)) - Math.sinh(x)) <= 1e-5)) {
      throw new Error(`Expected ${Math.sinh(x)}, received ${sinh.get(i)}`);
    }
  });
}

if (import.meta.main) await main();
