/**
 * Numbers about shapes as host inputs: literals where they are known, else taken from `Shape` at run time.
 */
import type { OpInput } from "../../core/apply.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { slice } from "./slice.ts";
import { hostInts, reshape, shape } from "./view.ts";
import { intScalar, intVector, toInput } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";

/** The last dimension of a shape. */
export function lastExtent(of: TensorLike): OpInput {
  const dims = toInput(of, "shape", "lastExtent");
  if (!(dims instanceof Tensor)) return intScalar(hostInts(dims).at(-1)!);
  return reshape(slice(dims, sub(shape(dims), 1), [1]), []);
}

/** Height and width out of the shape of an image batch. */
export function imageSize(of: TensorLike): OpInput {
  const dims = toInput(of, "shape", "imageSize");
  return dims instanceof Tensor ? slice(dims, [1], [2]) : intVector(hostInts(dims).slice(1, 3));
}
