/**
 * Nests of Python values in SavedModels: the arguments and results of functions, with specs in the places of tensors.
 * Follows TensorFlow `struct.proto` and `nested_structure_coder.py`.
 */
import type { OpInput } from "../../engine/core/apply.ts";
import { CompositeTensor } from "../../engine/core/composite.ts";
import { asDType, dtypeOfArray } from "../../engine/core/dtype.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject, setKey } from "../../engine/core/nest.ts";
import { compatible, type PartialShape } from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { specText, TensorSpec } from "../../engine/core/tensor_spec.ts";
import { shapeFromJson } from "../graph_def/values.ts";
import { toInput } from "../../engine/ops/input.ts";
import { RaggedTensorSpec } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensorSpec } from "../../engine/ops/ragged/sparse_tensor.ts";
import { arrayOf, shapeOf, typeOf } from "./from_message.ts";
import {
  type StructuredValue,
  type TypeSpecProto,
  TypeSpecProto_TypeSpecClass as TypeSpecClass,
} from "../proto/saved_model_pb.ts";

/** Makes the spec of a ragged or sparse tensor. Throws `UnimplementedError` for other kinds. */
export function compositeSpec(type: TypeSpecProto): RaggedTensorSpec | SparseTensorSpec {
  const state = type.typeState?.kind.case === "tupleValue" ? type.typeState.kind.value.values : [];
  const [shape, dtype, rank] = state.map(({ kind }) => kind);
  if (shape?.case === "tensorShapeValue" && dtype?.case === "tensorDtypeValue") {
    const dims = shapeFromJson(shapeOf(shape.value)), of = asDType(typeOf(dtype.value));
    if (type.typeSpecClass === TypeSpecClass.SPARSE_TENSOR_SPEC) {
      return new SparseTensorSpec(dims, of);
    }
    const isRagged = type.typeSpecClass === TypeSpecClass.RAGGED_TENSOR_SPEC;
    if (isRagged && rank?.case === "int64Value") {
      return new RaggedTensorSpec(dims, of, Number(rank.value));
    }
  }
  throw new UnimplementedError(
    `Cannot load a value of type ${type.typeSpecClassName || TypeSpecClass[type.typeSpecClass]}`,
  );
}

/** Returns the spec of a leaf; null for one that is no tensor. */
function specOf({ kind }: StructuredValue): TensorSpec | null {
  if (kind.case !== "tensorSpecValue" && kind.case !== "boundedTensorSpecValue") return null;
  const { shape, dtype, name } = kind.value;
  const dims: PartialShape = shape === undefined ? null : shapeFromJson(shapeOf(shape));
  return TensorSpec(dims, asDType(typeOf(dtype)), name);
}

/** Returns the members of a container with their keys, in the order of the leaves; null for leaves. */
function membersOf({ kind }: StructuredValue): [string | number, StructuredValue][] | null {
  switch (kind.case) {
    case "listValue":
    case "tupleValue":
      return kind.value.values.map((v, i) => [i, v]);
    case "dictValue":
      return Object.entries(kind.value.fields).sort(([a], [b]) => (a < b ? -1 : 1));
    case "namedTupleValue":
      return kind.value.values.map(({ key, value }) => [key, value!]);
    default:
      return null;
  }
}

const isList = ({ kind }: StructuredValue): boolean =>
  kind.case === "listValue" || kind.case === "tupleValue";

/**
 * Returns the specs of the tensors of a structure, in order; those of composite values part by part, in Weft's order.
 */
export function specsIn(value: StructuredValue): TensorSpec[] {
  const members = membersOf(value);
  if (members !== null) return members.flatMap(([, v]) => specsIn(v));
  if (value.kind.case === "typeSpecValue") return [...compositeSpec(value.kind.value).components];
  const spec = specOf(value);
  return spec === null ? [] : [spec];
}

