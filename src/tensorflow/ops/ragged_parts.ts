/** Counts and places of ragged rows, which only files have. On the host. */
import { defineOp } from "../../engine/core/op.ts";
import { setElement } from "../../engine/core/nd_array.ts";
import { isBigInt } from "../../engine/core/dtype.ts";
import { sizeOf, stridesOf } from "../../engine/core/shape.ts";
import { hostInts, knownInts, reshape } from "../../engine/ops/array/view.ts";
import { refuse, wholeArray } from "../../engine/ops/host/arrays.ts";

/** Throws `InvalidArgumentError` for invalid row splits of this many values. */
function checkSplits(splits: readonly number[], count: number): void {
  if (splits[0] !== 0) refuse(`Splits must start with 0, not with ${splits[0]}`);
  if (splits.at(-1) !== count || splits.some((v, i) => v < (splits[i - 1] ?? 0))) {
    refuse(`Splits must rise up to the number of values, ${count}, received [${splits}]`);
  }
}

defineOp({
  name: "RaggedBincount",
  inputs: ["splits: int64", "values: Tidx", "size: Tidx", "weights: T"],
  outputs: ["output: T"],
  attrs: ["Tidx: index", "T: {int32, int64, float32, float64}", "binary_output: bool = false"],
  hostInputs: ["size"],
  infer: ([splits, , size]) => {
    const rows = splits.shape?.[0] ?? null;
    return [[rows === null ? null : rows - 1, knownInts(size)?.[0] ?? null]];
  },
  grad: null,
  cpu: ([splits, values, size, weights], [out], { attrs: { binary_output } }) => {
    const ends = hostInts(splits), bins = hostInts(size)[0], all = hostInts(values);
    checkSplits(ends, all.length);
    const isWide = isBigInt(out.dtype), one = (n: number) => (isWide ? BigInt(n) : n) as number;
    (out.data as number[]).fill(one(0));
    for (let row = 0, i = 0; row < ends.length - 1; row++) {
      for (; i < ends[row + 1]; i++) {
        if (all[i] < 0) refuse(`Input must be non-negative, received ${all[i]}`);
        if (all[i] >= bins) continue;
        const at = row * bins + all[i];
        const more = weights.size === 0 ? one(1) : weights.at(i) as number;
        setElement(out, at, binary_output ? one(1) : out.at(at) as number + more);
      }
    }
  },
});

/** Returns the row of each element, by the splits of one dimension. */
const rowIds = (ends: readonly number[]): number[] =>
  ends.slice(1).flatMap((end, row) => new Array<number>(end - ends[row]).fill(row));

defineOp({
  name: "RaggedTensorToSparse",
  inputs: ["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: T"],
  outputs: ["sparse_indices: int64", "sparse_values: T", "sparse_dense_shape: int64"],
  attrs: ["RAGGED_RANK: int >= 1", "T: type", "Tsplits: index = int64"],
  infer: (specs) => {
    const inner = specs.at(-1)!.shape, rank = inner && specs.length - 1 + inner.length;
    return [[null, rank], [inner === null ? null : sizeIn(inner)], [rank]];
  },
  grad: {
    saves: [],
    vjp: (_, dys, ctx) => [
      ...ctx.inputs.slice(0, -1).map(() => null),
      reshape(dys[1], ctx.shapeOf(ctx.inputs.length - 1)),
    ],
  },
  cpu: (inputs) => {
    const splits = inputs.slice(0, -1).map(hostInts), values = inputs.at(-1)!;
    const inner = values.shape.slice(1), width = sizeOf(inner), rank = splits.length + values.rank;
    if (splits[0].length === 0) refuse("First ragged splits must not be empty");
    splits.forEach((ends, k) =>
      checkSplits(ends, k + 1 < splits.length ? splits[k + 1].length - 1 : values.shape[0])
    );
    // Places of rows, extended by the column of each element of the next dimension.
    let places: number[][] = Array.from({ length: splits[0].length - 1 }, (_, i) => [i]);
    for (const ends of splits) {
      places = rowIds(ends).map((row, i) => [...places[row], i - ends[row]]);
    }
    const longest = splits.map((ends) =>
      ends.slice(1).reduce((most, end, i) => Math.max(most, end - ends[i]), 0)
    );
    const strides = stridesOf(inner);
    const indices = places.flatMap((place) =>
      Array.from(
        { length: width },
        (_, i) => [...place, ...strides.map((s, d) => Math.floor(i / s) % inner[d])],
      ).flat()
    );
    return [
      wholeArray("int64", indices, [values.size, rank]),
      values.reshape([values.size]),
      wholeArray("int64", [splits[0].length - 1, ...longest, ...inner]),
    ];
  },
});

/** The number of elements, where it is known. */
function sizeIn(shape: readonly (number | null)[]): number | null {
  return shape.includes(null) ? null : sizeOf(shape as readonly number[]);
}
