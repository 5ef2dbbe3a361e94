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

/** The type of `x[i]`: an element of a vector, a row of a matrix, either where the rank is not known. */
export type EntryOf<D extends DType, R extends number> = number extends R
  ? ElementOf<D> | NdArrayOf<D>
  : R extends 1 ? ElementOf<D>
  : R extends 2 ? NdArrayOf<D, 1>
  : NdArrayOf<D>;

/** A host array whose dtype is known, and whose rank may be: `x[i]` of an `NdArrayOf<"float32", 1>` is a number. */
export type NdArrayOf<D extends DType, R extends number = number> = DType extends D ? NdArray
  : NdArray & {
    readonly dtype: D;
    readonly data: DataTypeMap[D];
    [index: number]: EntryOf<D, R>;
  };

/** The rank of a vector or a matrix, as its type tells it; `number` for anything else. */
export type RankOf<V> = [ArrayLikeValue] extends [V] ? number
  : V extends TypedArray ? 1
  : V extends readonly (infer E)[] ? [E] extends [number | bigint | boolean | string] ? 1
    : [E] extends [TypedArray | readonly (number | bigint | boolean | string)[]] ? 2
    : number
  : number;

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
export type BodyValue<I, Leaf> = Leaf extends "array" ? NdArrayOf<DTypeOf<I>, RankOf<I>>
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
