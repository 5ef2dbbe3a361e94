/** An optimizer's learning rate, and the scalars of a step that are made of it and of the number of the step. */
import { currentInterpreter } from "../../engine/core/apply.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { floorDiv } from "../../engine/ops/pointwise/arithmetic.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { type Variable, variable } from "../../engine/runtime/variables/variable.ts";
import {
  type Arithmetic,
  numberArithmetic,
  type ScalarDType,
  tensorArithmetic,
} from "./arithmetic.ts";
import { checkedRate, type Rate, rateAt } from "./rate.ts";
import { onHost } from "./step_count.ts";

/** Numbers of a step, in either arithmetic. */
export interface RateNumbers<N> {
  /** Number of this step, from 1. */
  readonly step: N;
  readonly rate: N;
  readonly a: Arithmetic<N>;
}

/** Makes the scalars of a step. */
export type MakeScalars = <N>(numbers: RateNumbers<N>) => readonly N[];

interface ScalarsRequest {
  /** The steps before: in a graph the variable that counts them, so that each run reads it, else their number. */
  readonly done: Variable | number;
  /** Number of steps that count as one. */
  readonly period: number;
  readonly make: MakeScalars;
}

export class LearningRate {
  readonly #className: string;
  #rate: Rate;
  /** The rate as compiled steps read it, by dtype. */
  readonly #variables = new Map<ScalarDType, Variable>();

  /** `className` names the optimizer in messages. Throws `ValueError` where the rate is neither a number nor a function. */
  constructor(rate: unknown, className: string) {
    this.#className = className;
    this.#rate = checkedRate(rate, "learningRate", className);
  }

  /** The rate as it was given. */
  get given(): Rate {
    return this.#rate;
  }
  /** Replaces a number by another, for compiled steps too. Throws `ValueError` where the rate is a function of the step. */
  set(rate: unknown): void {
    const value = checkedRate(rate, "learningRate", this.#className);
    if (typeof this.#rate !== "number" || typeof value !== "number") {
      throw new ValueError(
        `Cannot set the learning rate of ${this.#className}: it is a function of the step`,
      );
    }
    this.#rate = value;
    for (const variable of this.#variables.values()) variable.assign(value);
  }
  /** The rate after `steps()` steps. */
  after(steps: () => number): number {
    const rate = this.#rate;
    return typeof rate === "number" ? rate : rateAt(rate, steps(), numberArithmetic);
  }

  /** Makes the scalars of a step, once for each dtype. The arithmetic stays on the host. */
  scalars(request: ScalarsRequest): (dtype: DType) => Tensor[] {
    const made = new Map<DType, Tensor[]>(), { done, period, make } = request;
    const of = typeof done === "number"
      ? this.#eager(Math.floor(done / period), make)
      : this.#symbolic(done, request);
    return (dtype) => {
      let tensors = made.get(dtype);
      if (!tensors) made.set(dtype, tensors = of(dtype));
      return tensors;
    };
  }

  #eager(done: number, make: MakeScalars): (dtype: DType) => Tensor[] {
    const a = numberArithmetic;
    const values = make({ step: done + 1, rate: rateAt(this.#rate, done, a), a });
    return (dtype) =>
      values.map((value) => {
        const literal = NdArray.zeros(dtype, []);
        setElement(literal, 0, value);
        return currentInterpreter().constant(literal);
      });
  }

  #symbolic(done: Variable, { period, make }: ScalarsRequest): (dtype: DType) => Tensor[] {
    const made = new Map<ScalarDType, readonly Tensor[]>();
    const within = (dtype: ScalarDType): readonly Tensor[] =>
      device("/CPU:0", () => {
        const a = tensorArithmetic(dtype), all = done.readValue();
        const before = cast(period === 1 ? all : floorDiv(all, period), dtype);
        const rate = typeof this.#rate === "number"
          ? this.#variable(dtype).readValue()
          : rateAt(this.#rate, before, a);
        return make({ step: a.add(before, a.number(1)), rate, a });
      });
    return (dtype) => {
      const wide = dtype === "float64" ? dtype : "float32";
      let values = made.get(wide);
      if (!values) made.set(wide, values = within(wide));
      return values.map((v) => cast(v, dtype));
    };
  }

  #variable(dtype: ScalarDType): Variable {
    let rate = this.#variables.get(dtype);
    if (!rate) {
      rate = onHost(() => variable(this.#rate as number, false, undefined, dtype));
      this.#variables.set(dtype, rate);
    }
    return rate;
  }

  /** Frees the variables. */
  dispose(): void {
    for (const variable of this.#variables.values()) variable.dispose();
    this.#variables.clear();
  }
}
