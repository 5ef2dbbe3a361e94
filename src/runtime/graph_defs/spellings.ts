/**
 * Rules for ops that say what ours say, in another version, under another name or in one step.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Attrs } from "../../core/op.ts";
import type { AttrValueJson } from "../../graph/graph_def/graph_def.ts";
import { text } from "../../graph/graph_def/values.ts";
import { transpose } from "../../ops/array/move.ts";
import { zerosLike } from "../../ops/array/creation.ts";
import { expandDims, identity, reshape, shape } from "../../ops/array/view.ts";
import { gather } from "../../ops/array/gather.ts";
import { cast } from "../../ops/array/cast.ts";
import { intScalar, intVector } from "../../ops/input.ts";
import { add, div, mod, mul, sub } from "../../ops/pointwise/arithmetic.ts";
import { equal, less } from "../../ops/pointwise/compare.ts";
import { where } from "../../ops/pointwise/select.ts";
import { abs, sign } from "../../ops/pointwise/rounding.ts";
import { rsqrt, square } from "../../ops/pointwise/power.ts";
import { mean, sum } from "../../ops/reduce/reduce.ts";
import "../../ops/imported/bits.ts";
import "../../ops/imported/boxes.ts";
import "../../ops/imported/csv.ts";
import "../../ops/imported/decompositions.ts";
import "../../ops/imported/examples.ts";
import "../../ops/imported/fake_quant.ts";
import "../../ops/imported/numeric.ts";
import "../../ops/imported/philox.ts";
import "../../ops/imported/quantize.ts";
import "../../ops/imported/quantized.ts";
import "../../ops/imported/ragged_parts.ts";
import "../../ops/imported/resample.ts";
import "../../ops/imported/shapes.ts";
import "../../ops/imported/sparse_dense.ts";
import "../../ops/imported/sparse_parts.ts";
import "../../ops/imported/sparse_reduce.ts";
import "../../ops/imported/text.ts";
import "../../ops/imported/text_codes.ts";
import "../../ops/imported/text_parts.ts";
import "../../ops/imported/unicode.ts";
import type { ImportedNode, ImportRule } from "./import_rules.ts";

/** The same inputs for an op of ours. */
function as(name: string, attrs: (attr: ImportedNode["attr"]) => Attrs = () => ({})): ImportRule {
  return ({ inputs, attr }) => apply(lookupOp(name)!, [...inputs], attrs(attr));
}

const integer = (value: AttrValueJson | undefined, otherwise: number): number =>
  Number(value?.i ?? otherwise);

/** Gradients of a normalization: of `x`, `scale` and `offset`, and two outputs that hold nothing. */
function batchNormGrad({ inputs, attr }: ImportedNode): Tensor[] {
  const [dy, x, scale, average, variance] = inputs;
  const format = attr.data_format?.s === undefined ? "NHWC" : text(attr.data_format.s);
  const channel = format.startsWith("NC") ? 1 : format.length - 1;
  const others = Array.from({ length: format.length }, (_, i) => i).filter((i) => i !== channel);
  const along = (v: Tensor): Tensor =>
    reshape(v, others.reduce((dims, i) => dims.with(i, 1), new Array(format.length).fill(-1)));
  const inverse = rsqrt(add(variance, Number(attr.epsilon?.f ?? 0.0001)));
  const normal = mul(sub(x, along(average)), along(inverse));
  const dOffset = sum(dy, others), dScale = sum(mul(dy, normal), others);
  const slope = along(mul(scale, inverse));
  const isTraining = attr.is_training?.b ?? true;
  const moved = isTraining
    ? sub(sub(dy, mean(dy, others, true)), mul(normal, mean(mul(dy, normal), others, true)))
    : dy;
  const none = sum(reshape(dOffset, [-1]).mul(0));
  return [mul(slope, moved), dScale, dOffset, none, none];
}

/** Unique elements of a vector, where each element is among them, and how often each is there. */
function unique({ inputs: [x], attr }: ImportedNode): Tensor[] {
  return [...apply(lookupOp("UniqueV2")!, [x, intVector([0])], {
    out_idx: attr.out_idx?.type === "DT_INT64" ? "int64" : "int32",
  })];
}

