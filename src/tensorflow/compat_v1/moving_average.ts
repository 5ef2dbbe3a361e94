/** ExponentialMovingAverage: variables that slowly follow other variables and tensors. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import {
  optionCheck,
  wantBoolean,
  wantList,
  wantString,
  wrongArgument,
} from "../../engine/core/arguments.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { group } from "../../engine/graph/groups.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { fill } from "../../engine/ops/array/creation.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { pow } from "../../engine/ops/pointwise/power.ts";
import { minimum } from "../../engine/ops/pointwise/select.ts";
import { cond } from "../../engine/runtime/control/cond.ts";
import { graphVariable, Variable } from "../../engine/runtime/variables/variable.ts";
import { checkRates } from "./optimizer_arguments.ts";
import { addToCollection, graphFor, GraphKeys } from "./collections.ts";
import {
  globalVariables,
  isVariableInitialized,
  movingAverageVariables,
  trainableVariables,
} from "./variables.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";

/** Options of {@linkcode ExponentialMovingAverage}. */
export interface MovingAverageOptions {
  /** Count of updates, for a lower decay at first: `min(decay, (1 + n) / (10 + n))`. */
  readonly numUpdates?: TensorLike | null | undefined;
  /** True: averages of tensors, which begin with zeros, are corrected for that bias. */
  readonly zeroDebias?: boolean | undefined;
  /** Ending of the names of the averages. Default `"ExponentialMovingAverage"`. */
  readonly name?: string | undefined;
}

const checkOptions = optionCheck<MovingAverageOptions>("ExponentialMovingAverage", {
  numUpdates: true,
  zeroDebias: true,
  name: true,
});

/** The average of a variable or a tensor. */
interface Kept {
  readonly average: Variable;
  /** The average from zeros, and its number of values; absent without a correction. */
  readonly biased?: { readonly average: Variable; readonly count: Variable };
}

/**
 * Keeps averages of variables and tensors of a graph: each update moves them by `1 - decay` of the difference. Follows
 * TensorFlow `tf.compat.v1.train.ExponentialMovingAverage`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, g = new tf.Graph();
 * await g.asDefault(async () => {
 *   const w = v1.variable(0, { name: "w" }), next = w.assignAdd(8)!;
 *   const ema = new v1.train.ExponentialMovingAverage(0.75);
 *   const update = g.controlDependencies([next.operation], () => ema.apply([w]));
 *   const init = v1.globalVariablesInitializer();
 *   const sess = new v1.Session();
 *   await sess.run(init);
 *   await sess.run(update);
 *   console.log(await sess.run(ema.average(w)!)); // 2
 * });
 * ```
 */
export class ExponentialMovingAverage {
  /** Ending of the names of the averages. */
  readonly name: string;
  readonly #decay: TensorLike;
  readonly #numUpdates: TensorLike | null;
  readonly #zeroDebias: boolean;
  readonly #kept = new Map<Variable | Tensor, Kept>();

  /**
   * `decay` is the share of the old average that an update keeps; options may stand in the place of `numUpdates`. Throws `TypeError` for
   * values of another kind.
   */
  constructor(
    decay: TensorLike,
    numUpdates?: TensorLike | null | MovingAverageOptions,
    zeroDebias = false,
    name = "ExponentialMovingAverage",
  ) {
    const of = "ExponentialMovingAverage";
    let updates = numUpdates as TensorLike | null | undefined;
    if (isPlainObject(numUpdates)) {
      const options = numUpdates as MovingAverageOptions;
      checkOptions(options);
      ({ numUpdates: updates, zeroDebias = false, name = of } = options);
    }
    checkRates(of, {
      decay,
      ...updates !== null && updates !== undefined && { numUpdates: updates },
    });
    wantBoolean(zeroDebias, "zeroDebias", of);
    wantString(name, "name", of);
    this.#decay = decay;
    this.#numUpdates = updates ?? null;
    this.#zeroDebias = zeroDebias;
    this.name = name;
  }

