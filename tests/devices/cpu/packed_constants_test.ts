/** Constants that kernels copy before they read them: once for a plan, and given back with it. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { CpuDevice } from "../../../src/devices/cpu/cpu_device.ts";
import { cpuDevice } from "../../../src/runtime/devices.ts";

const { engine } = cpuDevice() as CpuDevice;

/** Numbers between -1 and 1. */
const random = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i * i));

/** How often calls packed a matrix. */
async function packings(run: () => unknown): Promise<number> {
  const before = engine!.packings;
  await run();
  return engine!.packings - before;
}

/** A product and two convolutions whose filters are packed: of many places, and of few outputs. */
function network(x: tf.Tensor, [w, f, g]: readonly tf.Tensor[]): tf.Tensor {
  const image = tf.reshape(tf.relu(tf.matMul(x, w!)), [-1, 12, 12, 8]);
  const wide = tf.relu(tf.conv2d(image as tf.Tensor4D, f as tf.Tensor4D, 1, "same"));
  return tf.conv2d(wide, g as tf.Tensor4D, 1, "same");
}
const SHAPES = [[160, 1152], [3, 3, 8, 96], [3, 3, 96, 4]] as const;
const WEIGHTS = SHAPES.map((shape) =>
  tf.tensor(random(shape.reduce((n: number, d) => n * d, 1)), [...shape])
);

Deno.test("a session packs constants at its first run, and gives them back when it is closed", async () => {
  await tf.setBackend("cpu");
  const graph = new tf.Graph();
  const { x, y } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 160], "x");
    return { x, y: network(x, WEIGHTS.map((w) => tf.constant(w.arraySync() as number[]))) };
  });
  const use = async (): Promise<void> => {
    await using session = new tf.Session({ graph });
    for (const batch of [8, 16]) {
      const values = tf.tensor(random(160 * batch), [batch, 160]), feeds = new Map([[x, values]]);
      let first: tf.NdArray;
      const run = async () => first = await session.run(y, { feeds }) as tf.NdArray;
      // Another batch has kernels of its own, and reads what is packed alike.
      assertEquals(await packings(run), batch === 8 ? WEIGHTS.length : 0);
      assertEquals(await packings(() => session.run(y, { feeds })), 0);
      const eager = tf.tidy(() => network(values, WEIGHTS)), wanted = eager.dataSync();
      const got = first!.data as Float32Array;
      for (let i = 0; i < got.length; i += 97) assertAlmostEquals(got[i]!, wanted[i]!, 1e-4);
      tf.dispose([eager, values]);
    }
  };
  await use();
  const live = engine!.heap.liveBytes;
  await use();
  assertEquals(engine!.heap.liveBytes, live);
});

Deno.test("variables are packed at each run, as they may change", async () => {
  await tf.setBackend("cpu");
  const variables = WEIGHTS.map((w) => tf.variable(w));
  const f = tf.function((x: tf.Tensor) => network(x, variables));
  const x = tf.tensor(random(1280), [8, 160]);
  tf.dispose(f(x));
  assert(await packings(() => tf.dispose(f(x))) > 0);
  variables[0]!.assign(tf.zerosLike(variables[0]!));
  const y = f(x) as tf.Tensor;
  assertEquals(Math.max(...y.dataSync()), 0);
  tf.dispose([y, x, ...variables]);
});
