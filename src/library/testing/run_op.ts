/**
 * Runs one op on host arrays: eagerly on a device, by its CPU kernel into poisoned outputs, or by a forced GPU variant.
 */
import { apply, type OpInput, withRecorders } from "../../engine/core/apply.ts";
import type { Device } from "../../engine/core/device.ts";
import type { GpuPlan, GpuVariant, Profile } from "../../engine/core/dispatch.ts";
import { gpuBytes } from "../../engine/core/gpu_storage.ts";
import { InternalError } from "../../engine/core/errors.ts";
import { makeData } from "../../engine/core/dtype.ts";
import { fusionOf } from "../../engine/core/fusion.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import {
  argOfInput,
  type Attrs,
  inferOutputs,
  type OpDef,
  type Problem,
} from "../../engine/core/op.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { type ConcreteSpec, isConcreteSpec } from "../../engine/core/tensor_spec.ts";
import type { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import { runnableVariants } from "../../engine/kernels/pointwise/half.ts";
import { device as onDevice } from "../../engine/runtime/devices/devices.ts";
import { constantTensor, executeOn } from "../../engine/runtime/eager/eager.ts";
import { expandFusion } from "../../engine/ops/fused/fused.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";

/** True where the op reads this flat input on the host. */
export function isHostInput(def: OpDef, flat: number, total: number): boolean {
  return def.signature.isHostInput[argOfInput(def, flat, total)] ?? false;
}

/** Returns the concrete problem of these inputs. Output shapes may be unknown where they depend on values. */
export function problemOf(def: OpDef, inputs: readonly NdArray[], attrs: Attrs): Problem {
  const hosts = inputs.map((a, i) => (isHostInput(def, i, inputs.length) ? a : undefined));
  const specs = inputs.map((a, i) => ({ dtype: a.dtype, shape: a.shape, value: hosts[i] }));
  const inferred = inferOutputs(def, specs, attrs), outputs = inferred.outputs as ConcreteSpec[];
  return { inputs: specs, hosts, outputs, attrs: inferred.attrs };
}

/** True where every output shape is known before the kernel runs. */
export function isStatic(problem: Problem): boolean {
  return problem.outputs.every(isConcreteSpec);
}

/** Makes tensors on a device of the inputs, and literals of host inputs. */
export function inputsOn(def: OpDef, inputs: readonly NdArray[], device: Device): OpInput[] {
  return inputs.map((a, i) => (isHostInput(def, i, inputs.length) ? a : constantTensor(a, device)));
}

/**
 * Runs the op, with the fusion that its attributes may hold, at once on a device and reads its outputs. An array that is
 * given twice is one tensor.
 */
export function runEagerly(
  def: OpDef,
  inputs: readonly NdArray[],
  attrs: Attrs,
  device: Device,
): Promise<NdArray[]> {
  return readOutputs(device, () => {
    const made = inputsOn(def, inputs, device);
    const given = inputs.map((a) => made[inputs.indexOf(a)]);
    return fusionOf(attrs) === undefined
      ? apply(def, given, attrs)
      : executeOn(def, given, attrs, { device, expandFusion });
  });
}

/** Runs `compute` on a device and reads its tensors; the inputs are disposed as well. */
async function readOutputs(device: Device, compute: () => Tensor[]): Promise<NdArray[]> {
  const outputs = tidy(() => onDevice(device.name, compute));
  try {
    return await Promise.all(outputs.map((o) => o.ndarray()));
  } finally {
    for (const o of outputs) o.dispose();
  }
}

/**
 * Runs the op's expansion eagerly and reads its outputs; with `literals` on arrays alone, which eager code may pass to
 * any op.
 */
export function runExpansion(
  def: OpDef,
  inputs: readonly NdArray[],
  attrs: Attrs,
  { device, literals = false }: { readonly device: Device; readonly literals?: boolean },
): Promise<NdArray[]> {
  const problem = problemOf(def, inputs, attrs);
  return readOutputs(device, () => {
    const given = literals ? inputs : inputsOn(def, inputs, device);
    return withRecorders([], () => [...def.expand!(given, problem.attrs)]);
  });
}

/** Runs the CPU kernel into outputs full of garbage, so that an unwritten element shows. */
export function runCpuKernel(def: OpDef, inputs: readonly NdArray[], problem: Problem): NdArray[] {
  if (!isStatic(problem)) return [...def.cpu!(inputs, [], problem) as readonly NdArray[]];
  const outputs = problem.outputs.map((o) => {
    const data = makeData(o.dtype, sizeOf(o.shape));
    if (ArrayBuffer.isView(data)) new Uint8Array(data.buffer as ArrayBuffer).fill(0xff);
    return new NdArray(o.dtype, [...o.shape], data);
  });
  return [...def.cpu!(inputs, outputs, problem) ?? outputs];
}

/** One variant's plan under one profile. */
export interface ForcedPlan {
  readonly variant: string;
  /** Text of the profile. */
  readonly profile: string;
  /** Most workgroups of a grid's axis. */
  readonly maxGrid: number;
  readonly plan: GpuPlan;
}

/**
 * Returns the profiles to plan variants for: the device's own, one with the opposite cost of barriers, no subgroups, no
 * 64-bit words.
 */
export function profilesOf(own: Profile): Map<string, Profile> {
  const name = (barriers: boolean): string => (barriers ? "barriers" : "no barriers");
  return new Map<string, Profile>([
    [name(own.barriers), own],
    [name(!own.barriers), { ...own, barriers: !own.barriers }],
    ...(own.subgroup > 0 ? [["no subgroups", { ...own, subgroup: 0 }] as const] : []),
    ...(own.words64 ? [["no 64-bit words", { ...own, words64: false }] as const] : []),
  ]);
}

/** The smallest limit of bindings that kernels are forced to. */
const LEAST_BINDING = 1024;

/**
 * Returns a limit of bindings that cuts the largest buffers of a problem into a few pieces; none where they are small.
 */
function smallBinding({ inputs, hosts, outputs }: Problem): number {
  const bytes = [...inputs.filter((_, i) => hosts[i] === undefined), ...outputs].map((s) =>
    sizeOf(s.shape as readonly number[]) * gpuBytes(s.dtype)
  );
  const largest = Math.max(...bytes), limit = Math.ceil(largest / 4 / 256) * 256;
  return largest <= LEAST_BINDING ? Infinity : Math.max(LEAST_BINDING, limit);
}

/**
 * Returns the distinct plans of every variant that fits, over all profiles, and once more with so few workgroups along
 * an axis that grids must fold, and with such small bindings that buffers are bound in pieces.
 */
export function forcedPlans(
  variants: readonly GpuVariant[],
  problem: Problem,
  own: Profile,
): ForcedPlan[] {
  const plans = new Map<string, ForcedPlan>();
  const add = (variant: GpuVariant, name: string, profile: Profile): GpuPlan | null => {
    if (variant.fits && !variant.fits(problem, profile)) return null;
    const plan = variant.plan(problem, profile);
    const key = JSON.stringify(plan);
    if (!plans.has(key)) {
      plans.set(key, { variant: variant.name, profile: name, maxGrid: profile.maxGrid, plan });
    }
    return plan;
  };
  const maxBinding = smallBinding(problem);
  const runnable = runnableVariants(variants, problem, own);
  for (const [name, profile] of profilesOf(own)) {
    for (const variant of runnable) {
      const plan = add(variant, name, profile);
      if (plan === null) continue;
      // For the device's own profile alone: pieces need many programs of their own.
      if (profile === own && maxBinding < profile.maxBinding) {
        add(variant, `${name}, small bindings`, { ...profile, maxBinding });
      }
      const grids = plan.dispatches.map(({ grid }) => grid);
      const groups = Math.max(...grids.map(([x, y, z]) => x * y * z));
      const maxGrid = Math.max(2, Math.ceil(Math.sqrt(groups)));
      if (grids.some((grid) => Math.max(...grid) > maxGrid)) {
        add(variant, `${name}, small grids`, { ...profile, maxGrid });
      }
    }
  }
  return [...plans.values()];
}

/** Runs a plan on host arrays, in buffers that held garbage before. Throws `InternalError` where WebGPU refuses it. */
export async function runPlan(
  device: WebGpuDevice,
  forced: ForcedPlan,
  inputs: readonly NdArray[],
  problem: Problem,
): Promise<NdArray[]> {
  // A refused dispatch leaves the staging copy unchanged, with the results of the plan before, which may be equal.
  device.gpu.pushErrorScope("validation");
  const [ran] = await Promise.allSettled([runUnchecked(device, forced, inputs, problem)]);
  const error = await device.gpu.popErrorScope();
  if (error !== null) {
    throw new InternalError(`Cannot run ${forced.variant}: WebGPU reported ${error.message}`);
  }
  if (ran.status === "rejected") throw ran.reason;
  return ran.value;
}

async function runUnchecked(
  device: WebGpuDevice,
  forced: ForcedPlan,
  inputs: readonly NdArray[],
  problem: Problem,
): Promise<NdArray[]> {
  const buffers = inputs.map((a, i) => (problem.hosts[i] ? undefined : device.upload(a)));
  const kernel = device.prepareKernel(forced.variant, forced.plan, problem.outputs);
  const words = [
    ...problem.outputs.map((o) => Math.ceil(sizeOf(o.shape) * gpuBytes(o.dtype) / 4)),
    ...(forced.plan.temps ?? []).map((bytes) => Math.ceil(bytes / 4)),
  ];
  // Uploads have buffers of their own: kernels reuse the buffers of earlier copies.
  const most = new Uint32Array(Math.max(1, ...words)).fill(0xffffffff);
  const garbage = device.upload(new NdArray("uint32", [most.length], most));
  const poisoned = words.map((n) =>
    device.copyIn(device.lend(garbage), { dtype: "uint32", shape: [Math.max(1, n)] })
  );
  for (const buffer of [garbage, ...poisoned]) device.free(buffer);
  const outputs = kernel.run(buffers);
  try {
    const reads = outputs.map((buffer, i) => ({ buffer, spec: problem.outputs[i] }));
    // Synchronous where that works: an awaited map takes many times as long as most plans.
    return device.readSync(reads) ?? await device.read(reads);
  } finally {
    for (const b of outputs) device.free(b);
    for (const b of buffers) if (b !== undefined) device.free(b);
  }
}
