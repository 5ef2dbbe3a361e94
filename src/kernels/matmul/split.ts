/**
 * Adds up the parts of sums that several workgroups computed.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  flatId,
  gridFor,
  makeProgram,
  type Profile,
} from "../../core/dispatch.ts";
import { accType } from "../../core/gpu_storage.ts";
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

const WORKGROUP = 64;

/** One dispatch; four elements an invocation where columns allow. */
export function planSplitSum(s: SplitSum, profile: Profile): Dispatch {
  const wide = s.columns % 4 === 0 ? 4 : 1;
  const t = accType(s.sum), vec = wide === 4 ? `vec4<${t}>` : t;
  const finish = printEpilogue(s.epilogue, s.sum, s.dtype, wide, 1);
  const total = s.batch * s.size / wide;
  return {
    program: makeProgram({
      name: "gemm_split_sum",
      inputs: [vec, ...finish.inputs],
      outputs: [finish.output],
      params: ["total", "size", "columns", "splits"],
      workgroup: [WORKGROUP, 1, 1],
      prelude: finish.prelude,
      body: [
        `let i = ${flatId(WORKGROUP)};`,
        "if (i >= p.total) { return; }",
        "let z = i / p.size; let e = i - z * p.size;",
        "var at = z * p.splits * p.size + e;",
        `var sum = ${vec}();`,
        "for (var s = 0u; s < p.splits; s++) { sum += in0[at]; at += p.size; }",
        "out0[i] = finish(sum, i, e % p.columns);",
      ].join("\n"),
    }),
    buffers: [s.partial, ...(s.epilogue?.operands ?? []).map((o) => o.buffer), s.out],
    params: [total, s.size / wide, s.columns / wide, s.splits],
    grid: gridFor(total, WORKGROUP, profile),
  };
}
