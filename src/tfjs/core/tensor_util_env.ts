/** Conversion of values to tensors, for packages with ops of their own. */
import { dtypeOfArray } from "../../engine/core/dtype.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { tensor } from "./creation.ts";
import type { DataType } from "./types.ts";
import { inferDtype, isTypedArray } from "./util/values.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** The accepted types of an argument: an element type, any numeric one, or any. */
export type WantedDType = DataType | "numeric" | "string_or_numeric";

/** Returns the shape of nested values. Throws where rows differ in length. */
export function inferShape(val: unknown, dtype?: DataType): number[] {
  if (isTypedArray(val)) return dtype === "string" ? [] : [val.length];
  if (typeof val === "object" && val !== null && "texture" in val) {
    const { height, width } = val as unknown as { height: number; width: number };
    return [height, width * 4];
  }
  if (typeof val === "object" && val !== null && "buffer" in val && !ArrayBuffer.isView(val)) {
    return [(val as { buffer: { size: number } }).buffer.size / 4];
  }
  if (!Array.isArray(val)) return [];
  const shape: number[] = [];
  let first: unknown = val;
  while (Array.isArray(first) || isTypedArray(first) && dtype !== "string") {
    shape.push(first.length);
    first = first[0];
  }
  checkNest(val, shape, []);
  return shape;
}

function checkNest(val: unknown, shape: readonly number[], path: readonly number[]): void {
  const isNest = Array.isArray(val) || isTypedArray(val);
  if (shape.length === 0) {
    if (!isNest || val instanceof Uint8Array) return;
    throw new Error(
      `Cannot infer a shape: element [${
        path.join("][")
      }] is a list of ${val.length}, wanted a value`,
    );
  }
  if (!isNest) {
    throw new Error(
      `Cannot infer a shape: element [${path.join("][")}] is a value, wanted a list of ${shape[0]}`,
    );
  }
  if (val.length !== shape[0]) {
    throw new Error(
      `Cannot infer a shape: element [${path.join("][")}] has ${val.length} elements, wanted ${
        shape[0]
      }`,
    );
  }
  if (isTypedArray(val)) return;
  val.forEach((inner, i) => checkNest(inner, shape.slice(1), [...path, i]));
}

function checkDType(
  wanted: WantedDType,
  actual: string,
  { argName, functionName }: { argName: string; functionName: string },
): void {
  if (wanted === "string_or_numeric") return;
  if (!wanted) throw new Error(`Cannot convert argument '${argName}': the wanted type is null`);
  const isFitting = wanted === "numeric" ? actual !== "string" : wanted === actual;
  if (isFitting) return;
  throw new Error(
    `Cannot convert argument '${argName}' passed to '${functionName}': it is ${actual}, wanted ${wanted}`,
  );
}

/**
 * Converts a value to a tensor: itself, or its elements in the wanted type. Throws for another type and for a missing
 * value.
 */
export function convertToTensor(
  x: Tensor | TensorLike,
  argName: string,
  functionName: string,
  parseAsDtype: WantedDType = "numeric",
): Tensor {
  if (x instanceof Tensor) {
    checkDType(parseAsDtype, x.dtype, { argName, functionName });
    return x;
  }
  const isValue = Array.isArray(x) || dtypeOfArray(x) !== undefined ||
    ["number", "boolean", "string"].includes(typeof x);
  if (!isValue) {
    const type = x === null ? "null" : (x as object | undefined)?.constructor?.name ?? typeof x;
    throw new Error(
      `Cannot convert argument '${argName}' passed to '${functionName}': it is ${type}, wanted a tensor or values`,
    );
  }
  const found = inferDtype(x);
  const isAsked = parseAsDtype === "bool" || parseAsDtype === "int32" || parseAsDtype === "float32";
  const dtype = found !== "string" && isAsked ? parseAsDtype : found;
  checkDType(parseAsDtype, dtype, { argName, functionName });
  return tensor(x, inferShape(x, dtype), dtype);
}

/** Converts each value of a list to a tensor. Throws where there is no list. */
export function convertToTensorArray(
  arg: readonly (Tensor | TensorLike)[],
  argName: string,
  functionName: string,
  parseAsDtype: WantedDType = "numeric",
): Tensor[] {
  if (!Array.isArray(arg)) {
    throw new Error(
      `Cannot convert argument '${argName}' passed to '${functionName}': wanted a list of tensors`,
    );
  }
  return arg.map((x, i) => convertToTensor(x, `${argName}[${i}]`, functionName, parseAsDtype));
}
