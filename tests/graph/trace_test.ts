/** trace(): what happened when; and what runs are told of themselves. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { tracer } from "../../src/engine/core/trace.ts";
import { kernelText } from "../../src/engine/runtime/debug.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";

const spec = tf.TensorSpec([4], "float32");

/** Matrix products around a script. */
function scriptInTheMiddle(body: (v: tf.NdArray) => tf.NdArray | Promise<tf.NdArray>): {
  x: tf.Tensor;
  y: tf.Tensor;
  graph: tf.Graph;
} {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const x = tf.placeholder("float32", [4], "x");
    const y = tf.cumsum(tf.numpyFunction(body, [tf.cumsum(x)], spec, { name: "middle" }));
    return { x, y, graph };
  });
}

testOnDevices("trace() tells what a run did, in spans that lie within it", async (device) => {
  const { x, y, graph } = scriptInTheMiddle((v) => v);
  await using sess = new tf.Session({ graph });
  const { result, trace } = await tf.trace(() =>
    sess.run(y, { feeds: new Map([[x, [1, 2, 3, 4]]]) })
  );
  assertEquals((result as tf.NdArray).toArray(), [1, 4, 10, 20]);
  assertEquals(tracer, null);
  const { traceEvents } = JSON.parse(JSON.stringify(trace)) as tf.Trace;
  // A span that is awaited has two events.
  const begun = traceEvents.filter((e) => e.ph === "X" || e.ph === "b");
  const count = (cat: string): number => begun.filter((e) => e.cat === cat).length;
  const onGpu = device === "webgpu";
  assertEquals(
    ["run", "script", "readback", "upload"].map((c) => count(c)),
    // The run and the script end at once; feeds and the script's result go up.
    [1, 1, onGpu ? 2 : 0, onGpu ? 2 : 0],
  );
  assert(count("plan") >= 1 && count("pass") >= 1 && count("step") >= 3);
  assertEquals(count("dispatch") > 0, onGpu);
  const run = traceEvents.find((e) => e.cat === "run")!;
  const endOf = (e: tf.Trace["traceEvents"][number]): number =>
    e.ph === "X"
      ? e.ts + e.dur!
      : traceEvents.find((other) => other.ph === "e" && other.id === e.id)!.ts;
  for (const e of begun.filter((e) => e.tid === run.tid)) {
    assert(e.ts >= run.ts && endOf(e) <= endOf(run) + 0.01, `${e.name} leaves the run`);
  }
});

testOnDevices("trace() tells of bodies that are awaited as spans that may overlap", async () => {
  const { x, y, graph } = scriptInTheMiddle(async (v) => {
    await Promise.resolve();
    return v;
  });
  await using sess = new tf.Session({ graph });
  const run = (): Promise<unknown> => sess.run(y, { feeds: new Map([[x, [1, 2, 3, 4]]]) });
  const { trace } = await tf.trace(() => Promise.all([run(), run()]));
  const of = (ph: string): string[] =>
    trace.traceEvents.filter((e) => e.ph === ph && e.cat === "script").map((e) => e.name);
  assertEquals(of("b"), ["PyFunc middle", "PyFunc middle"]);
  assertEquals(of("e"), of("b"));
  const runs = trace.traceEvents.filter((e) => e.cat === "run" && e.ph !== "e");
  assertEquals(runs.map((e) => e.name), ["Session.run", "Session.run"]);
});

Deno.test("trace() passes on what the function throws, and stops listening", async () => {
  await assertRejects(() => tf.trace(() => Promise.reject(new RangeError("no"))), RangeError, "no");
  assertEquals(tracer, null);
});

