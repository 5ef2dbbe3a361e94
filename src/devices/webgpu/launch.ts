/**
 * A launch: one dispatch with its pipeline, its parameters, and the bind groups it used last.
 * May import core.
 */
import type { Dispatch } from "../../core/dispatch.ts";
import type { PooledBuffer } from "./buffer_pool.ts";
import type { ParamSlot } from "./params_ring.ts";
import type { Pipeline, Pipelines } from "./pipelines.ts";

/** Bind groups a launch remembers. Buffers come back from the pool in turns: a step that replaces variables takes few. */
const RECENT = 4;

/** Where a kernel's buffers come from. */
export interface KernelBuffers {
  /** Inputs; host inputs are undefined. */
  readonly inputs: readonly (PooledBuffer | undefined)[];
  /** Outputs. */
  readonly outs: readonly PooledBuffer[];
  /** What lives for the kernel only. */
  readonly temps: readonly PooledBuffer[];
}

interface Recent {
  readonly ids: readonly number[];
  readonly group: GPUBindGroup;
}

/** One dispatch, ready to be recorded many times. */
export class Launch {
  /** The pipeline. */
  readonly pipeline: Pipeline;
  /** The dispatch. */
  readonly dispatch: Dispatch;
  /** The uniform block, whole slots of 16 bytes. */
  readonly words: Uint32Array<ArrayBuffer>;
  /** The same as text. */
  readonly key: string;
  /** Where the words stand. */
  readonly slot: ParamSlot = { offset: 0, epoch: -1 };
  /** Buffers of the last {@linkcode Launch.bind}, in binding order. */
  readonly buffers: PooledBuffer[];
  readonly #recent: Recent[] = [];
  #oldest = 0;

  /** Compiles the program, where that has not happened. */
  constructor(dispatch: Dispatch, pipelines: Pipelines) {
    this.dispatch = dispatch;
    this.pipeline = pipelines.pipeline(dispatch.program);
    this.words = new Uint32Array(Math.max(4, Math.ceil(dispatch.params.length / 4) * 4));
    this.words.set(dispatch.params.map((w) => w >>> 0));
    this.key = this.words.join();
    this.buffers = new Array(dispatch.buffers.length);
  }

  /** The bind group of these buffers. */
  bind({ inputs, outs, temps }: KernelBuffers, pipelines: Pipelines): GPUBindGroup {
    const { buffers } = this;
    const refs = this.dispatch.buffers;
    for (let i = 0; i < refs.length; i++) {
      const ref = refs[i];
      buffers[i] = "input" in ref
        ? inputs[ref.input]!
        : "output" in ref
        ? outs[ref.output]
        : temps[ref.temp];
    }
    for (const { ids, group } of this.#recent) {
      let i = 0;
      while (i < ids.length && ids[i] === buffers[i].id) i++;
      if (i === ids.length) return group;
    }
    const group = pipelines.group(this.pipeline, buffers, refs);
    this.#recent[this.#oldest] = { ids: buffers.map((b) => b.id), group };
    this.#oldest = (this.#oldest + 1) % RECENT;
    return group;
  }
}
