/** Elements by place: slices, gathers, scatters, masks. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis, stridesOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { FOLLOW } from "../build/entries.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { like, put1, to } from "./raw.ts";
import { counted, diagonals, elementOf, vectorOf } from "./shapes.ts";
import * as tf from "../build/tf.ts";

const MOST = 2 ** 31 - 1;

/** Returns the permutation that moves an axis to the end, and back; its own inverse. */
export function lastAxis(rank: number, axis: number): number[] | null {
  if (axis === rank - 1) return null;
  const perm = Array.from({ length: rank }, (_, i) => i);
  [perm[axis], perm[rank - 1]] = [perm[rank - 1], perm[axis]];
  return perm;
}

/** Transposes a tensor; unchanged if `perm` is null. */
export function permuted(x: Tensor, perm: readonly number[] | null): Tensor {
  return perm === null ? x : tf.transpose(x, perm);
}

/** Returns places of an axis as int32; negative ones count from its end. */
function places(n: NodeCall, i: number, extent: number | null, x: Tensor, axis: number): Tensor {
  const at = n.index(i);
  if (n.ints(i)?.every((v) => v >= 0)) return at;
  const size = extent === null ? elementOf(tf.shape(x), axis) : tf.scalar(extent, "int32");
  const whole = extent === null ? tf.reshape(size, []) : size;
  return tf.where(tf.less(at, 0), tf.add(at, whole), at);
}

function slice(n: NodeCall): Tensor {
  const x = n.x(0), dims = n.dims(0), rank = dims.length, { attributes } = n;
  const old = n.version < 10;
  const part = (i: number, name: string) =>
    old ? attributes.ints(name) : n.has(i) ? n.entries(i) : undefined;
  const counts = old ? attributes.ints("starts")!.length : n.shape(1)?.[0] ?? n.needs("its axes");
  const axes = (old ? attributes.ints("axes") : n.has(3) ? n.wantInts(3) : undefined) ??
    Array.from({ length: counts }, (_, i) => i);
  const steps = (!old && n.has(4) ? n.wantInts(4) : undefined) ?? axes.map(() => 1);
  const starts = part(1, "starts"), ends = part(2, "ends");
  const begin: (number | null)[] = new Array(rank).fill(0), end = [...begin];
  const stride = new Array<number>(rank).fill(1), from = new Array<number>(rank).fill(-1);
  let beginMask = 2 ** rank - 1, endMask = beginMask;
  axes.forEach((a, k) => {
    const axis = normalizeAxis(a, rank), extent = dims[axis], step = steps[k];
    if (step === 0) n.fail("a step is 0");
    from[axis] = k;
    stride[axis] = Math.max(-MOST, Math.min(MOST, step));
    beginMask &= ~(1 << axis);
    endMask &= ~(1 << axis);
    begin[axis] = starts?.[k] ?? null;
    end[axis] = ends?.[k] ?? null;
    if (begin[axis] !== null) begin[axis] = Math.max(-MOST, Math.min(MOST, begin[axis]!));
    const last = end[axis];
    if (last === null) return;
    // An end before the first element of an axis that is walked backwards.
    if (step < 0 && (extent === null ? last <= -MOST : last < -extent)) endMask |= 1 << axis;
    if (step > 0 && last >= MOST) endMask |= 1 << axis;
    end[axis] = Math.max(-MOST, Math.min(MOST, last));
  });
  const vector = (entries: readonly (number | null)[], i: number) =>
    entries.includes(null)
      ? vectorOf(entries, (axis) => elementOf(clamped(n, i), from[axis]))
      : entries as number[];
  return tf.stridedSlice(x, vector(begin, 1), vector(end, 2), stride, beginMask, endMask);
}

/** Converts integers to int32, saturating. */
function clamped(n: NodeCall, i: number): Tensor {
  const value = n.value(i);
  if (value.isNarrow || value.dtype !== "int64") return n.index(i);
  const x = n.tensorOf(value, "int64");
  return to(tf.maximum(tf.minimum(x, like(x, MOST)), like(x, -MOST)), "int32");
}

function gather(n: NodeCall): Tensor {
  const x = n.x(0), rank = n.rank(0), axis = n.axis("axis", 0, rank);
  return tf.gather(x, places(n, 1, n.dims(0)[axis], x, axis), axis);
}

