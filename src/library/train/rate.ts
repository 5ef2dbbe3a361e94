/** A learning rate: a number, or a function of the number of steps taken. */
import { describe } from "../../engine/core/convert.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Arithmetic } from "./arithmetic.ts";

/** A rate that follows the number of steps taken before, from 0: of a number the number, of a tensor the tensor. */
export interface Schedule {
  /** The rate at a step. */
  (step: number): number;
  /** The rate at a step. */
  (step: Tensor): Tensor;
  /** The formula, on numbers and on tensors. */
  readonly formula: <N>(step: N, a: Arithmetic<N>) => N;
}

/** A learning rate: a number, a schedule of `tf.train.schedules`, or a function of a scalar, the number of steps taken before. */
export type Rate = number | Schedule | ((step: Tensor) => Tensor);

/** Returns the rate after so many steps. */
export function rateAt<N>(rate: Rate, step: N, a: Arithmetic<N>): N {
  if (typeof rate === "number") return a.number(rate);
  return "formula" in rate ? rate.formula(step, a) : a.call(rate as (step: Tensor) => Tensor, step);
}

/** Returns the rate. Throws `ValueError` for what is neither a number nor a function. */
export function checkedRate(value: unknown, name: string, className: string): Rate {
  if (typeof value === "function") return value as Rate;
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw new ValueError(
      `Cannot make ${className}: ${name} must be defined as a number or a function of the step, received ${
        describe(value)
      }`,
    );
  }
  return value;
}
