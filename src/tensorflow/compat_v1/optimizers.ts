/** The optimizers of TensorFlow 1, in its numerics: each adds TensorFlow's own update op for each variable. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { apply1 } from "../../engine/core/apply.ts";
import { lookupOp } from "../../engine/core/op.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantString } from "../../engine/core/arguments.ts";
import { gradients } from "../../engine/autodiff/gradients.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { fill } from "../../engine/ops/array/creation.ts";
import { dense, IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { unique } from "../../engine/ops/array/set_ops.ts";
import { size } from "../../engine/ops/array/view.ts";
import { mul, neg } from "../../engine/ops/pointwise/arithmetic.ts";
import { group } from "../../engine/graph/groups.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { graphVariable, type Variable } from "../../engine/runtime/variables/variable.ts";
import { graphFor } from "./collections.ts";
import { checkFlag, checkRates, type Rate, valueOf } from "./optimizer_arguments.ts";
import { trainableVariables } from "./variables.ts";

/** A gradient, or null where there is none, and its variable. */
export type GradientAndVariable = readonly [Tensor | null, Variable];

/** Options of {@linkcode Optimizer.computeGradients}. */
export interface ComputeGradientsOptions {
  /** The variables. Default all that the graph's optimizers train. */
  readonly varList?: readonly Variable[] | undefined;
  /** Gradient of the loss; default ones. */
  readonly gradLoss?: Tensor | undefined;
}

/** Options of {@linkcode Optimizer.applyGradients}. */
export interface ApplyGradientsOptions {
  /** A variable that is incremented after all updates. */
  readonly globalStep?: Variable | undefined;
  /** Name of the operation. Default the optimizer's. */
  readonly name?: string | undefined;
}

/** Options of {@linkcode Optimizer.minimize}. */
export type MinimizeOptions = ComputeGradientsOptions & ApplyGradientsOptions;

const checkCompute = optionCheck<ComputeGradientsOptions>("computeGradients", {
  varList: true,
  gradLoss: true,
});
const checkApply = optionCheck<ApplyGradientsOptions>("applyGradients", {
  globalStep: true,
  name: true,
});
const checkMinimize = optionCheck<MinimizeOptions>("minimize", {
  varList: true,
  gradLoss: true,
  globalStep: true,
  name: true,
});

/** An update op and its operands. */
export interface Update {
  /** TensorFlow's op without `ResourceApply`. */
  readonly kind: string;
  /** Initial value of each slot. */
  readonly slots: Readonly<Record<string, number>>;
  /** The op's inputs after the handles, the gradient among them. */
  readonly inputs: (gradient: Tensor, scalar: (value: TensorLike) => Tensor) => readonly Tensor[];
  /**
   * Treatment of the gradients of gathered rows: the op that updates those rows alone (`apply`, the default), a
   * subtraction from them (`scatter`), or a dense gradient, since means of other rows decay too (`whole`).
   */
  readonly rows?: "apply" | "scatter" | "whole";
  /** The op's attributes. */
  readonly attrs?: Readonly<Record<string, unknown>>;
}

/** Changes variables of a graph so that a loss falls. Follows TensorFlow `tf.compat.v1.train.Optimizer`. */
export abstract class Optimizer {
  /** Name of the operations and slots. */
  readonly name: string;
  readonly #slots = new Map<Variable, Map<string, Variable>>();
  readonly #kept: Variable[] = [];

  /** Called by the classes of this file. */
  constructor(name: string) {
    wantString(name, "name", "Optimizer");
    this.name = name;
  }

  /** Returns the update of a step. */
  protected abstract update(graph: Graph, variables: readonly Variable[]): Update;
  /** Adds operations that run once after the updates. */
  protected finish(_graph: Graph): readonly Operation[] {
    return [];
  }

