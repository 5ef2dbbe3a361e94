/** Row kernels on the GPU from `RowSteps`. */
import type { GpuVariant } from "../../core/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import type { MeaningOf, RowSteps } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { argumentsOf, type Expr, exprKey } from "../../core/scalar/expr.ts";
import { printWgsl } from "../../core/scalar/wgsl.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { SCALAR_WGSL } from "../../../shaders_generated.ts";
import { gpuFits } from "../copy/pieces.ts";
import { numberPasses } from "./pass_layout.ts";
import {
  type Accumulator,
  MOST_PASSES,
  type RowKernel,
  type RowPass,
  rowsOf,
  rowVariants,
} from "./row.ts";

/** Operation and initial value of each fold. A mean is a sum until it is divided. */
const FOLDS = {
  sum: ["sum", "0.0"],
  mean: ["sum", "0.0"],
  max: ["max", "-inf_()"],
  min: ["min", "inf_()"],
} as const;

/** The variants of an op that says row by row what it computes; programs have its name. */
export function rowStepVariants(
  { steps, columns }: MeaningOf<"row steps">,
  { name }: OpDef,
): readonly GpuVariant[] {
  return rowVariants(
    (problem, profile) =>
      gpuFits(problem, profile) &&
      numberPasses(steps(problem.attrs), problem.inputs.length).length <= MOST_PASSES,
    (problem) => [
      kernelOf(name, steps(problem.attrs), columns, problem),
      {
        ...rowsOf(problem.inputs[0].shape),
        buffers: [
          ...problem.inputs.map((_, input) => ({ input })),
          ...problem.outputs.map((_, output) => ({ output })),
        ],
      },
    ],
  );
}

function kernelOf(
  name: string,
  steps: RowSteps,
  columns: readonly number[],
  { inputs, outputs }: Problem,
): RowKernel {
  const { found, results } = steps;
  const exprs = [...found.map((n) => n.of), ...results];
  const call = (k: number): string =>
    `value${k}_(${argumentsOf(exprs[k]).map((a) => nameOf(a, inputs.length)).join(", ")})`;
  return {
    name,
    key: exprs.map((e, k) => `${found[k]?.fold}:${exprKey(e)}`).join(";"),
    prelude: (wide) => printValues(exprs, inputs.length, wide),
    inputs: inputs.map(({ dtype }, i) => ({ kind: columns.includes(i) ? "column" : "row", dtype })),
    passes: numberPasses(steps, inputs.length).map(({ folds, then }): RowPass => ({
      accumulators: folds.map((k): Accumulator => {
        const [combine, start] = FOLDS[found[k].fold!];
        return { name: `n${k}`, combine, start, value: call(k) };
      }),
      after: [
        ...folds.flatMap((k) => found[k].fold === "mean" ? [`n${k} = n${k} / p.columns;`] : []),
        ...then.map((k) => `let n${k} = ${call(k)};`),
      ].join("\n"),
    })),
    rows: outputs.map(({ dtype }, k): [DType, string] => [dtype, call(found.length + k)]),
  };
}

/** Returns the name of an argument: inputs come before numbers. */
function nameOf(a: number, inputs: number): string {
  return a < inputs ? `x${a}` : `n${a - inputs}`;
}

/**
 * Declares `value0_`, `value1_`, …: each expression for an element, or for four. An expression of numbers alone gives
 * one number.
 */
function printValues(exprs: readonly Expr[], inputs: number, wide: boolean): string {
  const helpers = new Set(["inf_"]), texts: string[] = [];
  exprs.forEach((e, k) => {
    const args = argumentsOf(e), names: string[] = [];
    for (const a of args) names[a] = nameOf(a, inputs);
    const dtypes = names.map((): DType => "float32");
    const { lines, results: [result], helpers: used } = printWgsl([e], dtypes, names);
    used.forEach((helper) => helpers.add(helper));
    const fours = wide && args.some((a) => a < inputs), one = fours ? `lane${k}_` : `value${k}_`;
    const params = args.map((a) => `${names[a]}: f32`).join(", ");
    texts.push([`fn ${one}(${params}) -> f32 {`, ...lines, `return ${result};\n}`].join("\n"));
    if (!fours) return;
    const own = args.map((a) => `${names[a]}: ${a < inputs ? "V" : "f32"}`).join(", ");
    const lanes = [..."xyzw"].map((lane) =>
      `${one}(${args.map((a) => (a < inputs ? `${names[a]}.${lane}` : names[a])).join(", ")})`
    );
    texts.push(`fn value${k}_(${own}) -> V { return V(${lanes.join(", ")}); }`);
  });
  return [wgslFunctions(SCALAR_WGSL, helpers), ...texts].join("\n");
}
