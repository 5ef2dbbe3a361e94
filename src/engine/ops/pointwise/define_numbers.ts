/** defineNumbers: defines an op by a function of one number, for functions with loops, which run on the host alone. */
import { defineOp, type OpDef } from "../../core/op.ts";
import { setElement } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Saved, unaryGrad } from "./define_pointwise.ts";

/** The gradient of a function of numbers. */
export interface Slope {
  /** The values that it reads: `x`, `y`. */
  readonly saves: readonly string[];
  /** Returns the gradient of `x`. */
  readonly slope: (saved: Saved, g: Tensor) => Tensor;
}

/** Defines an op of floats by its function in float64 and its slope. */
export function defineNumbers(
  name: string,
  of: (x: number) => number,
  { saves, slope }: Slope,
): OpDef {
  return defineOp({
    name,
    inputs: ["x: T"],
    outputs: ["y: T"],
    attrs: ["T: floating"],
    infer: ([x]) => [x.shape],
    grad: unaryGrad(saves, slope),
    cpu: ([x], [out]) => {
      for (let i = 0; i < out.size; i++) setElement(out, i, of(Number(x.at(i))));
    },
  });
}
