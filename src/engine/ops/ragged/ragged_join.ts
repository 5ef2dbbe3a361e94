/** Concatenation and stacking of ragged tensors, with dense tensors among them. */
import { apply1 } from "../../core/apply.ts";
import { CompositeTensor, noRule } from "../../core/composite.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { concat, stack } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { reshape } from "../array/view.ts";
import { intScalar } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import {
  countVector,
  type Input,
  isRagged,
  knownAxis,
  rowsOf,
  rowsOfLengths,
  sameRows,
  shapeOfAny,
  withRaggedRank,
} from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";

/** Concatenates operands along an axis, or stacks them along a new one. Throws `ValueError` if their ranks differ. */
export function joined(
  def: OpDef,
  inputs: readonly Input[],
  axis: number,
  stacks: boolean,
): RaggedTensor {
  const first = inputs.find(isRagged)!, rank = first.shape?.length;
  for (const x of inputs) {
    const shape = shapeOfAny(x);
    if (rank !== undefined && shape !== null && shape.length !== rank) {
      throw new ValueError(
        `Cannot apply ${def.name} to ${first} and shape ${shapeText(shape)}: ranks must be equal`,
      );
    }
    if (x instanceof CompositeTensor && !isRagged(x)) {
      throw noRule(def, first, `${x} stands beside it`);
    }
  }
  const place = rank === undefined
    ? knownAxis(def, first, axis)
    : normalizeAxis(axis, rank + Number(stacks));
  return joinedAt(def, inputs as RaggedValues[], place, stacks) as RaggedTensor;
}

function joinedAt(
  def: OpDef,
  inputs: readonly RaggedValues[],
  axis: number,
  stacks: boolean,
): RaggedValues {
  if (!inputs.some(isRagged)) return (stacks ? stack : concat)(inputs as Tensor[], axis);
  const raggedRank = Math.max(...inputs.map((x) => isRagged(x) ? x.raggedRank : 1));
  const parts = inputs.map((x) => withRaggedRank(x, raggedRank));
  if (axis === 0) {
    const rows = joinRows(parts, def.name);
    return stacks ? rowsOfLengths(rows, concat(parts.map(countVector))) : rows;
  }
  const [{ rowSplits }] = parts;
  if (axis >= 2) {
    const splits = parts.slice(1).reduce(
      (s, p) => s === p.rowSplits ? s : sameRows(s, p.rowSplits),
      rowSplits,
    );
    return rowsOf(joinedAt(def, parts.map((p) => p.values), axis - 1, stacks), splits);
  }
  const counts = parts.slice(1).reduce(
    (n, p) => sameRows(n, countVector(p)),
    countVector(parts[0]),
  );
  const k = parts.length, n = reshape(counts, []);
  // Row i of each, then row i + 1.
  const numbers = range(0, mul(n, k), 1, "int32");
  const part = apply1(lookupOp("FloorMod")!, [numbers, intScalar(k)]);
  const row = apply1(lookupOp("FloorDiv")!, [numbers, intScalar(k)]);
  const mixed = joinRows(parts, def.name).gather(add(mul(part, n), row));
  return stacks
    ? rowsOf(mixed, mul(range(0, add(n, 1), 1, "int32"), k))
    : rowsOf(mixed.values, stridedSlice(mixed.rowSplits, [0], [0], [k], 1, 1));
}

/** Joins rows of ragged tensors of one rank. */
export function joinRows(parts: readonly RaggedTensor[], fn: string): RaggedTensor {
  const [{ raggedRank, dtype }] = parts;
  const other = parts.find((p) => p.raggedRank !== raggedRank || p.dtype !== dtype);
  if (other) {
    throw new InvalidArgumentError(
      `Cannot call ${fn} with ${parts[0]} and ${other}: ranks and dtypes must be equal`,
      { op: fn },
    );
  }
  const lengths = concat(parts.map((p) => p.rowLengths()));
  const values = parts.map((p) => p.values);
  return rowsOfLengths(
    raggedRank > 1 ? joinRows(values as RaggedTensor[], fn) : concat(values as Tensor[]),
    lengths,
  );
}
