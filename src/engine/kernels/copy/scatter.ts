/**
 * Scatters of rows on the GPU. Sums run either as one search per result, which has a fixed order and suits few rows, or
 * by atomic additions. Rows with an index out of range are skipped.
 */
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { accType, gpuBytes, vec, wgslType, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import type { MeaningOf, RowLayout, ScatterInputs } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import {
  COPY_FIRST_EQUAL,
  COPY_SCATTER,
  COPY_SCATTER_SEARCH,
  COPY_START,
} from "../../../shaders_generated.ts";
import { flatPlan } from "../dispatches.ts";
import { throughFloat32 } from "../pointwise/half.ts";
import { partType } from "../pointwise/complex_problem.ts";
import { gatherFits, ofParts } from "./gather.ts";
import { ontoLayout } from "./gather_layout.ts";
import { bindable, planPieces } from "./pieces.ts";
import { SEARCH_PLACES, SEARCH_ROWS } from "../thresholds.ts";

function extentOf({ dims }: RowLayout): number {
  return dims.reduce((a, b) => a * b, 1);
}

/** The variants of an op that adds rows to places, or writes them there. */
export function scatterVariants(
  { layout, inputs, how }: MeaningOf<"scatter">,
): readonly GpuVariant[] {
  const isNarrow = (problem: Problem, profile: Profile): boolean => {
    const rows = problem.inputs[inputs.rows], indices = problem.inputs[inputs.indices];
    return indices.dtype === "int32" && bindable(rows, profile) && bindable(indices, profile);
  };
  const variant = (
    name: string,
    fits: (layout: RowLayout, dtype: DType) => boolean,
    plan: Scatter,
  ): GpuVariant => ({
    name,
    complex: "too",
    fits: (p, profile) => isNarrow(p, profile) && fits(layout(p), partType(p.outputs[0].dtype)),
    plan: (p, profile) => {
      const { dtype } = p.outputs[0];
      return plan(ofParts(layout(p), dtype), partType(dtype), inputs, profile);
    },
  });
  if (how === "write") return [variant("write", gatherFits, writeGpu)];
  // A search for few rows or few places, else atomic additions, which are of float32 for float16.
  return [
    variant("search", (layout, dtype) => dtype !== "bool" && searchFits(layout), searchAddGpu),
    throughFloat32(variant("atomic", atomicFits, atomicAddGpu)),
  ];
}

/** True where every result searches all rows: few rows, or few places. */
function searchFits(layout: RowLayout): boolean {
  return layout.dims.length <= 32 &&
    (layout.count <= SEARCH_ROWS || extentOf(layout) <= SEARCH_PLACES);
}

function atomicFits(layout: RowLayout, dtype: DType): boolean {
  return layout.dims.length <= 32 &&
    (dtype === "float32" || dtype === "int32" || dtype === "uint32" || dtype === "bool");
}

/** Plans the scatter of an input's rows into the result. */
type Scatter<Inputs = ScatterInputs> = (
  layout: RowLayout,
  dtype: DType,
  inputs: Inputs,
  profile: Profile,
) => GpuPlan;

/** Plans a search: each result goes through all rows and adds its own. */
const searchAddGpu: Scatter = (layout, dtype, inputs, profile) => {
  const { batch, outer, dims, inner, count } = layout, extent = extentOf(layout);
  const size = batch * outer * extent * inner;
  const group = inner % 4 === 0 ? 4 : 1, start = inputs.start !== undefined;
  const program = shaderProgram(COPY_SCATTER_SEARCH, {
    element: vec(wgslType(dtype), group),
    sum: vec(accType(dtype), group),
    start,
    rank: dims.length,
  }, { name: "scatter_search" });
  return planPieces(program, [size / group, gpuBytes(dtype) * group], profile, (piece) => ({
    buffers: [
      { input: inputs.rows },
      { input: inputs.indices },
      ...(start ? [{ input: inputs.start!, ...piece.range }] : []),
      { output: 0, ...piece.range },
    ],
    params: [piece.count, piece.first, outer, count, inner / group, extent, ...dims],
  }));
};

/** Fills the result, then scatters the rows. */
function startAndPut(how: "add" | "write"): Scatter {
  return (layout, dtype, inputs, profile) => {
    const start = startGpu(layout, dtype, inputs, profile);
    const put = ontoGpu(layout, dtype, { ...inputs, how }, profile);
    const dispatches = [...start.dispatches, ...put.dispatches];
    if (inputs.start === undefined) return { dispatches };
    return { dispatches, onto: { input: inputs.start, dispatches: put.dispatches } };
  };
}

/** Adds rows atomically. */
const atomicAddGpu: Scatter = startAndPut("add");

/** Writes rows. Of several rows for one place, any may remain. */
const writeGpu: Scatter = startAndPut("write");

const startGpu: Scatter = (layout, dtype, inputs, profile) => {
  const size = layout.batch * layout.outer * extentOf(layout) * layout.inner;
  const group = size % 4 === 0 ? 4 : 1, start = inputs.start !== undefined;
  const element = vec(wordType(dtype), group);
  const program = shaderProgram(COPY_START, { element, start }, { name: "scatter_start" });
  const extents = [size / group, gpuBytes(dtype) * group] as const;
  return planPieces(program, extents, profile, ({ count, range }) => ({
    buffers: [...(start ? [{ input: inputs.start!, ...range }] : []), { output: 0, ...range }],
    params: [count],
  }));
};

/** Scatters rows into the present contents of the result. */
const ontoGpu: Scatter<ScatterInputs & { readonly how: "add" | "write" }> = (
  layout,
  dtype,
  { rows, indices, how },
  profile,
) => {
  const { batch, outer, dims, inner, count } = layout, extent = extentOf(layout);
  const n = batch * outer * count * inner, adds = how === "add";
  if (n === 0) return { dispatches: [] };
  const type = adds ? wgslType(dtype) : wordType(dtype), floats = type === "f32";
  const program = shaderProgram(COPY_SCATTER, {
    element: type,
    cell: adds ? `atomic<${floats ? "u32" : type}>` : type,
    adds,
    floats,
    bools: dtype === "bool",
    rank: dims.length,
  }, { name: `scatter_${how}` });
  const places = [batch * outer * extent * inner, gpuBytes(dtype)] as const;
  return planPieces(program, places, profile, (piece) => ({
    buffers: [{ input: rows }, { input: indices }, { output: 0, ...piece.range }],
    params: [n, piece.first, piece.count, outer, count, inner, extent, ...dims],
  }));
};

/** The kernel of rows put among those that the result holds: inputs are int32 indices and rows. */
export const ontoVariants: readonly GpuVariant[] = [{
  name: "onto",
  exactDtype: true,
  fits: (problem, profile) => {
    const { inputs: [indices, updates], attrs: { how } } = problem;
    return indices.dtype === "int32" && updates.dtype !== "float16" &&
      (how === "write" || atomicFits(ontoLayout(problem), updates.dtype)) &&
      bindable(indices, profile) && bindable(updates, profile);
  },
  plan: (problem, profile) => {
    const { outputs: [{ dtype }], attrs: { how } } = problem;
    return ontoGpu(ontoLayout(problem), dtype, { rows: 1, indices: 0, how }, profile);
  },
}];

/** The kernel of the first place of each index. */
export const firstEqualVariants: readonly GpuVariant[] = [{
  name: "search",
  fits: ({ inputs: [x] }, profile) => x.dtype === "int32" && bindable(x, profile),
  plan: ({ inputs: [x] }, profile) => firstEqualGpu(sizeOf(x.shape), profile),
}];

/** Returns for each index the position of the first that equals it. */
function firstEqualGpu(count: number, profile: Profile): GpuPlan {
  return flatPlan({
    program: shaderProgram(COPY_FIRST_EQUAL, {}, { name: "first_equal" }),
    buffers: [{ input: 0 }, { output: 0 }],
    params: [count],
  }, profile);
}
