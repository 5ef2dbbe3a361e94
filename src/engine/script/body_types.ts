/** Types of bodies: the arguments for their inputs. */
import type { ArrayLikeObject, ArrayLikeValue } from "../core/convert.ts";
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
export type ElementOf<D extends DType> = D extends "bool" ? boolean
  : D extends "int64" | "uint64" ? bigint
  : D extends "string" ? Uint8Array
  : D extends "complex64" | "complex128" ? readonly [number, number]
  : D extends "resource" | "variant" ? ElementValue
  : number;

/** A host array of a known dtype. */
export type NdArrayOf<D extends DType> = DType extends D ? NdArray
  : NdArray & {
    readonly dtype: D;
    readonly data: DataTypeMap[D];
    [index: number]: ElementOf<D> | NdArrayOf<D>;
  };

/** The dtype of a value as a tensor; `DType` if its type does not tell. */
export type DTypeOf<V> = [ArrayLikeValue] extends [V] ? DType
  : V extends { readonly dtype: infer D extends DType } ? D
  : V extends number ? "float32"
  : V extends bigint ? "int64"
  : V extends boolean ? "bool"
  : V extends string ? "string"
  : V extends readonly (infer E)[] ? DTypeOf<E>
  : V extends TypedArray ? DTypeOfTyped<V>
  : DType;

/** The dtype of a typed array. */
export type DTypeOfTyped<V extends TypedArray> = V extends Float32Array ? "float32"
  : V extends Float64Array ? "float64"
  : V extends Int32Array ? "int32"
  : V extends Uint8Array | Uint8ClampedArray ? "uint8"
  : V extends Int8Array ? "int8"
  : V extends Int16Array ? "int16"
  : V extends Uint16Array ? "uint16"
  : V extends Uint32Array ? "uint32"
  : V extends BigInt64Array ? "int64"
  : V extends BigUint64Array ? "uint64"
  : "float16";

/** True for the type of one tensor: anything but a list or object that contains tensors. */
export type IsBodyLeaf<I> = I extends
  | Tensor
  | CompositeTensor
  | NdArray
  | TypedArray
  | ArrayLikeObject
  | number
  | bigint
  | boolean
  | string ? true
  : I extends readonly (infer E)[] ? IsPlainLeaf<E>
  : false;

/** True for values, and lists of them, that form one tensor; also for undecided types. */
export type IsPlainLeaf<E> = [ArrayLikeValue] extends [E] ? true
  : [E] extends [number | bigint | boolean | string] ? true
  : [E] extends [readonly (infer F)[]] ? IsPlainLeaf<F>
  : false;

/** The argument of a body for one tensor: a host array, a tensor, or `Leaf` itself. */
export type BodyValue<I, Leaf> = Leaf extends "array" ? NdArrayOf<DTypeOf<I>>
  : Leaf extends "tensor" ? (I extends CompositeTensor ? I : Tensor)
  : Leaf;

/** The argument of a body for an input, in the input's nest. */
export type BodyArgument<I, Leaf> = [ArrayLikeValue] extends [I] ? BodyValue<Tensor, Leaf>
  : I extends unknown ? IsBodyLeaf<I> extends true ? BodyValue<I, Leaf>
    : { -readonly [K in keyof I]: BodyArgument<I[K], Leaf> }
  : never;

/**
 * The arguments of a body for a list of inputs: one for each, then the context. If their number is unknown, each
 * argument may be either.
 */
export type BodyArguments<I extends readonly unknown[], Leaf> = number extends I["length"]
  ? (BodyArgument<I[number], Leaf> & ScriptContext)[]
  : [...{ -readonly [K in keyof I]: BodyArgument<I[K], Leaf> }, ScriptContext];

/** A body of host arrays. */
export type ArrayBody<I extends readonly unknown[]> = (
  ...args: BodyArguments<I, "array">
) => unknown;

/** A body of tensors. */
export type TensorBody<I extends readonly unknown[]> = (
  ...args: BodyArguments<I, "tensor">
) => unknown;
