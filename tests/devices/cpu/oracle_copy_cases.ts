/** Kernels of the CPU device that move elements, each with random cases and what they should give: copies, joins, splits. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { eachIndex, type Expected, placeOf } from "./oracles.ts";

const numbers = (x: NdArray): ArrayLike<number> => x.data as Float32Array;

/** A copy: where each element of the result comes from; null is `rest`. */
function copied(
  x: NdArray,
  shape: readonly number[],
  from: (index: number[]) => number[] | null,
  rest = 0,
): Expected {
  const values = new Float64Array(sizeOf(shape));
  eachIndex(shape, (index, at) => {
    const source = from(index);
    values[at] = source === null ? rest : numbers(x)[placeOf(source, x.shape)];
  });
  return { values };
}

function copySource(dice: Dice, rank: number): NdArray {
  return dice.anything(dice.anyShape(rank, 60));
}

function padded(dice: Dice, hasValue: boolean): Case {
  const x = copySource(dice, dice.between(1, 4));
  const pads = x.shape.map(() => [dice.between(0, 3), dice.between(0, 3)]);
  const shape = x.shape.map((n, d) => n + pads[d][0] + pads[d][1]);
  const from = (index: number[]): number[] | null => {
    const at = index.map((i, d) => i - pads[d][0]);
    return at.every((i, d) => i >= 0 && i < x.shape[d]) ? at : null;
  };
  const paddings = new NdArray("int32", [pads.length, 2], Int32Array.from(pads.flat()));
  if (!hasValue) return { inputs: [x, paddings], outputs: [copied(x, shape, from)] };
  const value = dice.elements(x.dtype, []);
  const outputs = [copied(x, shape, from, numbers(value)[0])];
  return { inputs: [x, paddings, value], outputs };
}

const COPIES: Readonly<Record<string, (dice: Dice) => Case>> = {
  Transpose(dice) {
    const x = copySource(dice, dice.between(0, 5)), order = dice.shuffled(x.shape.length);
    const shape = order.map((d) => x.shape[d]);
    const from = (index: number[]): number[] => x.shape.map((_, d) => index[order.indexOf(d)]);
    return { inputs: [x, ints(...order)], outputs: [copied(x, shape, from)] };
  },
  Slice(dice) {
    const x = copySource(dice, dice.between(1, 4));
    const begin = x.shape.map((n) => dice.between(0, n));
    const size = x.shape.map((n, d) => dice.between(0, n - begin[d]));
    const from = (index: number[]): number[] => index.map((i, d) => begin[d] + i);
    return { inputs: [x, ints(...begin), ints(...size)], outputs: [copied(x, size, from)] };
  },
  StridedSlice(dice) {
    const x = copySource(dice, dice.between(1, 4));
    const steps = x.shape.map(() => dice.pick(1, 2, 3, -1, -2));
    const begin = x.shape.map((n) => dice.between(0, Math.max(0, n - 1)));
    const end = x.shape.map((n) => dice.between(0, n));
    const shape = x.shape.map((n, d) =>
      n === 0 ? 0 : Math.max(0, Math.ceil((end[d] - begin[d]) / steps[d]))
    );
    const from = (index: number[]): number[] => index.map((i, d) => begin[d] + i * steps[d]);
    return {
      inputs: [x, ints(...begin), ints(...end), ints(...steps)],
      outputs: [copied(x, shape, from)],
    };
  },
  Pad: (dice) => padded(dice, false),
  PadV2: (dice) => padded(dice, true),
  Tile(dice) {
    const x = copySource(dice, dice.between(1, 4)), times = x.shape.map(() => dice.between(0, 3));
    const shape = x.shape.map((n, d) => n * times[d]);
    const from = (index: number[]): number[] => index.map((i, d) => i % x.shape[d]);
    return { inputs: [x, ints(...times)], outputs: [copied(x, shape, from)] };
  },
  BroadcastTo(dice) {
    const shape = dice.shape(dice.between(0, 4), 6);
    const own = shape.map((n) => (dice.chance(0.4) ? 1 : n)).slice(dice.between(0, shape.length));
    const x = dice.anything(own);
    return {
      inputs: [x, ints(...shape)],
      outputs: [copied(x, shape, (index) => index.slice(shape.length - own.length))],
    };
  },
  MirrorPad(dice) {
    const x = copySource(dice, dice.between(1, 4));
    // There is nothing to reflect in an empty axis, and TensorFlow says so.
    const mode = x.size === 0 ? "SYMMETRIC" : dice.pick("REFLECT", "SYMMETRIC");
    const skip = mode === "REFLECT" ? 1 : 0;
    const pads = x.shape.map((n) =>
      [0, 0].map(() => dice.between(0, Math.max(0, Math.min(3, n - skip))))
    );
    const shape = x.shape.map((n, d) => n + pads[d][0] + pads[d][1]);
    const from = (index: number[]): number[] =>
      index.map((i, d) => {
        const at = i - pads[d][0], n = x.shape[d];
        if (at < 0) return -at - 1 + skip;
        return at < n ? at : 2 * n - 1 - at - skip;
      });
    const paddings = new NdArray("int32", [pads.length, 2], Int32Array.from(pads.flat()));
    return { inputs: [x, paddings], attrs: { mode }, outputs: [copied(x, shape, from)] };
  },
  Roll(dice) {
    const x = copySource(dice, dice.between(1, 4)), rank = x.shape.length;
    const axis = dice.between(0, rank - 1), shift = dice.between(-9, 9), n = x.shape[axis];
    const from = (index: number[]): number[] =>
      index.map((i, d) => (d === axis ? (((i - shift) % n) + n) % n : i));
    return { inputs: [x, ints(shift), ints(axis)], outputs: [copied(x, x.shape, from)] };
  },
  ReverseV2(dice) {
    const x = copySource(dice, dice.between(1, 4));
    const axes = x.shape.map((_, d) => d).filter(() => dice.chance(0.5));
    const from = (index: number[]): number[] =>
      index.map((i, d) => (axes.includes(d) ? x.shape[d] - 1 - i : i));
    return { inputs: [x, ints(...axes)], outputs: [copied(x, x.shape, from)] };
  },
};

