/** Ops that read and change shapes. */
import type { DType } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis, type PartialShape } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { axisLast } from "../build/channels_last.ts";
import { FOLLOW } from "../build/entries.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { type Entries, Value } from "../build/value.ts";
import { readSparse } from "../file/sparse_data.ts";
import type { TensorData } from "../file/tensor_data.ts";
import { dtypeOfNumber } from "../file/types.ts";
import * as tf from "../build/tf.ts";

/** Returns integers that count or place, which ONNX has as int64. */
export function counted(x: Tensor): Value {
  return Value.of(x, { dtype: "int64" });
}

export function knownInt64(values: readonly number[], shape: readonly number[]): NdArray {
  return new NdArray("int64", shape, BigInt64Array.from(values, BigInt));
}

/** Gives a tensor the known extents of `shape`. */
export function withShape(x: Tensor, shape: PartialShape): Tensor {
  if (x.isSymbolic) x.setShape(shape);
  return x;
}

/** Returns an int32 vector of integers; unknown ones come from tensors. */
export function vectorOf(entries: Entries, missing: (i: number) => Tensor): Tensor {
  const parts: Tensor[] = [];
  for (let i = 0; i < entries.length; i++) {
    const known: number[] = [];
    for (; i < entries.length && entries[i] !== null; i++) known.push(entries[i]!);
    if (known.length > 0) parts.push(tf.tensor1d(known, "int32"));
    if (i < entries.length) parts.push(tf.reshape(missing(i), [1]));
  }
  return parts.length === 0 ? tf.tensor1d([], "int32") : tf.concat(parts);
}

/** Returns element `i` of a vector. */
export function elementOf(x: Tensor, i: number): Tensor {
  return tf.slice(x, [i], [1]);
}

function shape(n: NodeCall): RuleOutput {
  const { attributes } = n, rank = n.rank(0);
  const bound = (name: string, otherwise: number): number => {
    const at = attributes.int(name, otherwise);
    return Math.min(rank, Math.max(0, at < 0 ? at + rank : at));
  };
  const from = bound("start", 0), to = Math.max(from, bound("end", rank));
  return counted(tf.slice(tf.shape(n.x(0)), [from], [to - from]));
}

function size(n: NodeCall): RuleOutput {
  const dims = n.shape(0);
  if (dims !== null && !dims.includes(null)) {
    return knownInt64([dims.reduce<number>((a, b) => a * b!, 1)], []);
  }
  return counted(tf.size(n.x(0)));
}

function reshape(n: NodeCall): Tensor {
  const x = n.x(0), dims = n.dims(0), keeps = n.attributes.flag("allowzero");
  const target = n.version < 5 ? n.attributes.ints("shape") ?? [] : n.entries(1);
  if (target === undefined) {
    const wanted = n.index(1), length = n.shape(1)?.[0];
    if (keeps || length == null || dims.length === 0) return tf.reshape(x, wanted);
    const own = tf.slice(tf.pad(tf.shape(x), [[0, length]]), [0], [length]);
    return tf.reshape(x, tf.where(tf.equal(wanted, 0), own, wanted));
  }
  const copied = target.map((d) => d === 0 && !keeps);
  const wanted = target.map((d, i) => copied[i] ? dims[i] ?? null : d);
  if (copied.some((c, i) => c && i >= dims.length)) {
    n.fail(
      `the shape [${target}] copies an extent that its input of rank ${dims.length} does not have`,
    );
  }
  const open = wanted.filter((d) => d === null).length, wild = wanted.includes(-1);
  if (open === 0) return tf.reshape(x, wanted as number[]);
  if (open === 1 && !wild) return tf.reshape(x, wanted.map((d) => d ?? -1));
  const vector = vectorOf(
    wanted,
    (i) => elementOf(copied[i] ? tf.shape(x) : n.index(1), i),
  );
  return withShape(tf.reshape(x, vector), wanted.map((d) => d === -1 ? null : d));
}

function flatten(n: NodeCall): Tensor {
  const x = n.x(0), dims = n.dims(0);
  const given = n.attributes.int("axis", 1), axis = given < 0 ? given + dims.length : given;
  const product = (list: readonly (number | null)[]): number | null =>
    list.includes(null) ? null : list.reduce<number>((a, b) => a * b!, 1);
  const before = product(dims.slice(0, axis)), after = product(dims.slice(axis));
  if (before !== null || after !== null) return tf.reshape(x, [before ?? -1, after ?? -1]);
  const count = tf.prod(tf.slice(tf.shape(x), [0], [axis]));
  return tf.reshape(x, tf.concat([tf.reshape(count, [1]), tf.tensor1d([-1], "int32")]));
}

