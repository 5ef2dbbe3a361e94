/**
 * Rules of ops on ragged tensors: an op's meaning determines its effect, in eager mode and in graphs. An op without a
 * rule is refused by name. The class imports its rules, so that pages without the class load none; it passes itself to
 * them.
 */
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { CompositeTensor, noRule } from "../../core/composite.ts";
import { InvalidArgumentError, UnimplementedError, ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Attrs, lookupOp, type OpDef } from "../../core/op.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { expandDims, hostInts, reshape } from "../array/view.ts";
import { asTensor, shapeOfInput } from "../input.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, notEqual } from "../pointwise/compare.ts";
import { logicalNot } from "../pointwise/logical.ts";
import { minimum } from "../pointwise/select.ts";
import { max as largest } from "../reduce/reduce.ts";
import type { RaggedTensor as Ragged, RaggedValues } from "./ragged_tensor.ts";
import { begins } from "./splits.ts";
import { sameVector } from "./same_vector.ts";

type Input = OpInput | CompositeTensor;
type RaggedTensor = Ragged;
/** The class, once it is loaded. */
let RaggedTensor: typeof Ragged;

/** Returns the first of two vectors of splits or row counts. Throws `InvalidArgumentError` where they differ. */
function sameRows(x: Tensor, y: Tensor): Tensor {
  return sameVector(
    x,
    y,
    "Cannot broadcast ragged tensors: rows have different lengths, their splits are",
  );
}

/** Elementwise ops that have another meaning for passes. */
const ELEMENTWISE = /^(Identity|StopGradient|Cast|ZerosLike|OnesLike|CheckNumerics)$/;

/** Gives the class its rules. */
export function addRules(of: typeof Ragged): void {
  RaggedTensor = of;
  of.prototype.applyOp = function (def, given, attrs): readonly unknown[] {
    const inputs = given as readonly Input[];
    const { kind } = def.meaning ?? { kind: "opaque" };
    if (kind === "pointwise" || ELEMENTWISE.test(def.name)) return pointwise(def, inputs, attrs);
    const [x, second] = inputs;
    if (kind === "reduce" && x instanceof RaggedTensor) {
      const axes = hostInts(literalOf(def, x, second));
      return [compose(() => reduced(def, x, axes, attrs.keep_dims === true))];
    }
    if (def.name === "ConcatV2") {
      const [axis] = hostInts(literalOf(def, this, inputs.at(-1)!));
      return [compose(() => joined(def, inputs.slice(0, -1), axis))];
    }
    if (def.name === "GatherV2") return [compose(() => picked(def, inputs, attrs))];
    throw noRule(
      def,
      this,
      "the op takes no ragged tensors, use toTensor() or tf.ragged.mapFlatValues()",
    );
  };
}

function literalOf(def: OpDef, x: CompositeTensor, axes: Input): NdArray {
  if (axes instanceof NdArray) return axes;
  throw noRule(def, x, "its axes must be known when it is called");
}

/** Applies an elementwise op to ragged tensors of the same rows, and to operands that broadcast to them. */
function pointwise(def: OpDef, inputs: readonly Input[], attrs: Attrs): CompositeTensor[] {
  const all = inputs.filter((x) => x instanceof RaggedTensor) as unknown as RaggedTensor[];
  const like = all.reduce((a, b) => (b.raggedRank > a.raggedRank ? b : a));
  const results = compose(() => {
    let splits = like.nestedRowSplits;
    for (const x of all) {
      if (x.raggedRank !== like.raggedRank) {
        throw noRule(def, x, `it has other ragged dimensions than ${like}`);
      }
      const other = x.nestedRowSplits;
      splits = splits.map((s, k) => s === other[k] ? s : sameRows(s, other[k]));
    }
    const rows = RaggedTensor.fromNestedRowSplits(like.flatValues, splits);
    const flat = inputs.map((x) =>
      x instanceof RaggedTensor ? x.flatValues : besideRows(def, rows, x as OpInput)
    );
    return apply(def, flat, attrs).map((t) => rows.withFlatValues(t));
  });
  return results;
}

