/**
 * Sequences: rows of kernels that run again and again. What they recorded is kept, and given again without asking anything, where
 * the memory they took is free again.
 */
import type { BufferPool, PooledBuffer, Taken } from "./buffer_pool.ts";
import type { Launch } from "./launch.ts";
import type { Pipelines } from "./pipelines.ts";
import type { Stream } from "./stream.ts";

interface Command {
  readonly launch: Launch;
  readonly bytes: number;
  /** In binding order. */
  readonly buffers: PooledBuffer[];
  group: GPUBindGroup;
  /** For each binding the number of the input or output it is, or -1; null where none is one. */
  places: readonly number[] | null;
}

/** What dispatches are recorded with. */
export interface Recorder {
  readonly stream: Stream;
  readonly pool: BufferPool;
  readonly pipelines: Pipelines;
}

/** What was recorded while the kernels ran once. */
export class Take {
  readonly #recorder: Recorder;
  readonly #commands: Command[] = [];
  /** Inputs, then outputs: what may lie elsewhere the next time. */
  readonly #moving: PooledBuffer[];
  readonly #inputs: number;
  /** Memory that the kernels take for themselves. */
  readonly #own = new Set<PooledBuffer>();
  /** What they took more than once. */
  readonly #again = new Set<PooledBuffer>();
  /** All buffers that dispatches use, but for those that move. */
  readonly #used = new Set<PooledBuffer>();
  /** Outputs in their places; a number is that of one that moves. */
  #outputs: readonly (PooledBuffer | number)[] = [];
  /** Memory that the moving outputs had before. */
  #before: Taken = [];

  /** Of kernels that are given these buffers, each of them once. */
  constructor(inputs: readonly PooledBuffer[], recorder: Recorder) {
    this.#moving = inputs.slice();
    this.#inputs = inputs.length;
    this.#recorder = recorder;
  }

  /** Hears of a dispatch on the buffers the launch is bound to. */
  add(launch: Launch, group: GPUBindGroup, bytes: number): void {
    this.#commands.push({ launch, bytes, buffers: launch.buffers.slice(), group, places: null });
  }

  /** Hears of buffers that were taken from the pool. */
  took(buffers: readonly PooledBuffer[]): void {
    for (const b of buffers) (this.#own.has(b) ? this.#again : this.#own).add(b);
  }

  /** Ends the recording. False where it is of no use: memory of an input became free meanwhile and was taken. */
  finish(outputs: readonly PooledBuffer[]): boolean {
    if (this.#moving.some((b) => this.#own.has(b))) return false;
    this.#outputs = outputs.map((b) => {
      // Memory that was something else before cannot be told from that.
      if (this.#again.has(b) || !this.#own.delete(b)) return b;
      this.#before.push(b, undefined);
      return this.#moving.push(b) - 1;
    });
    for (const command of this.#commands) {
      const places = command.buffers.map((b) => this.#moving.indexOf(b));
      command.buffers.forEach((b, i) => places[i] < 0 && this.#used.add(b));
      if (places.some((i) => i >= 0)) command.places = places;
    }
    return true;
  }

  /** True where the kernels' own memory is free. */
  get isFree(): boolean {
    for (const b of this.#own) if (!b.isFree) return false;
    return true;
  }

  /** Records the dispatches again, on these inputs, and returns the outputs. */
  replay(inputs: readonly PooledBuffer[]): readonly PooledBuffer[] {
    const { stream, pool } = this.#recorder, moving = this.#moving, commands = this.#commands;
    let isSame = this.#takeOutputs();
    for (let i = 0; i < inputs.length; i++) {
      if (moving[i] === inputs[i]) continue;
      isSame = false;
      moving[i] = inputs[i];
    }
    let batch = stream.batch;
    for (let i = 0; i < commands.length; i++) {
      const command = commands[i];
      if (!isSame && command.places !== null) this.#rebind(command, command.places);
      batch = stream.dispatch(command.launch, command.group, command.bytes);
    }
    // Some were used last by a batch before it: to say a later one is safe.
    for (let i = 0; i < moving.length; i++) moving[i].batch = batch;
    for (const b of this.#used) b.batch = batch;
    return this.#outputs.map((o) => (typeof o === "number" ? moving[o] : pool.claim(o)));
  }

  /** Takes memory for the outputs that move. True where it is the same as before. */
  #takeOutputs(): boolean {
    const { stream: { batch }, pool } = this.#recorder, moving = this.#moving;
    let isSame = true;
    for (let i = this.#inputs; i < moving.length; i++) if (!moving[i].isFree) isSame = false;
    if (isSame) {
      for (let i = this.#inputs; i < moving.length; i++) pool.claim(moving[i]);
      return true;
    }
    // What the kernels take for themselves is not for outputs.
    for (const b of this.#own) pool.claim(b);
    try {
      const outputs = pool.takeAll(moving.slice(this.#inputs), this.#before, batch);
      for (let i = 0; i < outputs.length; i++) moving[this.#inputs + i] = outputs[i];
    } finally {
      for (const b of this.#own) pool.give(b, batch);
    }
    return false;
  }

  #rebind(command: Command, places: readonly number[]): void {
    const { buffers, launch } = command, moving = this.#moving;
    let isSame = true;
    for (let i = 0; i < buffers.length; i++) {
      if (places[i] < 0 || buffers[i] === moving[places[i]]) continue;
      isSame = false;
      buffers[i] = moving[places[i]];
    }
    if (!isSame) command.group = launch.groupOf(buffers, this.#recorder.pipelines);
  }
}

/** Takes that a sequence keeps: memory that one needs may be somebody else's. */
const KEPT = 4;
/** After so many runs that no take was free, only one in so many is recorded. */
const PATIENCE = 16;

/** The takes of a row of kernels. */
export class Takes {
  readonly #constants: ReadonlySet<unknown>;
  readonly #takes: Take[] = [];
  #oldest = 0;
  #misses = 0;

  constructor(constants: readonly unknown[]) {
    this.#constants = new Set(constants);
  }

  /** A take whose memory is free; null where there is none. */
  find(): Take | null {
    for (let i = 0; i < this.#takes.length; i++) {
      if (!this.#takes[i].isFree) continue;
      this.#misses = 0;
      return this.#takes[i];
    }
    this.#misses++;
    return null;
  }

  /** A take to record this run; null where that is not worth it (the first may be the only one), or inputs cannot be told apart. */
  begin(inputs: readonly PooledBuffer[], recorder: Recorder): Take | null {
    const misses = this.#misses;
    if (misses < 2 || (misses > PATIENCE && misses % PATIENCE !== 0)) return null;
    const known = new Set(inputs);
    if (known.size < inputs.length || inputs.some((b) => this.#constants.has(b))) return null;
    return new Take(inputs, recorder);
  }

  keep(take: Take): void {
    this.#takes[this.#oldest] = take;
    this.#oldest = (this.#oldest + 1) % KEPT;
  }
}
