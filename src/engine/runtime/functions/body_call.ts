/**
 * BodyCall: one stretch of eager code that a call makes — a script body, a gradient. It owns what the code makes and tells tapes of
 * it, awaits included: ownership and tape follow the tensors, not the clock.
 */
import {
  type Application,
  currentRecorders,
  type OpInput,
  type Recorder,
  withRecorders,
} from "../../core/apply.ts";
import { DTYPES, isTrainable } from "../../core/dtype.ts";
import { canRead, type Device } from "../../core/device.ts";
import { newTensorId, Tensor, type TensorContext } from "../../core/tensor.ts";
import { holdStep } from "../../autodiff/steps.ts";
import { StepRecorder, tapeMemory } from "../../autodiff/step_recorder.ts";
import type { TapeRecording } from "../../autodiff/tape_recording.ts";
import { aside } from "../eager/aside.ts";
import { onDevice } from "../eager/eager.ts";
import { EagerTensor, outsideScopes, type Owned, withOwner } from "../eager/tensor.ts";
import { beginOwning, endOwning, runOwned } from "./async_owner.ts";
import { type ReadAhead, withReads } from "../eager/read_ahead.ts";
import { beginWaiting, endWaiting, readsBehind } from "../variables/variable_reads.ts";

/** How a call is made where eager code makes it, rather than a plan. */
export interface InPlace {
  /** The tapes in force: they go on to be told after an await. */
  readonly recorders: readonly Recorder[];
  /** The calls in whose code this one is made. */
  readonly around: readonly TensorContext[];
  /** True: the code may wait. Its inputs then carry the call along. */
  readonly waits: boolean;
}

/** Owner and tape of one call. */
export class BodyCall implements TensorContext {
  readonly owned: Owned[] = [];
  /** Records what flows from the inputs; null where no gradient is wanted. */
  readonly recorder: StepRecorder | null;
  readonly device: Device;
  /** Younger tensors are the call's. */
  readonly first: number = newTensorId();
  readonly #place: InPlace | null;
  readonly #recorders: readonly Recorder[];
  readonly #reads: ReadAhead | null;
  /** True where nothing around the code is put aside. */
  readonly #isHere: boolean;
  #followed: Set<number> | null = null;
  #waits = false;
  #ended = false;
  #abandoned = false;

  /**
   * `taped`: the gradient of the call is wanted. `place` for a call that eager code makes: it runs under that code's tapes, wherever
   * its scopes say unless `reads` has what the code may read at once.
   */
  constructor(
    device: Device,
    taped: boolean,
    { place = null, reads = null }: {
      readonly place?: InPlace | null;
      readonly reads?: ReadAhead | null;
    } = {},
  ) {
    this.device = device;
    this.recorder = taped ? new StepRecorder("all") : null;
    this.#place = place;
    this.#reads = reads;
    this.#isHere = place !== null && reads === null;
    const around = place?.recorders ?? [];
    this.#recorders = this.recorder ? [...around, this.recorder] : around;
  }

  record(application: Application): void {
    if (this.#ended || this.#abandoned) return;
    // While synchronous code of the call runs, the recorders are in force and have been told.
    const told = currentRecorders();
    for (const r of this.#recorders) {
      if (told.includes(r)) continue;
      if (r === this.recorder) {
        for (const x of application.inputs) if (x instanceof Tensor) this.follow(x);
      }
      r.record(application);
    }
    for (const c of this.#place?.around ?? []) c.record?.(application);
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
    const followed = this.#followed ??= new Set();
    for (const { step, outputs, variables } of readsBehind(t.id)) {
      if (followed.has(outputs[0].id)) continue;
      followed.add(outputs[0].id);
      for (const v of variables) this.recorder.read(v);
      for (const o of outputs) {
        this.recorder.watch(o.id);
        if (o.id > this.first) this.adopt(o);
      }
      this.recorder.steps.push(holdStep(step, (t) => tapeMemory().hold(t)));
    }
  }

  adopt(t: Tensor): void {
    if (this.#ended && !this.#abandoned) t.context = null;
    else this.owned.push(t as EagerTensor);
  }

  /** A tape that the code makes after an await ends with the call. */
  own(recording: TapeRecording): void {
    if (!this.#ended || this.#abandoned) this.owned.push(recording);
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
    const call = (): R => this.within(fn);
    return this.#place?.waits === false ? call() : runOwned(this, call);
  }

  /** Runs synchronous code of the call: eager, on the call's device, with nothing of the caller's around it but tapes it is for. */
  within<R>(fn: () => R): R {
    const owned = (): R => withOwner(this.owned, fn);
    // What is called in place is eager already, and may read what the code around it may.
    if (this.#isHere) return withRecorders(this.#recorders, owned);
    const reading = (): R => withReads(this.#reads, owned);
    return aside({ device: this.device.name, recorders: this.#recorders }, reading);
  }

  /**
   * Handles of the call's own on inputs, which the code may dispose. Handles of variables stay as they are. Where a plan makes the
   * call, two handles on one tensor are two sources of its tape.
   */
  inputs(xs: readonly OpInput[]): OpInput[] {
    return this.within(() => xs.map((x) => this.#input(x)));
  }

  #input(x: OpInput): OpInput {
    if (DTYPES[x.dtype].kind === "handle") return x;
    const there = this.#isHere && x instanceof EagerTensor ? x : onDevice(x, this.device);
    const id = this.#place && x instanceof Tensor ? x.id : undefined;
    const t = there === x || id !== undefined ? there.alias(id) : there;
    t.context = this.#place?.waits === false ? (x as Partial<Tensor>).context ?? null : this;
    if (isTrainable(t.dtype)) this.recorder?.watch(t.id);
    return t;
  }

  /** A result that outlives the call, on the call's device. */
  result(x: OpInput): EagerTensor {
    return outsideScopes(() => {
      // Where a GPU cannot be read at once, what was computed there stays there for the caller to read.
      const isFar = x instanceof EagerTensor && x.storage.device.type !== this.device.type &&
        !canRead(x.storage.device);
      const there = isFar ? x : onDevice(x, this.device);
      return there === x ? there.alias() : there;
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
      if (!(t instanceof Tensor) || !t.kept) t.dispose();
      else {
        if (t.kept === true) this.#reads?.noteEffect("keep()");
        t.context = null;
        t.outlive();
      }
    }
    this.owned.length = 0;
  }
}
