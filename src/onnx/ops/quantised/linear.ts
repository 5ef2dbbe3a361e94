/** Quantised numbers, scale · (q − zero point): to and from them, products and convolutions of them. */
import { currentInterpreter } from "../../../engine/core/apply.ts";
import { type DType, DTYPES } from "../../../engine/core/dtype.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../../build/rule.ts";
import { Value } from "../../build/value.ts";
import { dtypeOfNumber, PACKED, typeName } from "../../file/types.ts";
import { convolve, filterLast, lastOrder } from "../convolutions.ts";
import { matMul } from "../products.ts";
import { oneOf, parameter, scaleOf } from "./parameters.ts";
import { isFew, knownLevels, levelsOfMatrix } from "./known_levels.ts";
import { isFloat, to } from "../raw.ts";
import { type FileLevels, filterOfLevels, isDequantisable, weightsLater } from "./weights.ts";
import { slidingOf } from "../window_shape.ts";
import * as tf from "../../build/tf.ts";

/** The range of a quantised type and the dtype that holds it. */
interface Levels {
  readonly dtype: DType;
  readonly least: number;
  readonly most: number;
}

function levelsOf(dtype: DType, bits: number = 8 * DTYPES[dtype].bytes): Levels {
  return DTYPES[dtype].kind === "int"
    ? { dtype, least: -(2 ** (bits - 1)), most: 2 ** (bits - 1) - 1 }
    : { dtype, least: 0, most: 2 ** bits - 1 };
}

/** Returns the levels of an input's type. */
export function levelsOfInput(n: NodeCall, i: number): Levels {
  const { dtype, data } = n.value(i);
  return levelsOf(dtype, data === null ? undefined : PACKED[data.type].bits);
}

/** Divides by the scale, adds the zero point, and limits to the levels. Halves are rounded to even levels. */
export function quantise(
  x: Tensor,
  scale: Tensor,
  zero: Tensor | null,
  { dtype, least, most }: Levels,
): Tensor {
  const level = tf.round(tf.div(to(x, "float32"), to(scale, "float32")));
  const moved = zero === null ? level : tf.add(level, to(zero, "float32"));
  return tf.cast(tf.clipByValue(moved, least, most), dtype);
}

/** Subtracts the zero point and multiplies by the scale, in float32. */
export function dequantise(q: Tensor, scale: Tensor, zero: Tensor | null): Tensor {
  return tf.mul(centred(q, zero), to(scale, "float32"));
}

/** Subtracts the zero point, in float32: exact for levels of 16 bits or less. */
export function centred(q: Tensor, zero: Tensor | null): Tensor {
  if (zero === null) return to(q, "float32");
  if (q.dtype === "int32") return to(tf.sub(q, to(zero, "int32")), "float32");
  return tf.sub(to(q, "float32"), to(zero, "float32"));
}

/** Repeats the elements of an axis for each element of their block, and cuts the last block at `extent`. */
export function spread(x: Tensor, axis: number, block: number, extent: number | null): Tensor {
  const shape = x.staticShape!, parts = shape.length + 1;
  const given = shape.map((d, i) => d ?? tf.slice(tf.shape(x), [i], [1]));
  const wide = tf.tile(
    tf.expandDims(x, axis + 1),
    Array.from({ length: parts }, (_, i) => i === axis + 1 ? block : 1),
  );
  const sizes = given.map((d, i) => i === axis ? typeof d === "number" ? d * block : -1 : d);
  const flat = sizes.every((d) => typeof d === "number")
    ? tf.reshape(wide, sizes as number[])
    : tf.reshape(
      wide,
      tf.concat(sizes.map((d) => typeof d === "number" ? tf.tensor1d([d], "int32") : d)),
    );
  const blocks = shape[axis];
  if (extent === null || blocks !== null && blocks * block === extent) return flat;
  return tf.slice(flat, shape.map(() => 0), shape.map((_, i) => i === axis ? extent : -1));
}

/** Places of scales: channels last or in ONNX's order. */
interface Placing {
  readonly x: Tensor;
  readonly isLast: boolean;
  /** Returns a scale or a zero point by its input, in a shape that broadcasts with x. */
  place(input: number): Tensor;
}

