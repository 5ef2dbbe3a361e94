/** Elements moved: joined, split, sliced, padded, turned. */
import {
  compare,
  concat,
  extents,
  FAR,
  gather,
  reshape,
  scalarOf,
  slice,
  squeeze,
  transpose,
  unsqueeze,
  upTo,
  where,
} from "../helpers.ts";
import { axisOfFirst, channelsLast, permuted } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import { intsOf, numbers, type Ref } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

function concatRule(n: NodeWriter): Ref {
  const values = n.xs.slice(0, -1), [axis] = n.ints(n.xs.length - 1, "the axis");
  const rank = n.outputs[0].shape?.length ?? values[0].shape?.length;
  const at = axis < 0 ? axis + (rank ?? n.lacks("the rank of an input is not known")) : axis;
  if (rank !== undefined && rank > 2 && values.every((v) => v.first !== null)) {
    return channelsLast(n, concat(n, values.map((v) => v.first!), axisOfFirst(at, rank)), rank);
  }
  return concat(n, values, at);
}

/** Splits along an axis into parts of known or equal extents. */
function split(
  n: NodeWriter,
  x: Ref,
  axis: number,
  sizes: readonly number[] | Ref | number,
): Ref[] {
  const count = n.outputs.length,
    parts = n.outputs.map(({ shape }) => ({ dtype: "T" as const, shape }));
  if (count === 1) return [x];
  if (typeof sizes !== "number") {
    const given = Array.isArray(sizes) ? n.int64s(sizes) : n.wide(sizes as Ref);
    return n.nodes("Split", [x, given], { axis: BigInt(axis) }, parts, [0]);
  }
  const equal = n.target.opset < 18 ? {} : { num_outputs: BigInt(count) };
  return n.nodes("Split", [x], { axis: BigInt(axis), ...equal }, parts, [0]);
}

function splitV(n: NodeWriter): Ref[] {
  const [x, sizes] = n.xs, axis = n.axis(2, n.rank(x)), known = intsOf(sizes);
  if (known === null) return split(n, x, axis, sizes);
  const open = known.indexOf(-1), extent = x.shape![axis];
  if (open < 0) return split(n, x, axis, known);
  if (extent === null) {
    const rest = known.reduce((sum, d, i) => i === open ? sum : sum + d, 0);
    const dims = n.node(
      "Where",
      [
        n.constant(numbers("bool", known.map((d) => d < 0 ? 1 : 0))),
        n.node("Sub", [extents(n, x, axis, axis + 1), n.int64s([rest])]),
        n.int64s(known),
      ],
      {},
      { operands: [1, 2] },
    );
    return split(n, x, axis, dims);
  }
  const rest = known.reduce((sum, d, i) => i === open ? sum : sum - d, extent);
  return split(n, x, axis, known.map((d) => d < 0 ? rest : d));
}

function sliceRule(n: NodeWriter): Ref {
  const [x, begin, size] = n.xs, from = intsOf(begin), count = intsOf(size);
  const axes = upTo(begin.shape?.[0] ?? n.rank(x));
  if (from !== null && count !== null) {
    return slice(n, x, {
      begin: from,
      end: from.map((b, i) => count[i] < 0 ? FAR : b + count[i]),
      axes,
    });
  }
  const b = n.wide(begin), s = n.wide(size);
  const isOpen = compare(n, "Less", s, n.scalar(0, "int64"));
  const end = where(n, isOpen, n.scalar(FAR, "int64"), n.node("Add", [b, s]));
  return slice(n, x, { begin: b, end, axes });
}

/** One axis of a strided slice: its place among the given ones, and the axis of the input. */
interface Sliced {
  readonly at: number;
  readonly axis: number;
}

