/** Rounding to the levels of a number of bits in a range that contains zero, which only files have. */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../engine/core/op.ts";
import { mergeShapes, type PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { zerosLike } from "../../engine/ops/array/creation.ts";
import { knownInts, literalInts, reshape } from "../../engine/ops/array/view.ts";
import { add, div, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { greater, greaterEqual, less, lessEqual } from "../../engine/ops/pointwise/compare.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { floor, round } from "../../engine/ops/pointwise/rounding.ts";
import { maximum, minimum, where } from "../../engine/ops/pointwise/select.ts";
import { max, min } from "../../engine/ops/reduce/reduce.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

const TYPES = "T: {float16, bfloat16, float32, float64}";
const RANGED = ["input: T", "input_min: T", "input_max: T"];

/**
 * Shapes the ends of a range, one for all elements or one for each place along an axis, for comparison with the
 * elements.
 */
export function along(end: OpInput, x: OpInput, axis: number): OpInput {
  if (axis < 0) return end;
  return reshape(end, x.shape.map((_, i) => (i === axis ? -1 : 1)));
}

/** Rounds as TensorFlow's `QuantizeAndDequantize` ops do. */
function quantized([x, first, last]: readonly OpInput[], bits: number, attrs: Attrs): Tensor[] {
  const { signed_input: isSigned, range_given: isGiven, narrow_range, axis, round_mode } = attrs;
  const most = 2 ** (isSigned ? bits - 1 : bits) - 1;
  const least = isSigned ? (narrow_range ? 1 : 0) - 2 ** (bits - 1) : 0;
  const others = axis < 0 ? undefined : x.shape.map((_, i) => i).filter((i) => i !== axis);
  const low = isGiven ? along(first, x, axis) : min(x, others, true);
  const high = isGiven ? along(last, x, axis) : max(x, others, true);
  // The side that needs the coarser steps determines them, and the other side's end.
  const finest = x.dtype === "float16" ? 65504 : 2 ** 127;
  const above = where(greater(mul(high, most), 0), div(most, high), finest);
  const below = least === 0 ? above : where(greater(mul(low, least), 0), div(least, low), finest);
  const isBelow = less(below, above), scale = minimum(below, above);
  const step = where(isBelow, least === 0 ? low : div(low, least), div(high, most));
  const from = where(isBelow, low, mul(step, least)), to = where(isBelow, mul(step, most), high);
  const levels = mul(isGiven ? maximum(minimum(x, to), from) : x, scale);
  return [mul(round_mode === "HALF_UP" ? floor(add(levels, 0.5)) : round(levels), step)];
}

/** Checks the arguments with TensorFlow's errors. */
function check([x, low, high]: readonly Spec[], bits: number | undefined, attrs: Attrs): void {
  const { signed_input: isSigned, range_given: isGiven, axis, round_mode } = attrs;
  if (axis < -1) refuse(`Axis must be at least -1. Found ${axis}`);
  if (x.shape !== null && axis >= x.shape.length) {
    throw new ValueError(`Shape must be at least rank ${axis + 1} but is rank ${x.shape.length}`);
  }
  if (bits !== undefined && !(bits > 0 && bits < (isSigned ? 62 : 63))) {
    refuse(`num_bits is out of range: ${bits} with signed_input_ ${isSigned ? 1 : 0}`);
  }
  if (round_mode !== undefined && round_mode !== "HALF_TO_EVEN" && round_mode !== "HALF_UP") {
    refuse(`Round mode string must be 'HALF_TO_EVEN' or 'HALF_UP', is '${round_mode}'`);
  }
  if (!isGiven) return;
  for (const { shape } of [low, high]) {
    mergeShapes(shape, axis < 0 ? [] : [x.shape?.[axis] ?? null]);
  }
}

for (const version of [2, 3, 4]) {
  const hasBits = version === 3;
  const bitsOf = (attrs: Attrs, given: readonly number[] | undefined): number | undefined =>
    hasBits ? given?.[0] : attrs.num_bits;
  defineOp({
    name: `QuantizeAndDequantizeV${version}`,
    inputs: hasBits ? [...RANGED, "num_bits: int32"] : RANGED,
    outputs: ["output: T"],
    attrs: [
      TYPES,
      "signed_input: bool = true",
      `range_given: bool = ${hasBits}`,
      ...hasBits ? [] : ["num_bits: int = 8", 'round_mode: string = "HALF_TO_EVEN"'],
      "narrow_range: bool = false",
      "axis: int = -1",
    ],
    hostInputs: hasBits ? ["num_bits"] : [],
    infer: (specs, attrs) => {
      check(specs, bitsOf(attrs, knownInts(specs[3])), attrs);
      return [specs[0].shape];
    },
    expand: (inputs, attrs) => quantized(inputs, bitsOf(attrs, literalInts(inputs[3]))!, attrs),
    grad: version === 4
      ? {
        isEstimate: true,
        saves: ["input", "input_min", "input_max"],
        vjp: ({ input, input_min, input_max }, [dy], { attrs: { axis } }) =>
          apply(QuantizeAndDequantizeV4Grad, [dy, input, input_min, input_max], { axis }),
      }
      // The gradient ignores the rounding.
      : {
        isEstimate: true,
        saves: [],
        vjp: (_, [dy], { inputs }) => inputs.map((_, i) => i === 0 ? dy : null),
      },
  });
}

const QuantizeAndDequantizeV4Grad: OpDef = defineOp({
  name: "QuantizeAndDequantizeV4Grad",
  inputs: ["gradients: T", ...RANGED],
  outputs: ["input_backprop: T", "input_min_backprop: T", "input_max_backprop: T"],
  attrs: [TYPES, "axis: int = -1"],
  infer: ([dy, x, low, high]): PartialShape[] => [
    mergeShapes(dy.shape, x.shape),
    low.shape,
    high.shape,
  ],
  // A mask, which is its own transpose.
  grad: {
    saves: ["input", "input_min", "input_max"],
    vjp: ({ input, input_min, input_max }, [own], { attrs: { axis } }) => {
      const inputs = [own, input, input_min, input_max];
      return [apply(QuantizeAndDequantizeV4Grad, inputs, { axis })[0], null, null, null];
    },
  },
  expand: ([dy, x, low, high], { axis }) => [
    where(
      logicalAnd(greaterEqual(x, along(low, x, axis)), lessEqual(x, along(high, x, axis))),
      dy,
      zerosLike(dy),
    ),
    zerosLike(low),
    zerosLike(high),
  ],
});
