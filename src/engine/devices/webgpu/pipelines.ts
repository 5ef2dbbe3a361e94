/** Compute pipelines and bind groups, each made once. */
import type { DeviceCounters } from "../../core/device.ts";
import type { BufferRange, Program } from "../../core/dispatch.ts";
import { InternalError, type OpError } from "../../core/errors.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import { SLOT_BYTES } from "./params_ring.ts";
import type { PooledBuffer } from "./buffer_pool.ts";
import { provePipelines } from "./proof.ts";

/** A compiled program. */
export class Pipeline {
  readonly layout: Layout;
  readonly #make: () => GPUComputePipeline;
  #gpu: GPUComputePipeline | null = null;
  /** Error of a program that does not compile; null as far as is known. */
  fault: OpError | null = null;
  /** True once compilation is known to have succeeded or failed. */
  isProven = false;

  constructor(make: () => GPUComputePipeline, layout: Layout) {
    this.#make = make;
    this.layout = layout;
  }

  /** WebGPU's pipeline; made at once where it has not come yet. */
  get gpu(): GPUComputePipeline {
    return this.#gpu ??= this.#make();
  }

  /** Takes a pipeline that was made meanwhile. */
  came(gpu: GPUComputePipeline): void {
    this.#gpu ??= gpu;
  }
}

/** A program and its pipeline. */
export interface Compiled {
  readonly program: Program;
  readonly pipeline: Pipeline;
}

interface Layout {
  readonly gpu: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
  readonly id: number;
  readonly hasParams: boolean;
}

/** Is told of a program that does not compile, and of the first batch that may hold it, where others' commands are in it. */
type Fail = (fault: OpError, since: number | null) => void;

const BIND_GROUP_LIMIT = 8192;
/** Pipelines that are cached though nothing uses them: drivers take from half a megabyte to some megabytes for each. */
const PIPELINE_LIMIT = 256;

/** A pipeline that may prove invalid. */
interface Unproven extends Compiled {
  /** The batch of commands that was recorded when it was made; null where its kernel has batches for itself. */
  readonly since: number | null;
}

/** Compiles programs and makes bind groups, with caches. */
export class Pipelines {
  readonly #device: GPUDevice;
  readonly #counters: DeviceCounters;
  readonly #params: GPUBuffer;
  readonly #fail: Fail;
  readonly #batch: () => number;
  /** Bytes of the largest storage binding. */
  readonly #most: number;
  readonly #pipelines: RecentMap<Program, Pipeline>;
  /** Pipelines of plans and kernels, as long as these live. */
  readonly #used = new WeakMap<Program, WeakRef<Pipeline>>();
  readonly #layouts = new Map<string, Layout>();
  readonly #groups = new Map<string, GPUBindGroup>();
  readonly #unproven = new Set<Promise<void>>();
  /** Pipelines of the library that may prove invalid. */
  readonly #open = new Set<Unproven>();
  #isAhead = false;
  /** Number of programs that did not compile. */
  faults = 0;

