/**
 * Eager-style scripts in eager mode: the body runs in place, so tapes see its ops, and gradients of any order and captured variables
 * just work.
 * May import core, ops, autodiff's recorder and runtime's tensors.
 */
import {
  type Application,
  currentRecorders,
  type OpInput,
  type Recorder,
  withRecorders,
} from "../core/apply.ts";
import { isTrainable } from "../core/dtype.ts";
import { NdArray } from "../core/nd_array.ts";
import { newTensorId, type Tensor, type TensorContext } from "../core/tensor.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../core/errors.ts";
import { StepRecorder } from "../autodiff/tape.ts";
import { identity } from "../ops/array_view.ts";
import { asTensor } from "../ops/input.ts";
import { hostCallTotal } from "../runtime/metadata.ts";
import { beginOwning, endOwning, runOwned } from "../runtime/async_owner.ts";
import { release } from "../runtime/body_call.ts";
import { EagerTensor, outsideScopes, withOwner } from "../runtime/tensor.ts";
import { callBody, type LateBody } from "./body.ts";
import { eagerResult, shapesOfCall, splitResult } from "./marshal.ts";
import { freeReturned } from "./returned.ts";
import type { Script } from "./script.ts";

/** One call. Before the body's first await scopes and tapes in force do the work; after it, ownership and taping follow the tensors. */
class EagerCall implements TensorContext, LateBody {
  readonly #script: Script;
  readonly #owned: EagerTensor[] = [];
  readonly #recorders: readonly Recorder[];
  readonly #strict: StepRecorder | null;
  readonly #first = newTensorId();
  /** The bodies this call is made in. */
  readonly #around: readonly TensorContext[];
  #results: Tensor[] = [];
  #waits = false;
  #ended = false;
  #abandoned = false;

  constructor(script: Script, inputs: readonly OpInput[]) {
    this.#script = script;
    const around = new Set<TensorContext>();
    for (const x of inputs) if (!(x instanceof NdArray) && x.context) around.add(x.context);
    this.#around = [...around];
    const recorders = currentRecorders();
    this.#strict = script.strictGradients && recorders.length > 0 ? new StepRecorder() : null;
    this.#recorders = this.#strict ? [...recorders, this.#strict] : recorders;
  }

  record(application: Application): void {
    if (this.#ended) return;
    const told = currentRecorders();
    for (const r of this.#recorders) if (!told.includes(r)) r.record(application);
    for (const c of this.#around) c.record?.(application);
  }
  adopt(t: Tensor): void {
    if (this.#ended && !this.#abandoned) t.context = null;
    else this.#owned.push(t as EagerTensor);
  }

  abandon(): void {
    this.#abandoned = true;
  }
  endLate(result: unknown): void {
    this.#abandoned = false;
    freeReturned(result, this.#first);
    this.#end();
  }

  /** Runs the body. `isAsync`: its inputs carry the call along, for what comes after an await. */
  run(inputs: readonly OpInput[], isAsync: boolean): Tensor[] | Promise<Tensor[]> {
    hostCallTotal.count++;
    const given = withOwner(this.#owned, () => inputs.map((x) => this.#input(x, isAsync)));
    const site = { op: "EagerPyFunc", token: this.#script.token, context: null };
    let out: Tensor[] | Promise<Tensor[]>;
    try {
      const finish = (r: unknown): Tensor[] => this.#finish(r, given);
      const call = (): Tensor[] | Promise<Tensor[]> =>
        withRecorders(
          this.#recorders,
          () => withOwner(this.#owned, () => callBody(this.#script, given, site, finish, this)),
        );
      out = isAsync ? runOwned(this, call) : call();
    } catch (e) {
      this.#end();
      throw e;
    }
    if (out instanceof Promise) {
      this.#waits = true;
      beginOwning();
      return out.finally(() => this.#end());
    }
    this.#end();
    return out;
  }

  /** The body's own handle: it may dispose what it gets. */
  #input(x: OpInput, isAsync: boolean): Tensor {
    const t = asTensor(x) as EagerTensor;
    if (t !== x) {
      if (isAsync) t.context = this;
      return t;
    }
    const own = new EagerTensor(t.dtype, t.staticShape, t.storage.retain(), t.id);
    own.context = isAsync ? this : t.context;
    if (isTrainable(t.dtype)) this.#strict?.watch(t.id);
    return own;
  }

  #finish(result: unknown, given: readonly Tensor[]): Tensor[] {
    const shapes = shapesOfCall(this.#script, given);
    const values = withOwner(this.#owned, () =>
      splitResult(this.#script, result).map((v, i) => {
        const r = eagerResult(this.#script, i, v, shapes[i]);
        // What the body made is handed on; what it was given, or found, gets a handle and an id of its own.
        if (r instanceof NdArray) return asTensor(r);
        return r.id > this.#first && !given.includes(r) && !(r as EagerTensor).kept
          ? r
          : identity(r);
      }));
    if (this.#strict) checkConnected(this.#script, this.#strict, given, values);
    this.#results = outsideScopes(() =>
      values.map((v) => {
        const t = v as EagerTensor;
        return new EagerTensor(t.dtype, t.staticShape, t.storage.retain(), t.id);
      })
    );
    freeReturned(result, this.#first);
    return this.#results;
  }

  #end(): void {
    this.#ended = true;
    if (this.#waits && !this.#abandoned) {
      this.#waits = false;
      endOwning();
    }
    this.#strict?.release();
    for (const t of this.#owned) {
      if (t.kept) release(t);
      else t.dispose();
    }
    this.#owned.length = 0;
    for (const r of this.#results) r.context = this.#around[0] ?? null;
  }
}

/** Runs the body now. Throws `FailedPreconditionError` naming `pyFunctionAsync` where it is async. */
export function runEagerly(script: Script, inputs: readonly OpInput[]): Tensor[] {
  const out = new EagerCall(script, inputs).run(inputs, false);
  if (!(out instanceof Promise)) return out.map(underScope);
  out.then((late) => late.forEach((t) => t.dispose()), () => {});
  throw new FailedPreconditionError(
    `Cannot run EagerPyFunc ${script.token} synchronously: its body is async, await pyFunctionAsync instead`,
    { op: "EagerPyFunc" },
  );
}

/** Runs the body, awaiting it. */
export async function runEagerlyAsync(
  script: Script,
  inputs: readonly OpInput[],
): Promise<Tensor[]> {
  const out = await new EagerCall(script, inputs).run(inputs, true);
  return out.map(underScope);
}

/** Puts a result under the scope of the caller, which was out of force while the body ran. */
function underScope(t: Tensor): Tensor {
  const e = t as EagerTensor;
  const mine = new EagerTensor(e.dtype, e.staticShape, e.storage.retain(), e.id);
  mine.context = e.context;
  mine.context?.adopt(mine);
  e.dispose();
  return mine;
}

/** Throws `InvalidArgumentError` where an input that is differentiated does not reach any output through recorded ops. */
function checkConnected(
  script: Script,
  recorder: StepRecorder,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
): void {
  inputs.forEach((x, i) => {
    if (!isTrainable(x.dtype)) return;
    const reached = new Set<number>([x.id]);
    for (const step of recorder.steps) {
      if (step.inputs.some((s) => reached.has(s.id))) {
        for (const o of step.outputs) reached.add(o.id);
      }
    }
    if (outputs.some((o) => reached.has(o.id))) return;
    throw new InvalidArgumentError(
      `No gradient can reach input ${i} of ${script.token}: its body does not use the input, or cuts the tape by reading its value (strictGradients)`,
      { op: "EagerPyFunc" },
    );
  });
}
