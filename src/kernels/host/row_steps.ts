/**
 * Row kernels of what `RowSteps` say, on the host in float64: a loop for each pass, compiled once per kernel and dtypes. Where code may
 * not be compiled, each step runs by itself.
 */
import type { DType } from "../../core/dtype.ts";
import type { RowSteps } from "../../core/meaning.ts";
import { NdArray } from "../../core/nd_array.ts";
import { RecentMap } from "../../core/recent_map.ts";
import { compileOr } from "../../core/scalar/compile.ts";
import {
  argument,
  argumentsOf,
  castTo,
  type Expr,
  exprKey,
  substitute,
} from "../../core/scalar/expr.ts";
import { printJs } from "../../core/scalar/js.ts";
import type { Shape } from "../../core/shape.ts";
import { numberPasses } from "../rows/pass_layout.ts";
import { HELPERS, loadText, pointwiseCpu, storeText } from "./pointwise.ts";
import { reduceCpu } from "./reduce.ts";

/** Runs steps on `m` rows of `n` elements. */
type Loops = (ins: readonly NdArray[], outs: readonly NdArray[], m: number, n: number) => void;
const made = new RecentMap<string, Loops>(64);
/** The loops that steps were run with last: texts are long to make. */
const last = new WeakMap<RowSteps, { readonly types: string; readonly loops: Loops }>();

/** What each fold begins with, and how it takes a term `v`. NaN is passed over. */
const FOLDS = {
  sum: ["0", (a: string, v: string) => `${a} += ${v};`],
  mean: ["0", (a: string, v: string) => `${a} += ${v};`],
  max: ["-Infinity", (a: string, v: string) => `if (${v} > ${a}) ${a} = ${v};`],
  min: ["Infinity", (a: string, v: string) => `if (${v} < ${a}) ${a} = ${v};`],
} as const;

/** Runs the steps on rows of the last axis of input 0; the inputs in `columns` are the same for all rows. */
export function rowStepsCpu(
  steps: RowSteps,
  columns: readonly number[],
  ins: readonly NdArray[],
  outs: readonly NdArray[],
): void {
  const n = ins[0].shape[ins[0].shape.length - 1], m = n === 0 ? 0 : ins[0].data.length / n;
  const dtypes = ins.map((a) => a.dtype), out = outs.map((a) => a.dtype);
  const types = `${dtypes}|${out}`;
  let own = last.get(steps);
  if (own?.types !== types) {
    const exprs = [...steps.found.map((f) => f.of), ...steps.results];
    const key = `${steps.found.map((f) => f.fold)}|${exprKey(...exprs)}|${types}|${columns}`;
    let loops = made.get(key);
    if (!loops) {
      const text = (): string => loopsText(steps, columns, dtypes, out);
      const names = { H: HELPERS };
      loops = compileOr<Loops>(
        { names, text },
        () => (ins, outs, m, n) => runSteps(steps, ins, outs, [m, n]),
      );
      made.set(key, loops);
    }
    last.set(steps, own = { types, loops });
  }
  own.loops(ins, outs, m, n);
}

function loopsText(
  steps: RowSteps,
  columns: readonly number[],
  dtypes: readonly DType[],
  out: readonly DType[],
): string {
  const { found, results } = steps, inputs = dtypes.length;
  const names = [...dtypes.map((_, k) => [`x${k}`]), ...found.map((_, k) => [`n${k}`])];
  const types = names.map((): DType => "float64");
  /** A loop over the row. */
  const over = (exprs: readonly Expr[], use: (values: readonly string[]) => string[]): string[] => {
    const { lines, results } = printJs(exprs.map((e) => castTo(e, "float64")), types, names);
    const own = [...lines, ...use(results.map(([r]) => r))];
    const read = [...new Set(exprs.flatMap(argumentsOf))].filter((a) => a < inputs);
    const loads = read.map((a) => {
      const [text] = loadText(dtypes[a], `a${a}`, columns.includes(a) ? "i" : "(p + i)");
      return `const x${a} = ${text};`;
    });
    return ["for (let i = 0; i < n; i++) {", ...loads, ...own, "}"];
  };
  const passes = numberPasses(steps, inputs).flatMap(({ folds, then }) => [
    ...folds.map((k) => `let n${k} = ${FOLDS[found[k].fold!][0]};`),
    ...over(
      folds.map((k) => found[k].of),
      (values) => folds.map((k, i) => FOLDS[found[k].fold!][1](`n${k}`, values[i])),
    ),
    ...folds.flatMap((k) => found[k].fold === "mean" ? [`n${k} /= n;`] : []),
    ...then.flatMap((k) => {
      const { lines, results: [[r]] } = printJs([castTo(found[k].of, "float64")], types, names);
      return [`let n${k}; {`, ...lines, `n${k} = ${r};`, "}"];
    }),
  ]);
  return [
    "return function (ins, outs, m, n) {",
    ...dtypes.map((_, k) => `const a${k} = ins[${k}].data;`),
    ...out.map((_, k) => `const o${k} = outs[${k}].data;`),
    "for (let r = 0, p = 0; r < m; r++, p += n) {",
    ...passes,
    ...over(
      results,
      (values) => out.flatMap((dtype, k) => storeText(dtype, `o${k}`, "(p + i)", [values[k]])),
    ),
    "}",
    "};",
  ].join("\n");
}

/** The same without code of its own. */
export function runSteps(
  { found, results }: RowSteps,
  ins: readonly NdArray[],
  outs: readonly NdArray[],
  rows: Shape,
): void {
  const ones: Shape = [rows[0], 1], along = new NdArray("int32", [1], Int32Array.of(1));
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
