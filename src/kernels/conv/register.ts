/**
 * Gathering convolution and the gradient of its filter with a register tile in each invocation and no workgroup memory, for
 * software adapters: shaders/conv/register.wgsl and shaders/conv/filter_register.wgsl.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { CONV_FILTER_REGISTER, CONV_REGISTER } from "../window_shaders_generated.ts";
import { laneDirectives, type LaneProfile } from "../matmul/lanes.ts";
import { type Epilogue, printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";
import type { RegisterTile } from "../matmul/tiles.ts";

/** What shapes the text. */
export interface ConvSource {
  /** Element type of image and filter. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** There is a depth axis. */
  readonly deep: boolean;
  /** The filter is read transposed. */
  readonly transposed: boolean;
  /** There is more than one phase. */
  readonly phased: boolean;
  /** The image is read four channels at a time. */
  readonly wideA: boolean;
  /** The filter is read four at a time. */
  readonly wideB: boolean;
  /** Four channels are stored at once. */
  readonly wideC: boolean;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** What shapes the program of a filter's gradient. */
export interface FilterGradSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** There is a depth axis. */
  readonly deep: boolean;
  /** The image is read four channels at a time. */
  readonly wideA: boolean;
  /** The gradient is read, and the result stored, four channels at a time. */
  readonly wideB: boolean;
}

/** The convolution's program for a source and a tile. */
export function convRegisterProgram(
  source: ConvSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { rows, vecs, across = 0 } = tile;
  const { dtype, out, wideA, wideB, wideC } = source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  return shaderProgram(CONV_REGISTER, {
    ...source,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    transB: source.transposed,
    skewB: 0,
    accumulate: false,
    rows,
    vecs,
    across,
    lanes: profile.lanes,
    finish: finish.prelude,
  }, {
    name: `conv_register_${rows}x${vecs * 4}`,
    inputs: finish.inputs,
    enable: laneDirectives(tile, profile),
  });
}

/** The program of the filter's gradient; `wid.z` counts parts of sums. */
export function filterRegisterProgram(
  source: FilterGradSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { rows, vecs, across = 0 } = tile;
  const { dtype, out, wideA, wideB } = source;
  const finish = printEpilogue(undefined, dtype, out, wideB ? 4 : 1, 2);
  return shaderProgram(CONV_FILTER_REGISTER, {
    ...source,
    a: elementType(dtype, wideA),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    transB: false,
    skewB: 0,
    wideC: wideB,
    accumulate: false,
    rows,
    vecs,
    across,
    lanes: profile.lanes,
    finish: finish.prelude,
  }, {
    name: `conv_filter_register_${rows}x${vecs * 4}`,
    enable: laneDirectives(tile, profile),
  });
}
