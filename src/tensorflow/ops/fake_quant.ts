/**
 * Fake quantization as in TensorFlow's training: rounding to the levels of a number of bits in a range, and its
 * gradients. Only files have it.
 */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../../engine/core/op.ts";
import { mergeShapes, type PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { zerosLike } from "../../engine/ops/array/creation.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import {
  equal,
  greater,
  greaterEqual,
  less,
  lessEqual,
} from "../../engine/ops/pointwise/compare.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { floor } from "../../engine/ops/pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../../engine/ops/pointwise/select.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import { floatScalar } from "../../engine/ops/input.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

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

function defineFakeQuant(name: string, of: Ends): void {
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
    grad: null,
    expand: ([dy, x, ...ends], attrs) => {
      const [dx, ...rest] = parted(dy, x, endsOf(ends, attrs), attrs);
      const others = of === "channels" ? x.shape.slice(1).map((_, i) => i) : undefined;
      return [dx, ...(hasInputs ? rest : []).map((d) => sum(d, others))];
    },
  });
  defineOp({
    name,
    inputs: ["inputs: float", ...inputs],
    outputs: ["outputs: float"],
    attrs,
    infer: ([x, ...ends], attrs) => {
      check(of, x.shape, ends, attrs);
      return [x.shape];
    },
    grad: {
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

defineFakeQuant("FakeQuantWithMinMaxArgs", "attributes");
defineFakeQuant("FakeQuantWithMinMaxVars", "whole");
defineFakeQuant("FakeQuantWithMinMaxVarsPerChannel", "channels");