  /** `batch` tells the batch of commands that is recorded. `unused`: number of pipelines that are cached without a user. */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    params: GPUBuffer,
    { batch, fail, unused = PIPELINE_LIMIT }: {
      readonly batch: () => number;
      readonly fail: Fail;
      readonly unused?: number;
    },
  ) {
    this.#pipelines = new RecentMap(unused);
    this.#device = device;
    this.#counters = counters;
    this.#params = params;
    this.#fail = fail;
    this.#batch = batch;
    this.#most = Math.floor(device.limits.maxStorageBufferBindingSize / 4) * 4;
  }

  /** Returns the pipeline of a program, for an op. A compile error is reported to `fail` with numbered lines. */
  pipeline(program: Program, op?: string): Pipeline {
    const known = this.#pipelines.get(program);
    if (known) return known;
    const p = this.#used.get(program)?.deref() ?? this.#compile(program, op);
    this.#pipelines.set(program, p);
    return p;
  }

  #compile(program: Program, op: string | undefined): Pipeline {
    this.#counters.pipelinesCreated++;
    const layout = this.#layout(program);
    this.#device.pushErrorScope("validation");
    const module = this.#device.createShaderModule({ code: program.source, label: program.name });
    const descriptor = {
      label: program.name,
      layout: layout.pipeline,
      compute: { module, entryPoint: "main" },
    };
    const made = new Pipeline(() => this.#device.createComputePipeline(descriptor), layout);
    const since = op === undefined ? this.#batch() : null;
    const open: Unproven = { pipeline: made, program, since };
    // An error of compilation is one of the module, which the scope has.
    const coming = this.#isAhead
      ? this.#device.createComputePipelineAsync(descriptor).then((gpu) => made.came(gpu), () => {})
      : void made.gpu;
    const proof = this.#device.popErrorScope().then(async (error) => {
      await coming;
      const known = made.fault !== null;
      if (error) this.#refuse(made, compileError(program, error.message, op));
      made.isProven = true;
      // A program refused before it ran has been reported.
      if (error && !known) this.#fail(made.fault!, since);
    }, () => {}).finally(() => {
      this.#unproven.delete(proof);
      this.#open.delete(open);
    });
    this.#unproven.add(proof);
    if (since !== null) this.#open.add(open);
    this.#used.set(program, new WeakRef(made));
    return made;
  }

  /** Returns a program with its pipeline, for an op. */
  compiled(program: Program, op: string): Compiled {
    return { program, pipeline: this.pipeline(program, op) };
  }

  #refuse(pipeline: Pipeline, fault: OpError): void {
    if (pipeline.fault === null) this.faults++;
    pipeline.fault = fault;
  }

  /** Proves synchronously that pipelines can run, or refuses them. The compiler's message comes later. */
  prove(
    compiled: readonly Compiled[],
    op: string,
  ): void {
    this.#invalid(compiled, op);
  }

  /** Is {@linkcode Pipelines.prove} for all programs of the library, whose kernels are not proven before they run. */
  proveAll(): void {
    if (this.#open.size === 0) return;
    const open = [...this.#open];
    this.#open.clear();
    try {
      for (const { pipeline, since } of this.#invalid(open)) this.#fail(pipeline.fault!, since);
    } catch {
      // The device is lost, which the read says.
    }
  }

  /** Proves pipelines; returns those that are invalid and were not known to be. */
  #invalid<T extends Compiled>(compiled: readonly T[], op?: string): T[] {
    const open = compiled.filter(({ pipeline }) => !pipeline.isProven);
    if (open.length === 0) return [];
    const valid = provePipelines(this.#device, open.map(({ pipeline }) => pipeline.gpu));
    const invalid = open.filter((_, i) => !valid[i]);
    for (const { pipeline } of open) pipeline.isProven = true;
    for (const { pipeline, program } of invalid) {
      this.#refuse(pipeline, compileError(program, LATER, op));
    }
    return invalid;
  }

  /** Calls `prepare`, whose programs are compiled in parallel where the platform can, and resolves when they are. */
  async ahead(prepare: () => void): Promise<void> {
    this.#isAhead = true;
    try {
      prepare();
    } finally {
      this.#isAhead = false;
    }
    await this.settled();
  }

  /** Resolves when the compilation of all programs has succeeded or failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#unproven);
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

/** Text in place of a compiler's message that has not come yet. */
const LATER =
  "it is no valid WGSL, or declares other bindings; an awaited read gives the compiler's message";

function compileError(program: Program, message: string, op?: string): InternalError {
  const lines = program.source.split("\n").map((l, i) => `${String(i + 1).padStart(4)} | ${l}`)
    .join("\n");
  return new InternalError(
    `Cannot compile WGSL program "${program.name}"${
      op === undefined ? "" : ` of op ${op}`
    }: ${message.trim()}\n${lines}`,
    { op },
  );
}
