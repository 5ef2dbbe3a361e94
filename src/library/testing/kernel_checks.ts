/** Checks of shapes and kernels: infer = actual, cpu = reference, gpu = cpu for every variant. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { inferOutputs } from "../../engine/core/op.ts";
import {
  compatible,
  type PartialShape,
  sameShape,
  shapeText,
  sizeOf,
} from "../../engine/core/shape.ts";
import { type Spec, specText } from "../../engine/core/tensor_spec.ts";
import type { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import { cpuDevice } from "../../engine/runtime/devices/devices.ts";
import { differences, type Tolerance } from "./compare.ts";
import {
  type ForcedPlan,
  forcedPlans,
  isStatic,
  runCpuKernel,
  runEagerly,
  runExpansion,
  runPlan,
} from "./run_op.ts";
import type { OpCase } from "./op_case.ts";

/** Tolerance of CPU kernels in units in the last place. */
const CPU_ULPS: Partial<Record<DType, number>> = {
  float32: 32,
  complex64: 64,
  float64: 1024,
  complex128: 1024,
};
/** Tolerance of GPU kernels, whose functions are less exact. */
const GPU_ULPS: Partial<Record<DType, number>> = { float32: 128, float16: 8 };

function cpuTolerance(c: OpCase, dtype: DType): Tolerance {
  const ulps = c.sample.ulps ?? CPU_ULPS[dtype] ?? 4;
  return { ulps, ulpsOfLargest: ulps / 4 };
}

function gpuTolerance(c: OpCase, dtype: DType): Tolerance {
  const ulps = c.sample.gpuUlps ?? Math.max(c.sample.ulps ?? 0, GPU_ULPS[dtype] ?? 8);
  return { ulps, ulpsOfLargest: ulps / 4, absolute: c.sample.gpuAbsolute ?? 0 };
}

/** Checks that partial shapes infer shapes that the actual ones fit. */
export async function checkInfer({ def, attrs, problem, run }: OpCase): Promise<void> {
  const specs: Spec[] = problem.inputs.map((s, i) => ({ ...s, value: problem.hosts[i] }));
  const unknown = (s: Spec, every = 1): PartialShape =>
    s.shape!.map((d, i) => (i % every === 0 ? null : d));
  const forms: Record<string, (s: Spec) => Spec> = {
    "unknown dimensions": (s) => ({ ...s, shape: unknown(s) }),
    "unknown dimensions and host values": (s) => ({ dtype: s.dtype, shape: unknown(s) }),
    "every second dimension unknown": (s) => ({ ...s, shape: unknown(s, 2) }),
    "unknown host values": (s) => ({ dtype: s.dtype, shape: s.shape }),
    "unknown rank": (s) => ({ ...s, shape: s.value === undefined ? null : s.shape }),
    "unknown rank and host values": (s) => ({ dtype: s.dtype, shape: null }),
  };
  await run("infer from partial shapes", "any device", () => {
    for (const [form, blur] of Object.entries(forms)) {
      let outputs: Spec[];
      try {
        outputs = inferOutputs(def, specs.map(blur), attrs).outputs;
      } catch (e) {
        return `${form}: threw ${
          e instanceof Error ? e.stack?.split("\n").slice(0, 3).join("\n    ") : e
        }`;
      }
      if (outputs.length !== problem.outputs.length) {
        return `${form}: ${outputs.length} outputs, wanted ${problem.outputs.length}`;
      }
      for (const [k, o] of outputs.entries()) {
        if (o.shape === undefined) return `${form}: output ${k} has no shape`;
        const actual = problem.outputs[k];
        if (!compatible(o.shape, actual.shape) || o.dtype !== actual.dtype) {
          return `${form}: output ${k} is ${specText(o)}, the actual one is ${specText(actual)}`;
        }
      }
    }
    return null;
  });
}

