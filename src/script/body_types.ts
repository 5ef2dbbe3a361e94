/**
 * Types of bodies: which arguments they get for their inputs.
 */
import type { ArrayLikeObject } from "../core/convert.ts";
import type { CompositeTensor } from "../core/composite.ts";
import type { DType, TypedArray } from "../core/dtype.ts";
import type { ElementValue, NdArray } from "../core/nd_array.ts";
import type { DataTypeMap } from "../core/ranks.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import type { ScriptContext } from "./script.ts";

/** Arguments of a script: tensors, values, or nests of them. */
export type ScriptInput = TensorLike | CompositeTensor | readonly ScriptInput[] | {
  readonly [key: string]: ScriptInput;
};

/** JavaScript's values of the elements of a dtype. */
type ElementOf<D extends DType> = D extends "bool" ? boolean
  : D extends "int64" | "uint64" ? bigint
  : D extends "string" ? Uint8Array
  : D extends "complex64" | "complex128" ? readonly [number, number]
  : D extends "resource" | "variant" ? ElementValue
  : number;

/** A host array whose dtype is known. */
export type NdArrayOf<D extends DType> = DType extends D ? NdArray
  : NdArray & {
    readonly dtype: D;
    readonly data: DataTypeMap[D];
    [index: number]: ElementOf<D> | NdArrayOf<D>;
  };

/** The dtype that a value has as a tensor; `DType` where its type does not tell. */
type DTypeOf<V> = V extends { readonly dtype: infer D extends DType } ? D
  : V extends number ? "float32"
  : V extends bigint ? "int64"
  : V extends boolean ? "bool"
  : V extends string ? "string"
  : V extends readonly (infer E)[] ? DTypeOf<E>
  : { [D in DType]: V extends DataTypeMap[D] ? D extends PlainDType ? D : never : never }[DType];

/** The dtypes that typed arrays have. */
type PlainDType = Exclude<
  DType,
  "bool" | "bfloat16" | "string" | "complex64" | "complex128" | "resource" | "variant"
>;

/** True for what is one tensor: anything but a list or an object with tensors and the like in it. */
type IsLeaf<I> = I extends
  | Tensor
  | CompositeTensor
  | NdArray
  | TypedArray
  | ArrayLikeObject
  | number
  | bigint
  | boolean
  | string ? true
  : I extends readonly (infer E)[] ? IsPlain<E>
  : false;

/** True for values, and lists of them, that are one tensor together. */
type IsPlain<E> = [E] extends [number | bigint | boolean | string] ? true
  : [E] extends [readonly (infer F)[]] ? IsPlain<F>
  : false;

/** An input in its nest, with what the body gets in place of each tensor. */
type Given<I, Leaf extends "array" | "tensor"> = IsLeaf<I> extends true
  ? (Leaf extends "array" ? NdArrayOf<DTypeOf<I>> : I extends CompositeTensor ? I : Tensor)
  : { -readonly [K in keyof I]: Given<I[K], Leaf> };

/**
 * The arguments of a body for a list of inputs: one for each, then the context. Where it is not known how many there are, an argument
 * may be either.
 */
export type BodyArguments<I extends readonly unknown[], Leaf extends "array" | "tensor"> =
  number extends I["length"] ? (Given<I[number], Leaf> & ScriptContext)[]
    : [...{ -readonly [K in keyof I]: Given<I[K], Leaf> }, ScriptContext];

/** A body of host arrays. */
export type ArrayBody<I extends readonly unknown[]> = (
  ...args: BodyArguments<I, "array">
) => unknown;

/** A body of tensors. */
export type TensorBody<I extends readonly unknown[]> = (
  ...args: BodyArguments<I, "tensor">
) => unknown;
