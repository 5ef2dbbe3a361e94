/**
 * Transposes on the GPU, where reading and writing cannot both run along memory: through workgroup tiles on hardware,
 * through blocks of 4x4 in registers on software adapters.
 */
import type { AxisMap, CopyMap } from "../../core/meaning.ts";
import { flatId, type GpuPlan, gridFor, makeProgram, type Profile } from "../../core/dispatch.ts";
import { wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { mergeAxes } from "./map.ts";
import { STREAM_WORKGROUP } from "./fill.ts";

/** Side of a workgroup's tile. */
const TILE = 32;
/** Rows of invocations that carry a tile. */
const TILE_ROWS = 8;
/** Below this many rows or columns a plain copy is as good. */
const MIN_SIDE = 8;

/** A copy of the form `out[b][r][c] = in[base + b * batchStride + r + c * stride]`. */
interface Transpose {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly base: number;
  readonly batchStride: number;
  readonly stride: number;
}

function asTranspose(map: CopyMap): Transpose | null {
  const { axes, base } = mergeAxes(map);
  const padded: readonly (AxisMap | undefined)[] = axes.length === 2 ? [undefined, ...axes] : axes;
  const [batch, rows, columns] = padded;
  if (axes.length < 2 || axes.length > 3 || axes.some((a) => a.rule !== "plain" || a.stride < 0)) {
    return null;
  }
  if (
    rows!.stride !== 1 || columns!.stride <= 1 || rows!.dim < MIN_SIDE || columns!.dim < MIN_SIDE
  ) return null;
  return {
    batch: batch?.dim ?? 1,
    rows: rows!.dim,
    columns: columns!.dim,
    base,
    batchStride: batch?.stride ?? 0,
    stride: columns!.stride,
  };
}

/** True where the map is a transpose that one of the kernels here carries out. */
export function transposeFits(map: CopyMap, profile: Profile): boolean {
  const t = asTranspose(map);
  if (t === null) return false;
  if (profile.family === "gpu") return t.batch > 0;
  return [t.rows, t.columns, t.base, t.batchStride, t.stride].every((n) => n % 4 === 0);
}

/** One dispatch that transposes input `from`. */
export function transposeGpu(map: CopyMap, from: number, dtype: DType, profile: Profile): GpuPlan {
  const t = asTranspose(map)!;
  if (t.batch * t.rows * t.columns === 0) return { dispatches: [] };
  return profile.family === "gpu"
    ? tiles(t, from, dtype, profile)
    : blocks(t, from, dtype, profile);
}

function tiles(t: Transpose, from: number, dtype: DType, profile: Profile): GpuPlan {
  const word = wordType(dtype);
  const down = Math.ceil(t.rows / TILE), across = Math.ceil(t.columns / TILE);
  const groups = t.batch * down * across;
  const steps = Array.from({ length: TILE / TILE_ROWS }, (_, k) => k * TILE_ROWS);
  const program = makeProgram({
    name: "transpose_tiles",
    inputs: [word],
    outputs: [word],
    params: ["groups", "down", "across", "rows", "columns", "base", "batch_stride", "stride"],
    workgroup: [TILE, TILE_ROWS, 1],
    // One column more than the tile has keeps neighbouring rows in different banks.
    prelude: `var<workgroup> tile: array<${word}, ${TILE * (TILE + 1)}>;`,
    body: `let g = wid.x + wid.y * nwg.x;
if (g >= p.groups) { return; }
let per = p.down * p.across;
let b = g / per;
let rest = g - b * per;
let r0 = (rest / p.across) * ${TILE}u;
let c0 = (rest % p.across) * ${TILE}u;
let r = r0 + lid.x;
let c = c0 + lid.y;
let source = p.base + b * p.batch_stride + r;
${
      steps.map((k) =>
        `if (r < p.rows && c + ${k}u < p.columns) { tile[(lid.y + ${k}u) * ${
          TILE + 1
        }u + lid.x] = in0[source + (c + ${k}u) * p.stride]; }`
      ).join("\n")
    }
workgroupBarrier();
let row = r0 + lid.y;
let column = c0 + lid.x;
${
      steps.map((k) =>
        `if (row + ${k}u < p.rows && column < p.columns) { out0[(b * p.rows + row + ${k}u) * p.columns + column] = tile[lid.x * ${
          TILE + 1
        }u + lid.y + ${k}u]; }`
      ).join("\n")
    }`,
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: from }, { output: 0 }],
      params: [groups, down, across, t.rows, t.columns, t.base, t.batchStride, t.stride],
      grid: gridFor(groups, 1, profile),
    }],
  };
}

function blocks(t: Transpose, from: number, dtype: DType, profile: Profile): GpuPlan {
  const type = `vec4<${wordType(dtype)}>`;
  const down = t.rows / 4, across = t.columns / 4;
  const n = t.batch * down * across;
  const program = makeProgram({
    name: "transpose_blocks",
    inputs: [type],
    outputs: [type],
    params: ["n", "down", "across", "base", "batch_stride", "stride"],
    workgroup: [STREAM_WORKGROUP, 1, 1],
    body: `let i = ${flatId(STREAM_WORKGROUP)};
if (i >= p.n) { return; }
let line = i / p.across;
let c = i - line * p.across;
let b = line / p.down;
let r = line - b * p.down;
let source = p.base + b * p.batch_stride + r + c * 4u * p.stride;
let v0 = in0[source];
let v1 = in0[source + p.stride];
let v2 = in0[source + 2u * p.stride];
let v3 = in0[source + 3u * p.stride];
let to = line * 4u * p.across + c;
${
      ["x", "y", "z", "w"].map((l, k) =>
        `out0[to + ${k}u * p.across] = ${type}(v0.${l}, v1.${l}, v2.${l}, v3.${l});`
      ).join("\n")
    }`,
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: from }, { output: 0 }],
      params: [n, down, across, t.base / 4, t.batchStride / 4, t.stride / 4],
      grid: gridFor(n, STREAM_WORKGROUP, profile),
    }],
  };
}
