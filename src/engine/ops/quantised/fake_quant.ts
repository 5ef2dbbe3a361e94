/**
 * Fake quantization as in TensorFlow's training: rounding to the levels of a number of bits in a range, and its
 * gradients, in the namespace `tf.quantization`.
 */
import { argumentsCheck, optionCheck, wantNumber } from "../../core/arguments.ts";
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { zerosLike } from "../array/creation.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, greater, greaterEqual, less, lessEqual } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { floor } from "../pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../pointwise/select.ts";
import { sum } from "../reduce/reduce.ts";
import { castInput, floatScalar, toFloatInput } from "../input.ts";
import { refuse } from "../host/arrays.ts";

/** Replaces a range whose ends are both 0. */
interface Levels {
  readonly from: Tensor;
  readonly to: Tensor;
  readonly step: Tensor;
  /** Levels in one unit. */
  readonly density: Tensor;
  readonly isNothing: Tensor;
}

/** Moves the ends so that 0 is a level. */
function levelsOf(low: OpInput, high: OpInput, { num_bits, narrow_range }: Attrs): Levels {
  const least = narrow_range ? 1 : 0, most = 2 ** num_bits - 1, range = sub(high, low);
  const isNothing = logicalAnd(equal(low, 0), equal(high, 0));
  const width = where(isNothing, 1, range), step = div(width, most - least);
  const zero = floor(add(clipByValue(sub(least, div(low, step)), least, most), 0.5));
  return {
    from: mul(sub(least, zero), step),
    to: mul(sub(most, zero), step),
    step,
    density: div(most - least, width),
    isNothing,
  };
}

function rounded(x: OpInput, low: OpInput, high: OpInput, attrs: Attrs): Tensor {
  const { from, to, step, density, isNothing } = levelsOf(low, high, attrs);
  const inside = sub(maximum(minimum(x, to), from), from);
  const zero = floor(sub(0.5, mul(from, density)));
  const level = floor(add(sub(mul(inside, density), zero), 0.5));
  return where(isNothing, zerosLike(x), mul(level, step));
}

/** Splits a gradient between the rounded input and the lower and upper end: each element's goes to one of them. */
function parted(dy: OpInput, x: OpInput, [low, high]: readonly OpInput[], attrs: Attrs): Tensor[] {
  const { from, to, isNothing } = levelsOf(low, high, attrs), zeros = zerosLike(dy);
  const own = where(logicalAnd(greaterEqual(x, from), lessEqual(x, to)), dy, zeros);
  const end = (isOut: Tensor): Tensor => where(isNothing, zeros, where(isOut, dy, zeros));
  return [where(isNothing, dy, own), end(less(x, from)), end(greater(x, to))];
}

/** The source of the ends: attributes, inputs for all, or inputs for each place along the last axis. */
type Ends = "attributes" | "whole" | "channels";

function check(of: Ends, x: PartialShape, ends: readonly Spec[], attrs: Attrs): void {
  const { num_bits, min, max } = attrs;
  if (!(num_bits >= 2 && num_bits <= 16)) {
    refuse(`num_bits must be between 2 and 16, inclusive, not ${num_bits}`);
  }
  if (of === "attributes" && !(min < max)) {
    refuse(`min has to be smaller than max, was: ${min} >= ${max}`);
  }
  const isByChannel = of === "channels";
  if (isByChannel && x?.length === 0) refuse("Shape must be at least rank 1 but is rank 0");
  for (const { shape } of ends) mergeShapes(shape, isByChannel ? [x?.at(-1) ?? null] : []);
}

function defineFakeQuant(name: string, of: Ends): OpDef {
  const hasInputs = of !== "attributes", inputs = hasInputs ? ["min: float", "max: float"] : [];
  const attrs = [
    ...hasInputs ? [] : ["min: float = -6", "max: float = 6"],
    ...["num_bits: int = 8", "narrow_range: bool = false"],
  ];
  const saves = ["inputs", ...hasInputs ? ["min", "max"] : []];
  const endsOf = (given: readonly OpInput[], { min, max }: Attrs): readonly OpInput[] =>
    hasInputs ? given : [floatScalar(min), floatScalar(max)];
  const gradient: OpDef = defineOp({
    name: `${name}Gradient`,
    inputs: ["gradients: float", "inputs: float", ...inputs],
    outputs: hasInputs
      ? ["backprops_wrt_input: float", "backprop_wrt_min: float", "backprop_wrt_max: float"]
      : ["backprops: float"],
    attrs,
    infer: ([dy, x, ...ends], attrs) => {
      check(of, x.shape, ends, attrs);
      return [mergeShapes(dy.shape, x.shape), ...ends.map((end) => end.shape)];
    },
    // Ends by channel are summed over axes that a graph may not know, so that the expansion has no gradient there.
    ...(of === "channels" && {
      grad: {
        saves: ["inputs", "min", "max"],
        vjp: ({ inputs: x, min, max }, [own, low, high], { attrs }) => {
          const { from, to, isNothing } = levelsOf(min, max, attrs);
          const outside = where(less(x, from), low, where(greater(x, to), high, own));
          return [where(isNothing, own, outside), null, null, null];
        },
      },
    }),
    expand: ([dy, x, ...ends], attrs) => {
      const [dx, ...rest] = parted(dy, x, endsOf(ends, attrs), attrs);
      const others = of === "channels" ? x.shape.slice(1).map((_, i) => i) : undefined;
      return [dx, ...(hasInputs ? rest : []).map((d) => sum(d, others))];
    },
  });
  return defineOp({
    name,
    inputs: ["inputs: float", ...inputs],
    outputs: ["outputs: float"],
    attrs,
    infer: ([x, ...ends], attrs) => {
      check(of, x.shape, ends, attrs);
      return [x.shape];
    },
    grad: {
      isEstimate: true,
      saves,
      vjp: (saved, [dy], { attrs }) =>
        apply(gradient, [dy, ...saves.map((name) => saved[name])], attrs),
    },
    expand: ([x, ...given], attrs) => {
      const [low, high] = endsOf(given, attrs);
      return [rounded(x, low, high, attrs)];
    },
  });
}