/** Returns axes from an attribute, or from an input since version 13; undefined if neither is present. */
function axesOf(n: NodeCall): readonly number[] | undefined {
  if (n.version < 13) return n.attributes.ints("axes");
  return n.has(1) ? n.wantInts(1) : undefined;
}

function squeeze(n: NodeCall): Tensor {
  const axes = axesOf(n);
  if (axes !== undefined) return axes.length === 0 ? tf.identity(n.x(0)) : tf.squeeze(n.x(0), axes);
  const dims = n.concrete(0), ones = dims.flatMap((d, i) => d === 1 ? [i] : []);
  return ones.length === 0 ? tf.identity(n.x(0)) : tf.squeeze(n.x(0), ones);
}

function unsqueeze(n: NodeCall): Tensor {
  const axes = axesOf(n) ?? n.fail("its axes are missing");
  const rank = n.rank(0) + axes.length;
  const places = axes.map((a) => normalizeAxis(a, rank)).sort((a, b) => a - b);
  if (new Set(places).size < places.length) n.fail(`an axis of [${axes}] is named twice`);
  const dims = [...n.dims(0)];
  for (const a of places) dims.splice(a, 0, 1);
  if (places.length > 1 && dims.filter((d) => d === null).length < 2) {
    return tf.reshape(n.x(0), dims.map((d) => d ?? -1));
  }
  return places.reduce((x, a) => tf.expandDims(x, a), n.x(0));
}

function transpose(n: NodeCall): Tensor {
  return tf.transpose(n.x(0), n.attributes.ints("perm") ?? null);
}

function concat(n: NodeCall): RuleOutput {
  const rank = n.shape(0)?.length ?? 0;
  if (rank > 2 && n.inputs.some((v) => v?.last != null)) {
    const images = n.inputs.map((_, i) => n.last(i)), axis = n.axis("axis", 1, rank);
    return Value.channelsLast(tf.concat(images, axisLast(axis, rank)));
  }
  const parts = n.xs;
  return parts.length === 1 ? tf.identity(parts[0]) : tf.concat(parts, n.attributes.int("axis", 1));
}

function split(n: NodeCall): Tensor[] {
  const axis = n.axis("axis", 0, n.rank(0)), parts = n.node.outputs.length;
  const given = n.version < 13 ? n.attributes.ints("split") : n.has(1) ? n.wantInts(1) : undefined;
  if (given !== undefined) return tf.split(n.x(0), given, axis);
  const extent = n.dims(0)[axis], count = n.attributes.int("num_outputs", parts);
  if (extent === null || extent % count === 0) return tf.split(n.x(0), count, axis);
  // The last is shorter; some may be empty.
  const each = Math.ceil(extent / count);
  const sizes = Array.from(
    { length: count },
    (_, i) => Math.max(0, Math.min(each, extent - i * each)),
  );
  return tf.split(n.x(0), sizes, axis);
}

/** Returns the known extents of the broadcast shape of two shapes. */
function joined(a: Entries, b: Entries): (number | null)[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = i < rank - a.length ? 1 : a[i - rank + a.length];
    const y = i < rank - b.length ? 1 : b[i - rank + b.length];
    if (x === 1) return y;
    if (y === 1) return x;
    return x ?? y;
  });
}

function expand(n: NodeCall): Tensor {
  const x = n.x(0), dims = n.dims(0), entries = n.entries(1);
  const known = entries && joined(dims, entries);
  if (known && !known.includes(null)) return tf.broadcastTo(x, known as number[]);
  const wide = tf.broadcastTo(x, tf.broadcastArgs(tf.shape(x), n.index(1)));
  // An unknown extent beside a known one above 1 is that one, or 1.
  return known ? withShape(wide, known) : wide;
}

function tile(n: NodeCall): Tensor {
  if (n.version >= 6) return tf.tile(n.x(0), n.ints(1) ?? n.index(1));
  const reps = new Array<number>(n.rank(0)).fill(1);
  reps[normalizeAxis(n.wantInts(2)[0], reps.length)] = n.wantInts(1)[0];
  return tf.tile(n.x(0), reps);
}

function constant(n: NodeCall): RuleOutput {
  const { attributes: a } = n;
  const data = a.tensor("value") ?? sparseValue(n);
  if (data !== undefined) return Value.known(data.array, data.packed === null ? null : data);
  const floats = a.has("value_float") ? [a.float("value_float", 0)] : a.floats("value_floats");
  const int = a.bigint("value_int"), text = a.bytes("value_string");
  const raw = a.raw("value_ints");
  const of = (dtype: DType, list: NdArray["data"], scalar: boolean) =>
    new NdArray(dtype, scalar ? [] : [list.length], list);
  if (floats !== undefined) return of("float32", Float32Array.from(floats), a.has("value_float"));
  if (int !== undefined) return of("int64", BigInt64Array.of(int), true);
  if (raw !== undefined) return of("int64", BigInt64Array.from(raw.ints), false);
  if (text !== undefined) return of("string", [text], true);
  const texts = a.byteStrings("value_strings");
  return texts === undefined ? n.fail("it has no value") : of("string", [...texts], false);
}

