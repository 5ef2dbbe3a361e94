/**
 * Convolutions and the gradient of the filter by tiled kernels: shaders/conv/tiled.wgsl and shaders/conv/filter_tiled.wgsl.
 */
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { CONV_FILTER_TILED, CONV_TILED } from "../window_shaders_generated.ts";
import { printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";
import type { SharedTile } from "../matmul/tiled.ts";
import type { ConvSource, FilterGradSource } from "./register.ts";

/** Gathering convolution; `wid.z` counts phases, or parts of sums where `split`. */
export function convSharedProgram(source: ConvSource, tile: SharedTile, split: boolean): Program {
  const { dtype, out, wideA, wideB, wideC } = source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  return shaderProgram(CONV_TILED, {
    ...source,
    ...tile,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    transB: source.transposed,
    accumulate: false,
    split,
    finish: finish.prelude,
  }, { name: `conv_shared_${tile.bm}x${tile.bn}`, inputs: finish.inputs });
}

/** Gradient of the filter: rows are taps and channels of the image, columns channels of the gradient, terms places. */
export function filterSharedProgram(
  source: FilterGradSource,
  tile: SharedTile,
  split: boolean,
): Program {
  const { dtype, out, wideA, wideB } = source;
  const finish = printEpilogue(undefined, dtype, out, wideB ? 4 : 1, 2);
  return shaderProgram(CONV_FILTER_TILED, {
    ...source,
    ...tile,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    wideC: wideB,
    accumulate: false,
    split,
    finish: finish.prelude,
  }, { name: `conv_filter_shared_${tile.bm}x${tile.bn}` });
}
