/**
 * TensorFlow's ops as files have them: one table by name. What it does not list stands as the op of ours of that name; an op is added
 * by its definition under `../ops/`, or by a line here and, where that is too long for a line, a function under `rules/`.
 */
import { lookupOp } from "../../engine/core/op.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { gather, gatherND } from "../../engine/ops/array/gather.ts";
import { emptyRows, writeRow, writeRows } from "../../engine/ops/array/list_rows.ts";
import { appendRow, putRow } from "../../engine/runtime/control/growing_rows.ts";
import { tensorScatterAdd, tensorScatterUpdate } from "../../engine/ops/array/scatter.ts";
import { identity, shape } from "../../engine/ops/array/view.ts";
import { floatScalar, intScalar, intVector } from "../../engine/ops/input.ts";
import { div, mod, mul, neg, sub, sumOfTexts } from "../../engine/ops/pointwise/arithmetic.ts";
import { less } from "../../engine/ops/pointwise/compare.ts";
import { square } from "../../engine/ops/pointwise/power.ts";
import { abs, sign } from "../../engine/ops/pointwise/rounding.ts";
import { multiplyNoNan } from "../../engine/ops/pointwise/select.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import "../../engine/ops/host/examples.ts";
import { makesTable } from "../../engine/ops/host/lookup.ts";
import "../../engine/ops/text/all.ts";
import "../ops/bits.ts";
import "../ops/crosses.ts";
import "../ops/mfcc.ts";
import { concat, FILE_OPS, tensorScatterSub } from "../../engine/ops/of_files.ts";
import "../ops/quantize.ts";
import "../ops/quantized.ts";
import "../ops/ragged_parts.ts";
import "../ops/ragged_variant.ts";
import "../ops/resample.ts";
import "../ops/shapes.ts";
import "../ops/sparse_dense.ts";
import {
  as,
  type ImportedNode,
  indexOf,
  intOf,
  type OpEntry,
  put,
  put1,
  rule,
  type RuleEntry,
  same,
} from "./rule.ts";
import { inBlocks, pass, reverse, reverseSequence, stitched, truth } from "./rules/arrays.ts";
import { binomialOfState, ofState, shuffled, truncatedBetween } from "./rules/draws.ts";
import { functionGradient, oneOf } from "./rules/functions.ts";
import { groupedConv, groupsOf } from "./rules/grouped_conv.ts";
import { adjustContrast, adjustHue, adjustSaturation, hsvToRgb, rgbToHsv } from "./rules/images.ts";
import * as lists from "./rules/lists.ts";
import { batchNormGrad, biasAdd, biasAddGrad, fusedBatchNorm } from "./rules/norms.ts";
import { OLDER_RULES } from "./rules/older.ts";
import { OTHER_FORMS } from "./rules/other_forms.ts";
import { REFUSED } from "./rules/refused.ts";
import { SPECTRAL_RULES } from "./rules/spectral.ts";
import {
  bucketize,
  diagonals,
  histogram,
  inTopK,
  nthElement,
  uniqueWithCounts,
  zero,
} from "./rules/numerics.ts";
import {
  parseExample,
  parseSequenceExample,
  parseSingleExample,
  parseSingleSequenceExample,
} from "./rules/records.ts";
import { sparseConcat } from "./rules/sparse.ts";
import {
  fold,
  products,
  read,
  resourceGather,
  rngReadAndSkip,
  rngSkip,
  scattered,
  scatteredRows,
} from "./rules/variables.ts";

const NORM = ["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"];
const NORM_GRAD = ["x_backprop", "scale_backprop", "offset_backprop"];
// Lists of outputs have lengths of their own: functions know only the first, and have the newer op.
const PARSED = ["sparse_indices"], PARSED_LISTS = ["context_sparse_indices"];

const areTexts = ({ inputs: [x] }: ImportedNode): boolean => x?.dtype === "string";

// Lists, variants in the file, are tensors of their rows' dtype.
const areVariants = (node: ImportedNode): boolean =>
  node.attr.T?.type === "DT_VARIANT" && areTexts(node);

