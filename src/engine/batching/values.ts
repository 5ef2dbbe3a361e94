/** Values in the body of a vectorised function: the same for all rows, or with the rows along their first axis. */
import type { OpInput } from "../core/apply.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import { isConcrete, type PartialShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat } from "../ops/array/join.ts";
import { transpose } from "../ops/array/move.ts";
import { range } from "../ops/array/ranges.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { slice } from "../ops/array/slice.ts";
import { expandDims, hostInts, rank, reshape, shape } from "../ops/array/view.ts";
import { intVector, shapeOfInput } from "../ops/input.ts";

/** A value of the body. */
export interface RowValue {
  /** The value of all rows. */
  readonly all: OpInput;
  /** True where it has the rows along its first axis; else it is the same for each of them. */
  readonly batched: boolean;
}

/** The number of rows: as a number where it is known, and as a vector of one element. */
export interface Rows {
  readonly count: number | null;
  readonly vector: OpInput;
}

/** An op of the body: at least one input is batched, or the op draws random numbers. */
export interface RowCall {
  readonly def: OpDef;
  readonly attrs: Attrs;
  readonly inputs: readonly RowValue[];
  /** Shapes of the results in one row. */
  readonly results: readonly PartialShape[];
  readonly rows: Rows;
}

/** Computes an op for all rows: results have the rows along their first axis. Null where it has no rule for this call. */
export type Rule = (call: RowCall) => Tensor[] | null;

/** The static shape of a value in one row. */
export function rowShape({ all, batched }: RowValue): PartialShape {
  const known = shapeOfInput(all);
  return batched && known ? known.slice(1) : known;
}

/** The rank of a value in one row; null where it is not known. */
export function rowRank(value: RowValue): number | null {
  return rowShape(value)?.length ?? null;
}

/** The numbers of a value that is the same for all rows and known while building. */
export function knownInts({ all, batched }: RowValue): number[] | null {
  return !batched && all instanceof NdArray ? hostInts(all) : null;
}

/** Puts the number of rows before a shape. */
export function withRows(dims: OpInput, { count, vector }: Rows): OpInput {
  if (count !== null && dims instanceof NdArray) return intVector([count, ...hostInts(dims)]);
  return concat([vector, dims]);
}

/** Puts another vector of as many numbers before one. */
export function prefixed(before: readonly number[], value: RowValue): OpInput | null {
  if (value.batched) return null;
  const ints = knownInts(value);
  return ints ? intVector([...before, ...ints]) : concat([intVector(before), value.all]);
}

/** The value with the rows along its first axis. */
export function batchedOf(value: RowValue, rows: Rows): Tensor {
  if (value.batched) return value.all as Tensor;
  const known = rowShape(value);
  const dims = known && isConcrete(known) ? intVector(known) : shape(value.all);
  const all = broadcastTo(value.all, withRows(dims, rows));
  return known ? shaped(all, [rows.count, ...known]) : all;
}

/** Tells a graph the shape of a result that it cannot see by itself. */
export function shaped(x: Tensor, known: PartialShape): Tensor {
  if (x.isSymbolic) x.setShape(known);
  return x;
}

/** Inserts axes behind the rows, so that a row has this rank. */
export function withRowRank(value: RowValue, rank: number): OpInput {
  let { all } = value;
  if (!value.batched) return all;
  for (let r = rowRank(value)!; r < rank; r++) all = expandDims(all, 1);
  return all;
}

/** Joins the rows with the first axis of each. Null where too little is known of the shape. */
export function foldRows(x: Tensor, { count }: Rows): Tensor | null {
  const known = x.staticShape;
  if (known === null || known.length < 2 || !isConcrete(known.slice(2))) return null;
  const first = known[1];
  const joined = count === null || first === null ? -1 : count * first;
  if (joined < 0 && known.slice(2).includes(0)) return null;
  return reshape(x, [joined, ...known.slice(2) as number[]]);
}

/** Undoes {@linkcode foldRows}: `first` is the extent of a row's first axis, where it is known. */
export function unfoldRows(x: Tensor, first: number | null, rows: Rows): Tensor {
  const rest = x.staticShape!.slice(1), { count } = rows;
  if (isConcrete(rest) && (count !== null || first !== null) && !rest.includes(0)) {
    const at = first ?? -1;
    return reshape(x, [count ?? -1, at, ...rest as number[]]);
  }
  return reshape(x, concat([rows.vector, intVector([first ?? -1]), slice(shape(x), [1], [-1])]));
}

/** Moves an axis to another place; of a rank that only a run knows those after both stay. */
export function moveAxis(x: Tensor, from: number, to: number): Tensor {
  if (from === to) return x;
  const known = x.staticShape?.length, length = known ?? Math.max(from, to) + 1;
  const perm = Array.from({ length }, (_, i) => i);
  perm.splice(to, 0, ...perm.splice(from, 1));
  if (known !== undefined) return transpose(x, perm);
  return transpose(x, concat([intVector(perm), range(length, rank(x), 1, "int32")]));
}
