/**
 * Sequences: rows of kernels that run again and again. What they recorded is kept, and given again without asking anything where
 * they get the same buffers.
 * May import core and its own folder.
 */
import type { PooledBuffer } from "./buffer_pool.ts";
import type { Launch } from "./launch.ts";

/** A dispatch with the buffers it is bound to. */
export interface Command {
  /** The launch. */
  readonly launch: Launch;
  /** Its buffers. */
  readonly group: GPUBindGroup;
  /** Bytes they hold together. */
  readonly bytes: number;
}

/** What was recorded while kernels ran once. */
export class Take {
  /** The dispatches. */
  readonly commands: Command[] = [];
  /** What the kernels took from the pool: all of it is free when they run. */
  readonly own: Set<PooledBuffer> = new Set();
  /** All buffers that the dispatches use. */
  readonly used: Set<PooledBuffer> = new Set();
  /** What they were given. */
  readonly inputs: readonly PooledBuffer[];
  /** Results, which are the caller's afterwards. */
  outputs: readonly PooledBuffer[] = [];

  /** Of kernels that are given these buffers. */
  constructor(inputs: readonly PooledBuffer[]) {
    this.inputs = inputs;
  }

  /** True where the same dispatches on the same buffers do the same again. */
  fits(inputs: readonly PooledBuffer[]): boolean {
    for (let i = 0; i < inputs.length; i++) if (inputs[i] !== this.inputs[i]) return false;
    for (const b of this.own) if (!b.isFree) return false;
    return true;
  }
}

/** Takes that a sequence keeps: a step that replaces what it reads meets its buffers in turns. */
const KEPT = 4;
/** After so many runs that no take fitted, only one in so many is recorded. */
const PATIENCE = 16;

/** What a row of kernels recorded lately. */
export class Takes {
  readonly #takes: Take[] = [];
  #oldest = 0;
  #misses = 0;

  /** A take that fits; null where there is none. */
  find(inputs: readonly PooledBuffer[]): Take | null {
    for (const take of this.#takes) {
      if (!take.fits(inputs)) continue;
      this.#misses = 0;
      return take;
    }
    this.#misses++;
    return null;
  }

  /** True where this run is worth recording. The first is not: it may be the only one. */
  get isWanted(): boolean {
    return this.#misses > 1 && (this.#misses <= PATIENCE || this.#misses % PATIENCE === 0);
  }

  /** Keeps a take in place of the oldest. */
  keep(take: Take): void {
    this.#takes[this.#oldest] = take;
    this.#oldest = (this.#oldest + 1) % KEPT;
  }
}
