/**
 * TensorFlow's example of `tf.numpy_function`: a host function inside a traced function.
 *
 * `deno run examples/tf_function.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

/** Gets a host array with the value of the input of the traced function. */
export const myNumpyFunc = (x: tf.NdArray): tf.NdArray => x.map((v) => Math.sinh(Number(v)));

async function main(): Promise<void> {
  // An unknown rank in the signature: one trace serves every shape.
  const f = tf.function((input: tf.Tensor) => {
    const y = tf.numpyFunction(myNumpyFunc, [input], "float32");
    return tf.mul(y, y);
  }, { inputSignature: [tf.TensorSpec(null, "float32")] });

  const one = f(tf.constant(1));
  console.log(`f(1) = ${one.item()}`);
  expect(one.item(), 1.3810978);
  const two = f(tf.constant([0, 2]));
  console.log("f([0, 2]) =", two.arraySync());
  expect((two.arraySync() as number[])[1], Math.sinh(2) ** 2);
  console.log(`Traced ${f.traceCount} time`);
  expect(f.traceCount, 1);

  // Where the body must be awaited, so must the call.
  const slow = tf.function((x: tf.Tensor) =>
    tf.numpyFunction(
      async (a: tf.NdArray) => {
        await Promise.resolve();
        return a.map((v) => Number(v) + 1);
      },
      [x],
      tf.TensorSpec([], "float32"),
    )
  );
  const later = await slow.async(tf.constant(1));
  console.log(`An async body: ${later.item()}`);
  expect(later.item(), 2);
  try {
    slow(tf.constant(1));
    throw new Error("Expected an error for a call that cannot wait");
  } catch (e) {
    if (!(e instanceof tf.errors.FailedPreconditionError)) throw e;
    console.log("Without await:", e.message.split("\n")[0]);
  }
}

function expect(actual: unknown, wanted: number): void {
  if (!(Math.abs(Number(actual) - wanted) <= 1e-5 * Math.max(1, Math.abs(wanted)))) {
    throw new Error(`Expected ${wanted}, received ${actual}`);
  }
}

if (import.meta.main) await main();
