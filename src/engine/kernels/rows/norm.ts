/** The gradient of layer normalization, sums over windows and local response normalization on the GPU. */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  workgroupFor,
} from "../../core/dispatch.ts";
import { isHalf, vec, wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ROWS_NORM_COLUMNS, ROWS_WINDOW } from "../../../shaders_generated.ts";
import { sizeOf } from "../../core/shape.ts";
import { sumRowsDispatch } from "../reduce/variants.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatDispatch, flatPlan } from "../dispatches.ts";
import {
  rowDispatch,
  type RowForm,
  rowFormVariants,
  type RowKernel,
  type RowPass,
  type RowRun,
  rowsOf,
  summed,
} from "./row.ts";
import { thresholdsOf } from "../thresholds.ts";

/** Returns passes that compute `mean` and `r`, one over the standard deviation, of input `x`. */
function standardize(x: string): RowPass[] {
  return [
    {
      accumulators: [summed("total", x)],
      after: "let mean = total / p.columns;",
    },
    {
      each: `let d = ${x} - mean;`,
      accumulators: [summed("square", "d * d")],
      after: "let r = 1.0 / sqrt(square / p.columns + p.epsilon);",
    },
  ];
}

/** Gradient of layer normalization: rows for `x`, which leave mean and deviation; then columns for scale and offset. */
export const layerNormGradVariants: readonly GpuVariant[] = rowFormVariants(
  gpuFits,
  planLayerNormGrad,
);

function planLayerNormGrad(
  { inputs: [dy, x, scale], attrs }: Problem,
  profile: Profile,
  form: RowForm,
): GpuPlan {
  const { rows, columns } = rowsOf(x.shape);
  if (columns === 0) return { dispatches: [] };
  const run: RowRun = {
    rows,
    columns,
    buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }, { temp: 0 }, { temp: 1 }],
    params: [f32Bits(attrs.epsilon)],
  };
  const kernel: RowKernel = {
    name: "layer_norm_grad",
    params: ["epsilon:f32"],
    inputs: [
      { kind: "row", dtype: dy.dtype },
      { kind: "row", dtype: x.dtype },
      { kind: "column", dtype: scale.dtype },
    ],
    passes: [...standardize("x1"), {
      each: "let g = x0 * x2;",
      accumulators: [
        summed("a", "g"),
        summed("b", "g * ((x1 - mean) * r)"),
      ],
      after: "let a1 = a / p.columns;\nlet b1 = b / p.columns;",
    }],
    rows: [[x.dtype, "r * (x0 * x2 - a1 - (x1 - mean) * r * b1)"]],
    scalars: [["float32", "mean"], ["float32", "r"]],
  };
  const dispatches: Dispatch[] = rows === 0 ? [] : [rowDispatch(kernel, run, profile, form)];
  // The columns: sums over rows, split where there are few columns.
  const threads = columns % 4 === 0 ? columns / 4 : columns;
  const { invocations: wanted } = thresholdsOf(profile);
  const parts = Math.max(
    1,
    Math.ceil(rows / LOOP_LIMIT),
    Math.min(Math.floor(rows / 8), Math.ceil(wanted / threads)),
  );
  const whole = parts === 1;
  const partial: [BufferRef, BufferRef] = whole
    ? [{ output: 1 }, { output: 2 }]
    : [{ temp: 2 }, { temp: 3 }];
  dispatches.push(
    columnDispatch(dy.dtype, [parts, rows, columns], whole ? scale.dtype : null, partial, profile),
  );
  if (!whole) {
    dispatches.push(
      ...partial.map((source, k) =>
        sumRowsDispatch(parts, columns, scale.dtype, source, { output: k + 1 }, profile)
      ),
    );
  }
  const few = Math.max(4, 4 * rows), many = 4 * parts * columns;
  return { dispatches, temps: whole ? [few, few] : [few, few, many, many] };
}

/** Sums of each column over parts of the rows. */
function columnDispatch(
  dtype: DType,
  [parts, rows, columns]: readonly [number, number, number],
  to: DType | null,
  targets: readonly [BufferRef, BufferRef],
  profile: Profile,
): Dispatch {
  const width = columns % 4 === 0 ? 4 : 1, cols = columns / width, threads = parts * cols;
  const workgroup = workgroupFor(threads, profile);
  const program = shaderProgram(ROWS_NORM_COLUMNS, {
    in: vec(wgslType(dtype), width),
    out: vec(to === null ? "f32" : wgslType(to), width),
    v: vec("f32", width),
    halfFrom: isHalf(dtype),
    halfTo: to !== null && isHalf(to),
    workgroup,
  }, { name: "layer_norm_columns" });
  const buffers = [{ input: 0 }, { input: 1 }, { temp: 0 }, { temp: 1 }, ...targets];
  return flatDispatch({ program, buffers, params: [threads, cols, rows, parts] }, profile);
}

/**
 * Makes variants of an op of windows along the last axis; `words` are those of local response normalization, null for a
 * plain sum.
 */
function windowVariants(
  name: string,
  words: ((problem: Problem) => readonly number[]) | null,
  radius: (problem: Problem) => number,
): GpuVariant[] {
  return [{
    name: "windows",
    fits: (problem, profile) => 2 * radius(problem) < LOOP_LIMIT && gpuFits(problem, profile),
    plan: (problem, profile) => {
      const [x] = problem.inputs, { columns } = rowsOf(x.shape);
      const program = shaderProgram(ROWS_WINDOW, {
        element: wgslType(x.dtype),
        lrn: words !== null,
        half: isHalf(x.dtype),
      }, { name });
      const reach = Math.min(radius(problem), columns);
      return flatPlan({
        program,
        buffers: [{ input: 0 }, { output: 0 }],
        params: [sizeOf(x.shape), columns, reach, ...(words?.(problem) ?? [])],
      }, profile);
    },
  }];
}

export const windowSumVariants: readonly GpuVariant[] = windowVariants(
  "window_sum",
  null,
  ({ attrs }) => attrs.radius,
);

export const lrnVariants: readonly GpuVariant[] = windowVariants(
  "lrn",
  ({ attrs }) => [attrs.bias, attrs.alpha, attrs.beta].map(f32Bits),
  ({ attrs }) => attrs.depth_radius,
);
