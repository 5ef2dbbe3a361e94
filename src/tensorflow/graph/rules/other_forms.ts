/** Ops that other devices, debuggers and versions have in place of ones that are ours. */
import { asDType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { zeros } from "../../../engine/ops/array/creation.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { identity, shape } from "../../../engine/ops/array/view.ts";
import { asTensor, intScalar, toInput } from "../../../engine/ops/input.ts";
import { sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { sum } from "../../../engine/ops/reduce/reduce.ts";
import { callFunction } from "../../../engine/runtime/functions/concrete_function.ts";
import type { SymbolicTensor } from "../../../engine/graph/operation.ts";
import { shapeFromJson, text } from "../../graph_def/values.ts";
import {
  type ImportedNode,
  type ImportRule,
  intOf,
  type OpEntry,
  put,
  put1,
  rule,
  same,
  textOf,
} from "../rule.ts";
import { diagonals, zero } from "./numerics.ts";

const numbers = (value: ImportedNode["attr"][string] | undefined): number[] =>
  (value?.list?.i ?? []).map(Number);

/** Attributes of a convolution, as far as a node has them. */
function convAttrs({ attr }: ImportedNode): Record<string, unknown> {
  const lists = ["strides", "dilations", "explicit_paddings"].filter((name) => attr[name]?.list);
  const texts = ["padding", "data_format"].filter((name) => attr[name]?.s !== undefined);
  return {
    ...Object.fromEntries(lists.map((name) => [name, numbers(attr[name])])),
    ...Object.fromEntries(texts.map((name) => [name, textOf(attr[name], "")])),
  };
}

/** A gradient of a convolution that gets a tensor where ours gets its shape. */
const convGradient = (op: string, sized: 0 | 1): OpEntry =>
  rule(
    (node) => put(op, node.inputs.map((x, i) => i === sized ? shape(x) : x), convAttrs(node)),
    3,
  );

/** Calls a function that is meant for another device. */
const called: ImportRule = ({ inputs: [, ...inputs], attr, functions }) => {
  const given = inputs as readonly Tensor[] as readonly SymbolicTensor[];
  const specs = given.map(({ dtype, staticShape }) => ({ dtype, shape: staticShape }));
  return callFunction(functions.get(attr.f?.func?.name ?? "", specs), given);
};

/** Gradients of values and of the value of rows that had none. */
const filledGradient: OpEntry = rule(
  ({ inputs: [places, dy] }) => {
    const own = gather(dy, places);
    return [own, sub(sum(dy), sum(own))];
  },
  2,
  { outputs: ["d_values", "d_default_value"] },
);

/** Counts of each row's numbers. */
const raggedCounts: ImportRule = ({ inputs: [splits, values, weights], attr }) => {
  const sparse = put("RaggedTensorToSparse", [splits, values]);
  return put("SparseCountSparseOutput", [...sparse, weights], {
    minlength: intOf(attr.minlength, -1),
    maxlength: intOf(attr.maxlength, -1),
    binary_output: attr.binary_output?.b ?? false,
  });
};

const COUNTS = ["output_indices", "output_values", "output_dense_shape"];

/** Zeros of any dtype: texts without letters. */
function nothing({ attr }: ImportedNode): Tensor {
  const dtype = asDType(attr.dtype?.type);
  return dtype === "string" ? asTensor(toInput("", "value", "Empty")) : cast(0, dtype);
}

const unchanged: OpEntry = rule(({ inputs: [x] }) => [identity(x)]);

/** The entries of these ops. */
export const OTHER_FORMS: Readonly<Record<string, OpEntry>> = {
  BatchMatrixDiag: rule(
    diagonals("MatrixDiagV3", (x) => [intScalar(0), intScalar(-1), intScalar(-1), zero(x)]),
  ),
  BatchMatrixDiagPart: rule(diagonals("MatrixDiagPartV3", (x) => [intScalar(0), zero(x)])),
  BatchMatrixSetDiag: rule(diagonals("MatrixSetDiagV3", () => [intScalar(0)]), 2),
  BatchMatrixSolveLs: same("MatrixSolveLs"),
  Conv2DBackpropInputV2: convGradient("Conv2DBackpropInput", 0),
  Conv2DBackpropFilterV2: convGradient("Conv2DBackpropFilter", 1),
  Conv3DBackpropInput: convGradient("Conv3DBackpropInputV2", 0),
  Conv3DBackpropFilter: convGradient("Conv3DBackpropFilterV2", 1),
  Copy: unchanged,
  CopyHost: unchanged,
  DebugIdentity: unchanged,
  DebugIdentityV2: unchanged,
  DebugIdentityV3: unchanged,
  // Bodies run on the host thread, which is a CPU.
  DeviceIndex: rule(
    ({ attr }) => {
      const names = (attr.device_names?.list?.s ?? []).map(text), at = names.indexOf("CPU");
      return [identity(intScalar(at < 0 ? names.length : at))];
    },
    0,
  ),
  Empty: rule((node) => [put1("Fill", [node.inputs[0], nothing(node)])]),
  // No op reads it where it stands.
  FakeParam: rule(
    ({ attr }) => {
      const dims = shapeFromJson(attr.shape?.shape ?? {}) ?? [];
      return [identity(zeros(dims.map((d) => d ?? 0), asDType(attr.dtype?.type)))];
    },
    0,
  ),
  HostConst: same("Const"),
  RaggedCountSparseOutput: rule(raggedCounts, 3, { outputs: COUNTS }),
  RaggedFillEmptyRowsGrad: filledGradient,
  RandomPoisson: rule(
    ({ inputs: [dims, rate], attr }) =>
      put("RandomPoissonV2", [dims, rate], {
        seed: intOf(attr.seed, 0),
        seed2: intOf(attr.seed2, 0),
        dtype: asDType(attr.dtype?.type),
      }),
    2,
  ),
  RemoteCall: rule(called),
  SparseFillEmptyRowsGrad: filledGradient,
};
