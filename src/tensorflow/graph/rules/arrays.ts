/**
 * Rules for ops that move, join and repeat elements.
 */
import { cast } from "../../../engine/ops/array/cast.ts";
import { dynamicStitch, reverseSequence as reversed } from "../../../engine/ops/of_files.ts";
import { identity, rank, reshape, size } from "../../../engine/ops/array/view.ts";
import { zerosLike } from "../../../engine/ops/array/creation.ts";
import { intVector } from "../../../engine/ops/input.ts";
import { greater, notEqual } from "../../../engine/ops/pointwise/compare.ts";
import { any } from "../../../engine/ops/reduce/reduce.ts";
import { type ImportRule, intOf, put, put1 } from "../rule.ts";

/** Reverses each row up to its length. */
export const reverseSequence: ImportRule = ({ inputs: [x, lengths], attr }) => [
  reversed(x, lengths, intOf(attr.seq_dim, 0), intOf(attr.batch_dim, 0)),
];

/** Builds the op with a block size for each side of an image. */
export function inBlocks(op: string): ImportRule {
  return ({ inputs: [x, margins], attr }) => {
    const side = intOf(attr.block_size, 2);
    return put(op, [x, intVector([side, side]), margins]);
  };
}

/** Places values in one tensor; later ones win. */
export const stitched: ImportRule = ({ inputs }) => {
  const half = inputs.length / 2;
  return [dynamicStitch(inputs.slice(0, half), inputs.slice(half))];
};

/** The elements with those axes turned around whose flags hold. */
export const reverse: ImportRule = ({ inputs: [x, axes] }) => {
  // One flag per axis; if unknown, the positions of the set ones.
  const places = reshape(put1("Where", [axes]), [-1]);
  return [put1("ReverseV2", [x, cast(places, "int32")])];
};

/** The truth of a value: a scalar that is not zero or an empty text, any other tensor that has elements. */
export const truth: ImportRule = ({ inputs: [x] }) => {
  const isSet = any(x.dtype === "bool" ? x : notEqual(x, x.dtype === "string" ? "" : zerosLike(x)));
  const hasElements = greater(size(x), 0);
  const dims = x.staticShape?.length;
  if (dims !== undefined) return [dims === 0 ? isSet : hasElements];
  return put("LogicalAnd", [hasElements, put1("LogicalOr", [greater(rank(x), 0), isSet])]);
};

/** The inputs as they are. */
export const pass: ImportRule = ({ inputs }) => inputs.map((x) => identity(x));
