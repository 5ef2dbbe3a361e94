/**
 * Quantization to integer levels of a range, and back, which only files have. TensorFlow has special dtypes for levels;
 * here they are plain integers.
 */
import type { OpInput } from "../../engine/core/apply.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import { type Attrs, defineOp } from "../../engine/core/op.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { reshape } from "../../engine/ops/array/view.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater } from "../../engine/ops/pointwise/compare.ts";
import { abs, floor, round, sign } from "../../engine/ops/pointwise/rounding.ts";
import { maximum, minimum, where } from "../../engine/ops/pointwise/select.ts";
import { along } from "./quantize.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

const LEVELS = "T: {int8, uint8, int32, int16, uint16}";
const MODES = ["MIN_COMBINED", "MIN_FIRST", "SCALED"];
const PORTABLE = { never: "TensorFlow's takes dtypes for levels, which are whole numbers here" };
/** The largest finite float32. */
const LARGEST = 3.4028234663852886e38;

/** The lowest and the highest level. */
function span(dtype: DType): readonly [number, number] {
  const { kind, bytes } = DTYPES[dtype], levels = 2 ** (8 * bytes);
  const low = kind === "int" ? -levels / 2 : 0;
  return [low, low + levels - 1];
}

const halfAway = (x: Tensor): Tensor => mul(sign(x), floor(add(abs(x), 0.5)));

/** Checks the arguments as TensorFlow does. Throws `InvalidArgumentError`. */
function check([x, low, high]: readonly Spec[], { mode, axis }: Attrs, levels: DType): void {
  if (!MODES.includes(mode)) {
    refuse(`Mode string must be 'MIN_COMBINED', 'MIN_FIRST', or 'SCALED', is '${mode}'`);
  }
  if (mode === "MIN_FIRST" && !["int8", "uint8", "int32"].includes(levels)) {
    refuse(`MIN_FIRST mode is not implemented for levels of ${levels}`);
  }
  if (mode === "MIN_FIRST" && axis !== -1) {
    throw new UnimplementedError(`MIN_FIRST mode is not implemented with axis ${axis}`);
  }
  if (axis < -1 || x.shape !== null && axis >= x.shape.length) {
    refuse(`Axis must be at least -1 and less than the rank of the input, is ${axis}`);
  }
  const size = axis < 0 ? 1 : x.shape?.[axis] ?? null;
  for (const { shape } of [low, high]) {
    const fits = shape === null ||
      (axis < 0
        ? shape.every((d) => d === 1 || d === null)
        : shape.length === 1 && (shape[0] === size || shape[0] === null || size === null));
    if (!fits) {
      refuse(
        `Ranges must have as many elements as the input has along the axis (${axis}), got shape [${shape}], expected ${size}`,
      );
    }
  }
}

/** Returns `levels / (end of range)` where both have the same sign. */
function density(level: number, end: Tensor): Tensor {
  const isThere = greater(mul(end, level), 0);
  return where(isThere, div(level, where(isThere, end, 1)), LARGEST);
}

/** Returns a scalar, also from a list of one. */
const scalarEnd = (end: OpInput, axis: number): OpInput => axis < 0 ? reshape(end, []) : end;

function quantize([x, given, end]: readonly OpInput[], attrs: Attrs): Tensor[] {
  const { T, mode, round_mode, narrow_range, axis, ensure_minimum_range } = attrs;
  const [lowest, highest] = span(T);
  const first = scalarEnd(given, axis), last = scalarEnd(end, axis);
  // Both ends include 0, and are not too close together.
  const least = mul(maximum(1, maximum(abs(first), abs(last))), ensure_minimum_range);
  let low = minimum(first, 0), high = maximum(maximum(last, add(low, least)), 0);
  let values: Tensor;
  if (mode === "SCALED") {
    const bottom = lowest + (narrow_range ? 1 : 0);
    const scale = minimum(density(bottom, low), density(highest, high));
    low = div(bottom, scale);
    high = div(highest, scale);
    const inside = maximum(minimum(x, along(high, x, axis)), along(low, x, axis));
    const scaled = mul(inside, along(scale, x, axis));
    values = round_mode === "HALF_TO_EVEN" ? round(scaled) : halfAway(scaled);
  } else {
    const from = along(low, x, axis), to = along(high, x, axis);
    const inside = maximum(minimum(x, to), from), range = sub(to, from);
    if (mode === "MIN_COMBINED") {
      const scaled = mul(sub(inside, from), div(highest - lowest, range));
      values = lowest < 0 ? halfAway(add(scaled, lowest)) : floor(add(scaled, 0.5));
    } else {
      const scale = div(highest - lowest, range);
      const level = add(sub(halfAway(mul(x, scale)), halfAway(mul(from, scale))), lowest);
      values = minimum(maximum(level, lowest), highest);
    }
  }
  return [cast(values, T), low, high];
}

