/** StepRecorder: the steps that a tape records, and the lifetime of their values. */
import { handleIn, Held } from "../core/contract/held.ts";
import { type Seam, seam } from "../core/contract/seam.ts";
import type { Application, Recorder } from "../core/apply.ts";
import type { DType } from "../core/dtype.ts";
import { handleOf, type Resource, resourceOf } from "../core/graph_node.ts";
import { NdArray } from "../core/nd_array.ts";
import type { Tensor } from "../core/tensor.ts";

import type { TapeRecording } from "./tape_recording.ts";
import { cutOf } from "./cuts.ts";
import { type GradientFlow, gradientFlow } from "./flow.ts";
import { isFlat } from "./flat_ops.ts";
import { holdStep, makeStep, mayCapture, type Step, stepValue } from "./steps.ts";

/** The result of a function, and the owner of the tensors that it made. */
export interface Owning<T> {
  readonly result: T;
  readonly owned: readonly Tensor[];
  /** A tensor of dtype variant: the owned tensors live until its last handle is disposed. Null where there are none. */
  readonly owner: Tensor | null;
}

/** Lifetime of a tape's values; the runtime can make handles that outlive `dispose()`. */
export interface TapeMemory {
  /** Makes a handle of the same id that stays valid. */
  hold(t: Tensor): Tensor;
  /** Frees a tensor unless `keep()` or a function keeps it. */
  free(t: Tensor): void;
  /** Lets the next function call reuse a tensor's memory; the tensor's owner frees it afterwards. */
  give(t: Tensor): void;
  /** Runs `fn` and disposes the tensors it made, except its result's. */
  tidy<T>(fn: () => T): T;
  /** Ends the recording with the current scope. */
  own(recording: TapeRecording): void;
  /**
   * Calls `fn` with handles of its own on tensors. `chosen` selects which of these and of the made tensors are owned
   * from then on, null for all; the current scope takes the others.
   */
  owning<T>(
    xs: readonly Tensor[],
    fn: (xs: readonly Tensor[]) => T,
    chosen: (result: T, xs: readonly Tensor[]) => readonly Tensor[] | null,
  ): Owning<T>;
  /** Returns the variables that are trainable now and have gradients. */
  trainable(): Iterable<Resource>;
}
/** The memory of tapes. */
export const tapes: Seam<TapeMemory> = seam("the memory of tapes");

/** The tape of a call, as a value that flows to its gradient. */
export abstract class HeldTape extends Held {
  /** The trainable variables that were read, by id. */
  abstract readonly variables: ReadonlyMap<number, Resource>;
}

/** Returns the variables read by the call of this tape; none for other values. */
function variablesRead(x: Tensor): Iterable<Resource> {
  const tape = x.isSymbolic ? null : handleIn(x);
  return tape instanceof HeldTape ? tape.variables.values() : [];
}

/** Number of live tapes, for `memory().liveTapes`. */
export const tapeCount = { live: 0 };

export function tapeMemory(): TapeMemory {
  return tapes.to("keep what a gradient needs");
}

/** The variables that a recorder follows without being told. */
export type FollowedVariables = "none" | "trainable" | "all";

/** A recorder that keeps steps which depend on watched tensors. */
export class StepRecorder implements Recorder {
  readonly steps: Step[] = [];
  /** Variables that were read and are trainable or watched, by id. */
  readonly variables: Map<number, Resource> = new Map();
  /** The dtypes that gradients flow through. */
  readonly flow: GradientFlow = gradientFlow.current;
  readonly #watched = new Set<number>();
  /** Ops without a gradient through which values depend on followed ones, by the values' ids. */
  readonly #lost = new Map<number, string>();
  /** Ids of values that depend on followed values only through steps that cut the gradient. */
  readonly #cut = new Set<number>();
  readonly #follow: FollowedVariables;
  readonly #recorded: ((steps: number) => void) | null;
  #released = false;

  /**
   * `follow`: variables whose dependents are recorded without being watched. `recorded` is called with the number of
   * steps.
   */
  constructor(
    follow: FollowedVariables = "trainable",
    recorded: ((steps: number) => void) | null = null,
  ) {
    this.#follow = follow;
    this.#recorded = recorded;
  }

