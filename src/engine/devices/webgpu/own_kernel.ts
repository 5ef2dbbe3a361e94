/**
 * Kernels of ops that users define, whose faults WebGPU reports to no call.
 */
import type { DeviceBuffer, PreparedKernel } from "../../core/device.ts";
import type { BufferRef, GpuPlan } from "../../core/dispatch.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { Problem } from "../../core/op.ts";
import type { BufferPool, PooledBuffer } from "./buffer_pool.ts";
import type { Compiled, Pipelines } from "./pipelines.ts";

/** Parts of the device that such a kernel uses. */
interface OwnKernelInit {
  readonly pool: BufferPool;
  readonly pipelines: Pipelines;
  /** Bytes of each output. */
  readonly sizes: readonly number[];
  /** Throws the error of a device that is gone. */
  readonly check: () => void;
  /** Submits what was recorded: invalid commands take none of the others along. */
  readonly apart: () => void;
}

/** Guards a kernel. Where its program does not compile, its results are invalid: reading or using one throws. */
export function ownKernel(
  kernel: PreparedKernel,
  compiled: readonly Compiled[],
  { pool, pipelines, sizes, check, apart }: OwnKernelInit,
): PreparedKernel {
  const faulty = () => compiled.find((l) => l.pipeline.fault !== null)?.pipeline;
  const spoil = (own: readonly DeviceBuffer[]): void => {
    const pipeline = faulty();
    if (!pipeline) return;
    for (const buffer of own) pool.spoil(buffer as PooledBuffer, () => pipeline.fault!);
  };
  return {
    name: kernel.name,
    fault: () => faulty()?.fault ?? null,
    run: (given) => {
      if (faulty() !== undefined) {
        check();
        const own = sizes.map((bytes) => pool.take(pool.classOf(bytes)));
        spoil(own);
        return own;
      }
      if (compiled.every((l) => l.pipeline.isProven)) return kernel.run(given);
      apart();
      const own = kernel.run(given);
      apart();
      void pipelines.settled().then(() => spoil(own));
      return own;
    },
  };
}

/** Throws `InvalidArgumentError` for a dispatch with other buffers than its program binds, or more workgroups than `most` along an axis. */
export function checkPlan(
  op: string,
  { dispatches, temps = [] }: GpuPlan,
  { inputs, outputs }: Problem,
  most: number,
): void {
  const has = (ref: BufferRef): boolean =>
    "input" in ref
      ? ref.input in inputs
      : "output" in ref
      ? ref.output in outputs
      : ref.temp in temps;
  for (const { program: { name, bindings }, buffers, grid } of dispatches) {
    const missing = buffers.find((ref) => !has(ref));
    const why = buffers.length !== bindings.length
      ? `names ${buffers.length} buffers, and its program binds ${bindings.length}`
      : missing !== undefined
      ? `names ${JSON.stringify(missing)}, which the op does not have`
      : !grid.every((n) => Number.isInteger(n) && n >= 0 && n <= most)
      ? `asks for [${grid}] workgroups, wanted whole numbers of at most ${most}`
      : null;
    if (why === null) continue;
    throw new InvalidArgumentError(`Cannot run op ${op}: a dispatch of "${name}" ${why}`, { op });
  }
}