/** Rows of which each is turned around up to a length of its own. */
function reverseSequence({ inputs: [x, lengths], attr }: ImportedNode): Tensor[] {
  const rank = x.staticShape?.length;
  if (rank === undefined) {
    throw new ValueError("Cannot import: ReverseSequence of unknown rank");
  }
  const batch = integer(attr.batch_dim, 0), steps = integer(attr.seq_dim, 0);
  if (!(batch < rank && steps < rank && batch !== steps && batch >= 0 && steps >= 0)) {
    throw new ValueError(
      `Cannot import: ReverseSequence along axis ${steps} for each of axis ${batch}, of ${rank} axes`,
    );
  }
  // With rows in front and steps behind them.
  const order = [batch, steps];
  for (let i = 0; i < rank; i++) if (i !== batch && i !== steps) order.push(i);
  const rows = transpose(x, order);
  const at = apply1(lookupOp("Range")!, [intScalar(0), gather(shape(rows), 1), intScalar(1)]);
  const size = expandDims(cast(lengths, "int32"), 1);
  const turned = gather(rows, where(less(at, size), sub(sub(size, 1), at), at), 1, 1);
  return [transpose(turned, order.map((_, i) => order.indexOf(i)))];
}

/** A matrix of block sizes in all of an image's two sides. */
function blocks({ attr }: ImportedNode): NdArray {
  const side = integer(attr.block_size, 2);
  return intVector([side, side]);
}

/** Rules by op. */
export const SPELLING_RULES: readonly (readonly [string, ImportRule])[] = [
  ["Reverse", ({ inputs: [x, axes] }) => {
    // One flag an axis; where they are not known, the positions of those that hold.
    const places = reshape(apply1(lookupOp("Where")!, [axes]), [-1]);
    return [apply1(lookupOp("ReverseV2")!, [x, cast(places, "int32")])];
  }],
  // The remainder has the sign of the dividend.
  ["Mod", ({ inputs: [x, y] }) => [mul(mod(abs(x), abs(y)), sign(x))]],
  [
    "BatchMatMulV3",
    as("BatchMatMulV2", (attr) => ({
      adj_x: attr.adj_x?.b ?? false,
      adj_y: attr.adj_y?.b ?? false,
    })),
  ],
  ["ReverseSequence", reverseSequence],
  // Where the second is 0 the product is, whatever the first is.
  ["MulNoNan", ({ inputs: [x, y] }) => {
    const product = mul(x, y);
    return [where(equal(y, 0), zerosLike(product), product)];
  }],
  ["GuaranteeConst", ({ inputs: [x] }) => [identity(x)]],
  ["DeepCopy", ({ inputs: [x] }) => [identity(x)]],
  ["ControlTrigger", () => []],
  ["TopK", ({ inputs: [x], attr }) => [
    ...apply(lookupOp("TopKV2")!, [x, intScalar(integer(attr.k, 1))], {
      sorted: attr.sorted?.b ?? true,
    }),
  ]],
  ["L2Loss", ({ inputs: [x] }) => [div(sum(square(x)), 2)]],
  ["NonMaxSuppressionV2", ({ inputs: [boxes, scores, size, overlap] }) => [
    apply1(lookupOp("NonMaxSuppressionV3")!, [
      boxes,
      scores,
      size,
      overlap,
      cast(-Infinity, "float32"),
    ]),
  ]],
  ["SpaceToBatch", (node) => [
    apply1(lookupOp("SpaceToBatchND")!, [node.inputs[0], blocks(node), node.inputs[1]]),
  ]],
  ["BatchToSpace", (node) => [
    apply1(lookupOp("BatchToSpaceND")!, [node.inputs[0], blocks(node), node.inputs[1]]),
  ]],
  ["Unique", unique],
  ["UniqueWithCounts", (node) => {
    const [y, at] = unique(node);
    const counts = apply1(lookupOp("UnsortedSegmentSum")!, [
      cast(at.mul(0).add(1), "int32"),
      cast(at, "int32"),
      reshape(shape(y), []),
    ]);
    return [y, at, cast(counts, at.dtype)];
  }],
  ["FusedBatchNormGrad", batchNormGrad],
  ["FusedBatchNormGradV2", batchNormGrad],
  ["FusedBatchNormGradV3", batchNormGrad],
  ["SegmentSumV2", as("UnsortedSegmentSum")],
  ["SegmentProdV2", as("UnsortedSegmentProd")],
  ["SegmentMaxV2", as("UnsortedSegmentMax")],
  ["SegmentMinV2", as("UnsortedSegmentMin")],
  ["Ones", ({ inputs: [dims] }) => [apply1(lookupOp("Fill")!, [dims, cast(1, "float32")])]],
  ["Zeros", ({ inputs: [dims] }) => [apply1(lookupOp("Fill")!, [dims, cast(0, "float32")])]],
];
