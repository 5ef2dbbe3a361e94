/**
 * From what users pass to what `apply` takes: tensors stay, variables are read, JavaScript values become literals.
 * May import core.
 */
import type { OpInput } from "../core/apply.ts";
import { type DType, DTYPES, isInteger, promote } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { describe, toNdArray } from "../core/convert.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { apply1 } from "../core/apply.ts";
import { lookupOp } from "../core/op.ts";
import type { PartialShape } from "../core/shape.ts";

/** Dtype rules for {@linkcode toInput}. */
export interface InputOptions {
  /** Dtype that JavaScript values take. */
  readonly dtype?: DType | undefined;
}

/** Converts one argument. Throws `TypeError` naming the argument and the function where it is no tensor. */
export function toInput(
  x: TensorLike,
  arg: string,
  fn: string,
  options: InputOptions = {},
): OpInput {
  if (x instanceof Tensor) return x.asOpInput();
  if (x instanceof NdArray && options.dtype === undefined) return x;
  if (x === null || x === undefined || typeof x === "function" || isBareObject(x)) {
    throw new TypeError(
      `Argument '${arg}' passed to '${fn}' must be a Tensor or TensorLike, but got ${describe(x)}`,
    );
  }
  return toNdArray(x, options);
}

function isBareObject(x: unknown): boolean {
  return typeof x === "object" && !Array.isArray(x) && !ArrayBuffer.isView(x) &&
    !(Array.isArray((x as { shape?: unknown }).shape));
}

/** Converts a list of arguments. */
export function toInputs(
  xs: readonly TensorLike[],
  arg: string,
  fn: string,
  options: InputOptions = {},
): OpInput[] {
  if (!Array.isArray(xs)) {
    throw new TypeError(
      `Argument '${arg}' passed to '${fn}' must be a list of tensors, but got ${describe(xs)}`,
    );
  }
  return xs.map((x, i) => toInput(x, `${arg}[${i}]`, fn, options));
}

/** Converts to another dtype where it differs. */
export function castInput(x: OpInput, dtype: DType): OpInput {
  if (x.dtype === dtype) return x;
  if (x instanceof NdArray) return toNdArray(x, { dtype });
  return apply1(lookupOp("Cast")!, [x], { DstT: dtype });
}

/** Integer and boolean inputs of float functions become float32. */
export function toFloatInput(x: TensorLike, arg: string, fn: string): OpInput {
  const input = toInput(x, arg, fn);
  const kind = DTYPES[input.dtype].kind;
  return kind === "int" || kind === "uint" || kind === "bool" ? castInput(input, "float32") : input;
}

/**
 * Converts two arguments and brings them to one dtype: the wider of bool < int < float < complex.
 * A JavaScript number takes the other's dtype where that holds it.
 */
export function toMatchingInputs(
  a: TensorLike,
  b: TensorLike,
  fn: string,
  names: readonly [string, string] = ["a", "b"],
): [OpInput, OpInput] {
  const x = toInput(a, names[0], fn, literalOptions(a, b));
  const y = toInput(b, names[1], fn, literalOptions(b, a));
  if (x.dtype === y.dtype) return [x, y];
  const t = promote(x.dtype, y.dtype);
  return [castInput(x, t), castInput(y, t)];
}

function literalOptions(literal: TensorLike, other: TensorLike): InputOptions {
  if (typeof literal !== "number" || !(other instanceof Tensor || other instanceof NdArray)) {
    return {};
  }
  const t = other.dtype;
  const kind = DTYPES[t].kind;
  if (kind === "float" || kind === "complex") return { dtype: t };
  return isInteger(t) && Number.isInteger(literal) ? { dtype: t } : {};
}

/** A host input: axes, shapes, permutations. Numbers become an int32 literal. */
export function toIndexInput(x: TensorLike, arg: string, fn: string): OpInput {
  return toInput(x, arg, fn, {
    dtype: x instanceof NdArray || x instanceof Tensor ? undefined : "int32",
  });
}

/** An int32 literal of rank 1. */
export function intVector(values: readonly number[]): NdArray {
  return new NdArray("int32", [values.length], new Int32Array(values));
}

/** An int32 literal of rank 0. */
export function intScalar(value: number): NdArray {
  return new NdArray("int32", [], new Int32Array([value]));
}

/** Static shape of an input. */
export function shapeOfInput(x: OpInput): PartialShape {
  return x instanceof Tensor ? x.staticShape : x.shape;
}

/** The input as a tensor: literals become constants. */
export function asTensor(x: OpInput): Tensor {
  if (x instanceof Tensor) return x;
  return apply1(lookupOp("Identity")!, [x]);
}
