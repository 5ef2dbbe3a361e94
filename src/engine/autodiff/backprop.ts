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
import { isTrainable } from "../core/dtype.ts";
import { FLOATS, type GradientFlow } from "./flow.ts";
import { type GradContext, lookupOp } from "../core/op.ts";
import { bindSignature } from "../core/signature.ts";
import { isConcrete, sameShape } from "../core/shape.ts";
import { NdArray } from "../core/nd_array.ts";
import { newTensorId, Tensor, type TensorLike } from "../core/tensor.ts";
import { InternalError, LookupError } from "../core/errors.ts";
import { makeStep, savedByName, type Step, type StepValue, withVariables } from "./steps.ts";
import { cutOf, noteCuts, noticingCuts } from "./cuts.ts";
import { tapeMemory } from "./step_recorder.ts";
import { MergeGradients } from "./unseen.ts";
import { add } from "../ops/pointwise/arithmetic.ts";
import { dense, IndexedSlices } from "../ops/array/indexed_slices.ts";
import { reshape } from "../ops/array/view.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { zerosOfSpec } from "../ops/array/fill_ops.ts";
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
    const walk = walkBack(steps, seeds, options);
    for (;;) {
      const { done, value } = walk.next();
      if (done) return value;
    }
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
  const walk = walkBack(steps, seeds, options);
  let found: readonly (Tensor | null)[] = [], pause: Promise<void> | null = null;
  const stretch = (): readonly unknown[] => {
    for (;;) {
      const { done, value } = walk.next();
      if (done) return found = value;
      // A non-null result tells noticingCuts() that gradients flow beside the cuts of this stretch.
      if ((pause = turn()) !== null) return [true];
    }
  };
  const goOn = (): readonly (Tensor | null)[] | Promise<readonly (Tensor | null)[]> => {
    pause = null;
    within(() => noticingCuts(stretch));
    return (pause as Promise<void> | null)?.then(goOn) ?? found;
  };
  return goOn();
}

/** Walks from the last step to the first; yields after each that has a gradient. */
function* walkBack(
  steps: readonly Step[],
  seeds: readonly Seed[],
  options: BackpropOptions,
): Generator<void, (Tensor | null)[]> {
  const { sources, stops, variables = [], around = (_, run) => run(), flow = FLOATS } = options;
  const reached = new Set<number>(sources);
  const useful: Step[] = [];
  const cuts: Step[] = [];
  const carries = ({ dtype }: StepValue): boolean => flow.gradientOf(dtype) !== null;
  const leadsOn = ({ inputs }: Step): boolean =>
    inputs.some((i) => reached.has(i.id) && carries(i));
  for (const taken of steps) {
    if (!flow.passes(taken)) {
      if (cutOf(taken) !== null && leadsOn(taken)) cuts.push(taken);
      continue;
    }
    const step = withVariables(taken, variables);
    if (!leadsOn(step)) continue;
    useful.push(step);
    for (const o of step.outputs) {
      if (carries(o) && !stops?.has(o.id)) reached.add(o.id);
    }
  }
  if (cuts.length > 0) noteCuts(cuts, steps, seeds.map((s) => s.id));
  const grads = new Gradients();
  for (const s of seeds) if (reached.has(s.id)) grads.give(s.id, s.grad, s.isOwn);
  const wanted = new Set(sources);
  for (let k = useful.length - 1; k >= 0; k--) {
    const step = useful[k];
    // A stop may itself be a source.
    const leadsBack = (id: number): boolean => id !== 0 && reached.has(id) && !stops?.has(id);
    const dys = step.outputs.map((o) => (leadsBack(o.id) ? grads.total(o.id) : null));
    if (dys.every((d) => d === null)) continue;
    const ended = step.outputs.map(({ id }) => wanted.has(id) ? null : grads.end(id));
    const spent = dys.map((dy, i) => ended[i] !== null && dy !== null && grads.isAlone(dy));
    const needs = step.inputs.map((i) => reached.has(i.id) && carries(i));
    const dxs = around(
      step,
      () => flow.through(step, needs, (own) => stepGradient(own, dys, { needs, spent })),
    );
    if (dxs.length !== step.inputs.length) {
      throw new InternalError(
        `Gradient of ${step.def.name} returned ${dxs.length} values, wanted one for each of ${step.inputs.length} inputs`,
      );
    }
    dxs.forEach((dx, i) => {
      if (dx !== null && needs[i]) grads.give(step.inputs[i].id, dx);
    });
    for (const parts of ended) parts?.forEach((g) => grads.drop(g));
    yield;
  }
  return sources.map((id) => grads.total(id));
}

/** Gradients under way, by values. Of those that eager rules make it frees what nothing reads any more. */
class Gradients {
  readonly #parts = new Map<number, Tensor[]>();
  /** Number of values that share each tensor of the pass. */
  readonly #uses = new Map<Tensor, number>();
  /** Younger tensors are the pass's. */
  readonly #first = newTensorId();

  /** Adds to the gradient of a value. */
  give(id: number, g: Tensor, isOwn = false): void {
    const parts = this.#parts.get(id);
    if (parts) parts.push(g);
    else this.#parts.set(id, [g]);
    // Rows may be the very gradient that a rule was given.
    for (const t of g.components ?? [g]) {
      const uses = this.#uses.get(t) ?? 0, isMade = isOwn || uses > 0 || t.id > this.#first;
      if (isMade && !t.isSymbolic && t.dtype !== "variant") this.#uses.set(t, uses + 1);
    }
  }

  /** The gradient of a value; null where there is none. */
  total(id: number): Tensor | null {
    const parts = this.#parts.get(id);
    if (!parts) return null;
    while (parts.length > 1) {
      const [a, b] = parts.splice(0, 2);
      this.give(id, sumOf(a, b));
      this.drop(a);
      this.drop(b);
    }
    return parts[0];
  }

  /** True for a tensor that the pass made and one value alone has. */
  isAlone(g: Tensor): boolean {
    return this.#uses.get(g) === 1;
  }

  /** Forgets the gradient of a value: its last reader gets it, and then drops it. */
  end(id: number): readonly Tensor[] {
    const parts = this.#parts.get(id) ?? [];
    this.#parts.delete(id);
    return parts;
  }

  /** Frees a gradient unless another value has it. */
  drop(g: Tensor): void {
    for (const t of g.components ?? [g]) {
      const uses = this.#uses.get(t);
      if (uses === undefined) continue;
      if (uses > 1) this.#uses.set(t, uses - 1);
      else {
        this.#uses.delete(t);
        tapeMemory().free(t);
      }
    }
  }
}

/** Adds two gradients; those of unseen variables are maps, and rows stay rows. */
function sumOf(a: Tensor, b: Tensor): Tensor {
  if (a instanceof IndexedSlices) return b instanceof IndexedSlices ? a.with(b) : a.addedTo(b);
  if (b instanceof IndexedSlices) return b.addedTo(a);
  return a.dtype === "variant" ? apply1(MergeGradients, [a, b]) : add(a, b);
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
  const { attrs } = bindSignature(def, step.inputs, step.attrs);
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
      if (isConcrete(s)) return new NdArray("int32", [s.length], Int32Array.from(s));
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

/** Returns a kept input. A graph keeps every input; a tape knows every shape and never asks. */
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
