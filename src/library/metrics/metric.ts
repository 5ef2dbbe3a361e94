/** The base of metrics: variables on the device that batches are added to, and a result made of them. */
import {
  optionCheck,
  wantFunction,
  wantList,
  wantMade,
  wantObject,
} from "../../engine/core/arguments.ts";
import { compose, withInterpreter } from "../../engine/core/apply.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { showAs } from "../../engine/core/arrays/shown.ts";
import { isConcrete, sameShape, shapeText } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { fill } from "../../engine/ops/array/creation.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { Variable, variable } from "../../engine/runtime/variables/variable.ts";
import { type SavedSlot, wantSaved } from "../train/slots.ts";
import { after, group, type StepOperation } from "../train/step_graph.ts";

/** State of a metric by name. */
export type MetricState = Readonly<Record<string, Tensor>>;

/** The rule of one metric. */
export interface MetricRule {
  /** Shapes of its state; it begins as zeros of float32. */
  readonly state: Readonly<Record<string, readonly number[]>>;
  /** Result of the state. */
  readonly result: (state: MetricState) => Tensor;
}

/** Options of an update. */
export interface UpdateOptions {
  /** Weights of the samples, that broadcast to the first axes of the labels; a weight of 0 leaves a sample out. Default 1. */
  readonly sampleWeight?: TensorLike | null;
}

export const checkUpdate: (options: UpdateOptions) => void = optionCheck<UpdateOptions>(
  "updateState",
  {
    sampleWeight: true,
  },
);

/**
 * A metric that accumulates on the device: nothing is read back before {@linkcode Metric.result} is. The functions in `tf.metrics` make
 * them. Its state is saved by `tf.io.saveVariables` and checkpoints as that of optimizers is.
 */
export abstract class Metric {
  /** Name of the metric. */
  readonly name: string;
  readonly #rule: MetricRule;
  readonly #state: Readonly<Record<string, Variable>>;

