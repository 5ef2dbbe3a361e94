/** Objects that are made once and reused: kernels, launches, plans, constants. A regression would only cost time. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import type { Device } from "../../src/engine/core/device.ts";
import { setTracer } from "../../src/engine/core/trace.ts";
import { defaultDevice } from "../../src/engine/runtime/devices/devices.ts";
import { lookups } from "../../src/engine/runtime/eager/launch_cache.ts";
import { testOnDevices } from "../devices.ts";

/** Counts of the work done. */
interface Work {
  /** Kernels that the device prepared. */
  kernels: number;
  /** Host arrays that it took. */
  uploads: number;
  /** Plans made. */
  plans: number;
  /** Segments prepared for shapes they did not know. */
  segments: number;
  /** Kernels that ran in plans; those that a GPU did again from memory are dispatches. */
  runs: number;
  /** Dispatches, on a GPU. */
  dispatches: number;
  /** Applications of ops that were looked for by their texts. */
  texts: number;
}

/** Counts what `fn` does on the default device. */
async function workOf(fn: () => unknown): Promise<Work> {
  const work = { kernels: 0, uploads: 0, plans: 0, segments: 0, runs: 0, dispatches: 0, texts: 0 };
  const before = lookups.byText;
  const device = defaultDevice() as Device & Record<"prepare" | "upload", unknown>;
  const { prepare, upload } = device;
  device.prepare = (...args: Parameters<typeof prepare>) => {
    work.kernels++;
    return prepare.apply(device, args);
  };
  device.upload = (...args: Parameters<typeof upload>) => {
    work.uploads++;
    return upload.apply(device, args);
  };
  setTracer(({ name, category, track, details }) => {
    if (category === "plan" && name === "plan") work.plans++;
    if (category === "plan" && name === "prepare") work.segments++;
    if (category === "step" && details?.kernel !== undefined) work.runs++;
    if (category === "dispatch" && track === "host") work.dispatches++;
  });
  try {
    await fn();
  } finally {
    setTracer(null);
    Reflect.deleteProperty(device, "prepare");
    Reflect.deleteProperty(device, "upload");
  }
  work.texts = lookups.byText - before;
  return work;
}

/** Returns a shape that no other test in this file uses, so that nothing is cached for it. */
let next = 2000;
const fresh = (): number => next++;

testOnDevices("an op that was applied before needs no new kernel", async () => {
  const n = fresh();
  using x = tf.ones([n, 2]), y = tf.ones([n, 3]);
  const kernels = async (fn: () => tf.Tensor): Promise<number> =>
    (await workOf(() => fn().dispose())).kernels;
  assertEquals(await kernels(() => tf.cumsum(x)), 1);
  assertEquals(await kernels(() => tf.cumsum(x)), 0);
  // Another shape, another attribute, another value of a host input, another dtype.
  assertEquals(await kernels(() => tf.cumsum(y)), 1);
  assertEquals(await kernels(() => tf.cumsum(x, 0, true)), 1);
  assertEquals(await kernels(() => tf.cumsum(x, 1)), 1);
  using whole = tf.cast(x, "int32");
  assertEquals(await kernels(() => tf.cumsum(whole)), 1);
  for (const again of [x, y, whole]) assertEquals(await kernels(() => tf.cumsum(again)), 0);
  assertEquals(await kernels(() => tf.cumsum(x, 0, true)), 0);
});

testOnDevices(
  "an op is found again among more applications than are compared one by one",
  async () => {
    const list = Array.from({ length: 40 }, () => tf.ones([fresh()]));
    const apply = async (xs: readonly tf.Tensor[]): Promise<number[]> => {
      const { kernels, texts } = await workOf(() => xs.forEach((x) => tf.expm1(x).dispose()));
      return [kernels, texts];
    };
    // Sixteen are found by comparing, the others by a text; none is prepared again.
    assertEquals(await apply(list.slice(0, 16)), [16, 16]);
    for (let i = 0; i < 2; i++) assertEquals(await apply(list.slice(0, 16)), [0, 0]);
    assertEquals(await apply(list.slice(16)), [24, 24]);
    assertEquals((await apply(list))[0], 0);
    assertEquals(await apply([list[30], list[30]]), [0, 1]);
    tf.dispose(list);
  },
);

testOnDevices("a function is planned once and prepared once for each of eight shapes", async () => {
  const f = tf.function((x: tf.Tensor) => tf.cumsum(tf.reverse(x, [0])), {
    inputSignature: [tf.TensorSpec([null], "float32")],
  });
  const xs = Array.from({ length: 9 }, () => tf.ones([fresh()]));
  const call = (list: readonly tf.Tensor[]): Promise<Work> =>
    workOf(() => list.forEach((x) => tf.dispose(f(x))));
  assertEquals((await call(xs.slice(0, 1))).plans, 1);
  const first = await call(xs.slice(1, 8));
  assertEquals([first.plans, first.segments, first.kernels], [0, 7, 14]);
  const again = await call(xs.slice(0, 8));
  assertEquals([again.plans, again.segments, again.kernels], [0, 0, 0]);
  // A ninth takes the place of one; the seven others are still there.
  assertEquals((await call(xs.slice(8))).segments, 1);
  assertEquals((await call(xs.slice(1))).segments, 0);
  assertEquals((await call(xs.slice(0, 1))).segments, 1);
  tf.dispose(xs);
});