  #carries({ dtype }: { readonly dtype: DType }): boolean {
    return this.flow.gradientOf(dtype) !== null;
  }

  watch(id: number): void {
    this.#watched.add(id);
  }

  record(application: Application): void {
    if (this.#released) return;
    const def = this.flow.standIn(application.def);
    const a = def === application.def ? application : { ...application, def };
    let follows = false;
    for (const x of a.inputs) {
      if (x instanceof NdArray) continue;
      if (this.#watched.has(x.id) && this.#carries(x)) follows = true;
      else if (x.dtype === "resource" && this.read(resourceOf(x))) follows = true;
    }
    if (this.#follow !== "none" && mayCapture(a)) {
      follows = true;
      for (const o of a.outputs) {
        if (o.dtype !== "variant") continue;
        for (const r of variablesRead(o)) this.read(r);
      }
    }
    if (!this.flow.passes(a)) {
      if (follows || this.#lost.size > 0) this.#noteLost(a, follows);
      // Errors about a missing gradient name the cut.
      if (follows && cutOf(a) !== null) this.#noteCut(a);
      return;
    }
    if (this.#lost.size > 0) this.#noteLost(a, false);
    if (!follows) {
      if (this.#cut.size > 0 && a.inputs.some((x) => this.#cut.has(stepValue(x).id))) {
        this.#noteCut(a);
      }
      return;
    }
    for (const o of a.outputs) if (this.#carries(o)) this.#watched.add(o.id);
    this.steps.push(makeStep(a, (t) => tapeMemory().hold(t)));
    this.#recorded?.(this.steps.length);
  }

  /** Follows what an op without a gradient makes of followed values, and what is computed from that. */
  #noteLost(a: Application, follows: boolean): void {
    const own = a.def.grad === null ? isFlat(a) ? null : a.def.name : undefined;
    if (own === null) return;
    const before = a.inputs.flatMap((x) => this.#lost.get(stepValue(x).id) ?? [])[0];
    const name = follows ? own ?? before : before;
    if (name === undefined) return;
    for (const o of a.outputs) if (this.#carries(o)) this.#lost.set(o.id, name);
  }

  /** The op without a gradient through which a value depends on followed ones; undefined where there is none. */
  lostAt(t: Tensor): string | undefined {
    return this.#lost.get(t.id);
  }

  /** Takes another recorder's steps, as far as they depend on followed values. */
  adopt(steps: readonly Step[]): void {
    for (const step of steps) {
      if (!step.inputs.some(({ id }) => this.#watched.has(id) || this.variables.has(id))) continue;
      for (const o of step.outputs) if (this.#carries(o)) this.#watched.add(o.id);
      this.steps.push(holdStep(step, (t) => tapeMemory().hold(t)));
    }
  }

  /** Keeps a step without a gradient, or after one, for its name alone. */
  #noteCut({ def, attrs, inputs, outputs }: Application): void {
    for (const o of outputs) this.#cut.add(o.id);
    const kept = new Map<string, never>();
    const values = { inputs: inputs.map(stepValue), outputs: outputs.map(stepValue) };
    this.steps.push({ def, attrs, ...values, kept });
  }

  /** Records the read of a variable. True where its dependents are followed. */
  read(resource: Resource | undefined): boolean {
    if (!resource || !this.#carries(resource)) return false;
    const wanted = this.#wants(resource);
    if (wanted) this.variables.set(resource.id, resource);
    return wanted || this.#follow === "all";
  }

  /** True for watched values, values computed from them, and variables that are followed by themselves. */
  follows(t: Tensor): boolean {
    if (this.#watched.has(t.id) || this.variables.has(t.id)) return true;
    const handle = handleOf(t), resource = handle && resourceOf(handle);
    return resource !== undefined && this.#wants(resource);
  }

  #wants(resource: Resource): boolean {
    return this.#watched.has(resource.id) || (this.#follow !== "none" && resource.trainable);
  }

  /** Frees the kept values and ends recording. */
  release(): void {
    this.#released = true;
    for (const step of this.steps) {
      for (const t of step.kept.values()) if (!(t instanceof NdArray)) t.dispose();
      step.group?.dispose();
    }
    this.steps.length = 0;
  }
}
