/**
 * Adds up the parts of sums that several workgroups computed.
 */
import type { DType } from "../../core/dtype.ts";
import { type BufferRef, type Dispatch, gridFor, type Profile } from "../../core/dispatch.ts";
import { accType, vec } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { MATMUL_SPLIT_SUM } from "../../shaders_generated.ts";
import { type Epilogue, printEpilogue } from "./epilogue.ts";

/** What to add up. */
export interface SplitSum {
  /** Parts: `[batch, splits, size]`. */
  readonly partial: BufferRef;
  /** Result: `[batch, size]`. */
  readonly out: BufferRef;
  /** Element type of the parts. */
  readonly sum: DType;
  /** Element type of the result. */
  readonly dtype: DType;
  /** Products. */
  readonly batch: number;
  /** Elements of one product. */
  readonly size: number;
  /** Columns of one product. */
  readonly columns: number;
  /** Parts of one sum. */
  readonly splits: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** As in shaders/matmul/split_sum.wgsl. */
const WORKGROUP = 64;

/** One dispatch; four elements an invocation where columns allow. */
export function planSplitSum(s: SplitSum, profile: Profile): Dispatch {
  const wide = s.columns % 4 === 0 ? 4 : 1;
  const finish = printEpilogue(s.epilogue, s.sum, s.dtype, wide, 1);
  const total = s.batch * s.size / wide;
  return {
    program: shaderProgram(MATMUL_SPLIT_SUM, {
      part: vec(accType(s.sum), wide),
      c: finish.output,
      finish: finish.prelude,
    }, { name: "gemm_split_sum", inputs: finish.inputs }),
    buffers: [s.partial, ...(s.epilogue?.operands ?? []).map((o) => o.buffer), s.out],
    params: [total, s.size / wide, s.columns / wide, s.splits],
    grid: gridFor(total, WORKGROUP, profile),
  };
}