  /**
   * Adds averages of variables, by default of all trained ones, and of tensors; the result updates them. An average of
   * a variable begins with its value, that of a tensor with zeros. Throws `TypeError` for a dtype that is not floating.
   */
  apply(varList?: readonly (Variable | Tensor)[]): Operation {
    const graph = graphFor("ExponentialMovingAverage.apply()");
    return graph.asDefault(() => {
      const list = varList ?? trainableVariables();
      for (const v of list) {
        if (!(v instanceof Tensor)) {
          throw wrongArgument(
            v,
            "varList",
            "ExponentialMovingAverage.apply",
            "a list of variables and tensors",
          );
        }
        if (DTYPES[v.dtype].kind !== "float") {
          throw new TypeError(
            `Cannot average ${v.name}: The variables must be half, float, or double, received ${v.dtype}`,
          );
        }
        if (!this.#kept.has(v)) this.#kept.set(v, this.#keep(graph, v));
      }
      return graph.nameScope(this.name, (scope) => {
        const decay = this.#decayNow();
        return group(...list.map((v) => update(graph, this.#kept.get(v)!, v, decay)), {
          name: scope,
        }) as Operation;
      });
    });
  }

  #decayNow(): Tensor {
    const decay = cast(this.#decay, "float32");
    if (this.#numUpdates === null) return decay;
    const n = cast(this.#numUpdates, "float32");
    return minimum(decay, div(add(n, 1), add(n, 10)));
  }

  #keep(graph: Graph, v: Variable | Tensor): Kept {
    const name = this.averageName(v);
    const make = (initial: TensorLike | (() => TensorLike), name: string): Variable =>
      graph.atRoot(() => graphVariable(graph, initial, { name, trainable: false }));
    const zeros = (): Tensor => fill(v.shape, 0, v.dtype);
    if (v instanceof Variable) {
      addToCollection(GraphKeys.MOVING_AVERAGE_VARIABLES, v);
      return { average: make(() => valueNow(v), name) };
    }
    const average = make(zeros, name);
    if (!this.#zeroDebias) return { average };
    const biased = make(zeros, `${name}/biased`);
    const count = make(() => fill([], 0, v.dtype), `${name}/local_step`);
    return { average, biased: { average: biased, count } };
  }

  /** Returns the average of a variable or tensor; null where there is none. */
  average(v: Variable | Tensor): Variable | null {
    return this.#kept.get(v)?.average ?? null;
  }

  /** Returns the name of the average of a variable or tensor, even without one. */
  averageName(v: Variable | Tensor): string {
    if (!(v instanceof Tensor)) {
      throw wrongArgument(v, "v", "ExponentialMovingAverage.averageName", "a variable or a tensor");
    }
    const name = v instanceof Variable ? v.name : v.op.name;
    return this.average(v)?.name ?? `${name}/${this.name}`;
  }

  /**
   * Returns variables by the names for `train.Saver`: `movingAverageVariables`, by default those that are trained or
   * averaged, under the name of their average, all others under their own.
   */
  variablesToRestore(
    averaged: readonly Variable[] = [...trainableVariables(), ...movingAverageVariables()],
  ): Record<string, Variable> {
    wantList(averaged, "averaged", "ExponentialMovingAverage.variablesToRestore", "variables");
    const found: Record<string, Variable> = {};
    for (const v of averaged) found[this.averageName(v)] = v;
    for (const v of globalVariables()) if (!averaged.includes(v)) found[v.name] ??= v;
    return found;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.train.ExponentialMovingAverage '${this.name}' of ${
      counted(this.#kept.size, "value")
    }>`;
  }
}
showAs(ExponentialMovingAverage);

/** Returns the value of a variable where it has one, else its initial value. */
function valueNow(v: Variable): Tensor {
  const { initialValue } = v;
  if (initialValue === null) return v.readValue();
  return cond(isVariableInitialized(v), () => v.readValue(), () => initialValue);
}

/** Moves the average of `v` towards its value by `1 - decay` of the difference. */
function update(
  graph: Graph,
  { average, biased }: Kept,
  v: Variable | Tensor,
  decay: Tensor,
): Operation {
  const keep = cast(decay, average.dtype), part = sub(1, keep);
  const move = (m: Variable): Operation =>
    m.assignSub(mul(sub(m.readValue(), v.readValue()), part))!.operation;
  if (!biased) return move(average);
  const moved = [move(biased.average), biased.count.assignAdd(1)!.operation];
  return graph.controlDependencies(moved, () => {
    const lacking = sub(1, pow(keep, biased.count.readValue()));
    return average.assign(div(biased.average.readValue(), lacking))!.operation;
  });
}
