/**
 * BodyCall: one stretch of eager code inside a plan — a script body, a gradient, a loop. It owns what the code makes and may tape it,
 * awaits included: ownership and tape follow the tensors, not the clock.
 * May import core, autodiff's recorder and runtime's tensors.
 */
import {
  type Application,
  currentRecorders,
  type OpInput,
  withInterpreter,
  withRecorders,
} from "../core/apply.ts";
import { DTYPES, isTrainable } from "../core/dtype.ts";
import type { Device } from "../core/device.ts";
import { NdArray } from "../core/nd_array.ts";
import { withScope } from "../core/scope_context.ts";
import { newTensorId, Tensor, type TensorContext } from "../core/tensor.ts";
import { StepRecorder } from "../autodiff/tape.ts";
import { constantTensor, onDevice } from "./eager.ts";
import { EagerTensor, outsideScopes, withOwner } from "./tensor.ts";
import { beginOwning, endOwning, runOwned } from "./async_owner.ts";
import { beginWaiting, endWaiting, holdStep, readsBehind } from "./variable_reads.ts";

/** Owner and tape of one call. */
export class BodyCall implements TensorContext {
  /** What the call made. */
  readonly owned: EagerTensor[] = [];
  /** Records what flows from the inputs; null where no gradient is wanted. */
  readonly recorder: StepRecorder | null;
  /** Where the code runs. */
  readonly device: Device;
  readonly #followed = new Set<number>();
  readonly #first = newTensorId();
  #waits = false;
  #ended = false;
  #abandoned = false;

  /** `taped`: the gradient of the call is wanted. */
  constructor(device: Device, taped: boolean) {
    this.device = device;
    this.recorder = taped ? new StepRecorder() : null;
  }

  record(application: Application): void {
    // While synchronous code of the call runs, the recorder is in force and has been told.
    if (!this.recorder || currentRecorders().includes(this.recorder)) return;
    for (const x of application.inputs) if (x instanceof Tensor) this.follow(x);
    this.recorder.record(application);
  }

  /** The code began to wait: from now on reads of variables are followed for it. */
  wait(): void {
    this.#waits = true;
    beginOwning();
    if (this.recorder) beginWaiting(this.recorder);
  }

  /** Takes into the tape how a tensor was computed from variables that were read after an await. */
  follow(t: Tensor): void {
    if (!this.recorder || !t.context?.watchesOnly) return;
    for (const { step, outputs } of readsBehind(t.id)) {
      if (this.#followed.has(outputs[0].id)) continue;
      this.#followed.add(outputs[0].id);
      for (const o of outputs) {
        this.recorder.watch(o.id);
        if (o.id > this.#first) this.adopt(o);
      }
      this.recorder.steps.push(holdStep(step));
    }
  }

  adopt(t: Tensor): void {
    if (this.#ended && !this.#abandoned) t.context = null;
    else this.owned.push(t as EagerTensor);
  }

  /** The call ends before its code does: what the code makes from now on is freed when it ends, if ever. */
  abandon(): void {
    this.#abandoned = true;
  }
  /** The code of an abandoned call has ended. */
  endLate(): void {
    this.#abandoned = false;
    this.end();
  }

  /** Runs the body: synchronous code within, and what follows its awaits. */
  runBody<R>(fn: () => R): R {
    return runOwned(this, () => this.within(fn));
  }

  /** Runs synchronous code of the call: eager, on the call's device, with nothing of the caller's around it. */
  within<R>(fn: () => R): R {
    const recorders = this.recorder ? [this.recorder] : [];
    const scope = { device: this.device.name, opName: null };
    return withInterpreter(
      null,
      () => withRecorders(recorders, () => withScope(scope, () => withOwner(this.owned, fn))),
    );
  }

  /** A handle of the call's own on an input. Handles of variables stay as they are. */
  input(x: OpInput): OpInput {
    if (DTYPES[x.dtype].kind === "handle") return x;
    return this.within(() => {
      const there = onDevice(x, this.device);
      const t = there === x
        ? new EagerTensor(there.dtype, there.staticShape, there.storage.retain())
        : there;
      t.context = this;
      if (isTrainable(t.dtype)) this.recorder?.watch(t.id);
      return t;
    });
  }

  /** A result that outlives the call, on the call's device. */
  result(x: OpInput): EagerTensor {
    return outsideScopes(() => {
      if (x instanceof NdArray) return constantTensor(x, this.device);
      const there = onDevice(x, this.device);
      return there === x
        ? new EagerTensor(there.dtype, there.staticShape, there.storage.retain())
        : there;
    });
  }

  /** Frees what the code made, but for what it kept, which is nobody's from now on. */
  end(): void {
    if (!this.#ended && this.recorder) endWaiting(this.recorder);
    this.#ended = true;
    if (this.#waits && !this.#abandoned) {
      this.#waits = false;
      endOwning();
    }
    for (const t of this.owned) {
      if (t.kept) release(t);
      else t.dispose();
    }
    this.owned.length = 0;
  }
}

/** Lets go of a tensor that the code kept. */
export function release(t: EagerTensor): void {
  t.context = null;
  t.guard();
}
