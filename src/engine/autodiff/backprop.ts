/** Reverse-mode differentiation over steps: one algorithm for tapes and graphs. */
import {
  type Application,
  apply1,
  currentRecorders,
  keepingAll,
  type OpInput,
  type Recorder,
  withRecorders,
} from "../core/apply.ts";
import { DTYPES, isTrainable } from "../core/dtype.ts";
import { FLOATS, type GradientFlow } from "./flow.ts";
import { type GradContext, lookupOp } from "../core/op.ts";
import { boundAttrs } from "../core/signature.ts";
import { isConcrete, sameShape } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { InternalError, LookupError } from "../core/errors.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import {
  type GroupWalk,
  makeStep,
  savedByName,
  type Step,
  type StepValue,
  withVariables,
} from "./steps.ts";
import { cutOf, noteCuts, noticingCuts } from "./cuts.ts";
import { Gradients } from "./gradient_sums.ts";
import { dense, IndexedSlices } from "../ops/array/indexed_slices.ts";
import { cast } from "../ops/array/cast.ts";
import { reshape } from "../ops/array/view.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { zerosOfSpec } from "../ops/array/fill_ops.ts";
import { intVector } from "../ops/input.ts";
import { throughFloat32 } from "../ops/through_float32.ts";

/** A value to differentiate, and the gradient that flows into it. */
export interface Seed {
  readonly id: number;
  readonly grad: Tensor;
  /** True where the gradient is the pass's own, to be freed by it. */
  readonly isOwn?: boolean;
}

/** Hook around each step, by which the graph sets name scopes and devices. */
export type AroundStep = (
  step: Step,
  run: () => readonly (Tensor | null)[],
) => readonly (Tensor | null)[];

export interface BackpropOptions {
  readonly sources: readonly number[];
  /** Ids through which no gradient flows, though they may be sources. */
  readonly stops?: ReadonlySet<number>;
  /** Handles of variables among the sources: steps that may read variables unseen get them as inputs. */
  readonly variables?: readonly Tensor[];
  readonly around?: AroundStep;
  /** True: the gradient of gathered rows is returned as `IndexedSlices`. */
  readonly slices?: boolean;
  /** The dtypes that gradients flow through. Default floats. */
  readonly flow?: GradientFlow;
}

/**
 * Computes gradients of the seeds with respect to the sources, null where not connected. Throws `LookupError` for an op
 * with no gradient rule.
 */
export function backprop(
  steps: readonly Step[],
  seeds: readonly Seed[],
  options: BackpropOptions,
): (Tensor | null)[] {
  const found = noticingCuts(() => {
    const walk = new BackwardWalk(steps, seeds, options);
    while (walk.goOn());
    return walk.gradients();
  });
  return options.slices ? found : found.map((g) => g && dense(g));
}

/**
 * Is {@linkcode backprop} with `slices` for a pass that may pause: `within` runs a stretch of it, `turn` returns a
 * promise where the next one must wait.
 */
export function backpropInTurns(
  steps: readonly Step[],
  seeds: readonly Seed[],
  { within, turn, ...options }: BackpropOptions & {
    readonly within: <R>(stretch: () => R) => R;
    readonly turn: () => Promise<void> | null;
  },
): readonly (Tensor | null)[] | Promise<readonly (Tensor | null)[]> {
  let walk: BackwardWalk | null = null;
  let found: readonly (Tensor | null)[] = [], pause: Promise<void> | null = null;
  const stretch = (): readonly unknown[] => {
    walk ??= new BackwardWalk(steps, seeds, options);
    while (walk.goOn()) {
      // A non-null result tells noticingCuts() that gradients flow beside the cuts of this stretch.
      if ((pause = turn()) !== null) return [true];
    }
    return found = walk.gradients();
  };
  const goOn = (): readonly (Tensor | null)[] | Promise<readonly (Tensor | null)[]> => {
    pause = null;
    within(() => noticingCuts(stretch));
    return (pause as Promise<void> | null)?.then(goOn) ?? found;
  };
  return goOn();
}