function sparseValue(n: NodeCall): TensorData | undefined {
  const sparse = n.attributes.raw("sparse_value")?.sparseTensor;
  return sparse && readSparse(sparse);
}

function constantOfShape(n: NodeCall): Tensor {
  const value = n.attributes.tensor("value")?.array.reshape([]) ??
    new NdArray("float32", [], new Float32Array(1));
  return tf.fill(n.ints(0) ?? n.index(0), value);
}

/** Returns numbers from a start to a limit by steps, in the dtype. */
function range(n: NodeCall): Tensor {
  const dtype = n.dtype(0), [start, limit, delta] = [0, 1, 2].map((i) => n.known(i));
  if (start === undefined || limit === undefined || delta === undefined) {
    const whole = dtype === "int64" ? "int32" : dtype;
    const numbers = [0, 1, 2].map((i) => tf.reshape(dtype === "int64" ? n.index(i) : n.x(i), []));
    const made = tf.range(numbers[0], numbers[1], numbers[2], whole);
    return dtype === whole ? made : tf.cast(made, dtype);
  }
  const [from, to, by] = [start, limit, delta].map((a) => Number(a.at(0)));
  if (by === 0) n.fail("its step is 0");
  const count = Math.max(0, Math.ceil((to - from) / by));
  if (dtype === "int64") {
    return tf.tensor(knownInt64(Array.from({ length: count }, (_, i) => from + i * by), [count]));
  }
  const exact = dtype === "float64" ? "float64" : dtype === "int32" ? "int32" : "float32";
  const steps = tf.range(0, count, 1, exact);
  const scaled = tf.add(tf.mul(steps, tf.scalar(by, exact)), tf.scalar(from, exact));
  return scaled.dtype === dtype ? scaled : tf.cast(scaled, dtype);
}

function eyeLike(n: NodeCall): Tensor {
  const x = n.x(0), number = n.attributes.int("dtype", 0), k = n.attributes.int("k", 0);
  const dtype = number === 0 ? n.dtype(0) : dtypeOfNumber(number);
  return tf.cast(tf.equal(diagonals(x), k), dtype);
}

/** Returns for each element of a matrix its distance to the right of the diagonal. */
export function diagonals(x: Tensor): Tensor {
  const dims = x.staticShape ?? [], rank = dims.length;
  const extent = (axis: number): TensorLike =>
    dims[axis] ?? tf.reshape(elementOf(tf.shape(x), axis), []);
  const rows = tf.range(0, extent(rank - 2), 1, "int32");
  const columns = tf.range(0, extent(rank - 1), 1, "int32");
  return tf.sub(tf.expandDims(columns, 0), tf.expandDims(rows, 1));
}

const KNOWN = { known: [1] };

/** Ops of shapes, and of values computed from them. */
export const SHAPES: readonly OpEntry[] = [
  op("Concat", 1, concat, { narrow: true, follow: FOLLOW.concat, halves: "moved" }),
  op("Constant", 1, constant, { folds: false }),
  op("ConstantOfShape", 9, constantOfShape, { known: [0], grows: true }),
  op("Expand", 8, expand, { ...KNOWN, grows: true, halves: "moved" }),
  op("EyeLike", 9, eyeLike),
  op("Flatten", 1, flatten, { halves: "moved" }),
  op("Range", 11, range, { grows: true }),
  op("Reshape", 1, reshape, { ...KNOWN, narrow: true, halves: "moved" }),
  op("Shape", 1, shape, { follow: FOLLOW.shape }),
  op("Size", 1, size),
  op("Split", 1, split, { ...KNOWN, narrow: true, halves: "moved" }),
  op("Squeeze", 1, squeeze, { ...KNOWN, narrow: true, follow: FOLLOW.toScalar, halves: "moved" }),
  op("Tile", 1, tile, { ...KNOWN, grows: true, halves: "moved" }),
  op("Transpose", 1, transpose, { narrow: true, halves: "moved" }),
  op("ExpandDims", 1, (n) => tf.expandDims(n.x(0), n.wantInts(1)[0]), {
    ...KNOWN,
    domain: "com.microsoft",
  }),
  op("Range", 1, range, { grows: true, domain: "com.microsoft" }),
  op("Unsqueeze", 1, unsqueeze, {
    ...KNOWN,
    narrow: true,
    follow: FOLLOW.toVector,
    halves: "moved",
  }),
];