/** Repeats a dense operand for each of the innermost values. */
function besideRows(def: OpDef, rows: RaggedTensor, x: OpInput): OpInput {
  if ((x as unknown) instanceof CompositeTensor) {
    throw noRule(def, x as unknown as CompositeTensor, `${rows} stands beside it`);
  }
  const shape = shapeOfInput(x), { raggedRank, flatValues } = rows;
  const inner = flatValues.staticShape === null ? null : flatValues.staticShape.length - 1;
  if (shape === null || inner === null) {
    throw noRule(def, rows, "the ranks of what is broadcast to it must be known");
  }
  if (shape.length <= inner) return x;
  const outer = [
    ...new Array(Math.max(0, raggedRank + 1 + inner - shape.length)).fill(1),
    ...shape,
  ];
  const [count, ...middle] = outer.slice(0, raggedRank + 1), tail = outer.slice(raggedRank + 1);
  const length = middle.pop()!;
  if (!isConcrete(outer) || outer.length > raggedRank + 1 + inner || middle.some((d) => d !== 1)) {
    throw noRule(def, rows, `shape [${shape.map((d) => d ?? "?")}] does not broadcast to it`);
  }
  const dense = reshape(asTensor(x), [(count as number) * length, ...tail as number[]]);
  if (count === 1 && length === 1) return dense;
  const ids = outerIds(rows);
  let at: Tensor | number = 0;
  if (count !== 1) {
    const same = sameRows(
      reshape(rows.nrows(), [1]),
      asTensor(new NdArray("int32", [1], Int32Array.of(count as number))),
    );
    at = mul(minimum(ids, sub(same, 1)), length);
  }
  if (length !== 1) {
    const { splits, places } = innermost(rows);
    const even = mul(range(0, sizeOf(splits), 1, "int32"), length);
    const same = sameRows(splits, even);
    at = add(at, minimum(places, largest(same)));
  }
  return gather(dense, at as Tensor);
}

function sizeOf(x: Tensor): Tensor {
  return apply1(lookupOp("Size")!, [x]);
}

/** Splits of the innermost rows, and each value's position in its row. */
function innermost(rows: RaggedTensor): { splits: Tensor; places: Tensor } {
  let inner = rows;
  while (inner.values instanceof RaggedTensor) inner = inner.values;
  return { splits: inner.rowSplits, places: placesIn(inner) };
}

/** Returns the position of each value in its row. */
function placesIn(x: RaggedTensor): Tensor {
  const ids = x.valueRowIds();
  return sub(range(0, sizeOf(ids), 1, "int32"), gather(begins(x.rowSplits), ids));
}

/** Returns the outermost row of each innermost value. */
function outerIds(x: RaggedTensor): Tensor {
  const ids = x.valueRowIds();
  return x.values instanceof RaggedTensor ? gather(ids, outerIds(x.values)) : ids;
}

const SEGMENTS: Readonly<Record<string, string>> = {
  Sum: "UnsortedSegmentSum",
  Prod: "UnsortedSegmentProd",
  Max: "UnsortedSegmentMax",
  Min: "UnsortedSegmentMin",
};

/** Reduces over axes, beginning with the last. */
function reduced(
  def: OpDef,
  x: RaggedTensor,
  axes: readonly number[],
  keep: boolean,
): RaggedValues {
  const rank = x.shape.length;
  if (axes.length === rank && !keep) {
    const all = Int32Array.from({ length: rank - x.raggedRank }, (_, i) => i);
    return apply1(def, [x.flatValues, new NdArray("int32", [all.length], all)]);
  }
  if (def.name === "Mean") {
    const sum = lookupOp("Sum")!, ones = x.withFlatValues(onesLike(x.flatValues));
    return div(
      reduced(sum, x, axes, keep) as Tensor,
      reduced(sum, ones, axes, keep) as Tensor,
    );
  }
  let result: RaggedValues = x;
  for (const axis of axes.toSorted((a, b) => b - a)) {
    result = result instanceof RaggedTensor
      ? along(def, result, axis, keep)
      : apply1(def, [result, new NdArray("int32", [1], Int32Array.of(axis))], { keep_dims: keep });
  }
  return result;
}

function along(def: OpDef, x: RaggedTensor, axis: number, keep: boolean): RaggedValues {
  const { values } = x;
  if (values instanceof RaggedTensor) {
    if (axis >= 2) {
      return RaggedTensor.fromRowSplits(along(def, values, axis - 1, keep), x.rowSplits);
    }
    throw new UnimplementedError(
      `Cannot apply ${def.name} to ${x} over axis ${axis}: rows there are ragged themselves`,
      { op: def.name },
    );
  }
  if (axis > 1) {
    const inner = new NdArray("int32", [1], Int32Array.of(axis - 1));
    return x.withFlatValues(apply1(def, [values, inner], { keep_dims: keep }));
  }
  const ids = axis === 1 ? x.valueRowIds() : placesIn(x);
  const count = axis === 1 ? x.nrows() : largest(concat([x.rowLengths(), [0]]));
  const all = segments(def, values, [ids, count]);
  return keep ? expandDims(all, axis) : all;
}