/** Runs the op on the CPU; returns its outputs, or null where it failed. */
export async function checkCpu(
  c: OpCase,
  wanted: readonly NdArray[] | null,
): Promise<readonly NdArray[] | null> {
  const { def, attrs, inputs, problem } = c;
  const name = cpuDevice().name;
  const near = (t: DType): Tolerance => cpuTolerance(c, t);
  let actual: readonly NdArray[] | null = null;
  await c.run("runs", name, async () => {
    actual = await runEagerly(def, inputs, attrs, cpuDevice());
    return null;
  });
  if (actual === null) return null;
  const outputs: readonly NdArray[] = actual;
  await c.run("infer = actual", name, () => {
    if (outputs.length !== problem.outputs.length) {
      return `${outputs.length} outputs, inferred ${problem.outputs.length}`;
    }
    for (const [k, o] of outputs.entries()) {
      const spec: Spec = problem.outputs[k];
      const fits = compatible(o.shape, spec.shape);
      if (!fits || o.dtype !== spec.dtype) {
        return `output ${k} is ${specText(o)}, inferred ${specText(spec)}`;
      }
      if (o.data.length !== sizeOf(o.shape) * DTYPES[o.dtype].slots) {
        return `output ${k} of shape ${shapeText(o.shape)} has ${o.data.length} entries`;
      }
    }
    return null;
  });
  if (wanted !== null) {
    await c.run("cpu = reference", name, () => differences(outputs, wanted, near));
  }
  if (def.expand && !def.stateful) {
    await c.run("expansion takes literals", name, async () => {
      const how = { device: cpuDevice(), literals: true };
      return differences(await runExpansion(def, inputs, attrs, how), outputs, near);
    });
  }
  if (def.cpu && !def.stateful) {
    await c.run(
      "cpu kernel fills its outputs",
      name,
      () => differences(runCpuKernel(def, inputs, problem), outputs, near),
    );
  }
  return outputs;
}

/** Runs the op eagerly on the GPU, then every variant by force. */
export async function checkGpu(
  c: OpCase,
  gpu: WebGpuDevice,
  wanted: readonly NdArray[],
  cpu: readonly NdArray[],
): Promise<void> {
  const { def, inputs, problem } = c;
  const specs = [
    ...problem.inputs.filter((_, i) => problem.hosts[i] === undefined),
    ...problem.outputs,
  ];
  if (!specs.every((s) => gpu.supports(s.dtype))) return;
  // Integers must be equal, even where float64 differs.
  const target = cpu.map((a, k) => (DTYPES[a.dtype].kind === "float" ? wanted[k] : a));
  const compare = (outputs: readonly NdArray[]): string | null =>
    differences(outputs, target, (t) => gpuTolerance(c, t));
  if (!def.stateful) {
    await c.run(
      "gpu = cpu",
      gpu.name,
      async () => compare(await runEagerly(def, inputs, c.attrs, gpu)),
    );
  }
  const variants = gpu.variants(def);
  if (variants.length === 0 || !isStatic(problem)) return;
  let plans: readonly ForcedPlan[] = [];
  await c.run("gpu variants plan", gpu.name, () => {
    plans = forcedPlans(variants, problem, gpu.profile);
    return null;
  });
  for (const forced of plans) {
    const where = `${gpu.name} variant "${forced.variant}" (${forced.profile})`;
    await c.run("gpu variant = cpu", where, async () => {
      const wide = forced.plan.dispatches.find((d) => d.grid.some((n) => n > forced.maxGrid));
      if (wide) {
        return `${wide.program.name} asks for a grid of [${wide.grid}], the limit is ${forced.maxGrid} an axis`;
      }
      const outputs = await runPlan(gpu, forced, inputs, problem);
      return def.stateful ? null : compare(outputs);
    });
  }
  await checkSharedInput(c, gpu);
}

/** Checks one tensor given for two inputs: the same buffer is bound twice. */
async function checkSharedInput(c: OpCase, gpu: WebGpuDevice): Promise<void> {
  const { def, attrs, inputs, problem } = c;
  const free = inputs.flatMap((_, i) => (problem.hosts[i] ? [] : [i]));
  const pair = free.flatMap((i) => free.filter((j) => j > i).map((j) => [i, j]))
    .find(([i, j]) =>
      inputs[i].dtype === inputs[j].dtype && sameShape(inputs[i].shape, inputs[j].shape)
    );
  if (!pair || def.stateful) return;
  await c.run("one tensor as two inputs", gpu.name, async () => {
    const shared = inputs.map((a, i) => (i === pair[1] ? inputs[pair[0]] : a));
    let wanted: NdArray[];
    try {
      wanted = await runEagerly(def, shared, attrs, cpuDevice());
    } catch {
      return null; // Values that do not fit each other: nothing to compare.
    }
    const found = await runEagerly(def, shared, attrs, gpu);
    return differences(found, wanted, (t) => gpuTolerance(c, t));
  });
}
