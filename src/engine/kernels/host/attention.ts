/** Attention and its gradient in plain loops, a query at a time. */
import {
  type AttentionForm,
  attentionForm,
  type AttentionGradientOf,
  type MaskPlace,
  type RowPlace,
  rowsOfAttention,
} from "../../core/attention.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { CpuKernel } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import { evaluator } from "../../core/scalar/eval.ts";
import { numbersOf, settle } from "./numbers.ts";

/** Computes each result in float64, and rounds it once. */
export const attentionCpu: CpuKernel = (inputs, [out, kept], problem) => {
  const form = attentionForm(problem), v = numbersOf(inputs[2]), count = rowsOfAttention(form);
  const { depth } = form, result = new Float64Array(out.size);
  const sums = new Float64Array(kept ? 2 * count : 0);
  const weigh = changed(form.weights, ["float32", ...inputs.slice(3).map((m) => m.dtype)]);
  let row = 0;
  eachRow(form, inputs, ({ t, at, masks, shares, top, total, end }) => {
    const to = at(form.result, t);
    for (let n = 0; n < end; n++) {
      const w = weigh(shares[n], masks(n)), from = at(form.value, n);
      for (let d = 0; d < depth; d++) result[to + d] += w * v[from + d];
    }
    if (kept) [sums[row], sums[row + count]] = [top, 1 / total];
    row++;
  });
  settle(result, out);
  if (kept) settle(sums, kept);
};

/** The gradient, from queries, keys and values: what the forward pass kept is not read. */
export const attentionGradientCpu: CpuKernel = (inputs, outs, { attrs }) => {
  const { attention: form, gradient, wanted, factors, spread, slope } =
    (attrs.form as AttentionGradientOf).form;
  const [q, k, v, g] = inputs.map(numbersOf), masks = inputs.slice(6), { depth } = form;
  const dtypes: DType[] = ["float32", ...masks.map((m) => m.dtype)];
  const weigh = changed(form.weights, dtypes), spreading = changed(spread, dtypes);
  const sloping = slope && evaluator([slope], [...dtypes, "float32"]);
  const results = outs.map((out) => new Float64Array(out.size));
  const slopes = new Float64Array(form.keys);
  eachRow(form, [...inputs.slice(0, 3), ...masks], ({ t, at, masks, products, shares, end }) => {
    const from = at(gradient, t);
    let mean = 0;
    for (let n = 0; n < end; n++) {
      const row = at(form.value, n);
      let dot = 0;
      for (let d = 0; d < depth; d++) dot += g[from + d] * v[row + d];
      slopes[n] = spreading(dot, masks(n));
      mean += shares[n] * slopes[n];
    }
    for (let n = 0; n < end; n++) {
      const own = shares[n] * (slopes[n] - mean);
      slopes[n] = sloping ? sloping([products[n], ...masks(n)(), own] as never)[0] as number : own;
    }
    wanted.forEach(({ of, place }, i) => {
      const result = results[i], factor = of === "value" ? 1 : factors[of];
      for (let n = 0; n < end; n++) {
        const to = at(place, of === "query" ? t : n);
        const weight = of === "value" ? weigh(shares[n], masks(n)) : slopes[n] * factor;
        const [x, other] = of === "query"
          ? [k, at(form.key, n)]
          : of === "key"
          ? [q, at(form.query, t)]
          : [g, from];
        for (let d = 0; d < depth; d++) result[to + d] += weight * x[other + d];
      }
    });
  });
  results.forEach((result, i) => settle(result, outs[i]));
};

/** A row of scores. */
interface ScoreRow {
  /** The query. */
  readonly t: number;
  /** Returns the first element of a query's or key's row. */
  readonly at: (place: RowPlace, row: number) => number;
  /** Returns the masks of a key when asked for. */
  readonly masks: (n: number) => () => (number | boolean)[];
  /** The scaled products, and what the softmax made of their scores. */
  readonly products: Float64Array;
  readonly shares: Float64Array;
  readonly top: number;
  readonly total: number;
  /** Number of keys that the query sees. */
  readonly end: number;
}

/** Calls a function with each row of scores; `inputs` are queries, keys, values and masks. */
function eachRow(
  form: AttentionForm,
  inputs: readonly NdArray[],
  visit: (row: ScoreRow) => void,
): void {
  const { outer: [d0, d1, d2], queries, keys, depth } = form;
  const [q, k] = inputs.map(numbersOf), masks = inputs.slice(3);
  const score = changed(form.scores, ["float32", ...masks.map((m) => m.dtype)]);
  const products = new Float64Array(keys), shares = new Float64Array(keys);
  const z = [0, 0, 0];
  const at = ({ base, outer, row }: RowPlace, r: number): number =>
    base + outer[0] * z[0] + outer[1] * z[1] + outer[2] * z[2] + row * r;
  for (z[0] = 0; z[0] < d0; z[0]++) {
    for (z[1] = 0; z[1] < d1; z[1]++) {
      for (z[2] = 0; z[2] < d2; z[2]++) {
        for (let t = 0; t < queries; t++) {
          const maskOf = (n: number) => (): (number | boolean)[] =>
            masks.map(({ data, dtype }, i) => {
              const place: MaskPlace = form.masks[i];
              const value = (data as ArrayLike<number>)[at(place, t) + place.column * n];
              return dtype === "bool" ? Boolean(value) : value;
            });
          const end = form.causal ? t + 1 + keys - queries : keys, from = at(form.query, t);
          let top = -Infinity, total = 0;
          for (let n = 0; n < end; n++) {
            const to = at(form.key, n);
            let dot = 0;
            for (let d = 0; d < depth; d++) dot += q[from + d] * k[to + d];
            products[n] = dot * form.scale;
            shares[n] = score(products[n], maskOf(n));
            top = Math.max(top, shares[n]);
          }
          for (let n = 0; n < end; n++) total += shares[n] = Math.exp(shares[n] - top);
          for (let n = 0; n < end; n++) shares[n] /= total;
          visit({ t, at, masks: maskOf, products, shares, top, total, end });
        }
      }
    }
  }
}

/** Returns the function of an expression of a number and the masks. */
function changed(
  expr: Expr | null,
  dtypes: readonly DType[],
): (x: number, masks: () => (number | boolean)[]) => number {
  if (expr === null) return (x) => x;
  const evaluate = evaluator([expr], dtypes);
  return (x, masks) => evaluate([x, ...masks()] as never)[0] as number;
}
