/** The common part of TensorFlow 1's optimizers: a step adds TensorFlow's own update op for each variable. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { apply1 } from "../../engine/core/apply.ts";
import { lookupOp } from "../../engine/core/op.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { ValueError } from "../../engine/core/errors.ts";
import {
  optionCheck,
  wantBoolean,
  wantList,
  wantString,
  wrongArgument,
} from "../../engine/core/arguments.ts";
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
import { graphVariable, Variable } from "../../engine/runtime/variables/variable.ts";
import { graphFor } from "./collections.ts";

import { trainableVariables } from "./variables.ts";

/** A gradient, or null where there is none, and its variable. */
export type GradientAndVariable = readonly [Tensor | null, Variable];

/** Options of {@linkcode Optimizer.computeGradients}. */
export interface ComputeGradientsOptions {
  /** The variables. Default all that the graph's optimizers train. */
  readonly varList?: readonly Variable[] | null | undefined;
  /** Gradient of the loss; default ones. */
  readonly gradLoss?: Tensor | undefined;
}

/** Options of {@linkcode Optimizer.applyGradients}. */
export interface ApplyGradientsOptions {
  /** A variable that is incremented after all updates. */
  readonly globalStep?: Variable | null | undefined;
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
  /** Names of slots that end otherwise than with the optimizer's. */
  readonly named?: Readonly<Record<string, string | null>>;
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

  /** `useLocking` changes nothing: updates of a variable never meet here. Throws `TypeError` for values of another kind. */
  constructor(useLocking: boolean, name: string) {
    wantBoolean(useLocking, "useLocking", "Optimizer");
    wantString(name, "name", "Optimizer");
    this.name = name;
  }

  /** Returns the update of a step. */
  protected abstract update(graph: Graph, variables: readonly Variable[]): Update;
  /** Adds operations that run once after the updates. */
  protected finish(_graph: Graph): readonly Operation[] {
    return [];
  }

  /**
   * Adds the gradients of a loss with respect to variables; options may stand in their place. Throws `ValueError` where there is no
   * variable, and `TypeError` for a value of another kind.
   */
  computeGradients(
    loss: Tensor,
    varList?: readonly Variable[] | null | ComputeGradientsOptions,
  ): GradientAndVariable[] {
    const isList = varList === null || Array.isArray(varList);
    const options = (isList ? { varList } : varList ?? {}) as ComputeGradientsOptions;
    checkCompute(options);
    wantLoss(loss, "computeGradients");
    const { gradLoss } = options;
    const chosen = options.varList ?? loss.graph.asDefault(() => trainableVariables());
    wantVariables(chosen, "computeGradients");
    return this.#gradientsOf(loss, chosen, gradLoss);
  }

  #gradientsOf(
    loss: Tensor,
    varList: readonly Variable[],
    gradLoss: Tensor | undefined,
  ): GradientAndVariable[] {
    if (varList.length === 0) throw new ValueError("No variables to optimize.");
    const handles = varList.map((v) => v.handle);
    const found = gradients(loss, handles, gradLoss ? { gradYs: [gradLoss] } : {});
    return varList.map((v, i) => [found[i], v]);
  }

  /**
   * Adds the updates of a step, and of `globalStep` after them; options may stand in its place. The result runs them. Throws `ValueError`
   * where no variable has a gradient, and `TypeError` for a value of another kind.
   */
  applyGradients(
    gradsAndVars: readonly GradientAndVariable[],
    globalStep?: Variable | null | ApplyGradientsOptions,
    name?: string | null,
  ): Operation {
    const options = withStep<ApplyGradientsOptions>(globalStep);
    checkApply(options);
    wantPairs(gradsAndVars);
    return this.#updatesOf(gradsAndVars, options.globalStep, options.name ?? name ?? this.name);
  }

  #updatesOf(
    gradsAndVars: readonly GradientAndVariable[],
    globalStep: Variable | null | undefined,
    name: string,
  ): Operation {
    wantString(name, "name", "applyGradients");
    if (globalStep) wantVariables([globalStep], "applyGradients", "globalStep");
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
    const slots = given.map(([, v]) => this.#slotsOf(graph, v, update));
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

  /**
   * Adds the gradients of a loss and the updates of a step; the result runs them. Options may stand in the place of `globalStep`. Throws
   * as both of them do.
   */
  minimize(
    loss: Tensor,
    globalStep?: Variable | null | MinimizeOptions,
    varList?: readonly Variable[] | null,
  ): Operation {
    const options = withStep<MinimizeOptions>(globalStep);
    checkMinimize(options);
    const { gradLoss, name } = options;
    const pairs = this.computeGradients(loss, { varList: options.varList ?? varList, gradLoss });
    return loss.graph.asDefault(() => this.applyGradients(pairs, options.globalStep, name));
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

  #slotsOf(graph: Graph, v: Variable, { slots: wanted, named = {} }: Update): Variable[] {
    let slots = this.#slots.get(v);
    if (!slots) this.#slots.set(v, slots = new Map());
    for (const [name, initial] of Object.entries(wanted)) {
      if (slots.has(name)) continue;
      const first = (): Tensor => fill(v.shape, initial, v.dtype);
      slots.set(name, this.keep(graph, first, `${v.name}/${named[name] ?? this.name}`));
    }
    return Object.keys(wanted).map((name) => slots.get(name)!);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.compat.v1.train.Optimizer '${this.name}'>`;
  }
}
showAs(Optimizer);

/** Returns options: those that were given, or the step alone. */
function withStep<T extends ApplyGradientsOptions>(given: Variable | null | T | undefined): T {
  return given instanceof Variable ? { globalStep: given } as T : given ?? {} as T;
}

function wantLoss(loss: unknown, fn: string): void {
  if (!(loss instanceof Tensor)) throw wrongArgument(loss, "loss", fn, "a tensor of a graph");
}

function wantVariables(list: unknown, fn: string, arg = "varList"): void {
  wantList(list, arg, fn, "variables");
  for (const v of list as unknown[]) {
    if (!(v instanceof Variable)) throw wrongArgument(v, arg, fn, "variables");
  }
}

function wantPairs(list: readonly unknown[]): void {
  const wanted = "lists of a gradient or null and its variable", of = "applyGradients";
  wantList(list, "gradsAndVars", of, wanted);
  for (const pair of list) {
    const fits = Array.isArray(pair) && pair[1] instanceof Variable &&
      (pair[0] === null || pair[0] instanceof Tensor);
    if (!fits) throw wrongArgument(pair, "gradsAndVars", of, wanted);
  }
}

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
