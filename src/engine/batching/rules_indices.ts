/** Rules for ops that read or write by index. */
import { apply, apply1, type OpInput } from "../core/apply.ts";
import { lookupOp } from "../core/op.ts";
import { isConcrete } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat } from "../ops/array/join.ts";
import { range } from "../ops/array/ranges.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { slice } from "../ops/array/slice.ts";
import { reshape, shape } from "../ops/array/view.ts";
import { asTensor, castInput, intScalar, intVector } from "../ops/input.ts";
import { add, mul } from "../ops/pointwise/arithmetic.ts";
import { less } from "../ops/pointwise/compare.ts";
import { where } from "../ops/pointwise/select.ts";
import { folded } from "./rules_common.ts";
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
  if (axis === undefined || dims.batched) return null;
  // Places that are counted from the end stay.
  const behind = (n: number): number => n < 0 ? n : n + 1;
  const to = withRows(dims.all, rows), moved = intScalar(behind(axis));
  if (!indices.batched && attrs.batch_dims === 0) {
    return apply(def, [batchedOf(dy, rows), indices.all, to, moved], attrs);
  }
  const all = [dy, indices].map((v) => batchedOf(v, rows));
  return apply(def, [...all, to, moved], { ...attrs, batch_dims: behind(attrs.batch_dims) });
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

/** Segments of each row. By the same ids, the rows become the last axis, which segments keep; else each row has its own segments. */
const segments: Rule = ({ def, attrs, inputs: [data, ids, count], rows }) => {
  const rank = rowRank(ids), last = rowRank(data);
  if (rank === null || last === null) return null;
  if (!ids.batched) {
    const given = count === undefined ? [ids.all] : [ids.all, count.all];
    if (count?.batched) return null;
    const y = apply1(def, [moveAxis(data.all as Tensor, 0, last), ...given], attrs);
    return [moveAxis(y, y.staticShape!.length - 1, 0)];
  }
  const [n] = count === undefined ? [] : knownInts(count) ?? [];
  const inner = rowShape(data)!.slice(rank);
  if (n === undefined || rows.count === null || !isConcrete(inner)) return null;
  const own = castInput(rowNumbers(rows, rank), ids.all.dtype), all = asTensor(ids.all);
  // A negative id belongs to no segment.
  const places = where(less(all, 0), all, add(all, mul(own, n)));
  const y = apply1(def, [batchedOf(data, rows), places, intScalar(rows.count * n)], attrs);
  return [reshape(y, [rows.count, n, ...inner])];
};

/** Segments of rows that indices pick, the same for all rows. */
const pickedSegments: Rule = ({ def, attrs, inputs: [data, ...rest] }) => {
  const last = rowRank(data);
  if (last === null || rest.some((v) => v.batched)) return null;
  const [y] = apply(def, [moveAxis(data.all as Tensor, 0, last), ...rest.map((v) => v.all)], attrs);
  return [moveAxis(y, y.staticShape!.length - 1, 0)];
};

/** Integers counted in each row. */
const counted: Rule = ({ def, attrs, inputs: [x, size, weights], rows, results }) => {
  const isPlain = !weights.batched && weights.all.shape?.[0] === 0;
  if (rowRank(x) === 2 && def.name === "DenseBincount") {
    return folded(isPlain ? [0] : [0, 2])({
      def,
      attrs,
      inputs: [x, size, weights],
      rows,
      results,
    });
  }
  if (rowRank(x) !== 1 || size.batched) return null;
  return apply(lookupOp("DenseBincount")!, [
    batchedOf(x, rows),
    size.all,
    isPlain ? weights.all : batchedOf(weights, rows),
  ], { binary_output: attrs.binary_output ?? false });
};

/** Rules by op. */
export const INDEX_RULES: Readonly<Record<string, Rule>> = {
  GatherV2: gathered,
  GatherGrad: gatherGradient,
  GatherNd: gatheredVectors,
  ScatterNd: scattered,
  TensorScatterAdd: scatteredOnto,
  TensorScatterUpdate: scatteredOnto,
  TensorScatterMax: scatteredOnto,
  TensorScatterMin: scatteredOnto,
  _TensorScatterMul: scatteredOnto,
  ...Object.fromEntries(
    ["Sum", "Max", "Min", "Prod", "Mean"].flatMap((how) => [
      [`UnsortedSegment${how}`, segments],
      [`Segment${how}`, segments],
    ]),
  ),
  ...Object.fromEntries(
    ["Sum", "Mean", "SqrtN"].flatMap((how) => [
      [`SparseSegment${how}`, pickedSegments],
      [`SparseSegment${how}WithNumSegments`, pickedSegments],
    ]),
  ),
  Bincount: counted,
  DenseBincount: counted,
};
