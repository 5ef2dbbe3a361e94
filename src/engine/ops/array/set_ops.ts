/** Ops with results of data-dependent size: true places, masks, unique elements, differences. On the host. */
import { wantNumber } from "../../core/arguments.ts";
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { codeOf, type DType, DTYPES } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp } from "../../core/op.ts";
import { type ElementValue, NdArray, setElement } from "../../core/nd_array.ts";
import { normalizeAxis, type PartialShape, sizeOf } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { wordsOf } from "../../kernels/host/fill.ts";
import { axisLayout } from "../../kernels/copy/gather_layout.ts";
import { gatherCpu } from "../../kernels/host/gather.ts";
import { wholeArray } from "../../kernels/host/numbers.ts";
import { hostInts, knownInts, reshape, shape, squeeze } from "./view.ts";
import { onesLike } from "./creation.ts";
import { gather } from "./gather.ts";
import {
  asTensor,
  intScalar,
  intVector,
  narrowed,
  shapeOfInput,
  toInput,
  wantRank,
} from "../input.ts";

const Where = defineOp({
  name: "Where",
  inputs: ["input: T"],
  outputs: ["index: int64"],
  attrs: [
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, uint16, complex128, half, bfloat16, uint32, uint64, bool} = bool",
  ],
  infer: ([x]) => [[null, x.shape?.length ?? null]],
  grad: null,
  cpu: ([x]) => {
    const { shape } = x;
    const found: number[] = [];
    const slots = DTYPES[x.dtype].slots, data = x.data as unknown as ArrayLike<number | bigint>;
    for (let i = 0, n = x.size; i < n; i++) {
      if (slots === 1 ? Number(data[i]) !== 0 : data[2 * i] !== 0 || data[2 * i + 1] !== 0) {
        found.push(i);
      }
    }
    const out = NdArray.zeros("int64", [found.length, shape.length]);
    const to = out.data as BigInt64Array;
    found.forEach((flat, row) => {
      for (let d = shape.length - 1; d >= 0; d--) {
        to[row * shape.length + d] = BigInt(flat % shape[d]);
        flat = Math.floor(flat / shape[d]);
      }
    });
    return [out];
  },
});

/**
 * A key that is equal for equal elements: a number for a single one, else a text. NaN equals itself here, by its bits.
 */
type Key = number | string;

/** Returns the key of `count` consecutive elements. */
function keysOf(x: NdArray): (start: number, count: number) => Key {
  if (DTYPES[x.dtype].kind === "string") {
    const data = x.data as Uint8Array[];
    return (start, count) => data.slice(start, start + count).join("|");
  }
  // Adding zero makes negative zero plain zero. Keys of a map treat them as one anyway.
  const real = DTYPES[x.dtype].kind === "float" && codeOf(x.dtype) === null;
  const { words, slots } = wordsOf(x.data, x.dtype);
  const values = (real ? x.data : words) as ArrayLike<number>, each = real ? 1 : slots;
  return (start, count) => {
    if (count * each === 1) return values[start];
    let key = "";
    for (let i = start * each; i < (start + count) * each; i++) {
      key += real ? `${values[i] + 0},` : `${values[i]},`;
    }
    return key;
  };
}

const UniqueV2 = defineOp({
  name: "UniqueV2",
  inputs: ["x: T", "axis: Taxis"],
  outputs: ["y: T", "idx: out_idx"],
  attrs: ["T: type", "Taxis: index = int64", "out_idx: index = int32"],
  hostInputs: ["axis"],
  infer: ([x, axis]) => {
    const a = knownInts(axis)?.[0];
    if (x.shape === null || a === undefined) return [x.shape && x.shape.map(() => null), [null]];
    const at = normalizeAxis(a, x.shape.length);
    return [x.shape.map((d, i) => (i === at ? null : d)), [x.shape[at]]];
  },
  grad: null,
  cpu: ([x, axis], _, { attrs }) => {
    const at = x.rank === 1 ? 0 : normalizeAxis(hostInts(axis)[0], x.rank);
    const extent = x.shape[at];
    const outer = sizeOf(x.shape.slice(0, at)), inner = sizeOf(x.shape.slice(at + 1));
    const key = keysOf(x);
    const keyAt = (i: number): Key => {
      if (outer === 1) return key(i * inner, inner);
      let text = "";
      for (let o = 0; o < outer; o++) text += `${key((o * extent + i) * inner, inner)};`;
      return text;
    };
    const seen = new Map<Key, number>(), kept: number[] = [], places: number[] = [];
    for (let i = 0; i < extent; i++) {
      const of = keyAt(i);
      let place = seen.get(of);
      if (place === undefined) {
        seen.set(of, place = kept.length);
        kept.push(i);
      }
      places.push(place);
    }
    const y = NdArray.zeros(x.dtype, x.shape.map((d, i) => (i === at ? kept.length : d)));
    gatherCpu(
      x,
      wholeArray("int32", [kept.length], kept),
      axisLayout(x.shape, [kept.length], at, 0),
      y,
    );
    return [y, wholeArray(attrs.out_idx, [extent], places)];
  },
});

