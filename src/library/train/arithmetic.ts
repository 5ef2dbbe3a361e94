/** The arithmetic of a step's scalars, on numbers for eager steps and on tensors for compiled ones. */
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { asTensor } from "../../engine/ops/input.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { pow, sqrt } from "../../engine/ops/pointwise/power.ts";

/** Dtypes that the scalars of a step are computed in. */
export type ScalarDType = "float32" | "float64";

/** Arithmetic by which optimizers turn the step number and the learning rate into scalars. */
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

export const numberArithmetic: Arithmetic<number> = {
  number: (value) => value,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => a ** b,
  sqrt: (a) => Math.sqrt(a),
};

/** Arithmetic on scalar tensors of float32 or float64. */
export const tensorArithmetic = (dtype: ScalarDType): Arithmetic<Tensor> => ({
  number: (value) => {
    const data = dtype === "float64" ? Float64Array.of(value) : Float32Array.of(value);
    return asTensor(new NdArray(dtype, [], data));
  },
  add,
  sub,
  mul,
  div,
  pow,
  sqrt,
});
