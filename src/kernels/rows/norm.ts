/**
 * Layer normalization, sums over windows and local response normalization on the GPU.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  flatId,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Profile,
  Programs,
  workgroupFor,
} from "../../core/dispatch.ts";
import { loadText, storeText, vec, wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { sumRowsDispatch } from "../reduce/variants.ts";
import { fitsGpu, LOOP_LIMIT } from "../reduce/wgsl.ts";
import {
  rowDispatch,
  type RowForm,
  rowFormFits,
  type RowKernel,
  type RowPass,
  type RowRun,
  rowsOf,
  rowVariants,
} from "./row.ts";

function fits({ inputs, outputs }: Problem, profile: Profile): boolean {
  return fitsGpu([...inputs, ...outputs], profile);
}

/** Passes that find `mean` and `r`, one over the standard deviation, of input `x`. */
function standardize(x: string): RowPass[] {
  return [
    {
      accumulators: [{ name: "total", combine: "sum", start: "0.0", value: x }],
      after: "let mean = total / p.columns;",
    },
    {
      each: `let d = ${x} - mean;`,
      accumulators: [{ name: "square", combine: "sum", start: "0.0", value: "d * d" }],
      after: "let r = 1.0 / sqrt(square / p.columns + p.epsilon);",
    },
  ];
}

/** Variants of layer normalization: one dispatch. */
export const layerNormVariants: readonly GpuVariant[] = rowVariants(
  fits,
  ({ inputs: [x, scale, offset], attrs }): [RowKernel, RowRun] => [
    {
      name: "layer_norm",
      params: ["epsilon:f32"],
      inputs: [
        { kind: "row", dtype: x.dtype },
        { kind: "column", dtype: scale.dtype },
        { kind: "column", dtype: offset.dtype },
      ],
      passes: standardize("x0"),
      rows: [[x.dtype, "(x0 - mean) * r * x1 + x2"]],
    },
    {
      ...rowsOf(x.shape),
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: [f32Bits(attrs.epsilon)],
    },
  ],
);

const cache = new Programs();

/** Gradient of layer normalization: rows for `x`, which leave mean and deviation; then columns for scale and offset. */
export const layerNormGradVariants: readonly GpuVariant[] = (["workgroup", "thread"] as const).map((
  form,
) => ({
  name: form,
  fits: (problem, profile) =>
    rowFormFits(form, rowsOf(problem.inputs[0].shape).columns, profile) && fits(problem, profile),
  plan: (problem, profile) => planLayerNormGrad(problem, profile, form),
}));

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
        { name: "a", combine: "sum", start: "0.0", value: "g" },
        { name: "b", combine: "sum", start: "0.0", value: "g * ((x1 - mean) * r)" },
      ],
      after: "let a1 = a / p.columns;\nlet b1 = b / p.columns;",
    }],
    rows: [[x.dtype, "r * (x0 * x2 - a1 - (x1 - mean) * r * b1)"]],
    scalars: [["float32", "mean"], ["float32", "r"]],
  };
  const dispatches: Dispatch[] = rows === 0 ? [] : [rowDispatch(kernel, run, profile, form)];
  // The columns: sums over rows, split where there are few columns.
  const threads = columns % 4 === 0 ? columns / 4 : columns;
  const wanted = profile.family === "gpu" ? 16384 : 64;
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
    columnDispatch(dy.dtype, rows, columns, parts, whole ? scale.dtype : null, partial, profile),
  );
  if (!whole) {
    partial.forEach((source, k) =>
      dispatches.push(
        sumRowsDispatch(parts, columns, scale.dtype, source, { output: k + 1 }, profile),
      )
    );
  }
  const few = Math.max(4, 4 * rows), many = 4 * parts * columns;
  return { dispatches, temps: whole ? [few, few] : [few, few, many, many] };
}

