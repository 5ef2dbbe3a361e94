/** A launch: one dispatch with its pipeline, its parameters, and the bind groups it used last. */
import type { Dispatch } from "../../core/dispatch.ts";
import type { PooledBuffer } from "./buffer_pool.ts";
import type { ParamSlot } from "./params_ring.ts";
import type { Pipeline, Pipelines } from "./pipelines.ts";

/**
 * Bind groups that a launch caches. Buffers return from the pool in turns: a step that replaces variables needs few.
 */
const RECENT = 4;

interface Recent {
  readonly ids: readonly number[];
  readonly group: GPUBindGroup;
}

/** One dispatch, ready to be recorded many times. */
export class Launch {
  readonly pipeline: Pipeline;
  readonly dispatch: Dispatch;
  readonly grid: Dispatch["grid"];
  readonly hasParams: boolean;
  /** The uniform block, whole slots of 16 bytes. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The words as text. */
  readonly key: string;
  readonly slot: ParamSlot = { offset: 0, epoch: -1 };
  /** Buffers of the last {@linkcode Launch.bind}, in binding order. */
  readonly buffers: PooledBuffer[];
  /** Numbers of the bindings that it writes. */
  readonly writes: readonly number[];
  /** For each binding the input's number, or -1 - the number among outputs and temporaries. */
  readonly #from: readonly number[];
  readonly #recent: Recent[] = [];
  #oldest = 0;

  /** Compiles the program, where that has not happened. `outputs`: number of the kernel's outputs. */
  constructor(dispatch: Dispatch, outputs: number, pipelines: Pipelines) {
    this.dispatch = dispatch;
    this.grid = dispatch.grid;
    this.hasParams = dispatch.program.hasParams;
    this.pipeline = pipelines.pipeline(dispatch.program);
    this.#from = dispatch.buffers.map((ref) =>
      "input" in ref ? ref.input : -1 - ("output" in ref ? ref.output : outputs + ref.temp)
    );
    // Programs may read one more word, which is zero.
    this.words = new Uint32Array(Math.ceil((dispatch.params.length + 1) / 4) * 4);
    this.words.set(dispatch.params.map((w) => w >>> 0));
    this.key = this.words.join();
    this.buffers = new Array(dispatch.buffers.length);
    this.writes = [...this.buffers.keys()].filter((i) => dispatch.program.bindings[i] !== "read");
  }

  /**
   * Returns the bind group of the kernel's inputs (host inputs are undefined) and of its own buffers: outputs, then
   * temporaries.
   */
  bind(
    inputs: readonly (PooledBuffer | undefined)[],
    own: readonly PooledBuffer[],
    pipelines: Pipelines,
  ): GPUBindGroup {
    const buffers = this.buffers, from = this.#from;
    for (let i = 0; i < from.length; i++) {
      buffers[i] = from[i] >= 0 ? inputs[from[i]]! : own[-1 - from[i]];
    }
    return this.groupOf(buffers, pipelines);
  }

  /** Bytes of the buffers of the last {@linkcode Launch.bind}. */
  get bytes(): number {
    const { buffers } = this;
    let bytes = 0;
    for (let i = 0; i < buffers.length; i++) bytes += buffers[i].bytes;
    return bytes;
  }

  /** Notes that a command of a batch uses the buffers of the last {@linkcode Launch.bind}. */
  usedBy(batch: number): void {
    const { buffers, writes } = this;
    for (let i = 0; i < buffers.length; i++) buffers[i].batch = batch;
    for (let i = 0; i < writes.length; i++) buffers[writes[i]].written = batch;
  }

  /** Returns the bind group of buffers in binding order. */
  groupOf(buffers: readonly PooledBuffer[], pipelines: Pipelines): GPUBindGroup {
    const recent = this.#recent;
    for (let k = 0; k < recent.length; k++) {
      const { ids, group } = recent[k];
      let i = 0;
      while (i < ids.length && ids[i] === buffers[i].id) i++;
      if (i === ids.length) return group;
    }
    const group = pipelines.group(this.pipeline, buffers, this.dispatch.buffers);
    recent[this.#oldest] = { ids: buffers.map((b) => b.id), group };
    this.#oldest = (this.#oldest + 1) % RECENT;
    return group;
  }
}
