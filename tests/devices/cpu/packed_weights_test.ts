/** Weights that kernels copy before they read them: constants once for a plan, variables once for a value. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { CpuDevice } from "../../../src/engine/devices/cpu/cpu_device.ts";
import { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { cpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { ENGINES } from "./engines.ts";
import { op, runFast } from "./kernel_runs.ts";

const { engine } = cpuDevice() as CpuDevice;

/** Numbers between -1 and 1. */
const random = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i * i));

/** Counts the packings of a matrix by calls. */
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

Deno.test("a constant that is only read packed lies in memory once; one that is also read as it is, twice", async () => {
  await tf.setBackend("cpu");
  const [k, n] = SHAPES[0], bytes = 4 * k * n, x = tf.tensor(random(8 * k), [8, k]);
  const data = WEIGHTS[0].arraySync() as number[][];
  const held = (f: (x: tf.Tensor, w: tf.Tensor) => tf.Tensor): number => {
    const before = engine!.heap.liveBytes;
    const g = tf.function((x: tf.Tensor) => f(x, tf.constant(data)));
    const [first, second] = [g(x), g(x)], wanted = tf.tidy(() => f(x, WEIGHTS[0]));
    const [a, b, c] = [first, second, wanted].map((y) => y.dataSync());
    assertEquals(a, b);
    for (let i = 0; i < c.length; i += 97) assertAlmostEquals(a[i]!, c[i]!, 1e-4);
    tf.dispose([first, second, wanted]);
    const { liveBytes } = engine!.heap;
    return (liveBytes - before) / bytes;
  };
  const packed = held((x, w) => tf.matMul(x, w));
  assert(packed >= 1 && packed < 1.3, `${packed} times its bytes`);
  const both = held((x, w) => tf.add(tf.matMul(x, w), tf.max(tf.mul(w, tf.mean(x)))));
  assert(both >= 2 && both < 2.4, `${both} times its bytes`);
  x.dispose();
});

Deno.test("products whose rows are computed in several blocks read packed matrices in each", () => {
  for (const [, { features }] of ENGINES) {
    const own = new Engine(features);
    for (const [m, k, n] of [[400, 130, 300], [193, 130, 300], [6200, 40, 20]] as const) {
      for (const transpose_a of [true, false]) {
        for (const transpose_b of [true, false]) {
          const shapes = [transpose_a ? [k, m] : [m, k], transpose_b ? [n, k] : [k, n]];
          const inputs = shapes.map((s) => new tf.NdArray("float32", s, random(s[0]! * s[1]!)));
          // It compares what packed matrices give with what others do.
          runFast(own, op("MatMul"), inputs, { transpose_a, transpose_b });
        }
      }
    }
  }
});

/** A traced network over variables of its own, and what calls of it cost. */
async function overVariables() {
  await tf.setBackend("cpu");
  // Variables have memory of their own.
  const variables = tf.tidy(() => WEIGHTS.map((w) => tf.variable(tf.mul(w, 1))));
  const f = tf.function((x: tf.Tensor) => network(x, variables));
  const x = tf.tensor(random(1280), [8, 160]);
  return {
    variables,
    run: () => packings(() => tf.dispose(f(x))),
    /** That the function computes what its variables say now. */
    check() {
      const [got, wanted] = tf.tidy(() =>
        [f(x), network(x, variables)].map((y) => (y as tf.Tensor).dataSync())
      );
      for (let i = 0; i < got!.length; i += 97) assertAlmostEquals(got![i]!, wanted![i]!, 1e-4);
    },
    [Symbol.dispose]: () => tf.dispose([x, ...variables]),
  };
}

