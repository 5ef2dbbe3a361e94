/** Softmax and related functions on the GPU: row kernels of one dispatch. */
import type { GpuVariant } from "../../core/dispatch.ts";
import { gpuFits } from "../copy/pieces.ts";
import { NOT_A_NUMBER } from "../reduce/wgsl.ts";
import { type RowKernel, type RowPass, type RowRun, rowsOf, rowVariants, summed } from "./row.ts";

/** The greatest element. A NaN lost here appears in the sum. */
const GREATEST: RowPass = {
  accumulators: [{ name: "m", combine: "max", start: "-inf_()", value: "x0" }],
};
const TOTAL = summed("s", "power_(x0 - m)");
/** `exp` and `log` that keep NaN: on SwiftShader the built-in ones do not. */
const KEEP_NAN = `fn power_(d: V) -> V {
  return select(exp(d), d, (bitcast<U>(d) & U(0x7fffffffu)) > U(0x7f800000u));
}
fn logarithm_(s: f32) -> f32 {
  return select(log(s), s, (bitcast<u32>(s) & 0x7fffffffu) > 0x7f800000u);
}`;

function unary(name: string, passes: readonly RowPass[], text: string): GpuVariant[] {
  return rowVariants(gpuFits, ({ inputs: [x] }): [RowKernel, RowRun] => [
    {
      name,
      prelude: KEEP_NAN,
      inputs: [{ kind: "row", dtype: x.dtype }],
      passes,
      rows: [[x.dtype, text]],
    },
    { ...rowsOf(x.shape), buffers: [{ input: 0 }, { output: 0 }] },
  ]);
}

export const softmaxVariants: readonly GpuVariant[] = unary(
  "softmax",
  [GREATEST, { accumulators: [TOTAL], after: "let q = 1.0 / s;" }],
  "exp(x0 - m) * q",
);

export const logSoftmaxVariants: readonly GpuVariant[] = unary(
  "log_softmax",
  [GREATEST, { accumulators: [TOTAL], after: "let l = logarithm_(s);" }],
  "x0 - m - l",
);

/** Variants of SoftmaxCrossEntropyWithLogits: outputs are the loss of each row and its gradient. */
export const crossEntropyVariants: readonly GpuVariant[] = rowVariants(
  gpuFits,
  ({ inputs: [x, labels] }): [RowKernel, RowRun] => [
    {
      name: "cross_entropy",
      prelude: KEEP_NAN,
      inputs: [{ kind: "row", dtype: x.dtype }, { kind: "row", dtype: labels.dtype }],
      passes: [GREATEST, {
        accumulators: [
          TOTAL,
          summed("t", "x1"),
          summed("d", "x1 * (x0 - m)"),
        ],
        after: "let q = 1.0 / s;",
      }],
      rows: [[x.dtype, "exp(x0 - m) * q - x1"]],
      scalars: [[x.dtype, "t * logarithm_(s) - d"]],
    },
    { ...rowsOf(x.shape), buffers: [{ input: 0 }, { input: 1 }, { output: 1 }, { output: 0 }] },
  ],
);

/** Variants of SparseSoftmaxCrossEntropyWithLogits. A label out of range makes its row NaN, as on TensorFlow's GPUs. */
export const sparseCrossEntropyVariants: readonly GpuVariant[] = rowVariants(
  gpuFits,
  ({ inputs: [x, labels] }): [RowKernel, RowRun] => [
    {
      name: "sparse_cross_entropy",
      prelude: `${NOT_A_NUMBER}\n${KEEP_NAN}`,
      inputs: [{ kind: "row", dtype: x.dtype }, { kind: "scalar", dtype: labels.dtype }],
      passes: [GREATEST, {
        each: "let hit = ci == U(u32(x1));",
        accumulators: [TOTAL, summed("d", "select(V(0.0), x0 - m, hit)")],
        after: `let bad = u32(x1) >= u32(p.columns);
let q = select(1.0 / s, nan_(), bad);`,
      }],
      each: "let hit = ci == U(u32(x1));",
      rows: [[x.dtype, "exp(x0 - m) * q - select(V(0.0), V(1.0), hit)"]],
      scalars: [[x.dtype, "select(logarithm_(s) - d, nan_(), bad)"]],
    },
    { ...rowsOf(x.shape), buffers: [{ input: 0 }, { input: 1 }, { output: 1 }, { output: 0 }] },
  ],
);