/** Finds the place of a node's scales: one for all, one for each element of an axis, or one for a block of an axis. */
function placing(n: NodeCall): Placing {
  const isLast = n.value(0).last !== null, x = isLast ? n.last(0) : n.x(0);
  const rank = n.rank(0), scaleRank = n.rank(1), block = n.attributes.int("block_size", 0);
  const isOne = scaleRank === 0 || scaleRank === 1 && n.dims(1)[0] === 1;
  // Zero points of int32 need not be numbers of float32.
  const own = (i: number, shape: readonly number[]): Tensor =>
    n.dtype(i) === "int32" ? tf.reshape(n.x(i), [...shape]) : parameter(n, i, shape);
  if (isOne) return { x, isLast, place: (i) => own(i, []) };
  const axis = n.axis("axis", 1, rank);
  if (block > 0) {
    const extent = n.dims(0)[axis];
    return { x: n.x(0), isLast: false, place: (i) => spread(n.x(i), axis, block, extent) };
  }
  if (scaleRank !== 1) n.fail(`scales of rank ${scaleRank} need a block_size`);
  const at = !isLast ? axis : axis === 0 ? 0 : axis === 1 ? rank - 1 : axis - 1;
  const shape = Array.from({ length: rank }, (_, i) => i === at ? -1 : 1);
  return { x, isLast, place: (i) => own(i, shape) };
}

export function quantizeLinear(n: NodeCall): RuleOutput {
  const { x, isLast, place } = placing(n), number = n.attributes.int("output_dtype", 0);
  const levels = n.has(2)
    ? levelsOfInput(n, 2)
    : number === 0
    ? levelsOf("uint8")
    : levelsOf(dtypeOfNumber(number), PACKED[typeName(number)]?.bits);
  if (isFloat(levels.dtype)) n.lacks(`quantisation to ${levels.dtype}`);
  const y = quantise(x, place(1), n.has(2) ? place(2) : null, levels);
  return isLast ? Value.channelsLast(y) : y;
}

const constant = (x: NdArray): Tensor => currentInterpreter().constant(x);

/** Makes a function of an order of axes that computes an array once for each. */
function onceForOrder(
  compute: (order: readonly number[]) => NdArray,
): (order: readonly number[]) => NdArray {
  const known = new Map<string, NdArray>();
  return (order) => {
    let made = known.get(`${order}`);
    if (made === undefined) known.set(`${order}`, made = compute(order));
    return made;
  };
}

/** Returns the weights that a file's levels mean, computed once where they are read; null for other inputs. */
function knownWeights(n: NodeCall): Value | null {
  const [x, scale, zero] = [0, 1, 2].map((i) => n.has(i) ? n.value(i).known : undefined);
  const isPlain = n.attributes.int("block_size", 0) === 0 &&
    n.attributes.int("output_dtype", 0) === 0 && n.value(0).data === null;
  if (!x || !scale || zero === null || !isPlain) return null;
  const axis = scale.size === 1 ? 0 : n.axis("axis", 1, x.rank);
  const given: FileLevels = { levels: x, scale, zero: zero ?? null, axis };
  if (!isDequantisable(given)) return null;
  const matrix = scale.size === 1 || axis === 1 ? levelsOfMatrix(x, given.zero) : null;
  const turned = onceForOrder((order) => weightsLater(given, order));
  return Value.later({
    dtype: "float32",
    shape: x.shape,
    make: () => turned(x.shape.map((_, i) => i)),
    turned,
    isLevels: x.dtype === "int8" || x.dtype === "uint8",
    times(rows) {
      if (matrix === null || rows.dtype !== "float32" || !isFew(rows)) return null;
      const by = scale.size === 1 ? scale.reshape([]) : scale;
      return tf.mul(matrix.times(rows), constant(by));
    },
  });
}

export function dequantizeLinear(n: NodeCall): RuleOutput {
  const known = knownWeights(n);
  if (known !== null) return known;
  const { x, isLast, place } = placing(n), number = n.attributes.int("output_dtype", 0);
  const dtype = number === 0 ? n.dtype(1) : dtypeOfNumber(number), scale = place(1);
  const numbers = centred(x, n.has(2) ? place(2) : null);
  const y = to(tf.mul(numbers, to(scale, "float32")), dtype);
  const isWhole = dtype === "float32" && n.value(0).data === null &&
    scale.staticShape?.length === 0 && DTYPES[x.dtype].bytes === 1;
  const own = isLast ? Value.channelsLast(numbers) : Value.of(numbers);
  const whole = isWhole ? { numbers: own, scale } : null;
  return isLast ? Value.channelsLast(y, { whole }) : whole === null ? y : Value.of(y, { whole });
}

