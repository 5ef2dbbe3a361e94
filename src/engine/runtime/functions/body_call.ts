/**
 * BodyCall: eager code that runs as a call, such as a script body or a gradient. It owns the code's tensors and tapes
 * its ops, also after awaits: ownership and taping follow the tensors, not time.
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
import { isolated } from "../eager/isolated.ts";
import { onDevice } from "../eager/eager.ts";
import {
  type EagerTensor,
  isEager,
  outsideScopes,
  type Owned,
  withOwner,
} from "../eager/tensor.ts";
import { asyncOwners } from "../eager/async_owner.ts";
import { currentReads, type ReadAhead, withReads } from "../eager/read_ahead.ts";
import { beginWaiting, endWaiting, readsBehind } from "../variables/variable_reads.ts";

/** The surroundings of a call that eager code makes, rather than a plan. */
export interface InPlace {
  /** The tapes in force: they also record after an await. */
  readonly recorders: readonly Recorder[];
  readonly around: readonly TensorContext[];
  /** The code may wait; its inputs then carry the call along. */
  readonly waits: boolean;
}

const NONE: readonly Recorder[] = [];

/** Owner and tape of one call. */
export class BodyCall implements TensorContext {
  readonly owned: Owned[] = [];
  /** Records the gradient of the inputs; null where none is wanted. */
  readonly recorder: StepRecorder | null;
  readonly device: Device;
  /** Newer tensors belong to the call. */
  readonly first: number = newTensorId();
  readonly #place: InPlace | null;
  readonly #recorders: readonly Recorder[];
  readonly #reads: ReadAhead | null;
  /** True where the scopes around the code stay in force. */
  readonly #isHere: boolean;
  #followed: Set<number> | null = null;
  #waits = false;
  #ended = false;
  #abandoned = false;

  /**
   * `taped`: the call's gradient is wanted. `place`, for a call made by eager code: the call runs under that code's
   * tapes, and in its scopes unless `reads` says what it may read synchronously.
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
    const around = place?.recorders ?? NONE;
    this.#recorders = this.recorder ? [...around, this.recorder] : around;
  }

  record(application: Application): void {
    if (this.#ended || this.#abandoned) return;
    // The recorders in force are told while synchronous code of the call runs.
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

  /** Notes that the code began to wait: reads of variables are tracked for it from now on. */
  wait(): void {
    this.#waits = true;
    asyncOwners.begin();
    if (this.recorder) beginWaiting(this.recorder);
  }

  /** Adds to the tape the computation of a tensor from variables that were read after an await. */
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

  /** Ends a tape that the code makes after an await with the call. */
  own(recording: TapeRecording): void {
    if (!this.#ended || this.#abandoned) this.owned.push(recording);
  }

  /** Ends the call before its code: tensors that the code still makes are freed at its end, if ever. */
  abandon(): void {
    this.#abandoned = true;
  }
  /** Notes that the code of an abandoned call has ended. */
  endLate(): void {
    this.#abandoned = false;
    this.end();
  }

  /** Runs the body: synchronous code within, and the code after its awaits. */
  runBody<R>(fn: () => R): R {
    return this.#place?.waits === false
      ? this.within(fn)
      : asyncOwners.run(this, () => this.within(fn));
  }

  /** Runs synchronous code of the call: eager, on the call's device, outside the caller's scopes except its tapes. */
  within<R>(fn: () => R): R {
    // A call in place is eager already, and may read as the code around it does.
    if (this.#isHere) return withRecorders(this.#recorders, () => withOwner(this.owned, fn));
    const around = { device: this.device.name, recorders: this.#recorders, owned: this.owned };
    return this.#reads === currentReads()
      ? isolated(around, fn)
      : withReads(this.#reads, () => isolated(around, fn));
  }

  /**
   * Makes the call's own handles on inputs, which the code may dispose, for code within the call. Handles of variables stay as they are.
   * In a plan's call, two handles on one tensor are two sources of its tape.
   */
  inputs(xs: readonly OpInput[]): OpInput[] {
    const handles: OpInput[] = [];
    for (let i = 0; i < xs.length; i++) handles.push(this.#input(xs[i]));
    return handles;
  }

  #input(x: OpInput): OpInput {
    if (DTYPES[x.dtype].kind === "handle") return x;
    const there = this.#isHere && isEager(x) ? x : onDevice(x, this.device);
    const id = this.#place && x instanceof Tensor ? x.id : undefined;
    const t = there === x || id !== undefined ? there.alias(id) : there;
    t.context = this.#place?.waits === false ? (x as Partial<Tensor>).context ?? null : this;
    if (isTrainable(t.dtype)) this.recorder?.watch(t.id);
    return t;
  }

  /** Returns a result that outlives the call, on the call's device. */
  result(x: OpInput): EagerTensor {
    return outsideScopes(() => {
      // Where a GPU cannot be read synchronously, the result stays there for the caller to read.
      const isFar = isEager(x) && x.storage.device.type !== this.device.type &&
        !canRead(x.storage.device);
      const there = isFar ? x : onDevice(x, this.device);
      return there === x ? there.alias() : there;
    });
  }

  /** Frees the code's tensors. Kept ones have no owner from now on. */
  end(): void {
    if (!this.#ended && this.recorder) endWaiting(this.recorder);
    this.#ended = true;
    if (this.#waits && !this.#abandoned) {
      this.#waits = false;
      asyncOwners.end();
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
