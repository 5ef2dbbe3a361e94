/**
 * Putting rows in their places on the GPU. Sums run either as one search per result, which is exact in order and right for
 * few rows, or by atomic additions. Rows with an index out of range are left out.
 */
import { type Dispatch, type GpuPlan, gridFor, type Profile } from "../../core/dispatch.ts";
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

/** Each result looks through all rows and adds those that are its own. */
export function searchAddGpu(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): GpuPlan {
  const { batch, outer, dims, inner, count } = layout;
  const extent = extentOf(layout);
  const size = batch * outer * extent * inner;
  if (size === 0) return { dispatches: [] };
  const wide = inner % 4 === 0;
  const type = vec(wgslType(dtype), wide ? 4 : 1), sum = vec(accType(dtype), wide ? 4 : 1);
  const start = inputs.start !== undefined;
  const program = shaderProgram(COPY_SCATTER_SEARCH, {
    element: type,
    sum,
    start,
    rank: dims.length,
  }, { name: "scatter_search" });
  const group = wide ? 4 : 1;
  return {
    dispatches: piecesOf(size / group, gpuBytes(dtype) * group, profile).map((piece) => ({
      program,
      buffers: [
        { input: inputs.rows },
        { input: inputs.indices },
        ...(start ? [{ input: inputs.start!, ...piece.range }] : []),
        { output: 0, ...piece.range },
      ],
      params: [piece.count, piece.first, outer, count, inner / group, extent, ...dims],
      grid: gridFor(piece.count, STREAM_WORKGROUP, profile),
    })),
  };
}

/** Fills the result, then adds every row to its place atomically. */
export function atomicAddGpu(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): GpuPlan {
  return {
    dispatches: [
      ...startGpu(layout, dtype, inputs, profile),
      ...addEach(layout, dtype, inputs, profile),
    ],
  };
}

/** Fills the result, then writes every row to its place. Which of several rows for one place stays is not said. */
export function writeGpu(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): GpuPlan {
  return {
    dispatches: [
      ...startGpu(layout, dtype, inputs, profile),
      ...writeEach(layout, dtype, inputs, profile),
    ],
  };
}

/** Puts every row in its place among what the result holds already. */
export function ontoGpu(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs & { readonly how: "add" | "write" },
  profile: Profile,
): GpuPlan {
  const each = inputs.how === "add" ? addEach : writeEach;
  return { dispatches: each(layout, dtype, inputs, profile) };
}

function addEach(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): Dispatch[] {
  const type = wgslType(dtype);
  const cell = type === "f32" ? "u32" : type;
  return eachElement(layout, dtype, type, `atomic<${cell}>`, inputs, profile);
}

function writeEach(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): Dispatch[] {
  const type = wordType(dtype);
  return eachElement(layout, dtype, type, type, inputs, profile);
}

function startGpu(
  layout: RowLayout,
  dtype: DType,
  inputs: ScatterInputs,
  profile: Profile,
): Dispatch[] {
  const size = layout.batch * layout.outer * extentOf(layout) * layout.inner;
  if (size === 0) return [];
  const word = wordType(dtype);
  const wide = size % 4 === 0;
  const type = wide ? `vec4<${word}>` : word;
  const start = inputs.start !== undefined;
  const group = wide ? 4 : 1;
  const program = shaderProgram(COPY_START, { element: type, start }, { name: "scatter_start" });
  return piecesOf(size / group, gpuBytes(dtype) * group, profile).map(({ count, range }) => ({
    program,
    buffers: [...(start ? [{ input: inputs.start!, ...range }] : []), { output: 0, ...range }],
    params: [count],
    grid: gridFor(count, STREAM_WORKGROUP, profile),
  }));
}

function eachElement(
  layout: RowLayout,
  dtype: DType,
  type: string,
  cell: string,
  inputs: ScatterInputs,
  profile: Profile,
): Dispatch[] {
  const { batch, outer, dims, inner, count } = layout;
  const n = batch * outer * count * inner;
  if (n === 0) return [];
  const adds = cell !== type;
  const program = shaderProgram(COPY_SCATTER, {
    element: type,
    cell,
    adds,
    floats: type === "f32",
    rank: dims.length,
  }, { name: adds ? "scatter_add" : "scatter_write" });
  const size = batch * outer * extentOf(layout) * inner;
  return piecesOf(size, gpuBytes(dtype), profile).map((piece) => ({
    program,
    buffers: [{ input: inputs.rows }, { input: inputs.indices }, { output: 0, ...piece.range }],
    params: [n, piece.first, piece.count, outer, count, inner, extentOf(layout), ...dims],
    grid: gridFor(n, STREAM_WORKGROUP, profile),
  }));
}

/** For each index the place of the first that equals it. */
export function firstEqualGpu(count: number, profile: Profile): GpuPlan {
  if (count === 0) return { dispatches: [] };
  const program = shaderProgram(COPY_FIRST_EQUAL, {}, { name: "first_equal" });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: [count],
      grid: gridFor(count, STREAM_WORKGROUP, profile),
    }],
  };
}
