/**
 * Sequences: rows of kernels that run again and again. What they recorded is kept, and given again without asking anything, where
 * the memory they took is free again.
 * May import core and its own folder.
 */
import type { BufferPool, PooledBuffer } from "./buffer_pool.ts";
import type { Launch } from "./launch.ts";
import type { Pipelines } from "./pipelines.ts";
import type { Stream } from "./stream.ts";

/** A dispatch with the buffers it is bound to. */
interface Command {
  readonly launch: Launch;
  readonly bytes: number;
  /** In binding order. */
  readonly buffers: PooledBuffer[];
  group: GPUBindGroup;
  /** For each binding the number of the input it is, or -1; null where none is one. */
  readonly inputs: readonly number[] | null;
}

/** What was recorded while the kernels ran once. */
export class Take {
  readonly #inputs: PooledBuffer[];
  readonly #commands: Command[] = [];
  /** What the kernels took from the pool. */
  readonly #own = new Set<PooledBuffer>();
  /** All buffers that dispatches use, but for inputs. */
  readonly #used = new Set<PooledBuffer>();
  #outputs: readonly PooledBuffer[] = [];

  /** Of kernels that are given these buffers, each of them once. */
  constructor(inputs: readonly PooledBuffer[]) {
    this.#inputs = inputs.slice();
  }

  /** Hears of a dispatch on the buffers the launch is bound to. */
  add(launch: Launch, group: GPUBindGroup, bytes: number): void {
    const inputs = launch.buffers.map((b) => this.#inputs.indexOf(b));
    const buffers = launch.buffers.slice();
    buffers.forEach((b, i) => inputs[i] < 0 && this.#used.add(b));
    const isGiven = inputs.some((i) => i >= 0);
    this.#commands.push({ launch, bytes, buffers, group, inputs: isGiven ? inputs : null });
  }

  /** Hears of buffers that were taken from the pool. */
  took(buffers: readonly PooledBuffer[]): void {
    for (const b of buffers) this.#own.add(b);
  }

  /** Ends the recording. False where it is of no use: memory of an input became free meanwhile and was taken. */
  finish(outputs: readonly PooledBuffer[]): boolean {
    this.#outputs = outputs;
    return this.#inputs.every((b) => !this.#own.has(b));
  }

  /** True where the kernels' memory is free. */
  get isFree(): boolean {
    for (const b of this.#own) if (!b.isFree) return false;
    return true;
  }

  /** Records the dispatches again, on these inputs, and takes the outputs from the pool. */
  replay(
    given: readonly PooledBuffer[],
    { stream, pool, pipelines }: Recorder,
  ): readonly PooledBuffer[] {
    const inputs = this.#inputs, commands = this.#commands;
    let isSame = true;
    for (let i = 0; i < inputs.length; i++) {
      if (inputs[i] === given[i]) continue;
      isSame = false;
      inputs[i] = given[i];
    }
    let batch = stream.batch;
    for (let i = 0; i < commands.length; i++) {
      const command = commands[i];
      if (!isSame && command.inputs !== null) rebind(command, command.inputs, { given, pipelines });
      batch = stream.dispatch(command.launch, command.group, command.bytes);
    }
    // Some were used last by a batch before it: to say a later one is safe.
    for (let i = 0; i < inputs.length; i++) inputs[i].batch = batch;
    for (const b of this.#used) b.batch = batch;
    for (let i = 0; i < this.#outputs.length; i++) pool.claim(this.#outputs[i]);
    return this.#outputs;
  }
}

/** What dispatches are recorded with. */
export interface Recorder {
  /** Where they go. */
  readonly stream: Stream;
  /** Where outputs come from. */
  readonly pool: BufferPool;
  /** Who makes bind groups. */
  readonly pipelines: Pipelines;
}

function rebind(
  command: Command,
  inputs: readonly number[],
  { given, pipelines }: { given: readonly PooledBuffer[]; pipelines: Pipelines },
): void {
  const { buffers, launch } = command;
  let isSame = true;
  for (let i = 0; i < buffers.length; i++) {
    if (inputs[i] < 0 || buffers[i] === given[inputs[i]]) continue;
    isSame = false;
    buffers[i] = given[inputs[i]];
  }
  if (!isSame) command.group = launch.groupOf(buffers, pipelines);
}

/** Takes that a sequence keeps: a step that replaces what it reads takes its memory in turns. */
const KEPT = 4;
/** After so many runs that no take was free, only one in so many is recorded. */
const PATIENCE = 16;

/** The takes of a row of kernels. */
export class Takes {
  readonly #constants: ReadonlySet<unknown>;
  readonly #takes: Take[] = [];
  #oldest = 0;
  #misses = 0;

  /** The kernels read these buffers each time. */
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
  begin(inputs: readonly PooledBuffer[]): Take | null {
    const misses = this.#misses;
    if (misses < 2 || (misses > PATIENCE && misses % PATIENCE !== 0)) return null;
    const known = new Set(inputs);
    if (known.size < inputs.length || inputs.some((b) => this.#constants.has(b))) return null;
    return new Take(inputs);
  }

  /** Keeps a take in place of the oldest. */
  keep(take: Take): void {
    this.#takes[this.#oldest] = take;
    this.#oldest = (this.#oldest + 1) % KEPT;
  }
}