/** The levels of a tensor, with the scale and the zero point of its range, which always includes 0. */
export interface Quantised {
  /** Levels, uint8. */
  readonly levels: Tensor;
  readonly scale: Tensor;
  /** The zero point, float32. */
  readonly zero: Tensor;
}

/** Quantises a tensor to uint8 by the range of its own elements. */
export function quantiseByRange(x: Tensor): Quantised {
  const least = tf.minimum(tf.min(x), 0), most = tf.maximum(tf.max(x), 0);
  const step = tf.div(tf.sub(most, least), 255);
  const scale = tf.where(tf.equal(step, 0), tf.onesLike(step), step);
  const zero = tf.clipByValue(tf.round(tf.div(tf.neg(least), scale)), 0, 255);
  return { levels: quantise(x, scale, zero, levelsOf("uint8")), scale, zero };
}

function dynamicQuantizeLinear(n: NodeCall): RuleOutput[] {
  const { levels, scale, zero } = quantiseByRange(n.x(0));
  return [levels, scale, tf.cast(zero, "uint8")];
}

/** Brings a scale or a zero point of A's rows to a shape that broadcasts with A, where there is one for each row. */
export function byRow(s: Tensor, a: number): Tensor {
  const shape = s.staticShape;
  return shape?.length === 1 && shape[0] !== 1 && a > 1 ? tf.expandDims(s, 1) : oneOf(s);
}

/** Number of products of levels below which sums are exact in float32. */
const MOST_EXACT = Math.floor(2 ** 24 / 255 ** 2);

/** Multiplies whole numbers of 8 bits, relative to their zero points, exactly, as int32. */
function matMulInteger(n: NodeCall): Tensor {
  const ranks = [n.rank(0), n.rank(1)] as const, depth = n.dims(1).at(-2) ?? null;
  const a = centred(n.x(0), n.has(2) ? byRow(n.x(2), ranks[0]) : null);
  const known = knownLevels(n, 1, 3);
  if (known !== null) {
    const { pieces } = known;
    const parts = pieces.length === 1 ? [a] : tf.split(a, pieces.map((p) => p.rows), -1);
    const sums = pieces.map((piece, i) => tf.cast(tf.round(piece.timesWhole(parts[i])), "int32"));
    return sums.reduce((x, y) => tf.add(x, y));
  }
  const b = centred(n.x(1), n.has(3) ? oneOf(n.x(3)) : null);
  if (depth !== null && depth <= MOST_EXACT) return tf.cast(matMul(a, b, ranks), "int32");
  const before = n.dims(0).slice(0, -1), columns = n.dims(1).at(-1);
  if (depth === null || columns == null || ranks[1] !== 2 || before.includes(null)) {
    return matMul(tf.cast(a, "int32"), tf.cast(b, "int32"), ranks);
  }
  // Sums over parts of the depth are exact in float32, their sum is in int32.
  const rows = tf.reshape(a, [(before as number[]).reduce((x, y) => x * y, 1), depth]);
  const sums: Tensor[] = [];
  for (let from = 0; from < depth; from += MOST_EXACT) {
    const size = Math.min(MOST_EXACT, depth - from);
    const left = tf.slice(rows, [0, from], [-1, size]), right = tf.slice(b, [from, 0], [size, -1]);
    sums.push(tf.cast(tf.matMul(left, right), "int32"));
  }
  return tf.reshape(sums.reduce((x, y) => tf.add(x, y)), [...before as number[], columns]);
}

/** The inputs of a convolution of levels, by number: the images' zero point, the filter, and its zero point. */
interface ConvolvedLevels {
  readonly xZero: number;
  readonly w: number;
  readonly wZero: number;
}

/**
 * Convolves images by filters, both relative to their zero points: padding with 0 is then padding with the zero point.
 */
