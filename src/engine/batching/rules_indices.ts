/** Rules for ops that read or write by index. */
import { apply, apply1, type OpInput } from "../core/apply.ts";
import { isConcrete } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat } from "../ops/array/join.ts";
import { range } from "../ops/array/ranges.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { slice } from "../ops/array/slice.ts";
import { reshape, shape } from "../ops/array/view.ts";
import { castInput, intScalar, intVector } from "../ops/input.ts";
import {
  batchedOf,
  knownInts,
  moveAxis,
  rowRank,
  type Rows,
  rowShape,
  type RowValue,
  type Rule,
  withRows,
} from "./values.ts";

/** The number of each row, shaped to stand before `rank` further axes. */
function rowNumbers(rows: Rows, rank: number): Tensor {
  const count = rows.count ?? reshape(rows.vector, []);
  const numbers = range(0, count as number, 1, "int32");
  return reshape(numbers, [-1, ...new Array<number>(rank).fill(1)]);
}

/** Vectors of indices led by the number of their row. */
function withRowNumbers(indices: RowValue, rows: Rows): Tensor | null {
  const all = batchedOf(indices, rows), rank = rowRank(indices);
  if (rank === null || rank === 0) return null;
  const known = rowShape(indices)!.slice(0, -1);
  const dims = isConcrete(known) ? intVector([...known, 1]) : concat([
    slice(shape(all), [1], [rank - 1]),
    intVector([1]),
  ]);
  const numbers = broadcastTo(rowNumbers(rows, rank), withRows(dims, rows));
  return concat([castInput(numbers, all.dtype), all], -1);
}

const gathered: Rule = ({ def, attrs, inputs: [params, indices, axisInput], rows }) => {
  const rank = rowRank(params), [given] = knownInts(axisInput) ?? [];
  if (rank === null || given === undefined) return null;
  const axis = given < 0 ? given + rank : given, batchDims = attrs.batch_dims as number;
  if (batchDims === 0 && !indices.batched) {
    return apply(def, [params.all, indices.all, intScalar(axis + 1)], attrs);
  }
  if (batchDims === 0 && !params.batched) {
    const y = apply1(def, [params.all, indices.all, intScalar(axis)], attrs);
    return y.staticShape === null ? null : [moveAxis(y, axis, 0)];
  }
  const ofRows = rowRank(indices);
  if (ofRows === null) return null;
  const batch_dims = batchDims < 0 ? batchDims : batchDims + 1;
  const all: OpInput[] = [params, indices].map((v) => batchedOf(v, rows));
  return apply(def, [...all, intScalar(axis + 1)], { ...attrs, batch_dims });
};

/** The gradient of a gather by the same indices in each row. */
const gatherGradient: Rule = ({ def, attrs, inputs: [dy, indices, dims, axisInput], rows }) => {
  const [axis] = knownInts(axisInput) ?? [];
  if (axis === undefined || axis < 0 || dims.batched || attrs.batch_dims < 0) return null;
  const to = withRows(dims.all, rows), moved = intScalar(axis + 1);
  if (!indices.batched && attrs.batch_dims === 0) {
    return apply(def, [batchedOf(dy, rows), indices.all, to, moved], attrs);
  }
  const all = [dy, indices].map((v) => batchedOf(v, rows));
  return apply(def, [...all, to, moved], { ...attrs, batch_dims: attrs.batch_dims + 1 });
};

const gatheredVectors: Rule = ({ def, attrs, inputs: [params, indices], rows }) => {
  if (!params.batched) return apply(def, [params.all, indices.all], attrs);
  const places = withRowNumbers(indices, rows);
  return places && apply(def, [params.all, places], attrs);
};

const scattered: Rule = ({ def, attrs, inputs: [indices, updates, dims], rows }) => {
  const places = dims.batched ? null : withRowNumbers(indices, rows);
  return places && apply(def, [
    places,
    batchedOf(updates, rows),
    castInput(withRows(castInput(dims.all, "int32"), rows), places.dtype),
  ], attrs);
};

const scatteredOnto: Rule = ({ def, attrs, inputs: [x, indices, updates], rows }) => {
  const places = withRowNumbers(indices, rows);
  return places && apply(def, [batchedOf(x, rows), places, batchedOf(updates, rows)], attrs);
};

/** Segments by the same ids in each row. */
const segments: Rule = ({ def, attrs, inputs: [data, ids, count] }) => {
  const [n] = knownInts(count) ?? [];
  if (n === undefined || !data.batched || ids.batched || rowRank(data) === null) return null;
  const rank = rowRank(ids);
  if (rank === null) return null;
  // The rows become the last axis, which segments keep.
  const last = rowRank(data)!;
  const y = apply1(def, [moveAxis(data.all as Tensor, 0, last), ids.all, count.all], attrs);
  return [moveAxis(y, y.staticShape!.length - 1, 0)];
};

/** Rules by op. */
export const INDEX_RULES: Readonly<Record<string, Rule>> = {
  GatherV2: gathered,
  GatherGrad: gatherGradient,
  GatherNd: gatheredVectors,
  ScatterNd: scattered,
  TensorScatterAdd: scatteredOnto,
  TensorScatterUpdate: scatteredOnto,
  UnsortedSegmentSum: segments,
  UnsortedSegmentMax: segments,
  UnsortedSegmentMin: segments,
  UnsortedSegmentProd: segments,
};