function stridedSlice(n: NodeWriter): Ref {
  const [x, begin, end] = n.xs, strides = n.ints(3, "the strides");
  const has = (mask: string, i: number): boolean => (Number(n.attrs[mask]) >> i & 1) === 1;
  const count = strides.length, sliced: Sliced[] = [], shrunk: number[] = [], added: number[] = [];
  let axis = 0, out = 0;
  for (let i = 0; i < count; i++) {
    if (has("ellipsis_mask", i)) {
      const later = upTo(count).filter((k) => k > i && !has("new_axis_mask", k)).length;
      const skipped = n.rank(x) - axis - later;
      axis += skipped;
      out += skipped;
    } else if (has("new_axis_mask", i)) added.push(out++);
    else {
      sliced.push({ at: i, axis });
      if (has("shrink_axis_mask", i)) shrunk.push(axis);
      else out++;
      axis++;
    }
  }
  const y = sliced.length === 0 ? x : slice(n, x, {
    begin: bound(n, begin, sliced, (i) => {
      if (has("shrink_axis_mask", i) || !has("begin_mask", i)) return null;
      return strides[i] < 0 ? FAR : 0;
    }),
    end: endOf(n, { begin, end }, sliced, {
      isShrunk: (i) => has("shrink_axis_mask", i),
      open: (i) => has("end_mask", i) ? strides[i] < 0 ? -FAR : FAR : null,
    }),
    axes: sliced.map((s) => s.axis),
    steps: sliced.map((s) => has("shrink_axis_mask", s.at) ? 1 : strides[s.at]),
  });
  return unsqueeze(n, squeeze(n, y, shrunk), added);
}

/** Returns the ends of a strided slice; where an axis is dropped, that after the beginning. */
function endOf(
  n: NodeWriter,
  { begin, end }: { readonly begin: Ref; readonly end: Ref },
  sliced: readonly Sliced[],
  { isShrunk, open }: {
    readonly isShrunk: (i: number) => boolean;
    readonly open: (i: number) => number | null;
  },
): readonly number[] | Ref {
  const from = intsOf(begin);
  if (!sliced.some((s) => isShrunk(s.at))) return bound(n, end, sliced, open);
  if (from !== null) {
    const after = (i: number): number => from[i] === -1 ? FAR : from[i] + 1;
    return bound(n, end, sliced, (i) => isShrunk(i) ? after(i) : open(i));
  }
  const next = n.node("Add", [n.wide(begin), n.scalar(1, "int64")]);
  const ends = where(
    n,
    compare(n, "Equal", next, n.scalar(0, "int64")),
    n.scalar(FAR, "int64"),
    next,
  );
  const mask = n.constant(
    numbers("bool", upTo(sliced.length).map((k) => isShrunk(sliced[k].at) ? 1 : 0)),
  );
  const own = bound(n, end, sliced, open), at = picked(n, ends, sliced);
  return where(n, mask, at, Array.isArray(own) ? n.int64s(own) : own as Ref);
}

/** Returns the ends of slices: given ones, or numbers in their place. */
function bound(
  n: NodeWriter,
  given: Ref,
  sliced: readonly Sliced[],
  instead: (i: number) => number | null,
): readonly number[] | Ref {
  const known = intsOf(given), other = sliced.map(({ at }) => instead(at));
  if (known !== null) return sliced.map(({ at }, k) => other[k] ?? known[at]);
  const own = picked(n, given, sliced);
  if (other.every((v) => v === null)) return own;
  const mask = n.constant(numbers("bool", other.map((v) => v === null ? 0 : 1)));
  return where(n, mask, n.int64s(other.map((v) => v ?? 0)), own);
}

function picked(n: NodeWriter, given: Ref, sliced: readonly Sliced[]): Ref {
  const wide = n.wide(given), isAll = given.shape?.[0] === sliced.length;
  return isAll ? wide : gather(n, wide, n.int64s(sliced.map((s) => s.at)), 0);
}

/** Returns `[before…, after…]` of pairs of numbers for each axis. */
function padsOf(n: NodeWriter, i: number): number[] | Ref {
  const given = n.xs[i], known = intsOf(given);
  if (known === null) return reshape(n, transpose(n, n.wide(given), [1, 0]), [-1]);
  return [...known.filter((_, k) => k % 2 === 0), ...known.filter((_, k) => k % 2 === 1)];
}

function pad(n: NodeWriter): Ref {
  const [x, , value] = n.xs, rank = n.xs[1].shape?.[0] ?? n.rank(x), pads = padsOf(n, 1);
  const fill = value === undefined ? null : scalarOf(n, value);
  const put = (x: Ref, pads: Ref): Ref =>
    n.node("Pad", [x, pads, fill ?? n.scalar(0, x.dtype)], {}, { operands: [0, 2] });
  if (!Array.isArray(pads)) return put(x, pads);
  if (pads.every((p) => p === 0)) return x;
  if (x.first === null || rank < 3) return put(x, n.int64s(pads));
  const moved = [...permuted(pads.slice(0, rank)), ...permuted(pads.slice(rank))];
  return channelsLast(n, put(x.first, n.int64s(moved)), rank);
}

