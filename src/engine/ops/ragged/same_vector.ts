/** Checks vectors that must be equal: splits of combined ragged tensors, shapes of joined sparse ones. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { hostInts } from "../array/view.ts";

const SameVector: OpDef = defineOp({
  name: "SameVector",
  inputs: ["x: T", "y: T"],
  outputs: ["output: T"],
  attrs: ["refusal: string", "T: index"],
  portable: { never: "TensorFlow has no op that gives a vector where it equals another" },
  infer: ([x, y]) => [x.shape ?? y.shape],
  grad: null,
  cpu: ([x, y], _, { attrs }) => {
    const a = hostInts(x), b = hostInts(y);
    if (a.length === b.length && a.every((v, i) => v === b[i])) return [x.copy()];
    throw new InvalidArgumentError(`${attrs.refusal} [${a}] and [${b}]`);
  },
});

/**
 * Returns the first of two integer vectors. Throws `InvalidArgumentError` with `refusal` and both vectors where they
 * differ.
 */
export function sameVector(x: OpInput, y: OpInput, refusal: string): Tensor {
  return apply1(SameVector, [x, y], { refusal });
}