const OfArgs = defineFakeQuant("FakeQuantWithMinMaxArgs", "attributes");
const OfVars = defineFakeQuant("FakeQuantWithMinMaxVars", "whole");
const OfChannels = defineFakeQuant("FakeQuantWithMinMaxVarsPerChannel", "channels");

/** The ops, which importers of graphs name. */
export const FAKE_QUANT_OPS: readonly OpDef[] = [OfArgs, OfVars, OfChannels];

/** Levels of a fake quantisation. */
export interface FakeQuantLevels {
  /** Number of bits, from 2 to 16. Default 8. */
  readonly numBits?: number;
  /** True: the lowest level is left out, so that there are as many below 0 as above. Default false. */
  readonly narrowRange?: boolean;
}

/** Options of {@linkcode fakeQuantWithMinMaxArgs}. */
export interface FakeQuantArgs extends FakeQuantLevels {
  /** Lower end of the range. Default -6. */
  readonly min?: number;
  /** Upper end of the range. Default 6. */
  readonly max?: number;
}

/** The range of {@linkcode fakeQuantWithMinMaxVars}. */
export interface FakeQuantVars extends FakeQuantLevels {
  /** Lower end of the range: a scalar, or one number for each channel. */
  readonly min: TensorLike;
  /** Upper end of the range. */
  readonly max: TensorLike;
}

const KEYS = { min: true, max: true, numBits: true, narrowRange: true } as const;
const checkArgs = optionCheck<FakeQuantArgs>("fakeQuantWithMinMaxArgs", KEYS);
const checkVars = argumentsCheck<FakeQuantVars>("fakeQuantWithMinMaxVars", KEYS);
const checkChannels = argumentsCheck<FakeQuantVars>("fakeQuantWithMinMaxVarsPerChannel", KEYS);

function levelAttrs({ numBits = 8, narrowRange = false }: FakeQuantLevels, fn: string): Attrs {
  wantNumber(numBits, "numBits", fn);
  return { num_bits: numBits, narrow_range: narrowRange };
}

const single = (x: TensorLike, arg: string, fn: string): OpInput =>
  castInput(toFloatInput(x, arg, fn), "float32");

/**
 * Rounds to the levels of a number of bits in a range, which is moved so that 0 is a level, and clips to it; float32. The gradient passes
 * inside the range. Throws `InvalidArgumentError` for an empty range and for bits that are not from 2 to 16. TensorFlow op
 * `FakeQuantWithMinMaxArgs`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.quantization.fakeQuantWithMinMaxArgs([-1, 0.4, 0.6, 9], { min: 0, max: 3, numBits: 2 });
 * console.log(x.arraySync()); // [0, 0, 1, 3]
 * ```
 */
export function fakeQuantWithMinMaxArgs(inputs: TensorLike, options: FakeQuantArgs = {}): Tensor {
  checkArgs(options);
  const fn = "fakeQuantWithMinMaxArgs", { min = -6, max = 6 } = options;
  wantNumber(min, "min", fn);
  wantNumber(max, "max", fn);
  return apply1(OfArgs, [single(inputs, "inputs", fn)], { min, max, ...levelAttrs(options, fn) });
}

function quantised(def: OpDef, fn: string, inputs: TensorLike, range: FakeQuantVars): Tensor {
  const given = [
    single(inputs, "inputs", fn),
    single(range.min, "min", fn),
    single(range.max, "max", fn),
  ];
  return apply1(def, given, levelAttrs(range, fn));
}

/**
 * As {@linkcode fakeQuantWithMinMaxArgs}, with ends that are scalars of tensors, as those that training finds. What is clipped has its
 * gradient in that end. Throws `ValueError` for ends that are no scalars, `InvalidArgumentError` for bits that are not from 2 to 16.
 * TensorFlow op `FakeQuantWithMinMaxVars`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const high = tf.variable(3);
 * const x = tf.quantization.fakeQuantWithMinMaxVars([0.6, 9], { min: 0, max: high, numBits: 2 });
 * console.log(x.arraySync()); // [1, 3]
 * ```
 */
export function fakeQuantWithMinMaxVars(inputs: TensorLike, range: FakeQuantVars): Tensor {
  checkVars(range);
  return quantised(OfVars, "fakeQuantWithMinMaxVars", inputs, range);
}

/**
 * As {@linkcode fakeQuantWithMinMaxVars}, with a range of its own for each place along the last axis. Throws `ValueError` for ends of
 * another length. TensorFlow op `FakeQuantWithMinMaxVarsPerChannel`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const range = { min: [0, 0], max: [3, 30], numBits: 2 };
 * console.log(tf.quantization.fakeQuantWithMinMaxVarsPerChannel([[9, 9]], range).arraySync()); // [[3, 10]]
 * ```
 */
export function fakeQuantWithMinMaxVarsPerChannel(
  inputs: TensorLike,
  range: FakeQuantVars,
): Tensor {
  checkChannels(range);
  return quantised(OfChannels, "fakeQuantWithMinMaxVarsPerChannel", inputs, range);
}
