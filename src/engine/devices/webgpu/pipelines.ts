/** Compute pipelines and bind groups, each made once. */
import type { DeviceCounters } from "../../core/device.ts";
import type { BufferRange, Program } from "../../core/dispatch.ts";
import { InternalError } from "../../core/errors.ts";
import { RecentMap } from "../../core/recent_map.ts";
import { SLOT_BYTES } from "./params_ring.ts";
import type { PooledBuffer } from "./buffer_pool.ts";

export interface Pipeline {
  readonly gpu: GPUComputePipeline;
  readonly layout: Layout;
}

interface Layout {
  readonly gpu: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
  readonly id: number;
  readonly hasParams: boolean;
}

const BIND_GROUP_LIMIT = 8192;
/** Pipelines that are cached though nothing uses them: drivers take from half a megabyte to some megabytes for each. */
const PIPELINE_LIMIT = 256;

/** Compiles programs and makes bind groups, with caches. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #counters: DeviceCounters;
  readonly #params: GPUBuffer;
  readonly #fail: (error: Error) => void;
  /** Bytes of the largest storage binding. */
  readonly #most: number;
  readonly #pipelines: RecentMap<Program, Pipeline>;
  /** Pipelines of plans and kernels, as long as these live. */
  readonly #used = new WeakMap<Program, WeakRef<Pipeline>>();
  readonly #layouts = new Map<string, Layout>();
  readonly #groups = new Map<string, GPUBindGroup>();

  /** `fail` is called for programs that do not compile. `unused`: number of pipelines that are cached without a user. */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    params: GPUBuffer,
    { fail, unused = PIPELINE_LIMIT }: {
      readonly fail: (error: Error) => void;
      readonly unused?: number;
    },
  ) {
    this.#pipelines = new RecentMap(unused);
    this.#device = device;
    this.#counters = counters;
    this.#params = params;
    this.#fail = fail;
    this.#most = Math.floor(device.limits.maxStorageBufferBindingSize / 4) * 4;
  }

  /** Returns the pipeline of a program. A compile error is reported to `fail` with numbered lines. */
  pipeline(program: Program): Pipeline {
    const known = this.#pipelines.get(program);
    if (known) return known;
    const p = this.#used.get(program)?.deref() ?? this.#compile(program);
    this.#pipelines.set(program, p);
    return p;
  }

  #compile(program: Program): Pipeline {
    this.#counters.pipelinesCreated++;
    const layout = this.#layout(program);
    this.#device.pushErrorScope("validation");
    const module = this.#device.createShaderModule({ code: program.source, label: program.name });
    const gpu = this.#device.createComputePipeline({
      label: program.name,
      layout: layout.pipeline,
      compute: { module, entryPoint: "main" },
    });
    this.#device.popErrorScope().then((error) => {
      if (error) this.#fail(compileError(program, error.message));
    }, () => {});
    const p = { gpu, layout };
    this.#used.set(program, new WeakRef(p));
    return p;
  }

  /** Returns the bind group of these buffers, or of parts of them. */
  group(
    pipeline: Pipeline,
    buffers: readonly PooledBuffer[],
    ranges: readonly BufferRange[],
  ): GPUBindGroup {
    let key = `${pipeline.layout.id}`;
    for (let i = 0; i < buffers.length; i++) {
      const { offset, size } = ranges[i];
      key += `,${buffers[i].id}`;
      if (offset !== undefined || size !== undefined) key += `,@${offset ?? 0}:${size ?? ""}`;
    }
    let group = this.#groups.get(key);
    if (group) return group;
    this.#counters.bindGroupsCreated++;
    const entries: GPUBindGroupEntry[] = buffers.map((b, binding) => {
      const { offset = 0 } = ranges[binding];
      // The spare room of a pooled buffer may exceed a binding's limit.
      const size = ranges[binding].size ?? (b.bytes > this.#most ? this.#most : undefined);
      return {
        binding,
        resource: { buffer: b.gpu, offset, ...(size === undefined ? {} : { size }) },
      };
    });
    if (pipeline.layout.hasParams) {
      entries.push({
        binding: buffers.length,
        resource: { buffer: this.#params, offset: 0, size: SLOT_BYTES },
      });
    }
    group = this.#device.createBindGroup({ layout: pipeline.layout.gpu, entries });
    if (this.#groups.size >= BIND_GROUP_LIMIT) this.#groups.clear();
    this.#groups.set(key, group);
    return group;
  }

  /** Drops the bind groups that hold a destroyed buffer. */
  forget(id: number): void {
    const part = `,${id}`;
    for (const key of this.#groups.keys()) {
      if (key.endsWith(part) || key.includes(`${part},`)) this.#groups.delete(key);
    }
  }

  #layout(program: Program): Layout {
    const key = program.bindings.join() + program.hasParams;
    let layout = this.#layouts.get(key);
    if (layout) return layout;
    const entries: GPUBindGroupLayoutEntry[] = program.bindings.map((access, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: access === "read" ? "read-only-storage" : "storage" },
    }));
    if (program.hasParams) {
      entries.push({
        binding: program.bindings.length,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "uniform", hasDynamicOffset: true, minBindingSize: 0 },
      });
    }
    const gpu = this.#device.createBindGroupLayout({ entries });
    layout = {
      gpu,
      pipeline: this.#device.createPipelineLayout({ bindGroupLayouts: [gpu] }),
      id: this.#layouts.size,
      hasParams: program.hasParams,
    };
    this.#layouts.set(key, layout);
    return layout;
  }
}

function compileError(program: Program, message: string): InternalError {
  const lines = program.source.split("\n").map((l, i) => `${String(i + 1).padStart(4)} | ${l}`)
    .join("\n");
  return new InternalError(
    `Cannot compile WGSL program "${program.name}": ${message.trim()}\n${lines}`,
  );
}
