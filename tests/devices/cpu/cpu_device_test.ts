/** The CPU device: memory of tensors, kernels of either kind, environments that have less. */

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import {
  InternalError,
  InvalidArgumentError,
  ResourceExhaustedError,
  ValueError,
} from "../../../src/engine/core/errors.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Problem } from "../../../src/engine/core/op.ts";
import { CpuDevice } from "../../../src/engine/devices/cpu/cpu_device.ts";
import { CompileRefused, Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { loopsWarning } from "../../../src/engine/devices/cpu/prepare.ts";
import { i32 } from "../../../src/engine/devices/cpu/wasm/instructions.ts";
import { specId } from "../../../src/engine/runtime/eager/spec_id.ts";
import { problemOf } from "../../../src/library/testing/run_op.ts";
import { op } from "./kernel_runs.ts";

const features = { simd: true, relaxed: false, shared: false, fixed: false };

const scalar = (value: number): NdArray => new NdArray("int32", [], Int32Array.of(value));

function addProblem(dtype: "float32" | "float64" | "int32"): Problem {
  const spec = { dtype, shape: [3] };
  return {
    inputs: [spec, spec],
    hosts: [undefined, undefined],
    outputs: [spec],
    attrs: { T: dtype },
  };
}

/** Adds two arrays on a device; the name of the kernel and the result. */
function add(device: CpuDevice, dtype: "float32" | "float64" | "int32"): [string, number[]] {
  const problem = addProblem(dtype), [spec] = problem.inputs;
  const kernel = device.prepare(op("AddV2"), problem)!;
  const x = NdArray.zeros(dtype, [3]);
  (x.data as Float32Array).set([1, 2, 3]);
  const a = device.upload(x), b = device.upload(x);
  const [buffer] = kernel.run([a, b]);
  const [sum] = device.readSync([{ buffer, spec }]);
  [a, b, buffer].forEach((p) => device.free(p, spec));
  return [kernel.name, Array.from(sum.data as Float32Array)];
}

Deno.test("the device uses vector code where it has some, and loops elsewhere", () => {
  const device = new CpuDevice(new Engine(features));
  assertEquals(add(device, "float32"), ["simd", [2, 4, 6]]);
  assertEquals(add(device, "int32"), ["simd", [2, 4, 6]]);
  assertEquals(add(device, "float64"), ["loops", [2, 4, 6]]);
  assertEquals(device.engine!.heap.liveBytes, 0);
});

Deno.test("the device works without SIMD and without WebAssembly", () => {
  const plain = new CpuDevice(
    new Engine({ simd: false, relaxed: false, shared: false, fixed: false }),
  );
  assertEquals(add(plain, "float32"), ["loops", [2, 4, 6]]);
  assertEquals(plain.engine!.heap.liveBytes, 0);
  const nothing = new CpuDevice(null);
  assertEquals(add(nothing, "float32"), ["loops", [2, 4, 6]]);
  assertEquals(nothing.description, "JavaScript");
});

Deno.test("the device falls back to loops where modules may not be compiled", () => {
  const { Module } = WebAssembly;
  const refuse = (): void => {
    WebAssembly.Module = class {
      constructor() {
        throw new WebAssembly.CompileError("not allowed here");
      }
    } as unknown as typeof Module;
  };
  try {
    refuse();
    const engine = new Engine(features);
    assertEquals(engine.features.simd, false);
    assertEquals(add(new CpuDevice(engine), "float32"), ["loops", [2, 4, 6]]);
    WebAssembly.Module = Module;
    // Allowed at first, and refused for one module: one that is too large to be compiled at once.
    const later = new Engine(features);
    refuse();
    assertThrows(() => later.compile("new", () => {}), CompileRefused);
    assertEquals(add(new CpuDevice(later), "float32"), ["loops", [2, 4, 6]]);
  } finally {
    WebAssembly.Module = Module;
  }
});

Deno.test("an op whose kernel does not compile is named once in a warning, and has its numbers", () => {
  const { Module } = WebAssembly, { write } = loopsWarning, told: string[] = [];
  loopsWarning.named.clear();
  loopsWarning.write = (text) => void told.push(text);
  try {
    // Ops whose loops were asked for, and kernels that compile, are no fallbacks.
    const devices = [new CpuDevice(null), new CpuDevice(new Engine(features))];
    for (const device of devices) assertEquals(add(device, "float32")[1], [2, 4, 6]);
    assertEquals(told, []);
    const engine = new Engine(features);
    WebAssembly.Module = class {
      constructor() {
        throw new WebAssembly.CompileError("too large");
      }
    } as unknown as typeof Module;
    for (const dtype of ["float32", "float32", "int32"] as const) {
      assertEquals(add(new CpuDevice(engine), dtype), ["loops", [2, 4, 6]]);
    }
    assertEquals(told.length, 1);
    assertMatch(
      told[0],
      /^weft: AddV2 runs in loops of JavaScript on the CPU, which is slower: Cannot compile a kernel of \d+ bytes: CompileError: too large$/,
    );
  } finally {
    WebAssembly.Module = Module;
    loopsWarning.write = write;
    loopsWarning.named.clear();
  }
});

Deno.test("views of tensors survive the growth of memory", () => {
  const device = new CpuDevice(new Engine(features));
  const spec = { dtype: "float32", shape: [1 << 18] } as const;
  const buffers = Array.from({ length: 40 }, (_, i) => {
    return device.upload(new NdArray("float32", spec.shape, new Float32Array(1 << 18).fill(i)));
  });
  buffers.forEach((buffer, i) => {
    const [{ data }] = device.readSync([{ buffer, spec }]);
    assertEquals([data[0], data[data.length - 1]], [i, i]);
    // What was read is a copy.
    (data as Float32Array)[0] = -1;
  });
  assertEquals((device.readSync([{ buffer: buffers[3], spec }])[0].data as Float32Array)[0], 3);
});

Deno.test("a kernel that throws gives its memory back", () => {
  const device = new CpuDevice(new Engine(features));
  const def = {
    ...op("AddV2"),
    meaning: { kind: "opaque" },
    cpu: () => {
      throw new InvalidArgumentError("no");
    },
  };
  const kernel = device.prepare(def as never, addProblem("float32"))!;
  const x = device.upload(NdArray.zeros("float32", [3]));
  const before = device.engine!.heap.liveBytes;
  assertThrows(() => kernel.run([x, x]), InvalidArgumentError);
  assertEquals(device.engine!.heap.liveBytes, before);
});

Deno.test("a vector kernel that throws gives its memory back", () => {
  const device = new CpuDevice(new Engine(features));
  const [image, boxes] = [[1, 4, 4, 1], [1, 4]].map((s) => NdArray.zeros("float32", s));
  const owners = new NdArray("int32", [1], Int32Array.of(1));
  const inputs = [image, boxes, owners, new NdArray("int32", [2], Int32Array.of(3, 3))];
  const crop = op("CropAndResize");
  const kernel = device.prepare(crop, problemOf(crop, inputs, {}))!;
  assertEquals(kernel.name, "simd");
  const buffers = inputs.slice(0, 3).map((x) => device.upload(x));
  const run = (): unknown => kernel.run([...buffers, undefined]);
  // The first time, room for its tables may be made.
  assertThrows(run, InvalidArgumentError);
  const before = device.engine!.heap.liveBytes;
  assertThrows(run, InvalidArgumentError);
  assertEquals(device.engine!.heap.liveBytes, before);
});

Deno.test("a tensor too large for memory is ResourceExhaustedError", async () => {
  await tf.setBackend("cpu");
  const error = assertThrows(() => tf.fill([40000, 40000], 1), ResourceExhaustedError);
  assert(error.message.startsWith("OOM when allocating"), error.message);
  assertEquals(tf.add(tf.scalar(1), 1).item(), 2);
});

Deno.test("very many shapes are forgotten, and mean the same when they come again", async () => {
  await tf.setBackend("cpu");
  const before = specId("float32", [3, 5]), seen = new Set([before]);
  assertEquals(specId("float32", [3, 5]), before);
  const sum = (): number[] => tf.tidy(() => [...tf.add(tf.ones([3, 5]), 1).dataSync()] as number[]);
  const wanted = sum();
  for (let n = 1; n <= 70_000; n++) seen.add(specId("float32", [n, 1, 2, 3]));
  assertEquals(seen.size, 70_001);
  assert(!seen.has(specId("float32", [3, 5])));
  assertEquals(sum(), wanted);
});

Deno.test("numbers that int32 does not hold are no extents, and say so", async () => {
  await tf.setBackend("cpu");
  const x = tf.ones([4]);
  const calls: (() => unknown)[] = [
    () => tf.zeros([2 ** 32]),
    () => tf.fill([2 ** 31], 1),
    () => tf.broadcastTo(x, [2 ** 40, 4]),
    () => tf.pad(x, [[0, 2 ** 53]]),
    () => tf.oneHot(tf.constant([1], "int32"), 2 ** 40),
    () => tf.slice(x, [0], [2 ** 32 + 4]),
  ];
  for (const call of calls) {
    assertThrows(call, ValueError, "wanted a number that fits in int32", String(call));
  }
  assertThrows(() => tf.reshape(x, [NaN]), TypeError, "wanted a whole number");
  x.dispose();
});

Deno.test("what does not fit in memory is ResourceExhaustedError, and leaves nothing behind", () => {
  const device = new CpuDevice(new Engine(features, 8 * 2 ** 20)), { heap } = device.engine!;
  const large: readonly [name: string, inputs: readonly NdArray[], attrs: object][] = [
    // Two outputs, of which one fits.
    ["TopKV2", [NdArray.zeros("float32", [2, 2 ** 19]), scalar(2 ** 19)], {}],
    // An image with its channels repeated.
    [
      "DepthwiseConv2dNative",
      [NdArray.zeros("float32", [1, 512, 512, 1]), NdArray.zeros("float32", [9, 9, 1, 9])],
      { strides: [1, 64, 64, 1], padding: "SAME" },
    ],
    ["Fill", [
      new NdArray("int32", [2], Int32Array.of(2 ** 20, 2 ** 20)),
      NdArray.zeros("float64", []),
    ], {}],
  ];
  for (const [name, inputs, attrs] of large) {
    const def = op(name), problem = problemOf(def, inputs, attrs as Record<string, unknown>);
    const kernel = device.prepare(def, problem)!;
    const buffers = inputs.map((x, i) => (problem.hosts[i] ? undefined : device.upload(x)));
    const before = heap.liveBytes;
    const run = (): unknown => kernel.run(buffers);
    assertThrows(run, ResourceExhaustedError, "OOM when allocating", name);
    assertEquals(heap.liveBytes, before, name);
    buffers.forEach((b, i) => b !== undefined && device.free(b, inputs[i]));
    assertEquals(add(device, "float32"), ["simd", [2, 4, 6]]);
  }
  assertEquals(heap.liveBytes, 0);
});

/** An engine whose kernels are trapped. */
function trappedEngine(): Engine {
  const engine = new Engine(features), compile = engine.compile.bind(engine);
  const { run: trap } = compile("test trap", (m) => {
    m.function("run", ["i32"], null, (f, to) => f.store(to, i32.div(1, 0)));
  });
  engine.compile = (key, build) =>
    Object.fromEntries(Object.keys(compile(key, build)).map((name) => [name, () => trap(64)]));
  return engine;
}

Deno.test("a kernel that is trapped where one thread calls it is an InternalError, and leaves nothing behind", () => {
  const engine = trappedEngine(), device = new CpuDevice(engine);
  const kernel = device.prepare(op("AddV2"), addProblem("float32"))!;
  assertEquals(kernel.name, "simd");
  const x = NdArray.zeros("float32", [3]), a = device.upload(x);
  const before = engine.heap.liveBytes;
  for (let k = 0; k < 2; k++) {
    const error = assertThrows(() => kernel.run([a, a]), InternalError);
    assertEquals(error.message, "A kernel of the CPU failed: divide by zero");
    assert(error.cause instanceof WebAssembly.RuntimeError);
  }
  assertEquals(engine.heap.liveBytes, before);

  const table = NdArray.zeros("float32", [4, 2]), rows = NdArray.zeros("float32", [1, 2]);
  const at = new NdArray("int32", [1, 1], Int32Array.of(2));
  const def = op("TensorScatterUpdate"), inputs = [table, at, rows];
  const update = device.prepare(def, problemOf(def, inputs, {}))!;
  const buffers = inputs.map((y) => device.upload(y));
  assert(update.onto !== undefined);
  assertThrows(() => update.onto!.run(buffers), InternalError, "A kernel of the CPU failed");
});
