/**
 * Tracks reads of variables while a taped body awaits. A read has no input that could carry the body's context, so
 * everything computed from variables alone goes into one stream; each body takes the parts it uses.
 */
import {
  type Application,
  currentRecorders,
  type OpInput,
  type Recorder,
} from "../../core/apply.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { type Resource, resourceOf } from "../../core/graph_node.ts";
import { Tensor, type TensorContext } from "../../core/tensor.ts";
import { makeStep, type Step } from "../../autodiff/steps.ts";
import { tapeMemory } from "../../autodiff/step_recorder.ts";

/** A step of the stream, and its outputs. */
export interface ReadStep {
  readonly step: Step;
  readonly outputs: readonly Tensor[];
  readonly variables: readonly Resource[];
}

/** The computations from variables alone since the first of the waiting bodies began to wait. */
class ReadStream implements TensorContext {
  readonly watchesOnly = true;
  readonly #byOutput = new Map<number, ReadStep>();
  readonly #order = new Map<ReadStep, number>();

  record(application: Application): void {
    if (stream !== this) return;
    // The body records ops on its own tensors.
    if (
      application.inputs.some((x) => x instanceof Tensor && x.context && !x.context.watchesOnly)
    ) return;
    this.add(application);
  }
  adopt(t: Tensor): void {
    if (stream !== this && t.context === this) t.context = null;
  }

  add(application: Application): void {
    const entry = {
      step: makeStep(application, (t) => tapeMemory().hold(t)),
      outputs: application.outputs,
      variables: application.inputs.flatMap((x) => x instanceof Tensor ? resourceOf(x) ?? [] : []),
    };
    this.#order.set(entry, this.#order.size);
    for (const o of application.outputs) this.#byOutput.set(o.id, entry);
  }

  /** Returns the steps that lead to a tensor, in order. */
  stepsTo(id: number): ReadStep[] {
    const found = new Set<ReadStep>();
    const open = [id];
    while (open.length > 0) {
      const entry = this.#byOutput.get(open.pop()!);
      if (!entry || found.has(entry)) continue;
      found.add(entry);
      for (const x of entry.step.inputs) open.push(x.id);
    }
    return [...found].sort((a, b) => this.#order.get(a)! - this.#order.get(b)!);
  }

  release(): void {
    for (const { step } of this.#order.keys()) releaseStep(step);
    this.#order.clear();
    this.#byOutput.clear();
  }
}

let stream: ReadStream | null = null;
const waiting = new Set<Recorder>();

/** Notes that a body taped by `recorder` begins to wait: reads of variables are tracked from now on. */
export function beginWaiting(recorder: Recorder): void {
  waiting.add(recorder);
  stream ??= new ReadStream();
}

/** Notes that a body has ended. */
export function endWaiting(recorder: Recorder): void {
  if (!waiting.delete(recorder) || waiting.size > 0) return;
  stream?.release();
  stream = null;
}

/** True while reads of variables are tracked: each must then be a tensor of its own. */
export function readsAreFollowed(): boolean {
  return stream !== null;
}

/** Notes a read of a variable; called by the reading op. */
export function noteRead(value: Tensor, handle: OpInput, def: OpDef, attrs: Attrs): Tensor {
  if (stream === null || currentRecorders().some((r) => waiting.has(r))) return value;
  value.context = stream;
  stream.add({ def, inputs: [handle], outputs: [value], attrs });
  return value;
}

/** Returns the steps that computed a tensor from variables alone. */
export function readsBehind(id: number): ReadStep[] {
  return stream?.stepsTo(id) ?? [];
}

/** Releases the values that a step keeps. */
function releaseStep(step: Step): void {
  for (const t of step.kept.values()) if (t instanceof Tensor) t.dispose();
}