function segments(def: OpDef, values: Tensor, [ids, count]: readonly [Tensor, Tensor]): Tensor {
  const counted = (x: Tensor): Tensor =>
    apply1(lookupOp("UnsortedSegmentSum")!, [cast(x, "int32"), ids, count]);
  if (def.name === "Any") return notEqual(counted(values), 0);
  if (def.name === "All") return equal(counted(logicalNot(values)), 0);
  const segment = lookupOp(SEGMENTS[def.name] ?? "");
  if (segment !== undefined) return apply1(segment, [values, ids, count]);
  throw new UnimplementedError(`Cannot apply ${def.name} to rows of a ragged tensor`, {
    op: def.name,
  });
}

function joined(def: OpDef, inputs: readonly Input[], axis: number): RaggedTensor {
  const first = inputs.find((x) => x instanceof RaggedTensor) as unknown as RaggedTensor;
  const parts = inputs.map((x) => asRagged(def, x, first));
  if (axis === 0) return joinRows(parts, def.name);
  const [{ rowSplits }] = parts;
  if (axis >= 2) {
    const splits = parts.slice(1).reduce(
      (s, p) => s === p.rowSplits ? s : sameRows(s, p.rowSplits),
      rowSplits,
    );
    const values = concat(parts.map((p) => p.values as Tensor), axis - 1);
    return RaggedTensor.fromRowSplits(values, splits);
  }
  const rows = reshape(parts[0].nrows(), [1]);
  const counts = parts.slice(1).reduce(
    (n, p) => sameRows(n, reshape(p.nrows(), [1])),
    rows,
  );
  const k = parts.length, n = reshape(counts, []);
  // Row i of each, then row i + 1.
  const numbers = range(0, mul(n, k), 1, "int32");
  const part = apply1(lookupOp("FloorMod")!, [numbers, new NdArray("int32", [], Int32Array.of(k))]);
  const row = apply1(lookupOp("FloorDiv")!, [numbers, new NdArray("int32", [], Int32Array.of(k))]);
  const mixed = joinRows(parts, def.name).gather(add(mul(part, n), row));
  return RaggedTensor.fromRowSplits(
    mixed.values,
    stridedSlice(mixed.rowSplits, [0], [0], [k], 1, 1),
  );
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
  return RaggedTensor.fromRowLengths(
    raggedRank > 1 ? joinRows(values as RaggedTensor[], fn) : concat(values as Tensor[]),
    lengths,
  );
}

/** Converts a dense operand to a ragged tensor with as many ragged dimensions. */
function asRagged(def: OpDef, x: Input, like: RaggedTensor): RaggedTensor {
  const shape = x instanceof CompositeTensor ? x.shape : shapeOfInput(x);
  if (shape !== null && shape.length !== like.shape.length) {
    throw new ValueError(
      `Cannot apply ${def.name} to ${like} and shape [${
        shape.map((d) => d ?? "?")
      }]: ranks must be equal`,
    );
  }
  if (x instanceof RaggedTensor) return x;
  if (x instanceof CompositeTensor || like.raggedRank > 1) {
    throw noRule(def, like, `${x} stands beside it`);
  }
  return RaggedTensor.fromTensor(asTensor(x));
}

function picked(def: OpDef, [table, at, axis]: readonly Input[], attrs: Attrs): RaggedValues {
  const ragged = (at instanceof RaggedTensor ? at : table) as RaggedTensor;
  if (hostInts(literalOf(def, ragged, axis))[0] !== 0 || (attrs.batch_dims ?? 0) !== 0) {
    throw new UnimplementedError(
      `Cannot apply ${def.name} to ${ragged}: wanted axis 0 and no batch dimensions`,
      { op: def.name },
    );
  }
  if (at instanceof RaggedTensor) {
    const rows = picked(def, [table, at.flatValues, axis], attrs);
    return rows instanceof RaggedTensor
      ? at.nestedRowSplits.reduceRight<RaggedTensor>(
        (inner, splits) => RaggedTensor.fromRowSplits(inner, splits),
        rows,
      )
      : at.withFlatValues(rows);
  }
  if (!(table instanceof RaggedTensor)) return apply1(def, [table, at, axis] as OpInput[], attrs);
  const rank = shapeOfInput(at as OpInput)?.length;
  if (rank === 0) return table.row(at as Tensor);
  if (rank === 1) return table.gather(at as Tensor);
  throw new UnimplementedError(
    `Cannot apply ${def.name} to ${table} with indices of rank ${
      rank ?? "?"
    }: wanted a scalar or a vector`,
    { op: def.name },
  );
}
