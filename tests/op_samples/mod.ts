/** The samples of every op, by TensorFlow op name, and the ops that are tested elsewhere. */

import { ARRAY } from "./array.ts";
import { ARRAY_INDEX_SAMPLES } from "./array_index.ts";
import { ARRAY_MOVE_SAMPLES } from "./array_move.ts";
import { DYNAMIC } from "./dynamic.ts";
import { IMAGE } from "./image.ts";
import { IMPORTED } from "./imported.ts";
import { IMPORTED_MORE } from "./imported_more.ts";
import { IMPORTED_RAGGED } from "./imported_ragged.ts";
import type { SampleTable } from "./inputs.ts";
import { LINALG } from "./linalg.ts";
import { LINEAR } from "./linear.ts";
import { NAMES } from "./names.ts";
import { OPTIMIZER } from "./optimizer.ts";
import { POINTWISE } from "./pointwise.ts";
import { RANDOM } from "./random.ts";
import { REDUCE } from "./reduce.ts";
import { ROW_OPS } from "./rows.ts";
import { SPARSE } from "./sparse.ts";

/** Families of ops, each a file here. */
export const FAMILIES: Readonly<Record<string, SampleTable>> = {
  array: ARRAY,
  array_index: ARRAY_INDEX_SAMPLES,
  array_move: ARRAY_MOVE_SAMPLES,
  dynamic: DYNAMIC,
  image: IMAGE,
  imported: IMPORTED,
  imported_more: IMPORTED_MORE,
  imported_ragged: IMPORTED_RAGGED,
  linalg: LINALG,
  linear: LINEAR,
  names: NAMES,
  optimizer: OPTIMIZER,
  pointwise: POINTWISE,
  random: RANDOM,
  reduce: REDUCE,
  rows: ROW_OPS,
  sparse: SPARSE,
};

/** Ops without samples, each with the reason. */
export const WITHOUT_SAMPLES: Readonly<Record<string, string>> = {
  Const: "has meaning in graphs only: tests/graph",
  Placeholder: "has meaning in graphs only: tests/graph",
  PlaceholderWithDefault: "has meaning in graphs only: tests/graph",
  _FusedAttention: "takes expressions: tests/ops/attention_test.ts",
  _FusedAttentionGrad: "takes expressions: tests/ops/attention_test.ts",
  _FusedPointwise: "takes expressions: tests/ops/fused_test.ts",
  _GroupedColumnSum: "made by plans only: tests/ops/fused_test.ts",
  _GroupedUpdate: "takes expressions: tests/ops/fused_test.ts",
  _EachRow: "takes an op: tests/batching/seeds_test.ts",
  _ProductWrite: "made by plans only: tests/passes/product_writes_test.ts",
  ...Object.fromEntries(
    [
      ...["DecodePng", "DecodeJpeg", "DecodeImage", "DecodeWav", "EncodePng", "EncodeJpeg"],
      ...["DecodeBmp", "DecodeGif"],
    ].map(
      (name) => [name, "bytes of files: tests/io/codecs_test.ts, tests/io/pictures_test.ts"],
    ),
  ),
  ...Object.fromEntries(
    ["EncodeJpegVariableQuality", "EncodeWav", "ExtractJpegShape"].map(
      (name) => [name, "bytes of files: tests/names/data_test.ts"],
    ),
  ),
  ReadFile: "reads files: tests/io/codecs_test.ts",
  NoOp: "has neither inputs nor outputs: tests/graph",
  EnsureShape: "checks at run time: tests/graph",
  SameVector: "checks at run time: tests/composites",
  VarHandleOp: "state: tests/graph",
  ReadVariableOp: "state: tests/graph",
  AssignVariableOp: "state: tests/graph",
  VarIsInitializedOp: "state: tests/compat_v1",
  Assert: "effect: tests/compat_v1",
  AssignAddVariableOp: "state: tests/graph",
  AssignSubVariableOp: "state: tests/graph",
  ResourceApplyGradientDescent: "state: tests/train",
  ResourceApplyMomentum: "state: tests/train",
  ResourceApplyAdagrad: "state: tests/train",
  ResourceApplyAdagradV2: "state: tests/train",
  ResourceApplyAdadelta: "state: tests/train",
  ResourceApplyRMSProp: "state: tests/train",
  ResourceApplyCenteredRMSProp: "state: tests/train",
  ResourceApplyAdam: "state: tests/train",
  ResourceApplyAdaMax: "state: tests/train",
  ResourceApplyFtrl: "state: tests/compat_v1",
  ResourceApplyFtrlV2: "state: tests/compat_v1",
  ...Object.fromEntries(
    ["Momentum", "Adagrad", "AdagradV2", "Adadelta", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2"]
      .map((name) => [`ResourceSparseApply${name}`, "state: tests/compat_v1"]),
  ),
  ResourceScatterAdd: "state: tests/train",
  ResourceScatterSub: "state: tests/train",
  ResourceScatterUpdate: "state: tests/train",
  _OntoRows: "changes memory that it is given: tests/train",
  ...Object.fromEntries(
    [
      ...["HashTable", "MutableHashTable", "MutableHashTableOfTensors"],
      ...["InitializeTable", "LookupTableImport"],
      ...["LookupTableFind", "LookupTableSize"],
    ].flatMap((name) => [name, `${name}V2`].map((op) => [op, "state: tests/tf"])),
  ),
  LookupTableInsertV2: "state: tests/tf",
  LookupTableExportV2: "state: tests/tf",
  LookupTableRemoveV2: "state: tests/ops/text",
  ...Object.fromEntries(
    ["", "Resource"].flatMap((prefix) =>
      [
        "ConditionalAccumulator",
        ...["ApplyGradient", "TakeGradient", "SetGlobalStep", "NumAccumulated"].map((op) =>
          `Accumulator${op}`
        ),
      ].map((name) => [`${prefix}${name}`, "state, and waits for others: tests/compat_v1"])
    ),
  ),
  AsString: "writes numbers as their dtype has them: tests/tf",
  DecodeCSV: "has lists of outputs: tests/tf",
  ParseTensor: "reads what SerializeTensor writes: tests/tf",
  StatelessRandomGetAlg: "has no inputs: tests/tf",
  SparseAddGrad: "the gradient of SparseAdd: tests/graph_def",
  ParseExampleV2: "has lists of outputs: tests/tf",
  ParseSequenceExampleV2: "has lists of outputs: tests/names/sequences_test.ts",
  CheckNumerics: "fails or passes its input on: tests/debugging",
  StringFormat: "makes texts: tests/debugging",
  PrintV2: "writes to the console: tests/debugging",
  PyFunc: "runs the user's code: tests/script",
  PyFuncStateless: "runs the user's code: tests/script",
  EagerPyFunc: "runs the user's code: tests/script",
  TapeGradient: "goes backward through a script or a loop: tests/script, tests/graph",
  MergeGradients: "gradients of what scripts read: tests/autodiff",
  UnseenGradient: "gradients of what scripts read: tests/autodiff",
  ApplyUnseen: "updates what scripts read: tests/autodiff",
  PartitionedCall: "calls a function: tests/graph",
  StatefulPartitionedCall: "calls a function: tests/graph",
  If: "control flow: tests/graph",
  StatelessIf: "control flow: tests/graph",
  While: "control flow: tests/graph",
  StatelessWhile: "control flow: tests/graph",
  Scan: "control flow: tests/graph",
  _CustomGradient: "carries the user's gradient: tests/autodiff",
  _Recomputed: "carries a function's gradient: tests/autodiff/recompute_test.ts",
};
