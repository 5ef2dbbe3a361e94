/** Row kernels of `RowSteps`, for float32; sums are float64. */
import type { DType } from "../../../core/dtype.ts";
import type { MeaningOf, RowSteps } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { argumentsOf, type Expr, exprKey } from "../../../core/scalar/expr.ts";
import { numberPasses } from "../../../kernels/rows/pass_layout.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { isLight } from "../pointwise/lane_functions.ts";
import { workOf } from "../pointwise/pointwise.ts";
import { printSimd, simdPrints } from "../pointwise/print_simd.ts";
import { f64x2 } from "../wasm/instructions.ts";
import type { F4 } from "../wasm/simd.ts";
import type { Place, RowWriter } from "./row_writer.ts";
import { rowKernel, rowsOf } from "./rows.ts";

export function prepareRowSteps(
  engine: Engine,
  { inputs, outputs, attrs }: Problem,
  { steps, columns }: MeaningOf<"row steps">,
): FastRun | null {
  const own = steps(attrs), exprs = [...own.found.map((n) => n.of), ...own.results];
  const dtypes = [...inputs, ...own.found].map((): DType => "float32");
  if (
    [...inputs, ...outputs].some((s) => s.dtype !== "float32") || !simdPrints(exprs, dtypes)
  ) return null;
  const { m, n } = rowsOf(inputs[0].shape), outs = outputs.length, all = outs + inputs.length;
  const still = columns.map((i) => outs + i);
  const name = `${exprs.map((e, k) => `${own.found[k]?.fold} ${exprKey(e)}`).join(";")} ${still}`;
  const body = (w: RowWriter): void => writeSteps(w, own, inputs.length, still);
  const run = rowKernel(engine, name, all, body, exprs);
  const moves = Array.from({ length: all }, (_, p) => (still.includes(p) ? 0 : 4 * n));
  const pieces = { count: m, work: m * n * workOf(exprs, all) };
  return (o, i) => engine.alongSteps(run, pieces, [...o, ...i], moves, [n]);
}

/** Pointers: the outputs, then the inputs. */
function writeSteps(
  w: RowWriter,
  steps: RowSteps,
  inputs: number,
  still: readonly number[],
): void {
  const { found, results } = steps, outs = results.length;
  const numbers: F4[] = [], dtypes = new Array<DType>(inputs + found.length).fill("float32");
  /** Walks the row with the values of expressions of it. */
  const walk = (
    exprs: readonly Expr[],
    use: (values: readonly F4[], place: Place) => void,
  ): void => {
    const read = [...new Set(exprs.flatMap(argumentsOf))].filter((a) => a < inputs);
    w.vectors(read.map((a) => outs + a), (vectors, place) => {
      const args: F4[] = [];
      read.forEach((a, i) => args[a] = vectors[i]);
      numbers.forEach((n, k) => args[inputs + k] = n);
      use(printSimd(w.s, exprs, dtypes, args) as F4[], place);
    }, { unroll: isLight(exprs) ? 2 : 1 });
  };
  w.each(
    () => {
      for (const { folds, then } of numberPasses(steps, inputs)) {
        const kept = folds.map((k) => keep(w, found[k].fold!));
        walk(folds.map((k) => found[k].of), (values, place) => {
          kept.forEach((one, i) => one.take(values[i], place));
        });
        kept.forEach((one, i) => numbers[folds[i]] = one.number());
        for (const k of then) {
          const args: F4[] = [];
          numbers.forEach((n, k) => args[inputs + k] = n);
          [numbers[k]] = printSimd(w.s, [found[k].of], dtypes, args) as F4[];
        }
      }
      walk(results, (values, { put }) => values.forEach((v, k) => put(k, v)));
    },
    [],
    still,
  );
}

/** A number that is accumulated along a row. */
interface Kept {
  readonly take: (terms: F4, place: Place) => void;
  /** Returns the final number, in all lanes. */
  readonly number: () => F4;
}

function keep(w: RowWriter, fold: "sum" | "mean" | "max" | "min"): Kept {
  if (fold === "max" || fold === "min") {
    const extreme = w.extreme(fold === "max" ? "pmax" : "pmin");
    const none = fold === "max" ? -Infinity : Infinity;
    return {
      take: (v, { clear }) => w.take(extreme, w.f.let(clear(v, none))),
      number: () => w.found(extreme),
    };
  }
  const sum = w.sum();
  return {
    take: (v, { clear }) => w.add(sum, w.f.let(clear(v))),
    number: () => w.narrow(fold === "mean" ? f64x2.div(w.total(sum), w.length) : w.total(sum)),
  };
}
