/** Converts between tensors and a body's JavaScript values: arguments in, checked results out. */
import type { OpInput } from "../core/apply.ts";
import { CompositeSpec, CompositeTensor, leafSpecs, packComponents } from "../core/composite.ts";
import { describe, toNdArray } from "../core/convert.ts";
import { encodeString, typeName } from "../core/text.ts";
import { codeOf, type DType, dtypeOfArray, DTYPES } from "../core/dtype.ts";
import { dtypeOfForeign, type ForeignArray, isForeignArray } from "../core/arrays/foreign_array.ts";
import { firstLeaf, isNested, isPlainObject, structureText } from "../core/nest.ts";
import { elementsOf, NdArray } from "../core/nd_array.ts";
import { compatible, isConcrete, type PartialShape, shapeText, sizeOf } from "../core/shape.ts";
import { shortText, Tensor } from "../core/tensor.ts";
import { RangeError } from "../core/throwing/builtin_errors.ts";
import { InternalError, InvalidArgumentError, UnknownError } from "../core/errors.ts";
import { copyArray } from "../runtime/run/run_value.ts";
import type { Batch } from "./batch.ts";
import { type Script, scriptName } from "./script.ts";
import { nthValue, unsupported } from "./script_errors.ts";

/** Returns the arguments of a call: the nest of `inp` with values. */
export function packArguments(script: Script, values: readonly unknown[]): readonly unknown[] {
  if (script.flat) return values;
  return packComponents(script.args, values) as unknown[];
}

/** True for a single value: a tensor, an array with a dtype, bytes. */
function isTyped(v: unknown): boolean {
  return v instanceof NdArray || v instanceof Tensor || v instanceof CompositeTensor ||
    dtypeOfArray(v) !== undefined || isForeignArray(v);
}

/** Elements in row-major order with their shape; the dtype is a typed array's, else the declared one. */
interface Shaped {
  readonly shape: readonly number[];
  readonly data: unknown;
}

function isShaped(v: unknown): v is Shaped {
  return isPlainObject(v) && Array.isArray(v.shape) && v.data !== undefined &&
    v.dtype === undefined;
}

/** Rank of the only result; 0 where it is not declared. */
function resultRank({ outputs: { specs: [{ shape }] }, vectorized }: Script): number {
  return shape === null ? 0 : shape.length + Number(vectorized);
}

/** True for several typed arrays as the rows of one declared value of at least two dimensions. */
function isRows(list: readonly unknown[], rank: number): boolean {
  return list.length > 1 && rank > 1 &&
    list.every((row) => ArrayBuffer.isView(row) && dtypeOfArray(row) !== undefined);
}

/**
 * Splits a body's result into one value per declared output. Throws `InvalidArgumentError` with TensorFlow's count
 * message.
 */
export function splitResult(script: Script, result: unknown): readonly unknown[] {
  const { specs, structure, single } = script.outputs;
  const n = specs.length;
  const count = (m: number): InvalidArgumentError =>
    new InvalidArgumentError(
      `${script.token} returns ${m} values, but expects to see ${
        leafSpecs(structure, specs).length
      } values.`,
    );
  if (result === undefined || result === null) {
    if (n === 0) return [];
    const { message } = count(0), name = script.func.name;
    throw new InvalidArgumentError(
      `${message} Its function${name && ` '${name}'`} returned ${result}: is a return missing?`,
    );
  }
  if (single) {
    const isList = Array.isArray(result) && !isRows(result, resultRank(script)) &&
      result.some((v) =>
        v === null || isShaped(v) ||
        isTyped(v) && !(v instanceof Uint8Array && specs[0].dtype === "string")
      );
    if (isList && result.length !== 1) throw count(result.length);
    return leafValues(script, structure, isList ? result[0] : result);
  }
  if (Array.isArray(structure)) {
    if (!Array.isArray(result)) {
      if (isForeignArray(result) || isShaped(result) || !isPlainObject(result)) {
        if (structure.length === 1) return matchStructure(script, structure, [result]);
        throw count(1);
      }
      const keys = Object.keys(result).join(", ") || "none";
      throw unsupported(
        result,
        `its keys are ${keys}, where Tout wants a list of ${structure.length}`,
      );
    }
    if (result.length !== structure.length) throw count(result.length);
  }
  return matchStructure(script, structure, result);
}