/** Extents of parts along an axis, and what stands before and after it: narrow parts, and now and then ones of many bytes. */
function parts(dice: Dice): { before: number[]; extents: number[]; after: number[] } {
  const most = dice.chance(0.2) ? 40 : 5;
  return {
    before: dice.shape(dice.between(0, 2), 6),
    extents: Array.from({ length: dice.between(2, 5) }, () => dice.extent(most)),
    after: dice.shape(dice.between(0, 2), Math.min(most, 12)),
  };
}

/** A whole, and its parts from place to place along an axis; `extents` is null where each part is one slice, without that axis. */
function slices(whole: NdArray, axis: number, extents: readonly number[] | null): NdArray[] {
  let begin = 0;
  return (extents ?? new Array<number>(whole.shape[axis]).fill(1)).map((extent) => {
    const first = begin;
    begin += extent;
    const shape = whole.shape.map((n, d) => (d === axis ? extent : n));
    const { values } = copied(whole, shape, (at) => at.map((i, d) => (d === axis ? i + first : i)));
    const own = extents === null ? shape.toSpliced(axis, 1) : shape;
    const part = NdArray.zeros(whole.dtype, own);
    (part.data as Float32Array).set(values);
    return part;
  });
}

const exactly = (x: NdArray): Expected => ({ values: Float64Array.from(numbers(x)) });

/** A join or a split along an axis of these parts, or along a new axis. */
function exchange(
  isNew: boolean,
  make: (whole: NdArray, parts: NdArray[], axis: number) => Case,
) {
  return (dice: Dice): Case => {
    const { before, extents, after } = parts(dice), axis = before.length;
    const extent = isNew ? extents.length : extents.reduce((n, e) => n + e, 0);
    const whole = dice.anything([...before, extent, ...after]);
    return make(whole, slices(whole, axis, isNew ? null : extents), axis);
  };
}

const number = (value: number): NdArray => new NdArray("int32", [], Int32Array.of(value));

const EXCHANGES: Readonly<Record<string, (dice: Dice) => Case>> = {
  ConcatV2: exchange(false, (whole, parts, axis) => ({
    inputs: [...parts, number(axis)],
    attrs: { N: parts.length },
    outputs: [exactly(whole)],
  })),
  Pack: exchange(true, (whole, parts, axis) => ({
    inputs: parts,
    attrs: { N: parts.length, axis },
    outputs: [exactly(whole)],
  })),
  Unpack: exchange(true, (whole, parts, axis) => ({
    inputs: [whole],
    attrs: { num: parts.length, axis },
    outputs: parts.map(exactly),
  })),
  SplitV: exchange(false, (whole, parts, axis) => ({
    inputs: [whole, ints(...parts.map((p) => p.shape[axis])), number(axis)],
    attrs: { num_split: parts.length },
    outputs: parts.map(exactly),
  })),
  Split(dice) {
    const shape = dice.anyShape(dice.between(1, 4), 30), axis = dice.between(0, shape.length - 1);
    const count = dice.between(1, 4), extent = shape[axis];
    const whole = dice.anything(shape.with(axis, extent * count));
    return {
      inputs: [number(axis), whole],
      attrs: { num_split: count },
      outputs: slices(whole, axis, new Array<number>(count).fill(extent)).map(exactly),
    };
  },
};

/** Kernels that move elements. */
export const COPY_KERNELS: readonly Kernel[] = [
  ...Object.entries(COPIES),
  ...Object.entries(EXCHANGES),
];