function gatherElements(n: NodeCall): Tensor {
  const rank = n.rank(0), axis = n.axis("axis", 0, rank), perm = lastAxis(rank, axis);
  const dims = n.dims(0), wanted = n.dims(1);
  let x = n.x(0);
  const at = places(n, 1, dims[axis], x, axis);
  // Other axes are read as far as there are places.
  if (dims.some((d, i) => i !== axis && (d === null || d !== wanted[i]))) {
    const sizes = wanted.map((d, i) => i === axis ? -1 : d);
    const vector = sizes.includes(null)
      ? vectorOf(sizes, (i) => elementOf(tf.shape(at), i))
      : sizes as number[];
    x = tf.slice(x, new Array(rank).fill(0), vector);
  }
  const last = rank - 1;
  return permuted(tf.gather(permuted(x, perm), permuted(at, perm), last, last), perm);
}

/** Returns index vectors; negative entries count from the ends of their axes. */
function vectors(n: NodeCall, i: number, x: Tensor, from = 0): Tensor {
  const at = n.index(i);
  if (n.ints(i)?.every((v) => v >= 0)) return at;
  const length = n.dims(i).at(-1) ?? n.needs(`the length of the index vectors of input ${i}`);
  const sizes = tf.slice(tf.shape(x), [from], [length]);
  return tf.where(tf.less(at, 0), tf.add(at, sizes), at);
}

function gatherNd(n: NodeCall): Tensor {
  const batch = n.attributes.int("batch_dims", 0), x = n.x(0), at = vectors(n, 1, x, batch);
  if (batch === 0) return tf.gatherND(x, at);
  const dims = n.concrete(0), to = n.concrete(1), length = to[to.length - 1];
  const rows = dims.slice(0, batch).reduce((a, b) => a * b, 1);
  const middle = to.slice(batch, -1), count = middle.reduce((a, b) => a * b, 1);
  const flat = tf.reshape(at, [rows, count, length]);
  const row = tf.broadcastTo(
    tf.reshape(tf.range(0, rows, 1, "int32"), [rows, 1, 1]),
    [rows, count, 1],
  );
  const y = tf.gatherND(
    tf.reshape(x, [rows, ...dims.slice(batch)]),
    tf.concat([row, flat], -1),
  );
  return tf.reshape(y, [...dims.slice(0, batch), ...middle, ...dims.slice(batch + length)]);
}

/** Weft's scatter ops, by their combination with the old elements. */
const SCATTERS: Readonly<Record<string, string>> = {
  none: "TensorScatterUpdate",
  add: "TensorScatterAdd",
  mul: "_TensorScatterMul",
  max: "TensorScatterMax",
  min: "TensorScatterMin",
};

function scatter(n: NodeCall, x: Tensor, at: Tensor, updates: Tensor): Tensor {
  const how = n.attributes.text("reduction", "none");
  if (!Object.hasOwn(SCATTERS, how)) n.fail(`there is no reduction "${how}"`);
  return put1(SCATTERS[how], [x, at, updates]);
}

function scatterNd(n: NodeCall): Tensor {
  const x = n.x(0);
  return scatter(n, x, vectors(n, 1, x), n.x(2));
}

/** Places each element of the updates along the axis; the other coordinates stay. */
function scatterElements(n: NodeCall): Tensor {
  const x = n.x(0), dims = n.concrete(0), wanted = n.concrete(1);
  const axis = n.axis("axis", 0, dims.length), strides = stridesOf(dims);
  const size = wanted.reduce((a, b) => a * b, 1), base = new Int32Array(size);
  const steps = stridesOf(wanted);
  for (let i = 0; i < size; i++) {
    for (let a = 0, rest = i; a < wanted.length; a++) {
      const at = Math.floor(rest / steps[a]);
      rest -= at * steps[a];
      if (a !== axis) base[i] += at * strides[a];
    }
  }
  const at = places(n, 1, dims[axis], x, axis);
  const flat = tf.add(tf.mul(at, strides[axis]), new NdArray("int32", wanted, base));
  const y = scatter(n, tf.reshape(x, [-1]), tf.reshape(flat, [-1, 1]), tf.reshape(n.x(2), [-1]));
  return tf.reshape(y, dims);
}

function compress(n: NodeCall): Tensor {
  const at = to(tf.reshape(tf.where(n.x(1)), [-1]), "int32");
  if (!n.attributes.has("axis")) return tf.gather(tf.reshape(n.x(0), [-1]), at);
  return tf.gather(n.x(0), at, n.axis("axis", 0, n.rank(0)));
}

