/** Kernels that are loaded by the kinds of ops: what runs before they are there, and after. */
// Runs alone: kernels are looked up before any other test has brought them.

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { type KernelLoaders, KernelTable } from "../../src/engine/kernels/kernel_table.ts";
import type { MeaningKind } from "../../src/engine/core/meaning.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { cpuKernels } from "../../src/engine/devices/cpu/kernel_table.ts";
import "../../src/engine/devices/cpu/lazy_kernels.ts";
import { gpuKernels, gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import { kernels } from "../../src/engine/kernels/common_kernels.ts";
import { MODEL } from "../../tools/package/small_model.ts";
import { HAS_WEBGPU } from "../devices.ts";

/** Runs `fn` as where no kernels of the CPU have been loaded. */
async function withoutKernels(fn: () => Promise<void>): Promise<void> {
  const all = cpuKernels.clear();
  try {
    await fn();
  } finally {
    cpuKernels.bring(all);
  }
}

const meanings = (...ops: string[]) => ops.map((name) => lookupOp(name)!.meaning);
const KINDS = ["pointwise", "row steps", "window", "convolution", "sample", "top"] as const;
/** Which of some kinds are there. */
const loaded = () => KINDS.filter((kind) => cpuKernels.get(kind) !== undefined);

/** The kernels that are prepared while `fn` runs. */
function prepared(fn: () => void): string[] {
  const names: string[] = [], before = kernelTrace.print;
  kernelTrace.print = ({ op, name }) => names.push(`${op} ${name}`);
  try {
    fn();
  } finally {
    kernelTrace.print = before;
  }
  return names;
}

Deno.test("a table loads the modules of kinds, each once", async () => {
  const asked: string[] = [];
  const few = (name: string, ...kinds: MeaningKind[]) => () => {
    asked.push(name);
    return Promise.resolve({ kernels: Object.fromEntries(kinds.map((kind) => [kind, name])) });
  };
  const a = few("a", "copy", "scan"), b = few("b", "window");
  const table = new KernelTable<Record<MeaningKind, unknown>>(
    { copy: a, scan: a, window: b } as unknown as KernelLoaders<Record<MeaningKind, unknown>>,
  );
  assertEquals(await table.load(meanings("Placeholder", "Identity")), false);
  assertEquals([table.lacks("scan"), table.lacks("view"), table.get("scan")], [
    true,
    false,
    undefined,
  ]);
  assertEquals(await table.load(meanings("Transpose", "Cumsum", "Transpose")), true);
  assertEquals([table.lacks("scan"), table.get("scan"), table.get("copy")], [false, "a", "a"]);
  assertEquals(await table.load(meanings("Cumsum", "MatMul")), false);
  assertEquals(await table.load(meanings("MaxPool", "Cumsum")), true);
  assertEquals(asked, ["a", "b"]);
});

Deno.test("the CPU loads the kernels of its ops' kinds and of those beside them", () =>
  withoutKernels(async () => {
    assertEquals(await cpuKernels.load(meanings("MatMul", "AddV2", "Softmax")), true);
    assertEquals(loaded(), ["pointwise", "row steps"]);
    assertEquals(await cpuKernels.load(meanings("AddV2")), false);
    assertEquals(await cpuKernels.load(meanings("MaxPool", "Conv2D", "AddV2")), true);
    assertEquals(loaded(), ["pointwise", "row steps", "window", "convolution"]);
    assertEquals(await cpuKernels.load(meanings("DepthwiseConv2dNative", "LRN")), false);
    assertEquals(await cpuKernels.load(meanings("ResizeBilinear", "MaxPool")), true);
    assertEquals(loaded(), ["pointwise", "row steps", "window", "convolution", "sample"]);
    assertEquals(await cpuKernels.load(meanings("ArgMax", "Cumsum", "TopKV2")), true);
    assertEquals(loaded(), [...KINDS]);
  }));

Deno.test("the GPU finds the variants of ops by kind once that is loaded, and an op's own at any time", async () => {
  const all = gpuKernels.clear();
  try {
    const [add, pool, conj] = ["AddV2", "MaxPool3DGradGrad", "Conj"].map((name) => lookupOp(name)!);
    const own = {
      ...add,
      meaning: { ...add.meaning },
      gpu: [{ name: "mine", plan: () => ({ dispatches: [] }) }],
    };
    const names = () => [add, pool, conj, own].map((def) => gpuVariants(def).map((v) => v.name));
    const fresh = [add, pool].map((def) => ({ ...def, meaning: { ...def.meaning } }));
    assertEquals(fresh.map((def) => gpuVariants(def)), [[], []]);
    gpuKernels.bring(kernels);
    assertEquals(await gpuKernels.load([add.meaning]), false);
    assertEquals(fresh.map((def) => gpuVariants(def).length), [1, 0]);
    await gpuKernels.load([pool.meaning]);
    assertEquals(names(), [["pointwise"], ["max_pool_grad_grad"], ["pointwise"], ["mine"]]);
  } finally {
    gpuKernels.bring(all);
  }
});

Deno.test("an op runs in loops before its kind is there, and by its kernel once a device was awaited", () =>
  withoutKernels(async () => {
    // A shape of its own: nothing is prepared for it yet.
    const compute = () =>
      tf.tidy(() =>
        tf.maxPool(tf.reshape(tf.range(0, 77), [1, 7, 11, 1]), 2, 3, "valid").arraySync()
      );
    let loops: unknown, vectors: unknown;
    assertEquals(prepared(() => loops = compute()).includes("MaxPool loops"), true);
    assertEquals(prepared(() => compute()), []);
    await tf.setBackend("cpu");
    assertEquals(prepared(() => vectors = compute()).includes("MaxPool simd"), true);
    assertEquals(vectors, loops);
  }));

Deno.test("an op that nobody awaited a device for brings the kernels of the CPU", () =>
  withoutKernels(async () => {
    const compute = (n: number) => prepared(() => tf.tidy(() => void tf.add(tf.range(0, n), 1)));
    assertEquals(compute(83).includes("AddV2 loops"), true);
    while (!cpuKernels.get("pointwise")) await tf.nextFrame();
    assertEquals(compute(83).includes("AddV2 simd"), true);
  }));

Deno.test("a model of ONNX brings the kernels of the CPU that it needs before it first runs, with inputs that may be disposed meanwhile", () =>
  withoutKernels(async () => {
    const model = await loadOnnx(Uint8Array.fromBase64(MODEL));
    const names: string[] = [], before = kernelTrace.print;
    kernelTrace.print = ({ op, name }) => names.push(`${op} ${name}`);
    try {
      const x = tf.tensor([[1, 2]]), running = model.run({ x });
      x.dispose();
      using y = (await running).y as tf.Tensor;
      assertEquals([...y.dataSync()], [8]);
      assertEquals(names.filter((name) => name === "MatMul loops"), []);
      assertEquals([cpuKernels.lacks("product"), cpuKernels.lacks("window")], [false, true]);
    } finally {
      kernelTrace.print = before;
      model.dispose();
    }
  }));

Deno.test({
  name: "a GPU that is awaited brings no kernels of the CPU [webgpu]",
  ignore: !HAS_WEBGPU,
  fn: () =>
    withoutKernels(async () => {
      await tf.setBackend("webgpu");
      try {
        using sum = tf.tidy(() => tf.add(tf.ones([89]), 1));
        assertEquals((await sum.data())[0], 2);
        assertEquals(loaded(), []);
      } finally {
        await tf.setBackend("cpu");
      }
    }),
});