function convolveLevels(
  n: NodeCall,
  at: ConvolvedLevels,
  product: (x: Tensor, filter: Tensor, depth: number) => Tensor = ownProduct(n, at.w),
): Tensor {
  const images = centred(n.last(0), n.has(at.xZero) ? parameter(n, at.xZero, []) : null);
  const depth = n.concrete(at.w).slice(1).reduce((a, b) => a * b, 1);
  return product(images, centredFilter(n, at), depth);
}

/** Returns the filter relative to its zero points, as {@linkcode filterLast} makes it. */
function centredFilter(n: NodeCall, { w, wZero }: ConvolvedLevels): Tensor {
  const axes = n.rank(w) - 2, levels = n.value(w).known;
  const known = n.has(wZero) ? n.value(wZero).known : undefined;
  if (levels !== null && known !== null && n.value(w).data === null) {
    const given: FileLevels = { levels, scale: null, zero: known ?? null, axis: 0 };
    if (isDequantisable(given)) return constant(filterOfLevels(given, lastOrder(axes)));
  }
  const zero = n.optional(wZero),
    isEach = zero?.staticShape?.length === 1 && zero.staticShape[0] !== 1;
  const from = zero && tf.reshape(zero, isEach ? [-1, ...new Array<number>(axes + 1).fill(1)] : []);
  return filterLast(centred(n.x(w), from ?? null), axes);
}

/** Returns a node's convolution in float32, by a filter that {@linkcode filterLast} made. */
function ownProduct(n: NodeCall, w: number): (x: Tensor, filter: Tensor) => Tensor {
  const sliding = slidingOf(n, n.attributes.ints("kernel_shape") ?? n.concrete(w).slice(2));
  const groups = n.attributes.int("group", 1);
  return (x, filter) => convolve(x, filter, sliding, groups);
}

function convInteger(n: NodeCall): RuleOutput {
  const own = ownProduct(n, 1), whole = (t: Tensor): Tensor => tf.cast(t, "int32");
  const y = convolveLevels(n, { xZero: 2, w: 1, wZero: 3 }, (x, w, depth) => {
    if (depth <= MOST_EXACT) return whole(own(x, w));
    // Sums of sixteenths and of their remainders are exact for sixteen times as many.
    const high = tf.floor(tf.mul(x, 1 / 16)), low = tf.sub(x, tf.mul(high, 16));
    return tf.add(tf.mul(whole(own(high, w)), 16), whole(own(low, w)));
  });
  return Value.channelsLast(y);
}

function qLinearMatMul(n: NodeCall): Tensor {
  const ranks = [n.rank(0), n.rank(3)] as const, columns = (i: number) => oneOf(n.x(i));
  const a = centred(n.x(0), byRow(n.x(2), ranks[0])), known = knownLevels(n, 3, 5);
  const scale = tf.mul(
    to(byRow(n.x(1), ranks[0]), "float32"),
    to(columns(4), "float32"),
  );
  const product = known !== null ? known.times(a) : matMul(a, centred(n.x(3), columns(5)), ranks);
  const y = tf.mul(product, scale);
  return quantise(y, byRow(n.x(6), ranks[0]), byRow(n.x(7), ranks[0]), levelsOfInput(n, 7));
}

function qLinearConv(n: NodeCall): RuleOutput {
  let y = convolveLevels(n, { xZero: 2, w: 3, wZero: 5 });
  if (n.has(8)) y = tf.add(y, parameter(n, 8, [-1]));
  // Scales of the filters are along the channels, which are last.
  const out = parameter(n, 6, []), zero = parameter(n, 7, []);
  return Value.channelsLast(quantise(tf.mul(y, scaleOf(n, 1, 4)), out, zero, levelsOfInput(n, 7)));
}

export const QUANTISED: readonly OpEntry[] = [
  op("ConvInteger", 10, convInteger),
  op("DequantizeLinear", 10, dequantizeLinear, { known: [1, 2] }),
  op("DynamicQuantizeLinear", 11, dynamicQuantizeLinear),
  op("MatMulInteger", 10, matMulInteger),
  op("QLinearConv", 10, qLinearConv, { known: [1, 4, 6] }),
  op("QLinearMatMul", 10, qLinearMatMul, { known: [1, 4, 6] }),
  op("QuantizeLinear", 10, quantizeLinear, { known: [1, 2] }),
];
