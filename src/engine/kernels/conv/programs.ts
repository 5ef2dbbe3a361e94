/**
 * The programs of convolutions and their gradients, shaders/conv/: with register tiles for software adapters, with
 * tiles that a workgroup stages for others.
 */
import type { Profile, Program } from "../../core/dispatch.ts";
import { shaderProgram } from "../../core/shader.ts";
import { printProduct, registerAdditions, registerParameters } from "../matmul/programs.ts";
import type { ProductSource } from "../matmul/source.ts";
import type { TileChoice } from "../matmul/tiles.ts";
import {
  CONV_FILTER_REGISTER,
  CONV_FILTER_TILED,
  CONV_REGISTER,
  CONV_TILED,
} from "../window_shaders_generated.ts";

/**
 * Variants of the text: the first operand is the image, the second one the filter or, for a filter's gradient, the
 * gradient.
 */
export interface ConvSource extends ProductSource {
  /** The gradient of a filter: taps and channels are rows, places are terms. */
  readonly ofFilter: boolean;
  readonly deep: boolean;
  /** The filter is read transposed. */
  readonly transB: boolean;
  /** There is more than one phase. */
  readonly phased: boolean;
}

/** Makes the program of a kernel; `wid.z` counts phases, or parts of sums where `split`. */
export function convProgram(
  source: ConvSource,
  { kind, tile }: TileChoice,
  split: boolean,
  profile: Profile,
): Program {
  const { texts, inputs } = printProduct(source);
  const own = { ...source, ...texts, skewB: 0, accumulate: false, split };
  const family = source.ofFilter ? "conv_filter" : "conv";
  if (kind === "register") {
    const parameters = { ...own, ...registerParameters(tile, profile) };
    const additions = registerAdditions(family, inputs, tile, profile);
    return source.ofFilter
      ? shaderProgram(CONV_FILTER_REGISTER, parameters, additions)
      : shaderProgram(CONV_REGISTER, parameters, additions);
  }
  const parameters = { ...own, ...tile };
  const additions = { name: `${family}_shared_${tile.bm}x${tile.bn}`, inputs };
  return source.ofFilter
    ? shaderProgram(CONV_FILTER_TILED, parameters, additions)
    : shaderProgram(CONV_TILED, parameters, additions);
}