function matchStructure(script: Script, structure: unknown, value: unknown): readonly unknown[] {
  if (!isNested(structure)) return leafValues(script, structure, value);
  const differ = (how: string): InvalidArgumentError =>
    new InvalidArgumentError(
      `${how} ${script.token} returned ${describe(value)}, while Tout has structure ${
        structureText(structure)
      }`,
    );
  const isList = Array.isArray(structure);
  if (isList ? !Array.isArray(value) : !isPlainObject(value)) {
    const [what, wanted] = isList ? ["sequence type", "Array"] : ["type", "Object"];
    throw differ(
      `TypeError: The two structures don't have the same ${what}. Input structure has type ${
        typeName(value)
      }, while shallow structure has type ${wanted}.`,
    );
  }
  if (Array.isArray(structure) && Array.isArray(value)) {
    if (value.length !== structure.length) {
      throw differ(
        `ValueError: The two structures don't have the same sequence length. Input structure has length ${value.length}, while shallow structure has length ${structure.length}.`,
      );
    }
    return structure.flatMap((s, i) => [...matchStructure(script, s, value[i])]);
  }
  const record = structure as Record<string, unknown>, values = value as Record<string, unknown>;
  const keys = Object.keys(record).sort(), given = Object.keys(values).sort();
  if (keys.join() !== given.join()) {
    throw differ(
      `ValueError: The shallow_tree's keys are not a subset of the input_tree's keys, or others are left over: received [${given}], wanted [${keys}].`,
    );
  }
  return keys.flatMap((k) => [...matchStructure(script, record[k], values[k])]);
}

/**
 * Returns the tensors of one declared value. Throws `InvalidArgumentError` with TensorFlow's phrase if only one of both
 * is composite.
 */
function leafValues(script: Script, declared: unknown, value: unknown): readonly unknown[] {
  const isComposite = !(value instanceof NdArray) && value instanceof CompositeTensor;
  const spec = declared instanceof CompositeSpec;
  if (!isComposite && !spec) return [value];
  if (
    isComposite && spec && declared.constructor === value.spec.constructor &&
    declared.isCompatibleWith(value.spec)
  ) return value.components;
  const wanted = spec ? String(declared) : "a tensor";
  const given = isComposite ? String(value) : describe(value);
  throw new InvalidArgumentError(
    `ValueError: py_function: func=${
      script.func.name || script.token
    } returned ${given}, which did not match Tout=${wanted}.\nIn particular, ${given} is not ${wanted}`,
  );
}

/** Options of converting a numpy-style result. */
interface ResultOptions {
  /** The required static shape. */
  readonly shape: PartialShape;
  /** True where the array may be the body's own, since it is copied before the body can write to it again. */
  readonly shared?: boolean;
  /** The batch that it is of; null where it is none. */
  readonly batch?: Batch | null;
}

/**
 * Converts a numpy-style result to a host array that shares no memory with the body. Throws `InvalidArgumentError` or
 * `InternalError`.
 */
export function hostResult(
  script: Script,
  i: number,
  value: unknown,
  { shape, shared = false, batch = null }: ResultOptions,
): NdArray {
  const { dtype } = script.outputs.specs[i];
  const isArray = value instanceof NdArray;
  let array: NdArray;
  if (!isArray && value instanceof Tensor) {
    const t = value.readValue();
    array = t.ndarraySync();
    if (t !== value) t.dispose();
  } else if (!isArray && isShaped(value)) {
    array = shapedResult(script, i, value);
  } else if (isArray || isTyped(value)) {
    const typed = inDeclaredShape(value, typedResult(value, dtype), shape);
    checkAttached(script, i, typed);
    checkDType(script, i, typed.dtype, dtype);
    // A worker's result is not shared, and arrays of other libraries were copied when read.
    const isOwn = shared && dtype !== "string";
    array = isOwn || script.worker || isForeignArray(value) ? typed : copyArray(typed);
  } else array = inDeclaredShape(value, plainResult(script, i, value, dtype), shape);
  checkDType(script, i, array.dtype, dtype);
  checkShape(script, i, array.shape, { shape, batch });
  return array;
}

/**
 * Applies the declared shape to values without one: a flat typed array, if the shape is complete, and an empty list,
 * whose inner axes are unknown.
 */
