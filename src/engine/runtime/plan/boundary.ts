/**
 * Boundary: where runs of a body wait for what they must read from a device, so that all of them are read in one copy. A loop whose
 * condition is not known yet lets its body run up to there.
 */
import { type BufferRead, type Device, readNow } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { whenReady } from "../../core/nest.ts";
import { type EagerTensor, outsideScopes } from "../eager/tensor.ts";
import type { RunContext } from "../run/run_context.ts";
import { uploadTogether } from "../run/host_rows.ts";

/** A run that waits. */
export interface Waiting {
  /** What it must read; none where it only waits to be let go on. */
  readonly reads: readonly BufferRead[];
  readonly device: Device | null;
  /** Goes on, with what was read. */
  go(arrays: readonly NdArray[]): void;
  /** Ends it: nobody wants its results. */
  drop(): void;
  /** Ends it: what it waits for cannot be read. */
  fail(error: unknown): void;
}

/** A run whose kernels wait for host arrays. */
export interface Uploading {
  readonly arrays: readonly NdArray[];
  readonly device: Device;
  /** Goes on, with them there. */
  go(tensors: readonly EagerTensor[]): void;
  /** Ends it: they cannot be brought there. */
  fail(error: unknown): void;
}

/**
 * Which runs let their host arrays be uploaded with those of others: each by itself; all that wait at a boundary; or those that have
 * nothing left for the host to do, when {@linkcode Boundary.upload} is called.
 */
export type Uploads = "alone" | "together" | "last";

/** Where runs wait to read together. */
export class Boundary {
  /** True: runs wait before whatever is more than a kernel, until it is passed; else only where they must read. */
  isClosed: boolean;
  /** True: a run failed before it was known to be wanted. */
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

  /** How many runs wait to be passed. */
  get count(): number {
    return this.#waiting.length + (this.uploads === "last" ? 0 : this.#uploading.length);
  }

  /** How many runs wait for arrays. */
  get uploading(): number {
    return this.#uploading.length;
  }

  add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#passSoon();
  }

  /** Lets a run wait until its arrays have been uploaded. */
  addUpload(uploading: Uploading): void {
    this.#uploading.push(uploading);
    this.#next?.resolve();
    this.#next = null;
    if (this.uploads === "together") this.#passSoon();
  }

  /** When the next run waits for arrays. */
  nextUpload(): Promise<void> {
    return (this.#next ??= Promise.withResolvers<void>()).promise;
  }

  #passSoon(): void {
    if (!this.#isUnattended || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.pass();
    });
  }

  /** Nobody asks any more: runs that come wait for others of the same turn, and go on. */
  leave(): void {
    this.#isUnattended = true;
  }

  /** Uploads what runs wait for together, and lets them go on. */
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
   * Reads what runs wait for, in one copy together with `also`, and lets them go on, unless `decide` says from the latter that they
   * are not wanted.
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

  /** {@linkcode Boundary.pass}, but for the last step: what lets each run go on, in the order in which they came. */
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

  /** Lets go on whoever waits, until nobody does; who comes later goes on by itself. */
  passAll(): void | Promise<void> {
    while (this.count > 0) {
      const passed = this.pass();
      if (passed) return passed.then(() => this.passAll());
    }
    this.leave();
  }
}
