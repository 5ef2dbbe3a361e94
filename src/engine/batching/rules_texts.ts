/** Rules for ops on several texts and on sequences. */
import { apply, type OpInput } from "../core/apply.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat } from "../ops/array/join.ts";
import { range } from "../ops/array/ranges.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { reshape, shape } from "../ops/array/view.ts";
import { castInput, intVector } from "../ops/input.ts";
import { along, direct, everyBatched, folded } from "./rules_common.ts";
import {
  batchedOf,
  knownInts,
  rowRank,
  type Rows,
  rowShape,
  type RowValue,
  type Rule,
} from "./values.ts";

/** Parts of texts: one place for all, or one for each text. */
const parted: Rule = (call) => {
  const [text, ...places] = call.inputs;
  if (text.batched && places.every((v) => !v.batched && rowRank(v) === 0)) return direct(call);
  const rank = rowRank(text);
  return rank !== null && places.every((v) => rowRank(v) === rank) ? everyBatched(call) : null;
};

/** Texts of one shape joined, with single ones: those of rows stand beside all of their row. */
const joined: Rule = ({ def, attrs, inputs, rows }) => {
  const ranks = inputs.map(rowRank), most = Math.max(...ranks.map((rank) => rank ?? 0));
  if (ranks.some((rank) => rank !== 0 && rank !== most)) return null;
  const whole = inputs.find((_, i) => ranks[i] === most)!;
  const each = (v: RowValue): OpInput => {
    if (rowRank(v) === most) return batchedOf(v, rows);
    if (!v.batched) return v.all;
    const alone = reshape(v.all, [-1, ...new Array<number>(most).fill(1)]);
    return broadcastTo(alone, shape(batchedOf(whole, rows)));
  };
  return apply(def, inputs.map(each), attrs);
};

/** Elements of sequences with the number of their row before their places. */
function ofAllRows(
  [indices, values, dims]: readonly RowValue[],
  rows: Rows,
): readonly OpInput[] | null {
  const extents = knownInts(dims), [count, rank] = rowShape(indices) ?? [null, null];
  if (extents === null || rows.count === null || count === null || rank === null) return null;
  const at = batchedOf(indices, rows), total = rows.count;
  const numbers = castInput(range(0, total, 1, "int32"), "int64");
  const column = broadcastTo(reshape(numbers as Tensor, [-1, 1, 1]), [total, count, 1]);
  return [
    reshape(concat([column, at], 2), [total * count, rank + 1]),
    reshape(batchedOf(values, rows), [total * count]),
    castInput(intVector([total, ...extents]), "int64"),
  ];
}

/** Distances of all sequences at once: those of a row are behind its number. */
const distances: Rule = ({ def, attrs, inputs, rows }) => {
  const given = [inputs.slice(0, 3), inputs.slice(3)].map((parts) => ofAllRows(parts, rows));
  return given.includes(null) ? null : apply(def, given.flatMap((parts) => parts!), attrs);
};

/** Rules by op. */
export const TEXT_RULES: Readonly<Record<string, Rule>> = {
  Substr: parted,
  StringJoin: joined,
  ReduceJoin: along(1),
  Fingerprint: folded([0]),
  EditDistance: distances,
};
