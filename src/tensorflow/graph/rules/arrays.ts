/**
 * Rules for ops that move, join and repeat elements.
 */
import { ValueError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { transpose } from "../../../engine/ops/array/move.ts";
import { expandDims, identity, reshape, shape } from "../../../engine/ops/array/view.ts";
import { fill } from "../../../engine/ops/array/creation.ts";
import { concat } from "../../../engine/ops/array/join.ts";
import { tensorScatterUpdate } from "../../../engine/ops/array/scatter.ts";
import { max } from "../../../engine/ops/reduce/reduce.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { intScalar, intVector } from "../../../engine/ops/input.ts";
import { add, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { less } from "../../../engine/ops/pointwise/compare.ts";
import { where } from "../../../engine/ops/pointwise/select.ts";
import { type ImportedNode, type ImportRule, intOf, put, put1 } from "../rule.ts";

/** Reverses each row up to its length. */
export function reverseSequence({ inputs: [x, lengths], attr }: ImportedNode): Tensor[] {
  const rank = x.staticShape?.length;
  if (rank === undefined) {
    throw new ValueError("Cannot import: ReverseSequence of unknown rank");
  }
  const batch = intOf(attr.batch_dim, 0), steps = intOf(attr.seq_dim, 0);
  if (!(batch < rank && steps < rank && batch !== steps && batch >= 0 && steps >= 0)) {
    throw new ValueError(
      `Cannot import: ReverseSequence along axis ${steps} for each of axis ${batch}, of ${rank} axes`,
    );
  }
  // With rows in front and steps behind them.
  const order = [batch, steps];
  for (let i = 0; i < rank; i++) if (i !== batch && i !== steps) order.push(i);
  const rows = transpose(x, order);
  const at = put1("Range", [intScalar(0), gather(shape(rows), 1), intScalar(1)]);
  const size = expandDims(cast(lengths, "int32"), 1);
  const turned = gather(rows, where(less(at, size), sub(sub(size, 1), at), at), 1, 1);
  return [transpose(turned, order.map((_, i) => order.indexOf(i)))];
}

/** Builds the op with a block size for each side of an image. */
export function inBlocks(op: string): ImportRule {
  return ({ inputs: [x, margins], attr }) => {
    const side = intOf(attr.block_size, 2);
    return put(op, [x, intVector([side, side]), margins]);
  };
}

/** Places values in one tensor; later ones win. */
export function dynamicStitch({ inputs }: ImportedNode): Tensor[] {
  const half = inputs.length / 2;
  const indices = inputs.slice(0, half), data = inputs.slice(half);
  const rows = indices.map((at, k) => {
    const rank = at.staticShape?.length ?? null, given = data[k].staticShape;
    if (rank === null || given === null) {
      throw new ValueError("Cannot import: DynamicStitch of unknown rank");
    }
    // The axes after the places are a row's.
    return reshape(data[k], concat([intVector([-1]), shape(data[k]).slice([rank])]));
  });
  const at = concat(indices.map((i) => reshape(i, [-1])));
  const values = concat(rows);
  const dims = concat([reshape(add(max(at), 1), [1]), shape(values).slice([1])]);
  return [tensorScatterUpdate(fill(dims, 0, values.dtype), expandDims(at, -1), values)];
}

/** Joins texts, broadcast as numbers are. */
export const joinTexts: ImportRule = ({ inputs: [x, y] }) => {
  if (x.staticShape?.length === 0 || y.staticShape?.length === 0) return put("StringJoin", [x, y]);
  const dims = put1("BroadcastArgs", [shape(x), shape(y)]);
  return put("StringJoin", [x, y].map((t) => put1("BroadcastTo", [t, dims])));
};

/** The elements with those axes turned around whose flags hold. */
export const reverse: ImportRule = ({ inputs: [x, axes] }) => {
  // One flag per axis; if unknown, the positions of the set ones.
  const places = reshape(put1("Where", [axes]), [-1]);
  return [put1("ReverseV2", [x, cast(places, "int32")])];
};

/** The inputs as they are. */
export const pass: ImportRule = ({ inputs }) => inputs.map((x) => identity(x));