  /** Made of a rule. */
  constructor(name: string, rule: MetricRule) {
    wantMade(rule, "state", {
      arg: "rule",
      fn: "new Metric()",
      wanted: "a rule; functions of tf.metrics make metrics",
    });
    this.name = name;
    this.#rule = rule;
    this.#state = Variable.kept(() =>
      withInterpreter(null, () =>
        tidy(() =>
          Object.fromEntries(
            Object.entries(rule.state).map((
              [key, shape],
            ) => [key, variable(fill(shape, 0), false)]),
          )
        ))
    );
  }

  /** Adds to the state. Returns the operation in a graph, else null. */
  protected add(increments: () => MetricState): StepOperation | null {
    wantFunction(increments, "increments", "add");
    const done: (StepOperation | null)[] = [];
    tidy(() => {
      const added = increments();
      wantObject(added, "increments()", "add", "an object of tensors");
      for (const [key, value] of Object.entries(added)) {
        done.push(this.#state[key].assignAdd(value)?.operation ?? null);
      }
    });
    return after(done, group);
  }

  /** The value over all batches since the beginning or the last reset. Shares no memory with the state. */
  result(): Tensor {
    return compose(() => {
      const state = Object.entries(this.#state).map(([key, v]) => [key, v.readValue()] as const);
      return this.#rule.result(Object.fromEntries(state));
    });
  }

  /** Sets the state to zero. Returns the operation in a graph, else null. */
  resetState(): StepOperation | null {
    const done = tidy(() =>
      Object.values(this.#state).map((v) => v.assign(fill(v.shape, 0))?.operation ?? null)
    );
    return after(done, group);
  }

  /** The state; the tensors are the metric's own. */
  // deno-lint-ignore require-await
  async getWeights(): Promise<{ name: string; tensor: Tensor }[]> {
    return this.weightsNow();
  }

  /**
   * Returns the result of `getWeights()` at once.
   * @internal
   */
  weightsNow(): { name: string; tensor: Tensor }[] {
    return Object.entries(this.#state).map(([key, tensor]) => ({
      name: `${this.name}/${key}`,
      tensor,
    }));
  }
  /** Restores the result of `getWeights()`, by order. Rejects with `ValueError` where the number or a shape differs. */
  // deno-lint-ignore require-await
  async setWeights(
    weights: readonly { readonly name: string; readonly tensor: Tensor }[],
  ): Promise<void> {
    const state = Object.values(this.#state);
    wantList(weights, "weights", "setWeights", "{ name, tensor }");
    for (const weight of weights) {
      wantMade(weight, "tensor", {
        arg: "weights",
        fn: "setWeights",
        wanted: "a list of { name, tensor }",
      });
    }
    const fits = weights.length === state.length &&
      weights.every(({ tensor }, i) => sameShape(tensor.shape, state[i].shape));
    if (!fits) {
      throw new ValueError(
        `Cannot set the weights of metric '${this.name}': received shapes ${
          weights.map(({ tensor }) => shapeText(tensor.shape)).join(", ")
        }, wanted ${state.map((v) => shapeText(v.shape)).join(", ")}`,
      );
    }
    state.forEach((v, i) => v.assign(weights[i].tensor));
  }

  /**
   * Checks values of a file by the names of the state's parts, and returns what restores them. Throws `ValueError` where one has another
   * shape, or, unless `isPartial`, is no part of the state or lacks.
   * @internal
   */
  fit(
    saved: readonly SavedSlot[],
    isPartial: boolean,
  ): () => void {
    wantSaved(saved, "fit");
    const parts = new Map(
      saved.map(({ name, value }) => [name.slice(name.lastIndexOf("/") + 1), value]),
    );
    const pairs = Object.entries(this.#state).flatMap(([key, v]) => {
      const value = parts.get(key);
      return value === undefined ? [] : [[v, value] as const];
    });
    const isWhole = pairs.length === parts.size && parts.size === Object.keys(this.#state).length;
    if (!pairs.every(([v, { shape }]) => sameShape(shape, v.shape)) || !(isPartial || isWhole)) {
      const received = [...parts].map(([key, { shape }]) => `${key} ${shapeText(shape)}`);
      const wanted = Object.entries(this.#state).map(([key, v]) => `${key} ${shapeText(v.shape)}`);
      throw new ValueError(
        `Cannot restore metric '${this.name}': received ${received.join(", ")}, wanted ${
          wanted.join(", ")
        }`,
      );
    }
    return () => pairs.forEach(([v, value]) => v.assign(value as unknown as Tensor));
  }

  /** Frees the state. */
  dispose(): void {
    for (const v of Object.values(this.#state)) v.dispose();
  }
  /** Frees the state at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats the name and the shapes of the state. */
  toString(): string {
    const state = Object.entries(this.#rule.state).map(([key, shape]) =>
      `${key} ${shapeText(shape)}`
    );
    return `<tf.metrics.${this.name}: ${state.join(", ")}>`;
  }
}
showAs(Metric);

/** A metric of values. */
export class ValueMetric extends Metric {
  readonly #add: (values: Tensor, weight: Tensor | null) => MetricState;

  /** `add` makes what is added to the state of values and weights. */
  constructor(
    name: string,
    rule: MetricRule,
    add: (values: Tensor, weight: Tensor | null) => MetricState,
  ) {
    super(name, rule);
    this.#add = add;
  }

  /** Adds values. */
  updateState(values: TensorLike, options: UpdateOptions = {}): StepOperation | null {
    checkUpdate(options);
    return this.add(() => this.#add(numbers(values, "values"), weightOf(options)));
  }
}

/** A metric of predictions and the labels that they should be. */
export class LabelMetric extends Metric {
  readonly #add: (yTrue: Tensor, yPred: Tensor, weight: Tensor | null) => MetricState;

  /** `add` makes what is added to the state of labels, predictions and weights. */
  constructor(
    name: string,
    rule: MetricRule,
    add: (yTrue: Tensor, yPred: Tensor, weight: Tensor | null) => MetricState,
  ) {
    super(name, rule);
    this.#add = add;
  }

  /** Adds a batch. Throws `ValueError` where the shapes do not fit. */
  updateState(
    yTrue: TensorLike,
    yPred: TensorLike,
    options: UpdateOptions = {},
  ): StepOperation | null {
    checkUpdate(options);
    return this.add(() =>
      this.#add(numbers(yTrue, "yTrue"), numbers(yPred, "yPred"), weightOf(options))
    );
  }
}

/** Numbers and booleans as float32. */
function numbers(x: TensorLike, arg: string): Tensor {
  return cast(asTensor(toInput(x, arg, "updateState")), "float32");
}

function weightOf({ sampleWeight }: UpdateOptions): Tensor | null {
  return sampleWeight == null ? null : numbers(sampleWeight, "sampleWeight");
}

/** Throws `ValueError` where labels and predictions have different shapes. */
export function wantSameShape(name: string, yTrue: Tensor, yPred: Tensor): void {
  const a = yTrue.staticShape, b = yPred.staticShape;
  if (!isConcrete(a) || !isConcrete(b) || sameShape(a, b)) return;
  throw new ValueError(
    `Cannot update metric '${name}': yTrue has shape ${shapeText(a)}, yPred ${
      shapeText(b)
    }, wanted equal ones`,
  );
}