defineOp({
  name: "QuantizeV2",
  portable: PORTABLE,
  inputs: ["input: float", "min_range: float", "max_range: float"],
  outputs: ["output: T", "output_min: float", "output_max: float"],
  attrs: [
    LEVELS,
    'mode: string = "MIN_COMBINED"',
    'round_mode: string = "HALF_AWAY_FROM_ZERO"',
    "narrow_range: bool = false",
    "axis: int = -1",
    "ensure_minimum_range: float = 0.01",
  ],
  hostInputs: ["min_range", "max_range"],
  infer: (specs, attrs): PartialShape[] => {
    const { mode, round_mode, axis, T } = attrs;
    check(specs, attrs, T);
    if (round_mode !== "HALF_AWAY_FROM_ZERO" && round_mode !== "HALF_TO_EVEN") {
      refuse(
        `Round mode string must be 'HALF_AWAY_FROM_ZERO' or 'HALF_TO_EVEN', is '${round_mode}'`,
      );
    }
    if (round_mode === "HALF_TO_EVEN" && mode !== "SCALED") {
      refuse(`Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '${mode}'`);
    }
    const [x, low, high] = specs;
    const first = low.value?.data as Float32Array ?? [], last = high.value?.data as Float32Array;
    const wrong = last === undefined ? -1 : first.findIndex((end, i) => end > last[i]);
    if (wrong >= 0) {
      throw new InvalidArgumentError(
        `input_max_range must be larger than input_min_range, received ${last[wrong]} and ${
          first[wrong]
        }`,
        { op: "QuantizeV2" },
      );
    }
    const ends = axis < 0 ? [] : [x.shape?.[axis] ?? null];
    return [x.shape, ends, ends];
  },
  grad: null,
  expand: quantize,
});

function dequantize([x, first, last]: readonly OpInput[], attrs: Attrs): Tensor[] {
  const { T, mode, narrow_range, axis, dtype } = attrs;
  const [lowest, highest] = span(T), level = cast(x, "float32");
  const [low, high] = [first, last].map((end) => along(scalarEnd(end, axis), x, axis));
  if (mode === "SCALED") {
    const bottom = lowest + (narrow_range ? 1 : 0), above = div(high, highest);
    const scale = bottom === 0 ? above : maximum(div(low, bottom), above);
    return [cast(mul(level, scale), dtype)];
  }
  const range = sub(high, low), step = div(range, highest - lowest);
  const shifted = mul(sub(level, lowest), step);
  if (mode === "MIN_COMBINED") return [cast(add(shifted, low), dtype)];
  const isPoint = equal(range, 0);
  const from = where(isPoint, low, mul(halfAway(div(low, where(isPoint, 1, step))), step));
  return [cast(add(from, shifted), dtype)];
}

defineOp({
  name: "Dequantize",
  portable: PORTABLE,
  inputs: ["input: T", "min_range: float", "max_range: float"],
  outputs: ["output: dtype"],
  attrs: [
    LEVELS,
    'mode: string = "MIN_COMBINED"',
    "narrow_range: bool = false",
    "axis: int = -1",
    "dtype: {bfloat16, float32} = float32",
  ],
  infer: (specs, attrs) => {
    check(specs, attrs, attrs.T);
    return [specs[0].shape];
  },
  grad: null,
  expand: dequantize,
});
