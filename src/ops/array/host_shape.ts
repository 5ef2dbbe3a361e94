/**
 * Numbers about shapes as host inputs: literals where they are known, else taken from `Shape` at run time.
 */
import type { OpInput } from "../../core/apply.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { slice } from "./slice.ts";
import { hostInts } from "./view.ts";
import { intVector, toInput } from "../input.ts";

/** Height and width out of the shape of an image batch. */
export function imageSize(of: TensorLike): OpInput {
  const dims = toInput(of, "shape", "imageSize");
  return dims instanceof Tensor ? slice(dims, [1], [2]) : intVector(hostInts(dims).slice(1, 3));
}
