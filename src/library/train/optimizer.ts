/** The base of all optimizers: gradients, slots, the step count and saving; subclasses add a variable's update op. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { currentInterpreter, withInterpreter } from "../../engine/core/apply.ts";
import type { Resource } from "../../engine/core/graph_node.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { wantFunction, wantList, wantObject, wrongArgument } from "../../engine/core/arguments.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import {
  gradientsOfVariables,
  notConnected,
  variableGrads,
} from "../../engine/autodiff/grad_functions.ts";
import { nameScope } from "../../engine/graph/scopes.ts";
import { dispose, tidy } from "../../engine/runtime/eager/tensor.ts";
import { isTracing } from "../../engine/runtime/variables/known_variables.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import type { VariableState } from "../../engine/runtime/variables/variable_state.ts";
import type { Accumulation } from "./accumulation.ts";
import type { Arithmetic } from "./arithmetic.ts";
import { LearningRate } from "./learning_rate.ts";
import { gradientPairs, type NamedGradients } from "./named_gradients.ts";
import type { Rate } from "./rate.ts";
import { RuleSteps } from "./rule_steps.ts";
import { checkedSettings } from "./settings.ts";
import { type SavedSlot, type SlotPlan, Slots, wantSaved } from "./slots.ts";
import type { Stage } from "./stages.ts";
import { StepCount } from "./step_count.ts";
import { after, group, type StepOperation } from "./step_graph.ts";
import { applyUnseen, unseenIn } from "./unseen_updates.ts";

/** Settings of an optimizer as plain JSON values, but for a learning rate that is a function. */
export type OptimizerConfig = Readonly<Record<string, ConfigValue>>;

/** A setting. */
export type ConfigValue =
  | number
  | boolean
  | string
  | readonly string[]
  | Rate
  | SavedOptimizer
  | readonly SavedPart[];

/** An optimizer as plain values. */
export interface SavedOptimizer {
  /** Name of its class, as in Keras. */
  readonly className: string;
  /** Its settings. */
  readonly config: OptimizerConfig;
}

/** A part of a chain as plain values: an optimizer, or a transformation with its function's arguments. */
export type SavedPart =
  | SavedOptimizer
  | { readonly transform: string; readonly args: readonly unknown[] };

/** Numbers from which the scalars of an update are computed. */
export interface StepNumbers<N> {
  /** Number of this step, from 1. */
  readonly step: N;
  /** The learning rate. */
  readonly rate: N;
  /** Arithmetic on them. */
  readonly a: Arithmetic<N>;
  /** The optimizer's settings. */
  readonly options: OptimizerConfig;
}

/** The rule of one optimizer: its update op, scalars and slots, and the stages around it. */
export interface OptimizerRule extends SlotPlan {
  /** Stages before the update op, or where there is none all of them. */
  readonly before?: readonly Stage[];
  /** Stages after it. */
  readonly after?: readonly Stage[];
  /** The update op: inputs are the variable, the slots, the scalars and the gradient. */
  readonly update?: OpDef;
  /** Accumulation of gradients over several steps. Default none. */
  readonly accumulates?: Accumulation;
  /** Attributes of the update op. Default: none. */
  readonly attrs?: (options: OptimizerConfig) => Attrs;
  /** The update op's scalars. Default: the learning rate. */
  readonly scalars?: <N>(numbers: StepNumbers<N>) => readonly N[];
  /**
   * True where a gradient of zero changes neither the variable nor a slot: rows that slices do not name are then left
   * alone.
   */
  readonly leavesUnnamedRows?: boolean;
}

/** Parts of an optimizer. */
export interface OptimizerParts {
  /** The learning rate as it was given. */
  readonly rate: Rate;
  /** The rule. */
  readonly rule: OptimizerRule;
  /** The settings. */
  readonly options: OptimizerConfig;
}

/** A cost: a function that computes it or, in a graph, a tensor. */
export type Cost = (() => Tensor) | Tensor;