const ListDiff = defineOp({
  name: "ListDiff",
  inputs: ["x: T", "y: T"],
  outputs: ["out: T", "idx: out_idx"],
  attrs: ["T: type", "out_idx: index = int32"],
  infer: () => [[null], [null]],
  grad: null,
  cpu: ([x, y], _, { attrs }) => {
    const known = keysOf(y), key = keysOf(x);
    const gone = new Set(Array.from({ length: y.size }, (_, i) => known(i, 1)));
    const kept: number[] = [];
    for (let i = 0; i < x.size; i++) if (!gone.has(key(i, 1))) kept.push(i);
    const out = NdArray.zeros(x.dtype, [kept.length]);
    kept.forEach((from, to) => setElement(out, to, x.at(from) as ElementValue));
    return [out, wholeArray(attrs.out_idx, [kept.length], kept)];
  },
});

/** Reads a tensor to the host, so that a host op can follow without waiting. */
async function onHost(x: TensorLike, arg: string, fn: string, dtype?: DType): Promise<OpInput> {
  const literal = !(x instanceof Tensor || x instanceof NdArray);
  const input = toInput(x, arg, fn, literal ? { dtype } : {});
  return input instanceof Tensor && !input.isSymbolic ? await input.ndarray() : input;
}

/**
 * Returns the indices of the true elements, one row each; int32. Their number is known at run time. TensorFlow op
 * `Where`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const at = await tf.whereAsync([[true, false], [false, true]]);
 * console.log(at.arraySync()); // [[0, 0], [1, 1]]
 * ```
 */
export async function whereAsync(condition: TensorLike): Promise<Tensor> {
  const input = await onHost(condition, "condition", "whereAsync", "bool");
  return narrowed(apply1(Where, [mustBeBool(input, "condition", "whereAsync")]));
}

function mustBeBool(x: OpInput, arg: string, fn: string): OpInput {
  if (x.dtype !== "bool") {
    throw new TypeError(
      `Argument '${arg}' passed to '${fn}' must be bool tensor, but got ${x.dtype} tensor`,
    );
  }
  return x;
}

/** Disposes intermediate tensors. */
function release(...tensors: Tensor[]): void {
  for (const t of tensors) if (!t.isSymbolic) t.dispose();
}

/**
 * Returns the slices of `x` where a mask over some of its axes, from `axis` on, is true. Throws `ValueError` where the
 * mask does not fit. Follows TensorFlow `tf.boolean_mask`, ops `Where` and `GatherV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = await tf.booleanMaskAsync([[1, 2], [3, 4], [5, 6]], [true, false, true]);
 * console.log(x.arraySync()); // [[1, 2], [5, 6]]
 * ```
 */
export async function booleanMaskAsync(x: TensorLike, mask: TensorLike, axis = 0): Promise<Tensor> {
  wantNumber(axis, "axis", "booleanMaskAsync");
  const input = asTensor(toInput(x, "x", "booleanMaskAsync"));
  const chosen = await onHost(mask, "mask", "booleanMaskAsync", "bool");
  const shape = shapeOfInput(input), maskShape = shapeOfInput(chosen);
  const places = maskedShape(shape, maskShape, axis);
  mustBeBool(chosen, "mask", "booleanMaskAsync");
  const flat = chosen instanceof NdArray ? chosen.reshape([chosen.size]) : reshape(chosen, [-1]);
  const at = narrowed(apply1(Where, [flat]));
  const rows = squeeze(at, [1]), table = reshape(input, places);
  const out = gather(table, rows, axis);
  release(at, rows, table);
  return out;
}

