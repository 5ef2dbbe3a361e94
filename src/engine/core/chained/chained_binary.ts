/** The type of methods that take one more operand, dense or composite. See `chained_ops.ts`. */
import type { CompositeTensor } from "../composite.ts";
import type { Tensor, TensorLike } from "../tensor.ts";

/** A method of one more operand: a result is of the type of a composite one, such as a ragged tensor, else a tensor. */
export interface ChainedBinary {
  /** With a tensor, or what becomes one. */
  <T extends Tensor = Tensor>(b: TensorLike): T;
  /** With a composite value. */
  <Y extends CompositeTensor>(b: Y): Y;
}
