/** The gradient of attention in plain loops, a query at a time. */
import type { AttentionGradientOf } from "../../core/attention.ts";
import type { CpuKernel } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import { evaluator } from "../../core/scalar/eval.ts";
import { changed, eachRow } from "./attention.ts";
import { numbersOf, settle } from "./numbers.ts";

/** Computes each result in float64, and rounds it once; what the forward pass kept is not read. */
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