  /** Adds the gradients of a loss. Throws `ValueError` where there is no variable. */
  computeGradients(loss: Tensor, options: ComputeGradientsOptions = {}): GradientAndVariable[] {
    checkCompute(options);
    const { varList = loss.graph.asDefault(() => trainableVariables()), gradLoss } = options;
    if (varList.length === 0) throw new ValueError("No variables to optimize.");
    const handles = varList.map((v) => v.handle);
    const found = gradients(loss, handles, gradLoss ? { gradYs: [gradLoss] } : {});
    return varList.map((v, i) => [found[i], v]);
  }

  /** Adds the updates of a step; the result runs them. Throws `ValueError` where no variable has a gradient. */
  applyGradients(
    gradsAndVars: readonly GradientAndVariable[],
    options: ApplyGradientsOptions = {},
  ): Operation {
    checkApply(options);
    const { globalStep, name = this.name } = options;
    const given = gradsAndVars.filter((pair): pair is readonly [Tensor, Variable] =>
      pair[0] !== null
    );
    if (given.length === 0) {
      throw new ValueError(
        `No gradients provided for any variable: [${
          gradsAndVars.map(([, v]) => v.name).join(", ")
        }]`,
      );
    }
    const graph = graphFor("applyGradients()");
    const update = this.update(graph, given.map(([, v]) => v));
    const slots = given.map(([, v]) => this.#slotsOf(graph, v, update.slots));
    return graph.asDefault(() =>
      graph.nameScope(name, (scope) => {
        const done = given.map(([g, v], i) =>
          graph.nameScope(`update_${v.name}`, () => addUpdate(graph, update, [v, ...slots[i]], g))
        );
        const after = graph.controlDependencies(done, () => this.finish(graph));
        const all = [...done, ...after];
        if (!globalStep) return group(...all, { name: scope }) as Operation;
        const counted = graph.controlDependencies(all, () => globalStep.assignAdd(1)!.operation);
        return group(counted, { name: scope }) as Operation;
      })
    );
  }

  /** Adds the gradients of a loss and the updates of a step; the result runs them. Throws as both of them do. */
  minimize(loss: Tensor, options: MinimizeOptions = {}): Operation {
    checkMinimize(options);
    const { varList, gradLoss, globalStep, name } = options;
    const pairs = this.computeGradients(loss, { varList, gradLoss });
    return loss.graph.asDefault(() => this.applyGradients(pairs, { globalStep, name }));
  }

  /** Returns a slot of a variable by name; null where there is none. */
  getSlot(v: Variable, name: string): Variable | null {
    return this.#slots.get(v)?.get(name) ?? null;
  }
  /** Returns the names of the slots. */
  getSlotNames(): string[] {
    return [...new Set([...this.#slots.values()].flatMap((slots) => [...slots.keys()]))].sort();
  }

  /** Returns the optimizer's variables, by name: slots and shared ones. */
  variables(): Variable[] {
    return this.#kept.toSorted((a, b) => a.name < b.name ? -1 : 1);
  }

  /** Makes a variable of the optimizer's own, named from the root. */
  protected keep(graph: Graph, initial: TensorLike | (() => TensorLike), name: string): Variable {
    const made = graph.asDefault(() =>
      graph.atRoot(() => graphVariable(graph, initial, { name, trainable: false }))
    );
    this.#kept.push(made);
    return made;
  }

  #slotsOf(graph: Graph, v: Variable, wanted: Update["slots"]): Variable[] {
    let slots = this.#slots.get(v);
    if (!slots) this.#slots.set(v, slots = new Map());
    for (const [name, initial] of Object.entries(wanted)) {
      if (slots.has(name)) continue;
      const first = (): Tensor => fill(v.shape, initial, v.dtype);
      slots.set(name, this.keep(graph, first, `${v.name}/${this.name}`));
    }
    return Object.keys(wanted).map((name) => slots.get(name)!);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.compat.v1.train.Optimizer '${this.name}'>`;
  }
}
showAs(Optimizer);

/** Adds the update of a variable and its slots. */
function addUpdate(
  graph: Graph,
  { kind, inputs, rows = "apply", attrs = {} }: Update,
  variables: readonly Variable[],
  gradient: Tensor,
): Operation {
  const handles = variables.map((v) => v.handle);
  const scalar = (value: TensorLike): Tensor => cast(value, variables[0].dtype);
  if (!(gradient instanceof IndexedSlices) || rows === "whole") {
    const type = `ResourceApply${kind}`;
    const given = [...handles, ...inputs(dense(gradient, variables[0].shape), scalar)];
    return graph.addOp(lookupOp(type)!, given, attrs, { name: type });
  }
  const { values, indices } = gradient;
  if (rows === "scatter") {
    const [rate] = inputs(values, scalar), step = mul(neg(values), rate);
    return variables[0].scatterAdd(new IndexedSlices(step, indices))!;
  }
  // Repeated rows are summed first, as in TensorFlow.
  const found = unique(indices);
  const sum = [values, found.indices, size(found.values)];
  const sums = apply1(lookupOp("UnsortedSegmentSum")!, sum);
  const given = inputs(sums, scalar).flatMap((t) => t === sums ? [t, found.values] : [t]);
  const type = `ResourceSparseApply${kind}`;
  return graph.addOp(lookupOp(type)!, [...handles, ...given], attrs, { name: type });
}

/** Plain gradient descent. Follows TensorFlow `tf.compat.v1.train.GradientDescentOptimizer`. */
export class GradientDescentOptimizer extends Optimizer {
  readonly #rate: Rate;

  /** The rate may be a tensor. */
  constructor(learningRate: Rate, name = "GradientDescent") {
    super(name);
    checkRates("GradientDescentOptimizer", { learningRate });
    this.#rate = learningRate;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate);
    return {
      kind: "GradientDescent",
      slots: {},
      inputs: (g, scalar) => [scalar(rate), g],
      rows: "scatter",
    };
  }
}

/** Gradient descent with momentum. Follows TensorFlow `tf.compat.v1.train.MomentumOptimizer`. */
export class MomentumOptimizer extends Optimizer {
  readonly #rate: Rate;
  readonly #momentum: Rate;
  readonly #useNesterov: boolean;

  /** `momentum` is the part of the last step that is kept. */
  constructor(learningRate: Rate, momentum: Rate, useNesterov = false, name = "Momentum") {
    super(name);
    checkRates("MomentumOptimizer", { learningRate, momentum });
    checkFlag("MomentumOptimizer", "useNesterov", useNesterov);
    this.#rate = learningRate;
    this.#momentum = momentum;
    this.#useNesterov = useNesterov;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate), momentum = valueOf(this.#momentum);
    return {
      kind: "Momentum",
      slots: { momentum: 0 },
      inputs: (g, scalar) => [scalar(rate), g, scalar(momentum)],
      attrs: { use_nesterov: this.#useNesterov },
    };
  }
}

/** Adagrad. Follows TensorFlow `tf.compat.v1.train.AdagradOptimizer`. */
export class AdagradOptimizer extends Optimizer {
  readonly #rate: Rate;
  readonly #initial: number;

  /** Throws `ValueError` unless the initial sums are above zero. */
  constructor(learningRate: Rate, initialAccumulatorValue = 0.1, name = "Adagrad") {
    super(name);
    checkRates("AdagradOptimizer", { learningRate });
    if (!(initialAccumulatorValue > 0)) {
      throw new ValueError(
        `initial_accumulator_value must be positive: ${initialAccumulatorValue}`,
      );
    }
    this.#rate = learningRate;
    this.#initial = initialAccumulatorValue;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate);
    return {
      kind: "Adagrad",
      slots: { accumulator: this.#initial },
      inputs: (g, scalar) => [scalar(rate), g],
    };
  }
}

/** Adadelta. Follows TensorFlow `tf.compat.v1.train.AdadeltaOptimizer`. */
export class AdadeltaOptimizer extends Optimizer {
  readonly #scalars: readonly Rate[];

  /** `rho` is the decay of both averages. */
  constructor(
    learningRate: Rate = 0.001,
    rho: Rate = 0.95,
    epsilon: Rate = 1e-8,
    name = "Adadelta",
  ) {
    super(name);
    checkRates("AdadeltaOptimizer", { learningRate, rho, epsilon });
    this.#scalars = [learningRate, rho, epsilon];
  }
  protected update(): Update {
    const values = this.#scalars.map(valueOf);
    return {
      kind: "Adadelta",
      slots: { accum: 0, accum_update: 0 },
      inputs: (g, scalar) => [...values.map(scalar), g],
    };
  }
}

/** RMSProp, plain or centered. Follows TensorFlow `tf.compat.v1.train.RMSPropOptimizer`: mean squares start at one. */
export class RMSPropOptimizer extends Optimizer {
  readonly #scalars: readonly Rate[];
  readonly #centered: boolean;

  /** `centered` subtracts the squared mean from the mean square. */
  constructor(
    learningRate: Rate,
    decay: Rate = 0.9,
    momentum: Rate = 0,
    epsilon: Rate = 1e-10,
    centered = false,
    name = "RMSProp",
  ) {
    super(name);
    checkRates("RMSPropOptimizer", { learningRate, decay, momentum, epsilon });
    checkFlag("RMSPropOptimizer", "centered", centered);
    this.#scalars = [learningRate, decay, momentum, epsilon];
    this.#centered = centered;
  }
  protected update(): Update {
    const values = this.#scalars.map(valueOf);
    return {
      kind: this.#centered ? "CenteredRMSProp" : "RMSProp",
      slots: this.#centered ? { mg: 0, rms: 1, momentum: 0 } : { rms: 1, momentum: 0 },
      inputs: (g, scalar) => [...values.map(scalar), g],
    };
  }
}

/** Adam. Follows TensorFlow `tf.compat.v1.train.AdamOptimizer`: epsilon stands before the correction. */
export class AdamOptimizer extends Optimizer {
  readonly #scalars: readonly [Rate, Rate, Rate, Rate];
  readonly #powers = new WeakMap<Graph, readonly [Variable, Variable]>();

  /** `beta1` and `beta2` are the decays of the two means. */
  constructor(
    learningRate: Rate = 0.001,
    beta1: Rate = 0.9,
    beta2: Rate = 0.999,
    epsilon: Rate = 1e-8,
    name = "Adam",
  ) {
    super(name);
    checkRates("AdamOptimizer", { learningRate, beta1, beta2, epsilon });
    this.#scalars = [learningRate, beta1, beta2, epsilon];
  }
  #powersOf(graph: Graph): readonly [Variable, Variable] {
    let powers = this.#powers.get(graph);
    if (!powers) {
      const [, beta1, beta2] = this.#scalars;
      powers = [
        this.keep(graph, valueOf(beta1), "beta1_power"),
        this.keep(graph, valueOf(beta2), "beta2_power"),
      ];
      this.#powers.set(graph, powers);
    }
    return powers;
  }
  protected update(graph: Graph): Update {
    const powers = this.#powersOf(graph).map((p) => p.readValue());
    const values = this.#scalars.map(valueOf);
    return {
      kind: "Adam",
      slots: { m: 0, v: 0 },
      inputs: (g, scalar) => [...[...powers, ...values].map(scalar), g],
      rows: "whole",
    };
  }
  /** Multiplies the powers of the decays after all variables are updated. */
  protected override finish(graph: Graph): readonly Operation[] {
    const [, beta1, beta2] = this.#scalars;
    return this.#powersOf(graph).map((p, i) =>
      p.assign(mul(p, cast(valueOf(i === 0 ? beta1 : beta2), p.dtype)))!.operation
    );
  }
}