/** A variable and its gradient; null leaves the variable unchanged. */
type Pair = readonly [Variable, Tensor | null];

/** A map of gradients that a run will fill; `only`: ids of the variables to update, null for all. */
interface UnseenPairs {
  readonly unseen: Tensor;
  readonly only: readonly number[] | null;
}

/** A class of optimizers, with the order of its constructor's arguments for `fromConfig`. */
export interface OptimizerClass<T> {
  new (...args: never[]): T;
  readonly configOrder: readonly string[];
}

/**
 * Changes variables so that a loss falls. The functions in `tf.train` make optimizers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * const optimizer = tf.train.sgd(0.1);
 * for (let i = 0; i < 50; i++) optimizer.minimize(() => tf.square(tf.sub(w, 3)));
 * console.log(w.item().toFixed(3)); // 3.000
 * ```
 */
export abstract class Optimizer {
  /** Name in saved configurations, as in Keras. */
  static readonly className: string = "Optimizer";
  readonly #rule: OptimizerRule;
  readonly #steps: RuleSteps;
  readonly #slots: Slots;
  readonly #count = new StepCount();
  /** True where it was made in a function: its variables are that function's. */
  readonly #isTraced: boolean;
  readonly #rate: LearningRate;

  /** Creates an optimizer of a rule. Throws `ValueError` where the rate is neither a number nor a function. */
  constructor(learningRate: Rate, rule: OptimizerRule, options: OptimizerConfig = {}) {
    const className = this.getClassName();
    wantObject(rule, "rule", className);
    this.#isTraced = isTracing();
    this.#rule = rule;
    this.options = checkedSettings(options, className);
    this.#steps = new RuleSteps(rule, () => this.options);
    this.#slots = new Slots(className, this.#steps.slotPlan);
    this.#rate = new LearningRate(learningRate, className);
  }