Deno.test({
  name: "trace() shows dispatches by the GPU's own clock, where there is one [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const adapter = await navigator.gpu.requestAdapter();
    using x = tf.ones([64, 64]);
    const { result, trace } = await tf.trace(() => tf.tidy(() => tf.matMul(tf.softmax(x), x)));
    const dispatches = trace.traceEvents.filter((e) => e.cat === "dispatch");
    const gpu = dispatches.filter((e) => e.tid === 2), host = dispatches.filter((e) => e.tid === 1);
    assertEquals(
      gpu.map((e) => e.name),
      adapter!.features.has("timestamp-query") ? host.map((e) => e.name) : [],
    );
    for (const [i, e] of gpu.entries()) assert(e.ts >= host[i]!.ts, `${e.name} ran too early`);
    assertEquals(result.dataSync()[0], 1);
    result.dispose();
    await tf.setBackend("cpu");
  },
});

testOnDevices("kernels are described when they are prepared: key, workgroups, source", (device) => {
  const texts: string[] = [];
  kernelTrace.print = (kernel) => texts.push(kernelText(kernel));
  try {
    // A shape that no other test uses is prepared here.
    const f = tf.function((x: tf.Tensor) => tf.neg(tf.cumsum(tf.exp(x), 1)));
    using x = tf.ones([3, 1237]);
    (f(x) as tf.Tensor).dispose();
  } finally {
    kernelTrace.print = null;
  }
  const exp = texts.find((t) => /^(Exp|_FusedPointwise) by "/.test(t))!;
  assert(exp.includes("float32[3,1237] -> float32[3,1237]"), exp);
  if (device === "webgpu") {
    assert(/on \/device:GPU:0: .*\n {2}key .* workgroups \d+×1×1\n[^]*@compute/.test(exp), exp);
  } else assert(/on \/device:CPU:0: .*\n {2}key pointwise /.test(exp), exp);
});

Deno.test({
  name: "metadata counts what its own run did, also where runs overlap [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const { x, y, graph } = scriptInTheMiddle(async (v) => {
      await Promise.resolve();
      return v;
    });
    await using sess = new tf.Session({ graph });
    const run = async (): Promise<tf.RunMetadata> => {
      const metadata = {};
      await sess.run(y, { feeds: new Map([[x, [1, 2, 3, 4]]]), metadata });
      return metadata as tf.RunMetadata;
    };
    await run();
    const alone = await run();
    assertEquals(
      [alone.dispatches, alone.readbacks, alone.bytesToHost, alone.bytesToDevice, alone.hostCalls],
      [2, 2, 32, 32, 1],
    );
    for (const one of await Promise.all([run(), run(), run()])) {
      const { dispatches, readbacks, bytesToHost, bytesToDevice, hostCalls } = one;
      assertEquals([dispatches, readbacks, bytesToHost, bytesToDevice, hostCalls], [
        2,
        2,
        32,
        32,
        1,
      ]);
    }
    await tf.setBackend("cpu");
  },
});

testOnDevices("metadata counts the call of a body that reads constants alone, once", async () => {
  const graph = new tf.Graph(), calls: number[] = [];
  const y = graph.asDefault(() => {
    const double = (a: tf.NdArray) => a.map((v) => 2 * Number(v));
    return tf.numpyFunction(double, [tf.constant([1, 2])], "float32", { stateful: false });
  });
  await using sess = new tf.Session({ graph });
  for (let i = 0; i < 2; i++) {
    const metadata = {};
    assertEquals((await sess.run(y, { metadata }) as tf.NdArray).toArray(), [2, 4]);
    calls.push((metadata as tf.RunMetadata).hostCalls);
  }
  assertEquals(calls, [1, 0]);
});

testOnDevices("trace().table() adds up count, time and bytes by op", async (device) => {
  const f = tf.function((x: tf.Tensor) => {
    const y = tf.numpyFunction((v: tf.NdArray) => v, [tf.cumsum(x)], spec, { name: "middle" });
    return tf.cumsum(y);
  });
  using x = tf.ones([4]);
  (await f.async(x)).dispose();
  const { result, table } = await tf.trace(() => f.async(x));
  result.dispose();
  const [head, ...lines] = table().split("\n").map((line) => line.split(/\s{2,}/));
  assertEquals(head, ["op", "work", "device", "count", "ms", "bytes"]);
  const of = (op: string) =>
    lines.filter(([name]) => name!.startsWith(op)).map((l) => l.slice(1, 4));
  const [work, on] = device === "cpu" ? ["step", "CPU"] : ["recording", "host"];
  assertEquals(of("Cumsum"), [[work, on, "2"]]);
  assertEquals(of("PyFunc middle"), [["script", "host", "1"]]);
  const readbacks = lines.filter(([name]) => name === "readback").map((l) => l.slice(3));
  assertEquals(
    readbacks.map(([count, , bytes]) => [count, bytes]),
    device === "cpu" ? [] : [["1", "16"]],
  );
  const times = lines.map((l) => Number(l[4]));
  assertEquals(times, times.toSorted((a, b) => b - a));
});

