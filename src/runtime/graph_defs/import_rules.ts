/**
 * Ops that only files have, written in ours while a graph is imported, so that passes and gradients need no rules for them.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { AttrValueJson } from "../../graph/graph_def/graph_def.ts";
import { text } from "../../graph/graph_def/values.ts";
import { identity, reshape, shape } from "../../ops/array/view.ts";
import { cast } from "../../ops/array/cast.ts";
import { gather } from "../../ops/array/gather.ts";
import { add, sub } from "../../ops/pointwise/arithmetic.ts";
import { erf } from "../../ops/pointwise/exponential.ts";
import { sum } from "../../ops/reduce/reduce.ts";
import { groupedConv, groupsOf } from "./grouped_conv.ts";
import { SPELLING_RULES } from "./spellings.ts";
import { IMAGE_RULES } from "./image_rules.ts";
import { LIST_RULES } from "./import_lists.ts";
import { MORE_RULES } from "./more_rules.ts";
import { NUMERIC_RULES } from "./numeric_rules.ts";
import { SPARSE_RULES } from "./sparse_rules.ts";
import { VARIABLE_RULES } from "./variable_rules.ts";

/** A node of a file, as rules see it. */
export interface ImportedNode {
  /** Its inputs in the graph that is being built. */
  readonly inputs: readonly Tensor[];
  /** Its attributes as the file has them. */
  readonly attr: Readonly<Record<string, AttrValueJson>>;
}

/** Adds what a node means and gives its outputs. */
export type ImportRule = (node: ImportedNode) => readonly Tensor[];

function channelsFirst({ attr }: ImportedNode): boolean {
  const format = attr.data_format?.s;
  return format !== undefined && text(format).startsWith("NC");
}

/** A vector shaped so that it is broadcast along the axis of channels. */
function alongChannels(bias: Tensor, x: Tensor, first: boolean): Tensor {
  const rank = x.staticShape?.length;
  if (!first || rank === undefined || rank < 3) return bias;
  return reshape(bias, [-1, ...new Array<number>(rank - 2).fill(1)]);
}

function biasAdd(node: ImportedNode): Tensor[] {
  const [x, bias] = node.inputs;
  return [add(x, alongChannels(bias, x, channelsFirst(node)))];
}

function biasAddGrad(node: ImportedNode): Tensor[] {
  const [dy] = node.inputs;
  const rank = dy.staticShape?.length ?? 2;
  const channel = channelsFirst(node) ? 1 : rank - 1;
  return [sum(dy, Array.from({ length: rank }, (_, i) => i).filter((i) => i !== channel))];
}

/** The first five outputs of `FusedBatchNormV3`, which has one more for its gradient. */
function fusedBatchNorm({ inputs, attr }: ImportedNode): readonly Tensor[] {
  return apply(lookupOp("FusedBatchNormV3")!, [...inputs], {
    epsilon: Number(attr.epsilon?.f ?? 0.0001),
    exponential_avg_factor: Number(attr.exponential_avg_factor?.f ?? 1),
    data_format: attr.data_format?.s === undefined ? "NHWC" : text(attr.data_format.s),
    is_training: attr.is_training?.b ?? true,
  }).slice(0, 5);
}

const pass: ImportRule = ({ inputs }) => inputs.map((x) => identity(x));

function literal(value: number, x: Tensor): Tensor {
  return cast(value, x.dtype);
}