/** The ops that are not as they stand. */
const TABLE: Record<string, OpEntry> = {
  // Ops of ours that do not know some nodes.
  Add: rule(({ inputs }) => [sumOfTexts(inputs)], 2, { when: areTexts }),
  AddV2: rule(({ inputs }) => [sumOfTexts(inputs)], 2, { when: areTexts }),
  AddN: rule(({ inputs }) => put("_SumOfVariants", inputs), 1, { when: areVariants }),
  ZerosLike: rule(({ inputs }) => put("_ZerosOfVariants", inputs), 1, { when: areVariants }),
  Conv2D: rule(groupedConv, 2, { when: (node) => groupsOf(node) > 1 }),
  // Other names, which files of TensorFlow.js have.
  FusedDepthwiseConv2dNative: same("_FusedDepthwiseConv2dNative"),
  // Functions.
  Case: rule(oneOf),
  StatelessCase: rule(oneOf),
  SymbolicGradient: rule(functionGradient),
  // Biases and normalization.
  BiasAdd: rule(biasAdd, 2),
  BiasAddV1: rule(biasAdd, 2),
  BiasAddGrad: rule(biasAddGrad),
  FusedBatchNorm: rule(fusedBatchNorm, 5, { outputs: NORM }),
  FusedBatchNormV2: rule(fusedBatchNorm, 5, { outputs: NORM }),
  FusedBatchNormGrad: rule(batchNormGrad, 5, { outputs: NORM_GRAD }),
  FusedBatchNormGradV2: rule(batchNormGrad, 5, { outputs: NORM_GRAD }),
  FusedBatchNormGradV3: rule(batchNormGrad, 5, { outputs: NORM_GRAD }),
  // What changes nothing.
  IdentityN: rule(pass, 0),
  Snapshot: rule(pass),
  PreventGradient: rule(pass),
  GuaranteeConst: rule(({ inputs: [x] }) => [identity(x)]),
  DeepCopy: rule(({ inputs: [x] }) => [identity(x)]),
  Print: rule(({ inputs: [x] }) => [identity(x)]),
  DisableCopyOnRead: rule(() => [], 0),
  ControlTrigger: rule(() => [], 0),
  DestroyResourceOp: rule(() => []),
  // Arrays.
  ShapeN: rule(
    ({ inputs, attr }) => inputs.map((x) => cast(shape(x), indexOf(attr.out_type))),
    0,
  ),
  Concat: rule(({ inputs: [axis, ...values] }) => [put1("ConcatV2", [...values, axis])], 2),
  Gather: rule(({ inputs: [x, indices] }) => [gather(x, indices)], 2),
  Reverse: rule(reverse, 2),
  ReverseSequence: rule(reverseSequence, 2),
  SpaceToBatch: rule(inBlocks("SpaceToBatchND"), 2),
  BatchToSpace: rule(inBlocks("BatchToSpaceND"), 2),
  DynamicStitch: rule(stitched, 2),
  ParallelDynamicStitch: rule(stitched, 2),
  Ones: rule(({ inputs: [dims] }) => put("Fill", [dims, floatScalar(1)])),
  Zeros: rule(({ inputs: [dims] }) => put("Fill", [dims, floatScalar(0)])),
  TensorScatterSub: rule(
    ({ inputs: [x, at, updates] }) => [tensorScatterSub(x, at, updates)],
    3,
  ),
  ScatterNdNonAliasingAdd: rule(
    ({ inputs: [x, at, updates] }) => [tensorScatterAdd(x, at, updates)],
    3,
  ),
  ...SPECTRAL_RULES,
  ...OLDER_RULES,
  ...OTHER_FORMS,
  // Draws.
  StatefulUniform: rule(ofState("StatelessRandomUniformV2"), 3),
  StatefulStandardNormalV2: rule(ofState("StatelessRandomNormalV2"), 3),
  StatefulTruncatedNormal: rule(ofState("StatelessTruncatedNormalV2"), 3),
  StatefulUniformInt: rule(ofState("StatelessRandomUniformIntV2"), 5),
  StatefulUniformFullInt: rule(ofState("StatelessRandomUniformFullIntV2"), 3),
  StatefulRandomBinomial: rule(binomialOfState, 5),
  ParameterizedTruncatedNormal: rule(truncatedBetween, 5),
  RandomShuffle: rule(shuffled),
  // Numbers.
  Erfc: rule(({ inputs: [x] }) => [sub(cast(1, x.dtype), put1("Erf", [x]))]),
  // The remainder has the sign of the dividend.
  Mod: rule(({ inputs: [x, y] }) => [mul(mod(abs(x), abs(y)), sign(x))], 2),
  ToBool: rule(truth),
  MulNoNan: rule(({ inputs: [x, y] }) => [multiplyNoNan(x, y)], 2),
  L2Loss: rule(({ inputs: [x] }) => [div(sum(square(x)), 2)]),
  ApproximateEqual: rule(
    ({ inputs: [x, y], attr }) => [less(abs(sub(x, y)), Number(attr.tolerance?.f ?? 1e-5))],
    2,
  ),
  BatchMatMulV3: rule(
    as("BatchMatMulV2", (attr) => ({
      adj_x: attr.adj_x?.b ?? false,
      adj_y: attr.adj_y?.b ?? false,
    })),
    2,
  ),
  SegmentSumV2: rule(as("UnsortedSegmentSum"), 3),
  SegmentProdV2: rule(as("UnsortedSegmentProd"), 3),
  SegmentMaxV2: rule(as("UnsortedSegmentMax"), 3),
  SegmentMinV2: rule(as("UnsortedSegmentMin"), 3),
  MatrixDiag: rule(
    diagonals("MatrixDiagV3", (x) => [intScalar(0), intScalar(-1), intScalar(-1), zero(x)]),
  ),
  MatrixDiagV2: rule(diagonals("MatrixDiagV3", () => []), 5),
  MatrixDiagPart: rule(diagonals("MatrixDiagPartV3", (x) => [intScalar(0), zero(x)])),
  MatrixDiagPartV2: rule(diagonals("MatrixDiagPartV3", () => []), 3),
  MatrixSetDiag: rule(diagonals("MatrixSetDiagV3", () => [intScalar(0)]), 2),
  MatrixSetDiagV2: rule(diagonals("MatrixSetDiagV3", () => []), 3),
  Bucketize: rule(bucketize),
  HistogramFixedWidth: rule(histogram, 3),
  // Order and sets.
  TopK: rule(
    ({ inputs: [x], attr }) =>
      put("TopKV2", [x, intScalar(intOf(attr.k, 1))], { sorted: attr.sorted?.b ?? true }),
    1,
    { outputs: ["values", "indices"] },
  ),
  NthElement: rule(nthElement, 2),
  InTopK: rule(inTopK, 2),
  InTopKV2: rule(inTopK, 3),
  Unique: rule(
    ({ inputs: [x], attr }) =>
      put("UniqueV2", [x, intVector([0])], { out_idx: indexOf(attr.out_idx) }),
    1,
    { outputs: ["y", "idx"] },
  ),
  UniqueWithCounts: rule(uniqueWithCounts, 1, { outputs: ["y", "idx", "count"] }),
  UniqueWithCountsV2: rule(uniqueWithCounts, 2),
  // Images.
  RGBToHSV: rule(rgbToHsv),
  HSVToRGB: rule(hsvToRgb),
  AdjustHue: rule(adjustHue, 2),
  AdjustSaturation: rule(adjustSaturation, 2),
  AdjustContrastv2: rule(adjustContrast, 2),
  NonMaxSuppressionV2: rule(
    ({ inputs }) => put("NonMaxSuppressionV3", [...inputs, floatScalar(-Infinity)]),
    4,
  ),
  // Records.
  ParseExample: rule(parseExample, 2, { outputs: PARSED }),
  ParseSingleExample: rule(parseSingleExample, 1, { outputs: PARSED }),
  ParseSequenceExample: rule(parseSequenceExample, 2, { outputs: PARSED_LISTS }),
  ParseSingleSequenceExample: rule(parseSingleSequenceExample, 2, { outputs: PARSED_LISTS }),
  // Sparse tensors.
  SparseConcat: rule(sparseConcat, 3),
  // Tables: those without a name are their nodes', dense ones are hash tables that refuse two keys.
  AnonymousHashTable: same("HashTableV2"),
  AnonymousMutableHashTable: same("MutableHashTableV2"),
  AnonymousMutableHashTableOfTensors: same("MutableHashTableOfTensorsV2"),
  AnonymousMutableDenseHashTable: same("MutableHashTableOfTensorsV2"),
  MutableDenseHashTable: same("MutableHashTableOfTensors"),
  MutableDenseHashTableV2: same("MutableHashTableOfTensorsV2"),
  // Variables.
  ResourceGather: rule(resourceGather, 2),
  ResourceGatherNd: rule((node) => [gatherND(read(node), node.inputs[1])], 2),
  RngReadAndSkip: rule(rngReadAndSkip, 3),
  RngSkip: rule(rngSkip, 3),
  VariableShape: rule((node) => [shape(read(node))]),
  ResourceScatterNdUpdate: rule(scattered(tensorScatterUpdate), 3),
  ResourceScatterNdAdd: rule(scattered(tensorScatterAdd), 3),
  ResourceScatterNdSub: rule(
    scattered((x, places, updates) => tensorScatterAdd(x, places, neg(updates))),
    3,
  ),
  ResourceScatterNdMax: rule(scattered(fold("TensorScatterMax")), 3),
  ResourceScatterNdMin: rule(scattered(fold("TensorScatterMin")), 3),
  ResourceScatterMax: rule(scatteredRows(fold("TensorScatterMax")), 3),
  ResourceScatterMin: rule(scatteredRows(fold("TensorScatterMin")), 3),
  ResourceScatterMul: rule(scatteredRows(products), 3),
  // Integers are truncated, as in TensorFlow's first division.
  ResourceScatterDiv: rule(
    scatteredRows((x, places, updates) => put1("Div", [x, products(onesLike(x), places, updates)])),
    3,
  ),
  // Lists and arrays of tensors.
  TensorListReserve: rule(
    (node) => [emptyRows(node.inputs[1], lists.elementShape(node.inputs[0]), lists.dtypeOf(node))],
    2,
  ),
  EmptyTensorList: rule((node) => [
    emptyRows(intScalar(0), lists.elementShape(node.inputs[0]), lists.dtypeOf(node)),
  ]),
  TensorListFromTensor: rule(({ inputs: [x] }) => [identity(x)]),
  TensorListStack: rule(({ inputs: [rows, row] }) => [lists.stackedRows(rows, row)], 2),
  TensorListGetItem: rule(({ inputs: [rows, i] }) => [gather(rows, i)], 2),
  TensorListSetItem: rule((node) => [lists.setItem(node)], 3),
  TensorListGather: rule(({ inputs: [rows, at] }) => [gather(rows, at)], 2),
  TensorListScatter: rule(({ inputs: [values, at] }) => [lists.scatteredRows(at, values)], 2),
  TensorListScatterV2: rule(({ inputs: [values, at] }) => [lists.scatteredRows(at, values)], 2),
  TensorListResize: rule(({ inputs: [rows, n] }) => [lists.resized(rows, n)], 2),
  // Rows of one extent; rows of several extents are no stacked tensor.
  TensorListConcat: rule(({ inputs: [rows] }) => lists.joinedRows(rows)),
  TensorListConcatV2: rule(({ inputs: [rows] }) => lists.joinedRows(rows)),
  TensorListConcatLists: rule(({ inputs }) => [concat([...inputs])], 2),
  TensorListSplit: rule(({ inputs: [values, , each] }) => [lists.parted(values, each)], 3),
  TensorListElementShape: rule((node) => [lists.elementDims(node)]),
  TensorListLength: rule(({ inputs: [rows] }) => [lists.count(rows)]),
  TensorListPushBack: rule(({ inputs: [rows, row] }) => [appendRow(rows, row)], 2),
  TensorListPopBack: rule(({ inputs: [rows] }) => lists.popped(rows), 1, {
    outputs: ["output_handle", "tensor"],
  }),
  TensorArrayV3: rule(lists.newArray, 1, { outputs: ["handle", "flow"] }),
  TensorArrayConcatV3: rule(({ inputs: [, rows] }) => lists.joinedRows(rows), 2),
  TensorArraySplitV3: rule(({ inputs: [, values, each] }) => [lists.parted(values, each)], 3),
  TensorArrayWriteV3: rule(
    ({ inputs: [, i, row, rows], attr }) => [(attr._grows?.b ? putRow : writeRow)(rows, i, row)],
    4,
  ),
  TensorArrayScatterV3: rule(
    ({ inputs: [, at, values, rows] }) => [writeRows(rows, at, values)],
    4,
  ),
  TensorArrayReadV3: rule(({ inputs: [, i, rows] }) => [gather(rows, i)], 3),
  TensorArrayGatherV3: rule(({ inputs: [, at, rows] }) => [gather(rows, at)], 3),
  TensorArraySizeV3: rule(({ inputs: [, rows] }) => [lists.count(rows)], 2),
  TensorArrayCloseV3: rule(() => [], 0),
  ...REFUSED,
};

