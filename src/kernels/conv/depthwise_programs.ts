/**
 * Programs of depthwise convolutions and their gradients, shaders/depthwise/. An invocation makes a few neighbouring results of
 * four channels, or, where channels do not come in fours, one result.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf, vec } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  DEPTHWISE_FILTER,
  DEPTHWISE_INPUT_ONE,
  DEPTHWISE_ONE,
  DEPTHWISE_ROWS,
  type DepthwiseOne,
} from "../window_shaders_generated.ts";
import { type Epilogue, type PrintedEpilogue, printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";

/** What shapes {@linkcode rowsProgram}. */
export interface RowsSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Taps along a row of the filter. */
  readonly taps: number;
  /** Step between places along a row. */
  readonly stride: number;
  /** Taps run backwards: the gradient of the image. */
  readonly backward: boolean;
  /** Results along a row that an invocation makes. */
  readonly pixels: number;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Four channels of `pixels` neighbours: each element of an image row is loaded once for all the taps that meet it. */
export function rowsProgram(s: RowsSource): Program {
  const { dtype, out, taps } = s;
  const finish = printEpilogue(s.epilogue, dtype, out, 4, 2);
  return shaderProgram(DEPTHWISE_ROWS, {
    ...s,
    element: elementType(dtype, true),
    c: finish.output,
    acc: accType(dtype),
    half: isHalf(dtype),
    finish: finish.prelude,
  }, { name: `depthwise_rows_${taps}`, inputs: finish.inputs });
}

/** What shapes the programs that make one result an invocation. */
export interface OneSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Four channels at once: only where each channel has one filter. */
  readonly wide: boolean;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** What the shaders that make one result take. */
function oneParameters(
  { dtype, wide, workgroup }: OneSource,
  finish: PrintedEpilogue,
): DepthwiseOne {
  return {
    element: elementType(dtype, wide),
    c: finish.output,
    sum: vec(accType(dtype), wide ? 4 : 1),
    half: isHalf(dtype),
    workgroup,
    finish: finish.prelude,
  };
}

/** One result: any filter, any number of filters a channel. */
export function oneProgram(s: OneSource): Program {
  const finish = printEpilogue(s.epilogue, s.dtype, s.out, s.wide ? 4 : 1, 2);
  return shaderProgram(DEPTHWISE_ONE, oneParameters(s, finish), { inputs: finish.inputs });
}

/** One element of the gradient of the image: any stride and dilation. Rows are those of the image, limits those of the gradient. */
export function oneInputProgram(s: OneSource): Program {
  const finish = printEpilogue(undefined, s.dtype, s.out, s.wide ? 4 : 1, 2);
  return shaderProgram(DEPTHWISE_INPUT_ONE, oneParameters(s, finish));
}

/** Elements of the gradient of the filter: `taps` neighbours along a row, summed over some lines of places. `wid.z` counts parts. */
export function filterProgram(s: OneSource, taps: number): Program {
  const finish = printEpilogue(undefined, s.dtype, s.out, s.wide ? 4 : 1, 2);
  return shaderProgram(DEPTHWISE_FILTER, { ...oneParameters(s, finish), taps }, {
    name: `depthwise_filter_${taps}`,
  });
}
