/**
 * Putting rows in their places on the GPU. Sums run either as one search per result, which is exact in order and right for
 * few rows, or by atomic additions. Rows with an index out of range are left out.
 */
import type { GpuPlan, Profile } from "../../core/dispatch.ts";
import { accType, gpuBytes, vec, wgslType, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import type { RowLayout, ScatterInputs } from "../../core/meaning.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  COPY_FIRST_EQUAL,
  COPY_SCATTER,
  COPY_SCATTER_SEARCH,
  COPY_START,
} from "../../shaders_generated.ts";
import { flatDispatch, flatPlan } from "../dispatches.ts";
import { piecesOf } from "./pieces.ts";
import { STREAM_WORKGROUP } from "./fill.ts";
import { SEARCH_PLACES, SEARCH_ROWS } from "../thresholds.ts";

function extentOf({ dims }: RowLayout): number {
  return dims.reduce((a, b) => a * b, 1);
}

/** True where every result looks through all rows: few rows, or few places. */
export function searchFits(layout: RowLayout): boolean {
  return layout.dims.length <= 32 &&
    (layout.count <= SEARCH_ROWS || extentOf(layout) <= SEARCH_PLACES);
}

/** True where atomic additions can sum this dtype. */
export function atomicFits(layout: RowLayout, dtype: DType): boolean {
  return layout.dims.length <= 32 &&
    (dtype === "float32" || dtype === "int32" || dtype === "uint32");
}

/** Plans rows of an input that go to places of the result. */
type Scatter<Inputs = ScatterInputs> = (
  layout: RowLayout,
  dtype: DType,
  inputs: Inputs,
  profile: Profile,
) => GpuPlan;

/** Each result looks through all rows and adds those that are its own. */
export const searchAddGpu: Scatter = (layout, dtype, inputs, profile) => {
  const { batch, outer, dims, inner, count } = layout, extent = extentOf(layout);
  const size = batch * outer * extent * inner;
  if (size === 0) return { dispatches: [] };
  const group = inner % 4 === 0 ? 4 : 1, start = inputs.start !== undefined;
  const program = shaderProgram(COPY_SCATTER_SEARCH, {
    element: vec(wgslType(dtype), group),
    sum: vec(accType(dtype), group),
    start,
    rank: dims.length,
  }, { name: "scatter_search" });
  return {
    dispatches: piecesOf(size / group, gpuBytes(dtype) * group, profile).map((piece) =>
      flatDispatch({
        program,
        buffers: [
          { input: inputs.rows },
          { input: inputs.indices },
          ...(start ? [{ input: inputs.start!, ...piece.range }] : []),
          { output: 0, ...piece.range },
        ],
        params: [piece.count, piece.first, outer, count, inner / group, extent, ...dims],
        workgroup: STREAM_WORKGROUP,
      }, profile)
    ),
  };
};

/** Fills the result, then adds every row to its place atomically. */
export const atomicAddGpu: Scatter = (layout, dtype, inputs, profile) => ({
  dispatches: [
    ...startGpu(layout, dtype, inputs, profile).dispatches,
    ...ontoGpu(layout, dtype, { ...inputs, how: "add" }, profile).dispatches,
  ],
});

/** Fills the result, then writes every row to its place. Which of several rows for one place stays is not said. */
export const writeGpu: Scatter = (layout, dtype, inputs, profile) => ({
  dispatches: [
    ...startGpu(layout, dtype, inputs, profile).dispatches,
    ...ontoGpu(layout, dtype, { ...inputs, how: "write" }, profile).dispatches,
  ],
});

const startGpu: Scatter = (layout, dtype, inputs, profile) => {
  const size = layout.batch * layout.outer * extentOf(layout) * layout.inner;
  if (size === 0) return { dispatches: [] };
  const group = size % 4 === 0 ? 4 : 1, start = inputs.start !== undefined;
  const element = vec(wordType(dtype), group);
  const program = shaderProgram(COPY_START, { element, start }, { name: "scatter_start" });
  return {
    dispatches: piecesOf(size / group, gpuBytes(dtype) * group, profile).map(({ count, range }) =>
      flatDispatch({
        program,
        buffers: [...(start ? [{ input: inputs.start!, ...range }] : []), { output: 0, ...range }],
        params: [count],
        workgroup: STREAM_WORKGROUP,
      }, profile)
    ),
  };
};

/** Puts every row in its place among what the result holds already. */
export const ontoGpu: Scatter<ScatterInputs & { readonly how: "add" | "write" }> = (
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
    rank: dims.length,
  }, { name: `scatter_${how}` });
  return {
    dispatches: piecesOf(batch * outer * extent * inner, gpuBytes(dtype), profile).map((piece) =>
      flatDispatch({
        program,
        buffers: [{ input: rows }, { input: indices }, { output: 0, ...piece.range }],
        params: [n, piece.first, piece.count, outer, count, inner, extent, ...dims],
        workgroup: STREAM_WORKGROUP,
      }, profile)
    ),
  };
};

/** For each index the place of the first that equals it. */
export function firstEqualGpu(count: number, profile: Profile): GpuPlan {
  return flatPlan({
    program: shaderProgram(COPY_FIRST_EQUAL, {}, { name: "first_equal" }),
    buffers: [{ input: 0 }, { output: 0 }],
    params: [count],
    workgroup: STREAM_WORKGROUP,
  }, profile);
}
