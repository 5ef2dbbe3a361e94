/**
 * Rules for ops that only files have: they are imported as Weft's ops, so that passes and gradients need no rules for
 * them.
 */
import { lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { identity, reshape, shape } from "../../engine/ops/array/view.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { add, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { erf } from "../../engine/ops/pointwise/exponential.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import { groupedConv, groupsOf } from "./grouped_conv.ts";
import { SPELLING_RULES } from "./spellings.ts";
import { IMAGE_RULES } from "./image_rules.ts";
import { LIST_RULES } from "./import_lists.ts";
import { MORE_RULES } from "./more_rules.ts";
import { NUMERIC_RULES } from "./numeric_rules.ts";
import {
  type ImportedNode,
  type ImportRule,
  indexOf,
  put,
  put1,
  type RuleEntry,
  textOf,
} from "./rule.ts";
import { SPARSE_RULES } from "./sparse_rules.ts";
import { VARIABLE_RULES } from "./variable_rules.ts";

function channelsFirst({ attr }: ImportedNode): boolean {
  return textOf(attr.data_format, "").startsWith("NC");
}

function biasAdd(node: ImportedNode): Tensor[] {
  const [x, bias] = node.inputs, rank = x.staticShape?.length;
  if (!channelsFirst(node) || rank === undefined || rank < 3) return [add(x, bias)];
  return [add(x, reshape(bias, [-1, ...new Array<number>(rank - 2).fill(1)]))];
}

function biasAddGrad(node: ImportedNode): Tensor[] {
  const [dy] = node.inputs;
  const rank = dy.staticShape?.length ?? 2;
  const channel = channelsFirst(node) ? 1 : rank - 1;
  return [sum(dy, Array.from({ length: rank }, (_, i) => i).filter((i) => i !== channel))];
}

/** Returns the first five outputs of `FusedBatchNormV3`, which has one more for its gradient. */
function fusedBatchNorm({ inputs, attr }: ImportedNode): readonly Tensor[] {
  return put("FusedBatchNormV3", inputs, {
    epsilon: Number(attr.epsilon?.f ?? 0.0001),
    exponential_avg_factor: Number(attr.exponential_avg_factor?.f ?? 1),
    data_format: textOf(attr.data_format, "NHWC"),
    is_training: attr.is_training?.b ?? true,
  }).slice(0, 5);
}

/** Joins texts, broadcast as numbers are. */
const joinTexts: ImportRule = ({ inputs: [x, y] }) => {
  if (x.staticShape?.length === 0 || y.staticShape?.length === 0) return put("StringJoin", [x, y]);
  const dims = put1("BroadcastArgs", [shape(x), shape(y)]);
  return put("StringJoin", [x, y].map((t) => put1("BroadcastTo", [t, dims])));
};

const pass: ImportRule = ({ inputs }) => inputs.map((x) => identity(x));

const ENTRIES: readonly RuleEntry[] = [
  ["BiasAdd", biasAdd, 2],
  ["BiasAddV1", biasAdd, 2],
  ["BiasAddGrad", biasAddGrad],
  ["FusedBatchNorm", fusedBatchNorm, 5],
  ["FusedBatchNormV2", fusedBatchNorm, 5],
  ["Erfc", ({ inputs: [x] }) => [sub(cast(1, x.dtype), erf(x))]],
  ["IdentityN", pass, 0],
  ["Snapshot", pass],
  ["PreventGradient", pass],
  ["DisableCopyOnRead", () => [], 0],
  ["Print", ({ inputs: [x] }) => [identity(x)]],
  ["ShapeN", ({ inputs, attr }) => inputs.map((x) => cast(shape(x), indexOf(attr.out_type))), 0],
  ["Concat", ({ inputs: [axis, ...values] }) => [put1("ConcatV2", [...values, axis])], 2],
  ["Gather", ({ inputs: [x, indices] }) => [gather(x, indices)], 2],
  ...LIST_RULES,
  ...SPELLING_RULES,
  ...IMAGE_RULES,
  ...MORE_RULES,
  ...NUMERIC_RULES,
  ...SPARSE_RULES,
  ...VARIABLE_RULES,
];

export const IMPORT_RULES: ReadonlyMap<string, ImportRule> = new Map(
  ENTRIES.map(([op, rule]) => [op, rule]),
);

const LEAST_INPUTS: ReadonlyMap<string, number> = new Map(
  ENTRIES.map(([op, , least = 1]) => [op, least]),
);

/** Returns the minimum number of inputs that an op's rule reads. */
export function leastInputs(op: string): number {
  return LEAST_INPUTS.get(op) ?? 1;
}

/** Returns the import rule of a node; undefined if the op is Weft's own. */
export function importRule(op: string, node: ImportedNode): ImportRule | undefined {
  if (op === "Conv2D" && groupsOf(node) > 1) return groupedConv;
  if (/^Add(V2)?$/.test(op) && node.inputs[0]?.dtype === "string") return joinTexts;
  return lookupOp(op) === undefined ? IMPORT_RULES.get(op) : undefined;
}

const NORM = ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"];
const NORM_GRAD = ["x_backprop", "scale_backprop", "offset_backprop"];

/** Output names of ops with rules and several outputs, as function bodies write them. */
export const OUTPUT_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  FusedBatchNorm: NORM,
  FusedBatchNormV2: NORM,
  FusedBatchNormGrad: NORM_GRAD,
  FusedBatchNormGradV2: NORM_GRAD,
  FusedBatchNormGradV3: NORM_GRAD,
  Unique: ["y", "idx"],
  UniqueWithCounts: ["y", "idx", "count"],
  TopK: ["values", "indices"],
  // Lists of outputs have lengths of their own: functions know only the first, and have the newer op.
  ParseExample: ["sparse_indices"],
  ParseSingleExample: ["sparse_indices"],
  TensorListPopBack: ["output_handle", "tensor"],
  TensorArrayV3: ["handle", "flow"],
};
