/** The arithmetic of a step's scalars, on numbers for eager steps and on tensors for compiled ones. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { asTensor } from "../../engine/ops/input.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { less } from "../../engine/ops/pointwise/compare.ts";
import { exp } from "../../engine/ops/pointwise/exponential.ts";
import { pow, sqrt } from "../../engine/ops/pointwise/power.ts";
import { floor } from "../../engine/ops/pointwise/rounding.ts";
import { maximum, minimum, where } from "../../engine/ops/pointwise/select.ts";
import { cos } from "../../engine/ops/pointwise/trigonometric.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";

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
  /** Exponential function. */
  exp(a: N): N;
  /** Cosine. */
  cos(a: N): N;
  /** Greatest whole number that is not above. */
  floor(a: N): N;
  /** The lesser one. */
  min(a: N, b: N): N;
  /** The greater one. */
  max(a: N, b: N): N;
  /** `yes` where `a` is less than `b`, else `no`. */
  ifLess(a: N, b: N, yes: N, no: N): N;
  /** Value of a function of tensors. */
  call(fn: (x: Tensor) => Tensor, x: N): N;
}

export const numberArithmetic: Arithmetic<number> = {
  number: (value) => value,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  pow: (a, b) => a ** b,
  sqrt: Math.sqrt,
  exp: Math.exp,
  cos: Math.cos,
  floor: Math.floor,
  min: Math.min,
  max: Math.max,
  ifLess: (a, b, yes, no) => a < b ? yes : no,
  call: (fn, x) =>
    device("/CPU:0", () =>
      tidy(() => {
        const y: unknown = fn(tensorArithmetic("float32").number(x));
        return y instanceof Tensor ? Number(y.dataSync()[0]) : Number(y);
      })),
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
  exp,
  cos,
  floor,
  min: minimum,
  max: maximum,
  ifLess: (a, b, yes, no) => where(less(a, b), yes, no),
  call: (fn, x) => cast(fn(x), dtype),
});