function nonZero(n: NodeCall): Tensor {
  const x = n.rank(0) === 0 ? tf.reshape(n.x(0), [1]) : n.x(0);
  return tf.transpose(tf.where(x));
}

function oneHot(n: NodeCall): Tensor {
  const rank = n.rank(0) + 1, axis = n.axis("axis", -1, rank);
  const depth = n.ints(1)?.[0] ?? tf.reshape(n.index(1), []);
  const given = to(n.x(0), "int32");
  const at = tf.where(tf.less(given, 0), tf.add(given, depth), given);
  const shape = new Array<number>(rank).fill(1);
  shape[axis] = -1;
  const columns = tf.reshape(tf.range(0, depth, 1, "int32"), shape);
  const [off, on] = tf.split(n.x(2), 2).map((v) => tf.reshape(v, []));
  return tf.where(tf.equal(tf.expandDims(at, axis), columns), on, off);
}

function trilu(n: NodeCall): Tensor {
  const x = n.x(0), k = n.has(1) ? n.ints(1)?.[0] ?? tf.reshape(n.index(1), []) : 0;
  const right = diagonals(x);
  const kept = n.attributes.flag("upper", true)
    ? tf.greaterEqual(right, k)
    : tf.lessEqual(right, k);
  return tf.where(kept, x, tf.zerosLike(x));
}

/** Reverses the first `lengths[b]` elements of each row. */
function reverseSequence(n: NodeCall): Tensor {
  const { attributes } = n,
    time = attributes.int("time_axis", 0),
    batch = attributes.int("batch_axis", 1);
  const swap = time === 0 ? [1, 0, ...n.dims(0).slice(2).map((_, i) => i + 2)] : null;
  if (time + batch !== 1) n.fail("its axes of time and batch must be the first two");
  const x = permuted(n.x(0), swap), lengths = tf.expandDims(n.index(1), 1);
  const steps = n.dims(0)[time] ?? tf.reshape(elementOf(tf.shape(x), 1), []);
  const at = tf.expandDims(tf.range(0, steps, 1, "int32"), 0);
  const turned = tf.where(tf.less(at, lengths), tf.sub(tf.sub(lengths, 1), at), at);
  return permuted(tf.gather(x, turned, 1, 1), swap);
}

/** Returns places of the greatest or the least along an axis, the first of equal ones or the last. */
function argExtreme(f: (x: Tensor, axis: number) => Tensor): (n: NodeCall) => RuleOutput {
  return (n) => {
    const axis = n.axis("axis", 0, n.rank(0)), isLast = n.attributes.flag("select_last_index");
    const x = isLast ? tf.reverse(n.x(0), axis) : n.x(0);
    let at = to(f(x, axis), "int32");
    if (isLast) {
      const extent = n.dims(0)[axis] ?? tf.reshape(elementOf(tf.shape(x), axis), []);
      at = tf.sub(tf.sub(extent, 1), at);
    }
    return counted(n.attributes.flag("keepdims", true) ? tf.expandDims(at, axis) : at);
  };
}

/** Ops that read and write by place. */
export const INDEXING: readonly OpEntry[] = [
  op("ArgMax", 1, argExtreme(tf.argMax)),
  op("ArgMin", 1, argExtreme(tf.argMin)),
  op("Compress", 9, compress),
  op("Gather", 1, gather, { narrow: true, follow: FOLLOW.gather, halves: "moved" }),
  op("GatherElements", 11, gatherElements, { halves: "moved" }),
  op("GatherND", 11, gatherNd, { halves: "moved" }),
  op("NonZero", 9, nonZero),
  op("OneHot", 9, oneHot, { known: [1] }),
  op("ReverseSequence", 10, reverseSequence),
  op("Scatter", 9, scatterElements),
  op("ScatterElements", 11, scatterElements),
  op("ScatterND", 11, scatterNd),
  op("Slice", 1, slice, {
    known: [1, 2, 3, 4],
    narrow: true,
    follow: FOLLOW.slice,
    halves: "moved",
  }),
  op("Trilu", 14, trilu, { known: [1], halves: "moved" }),
  op("GatherND", 1, gatherNd, { domain: "com.microsoft", halves: "moved" }),
  op("Trilu", 1, trilu, { known: [1], domain: "com.microsoft", halves: "moved" }),
];