/** A walk from the last step to the first, which may pause between two of them. */
class BackwardWalk {
  readonly #options: BackpropOptions;
  readonly #flow: GradientFlow;
  readonly #wanted: ReadonlySet<number>;
  /** Ids of the sources, and of the values that depend on them. */
  readonly #reached: Set<number>;
  readonly #grads = new Gradients();
  /** The steps that depend on a source and were not walked yet. */
  readonly #useful: Step[] = [];
  /** The group that the walk is in. */
  #group: {
    readonly walk: GroupWalk;
    readonly end: (dxs: readonly (Tensor | null)[]) => void;
  } | null = null;

  constructor(steps: readonly Step[], seeds: readonly Seed[], options: BackpropOptions) {
    this.#options = options;
    this.#flow = options.flow ?? FLOATS;
    this.#wanted = new Set(options.sources);
    this.#reached = new Set(options.sources);
    this.#choose(steps, seeds);
    for (const s of seeds) if (this.#reached.has(s.id)) this.#grads.give(s.id, s.grad, s.isOwn);
  }

  #choose(steps: readonly Step[], seeds: readonly Seed[]): void {
    const { stops, variables = [] } = this.#options, reached = this.#reached;
    const cuts: Step[] = [];
    for (const taken of steps) {
      if (!this.#flow.passes(taken)) {
        if (cutOf(taken) !== null && this.#leadsOn(taken)) cuts.push(taken);
        continue;
      }
      const step = withVariables(taken, variables);
      if (!this.#leadsOn(step)) continue;
      this.#useful.push(step);
      for (const o of step.outputs) {
        if (this.#carries(o) && !stops?.has(o.id)) reached.add(o.id);
      }
    }
    if (cuts.length > 0) noteCuts(cuts, steps, seeds.map((s) => s.id));
  }

  #carries({ dtype }: StepValue): boolean {
    return this.#flow.gradientOf(dtype) !== null;
  }

  #leadsOn({ inputs }: Step): boolean {
    for (let i = 0; i < inputs.length; i++) if (this.#needs(inputs[i])) return true;
    return false;
  }

  #needs(input: StepValue): boolean {
    return this.#reached.has(input.id) && this.#carries(input);
  }

  /** Differentiates the next step that has a gradient. False at the end. */
  goOn(): boolean {
    if (this.#group !== null) {
      const { walk, end } = this.#group;
      if (walk.goOn()) return true;
      this.#group = null;
      end(walk.gradients());
      return true;
    }
    for (let step = this.#useful.pop(); step !== undefined; step = this.#useful.pop()) {
      if (this.#differentiate(step)) return true;
    }
    return false;
  }

  /** Returns a gradient in the dtype of its input: the rule of an op may compute in a wider one. */
  #inDtypeOf({ def, inputs }: Step, i: number, dx: Tensor): Tensor {
    const dtype = this.#flow.gradientOf(inputs[i].dtype);
    if (dtype === null || dx.dtype === dtype) return dx;
    const { kind } = DTYPES[dtype];
    if (kind === "handle") return dx;
    if (DTYPES[dx.dtype].kind !== kind) {
      throw new TypeError(
        `Cannot differentiate ${def.name}: its gradient of input ${i} is ${dx.dtype}, wanted ${dtype}`,
      );
    }
    return dx instanceof IndexedSlices ? dx.withValues(cast(dx.values, dtype)) : cast(dx, dtype);
  }

  /** The gradients of the sources. */
  gradients(): (Tensor | null)[] {
    return this.#options.sources.map((id) => this.#grads.total(id));
  }

  /** False for a step whose outputs have no gradient. */
  #differentiate(step: Step): boolean {
    const { stops, around } = this.#options, grads = this.#grads, { inputs, outputs } = step;
    const dys: (Tensor | null)[] = [];
    let hasGradient = false;
    for (let i = 0; i < outputs.length; i++) {
      const { id } = outputs[i];
      // A stop may itself be a source.
      const leadsBack = id !== 0 && this.#reached.has(id) && !stops?.has(id);
      const dy = leadsBack ? grads.total(id) : null;
      if (dy !== null) hasGradient = true;
      dys.push(dy);
    }
    if (!hasGradient) return false;
    const ended: (readonly Tensor[] | null)[] = [], spent: boolean[] = [], needs: boolean[] = [];
    for (let i = 0; i < outputs.length; i++) {
      const { id } = outputs[i], dy = dys[i];
      ended.push(this.#wanted.has(id) ? null : grads.end(id));
      spent.push(ended[i] !== null && dy !== null && grads.isAlone(dy));
    }
    for (let i = 0; i < inputs.length; i++) needs.push(this.#needs(inputs[i]));
    if (step.group !== undefined) {
      const end = (dxs: readonly (Tensor | null)[]): void => this.#end(step, dxs, needs, ended);
      this.#group = { walk: step.group.begin(step, dys, needs), end };
      return true;
    }
    const flow = this.#flow;
    const run = (): readonly (Tensor | null)[] =>
      flow.through(step, needs, (own) => stepGradient(own, dys, { needs, spent }));
    const dxs = around === undefined ? run() : around(step, run);
    if (dxs.length !== inputs.length) {
      throw new InternalError(
        `Gradient of ${step.def.name} returned ${dxs.length} values, wanted one for each of ${inputs.length} inputs`,
      );
    }
    this.#end(step, dxs, needs, ended);
    return true;
  }

  /** Gives the inputs of a step their gradients, and drops those of its outputs. */
  #end(
    step: Step,
    dxs: readonly (Tensor | null)[],
    needs: readonly boolean[],
    ended: readonly (readonly Tensor[] | null)[],
  ): void {
    for (let i = 0; i < dxs.length; i++) {
      const dx = dxs[i];
      if (dx !== null && needs[i]) {
        this.#grads.give(step.inputs[i].id, this.#inDtypeOf(step, i, dx));
      }
    }
    for (const parts of ended) {
      if (parts !== null) { for (const g of parts) this.#grads.drop(g); }
    }
  }
}

function hasGradient(v: StepValue): boolean {
  return isTrainable(v.dtype) && v.dtype !== "resource" && v.dtype !== "variant";
}

function stepGradient(
  step: Step,
  dys: readonly (Tensor | null)[],
  { needs, spent }: Pick<GradContext, "needs" | "spent">,
): readonly (Tensor | null)[] {
  const { def } = step;
  const attrs = boundAttrs(def, step.inputs, step.attrs);
  if (!def.grad?.passesOn && dys.some((d) => d instanceof IndexedSlices)) {
    dys = dys.map((d) => d && dense(d));
  }
  if (def.grad) {
    const given = dys.map((d) => d !== null);
    const ctx = gradContext(step, { attrs, needs, given, spent });
    return def.grad.vjp(
      savedByName(step),
      def.grad.partial ? dys as readonly Tensor[] : withZeros(step, dys),
      ctx,
    );
  }
  if (!def.expand) {
    throw new LookupError(
      `No gradient defined for operation '${def.name}' (op type: ${def.name}). In general every operation must have an associated gradient rule for correct autodiff`,
    );
  }
  return expandGradient(step, attrs, dys, needs);
}

/** Returns the gradients of the outputs; missing ones become zeros when they are read. */
function withZeros(step: Step, dys: readonly (Tensor | null)[]): readonly Tensor[] {
  if (!dys.includes(null)) return dys as readonly Tensor[];
  const filled: Tensor[] = new Array<Tensor>(dys.length);
  dys.forEach((d, i) => {
    let value = d;
    const o = step.outputs[i];
    const get = (): Tensor => {
      if (value === null && hasGradient(o)) value = zerosOfSpec(o, step.kept.get(`o${i}`));
      return value as Tensor;
    };
    Object.defineProperty(filled, i, { get, enumerable: true });
  });
  return filled;
}

/** Differentiates an op through its expansion, computed again. */
function expandGradient(
  step: Step,
  attrs: GradContext["attrs"],
  dys: readonly (Tensor | null)[],
  needs: readonly boolean[],
): (Tensor | null)[] {
  const { def } = step, dtypes = step.outputs.map((o) => o.dtype);
  const inputs = step.inputs.map((_, i) => step.kept.get(`i${i}`)!);
  const inner: Step[] = [];
  const recorder: Recorder = { record: (a: Application) => void inner.push(makeStep(a, (t) => t)) };
  const outputs = withRecorders(
    [...currentRecorders(), recorder],
    // The steps hold their inputs directly; the caller of the gradient disposes all of it.
    () =>
      keepingAll(() => throughFloat32(def, inputs, attrs, dtypes) ?? def.expand!(inputs, attrs)),
  );
  const seeds = outputs.flatMap((o, i) => (dys[i] === null ? [] : [{ id: o.id, grad: dys[i] }]));
  // A tensor that is several inputs has one gradient in all: the first of them gets it.
  const ids = inputs.map((x, i) => (x instanceof Tensor && needs[i] ? x.id : -1));
  const sources = ids.map((id, i) => (ids.indexOf(id) === i ? id : -1));
  return backprop(inner, seeds, { sources, slices: true });
}

function gradContext(
  step: Step,
  known: Pick<GradContext, "attrs" | "needs" | "given" | "spent">,
): GradContext {
  return {
    ...known,
    inputs: step.inputs,
    outputs: step.outputs,
    shapeOf(i: number): TensorLike {
      const s = step.inputs[i].shape;
      if (isConcrete(s)) return intVector(s);
      return apply1(lookupOp("Shape")!, [keptInput(step, i)]);
    },
    sumLike(grad: Tensor, i: number): Tensor {
      const want = step.inputs[i].shape, have = grad.staticShape;
      if (isConcrete(want) && isConcrete(have)) return sumToShape(grad, have, want);
      if (sameShape(want, have) && want !== null && !want.includes(null)) return grad;
      return apply1(lookupOp("SumLike")!, [grad, keptInput(step, i)]);
    },
  };
}

/** Returns a kept input. A graph keeps every input; on a tape all shapes are known, so it needs none. */
function keptInput(step: Step, i: number): OpInput {
  const t = step.kept.get(`i${i}`);
  if (t === undefined) {
    throw new InternalError(
      `Cannot differentiate ${step.def.name}: input ${i} was not kept and its shape is unknown`,
    );
  }
  return t;
}

/** Sums the axes that broadcasting stretched. */
export function sumToShape(grad: Tensor, have: readonly number[], want: readonly number[]): Tensor {
  if (sameShape(have, want)) return grad;
  const lead = have.length - want.length;
  const axes = have.flatMap((d, i) => (i < lead || (want[i - lead] === 1 && d !== 1) ? [i] : []));
  const reduced = axes.length > 0 ? sum(grad, axes) : grad;
  return sameShape(reduced.staticShape, want) ? reduced : reshape(reduced, [...want]);
}
