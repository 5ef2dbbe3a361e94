/** Averages of variables over the steps of a training. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import {
  optionCheck,
  wantFunction,
  wantList,
  wantNumber,
  wrongArgument,
} from "../../engine/core/arguments.ts";
import { currentInterpreter, withInterpreter } from "../../engine/core/apply.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { minimum } from "../../engine/ops/pointwise/select.ts";
import { identity } from "../../engine/ops/array/view.ts";
import type { Tensor, TensorLike, TrackedParts } from "../../engine/core/tensor.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { Variable, variable } from "../../engine/runtime/variables/variable.ts";
import { stateDType } from "./slots.ts";
import { after, group, type StepOperation } from "./step_graph.ts";

/** Options of {@linkcode ExponentialMovingAverage}. */
export interface MovingAverageOptions {
  /** Number of updates so far: with it the decay is at most `(1 + n) / (10 + n)`, so that first averages move faster. */
  readonly numUpdates?: TensorLike;
}

const checkOptions = optionCheck<MovingAverageOptions>("ExponentialMovingAverage", {
  numUpdates: true,
});

/**
 * Averages of variables, `decay · average + (1 - decay) · value` after each step; each begins as its variable's value and lies on its
 * device. Averages of halves are float32. Works in eager code, compiled steps and graphs. Follows TensorFlow `tf.train.ExponentialMovingAverage`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(8);
 * using ema = new tf.train.ExponentialMovingAverage(0.75);
 * ema.apply([w]);
 * w.assign(0);
 * ema.apply([w]);
 * console.log(ema.average(w)!.item()); // 6
 * console.log([ema.withAverages(() => w.item()), w.item()]); // [6, 0]
 * ```
 */
export class ExponentialMovingAverage {
  readonly #decay: number;
  readonly #numUpdates: TensorLike | undefined;
  readonly #averages = new Map<Variable, Variable>();

  /** `decay` is near 1. */
  constructor(decay: number, options: MovingAverageOptions = {}) {
    wantNumber(decay, "decay", "ExponentialMovingAverage");
    checkOptions(options);
    this.#decay = decay;
    this.#numUpdates = options.numUpdates;
  }

  /**
   * Moves the averages of these variables; while a graph is built, returns the operation that does. Throws `ValueError` for a graph's
   * variable: `tf.compat.v1.train` has averages of these.
   */
  apply(variables: readonly Variable[]): StepOperation | null {
    wantList(variables, "variables", "apply", "variables");
    for (const v of variables) {
      if (!(v instanceof Variable)) {
        throw wrongArgument(v, "variables", "apply", "a list of variables");
      }
    }
    const done: (StepOperation | null)[] = [];
    tidy(() => {
      const decay = this.#decayNow();
      for (const v of variables) {
        const average = this.#of(v), value = cast(v.readValue(), average.dtype);
        const share = typeof decay === "number" ? 1 - decay : sub(1, cast(decay, average.dtype));
        done.push(average.assignSub(mul(sub(average, value), share))?.operation ?? null);
      }
    });
    return after(done, group);
  }

  #decayNow(): number | Tensor {
    if (this.#numUpdates === undefined) return this.#decay;
    const done = cast(this.#numUpdates, "float32");
    return minimum(this.#decay, div(add(done, 1), add(done, 10)));
  }

  #of(v: Variable): Variable {
    let average = this.#averages.get(v);
    if (average) return average;
    if (v.resource.ofGraph) {
      throw new ValueError(
        `Cannot average '${v.name}': it is a graph's variable, see tf.compat.v1.train.ExponentialMovingAverage`,
      );
    }
    average = Variable.kept(() =>
      withInterpreter(
        null,
        () =>
          device(
            v.device,
            () => tidy(() => variable(cast(identity(v), stateDType(v.dtype)), false)),
          ),
      )
    );
    this.#averages.set(v, average);
    return average;
  }

  /** The average of a variable; null where there is none. */
  average(v: Variable): Variable | null {
    return this.#averages.get(v) ?? null;
  }

  /** The averages by the names of their variables: what is saved. */
  get averages(): Readonly<Record<string, Variable>> {
    return Object.fromEntries([...this.#averages].map(([v, average]) => [v.name, average]));
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return { children: this.averages };
  }

  /** Gives all variables their averages. */
  assignAverages(): void {
    tidy(() => {
      for (const [v, average] of this.#averages) v.assign(cast(average.readValue(), v.dtype));
    });
  }

  /** Runs a function while the variables have their averages; then they have their values again. Throws `ValueError` in a graph. */
  withAverages<R>(fn: () => R): R {
    wantFunction(fn, "fn", "withAverages");
    if (currentInterpreter().symbolic) {
      throw new ValueError(
        "Cannot swap variables and averages in a graph: call it around functions",
      );
    }
    const values = [...this.#averages.keys()].map((v) => [v, identity(v)] as const);
    const restore = (): void => {
      for (const [v, value] of values) {
        v.assign(value);
        value.dispose();
      }
    };
    let result: R;
    try {
      this.assignAverages();
      result = fn();
    } catch (e) {
      restore();
      throw e;
    }
    if (result instanceof Promise) return result.finally(restore) as R;
    restore();
    return result;
  }

  /** Frees the averages. */
  dispose(): void {
    for (const average of this.#averages.values()) average.dispose();
    this.#averages.clear();
  }
  /** Frees the averages at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const count = counted(this.#averages.size, "variable");
    return `<tf.train.ExponentialMovingAverage decay=${this.#decay}: ${count}>`;
  }
}
showAs(ExponentialMovingAverage);