  /** Settings besides the learning rate. */
  protected options: OptimizerConfig;
  /** Returns the settings as plain values, from which `fromConfig` makes an equal optimizer. */
  getConfig(): OptimizerConfig {
    return { learningRate: this.#rate.given, ...this.options };
  }

  /** Makes an optimizer from the result of `getConfig()`, by its own class. */
  static fromConfig<T extends Optimizer>(cls: OptimizerClass<T>, config: OptimizerConfig): T {
    wantFunction(cls, "cls", "Optimizer.fromConfig");
    wantObject(config, "config", "Optimizer.fromConfig");
    wantList(cls.configOrder, "cls.configOrder", "Optimizer.fromConfig", "names");
    const { learningRate: _, ...options } = config;
    const given: Readonly<Record<string, unknown>> = { ...config, options };
    return new cls(...cls.configOrder.map((key) => given[key]) as never[]);
  }

  /** Name in saved configurations. */
  getClassName(): string {
    return (this.constructor as typeof Optimizer).className;
  }

  /**
   * The learning rate of the next step; a new one holds for the steps that follow, compiled ones too. Setting it throws
   * `ValueError` where the rate is a function of the step.
   */
  get learningRate(): number {
    return this.#rate.after(() =>
      Math.floor(this.iterations / (this.#rule.accumulates?.period ?? 1))
    );
  }
  set learningRate(rate: number) {
    this.#rate.set(rate);
  }
  /** The rate as it was given, and the rule: what a chain with this optimizer at its end is made of. */
  get parts(): OptimizerParts {
    return { rate: this.#rate.given, rule: this.#rule, options: this.options };
  }

  /**
   * Number of applied steps. Sessions count the steps on a graph's own variables: known inside `session.asDefault()`.
   */
  get iterations(): number {
    return this.#count.value;
  }

  /**
   * Computes the cost `f()` and applies one step for its gradients: to the variables in `varList`, else to all
   * trainable ones that the cost depends on, however deep in functions, branches, loops and the bodies of scripts.
   * Returns the cost where `returnCost` is true, else null; inside a graph the operation of the step, and there the
   * cost may be a tensor that was built before. Throws `ValueError` where no variable is connected to the cost or the
   * cost is not a scalar.
   */
  minimize(f: Cost, returnCost: true, varList?: readonly Tensor[]): Tensor;
  /** Applies one step; the cost is not returned. */
  minimize(f: Cost, returnCost?: false, varList?: readonly Tensor[]): StepOperation | null;
  /** Applies one step; returns the cost on request. */
  minimize(
    f: Cost,
    returnCost?: boolean,
    varList?: readonly Tensor[],
  ): Tensor | StepOperation | null;
  minimize(
    f: Cost,
    returnCost = false,
    varList?: readonly Tensor[],
  ): Tensor | StepOperation | null {
    if (typeof f !== "function") {
      if (!((f as unknown) instanceof Tensor)) {
        throw wrongArgument(f, "f", "minimize", "a function, or a tensor of a graph");
      }
      if (!f.isSymbolic) {
        throw new ValueError(
          "Cannot minimize a tensor outside of graphs: it has forgotten what it was computed from, pass a function",
        );
      }
      return f.graph.asDefault(() => this.minimize(() => f, returnCost, varList));
    }
    const { value, resources, grads, unseen } = gradientsOfVariables(f, varList);
    const operation = this.#apply(
      resources.map((r, i) => [variableOf(r), grads[i]] as const),
      unseen === null ? [] : [{ unseen, only: null }],
    );
    dispose(grads.filter((g) => g !== null));
    if (returnCost) return value;
    value.dispose();
    return operation;
  }

  /** The scalar `f()` and its gradients by variable name. */
  computeGradients(
    f: () => Tensor,
    varList?: readonly Tensor[],
  ): { value: Tensor; grads: Record<string, Tensor> } {
    return variableGrads(f, varList);
  }

  /**
   * Applies one step. Gradients are named by their variables, or stand in pairs with them, as TensorFlow has it; null leaves
   * a variable unchanged. Inside a graph returns the operation of the step, else null. Throws `ValueError` for a name that no
   * variable has, `TypeError` for a pair without a variable.
   */
  applyGradients(gradients: NamedGradients): StepOperation | null {
    wantObject(gradients, "gradients", "applyGradients");
    const pairs: [Variable, Tensor | null][] = [];
    const unseen = new Map<Tensor, number[]>();
    for (const [tensor, v] of gradientPairs(gradients)) {
      // Variables that no script has read stay unchanged.
      const map = tensor && unseenIn(tensor);
      if (!map) pairs.push([v, tensor ?? null]);
      else if (unseen.has(map)) unseen.get(map)!.push(v.id);
      else unseen.set(map, [v.id]);
    }
    return this.#apply(pairs, [...unseen].map(([unseen, only]) => ({ unseen, only })));
  }

  #apply(pairs: readonly Pair[], unseen: readonly UnseenPairs[]): StepOperation | null {
    const apply = (): StepOperation | null =>
      nameScope(this.getClassName(), () => this.#applyNow(pairs, unseen));
    return this.#isTraced ? apply() : Variable.kept(apply);
  }

  #applyNow(pairs: readonly Pair[], unseen: readonly UnseenPairs[]): StepOperation | null {
    const count = currentInterpreter().symbolic
      ? this.#count.variableFor(pairs.map(([v]) => v))
      : null;
    const done: (StepOperation | null)[] = [];
    tidy(() => {
      done.push(...this.#update(pairs, count));
      for (const { unseen: map, only } of unseen) {
        done.push(applyUnseen(map, (found) => {
          const chosen = only ? found.filter(([r]) => only.includes(r.id)) : found;
          if (chosen.length === 0) {
            if (only === null && pairs.every(([, g]) => g === null)) throw notConnected();
            return;
          }
          tidy(() => this.#update(chosen.map(([r, g]) => [variableOf(r), g]), null));
        }));
      }
      // The step is counted after all reads of the count.
      done.push(after(done, () => this.#count.add(count)));
    });
    return after(done, group);
  }

  /** Updates variables; `count` is the number of steps before, in a graph, and null in eager code. */
  #update(pairs: readonly Pair[], count: Variable | null): (StepOperation | null)[] {
    const trained = pairs.flatMap(([of, gradient]) => {
      const slots = this.#slots.of(of);
      return gradient === null ? [] : [{ of, slots, gradient }];
    });
    return this.#steps.run(trained, count ?? this.iterations, this.#rate);
  }

  /**
   * Returns the step count (`iter`) and the slots, named by their variables. The slots' tensors are the optimizer's
   * own.
   */
  // deno-lint-ignore require-await
  async getWeights(): Promise<{ name: string; tensor: Tensor }[]> {
    return this.weightsNow();
  }

  /**
   * Returns the result of `getWeights()` at once.
   * @internal
   */
  weightsNow(): { name: string; tensor: Tensor }[] {
    const iter = withInterpreter(
      null,
      () => currentInterpreter().constant(new NdArray("int32", [], Int32Array.of(this.iterations))),
    );
    return [{ name: "iter", tensor: iter }, ...this.#slots.list()];
  }

  /**
   * Restores the result of `getWeights()`; slots are matched by name, those of variables with other names by order. Compiled steps
   * continue from there. Rejects with `ValueError` where there are too many or too few, or one is of another optimizer or shape.
   */
  async setWeights(
    weights: readonly { readonly name: string; readonly tensor: Tensor }[],
  ): Promise<void> {
    wantList(weights, "weights", "setWeights");
    for (const [i, w] of weights.entries()) {
      if (w?.tensor instanceof Tensor) continue;
      throw wrongArgument(w, `weights[${i}]`, "setWeights", "an object of name and tensor");
    }
    if (weights.length === 0) {
      throw new ValueError(`Cannot set the weights of ${this.getClassName()}: the list is empty`);
    }
    const [count, ...values] = await Promise.all(weights.map(({ tensor }) => tensor.ndarray()));
    const slots = values.map((value, i) => ({ name: weights[i + 1].name, value }));
    const take = this.#slots.fit(slots, false);
    take();
    this.#count.value = Number(count.data[0]);
  }

  /**
   * Checks saved weights, and returns what restores them; `isPartial`: as `Slots.fit`. Throws `ValueError` where they do not fit.
   * @internal
   */
  fit(saved: readonly SavedSlot[], isPartial: boolean): () => void {
    wantSaved(saved, "fit");
    const count = saved.find(({ name }) => name === "iter");
    const slots = saved.filter((one) => one !== count);
    const take = this.#slots.fit(slots, isPartial);
    return () => {
      take();
      if (count) this.#count.value = Number(count.value.data[0]);
    };
  }

  /** Frees the slots. */
  dispose(): void {
    this.#slots.dispose();
    this.#count.dispose();
    this.#rate.dispose();
  }
  /** Frees the slots at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats the settings and the number of steps. */
  toString(): string {
    const settings = Object.entries(this.getConfig()).map(([key, x]) => `${key}=${settingText(x)}`);
    return `<${this.getClassName()} ${settings.join(" ")}: ${counted(this.iterations, "step")}>`;
  }
}
showAs(Optimizer);

/** Formats a setting: functions without a formula as `f`, parts by their names. */
function settingText(x: ConfigValue | SavedPart): string {
  if (Array.isArray(x)) return x.map(settingText).join();
  if (typeof x === "function" && !("formula" in x)) return "f";
  if (typeof x !== "object" || x === null) return String(x);
  return "transform" in x ? x.transform : "className" in x ? x.className : String(x);
}

function variableOf(resource: Resource): Variable {
  const { variable } = resource as VariableState;
  if (variable instanceof Variable) return variable;
  throw new ValueError(`Cannot train '${resource.sharedName}': no variable stands for it here`);
}

export type { StepOperation };
