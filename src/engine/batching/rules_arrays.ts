/** Rules for ops that look at shapes or move elements as a shape says: views, copies, joins, fills. */
import { apply, apply1, type OpInput } from "../core/apply.ts";
import type { DType } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { type Attrs, lookupOp } from "../core/op.ts";
import { isConcrete, sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { cast } from "../ops/array/cast.ts";
import { gather } from "../ops/array/gather.ts";
import { range } from "../ops/array/ranges.ts";
import { slice } from "../ops/array/slice.ts";
import { hostInts, reshape, shape, size, squeeze } from "../ops/array/view.ts";
import { asTensor, castInput, intScalar, intVector } from "../ops/input.ts";
import { diag, diagPart } from "../ops/linalg/diagonals.ts";
import { add } from "../ops/pointwise/arithmetic.ts";
import { prod } from "../ops/reduce/prod.ts";
import { along, onlyFirst } from "./rules_common.ts";
import {
  batchedOf,
  knownInts,
  prefixed,
  type RowCall,
  rowRank,
  rowShape,
  type RowValue,
  type Rule,
  withRowRank,
  withRows,
} from "./values.ts";

/** The first input has the rows; input k of the others is led by these numbers. */
function led(leads: Readonly<Record<number, readonly number[]>>): Rule {
  return ({ def, attrs, inputs }) => {
    const given: (OpInput | null)[] = inputs.map((v, i) => {
      if (i === 0) return v.batched ? v.all : null;
      return i in leads ? prefixed(leads[i], v) : v.batched ? null : v.all;
    });
    return given.includes(null) ? null : apply(def, given as OpInput[], attrs);
  };
}

/** Ops that tell the shape of a row, which all rows share: their result is no batch. */
export const SHAPE_RULES: Readonly<Record<string, (x: RowValue, type?: DType) => Tensor>> = {
  Shape: ofShape((dims) => asTensor(dims)),
  Rank: ofShape((dims) => size(asTensor(dims))),
  Size: ofShape((dims) => prod(asTensor(dims))),
};

function ofShape(read: (dims: OpInput) => Tensor): (x: RowValue, type?: DType) => Tensor {
  return (x, type = "int32") => {
    const known = rowShape(x);
    const dims = known && isConcrete(known) ? intVector(known) : slice(shape(x.all), [1], [-1]);
    return cast(read(dims), type);
  };
}

/** Slices of known extents that begin elsewhere in each row: elements are gathered along each axis that they shorten. */
const slicedByRow: Rule = ({ inputs: [x, begin, sizes], results: [to], rows }) => {
  const from = rowShape(x), wanted = knownInts(sizes);
  if (!begin.batched || !from || !to || !isConcrete(to) || !wanted || wanted.includes(-1)) {
    return null;
  }
  return [to.reduce((all: Tensor, size, axis) => {
    if (size === from[axis]) return all;
    const places = add(
      gather(castInput(begin.all, "int32"), [axis], 1),
      range(0, size, 1, "int32"),
    );
    return gather(all, places, axis + 1, 1) as Tensor;
  }, batchedOf(x, rows))];
};

const reshaped: Rule = ({ inputs: [x, to], results: [known], rows }) => {
  if (!x.batched || to.batched) return null;
  const dims = known && isConcrete(known) ? intVector(known) : to.all;
  if (rows.count !== null || !(dims instanceof NdArray)) {
    return [reshape(asTensor(x.all), asTensor(withRows(dims, rows)))];
  }
  // The number of rows follows from the size, unless another extent has to.
  const ints = hostInts(dims);
  return ints.some((d) => d <= 0) ? null : [reshape(asTensor(x.all), [-1, ...ints])];
};

const expanded: Rule = (call) => {
  const [dim] = knownInts(call.inputs[1]) ?? [];
  if (dim === undefined) return null;
  const all = [call.inputs[0].all, intScalar(dim < 0 ? dim : dim + 1)];
  return apply(call.def, all, call.attrs);
};

const squeezed: Rule = ({ def, attrs, inputs: [x] }) => {
  const known = rowShape(x), given = attrs.squeeze_dims as readonly number[];
  if (known === null || (given.length === 0 && known.includes(null))) return null;
  const dims = given.length > 0 ? given : known.flatMap((d, i) => d === 1 ? [i] : []);
  if (dims.length === 0) return [apply1(lookupOp("Identity")!, [x.all])];
  return apply(def, [x.all], { ...attrs, squeeze_dims: dims.map((d) => d < 0 ? d : d + 1) });
};

/** An attribute that is an axis stands one further where it counts from the front. */
function axisAttr(call: RowCall, name: string): Record<string, unknown> {
  const axis = call.attrs[name] as number;
  return { ...call.attrs, [name]: axis < 0 ? axis : axis + 1 };
}

const concatenated: Rule = ({ def, attrs, inputs, rows }) => {
  const [axis] = knownInts(inputs.at(-1)!) ?? [];
  if (axis === undefined) return null;
  const parts = inputs.slice(0, -1).map((v) => batchedOf(v, rows));
  return apply(def, [...parts, intScalar(axis < 0 ? axis : axis + 1)], attrs);
};

const split: Rule = ({ def, attrs, inputs: [axis, x] }) => {
  const [at] = knownInts(axis) ?? [];
  if (at === undefined || !x.batched) return null;
  return apply(def, [intScalar(at < 0 ? at : at + 1), x.all], attrs);
};

const splitBySizes: Rule = ({ def, attrs, inputs: [x, sizes, axis] }) => {
  const [at] = knownInts(axis) ?? [];
  if (at === undefined || !x.batched || sizes.batched) return null;
  return apply(def, [x.all, sizes.all, intScalar(at < 0 ? at : at + 1)], attrs);
};

const transposed: Rule = ({ def, attrs, inputs: [x, perm] }) => {
  const order = knownInts(perm);
  if (order === null || !x.batched) return null;
  const { length } = order;
  const moved = order.map((p) => (p < 0 ? p + length : p) + 1);
  return apply(def, [x.all, intVector([0, ...moved])], attrs);
};

const broadcast: Rule = ({ def, attrs, inputs: [x, to], results: [known], rows }) => {
  if (!x.batched || to.batched || !known || rowRank(x) === null) return null;
  const dims = isConcrete(known) ? intVector(known) : to.all;
  return apply(def, [withRowRank(x, known.length), withRows(dims, rows)], attrs);
};

const filled: Rule = ({ inputs: [dims, value], results: [known], rows }) => {
  if (dims.batched || !known) return null;
  const to = isConcrete(known) ? intVector(known) : dims.all;
  const element = withRowRank(value, known.length);
  return apply(lookupOp("BroadcastTo")!, [element, withRows(to, rows)]);
};

/** Masks of a strided slice count axes from the front. */
function masksOfRows(attrs: Attrs): Attrs {
  const shifted = (name: string, first: 0 | 1) => (attrs[name] as number ?? 0) * 2 + first;
  return {
    begin_mask: shifted("begin_mask", 1),
    end_mask: shifted("end_mask", 1),
    ellipsis_mask: shifted("ellipsis_mask", 0),
    new_axis_mask: shifted("new_axis_mask", 0),
    shrink_axis_mask: shifted("shrink_axis_mask", 0),
  };
}

const strided: Rule = ({ def, attrs, inputs: [x, begin, end, strides] }) => {
  const given = [[0], [0], [1]].map((lead, i) => prefixed(lead, [begin, end, strides][i]));
  if (!x.batched || given.includes(null)) return null;
  return apply(def, [x.all, ...given as OpInput[]], { ...attrs, ...masksOfRows(attrs) });
};

const stridedGradient: Rule = ({ def, attrs, inputs: [dims, begin, end, strides, dy], rows }) => {
  const given = [[0], [0], [1]].map((lead, i) => prefixed(lead, [begin, end, strides][i]));
  if (dims.batched || !dy.batched || given.includes(null)) return null;
  const to = withRows(dims.all, rows);
  return apply(def, [to, ...given as OpInput[], dy.all], { ...attrs, ...masksOfRows(attrs) });
};

/** A gradient of a broadcast is summed within each row. */
const summedLike: Rule = ({ def, attrs, inputs: [dy, like], rows }) => {
  const rank = rowRank(dy), own = rowRank(like);
  if (rank === null || own === null || own > rank) return null;
  const to = withRowRank({ all: batchedOf(like, rows), batched: true }, rank);
  const sum = apply1(def, [batchedOf(dy, rows), to], attrs);
  const added = Array.from({ length: rank - own }, (_, i) => i + 1);
  return [added.length === 0 ? sum : squeeze(sum, added)];
};

const padded: Rule = ({ def, attrs, inputs: [x, paddings, ...rest] }) => {
  const pads = knownInts(paddings);
  if (pads === null || !x.batched || rest.some((v) => v.batched)) return null;
  const all = intVector([0, 0, ...pads]).reshape([pads.length / 2 + 1, 2]);
  return apply(def, [x.all, all, ...rest.map((v) => v.all)], attrs);
};

/** A diagonal of tensors is one of matrices, of the elements in their order. */
function diagonal(of: "Diag" | "DiagPart"): Rule {
  return ({ inputs: [x], rows }) => {
    const known = rowShape(x);
    if (known === null || !isConcrete(known) || x.all.dtype === "bool") return null;
    const dims = of === "Diag" ? known : known.slice(0, known.length / 2);
    const n = sizeOf(dims), all = asTensor(x.all), lead = rows.count ?? -1;
    if (n === 0) return null;
    return of === "Diag"
      ? [reshape(diag(reshape(all, [lead, n])), [lead, ...dims, ...dims])]
      : [reshape(diagPart(reshape(all, [lead, n, n])), [lead, ...dims])];
  };
}

/** Rules by op. */
export const ARRAY_RULES: Readonly<Record<string, Rule>> = {
  Identity: onlyFirst,
  StopGradient: onlyFirst,
  ZerosLike: onlyFirst,
  OnesLike: onlyFirst,
  EnsureShape: ({ def, attrs, inputs: [x], rows }) =>
    apply(def, [x.all], { ...attrs, shape: attrs.shape && [rows.count, ...attrs.shape] }),
  Reshape: reshaped,
  ExpandDims: expanded,
  Squeeze: squeezed,
  Slice: (call) => led({ 1: [0], 2: [-1] })(call) ?? slicedByRow(call),
  StridedSlice: strided,
  StridedSliceGrad: stridedGradient,
  SumLike: summedLike,
  Tile: led({ 1: [1] }),
  BroadcastTo: broadcast,
  Transpose: transposed,
  ReverseV2: along(1),
  Roll: along(2),
  Pad: padded,
  PadV2: padded,
  MirrorPad: padded,
  MirrorPadGrad: padded,
  ConcatV2: concatenated,
  Pack: ({ rows, ...call }) =>
    apply(
      call.def,
      call.inputs.map((v) => batchedOf(v, rows)),
      axisAttr({ rows, ...call }, "axis"),
    ),
  Unpack: (call) => apply(call.def, [call.inputs[0].all], axisAttr(call, "axis")),
  Split: split,
  SplitV: splitBySizes,
  Fill: filled,
  OneHot: (call) =>
    call.inputs.every((v, i) => v.batched === (i === 0))
      ? apply(call.def, call.inputs.map((v) => v.all), axisAttr(call, "axis"))
      : null,
  Diag: diagonal("Diag"),
  DiagPart: diagonal("DiagPart"),
  MatrixDiagV3: (call) => call.inputs[0].batched ? onlyFirst(call) : null,
  MatrixSetDiagV3: (call) => call.inputs[2].batched ? null : everyBatchedBut(2, call),
};

/** Repeats what all rows share, but for input `k`. */
function everyBatchedBut(k: number, call: RowCall): Tensor[] {
  const { def, attrs, inputs, rows } = call;
  return apply(def, inputs.map((v, i) => i === k ? v.all : batchedOf(v, rows)), attrs);
}
