/**
 * Reads of variables while a taped body awaits. A read has no input that could carry the body's context, so what is computed from
 * variables alone goes into one stream, and each body takes from it what it uses.
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

/** A step of the stream, and what it made. */
export interface ReadStep {
  readonly step: Step;
  readonly outputs: readonly Tensor[];
  readonly variables: readonly Resource[];
}

/** What was computed from variables alone since the first of the bodies that wait now began to. */
class ReadStream implements TensorContext {
  readonly watchesOnly = true;
  readonly #byOutput = new Map<number, ReadStep>();
  readonly #order = new Map<ReadStep, number>();

  record(application: Application): void {
    if (stream !== this) return;
    // What a body's tensors are in, the body records.
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

  /** The steps that lead to a tensor, in order. */
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

/** A body that `recorder` tapes begins to wait: reads of variables are followed from now on. */
export function beginWaiting(recorder: Recorder): void {
  waiting.add(recorder);
  stream ??= new ReadStream();
}

/** A body has ended. */
export function endWaiting(recorder: Recorder): void {
  if (!waiting.delete(recorder) || waiting.size > 0) return;
  stream?.release();
  stream = null;
}

/** True while reads of variables are followed: each read must be a tensor of its own then. */
export function readsAreFollowed(): boolean {
  return stream !== null;
}

/** A variable was read: called by the op that reads. */
export function noteRead(value: Tensor, handle: OpInput, def: OpDef, attrs: Attrs): Tensor {
  if (stream === null || currentRecorders().some((r) => waiting.has(r))) return value;
  value.context = stream;
  stream.add({ def, inputs: [handle], outputs: [value], attrs });
  return value;
}

/** The steps by which a tensor was computed from variables alone. */
export function readsBehind(id: number): ReadStep[] {
  return stream?.stepsTo(id) ?? [];
}

/** Lets go of what a step keeps. */
function releaseStep(step: Step): void {
  for (const t of step.kept.values()) if (t instanceof Tensor) t.dispose();
}
