/** Counts and parts of rows and segments, which only files have. On the host. */
import { apply } from "../../engine/core/apply.ts";
import { defineOp } from "../../engine/core/op.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import { isBigInt } from "../../engine/core/dtype.ts";
import { mergeShapes, sizeOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { concat } from "../../engine/ops/array/join.ts";
import { hostInts, knownInts, reshape, shape, size } from "../../engine/ops/array/view.ts";
import { iota, sumInto } from "../../engine/ops/array/segment.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

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

const DynamicPartition = defineOp({
  name: "DynamicPartition",
  inputs: ["data: T", "partitions: int32"],
  outputs: ["outputs: num_partitions * T"],
  attrs: ["num_partitions: int >= 1", "T: type"],
  infer: ([data, { shape }], { num_partitions }) => {
    if (data.shape !== null && shape !== null) {
      mergeShapes(data.shape.slice(0, shape.length), shape);
    }
    const row = data.shape === null || shape === null
      ? null
      : [null, ...data.shape.slice(shape.length)];
    return new Array(num_partitions).fill(row);
  },
  grad: {
    saves: ["data", "partitions"],
    // Each row returns to its source.
    vjp: ({ data, partitions }, dys, { attrs: { num_partitions } }) => {
      const count = size(partitions);
      const rows = reshape(
        iota(count),
        shape(partitions),
      );
      const places = concat(parts(rows, partitions, num_partitions));
      const back = sumInto(concat(dys as Tensor[]), places, count);
      return [reshape(back, shape(data)), null];
    },
  },
  cpu: ([data, partitions], _, { attrs: { num_partitions } }) => {
    const list = hostInts(partitions), row = data.shape.slice(partitions.rank), inner = sizeOf(row);
    const wrong = list.findIndex((p) => p < 0 || p >= num_partitions);
    if (wrong >= 0) {
      refuse(`partitions[${wrong}] = ${list[wrong]} is not in [0, ${num_partitions})`);
    }
    return Array.from({ length: num_partitions }, (_, k) => {
      const rows = list.flatMap((p, i) => p === k ? [i] : []);
      const out = NdArray.zeros(data.dtype, [rows.length, ...row]);
      rows.forEach((from, to) => {
        for (let i = 0; i < inner; i++) setElement(out, to * inner + i, data.at(from * inner + i));
      });
      return out;
    });
  },
});

function parts(rows: Tensor, partitions: Tensor, num_partitions: number): Tensor[] {
  return [...apply(DynamicPartition, [rows, partitions], { num_partitions })];
}
