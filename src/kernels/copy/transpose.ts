/**
 * Transposes on the GPU, where reading and writing cannot both run along memory: through workgroup tiles on hardware,
 * through blocks of 4x4 in registers on software adapters.
 */
import type { AxisMap, CopyMap } from "../../core/meaning.ts";
import { type GpuPlan, gridFor, type Profile } from "../../core/dispatch.ts";
import { wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { shaderProgram } from "../../core/shader.ts";
import { COPY_TRANSPOSE_BLOCKS, COPY_TRANSPOSE_TILES } from "../../shaders_generated.ts";
import { mergeAxes } from "./map.ts";
import { STREAM_WORKGROUP } from "./fill.ts";
import { TRANSPOSE_SIDE } from "../thresholds.ts";

/** Side of a workgroup's tile, as in shaders/copy/transpose_tiles.wgsl. */
const TILE = 32;

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
    rows!.stride !== 1 || columns!.stride <= 1 || rows!.dim < TRANSPOSE_SIDE ||
    columns!.dim < TRANSPOSE_SIDE
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
  if (profile.barriers) return t.batch > 0;
  return [t.rows, t.columns, t.base, t.batchStride, t.stride].every((n) => n % 4 === 0);
}

/** One dispatch that transposes input `from`. */
export function transposeGpu(map: CopyMap, from: number, dtype: DType, profile: Profile): GpuPlan {
  const t = asTranspose(map)!;
  if (t.batch * t.rows * t.columns === 0) return { dispatches: [] };
  return profile.barriers ? tiles(t, from, dtype, profile) : blocks(t, from, dtype, profile);
}

function tiles(t: Transpose, from: number, dtype: DType, profile: Profile): GpuPlan {
  const word = wordType(dtype);
  const down = Math.ceil(t.rows / TILE), across = Math.ceil(t.columns / TILE);
  const groups = t.batch * down * across;
  const program = shaderProgram(COPY_TRANSPOSE_TILES, { element: word }, {
    name: "transpose_tiles",
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
  const program = shaderProgram(COPY_TRANSPOSE_BLOCKS, { four: type }, {
    name: "transpose_blocks",
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
