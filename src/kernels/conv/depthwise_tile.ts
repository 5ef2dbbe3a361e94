/**
 * Depthwise convolutions for software adapters, shaders/depthwise/tile.wgsl: an invocation makes a rectangle of results of four
 * channels, with every tap spelled out. Loops and branches cost such adapters more than the taps that fall outside.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { DEPTHWISE_TILE } from "../window_shaders_generated.ts";
import { type Epilogue, printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";

/** What shapes {@linkcode tileProgram}. Pairs are of height and width. */
export interface DepthwiseTile {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Taps of the filter. */
  readonly taps: readonly [number, number];
  /** Steps between places. */
  readonly stride: readonly [number, number];
  /** Taps run backwards: the gradient of the image. */
  readonly backward: boolean;
  /** Results of an invocation. */
  readonly results: readonly [number, number];
  /** True where rectangles cover the result without rest. */
  readonly even: boolean;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Loads and stores that a program spells out at most: each takes the adapter's compiler some milliseconds. */
const MAX_ACCESSES = 64;

/** Elements of the image, height and width, that a rectangle of results needs. */
function spanOf(
  { taps, stride, results }: Pick<DepthwiseTile, "taps" | "stride" | "results">,
): number[] {
  return [0, 1].map((d) => (results[d] - 1) * stride[d] + taps[d]);
}

/** How many results an invocation makes of so many rows and columns; null where even a few are too much to spell out. */
export function tileResults(
  { taps, stride, places }: Pick<DepthwiseTile, "taps" | "stride"> & {
    readonly places: readonly [number, number];
  },
): DepthwiseTile["results"] | null {
  for (const results of [[4, 4], [2, 4], [2, 2], [1, 4], [1, 2], [1, 1]] as const) {
    const [height, width] = spanOf({ taps, stride, results });
    const accesses = height * width + taps[0] * taps[1] + results[0] * results[1];
    const fits = results.every((n, d) => n < 2 * places[d]);
    if (fits && accesses <= MAX_ACCESSES) return results;
  }
  return null;
}

/** Four channels of a rectangle of neighbours. */
export function tileProgram(tile: DepthwiseTile): Program {
  const { dtype, out, taps, stride, results } = tile;
  const finish = printEpilogue(tile.epilogue, dtype, out, 4, 2);
  return shaderProgram(DEPTHWISE_TILE, {
    ...tile,
    element: elementType(dtype, true),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    tapsY: taps[0],
    tapsX: taps[1],
    strideY: stride[0],
    strideX: stride[1],
    rows: results[0],
    columns: results[1],
    finish: finish.prelude,
  }, { name: `depthwise_tile_${taps[0]}x${taps[1]}`, inputs: finish.inputs });
}
