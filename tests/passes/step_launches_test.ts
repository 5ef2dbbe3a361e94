/** Steps of plans that are equal are prepared once: layers of a function, other functions, other values of its variables. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";

/** Counts the kernels that a call prepares on the CPU. */
async function prepared(call: () => Promise<unknown>): Promise<number> {
  const device = cpuDevice(), { prepare } = device;
  let count = 0;
  device.prepare = (def, problem) => {
    count++;
    return prepare.call(device, def, problem);
  };
  try {
    await call();
    return count;
  } finally {
    device.prepare = prepare;
  }
}

/** A function of layers alike, of an extent that no other test has. */
function layers(depth: number, slope: number, axis = -1) {
  return tf.function((x: tf.Tensor) => {
    let y = x;
    for (let i = 0; i < depth; i++) {
      const w = tf.fill([37, 37], 0.01 * (i + 1));
      y = tf.softmax(tf.maximum(tf.matMul(y, w), tf.mul(y, slope)));
      y = tf.add(y, tf.sum(y, axis, true));
    }
    return y;
  });
}

Deno.test("equal steps of plans on the CPU are prepared once", async () => {
  await tf.setBackend("cpu");
  const x = tf.ones([37, 37]), run = (f: ReturnType<typeof layers>) => prepared(() => f(x).data());
  const two = await run(layers(2, 0.5)), five = await run(layers(5, 0.5));
  assert(two > 0);
  assertEquals(five, 0, "further layers, and another function");
  assert(await run(layers(2, 0.25)) > 0, "another number within an expression");
  assert(await run(layers(2, 0.5, 0)) > 0, "another axis");
});

Deno.test("steps that share a launch have their own operands and constants", async () => {
  await tf.setBackend("cpu");
  const of = (scale: number, perm: number[]) =>
    tf.function((x: tf.Tensor) =>
      tf.relu(tf.matMul(tf.transpose(x, perm), tf.fill([3, 2], scale)))
    );
  const x = tf.reshape(tf.range(0, 9, 1, "float32"), [3, 3]);
  assertEquals(await of(1, [0, 1])(x).array(), [[3, 3], [12, 12], [21, 21]]);
  assertEquals(await of(2, [0, 1])(x).array(), [[6, 6], [24, 24], [42, 42]]);
  assertEquals(await of(1, [1, 0])(x).array(), [[9, 9], [12, 12], [15, 15]]);
});