/** How many inputs a rule reads at least, where that is not one. */
const LEAST_INPUTS: Readonly<Record<string, number>> = {
  BiasAdd: 2,
  BiasAddV1: 2,
  FusedBatchNorm: 5,
  FusedBatchNormV2: 5,
  Concat: 2,
  Gather: 2,
  IdentityN: 0,
  ShapeN: 0,
  DisableCopyOnRead: 0,
  TensorListReserve: 2,
  TensorListGetItem: 2,
  TensorListSetItem: 3,
  TensorListGather: 2,
  TensorListPushBack: 2,
  TensorArrayWriteV3: 4,
  TensorArrayScatterV3: 4,
  TensorArrayReadV3: 3,
  TensorArrayGatherV3: 3,
  TensorArraySizeV3: 2,
  TensorArrayCloseV3: 0,
  TensorListScatter: 2,
  TensorListScatterV2: 2,
  TensorListResize: 2,
  TensorListSplit: 3,
  TensorArrayConcatV3: 2,
  TensorArraySplitV3: 3,
  Conv2D: 2,
  Reverse: 2,
  Mod: 2,
  MulNoNan: 2,
  ReverseSequence: 2,
  RngReadAndSkip: 3,
  SegmentSumV2: 3,
  SegmentProdV2: 3,
  SegmentMaxV2: 3,
  SegmentMinV2: 3,
  BatchMatMulV3: 2,
  ControlTrigger: 0,
  NonMaxSuppressionV2: 4,
  SpaceToBatch: 2,
  BatchToSpace: 2,
  AdjustHue: 2,
  AdjustSaturation: 2,
  AdjustContrastv2: 2,
  FusedBatchNormGrad: 5,
  FusedBatchNormGradV2: 5,
  FusedBatchNormGradV3: 5,
  DynamicStitch: 2,
  ParallelDynamicStitch: 2,
  ApproximateEqual: 2,
  SparseTensorDenseMatMul: 4,
  SparseConcat: 3,
  SparseSegmentSqrtN: 3,
  SparseSegmentMeanWithNumSegments: 4,
  SparseSegmentSqrtNWithNumSegments: 4,
  SparseSegmentSumWithNumSegments: 4,
  SparseTensorDenseAdd: 4,
  InTopK: 2,
  InTopKV2: 3,
  MatrixDiagV2: 5,
  MatrixDiagPartV2: 3,
  MatrixSetDiag: 2,
  MatrixSetDiagV2: 3,
  TensorScatterSub: 3,
  ScatterNdNonAliasingAdd: 3,
  HistogramFixedWidth: 3,
  NthElement: 2,
  UniqueWithCountsV2: 2,
  ParseExample: 2,
  ResourceGather: 2,
  ResourceGatherNd: 2,
  ...Object.fromEntries(
    ["NdUpdate", "NdAdd", "NdSub", "NdMax", "NdMin", "Max", "Min", "Mul", "Div"]
      .map((how) => [`ResourceScatter${how}`, 3]),
  ),
};

/** How many inputs the rule of an op reads at least. */
export function leastInputs(op: string): number {
  return Object.hasOwn(LEAST_INPUTS, op) ? LEAST_INPUTS[op] : 1;
}

/** Rules by op. */
export const IMPORT_RULES: ReadonlyMap<string, ImportRule> = new Map<string, ImportRule>([
  ["BiasAdd", biasAdd],
  ["BiasAddV1", biasAdd],
  ["BiasAddGrad", biasAddGrad],
  ["FusedBatchNorm", fusedBatchNorm],
  ["FusedBatchNormV2", fusedBatchNorm],
  ["Erfc", ({ inputs: [x] }) => [sub(literal(1, x), erf(x))]],
  ["IdentityN", pass],
  ["Snapshot", pass],
  ["PreventGradient", pass],
  ["DisableCopyOnRead", () => []],
  ["Print", ({ inputs: [x] }) => [identity(x)]],
  ["ShapeN", ({ inputs, attr }) => {
    const wide = attr.out_type?.type === "DT_INT64";
    return inputs.map((x) => (wide ? cast(shape(x), "int64") : shape(x)));
  }],
  ["Concat", ({ inputs: [axis, ...values] }) => [
    apply1(lookupOp("ConcatV2")!, [...values, axis]),
  ]],
  ...LIST_RULES,
  ...SPELLING_RULES,
  ...IMAGE_RULES,
  ...MORE_RULES,
  ...NUMERIC_RULES,
  ...SPARSE_RULES,
  ...VARIABLE_RULES,
  ["Gather", ({ inputs: [x, indices] }) => [gather(x, indices)]],
]);

/** How a node is written in ours; undefined where it stands as it is, as it does once the op is one of ours. */
export function importRule(op: string, node: ImportedNode): ImportRule | undefined {
  if (op === "Conv2D" && groupsOf(node) > 1) return groupedConv;
  return lookupOp(op) === undefined ? IMPORT_RULES.get(op) : undefined;
}

/** Names of the outputs of ops that have several and rules, as bodies of functions tell them. */
export const OUTPUT_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  FusedBatchNorm: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormV2: ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"],
  FusedBatchNormGrad: ["x_backprop", "scale_backprop", "offset_backprop"],
  FusedBatchNormGradV2: ["x_backprop", "scale_backprop", "offset_backprop"],
  FusedBatchNormGradV3: ["x_backprop", "scale_backprop", "offset_backprop"],
  Unique: ["y", "idx"],
  UniqueWithCounts: ["y", "idx", "count"],
  TopK: ["values", "indices"],
  // Lists of outputs have lengths of their own: only the first is known to functions, which have the newer op.
  ParseExample: ["sparse_indices"],
  ParseSingleExample: ["sparse_indices"],
  TensorListPopBack: ["output_handle", "tensor"],
  TensorArrayV3: ["handle", "flow"],
};
