/**
 * Programs of pooling and its gradients, shaders/pool/: an invocation makes one result, or four or eight channels of
 * one. Images have channels last.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { accType, EIGHT, isHalf, vec, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  POOL_DILATION_FILTER,
  POOL_GRAD,
  POOL_TILE_GRAD,
  POOL_WINDOW,
  type PoolTileGrad,
} from "../window_shaders_generated.ts";
import { elementType } from "../matmul/programs.ts";

/** The result of a pooling kernel. */
export type PoolKind =
  /** Greatest elements. */
  | "max"
  /** Means. */
  | "avg"
  /** The tap of the greatest element, as u32. */
  | "tap"
  /** The element of a second operand at the greatest element. */
  | "pick"
  /** Greatest elements and their flat positions. */
  | "argmax";

export interface PoolSource {
  readonly dtype: DType;
  readonly deep: boolean;
  /** True: four channels at once. */
  readonly wide: boolean;
  /** True: eight channels in one load, as two fours; only for `max` and `avg`. */
  readonly eights?: boolean;
  readonly workgroup: number;
  /** Taps of each axis, depth first where there is one, where the program unrolls them; loops otherwise. */
  readonly taps?: readonly number[] | undefined;
  /** No tap of any window is outside. */
  readonly inside?: boolean | undefined;
  /** Taps of the last axis, where only these are unrolled, in loops over the others; only where all are `inside`. */
  readonly run?: number | undefined;
  /** True: the tap of a filter is added to each element first: dilation. The filter is bound after the image. */
  readonly filter?: boolean;
}

/** Kinds by their numbers in shaders/pool/window.wgsl. */
const KINDS: readonly PoolKind[] = ["max", "avg", "tap", "pick", "argmax"];

/** Returns the shaders' parameters for a source. */
function parametersOf(source: PoolSource): PoolTileGrad {
  const { dtype, deep, wide, workgroup, taps, inside = false, run = 0 } = source;
  const [tapsZ, tapsY, tapsX] = taps === undefined ? [0, 0, 0] : deep ? taps : [1, ...taps];
  const width = wide ? 4 : 1, acc = accType(dtype);
  return {
    in: elementType(dtype, wide),
    v: vec(acc, width),
    index: vec("u32", width),
    flag: vec("bool", width),
    acc,
    deep,
    filtered: source.filter === true,
    half: isHalf(dtype),
    tapsZ,
    tapsY,
    tapsX,
    run,
    inside,
    workgroup,
  };
}

/** Makes a program with windows as results. Inputs: the image and, for `pick`, the second operand. */
export function poolProgram(kind: PoolKind, source: PoolSource): Program {
  const { dtype, wide } = source, own = parametersOf(source);
  const plain = source.eights ? EIGHT : own.in;
  return shaderProgram(POOL_WINDOW, {
    ...own,
    in: plain,
    picked: wgslType(dtype),
    out: kind === "tap" ? own.index : plain,
    positions: vec("i32", wide ? 4 : 1),
    kind: KINDS.indexOf(kind),
    wide,
    eights: source.eights === true,
    words: own.acc === "u32",
  }, { name: `pool_${kind}` });
}

/**
 * Makes a program with elements of the image as results, where each lies in just one window. Inputs: the image and the
 * gradient.
 */
export function poolTileGradProgram(source: PoolSource): Program {
  return shaderProgram(POOL_TILE_GRAD, parametersOf(source), { name: "pool_max_tile_grad" });
}

/**
 * Makes a program with elements of the image as results: each collects from the windows it lies in. Inputs: the
 * gradient and, for `max`, taps.
 */
export function poolGradProgram(kind: "max" | "avg", source: PoolSource): Program {
  return shaderProgram(
    POOL_GRAD,
    { ...parametersOf(source), means: kind === "avg" },
    { name: `pool_${kind}_grad` },
  );
}

/**
 * Makes a program with elements of the gradient of a dilation's filter: each collects from the windows in which it won.
 * Inputs: gradient, taps.
 */
export function dilationFilterProgram(source: PoolSource): Program {
  return shaderProgram(POOL_DILATION_FILTER, parametersOf(source), { name: "dilation_filter" });
}
