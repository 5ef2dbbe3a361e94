/** Rules for ops that are Weft's ops in another version, under another name or in one step. */
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { transpose } from "../../engine/ops/array/move.ts";
import { zerosLike } from "../../engine/ops/array/creation.ts";
import { expandDims, identity, reshape, shape } from "../../engine/ops/array/view.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { floatScalar, intScalar, intVector } from "../../engine/ops/input.ts";
import { add, div, mod, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, less } from "../../engine/ops/pointwise/compare.ts";
import { where } from "../../engine/ops/pointwise/select.ts";
import { abs, sign } from "../../engine/ops/pointwise/rounding.ts";
import { rsqrt, square } from "../../engine/ops/pointwise/power.ts";
import { mean, sum } from "../../engine/ops/reduce/reduce.ts";
import "../ops/bits.ts";
import "../ops/boxes.ts";
import "../ops/csv.ts";
import "../ops/decompositions.ts";
import "../../engine/ops/host/examples.ts";
import "../ops/fake_quant.ts";
import "../ops/numeric.ts";
import "../ops/philox.ts";
import "../ops/quantize.ts";
import "../ops/quantized.ts";
import "../ops/ragged_parts.ts";
import "../ops/resample.ts";
import "../ops/shapes.ts";
import "../ops/sparse_dense.ts";
import "../ops/sparse_parts.ts";
import "../ops/sparse_reduce.ts";
import "../ops/text.ts";
import "../ops/text_codes.ts";
import "../ops/text_parts.ts";
import "../ops/unicode.ts";
import {
  as,
  type ImportedNode,
  type ImportRule,
  indexOf,
  intOf,
  put,
  put1,
  type RuleEntry,
  textOf,
} from "./rule.ts";

/** Returns the gradients of a normalization: of `x`, `scale` and `offset`, and two empty outputs. */
function batchNormGrad({ inputs, attr }: ImportedNode): Tensor[] {
  const [dy, x, scale, average, variance] = inputs;
  const format = textOf(attr.data_format, "NHWC");
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

/** Reverses each row up to its length. */
function reverseSequence({ inputs: [x, lengths], attr }: ImportedNode): Tensor[] {
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
function inBlocks(op: string): ImportRule {
  return ({ inputs: [x, margins], attr }) => {
    const side = intOf(attr.block_size, 2);
    return put(op, [x, intVector([side, side]), margins]);
  };
}

export const SPELLING_RULES: readonly RuleEntry[] = [
  ["Reverse", ({ inputs: [x, axes] }) => {
    // One flag per axis; if unknown, the positions of the set ones.
    const places = reshape(put1("Where", [axes]), [-1]);
    return [put1("ReverseV2", [x, cast(places, "int32")])];
  }, 2],
  // The remainder has the sign of the dividend.
  ["Mod", ({ inputs: [x, y] }) => [mul(mod(abs(x), abs(y)), sign(x))], 2],
  [
    "BatchMatMulV3",
    as("BatchMatMulV2", (attr) => ({
      adj_x: attr.adj_x?.b ?? false,
      adj_y: attr.adj_y?.b ?? false,
    })),
    2,
  ],
  ["ReverseSequence", reverseSequence, 2],
  // The product is 0 where the second operand is, for any first one.
  ["MulNoNan", ({ inputs: [x, y] }) => {
    const product = mul(x, y);
    return [where(equal(y, 0), zerosLike(product), product)];
  }, 2],
  ["GuaranteeConst", ({ inputs: [x] }) => [identity(x)]],
  ["DeepCopy", ({ inputs: [x] }) => [identity(x)]],
  ["ControlTrigger", () => [], 0],
  [
    "TopK",
    ({ inputs: [x], attr }) =>
      put("TopKV2", [x, intScalar(intOf(attr.k, 1))], { sorted: attr.sorted?.b ?? true }),
  ],
  ["L2Loss", ({ inputs: [x] }) => [div(sum(square(x)), 2)]],
  [
    "NonMaxSuppressionV2",
    ({ inputs }) => put("NonMaxSuppressionV3", [...inputs, floatScalar(-Infinity)]),
    4,
  ],
  ["SpaceToBatch", inBlocks("SpaceToBatchND"), 2],
  ["BatchToSpace", inBlocks("BatchToSpaceND"), 2],
  [
    "Unique",
    ({ inputs: [x], attr }) =>
      put("UniqueV2", [x, intVector([0])], { out_idx: indexOf(attr.out_idx) }),
  ],
  ["FusedBatchNormGrad", batchNormGrad, 5],
  ["FusedBatchNormGradV2", batchNormGrad, 5],
  ["FusedBatchNormGradV3", batchNormGrad, 5],
  ["SegmentSumV2", as("UnsortedSegmentSum"), 3],
  ["SegmentProdV2", as("UnsortedSegmentProd"), 3],
  ["SegmentMaxV2", as("UnsortedSegmentMax"), 3],
  ["SegmentMinV2", as("UnsortedSegmentMin"), 3],
  ["Ones", ({ inputs: [dims] }) => put("Fill", [dims, floatScalar(1)])],
  ["Zeros", ({ inputs: [dims] }) => put("Fill", [dims, floatScalar(0)])],
];