/** Replaces the specs of a structure by values of `next`, in order. */
export function packValue(value: StructuredValue, next: () => Tensor): unknown {
  const members = membersOf(value);
  if (members !== null) {
    if (isList(value)) return members.map(([, v]) => packValue(v, next));
    const out: Record<string, unknown> = {};
    for (const [key, v] of members) setKey(out, String(key), packValue(v, next));
    return out;
  }
  if (value.kind.case === "typeSpecValue") {
    const spec = compositeSpec(value.kind.value);
    return spec.pack(spec.components.map(next));
  }
  return specOf(value) === null ? plainValue(value) : next();
}

/** Converts a leaf that is no tensor to a JavaScript value. */
export function plainValue({ kind }: StructuredValue): unknown {
  switch (kind.case) {
    case "noneValue":
      return null;
    case "int64Value":
      return Number(kind.value);
    case "float64Value":
    case "stringValue":
    case "boolValue":
      return kind.value;
    case "tensorDtypeValue":
      return asDType(typeOf(kind.value));
    case "tensorValue":
    case "numpyValue":
      return arrayOf(kind.value);
    default:
      return undefined;
  }
}

/**
 * Returns the tensors of a value in the order of a structure; null where it does not fit. With `convert`, numbers and
 * lists become tensors of a spec; without, only values with a dtype of their own fit.
 */
export function matchValue(
  value: StructuredValue,
  given: unknown,
  convert: boolean,
): OpInput[] | null {
  const members = membersOf(value);
  if (members !== null) return matchMembers(value, members, given, convert);
  if (value.kind.case === "typeSpecValue") {
    const spec = compositeSpec(value.kind.value);
    const fits = given instanceof CompositeTensor && given.spec.constructor === spec.constructor &&
      spec.isCompatibleWith(given.spec as RaggedTensorSpec & SparseTensorSpec);
    return fits ? [...given.components as readonly Tensor[]] : null;
  }
  const spec = specOf(value);
  if (spec === null) return Object.is(plainValue(value), given ?? null) ? [] : null;
  const input = inputFor(spec, given, convert);
  return input === null ? null : [input];
}

function matchMembers(
  value: StructuredValue,
  members: readonly [string | number, StructuredValue][],
  given: unknown,
  convert: boolean,
): OpInput[] | null {
  const isFitting = isList(value)
    ? Array.isArray(given) && given.length === members.length
    : isPlainObject(given) && Object.keys(given).length === members.length &&
      members.every(([key]) => Object.hasOwn(given, key));
  if (!isFitting) return null;
  const out: OpInput[] = [];
  for (const [key, v] of members) {
    const found = matchValue(v, (given as Record<string | number, unknown>)[key], convert);
    if (found === null) return null;
    out.push(...found);
  }
  return out;
}

function inputFor(spec: TensorSpec, given: unknown, convert: boolean): OpInput | null {
  const hasType = given instanceof Tensor || given instanceof NdArray ||
    dtypeOfArray(given) !== undefined;
  if (given === null || given === undefined || !hasType && !convert) return null;
  let input: OpInput;
  try {
    input = toInput(given as TensorLike, "args", "call", hasType ? {} : { dtype: spec.dtype });
  } catch {
    return null;
  }
  const shape = input instanceof Tensor ? input.staticShape : input.shape;
  return input.dtype === spec.dtype && compatible(shape, spec.shape) ? input : null;
}

/** Formats a structure: `[float32[?,2], false]`. */
export function structureText(value: StructuredValue): string {
  const members = membersOf(value);
  if (members !== null) {
    return isList(value)
      ? `[${members.map(([, v]) => structureText(v)).join(", ")}]`
      : `{ ${members.map(([k, v]) => `${k}: ${structureText(v)}`).join(", ")} }`;
  }
  if (value.kind.case === "typeSpecValue") {
    const { typeSpecClass, typeSpecClassName } = value.kind.value;
    const isKnown = typeSpecClass === TypeSpecClass.RAGGED_TENSOR_SPEC ||
      typeSpecClass === TypeSpecClass.SPARSE_TENSOR_SPEC;
    return isKnown ? String(compositeSpec(value.kind.value)) : typeSpecClassName;
  }
  const spec = specOf(value);
  return spec === null ? JSON.stringify(plainValue(value)) ?? "?" : specText(spec);
}