/** The ops that are not as they stand, by name. */
export const OP_TABLE: Readonly<Record<string, OpEntry>> = TABLE;

/** Adds rules of an entry to the table. */
export function addEntries(entries: Readonly<Record<string, OpEntry>>): void {
  Object.assign(TABLE, entries);
}

function entryOf(op: string): OpEntry | undefined {
  return Object.hasOwn(OP_TABLE, op) ? OP_TABLE[op] : undefined;
}

/** The op of ours that a node of this op is, where no rule applies; undefined for none. */
export function opNamed(op: string): ReturnType<typeof lookupOp> {
  const entry = entryOf(op), name = entry !== undefined && "op" in entry ? entry.op : op;
  return lookupOp(name) ?? FILE_OPS.find((def) => def.name === name);
}

/** True for ops that make the handle of a table. */
export function isTable(op: string): boolean {
  return makesTable(opNamed(op)?.name ?? "");
}

/** The rule by which a node is written in others; undefined where it stands as it is, as it does once the op is one of ours. */
export function ruleFor(op: string, node: ImportedNode): RuleEntry | undefined {
  const entry = entryOf(op);
  if (entry === undefined || !("rule" in entry)) return undefined;
  return (entry.when?.(node) ?? lookupOp(op) === undefined) ? entry : undefined;
}

/** True for ops that can be imported, directly or as other ops. */
export function canImport(op: string): boolean {
  const entry = entryOf(op);
  return opNamed(op) !== undefined || entry !== undefined && "rule" in entry;
}

/** The reason why an op is refused; undefined for ops that are not, and for those that nothing is known of. */
export function refusalOf(op: string): string | undefined {
  const entry = entryOf(op);
  return entry !== undefined && "refused" in entry ? entry.refused : undefined;
}
