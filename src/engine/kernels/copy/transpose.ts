/**
 * Transposes on the GPU, where reading and writing cannot both run along memory: through workgroup tiles on hardware,
 * through blocks of 4x4 in registers on software adapters.
 */
import type { CopyMap, MeaningOf } from "../../core/meaning.ts";
import type { BufferRef, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { vec, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { shaderProgram } from "../../core/shader.ts";
import { COPY_TRANSPOSE_BLOCKS, COPY_TRANSPOSE_TILES } from "../../../shaders_generated.ts";
import { flatPlan } from "../dispatches.ts";
import { partsOf } from "../pointwise/complex_problem.ts";
import { mergeAxes, plainAxis } from "./map.ts";
import { bindsWhole } from "./pieces.ts";
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
  if (axes.length < 2 || axes.length > 3 || axes.some((a) => a.rule !== "plain" || a.stride < 0)) {
    return null;
  }
  const [rows, columns] = axes.slice(-2), batch = axes.length === 3 ? axes[0] : plainAxis(1, 0);
  const isTransposed = rows.stride === 1 && columns.stride > 1 &&
    Math.min(rows.dim, columns.dim) >= TRANSPOSE_SIDE;
  return isTransposed
    ? {
      batch: batch.dim,
      rows: rows.dim,
      columns: columns.dim,
      base,
      batchStride: batch.stride,
      stride: columns.stride,
    }
    : null;
}

export function transposeVariant({ from, map }: MeaningOf<"copy">): GpuVariant {
  return {
    name: "transpose",
    complex: "too",
    // Blocks of four are vectors.
    fits: (problem, profile) =>
      bindsWhole(problem, profile) && transposeFits(map(problem), profile) &&
      (profile.barriers || partsOf(problem.outputs[0].dtype) === 1),
    plan: (problem, profile) => transposeGpu(map(problem), from, problem.outputs[0].dtype, profile),
  };
}

/** True where the map is a transpose that one of these kernels supports. */
function transposeFits(map: CopyMap, profile: Profile): boolean {
  const t = asTranspose(map);
  if (t === null) return false;
  if (profile.barriers) return t.batch > 0;
  return [t.rows, t.columns, t.base, t.batchStride, t.stride].every((n) => n % 4 === 0);
}

/**
 * Plans one dispatch that transposes input `from`: its first parameter counts tiles of a workgroup, or blocks of an
 * invocation.
 */
function transposeGpu(map: CopyMap, from: number, dtype: DType, profile: Profile): GpuPlan {
  const { batch, rows, columns, base, batchStride, stride } = asTranspose(map)!;
  const word = wordType(dtype), buffers: BufferRef[] = [{ input: from }, { output: 0 }];
  const side = profile.barriers ? TILE : 4;
  const down = Math.ceil(rows / side), across = Math.ceil(columns / side);
  const n = batch * down * across;
  if (profile.barriers) {
    const name = "transpose_tiles";
    const program = shaderProgram(COPY_TRANSPOSE_TILES, { element: word }, { name });
    const params = [n, down, across, rows, columns, base, batchStride, stride];
    return flatPlan({ program, buffers, params, groups: true }, profile);
  }
  const name = "transpose_blocks";
  const program = shaderProgram(COPY_TRANSPOSE_BLOCKS, { four: vec(word, 4) }, { name });
  const params = [n, down, across, base / 4, batchStride / 4, stride / 4];
  return flatPlan({ program, buffers, params }, profile);
}