const BODIES: Readonly<Record<string, (v: tf.NdArray) => tf.NdArray | Promise<tf.NdArray>>> = {
  "a script": (v) => v,
  "a script that awaits": (v) => Promise.resolve(v),
};
for (const [what, body] of Object.entries(BODIES)) {
  testOnDevices(`what lies around ${what} is prepared once for each shape`, async (device) => {
    // On the CPU both sums have one kernel.
    const all = device === "cpu" ? 2 : 3, graph = new tf.Graph();
    const { x, y } = graph.asDefault(() => {
      const x = tf.placeholder("float32", [null], "x");
      const spec = tf.TensorSpec([null], "float32");
      const middle = tf.numpyFunction(body, [tf.cumsum(x)], spec);
      return { x, y: tf.reverse(tf.cumsum(middle), [0]) };
    });
    await using sess = new tf.Session({ graph });
    const run = async (n: number): Promise<number[]> => {
      const feeds = new Map([[x, new Float32Array(n)]]);
      const { plans, segments, kernels } = await workOf(() => sess.run(y, { feeds }));
      return [plans, segments, kernels];
    };
    const [n, m] = [fresh(), fresh()];
    assertEquals(await run(n), [1, 2, all]);
    assertEquals(await run(m), [0, 2, all]);
    for (const length of [n, m, n]) assertEquals(await run(length), [0, 0, 0]);
  });
}

testOnDevices("a session plans once for each set of fetches and feeds", async () => {
  const graph = new tf.Graph();
  const n = fresh();
  const { x, y, z } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [n], "x"), y = tf.cumsum(x);
    return { x, y, z: tf.reverse(y, [0]) };
  });
  await using sess = new tf.Session({ graph });
  const value = new Float32Array(n);
  const plans = async (fetches: tf.Tensor | tf.Tensor[], fed: tf.Tensor): Promise<number> =>
    (await workOf(() => sess.run(fetches as tf.Tensor, { feeds: new Map([[fed, value]]) }))).plans;
  assertEquals(await plans(z, x), 1);
  assertEquals(await plans(z, x), 0);
  assertEquals(await plans([y, z], x), 1);
  assertEquals(await plans(z, y), 1);
  for (const [fetches, fed] of [[z, x], [[y, z], x], [z, y]] as const) {
    const work = await workOf(() =>
      sess.run(fetches as tf.Tensor, { feeds: new Map([[fed, value]]) })
    );
    assertEquals([work.plans, work.segments, work.kernels], [0, 0, 0]);
  }
});

testOnDevices("constants of a plan go to the device once, feeds at each run", async () => {
  const n = fresh();
  const large = new tf.NdArray("float32", [n], new Float32Array(n).fill(2));
  const body = (x: tf.Tensor): tf.Tensor => {
    const c = tf.constant(large);
    return tf.cumsum(tf.mul(tf.cumsum(tf.mul(x, c)), c));
  };
  const f = tf.function(body);
  using x = tf.ones([n]);
  assertEquals((await workOf(() => tf.dispose(f(x)))).uploads, 1);
  for (let i = 0; i < 3; i++) assertEquals((await workOf(() => tf.dispose(f(x)))).uploads, 0);

  const graph = new tf.Graph();
  const [p, y] = graph.asDefault(() => {
    const p = tf.placeholder("float32", [n], "p");
    return [p, body(p)];
  });
  await using sess = new tf.Session({ graph });
  const run = (): Promise<unknown> => sess.run(y, { feeds: new Map([[p, new Float32Array(n)]]) });
  assertEquals((await workOf(run)).uploads, 2);
  for (let i = 0; i < 3; i++) assertEquals((await workOf(run)).uploads, 1);
});

/** Pieces that are one kernel in a plan; on the GPU alone where only it has one. */
const ONE: Readonly<Record<string, (x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) => tf.Tensor>> = {
  "a product, a bias of one row and an activation": (x, w, b) =>
    tf.relu(tf.add(tf.matMul(x, w), tf.reshape(b, [1, 8]))),
  "a product and a bias": (x, w, b) => tf.add(b, tf.matMul(x, w)),
  "pointwise ops": (x) => tf.tanh(tf.add(tf.mul(x, 0.5), x)),
  "softmax written out": (x) => {
    const e = tf.exp(tf.sub(x, tf.max(x, -1, true)));
    return tf.div(e, tf.sum(e, -1, true));
  },
  "a mean of squares": (x) => tf.mean(tf.square(tf.sub(x, 1)), 1),
};

testOnDevices("what passes join is one kernel at every call", async (device) => {
  using x = tf.ones([6, 4]), w = tf.ones([4, 8]), b = tf.ones([8]);
  for (const [name, body] of Object.entries(ONE)) {
    const f = tf.function(body);
    const first = await workOf(() => tf.dispose(f(x, w, b)));
    assertEquals(first.runs, 1, `${name}, first`);
    for (let i = 0; i < 2; i++) {
      const work = await workOf(() => tf.dispose(f(x, w, b)));
      const done = device === "cpu" ? work.runs : work.dispatches;
      assertEquals([work.kernels, work.segments, done], [0, 0, 1], `${name}, again`);
    }
  }
});
