/** Attention in plain loops, a query at a time. */
import { attentionForm, type MaskPlace, type RowPlace } from "../../core/attention.ts";
import type { CpuKernel } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import { evaluator } from "../../core/scalar/eval.ts";
import { numbersOf, settle } from "./numbers.ts";

/** Computes each result in float64, and rounds it once. */
export const attentionCpu: CpuKernel = (inputs, [out], problem) => {
  const form = attentionForm(problem), { outer: [d0, d1, d2], queries, keys, depth } = form;
  const [q, k, v] = inputs.slice(0, 3).map(numbersOf), masks = inputs.slice(3);
  const dtypes = ["float32" as DType, ...masks.map((m) => m.dtype)];
  const score = changed(form.scores, dtypes), weigh = changed(form.weights, dtypes);
  const result = new Float64Array(out.size), shares = new Float64Array(keys);
  const z = [0, 0, 0];
  const rowAt = ({ base, outer, row }: RowPlace, r: number): number =>
    base + outer[0] * z[0] + outer[1] * z[1] + outer[2] * z[2] + row * r;
  const maskAt = (t: number, n: number): (number | boolean)[] =>
    masks.map(({ data, dtype }, i) => {
      const place: MaskPlace = form.masks[i];
      const value = (data as ArrayLike<number>)[rowAt(place, t) + place.column * n];
      return dtype === "bool" ? Boolean(value) : value;
    });
  for (z[0] = 0; z[0] < d0; z[0]++) {
    for (z[1] = 0; z[1] < d1; z[1]++) {
      for (z[2] = 0; z[2] < d2; z[2]++) {
        for (let t = 0; t < queries; t++) {
          const end = form.causal ? t + 1 + keys - queries : keys, from = rowAt(form.query, t);
          let top = -Infinity, total = 0;
          for (let n = 0; n < end; n++) {
            const at = rowAt(form.key, n);
            let dot = 0;
            for (let d = 0; d < depth; d++) dot += q[from + d] * k[at + d];
            shares[n] = score(dot * form.scale, () => maskAt(t, n));
            top = Math.max(top, shares[n]);
          }
          for (let n = 0; n < end; n++) total += shares[n] = Math.exp(shares[n] - top);
          const to = rowAt(form.result, t);
          for (let n = 0; n < end; n++) {
            const w = weigh(shares[n] / total, () => maskAt(t, n)), at = rowAt(form.value, n);
            for (let d = 0; d < depth; d++) result[to + d] += w * v[at + d];
          }
        }
      }
    }
  }
  settle(result, out);
};

/** Returns the function of an expression of a number and the masks. */
function changed(
  expr: Expr | null,
  dtypes: readonly DType[],
): (x: number, masks: () => (number | boolean)[]) => number {
  if (expr === null) return (x) => x;
  const evaluate = evaluator([expr], dtypes);
  return (x, masks) => evaluate([x, ...masks()] as never)[0] as number;
}