/** Returns the shape with the masked axes joined. */
function maskedShape(shape: PartialShape, mask: PartialShape, axis: number): number[] {
  if (shape === null || mask === null || shape.includes(null)) {
    throw new ValueError(
      "Cannot apply booleanMaskAsync: the shape of x and the rank of the mask must be known",
    );
  }
  const dims = shape as readonly number[];
  if (mask.length === 0) throw new ValueError("mask cannot be scalar");
  const fits = mask.every((d, i) => d === null || d === dims[axis + i]);
  if (!fits) {
    throw new ValueError(
      `mask's shape must match the first K dimensions of tensor's shape, Shapes ${
        dims.slice(axis, axis + mask.length)
      } and ${mask} must match`,
    );
  }
  const masked = sizeOf(dims.slice(axis, axis + mask.length));
  return [...dims.slice(0, axis), masked, ...dims.slice(axis + mask.length)];
}

/** The result of {@linkcode unique}. */
export interface UniqueResult {
  /** Slices in order of first appearance. */
  readonly values: Tensor;
  /** Index of each input slice among the values; int32. */
  readonly indices: Tensor;
}

/**
 * Finds the unique slices along an axis, in order of first appearance, and the index of each input slice among them.
 * Throws `ValueError` for a scalar. TensorFlow op `UniqueV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { values, indices } = tf.unique([3, 1, 3]);
 * console.log([values.arraySync(), indices.arraySync()]); // [[3, 1], [0, 1, 0]]
 * ```
 */
export function unique(x: TensorLike, axis = 0): UniqueResult {
  const input = toInput(x, "x", "unique");
  const rank = shapeOfInput(input)?.length;
  if (rank === 0) throw new ValueError("Cannot take the unique elements of a scalar");
  const at = rank === undefined ? axis : normalizeAxis(axis, rank);
  const [values, indices] = apply(UniqueV2, [input, intVector([at])], {});
  return { values, indices };
}

/** The result of {@linkcode uniqueWithCounts}. */
export interface UniqueWithCountsResult extends UniqueResult {
  /** Number of input slices that equal each value; int32. */
  readonly counts: Tensor;
}

/**
 * Finds the unique slices along an axis as {@linkcode unique} does, and how many there are of each. TensorFlow op
 * `UniqueWithCountsV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { values, counts } = tf.uniqueWithCounts([3, 1, 3]);
 * console.log(await values.array(), await counts.array()); // [3, 1] [2, 1]
 * ```
 */
export function uniqueWithCounts(x: TensorLike, axis = 0): UniqueWithCountsResult {
  wantNumber(axis, "axis", "uniqueWithCounts");
  const { values, indices } = unique(x, axis), rank = values.staticShape?.length;
  const at = rank === undefined ? axis : normalizeAxis(axis, rank);
  const extent = values.staticShape?.[at] ?? null;
  const counts = compose(() => {
    const n = extent === null ? gather(shape(values), at) : intScalar(extent);
    return apply1(lookupOp("UnsortedSegmentSum")!, [onesLike(indices), indices, n]);
  });
  return { values, indices, counts };
}

/**
 * Returns the elements of vector `x` that are not in vector `y`, and their indices (int32). Throws `ValueError` for
 * other ranks, `TypeError` where dtypes differ. TensorFlow op `ListDiff`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [out, indices] = await tf.setdiff1dAsync([1, 2, 3, 4], [2, 4]);
 * console.log([out.arraySync(), indices.arraySync()]); // [[1, 3], [0, 2]]
 * ```
 */
export async function setdiff1dAsync(x: TensorLike, y: TensorLike): Promise<[Tensor, Tensor]> {
  const a = await onHost(x, "x", "setdiff1d"), b = await onHost(y, "y", "setdiff1d");
  for (const [name, t] of [["x", a], ["y", b]] as const) {
    wantRank(t, 1, () => `${name} should be 1D tensor, but got ${name} (${shapeOfInput(t)}).`);
  }
  if (a.dtype !== b.dtype) {
    throw new TypeError(
      `x and y should have the same dtype, but got x (${a.dtype}) and y (${b.dtype}).`,
    );
  }
  const [out, index] = apply(ListDiff, [a, b], {});
  return [out, index];
}