Deno.test("variables are packed once for all runs that find them as they were", async () => {
  using net = await overVariables();
  const atEach = await net.run(), { numBytes, numTensors } = tf.memory();
  const { liveBytes } = engine!.heap;
  assertEquals([await net.run(), await net.run()], [WEIGHTS.length, 0]);
  net.check();
  const kept = tf.memory();
  assert(kept.numBytes > numBytes);
  assertEquals(kept.numTensors, numTensors);

  const [w, f] = net.variables as [tf.Variable, tf.Variable, tf.Variable];
  tf.tidy(() => {
    w.assign(tf.mul(w, 2));
    f.assignAdd(tf.onesLike(f));
  });
  assert(tf.memory().numBytes < kept.numBytes);
  net.check();
  // The run in the check met new values.
  assertEquals([await net.run(), await net.run()], [2, 0]);
  net.check();
  assertEquals(tf.memory().numBytes, kept.numBytes);

  // Values that each run finds changed are packed as if nothing were ever kept.
  for (let i = 0; i < 3; i++) {
    tf.tidy(() => net.variables.forEach((v) => v.assign(v.readValue())));
    assertEquals(await net.run(), atEach);
    assertEquals(tf.memory().numBytes, numBytes);
  }
  assertEquals(engine!.heap.liveBytes, liveBytes);
});

Deno.test("a function over variables gives the same bits at each run", async () => {
  await tf.setBackend("cpu");
  for (const rows of [1, 2, 3, 4, 9]) {
    using w = tf.variable(WEIGHTS[0]!);
    using x = tf.tensor(random(160 * rows), [rows, 160]);
    const f = tf.function((x: tf.Tensor) => tf.relu(tf.matMul(x, w)));
    const [first, second, third] = tf.tidy(() => [f(x), f(x), f(x)].map((y) => y.dataSync()));
    assertEquals(second, first, `${rows} rows`);
    assertEquals(third, first, `${rows} rows`);
  }
});

Deno.test("a run that assigns a packed variable reads its new value afterwards", async () => {
  await tf.setBackend("cpu");
  using v = tf.variable(WEIGHTS[0]!);
  using x = tf.tensor(random(1280), [8, 160]);
  const f = tf.function((x: tf.Tensor) => {
    const before = tf.matMul(x, v);
    v.assign(tf.mul(v, 2));
    return [before, tf.matMul(x, v)];
  });
  const read = tf.function((x: tf.Tensor) => tf.matMul(x, v));
  for (let i = 0; i < 3; i++) {
    tf.dispose([read(x), read(x), read(x)]);
    const [before, after] = tf.tidy(() => (f(x) as tf.Tensor[]).map((y) => y.dataSync()));
    for (let k = 0; k < after!.length; k += 97) {
      assertAlmostEquals(after![k]!, 2 * before![k]!, 1e-3 * 2 ** i);
    }
  }
});

Deno.test("rows of a packed variable can be written where they are", async () => {
  using net = await overVariables();
  const [w] = net.variables as [tf.Variable];
  for (let i = 0; i < 3; i++) await net.run();
  using rows = tf.fill([2, 1152], 3);
  using places = tf.tensor([0, 7], [2], "int32");
  const slices = new tf.IndexedSlices(rows, places, [160, 1152]);
  w.scatterUpdate(slices);
  for (let i = 0; i < 3; i++) net.check();
});

Deno.test("a step of training packs no more than it reads, and keeps nothing", async () => {
  using net = await overVariables();
  const optimizer = tf.train.sgd(1e-3);
  using x = tf.tensor(random(1280), [8, 160]);
  const step = tf.function((x: tf.Tensor) =>
    optimizer.minimize(() => tf.mean(tf.square(network(x, net.variables))), true)!
  );
  tf.dispose(step(x));
  const { numBytes } = tf.memory(), first = await packings(() => tf.dispose(step(x)));
  for (let i = 0; i < 4; i++) assertEquals(await packings(() => tf.dispose(step(x))), first);
  assertEquals(tf.memory().numBytes, numBytes);
});

Deno.test("disposing a variable gives back what was packed of it", async () => {
  await tf.setBackend("cpu");
  const use = async (): Promise<void> => {
    using net = await overVariables();
    for (let i = 0; i < 3; i++) await net.run();
  };
  await use();
  const { numBytes, numDataBuffers } = tf.memory(), { liveBytes } = engine!.heap;
  await use();
  assertEquals([tf.memory().numBytes, tf.memory().numDataBuffers], [numBytes, numDataBuffers]);
  assertEquals(engine!.heap.liveBytes, liveBytes);
});
