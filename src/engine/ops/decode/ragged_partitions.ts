/** Rows of ragged features of records, told by other features. On the host. */
import { apply } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { hostInts, reshape, size } from "../array/view.ts";
import { intVector } from "../input.ts";
import { wholeArray } from "../../kernels/host/numbers.ts";

/** The ways to tell rows. */
export type PartitionKind =
  | "rowSplits"
  | "rowLengths"
  | "rowStarts"
  | "rowLimits"
  | "valueRowIds"
  | "uniformRowLength";

function refuse(kind: PartitionKind, values: readonly number[], items: number): never {
  throw new InvalidArgumentError(
    `Cannot part ${items} values by ${kind} of [${values}]: they do not form a valid RaggedTensor`,
  );
}

/** The ends of one record's rows among its items. */
function endsOf(kind: PartitionKind, list: readonly number[], items: number): number[] {
  let ends: number[] = [];
  switch (kind) {
    case "rowSplits":
      if (list.length > 0 && list[0] !== 0) refuse(kind, list, items);
      ends = list.slice(1);
      break;
    case "rowLimits":
      ends = [...list];
      break;
    case "rowStarts":
      if (list.length > 0 && list[0] !== 0) refuse(kind, list, items);
      ends = list.length > 0 ? [...list.slice(1), items] : [];
      break;
    case "rowLengths": {
      let end = 0;
      ends = list.map((n) => end += n);
      break;
    }
    case "valueRowIds":
      if (list.length !== items || list.some((row, i) => row < (list[i - 1] ?? 0))) {
        refuse(kind, list, items);
      }
      list.forEach((row, i) => {
        while (ends.length < row) ends.push(i);
        ends[row] = i + 1;
      });
      break;
    case "uniformRowLength": {
      const [length] = list;
      if (items % length !== 0) refuse(kind, list, items);
      ends = Array.from({ length: items / length }, (_, i) => (i + 1) * length);
    }
  }
  const isWrong = (ends.at(-1) ?? 0) !== items || ends.some((end, i) => end < (ends[i - 1] ?? 0));
  return isWrong ? refuse(kind, list, items) : ends;
}

/** Throws what TensorFlow's Reshape of all values says; `inner` values make an item. */
function checkReshape(items: number, length: number, inner: number): void {
  if (items % length === 0) return;
  throw new InvalidArgumentError(
    `Input to reshape is a tensor with ${
      items * inner
    } values, but the requested shape requires a multiple of ${length * inner}`,
  );
}

const RaggedPartition: OpDef = defineOp({
  name: "_RaggedPartition",
  portable: { never: "TensorFlow makes it of functions of ragged tensors" },
  inputs: ["row_splits: int32", "partition: T", "partition_splits: int32"],
  outputs: ["outer: int32", "inner: int32"],
  attrs: ["kind: string", "T: index", "inner: int = 0"],
  infer: ([splits]) => [splits.shape, [null]],
  grad: null,
  cpu: ([splits, partition, ends], _, { attrs }) => {
    const kind = attrs.kind as PartitionKind, isUniform = kind === "uniformRowLength";
    const items = hostInts(splits), told = hostInts(partition), at = hostInts(ends);
    const outer = [0], inner = [0];
    if (attrs.inner > 0) checkReshape(items.at(-1)!, told[0], attrs.inner);
    for (let i = 1; i < items.length; i++) {
      const list = isUniform ? told : told.slice(at[i - 1], at[i]);
      const own = endsOf(kind, list, items[i] - items[i - 1]);
      for (const end of own) inner.push(items[i - 1] + end);
      outer.push(inner.length - 1);
    }
    return [outer, inner].map((list) => wholeArray("int32", [list.length], list));
  },
});

/** The splits of the values of one record. */
export const wholeOf = (values: Tensor): Tensor =>
  concat([intVector([0]), reshape(size(values), [1])]);

/** One way to part items: the tensors of it, and a length where it is told. */
export interface PartedBy {
  readonly kind: PartitionKind;
  readonly values: Tensor;
  readonly splits: Tensor;
  /** The length of all rows of a uniform one. */
  readonly length?: number;
}

/**
 * Parts the values of records, by the innermost partition first. Returns the values and the splits of each dimension, the records' first.
 * Innermost rows of one length are dimensions of the values.
 */
export function partitioned(
  values: Tensor,
  records: Tensor,
  partitions: readonly PartedBy[],
): Tensor[] {
  let outer = records, flat = values;
  const inner: Tensor[] = [], lengths: number[] = [];
  for (const { kind, values: told, splits, length } of partitions.toReversed()) {
    const isDimension = length !== undefined && inner.length === 0;
    const size = isDimension ? lengths.reduce((n, d) => n * d, 1) : 0;
    const [next, own] = apply(RaggedPartition, [outer, told, splits], { kind, inner: size });
    outer = next;
    if (!isDimension) inner.unshift(own);
    else {
      lengths.unshift(length);
      flat = reshape(flat, [-1, ...lengths]);
    }
  }
  return [flat, outer, ...inner];
}
