/** Types of arguments that may be ragged or sparse, and of results that then are so too. */
import type { CompositeTensor } from "./composite.ts";
import type { Tensor, TensorLike } from "./tensor.ts";

/** An argument of an op that has rules for composite values, such as ragged tensors. */
export type Operand = TensorLike | CompositeTensor;

/** The composite types of a union; none of `any`, and of a type that may be anything. */
export type CompositeOf<X> = 0 extends 1 & X ? never
  : Operand extends X ? never
  : Extract<X, CompositeTensor>;

/** The result of an op on these operands: of the type of the first composite one, else a tensor. */
export type Like<X, Y = unknown, Z = unknown> = [X] extends [CompositeOf<X>] ? X
  : [Y] extends [CompositeOf<Y>] ? Y
  : [Z] extends [CompositeOf<Z>] ? Z
  : Tensor | CompositeOf<X> | CompositeOf<Y> | CompositeOf<Z>;

/** The result of an op that removes axes: a tensor where it removes all, as with no axis (`A`) given. */
export type Reduced<X, A = number> = [A] extends [null | undefined] ? Tensor
  : Tensor | CompositeOf<X>;

/** The result of joining values of a list: composite where one of them is. */
export type Joined<X> = [CompositeOf<X>] extends [never] ? Tensor : CompositeOf<X>;

/** The result of taking values by indices; one index removes an axis. Quantized tables give plain numbers. */
export type Picked<X, I> = [X] extends [{ readonly dequantize: unknown }] ? Tensor
  : [I] extends [number] ? Reduced<X>
  : Like<X, I>;