function inDeclaredShape(value: unknown, array: NdArray, shape: PartialShape): NdArray {
  if (shape === null || compatible(shape, array.shape)) return array;
  if (Array.isArray(value)) {
    const empty = shape.map((d) => d ?? 0);
    return value.length === 0 && sizeOf(empty) === 0 ? array.reshape(empty) : array;
  }
  const isFlat = dtypeOfArray(value) !== undefined && array.rank === 1;
  return isFlat && isConcrete(shape) && sizeOf(shape) === array.size ? array.reshape(shape) : array;
}

/**
 * Converts `{ shape, data }` to an array that shares no memory with the body; a worker's is sent already. Throws
 * `InvalidArgumentError` if they do not fit.
 */
function shapedResult(script: Script, i: number, { shape, data }: Shaped): NdArray {
  const { dtype } = script.outputs.specs[i];
  const read = (): NdArray => toNdArray(data, dtype === "bool" ? { dtype } : {});
  const flat = ArrayBuffer.isView(data) || data instanceof NdArray
    ? (script.worker ? read() : copyArray(read()))
    : plainResult(script, i, data, dtype);
  checkDType(script, i, flat.dtype, dtype);
  if (shape.every((d) => Number.isInteger(d) && d >= 0) && sizeOf(shape) === flat.size) {
    return flat.reshape([...shape]);
  }
  throw new InvalidArgumentError(
    `ValueError: ${nthValue(script, i)} has shape ${
      shapeText(shape)
    } and ${flat.size} elements: its shape must be non-negative integers whose product is that number`,
  );
}

function typedResult(value: unknown, dtype: DType): NdArray {
  if (value instanceof NdArray) return value;
  if (value instanceof Uint8Array && dtype === "string") return new NdArray("string", [], [value]);
  if (isForeignArray(value)) checkForeign(value);
  return toNdArray(value);
}

/** Throws `InternalError` with TensorFlow's phrase for an array with an element type that tensors lack. */
function checkForeign(array: ForeignArray): void {
  try {
    dtypeOfForeign(array);
  } catch {
    throw new InternalError(`Unsupported numpy data type: ${String(array.dtype)}`);
  }
}

/** Throws `InvalidArgumentError` for an array whose buffer was transferred. */
function checkAttached(script: Script, i: number, array: NdArray): void {
  const { buffer } = elementsOf(array) as { readonly buffer?: { readonly detached?: boolean } };
  if (buffer?.detached !== true) return;
  throw new InvalidArgumentError(
    `ValueError: ${nthValue(script, i)} is detached: its buffer was transferred`,
  );
}

/** Converts JS numbers, booleans, strings and nested arrays to the declared dtype, if it can hold them. */
function plainResult(script: Script, i: number, value: unknown, dtype: DType): NdArray {
  const leaf = firstLeaf(value);
  const isValue = ["number", "bigint", "boolean", "string"].includes(typeof leaf) ||
    dtypeOfArray(leaf) !== undefined || Array.isArray(leaf) || isComplexNumber(value);
  if (!isValue) throw unsupported(leaf);
  if (typeof leaf === "string" && dtype !== "string") checkDType(script, i, "string", dtype);
  try {
    if (typeof value === "string") return new NdArray("string", [], [encodeString(value)]);
    if (isComplexNumber(value) && DTYPES[dtype].kind !== "complex") {
      checkDType(script, i, "complex128", dtype);
    }
    const plain = isComplexNumber(value) ? [value.re, value.im] : value;
    const array = toNdArray(plain, { dtype, numbers: "exact" });
    checkRange(array, plain);
    return dtype === "string" ? copyArray(array) : array;
  } catch (e) {
    if (!(e instanceof TypeError || e instanceof RangeError)) throw e;
    throw new InvalidArgumentError(
      `${e.name}: ${e.message}: ${nthValue(script, i)} must fit ${DTYPES[dtype].tfName}`,
      { cause: e },
    );
  }
}

/** True for a complex number of another library. */
function isComplexNumber(v: unknown): v is { re: number; im: number } {
  if (typeof v !== "object" || v === null) return false;
  const { re, im } = v as Record<string, unknown>;
  return typeof re === "number" && typeof im === "number";
}

