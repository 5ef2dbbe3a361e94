/**
 * The arithmetic of a step's scalars, on numbers for eager steps and on tensors for compiled ones.
 */
import { apply1 } from "../core/apply.ts";
import { NdArray } from "../core/nd_array.ts";
import { lookupOp } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { asTensor } from "../ops/input.ts";

/** Dtypes that the scalars of a step are computed in. */
export type ScalarDType = "float32" | "float64";

/** What optimizers need to turn the step number and the learning rate into scalars. */
export interface Arithmetic<N> {
  /** A constant. */
  number(value: number): N;
  /** Sum. */
  add(a: N, b: N): N;
  /** Difference. */
  sub(a: N, b: N): N;
  /** Product. */
  mul(a: N, b: N): N;
  /** Quotient. */
  div(a: N, b: N): N;
  /** Power. */
  pow(a: N, b: N): N;
  /** Square root. */
  sqrt(a: N): N;
}

/** On JavaScript numbers. */
export const numberArithmetic: Arithmetic<number> = {
  number: (value) => value,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => a ** b,
  sqrt: (a) => Math.sqrt(a),
};

const op = (name: string, ...args: Tensor[]): Tensor => apply1(lookupOp(name)!, args);

/** On scalars of float32 or float64. */
export const tensorArithmetic = (dtype: ScalarDType): Arithmetic<Tensor> => ({
  number: (value) => {
    const data = dtype === "float64" ? Float64Array.of(value) : Float32Array.of(value);
    return asTensor(new NdArray(dtype, [], data));
  },
  add: (a, b) => op("AddV2", a, b),
  sub: (a, b) => op("Sub", a, b),
  mul: (a, b) => op("Mul", a, b),
  div: (a, b) => op("RealDiv", a, b),
  pow: (a, b) => op("Pow", a, b),
  sqrt: (a) => op("Sqrt", a),
});