function columnDispatch(
  dtype: DType,
  rows: number,
  columns: number,
  parts: number,
  to: DType | null,
  targets: readonly [BufferRef, BufferRef],
  profile: Profile,
): Dispatch {
  const width = columns % 4 === 0 ? 4 : 1, cols = columns / width;
  const threads = parts * cols;
  const workgroup = workgroupFor(threads, profile);
  const key = `${dtype},${to},${width},${workgroup}`;
  let program = cache.get(key);
  if (!program) {
    const load = (k: number): string => loadText(dtype, `in${k}[at]`, width);
    const store = (v: string): string => (to === null ? v : storeText(to, v, width));
    const type = vec(to === null ? "f32" : wgslType(to), width), v = vec("f32", width);
    program = makeProgram({
      name: "layer_norm_columns",
      inputs: [vec(wgslType(dtype), width), vec(wgslType(dtype), width), "f32", "f32"],
      outputs: [type, type],
      params: ["n", "cols", "rows", "parts"],
      workgroup: [workgroup, 1, 1],
      body: `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
let c = t % p.cols;
var scale = ${v}(0.0);
var offset = ${v}(0.0);
for (var r = t / p.cols; r < p.rows; r += p.parts) {
  let at = r * p.cols + c;
  let g = ${load(0)};
  scale += g * ((${load(1)} - in2[r]) * in3[r]);
  offset += g;
}
out0[t] = ${store("scale")};
out1[t] = ${store("offset")};`,
    });
    cache.set(key, program);
  }
  return {
    program,
    buffers: [{ input: 0 }, { input: 1 }, { temp: 0 }, { temp: 1 }, ...targets],
    params: [threads, cols, rows, parts],
    grid: gridFor(threads, workgroup, profile),
  };
}

/** Variants of an op of windows along the last axis. `value` is text of what `v` adds; `result` of what `s` and `v` give. */
function windowVariants(
  name: string,
  params: readonly string[],
  words: (problem: Problem) => readonly number[],
  radius: (problem: Problem) => number,
  value: string,
  result: string,
): GpuVariant[] {
  return [{
    name: "windows",
    fits: (problem, profile) => 2 * radius(problem) < LOOP_LIMIT && fits(problem, profile),
    plan: (problem, profile) => {
      const [x] = problem.inputs, size = sizeOf(x.shape);
      if (size === 0) return { dispatches: [] };
      const { columns } = rowsOf(x.shape);
      const load = (at: string): string => loadText(x.dtype, `in0[${at}]`);
      const key = `${name},${x.dtype}`;
      let program = cache.get(key);
      if (!program) {
        program = makeProgram({
          name,
          inputs: [wgslType(x.dtype)],
          outputs: [wgslType(x.dtype)],
          params: ["n", "columns", "radius", ...params],
          workgroup: [64, 1, 1],
          body: `let t = ${flatId(64)};
if (t >= p.n) { return; }
let c = t % p.columns;
let row = t - c;
let last = min(c + p.radius, p.columns - 1u);
var s = 0.0;
for (var k = c - min(c, p.radius); k <= last; k += 1u) {
  let v = ${load("row + k")};
  s += ${value};
}
let v = ${load("t")};
out0[t] = ${storeText(x.dtype, `(${result})`)};`,
        });
        cache.set(key, program);
      }
      return {
        dispatches: [{
          program,
          buffers: [{ input: 0 }, { output: 0 }],
          params: [size, columns, Math.min(radius(problem), columns), ...words(problem)],
          grid: gridFor(size, 64, profile),
        }],
      };
    },
  }];
}

/** Variants of the sum over windows. */
export const windowSumVariants: readonly GpuVariant[] = windowVariants(
  "window_sum",
  [],
  () => [],
  ({ attrs }) => attrs.radius,
  "v",
  "s",
);

/** Variants of local response normalization. */
export const lrnVariants: readonly GpuVariant[] = windowVariants(
  "lrn",
  ["bias:f32", "alpha:f32", "beta:f32"],
  ({ attrs }) => [attrs.bias, attrs.alpha, attrs.beta].map(f32Bits),
  ({ attrs }) => attrs.depth_radius,
  "v * v",
  "v * pow(p.bias + p.alpha * s, -p.beta)",
);
