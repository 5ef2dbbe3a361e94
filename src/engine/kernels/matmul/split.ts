/** Sums in parts that several workgroups compute, and their addition. */
import type { Dispatch, GpuPlan, Profile } from "../../core/dispatch.ts";
import { accDType } from "../../core/dtype.ts";
import { accType, vec } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { MATMUL_SPLIT_SUM } from "../../../shaders_generated.ts";
import { flatDispatch } from "../dispatches.ts";
import { printEpilogue } from "./epilogue.ts";
import { buffersOf, partOf, type ProductTask } from "./source.ts";

/** Extents of the results and of their parts, `[batch, splits, size]`; `columns` of a row. */
export interface SplitExtents {
  readonly batch?: number;
  readonly size: number;
  readonly columns: number;
  /** Parts of one sum; 1 where sums are not cut. */
  readonly splits: number;
}

/**
 * Plans the dispatches of `make` for a task, or for the parts of its sums with one more dispatch that adds these up.
 * Sums whose parts exceed a binding stay whole.
 */
export function planSplits<T extends ProductTask>(
  task: T,
  extents: SplitExtents,
  profile: Profile,
  make: (task: T, splits: number) => readonly Dispatch[],
): GpuPlan {
  const { batch = 1, size, splits } = extents;
  const bytes = splits * batch * size * 4;
  if (splits === 1 || bytes > profile.maxBinding) return { dispatches: make(task, 1) };
  return {
    dispatches: [...make(partOf(task), splits), sumOfParts(task, extents, profile)],
    temps: [bytes],
  };
}

/** Makes one dispatch; four elements an invocation where columns allow. */
function sumOfParts(
  task: ProductTask,
  { batch = 1, size, columns, splits }: SplitExtents,
  profile: Profile,
): Dispatch {
  const wide = columns % 4 === 0 ? 4 : 1, sum = accDType(task.dtype);
  const finish = printEpilogue(task.epilogue, sum, task.out, wide, 1);
  const [, , ...others] = buffersOf(task);
  return flatDispatch({
    program: shaderProgram(MATMUL_SPLIT_SUM, {
      part: vec(accType(sum), wide),
      c: finish.output,
      finish: finish.prelude,
    }, { name: "gemm_split_sum", inputs: finish.inputs, outputs: finish.outputs }),
    buffers: [{ temp: 0 }, ...others],
    params: [batch * size / wide, size / wide, columns / wide, splits],
  }, profile);
}
