/**
 * Picking rows on the GPU. An index out of range gives zeros.
 */
import { flatId, type GpuPlan, gridFor, makeProgram, type Profile } from "../../core/dispatch.ts";
import { gpuBytes, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { piecedSource, piecesOf } from "./pieces.ts";
import { STREAM_WORKGROUP } from "./fill.ts";
import type { RowLayout } from "../../core/meaning.ts";

/** Parameters that {@linkcode rowLines} reads. */
export function dimParams(depth: number): string[] {
  return Array.from({ length: depth }, (_, k) => `d${k}`);
}

/** Statements that turn index vector `at` of `buffer` into `row` and `ok`. */
export function rowLines(buffer: string, at: string, depth: number): string {
  const lines = ["var row = 0u;", "var ok = true;"];
  for (let k = 0; k < depth; k++) {
    lines.push(
      `let x${k} = u32(${buffer}[(${at}) * ${depth}u + ${k}u]);`,
      `ok &= x${k} < p.d${k};`,
      `row = row * p.d${k} + x${k};`,
    );
  }
  return lines.join("\n");
}

/** True where the uniform block can hold the layout. */
export function gatherFits({ dims }: RowLayout): boolean {
  return dims.length <= 32;
}

/** One dispatch: the rows of input 0 that input 1 names. */
export function gatherGpu(layout: RowLayout, dtype: DType, profile: Profile): GpuPlan {
  const { batch, outer, dims, inner, count } = layout;
  const size = batch * outer * count * inner;
  if (size === 0) return { dispatches: [] };
  const wide = inner % 4 === 0;
  const type = wide ? `vec4<${wordType(dtype)}>` : wordType(dtype);
  const width = wide ? inner / 4 : inner;
  const n = wide ? size / 4 : size;
  const bytes = gpuBytes(dtype) * (wide ? 4 : 1);
  const extent = dims.reduce((a, b) => a * b, 1);
  const table = piecedSource({ input: 0 }, batch * outer * extent * width, type, bytes, 1, profile);
  const program = makeProgram({
    name: "gather",
    inputs: ["i32", ...table.types],
    outputs: [type],
    params: ["n", "first", "outer", "count", "inner", "extent", ...dimParams(dims.length)],
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: table.prelude,
    body: `let local = ${flatId(STREAM_WORKGROUP)};
if (local >= p.n) { return; }
let id = p.first + local;
let line = id / p.inner;
let i = id - line * p.inner;
let bo = line / p.count;
let j = line - bo * p.count;
${rowLines("in0", "(bo / p.outer) * p.count + j", dims.length)}
var v = ${type}();
if (ok) { v = ${table.read("(bo * p.extent + row) * p.inner + i")}; }
out0[local] = v;`,
  });
  return {
    dispatches: piecesOf(n, bytes, profile).map(({ first, count: threads, range }) => ({
      program,
      buffers: [{ input: 1 }, ...table.buffers, { output: 0, ...range }],
      params: [threads, first, outer, count, width, extent, ...dims],
      grid: gridFor(threads, STREAM_WORKGROUP, profile),
    })),
  };
}