/** Mirrors along each axis by the places that are read. */
function mirrorPad(n: NodeWriter): Ref {
  const [x] = n.xs, pads = padsOf(n, 1), rank = n.xs[1].shape?.[0] ?? n.rank(x);
  if (!Array.isArray(pads)) return n.lacks("its paddings are not constants");
  const isOnBorder = n.attrs.mode === "SYMMETRIC" ? 1 : 0;
  return upTo(rank).reduce((y, axis) => {
    const before = pads[axis], after = pads[axis + rank];
    if (before === 0 && after === 0) return y;
    const extent = scalarOf(n, extents(n, x, axis, axis + 1));
    const last = n.node("Add", [extent, n.scalar(after, "int64")]);
    const at = n.node("Range", [n.scalar(-before, "int64"), last, n.scalar(1, "int64")]);
    const front = where(
      n,
      compare(n, "Less", at, n.scalar(0, "int64")),
      n.node("Sub", [n.scalar(-isOnBorder, "int64"), at]),
      at,
    );
    const twice = n.node("Sub", [
      n.node("Mul", [extent, n.scalar(2, "int64")]),
      n.scalar(2 - isOnBorder, "int64"),
    ]);
    const isBehind = n.node("Not", [compare(n, "Less", at, extent)]);
    return gather(n, y, where(n, isBehind, n.node("Sub", [twice, at]), front), axis);
  }, x);
}

function roll(n: NodeWriter): Ref {
  const [x, shifts] = n.xs, axes = n.ints(2, "the axes"), rank = n.rank(x);
  const flat = n.wide(shifts);
  return axes.reduce((y, given, k) => {
    const axis = given < 0 ? given + rank : given;
    const extent = scalarOf(n, extents(n, x, axis, axis + 1));
    const by = flat.shape?.length === 0
      ? flat
      : scalarOf(n, gather(n, flat, n.scalar(k, "int64"), 0));
    const cut = reshape(n, n.node("Sub", [extent, n.node("Mod", [by, extent])]), [1]);
    const behind = slice(n, y, { begin: cut, end: [FAR], axes: [axis] });
    return concat(n, [behind, slice(n, y, { begin: [0], end: cut, axes: [axis] })], axis);
  }, x);
}

export const MOVES: WriteRules = {
  ConcatV2: concatRule,
  MirrorPad: mirrorPad,
  Pack: (n) => {
    const rank = n.outputs[0].shape?.length, axis = n.attrs.axis as number;
    const at = axis < 0 ? axis + (rank ?? n.lacks("the rank of an input is not known")) : axis;
    return concat(n, n.xs.map((x) => unsqueeze(n, x, [at])), at);
  },
  Pad: pad,
  PadV2: pad,
  ReverseV2: (n) => {
    const [x] = n.xs, axes = n.ints(1, "the axes"), all = axes.map(() => -1);
    if (axes.length === 0) return x;
    return slice(n, x, { begin: all, end: axes.map(() => -FAR), axes, steps: all });
  },
  Roll: roll,
  Slice: sliceRule,
  Split: (n) => {
    const [, x] = n.xs, axis = n.axis(0, n.rank(x)), extent = x.shape![axis], k = n.outputs.length;
    return split(n, x, axis, extent === null ? k : new Array<number>(k).fill(extent / k));
  },
  SplitV: splitV,
  StridedSlice: stridedSlice,
  Transpose: (n) => {
    const [x] = n.xs, given = n.ints(1, "the permutation"), rank = given.length;
    const perm = given.map((p) => p < 0 ? p + rank : p);
    // An image is turned into the form that it already has.
    const isFirst = rank > 2 &&
      perm.every((p, i) => p === [0, rank - 1, ...upTo(rank - 2).map((k) => k + 1)][i]);
    if (isFirst && x.first !== null) return x.first;
    const y = transpose(n, x, perm);
    const isLast = rank > 2 &&
      perm.every((p, i) => p === [0, ...upTo(rank - 2).map((k) => k + 2), 1][i]);
    if (isLast && y !== x) y.first = x;
    return y;
  },
  Unpack: (n) => {
    const [x] = n.xs, axis = n.attrs.axis as number;
    const at = axis < 0 ? axis + n.rank(x) : axis;
    return n.outputs.map((_, k) => gather(n, x, n.scalar(k, "int64"), at));
  },
};