testOnDevices("profile() counts the kernels of the device that runs them", async (device) => {
  const x = tf.ones([8, 8]), one = tf.tensor([1], [1], "int32");
  const both = tf.function((x: tf.Tensor) => tf.matMul(tf.matMul(x, x), x));
  const unique = tf.function((x: tf.Tensor) => tf.unique(x).values);
  const v = tf.variable([1, 2]);
  const table: readonly [string, number, () => unknown][] = [
    ["one op", 1, () => tf.matMul(x, x)],
    ["ops one by one", 3, () => [tf.exp(x), tf.sum(x), tf.transpose(x)]],
    ["a step of two products", 2, () => both(x)],
    ["a variable", 1, () => v.assignAdd([1, 1])],
    ["views", 0, () => tf.reshape(x, [64])],
    ["nothing", 0, () => {}],
  ];
  both(x);
  for (const [name, kernels, fn] of table) {
    const { cpuKernels, dispatches, result } = await tf.profile(fn);
    tf.dispose(result);
    assertEquals([cpuKernels, dispatches], device === "cpu" ? [kernels, 0] : [0, kernels], name);
  }
  if (device !== "cpu") return;
  // Shapes that values decide, dtypes that vectors do not hold, loops without a vector kernel.
  const rest: readonly (() => unknown)[] = [
    () => unique(one),
    () => tf.unique(one),
    () => tf.add(tf.complex([1], [2]), tf.complex([1], [2])),
    () => tf.strings.length(tf.tensor(["a"])),
  ];
  for (const fn of rest) {
    const { cpuKernels } = await tf.profile(fn);
    assert(cpuKernels > 0, String(fn));
  }
});

testOnDevices("profile().table() prints the counts", async () => {
  const { result, table } = await tf.profile(() => tf.add([1], 2));
  result.dispose();
  const lines = table().split("\n").map((line) => line.split(/\s+/));
  assertEquals(lines.map(([name]) => name).includes("readbacks"), true);
  assertEquals(lines.find(([name]) => name === "hostCalls"), ["hostCalls", "0"]);
});

testOnDevices("ready() resolves to the default device and the reason for it", async (device) => {
  const type = device === "cpu" ? "CPU" : "GPU";
  assertEquals(await tf.ready(), { device: `/device:${type}:0`, reason: "setBackend() chose it" });
});

testOnDevices("trace() counts eager ops on both devices, those of steps once", async (device) => {
  const lines = async (fn: () => unknown): Promise<string[][]> => {
    const { table } = await tf.trace(fn);
    return table().split("\n").slice(1).map((line) => line.trim().split(/ {2,}/));
  };
  const x = tf.ones([64, 64]);
  const [line] = (await lines(() => tf.matMul(x, x))).filter(([op]) => /^matmul/i.test(op!));
  assertEquals(line?.slice(1, 4), device === "cpu" ? ["op", "CPU", "1"] : ["dispatch", "GPU", "1"]);
  if (device !== "cpu") return;
  assertEquals(line?.[5], String(4 * 64 * 64));
  const f = tf.function((x: tf.Tensor) => tf.tanh(tf.matMul(x, x)));
  f(x);
  assertEquals((await lines(() => f(x))).filter(([, work]) => work === "op"), []);
  const made = await lines(() => tf.moments(x, 1));
  assert(made.length > 0 && made.every(([, work]) => work === "op"), String(made));
});
