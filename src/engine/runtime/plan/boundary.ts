/**
 * Boundary: the point where runs of a body wait for their reads from a device, so that all are made in one copy. A loop
 * whose condition is not known yet runs its body up to there.
 */
import { deferred } from "../run/timers.ts";
import { type BufferRead, type Device, readNow } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { whenReady } from "../../core/nest.ts";
import { type EagerTensor, outsideScopes } from "../eager/tensor.ts";
import type { RunContext } from "../run/run_context.ts";
import { uploadTogether } from "../run/host_rows.ts";

/** A waiting run. */
export interface Waiting {
  /** Its reads; none if it only waits to continue. */
  readonly reads: readonly BufferRead[];
  readonly device: Device | null;
  /** Continues the run with the read arrays. */
  go(arrays: readonly NdArray[]): void;
  /** Ends the run: its results are not wanted. */
  drop(): void;
  /** Ends the run: a read failed. */
  fail(error: unknown): void;
}

/** A run whose kernels wait for host arrays. */
export interface Uploading {
  readonly arrays: readonly NdArray[];
  readonly device: Device;
  /** Continues the run after the upload. */
  go(tensors: readonly EagerTensor[]): void;
  /** Ends the run: the upload failed. */
  fail(error: unknown): void;
}

/**
 * Mode of uploading host arrays: each run by itself; together with all that wait at a boundary; or together, once the host
 * has nothing left to do and {@linkcode Boundary.upload} is called.
 */
export type Uploads = "alone" | "together" | "last";

/** A point where runs wait to read together. */
export class Boundary {
  /**
   * True where runs wait before every step that is more than a kernel, until the boundary is passed; else only for
   * reads.
   */
  isClosed: boolean;
  /** True after a run failed before it was known to be wanted. */
  hasFailed = false;
  readonly uploads: Uploads;
  readonly #context: RunContext;
  #waiting: Waiting[] = [];
  #uploading: Uploading[] = [];
  #next: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;
  #isUnattended = false;
  #isDue = false;

  constructor(
    context: RunContext,
    { isClosed = false, uploads = "alone" }: { isClosed?: boolean; uploads?: Uploads } = {},
  ) {
    this.#context = context;
    this.isClosed = isClosed;
    this.uploads = uploads;
  }

  /** Number of runs that wait to continue. */
  get count(): number {
    return this.#waiting.length + (this.uploads === "last" ? 0 : this.#uploading.length);
  }

  /** Number of runs that wait for uploads. */
  get uploading(): number {
    return this.#uploading.length;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#passSoon();
  }

  /** Adds a run that waits for its upload. */
  addUpload(uploading: Uploading): void {
    this.#uploading.push(uploading);
    this.#next?.resolve();
    this.#next = null;
    if (this.uploads === "together") this.#passSoon();
  }

  /** Resolves when the next run waits for an upload. */
  nextUpload(): Promise<void> {
    return (this.#next ??= deferred<void>()).promise;
  }

  #passSoon(): void {
    if (!this.#isUnattended || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.pass();
    });
  }

  /** Stops attending: later runs wait for others of the same turn, then continue. */
  leave(): void {
    this.#isUnattended = true;
  }

  /** Uploads the arrays of all waiting runs together, and continues these. */
  upload(): void {
    const uploading = this.#uploading;
    if (uploading.length === 0) return;
    this.#uploading = [];
    const [{ device }] = uploading;
    let tensors: EagerTensor[];
    try {
      tensors = this.#context.counted(() =>
        outsideScopes(() => uploadTogether(uploading.flatMap((u) => u.arrays), device))
      );
    } catch (error) {
      for (const u of uploading) u.fail(error);
      return;
    }
    let at = 0;
    for (const { arrays, go } of uploading) go(tensors.slice(at, at += arrays.length));
  }

  /**
   * Makes the reads of all waiting runs in one copy, together with `also`, and continues the runs, unless `decide`
   * finds from the latter that they are not wanted.
   */
  pass(
    also: Pick<Waiting, "reads" | "device"> | null = null,
    decide: (also: readonly NdArray[]) => boolean = () => true,
  ): void | Promise<void> {
    return whenReady(this.read(also, decide), (goes) => {
      for (const go of goes) go();
      if (this.uploads === "together") this.upload();
    });
  }

  /** Reads as {@linkcode Boundary.pass} does; the result continues the runs in the order in which they came. */
  read(
    also: Pick<Waiting, "reads" | "device"> | null = null,
    decide: (also: readonly NdArray[]) => boolean = () => true,
  ): (() => void)[] | Promise<(() => void)[]> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const device = also?.device ?? waiting.find((w) => w.device !== null)?.device;
    const keep = (arrays: readonly NdArray[]): (() => void)[] => {
      let at = also?.reads.length ?? 0;
      const isWanted = decide(arrays.slice(0, at));
      this.isClosed = false;
      if (!isWanted) { for (const w of waiting) w.drop(); }
      return !isWanted ? [] : waiting.map(({ reads, go }) => {
        const mine = arrays.slice(at, at += reads.length);
        return () => go(mine);
      });
    };
    if (!device) return keep([]);
    const reads = [...also?.reads ?? [], ...waiting.flatMap((w) => w.reads)];
    const fail = (error: unknown): (() => void)[] => {
      for (const w of waiting) w.fail(error);
      if (also !== null) throw error;
      return [];
    };
    let arrays: NdArray[] | Promise<NdArray[]>;
    try {
      arrays = this.#context.counted(() => readNow(device, reads));
    } catch (error) {
      return fail(error);
    }
    return arrays instanceof Promise ? arrays.then(keep, fail) : keep(arrays);
  }

  /** Continues waiting runs until none is left; later ones continue by themselves. */
  passAll(): void | Promise<void> {
    while (this.count > 0) {
      const passed = this.pass();
      if (passed) return passed.then(() => this.passAll());
    }
    this.leave();
  }
}
