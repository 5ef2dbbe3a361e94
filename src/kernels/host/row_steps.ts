/**
 * Row kernels of what `RowSteps` say, on the host: each step by itself, in float64.
 */
import type { RowSteps } from "../../core/meaning.ts";
import { NdArray } from "../../core/nd_array.ts";
import { argument, argumentsOf, castTo, type Expr, substitute } from "../../core/scalar/expr.ts";
import type { Shape } from "../../core/shape.ts";
import { pointwiseCpu } from "./pointwise.ts";
import { reduceCpu } from "./reduce.ts";

/** Runs the steps on rows of the last axis. */
export function rowStepsCpu(
  { found, results }: RowSteps,
  ins: readonly NdArray[],
  outs: readonly NdArray[],
): void {
  const n = ins[0].shape[ins[0].shape.length - 1];
  const m = n === 0 ? 0 : ins[0].data.length / n, rows: Shape = [m, n], ones: Shape = [m, 1];
  const along = new NdArray("int32", [1], Int32Array.of(1));
  const operands = ins.map(({ dtype, shape, data }) =>
    new NdArray(dtype, shape.length === 1 ? shape : rows, data)
  );
  const compute = (e: Expr, out: NdArray): NdArray => {
    const read = argumentsOf(e), args: Expr[] = [];
    read.forEach((a, i) => args[a] = castTo(argument(i), "float64"));
    pointwiseCpu([castTo(substitute(e, args), out.dtype)], read.map((a) => operands[a]), [out]);
    return out;
  };
  for (const { fold, of } of found) {
    const value = compute(of, NdArray.zeros("float64", fold === null ? ones : rows));
    const number = fold === null ? value : NdArray.zeros("float64", ones);
    if (fold !== null) reduceCpu({ op: fold }, [value, along], [number]);
    operands.push(number);
  }
  results.forEach((e, k) => compute(e, new NdArray(outs[k].dtype, rows, outs[k].data)));
}
