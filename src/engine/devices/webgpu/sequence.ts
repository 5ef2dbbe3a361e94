/**
 * Sequences: kernels that run again and again. Their recorded commands are kept, and replayed without preparing
 * anything, where the memory they took is free again.
 */
import type { BufferPool, PooledBuffer } from "./buffer_pool.ts";
import type { Launch } from "./launch.ts";
import type { Pipelines } from "./pipelines.ts";
import type { Stream } from "./stream.ts";

interface Command {
  readonly launch: Launch;
  readonly bytes: number;
  /** In binding order. */
  readonly buffers: PooledBuffer[];
  group: GPUBindGroup;
  /** For each binding the number of its input or output, or -1; null where none is one. */
  places: readonly number[] | null;
}

/** Services that dispatches are recorded with. */
export interface Recorder {
  readonly stream: Stream;
  readonly pool: BufferPool;
  readonly pipelines: Pipelines;
}

/** The commands of one recorded run. */
export class Take {
  readonly #recorder: Recorder;
  readonly #commands: Command[] = [];
  /** Inputs, then outputs: buffers that may differ the next time. */
  readonly #moving: PooledBuffer[];
  readonly #inputs: number;
  /** Memory that the kernels take for themselves. */
  readonly #own = new Set<PooledBuffer>();
  /** Memory that they took more than once. */
  readonly #again = new Set<PooledBuffer>();
  /** All buffers of dispatches, except the moving ones. */
  readonly #used = new Set<PooledBuffer>();
  /** Outputs in their places; a number is that of a moving one, which may be an input that the kernels changed. */
  #outputs: readonly (PooledBuffer | number)[] = [];

  /** Records kernels that get these distinct buffers. */
  constructor(inputs: readonly PooledBuffer[], recorder: Recorder) {
    this.#moving = inputs.slice();
    this.#inputs = inputs.length;
    this.#recorder = recorder;
  }

  /** Adds a dispatch on the buffers the launch is bound to. */
  add(launch: Launch, group: GPUBindGroup, bytes: number): void {
    this.#commands.push({ launch, bytes, buffers: launch.buffers.slice(), group, places: null });
  }

  /** Adds buffers that were taken from the pool. */
  took(buffers: readonly PooledBuffer[]): void {
    for (const b of buffers) (this.#own.has(b) ? this.#again : this.#own).add(b);
  }

  /** Ends the recording. False where it is unusable: memory of an input became free meanwhile and was taken. */
  finish(outputs: readonly PooledBuffer[]): boolean {
    if (this.#moving.some((b) => this.#own.has(b))) return false;
    this.#outputs = outputs.map((b) => {
      const input = this.#moving.indexOf(b);
      if (input >= 0 && input < this.#inputs) return input;
      // Reused memory cannot be told from its earlier contents.
      if (this.#again.has(b) || !this.#own.delete(b)) return b;
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

  /**
   * True where each program compiles, and these inputs and what is bound beside them have valid contents. Else the kernels are to run
   * one by one, and the error names its op.
   */
  isValid(inputs: readonly PooledBuffer[]): boolean {
    const { pool } = this.#recorder;
    return this.#commands.every(({ launch }) => launch.pipeline.fault === null) &&
      pool.areValid(inputs) && pool.areValid(this.#used);
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
    // Some were last used by an earlier batch: a later number is safe.
    for (let i = 0; i < moving.length; i++) moving[i].batch = batch;
    for (const b of this.#used) b.batch = batch;
    for (let i = 0; i < commands.length; i++) {
      const { buffers, launch: { writes } } = commands[i];
      for (let k = 0; k < writes.length; k++) buffers[writes[k]].written = batch;
    }
    return this.#outputs.map((o) => {
      if (typeof o !== "number") return pool.claim(o);
      // The host's copy is no longer valid.
      moving[o].given = null;
      return moving[o];
    });
  }

  /** Takes memory for the moving outputs. True where it is the same as before. */
  #takeOutputs(): boolean {
    const { stream: { batch }, pool } = this.#recorder, moving = this.#moving;
    let isSame = true;
    for (let i = this.#inputs; i < moving.length; i++) if (!moving[i].isFree) isSame = false;
    if (isSame) {
      for (let i = this.#inputs; i < moving.length; i++) pool.claim(moving[i]);
      return true;
    }
    // The kernels' own memory must not serve outputs.
    for (const b of this.#own) pool.claim(b);
    try {
      const outputs = pool.takeAll(
        moving.slice(this.#inputs).map(({ bytes }) => pool.classOf(bytes)),
        batch,
      );
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

/** Takes that a sequence keeps: the memory of one may be in use elsewhere. */
const KEPT = 4;
/** After so many runs without a free take, only one in so many is recorded. */
const PATIENCE = 16;

/** The takes of a sequence of kernels. */
export class Takes {
  readonly #constants: ReadonlySet<unknown>;
  readonly #takes: Take[] = [];
  #oldest = 0;
  #misses = 0;

  constructor(constants: readonly unknown[]) {
    this.#constants = new Set(constants);
  }

  /** Finds a take whose memory is free, or returns null. */
  find(): Take | null {
    for (let i = 0; i < this.#takes.length; i++) {
      if (!this.#takes[i].isFree) continue;
      this.#misses = 0;
      return this.#takes[i];
    }
    this.#misses++;
    return null;
  }

  /**
   * Begins a take for this run; null where that is not worth it (the first may be the only one), or inputs are not
   * distinct.
   */
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