/** Throws `RangeError` for a number that is too big for the dtype, or that is no boolean where one is required. */
function checkRange({ dtype, data }: NdArray, value: unknown): void {
  const { kind } = DTYPES[dtype];
  if (kind === "bool") {
    for (const v of numbersIn(value)) {
      if (v !== 0 && v !== 1) throw new RangeError(`Cannot convert ${v} to bool`);
    }
  } else if (
    (kind === "float" || kind === "complex") && dtype !== "float64" && dtype !== "complex128"
  ) {
    const code = codeOf(dtype);
    const isLost = code === null
      ? (x: number) => x === Infinity || x === -Infinity
      : (x: number) => !Number.isFinite(code.decode(x));
    if (!(data as Float32Array).some(isLost)) return;
    for (const v of numbersIn(value)) {
      if (Number.isFinite(v) && !Number.isFinite(toNdArray(v, { dtype }).at(0))) {
        throw new RangeError(`Cannot convert ${v} to ${dtype}: it is out of range`);
      }
    }
  }
}

function* numbersIn(v: unknown): Generator<number> {
  if (Array.isArray(v)) { for (const e of v) yield* numbersIn(e); }
  else if (typeof v === "number") yield v;
}

/** Throws `InvalidArgumentError` with TensorFlow's phrase for another dtype. */
function checkDType(script: Script, i: number, actual: DType, wanted: DType): void {
  if (actual === wanted) return;
  throw new InvalidArgumentError(
    `${nthValue(script, i)} is ${DTYPES[actual].tfName}, but expects ${DTYPES[wanted].tfName}`,
  );
}

/** Throws `InvalidArgumentError` for a value that does not have the declared shape. */
function checkShape(
  script: Script,
  i: number,
  actual: readonly number[],
  { shape: declared, batch }: ResultOptions,
): void {
  if (batch && actual[0] !== batch.rows) {
    throw new InvalidArgumentError(
      `${nthValue(script, i)} has shape ${
        shapeText(actual)
      } for a batch of ${batch.rows}: results of the vectorized script '${
        scriptName(script)
      }' must have the leading axis of its inputs`,
    );
  }
  if (compatible(declared, actual)) return;
  throw new InvalidArgumentError(
    `${nthValue(script, i)} has shape ${
      shapeText(actual)
    }, which is not compatible with the declared shape ${shapeText(declared)}`,
  );
}

/** Converts an eager-style result: a tensor of the declared dtype, or a literal of it. */
export function eagerResult(
  script: Script,
  i: number,
  value: unknown,
  options: ResultOptions,
): OpInput {
  if (value instanceof Tensor) return tensorResult(script, i, value, options);
  try {
    return hostResult(script, i, value, options);
  } catch (e) {
    if (!(e instanceof InternalError)) throw e;
    throw new InvalidArgumentError(
      `ValueError: Attempt to convert a value (${describe(value)}) with an unsupported type (${
        typeName(value)
      }) to a Tensor: ${nthValue(script, i)}`,
    );
  }
}

function tensorResult(script: Script, i: number, value: Tensor, options: ResultOptions): Tensor {
  const { dtype } = script.outputs.specs[i];
  if (value.dtype === "resource" || "resource" in value) {
    throw new UnknownError(
      "RuntimeError: Attempting to return a variable from an eagerly executed py_func. Only numeric data structures like Tensors or NdArrays should be returned; to return the value of a variable, make sure to obtain the Tensor backing it by calling `.readValue()` on the variable in question",
    );
  }
  if (value.isSymbolic) {
    throw new InvalidArgumentError(
      `TypeError: ${value} is out of scope and cannot be used here: it belongs to a graph, return a tensor made in the body`,
    );
  }
  if (value.isDisposed) {
    throw new InvalidArgumentError(
      `ValueError: ${nthValue(script, i)} is a disposed tensor: ${shortText(value)}`,
    );
  }
  if (value.dtype !== dtype) {
    throw new InvalidArgumentError(
      `ValueError: Tensor conversion requested dtype ${dtype} for Tensor with dtype ${value.dtype}: ${
        nthValue(script, i)
      } is ${DTYPES[value.dtype].tfName}, but expects ${DTYPES[dtype].tfName}`,
    );
  }
  checkShape(script, i, value.shape, options);
  return value;
}
