/**
 * The WebGPU device: records dispatches into one open pass, reads back in one copy, reports errors on the next call.
 */
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  DeviceCounters,
  isUrgent,
  kernelTrace,
  type PreparedKernel,
  type Sequence,
  type TransferCost,
} from "../../core/device.ts";
import { castArray } from "../../core/convert.ts";
import type { DType } from "../../core/dtype.ts";
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { GPU_DTYPES } from "../../core/gpu_storage.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { isOwnOp, type OpDef, type Problem } from "../../core/op.ts";
import { type ConcreteSpec, problemText } from "../../core/tensor_spec.ts";
import { type OpError, UnavailableError } from "../../core/errors.ts";
import { traced, tracer } from "../../core/trace.ts";
import { kernels } from "../../kernels/common_kernels.ts";
import { runnableVariants } from "../../kernels/pointwise/half.ts";
import type { AdapterResult } from "./adapter.ts";
import { BufferPool, type PooledBuffer, type SizeClass } from "./buffer_pool.ts";
import { CanvasReadback } from "./canvas_readback.ts";
import { readbackSpan, splitReads, storageBytes, toDeviceBytes } from "./device_bytes.ts";
import { deviceError, lossError } from "./device_errors.ts";
import { gpuKernels, gpuVariants } from "./kernel_table.ts";
import { Launch } from "./launch.ts";
import { checkPlan, ownKernel } from "./own_kernel.ts";
import { Pipelines } from "./pipelines.ts";
import { Readback } from "./readback.ts";
import { type Take, Takes } from "./sequence.ts";
import { Stream } from "./stream.ts";
import { trialOf } from "./trial.ts";
import { Tuner } from "./tuner.ts";

/** Bandwidth that both directions reach at least, for placement. */
const BYTES_PER_MS = 5e6;
/** Largest uploads of which the host keeps a copy, the least size of a buffer: reading them needs no GPU. */
const KEPT_BYTES = 256;

gpuKernels.bring(kernels);

/** Records kernels on a GPUDevice. */
export class WebGpuDevice implements Device {
  readonly name = "/device:GPU:0";
  readonly type = "GPU";
  readonly managed = true;
  readonly description: string;
  readonly software: boolean;
  readonly counters: DeviceCounters = new DeviceCounters();
  readonly profile: Profile;
  readonly tuner: Tuner;
  /** The WebGPU device, for exchange with other libraries. */
  readonly gpu: GPUDevice;
  /** Resolves with the error of every further call, once the device is lost. */
  readonly lost: Promise<UnavailableError>;
  readonly #pool: BufferPool;
  readonly #stream: Stream;
  readonly #pipelines: Pipelines;
  readonly #readback: Readback;
  /** True once a program was recorded before its compilation was known to succeed. */
  #isGuessing = false;
  /** The take that records now, or null. */
  #take: Take | null = null;
  #error: Error | null = null;
  #lost: UnavailableError | null = null;
  /** Number of submissions with buffers that could not be allocated. */
  #failing = 0;

  constructor({ device, profile, description, software }: AdapterResult) {
    this.gpu = device;
    this.tuner = new Tuner((candidates) => trialOf(this, candidates));
    this.profile = { ...profile, chooser: this.tuner };
    this.description = description;
    this.software = software;
    this.#stream = new Stream(device, this.counters, () => this.#pool.submitted());
    this.#pipelines = new Pipelines(
      device,
      this.counters,
      this.#stream.params.buffer,
      { batch: () => this.#stream.batch, fail: (e, since) => this.#refused(e, since) },
    );
    this.#pool = new BufferPool(device, this.counters, {
      onDestroy: (id) => this.#pipelines.forget(id),
      onFail: (error) => this.#failed(error),
    });
    this.#readback = new Readback(
      device,
      this.counters,
      (record) => this.#stream.submitRead(record),
    );
    device.addEventListener("uncapturederror", (event) => {
      const { error } = event as GPUUncapturedErrorEvent;
      // Errors of commands on a buffer that could not be allocated, or with a program that did not compile, repeat a reported one.
      const isEcho = error instanceof GPUValidationError &&
        (this.#failing + this.#pool.failed > 0 ||
          this.#pipelines.faults > 0 && /\binvalid\b/i.test(error.message));
      if (!isEcho) this.#error ??= deviceError(error);
    });
    this.lost = device.lost.then((info) => this.#lost = lossError(info.message || info.reason));
  }

  /**
   * Handles a buffer that could not be allocated: the next call fails, and recorded commands that use it do nothing.
   */
  #failed(error: GPUError): void {
    this.#error ??= deviceError(error);
    this.#failing++;
    this.flush();
    const settle = (): number => this.#failing--;
    this.gpu.queue.onSubmittedWorkDone().then(settle, settle);
  }

  /**
   * Handles a program that does not compile: the next call fails. One of the library's, of batches from `since` on, has taken all results of
   * these along.
   */
  #refused(fault: OpError, since: number | null): void {
    this.#error ??= fault;
    if (since === null) return;
    this.flush();
    this.#pool.spoilBatches({ since, until: this.#stream.batch, fault });
  }

  get transfer(): TransferCost {
    return { latencyMs: this.#readback.latencyMs, bytesPerMs: BYTES_PER_MS };
  }
  supports(dtype: DType): boolean {
    return GPU_DTYPES.includes(dtype);
  }

  /** The kernels of an op, tried in order. */
  variants(def: OpDef): readonly GpuVariant[] {
    return gpuVariants(def);
  }
  ahead(prepare: () => void): Promise<void> {
    return this.#pipelines.ahead(prepare);
  }

  prepare(def: OpDef, problem: Problem): PreparedKernel | null {
    for (const variant of runnableVariants(this.variants(def), problem, this.profile)) {
      if (variant.fits && !variant.fits(problem, this.profile)) continue;
      const plan = variant.plan(problem, this.profile);
      kernelTrace.print?.({
        device: this.name,
        op: def.name,
        name: variant.name,
        specs: problemText(problem),
        parts: plan.dispatches.map(({ program, params, grid }) => ({
          key: `${program.name} (${params.join()})`,
          workgroups: grid,
          source: program.source,
        })),
      });
      if (isOwnOp(def)) return this.#prepareOwn(def.name, plan, problem);
      return this.prepareKernel(variant.name, plan, problem.outputs);
    }
    return null;
  }

  #prepareOwn(op: string, plan: GpuPlan, problem: Problem): PreparedKernel {
    checkPlan(op, plan, problem, this.gpu.limits.maxComputeWorkgroupsPerDimension);
    const { outputs } = problem, pipelines = this.#pipelines;
    const compiled = plan.dispatches.map(({ program }) => pipelines.compiled(program, op));
    if (this.canReadSync) pipelines.prove(compiled, op);
    const check = () => this.check(), apart = () => (this.#isGuessing = true, this.flush());
    const device = { pool: this.#pool, pipelines, sizes: outputs.map(storageBytes), check, apart };
    return ownKernel(this.prepareKernel(op, plan, outputs), compiled, device);
  }

  /** Compiles a plan into a kernel that can run many times. */
  prepareKernel(name: string, plan: GpuPlan, outputs: readonly ConcreteSpec[]): PreparedKernel {
    const launchesOf = (dispatches: GpuPlan["dispatches"]): Launch[] =>
      dispatches.map((d) => new Launch(d, outputs.length, this.#pipelines));
    const { onto, changes } = plan, launches = launchesOf(plan.dispatches);
    const sizes = [...outputs.map((o) => storageBytes(o)), ...plan.temps ?? []];
    let classes: readonly SizeClass[] | null = null, changing: readonly Launch[] | null = null;
    const into = (
      launches: readonly Launch[],
      given: readonly (DeviceBuffer | undefined)[],
      outputs: readonly DeviceBuffer[],
    ): void => {
      this.check();
      const inputs = given as readonly (PooledBuffer | undefined)[],
        own = outputs as PooledBuffer[];
      this.#admit(launches, inputs);
      if (this.#pool.failed > 0) this.#pool.refuse(own);
      // The host's copy is no longer valid.
      for (const buffer of own) buffer.given = null;
      for (const launch of launches) this.#record(launch, inputs, own);
    };
    return {
      name,
      ...(sizes.length === outputs.length && {
        runInto: (given, outputs) => into(launches, given, outputs),
      }),
      ...(changes && { changes }),
      ...(onto !== undefined && {
        onto: {
          input: onto.input,
          run: (given) =>
            into(changing ??= launchesOf(onto.dispatches), given, [given[onto.input]]),
        },
      }),
      run: (given) => {
        this.check();
        classes ??= sizes.map((bytes) => this.#pool.classOf(bytes));
        const inputs = given as readonly (PooledBuffer | undefined)[];
        this.#admit(launches, inputs);
        for (const i of changes ?? []) inputs[i]!.given = null;
        const own = this.#pool.takeAll(classes, this.#stream.batch);
        for (let i = 0; i < launches.length; i++) this.#record(launches[i], inputs, own);
        this.#take?.took(own);
        while (own.length > outputs.length) this.#pool.give(own.pop()!, this.#stream.batch);
        return own;
      },
    };
  }

  sequence(constants: readonly DeviceBuffer[]): Sequence {
    const takes = new Takes(constants);
    const recorder = { stream: this.#stream, pool: this.#pool, pipelines: this.#pipelines };
    return {
      replay: (inputs) => {
        const given = inputs as readonly PooledBuffer[], take = tracer ? null : takes.find();
        if (take === null) return null;
        this.check();
        const isSound = this.#pool.failed + this.#pipelines.faults === 0 || take.isValid(given);
        return isSound ? take.replay(given) : null;
      },
      record: (inputs, compute) => {
        const take = this.#take === null
          ? takes.begin(inputs as readonly PooledBuffer[], recorder)
          : null;
        if (take === null) return void compute();
        this.#take = take;
        try {
          this.#isGuessing = false;
          if (take.finish(compute() as readonly PooledBuffer[]) && !this.#isGuessing) {
            takes.keep(take);
          }
        } finally {
          this.#take = null;
        }
      },
    };
  }

  /** Throws where a program does not compile, or a buffer has no valid contents. */
  #admit(launches: readonly Launch[], buffers: readonly (PooledBuffer | undefined)[]): void {
    if (this.#pool.failed > 0) this.#pool.refuse(buffers);
    if (this.#pipelines.faults === 0) return;
    for (const { pipeline } of launches) if (pipeline.fault !== null) throw pipeline.fault;
  }

  #record(
    launch: Launch,
    inputs: readonly (PooledBuffer | undefined)[],
    own: readonly PooledBuffer[],
  ): void {
    const group = launch.bind(inputs, own, this.#pipelines);
    const { bytes } = launch;
    const batch = this.#stream.dispatch(launch, group, bytes);
    launch.usedBy(batch);
    this.#take?.add(launch, group, bytes);
  }

  flush(): void {
    this.#stream.flush();
  }

  upload(given: NdArray, dtype: DType = given.dtype): DeviceBuffer {
    const array = castArray(given, dtype);
    if (tracer === null) return this.#upload(array);
    const details = { dtype: array.dtype, shape: array.shape };
    return traced({ name: "upload", category: "upload", details }, () => this.#upload(array));
  }

  #upload(array: NdArray): DeviceBuffer {
    this.check();
    // writeBuffer runs before commands that are recorded but not submitted: it must not meet a buffer those use.
    const buffer = this.#pool.takeIdle(storageBytes(array), this.#stream.batch);
    if (buffer.batch === this.#stream.batch) this.flush();
    buffer.written = -1;
    const bytes = toDeviceBytes(array);
    if (bytes.byteLength > 0) this.gpu.queue.writeBuffer(buffer.gpu, 0, bytes);
    if (bytes.byteLength <= KEPT_BYTES) buffer.given = bytes.slice();
    this.counters.bytesToDevice += bytes.byteLength;
    return buffer;
  }

  get pending(): Promise<void> | null {
    return this.#pool.failed > 0 ? this.#pipelines.settled() : null;
  }

  get canReadSync(): boolean {
    return this.#readback.canSync;
  }

  get canReadUrgently(): boolean {
    return isUrgent() && (!this.software || CanvasReadback.trustsSoftware) &&
      this.#readback.canDraw;
  }

  readSync(reads: readonly BufferRead[]): NdArray[] | null {
    if (this.#readback.canSync) this.#pipelines.proveAll();
    this.#checkReads(reads);
    const { ranges, arraysOf } = splitReads(reads);
    if (ranges.length === 0) return arraysOf([]);
    if (!this.#readback.canSync && !this.canReadUrgently) return null;
    const raw = traced(readbackSpan(ranges), () => this.#readback.readSync(ranges));
    return raw && arraysOf(raw);
  }

  async read(reads: readonly BufferRead[]): Promise<NdArray[]> {
    this.#checkReads(reads);
    const { ranges, arraysOf } = splitReads(reads);
    if (ranges.length === 0) return arraysOf([]);
    // The copy stands in the batch of all that is recorded, and is lost with it.
    const { batch } = this.#stream;
    const raw = await traced(readbackSpan(ranges), () => this.#readback.read(ranges))
      .catch((e) => this.#failedRead(e));
    this.#checkReads(reads, batch);
    return arraysOf(raw);
  }

  #checkReads(reads: readonly BufferRead[], batch?: number): void {
    this.check();
    if (this.#pool.failed > 0) this.#pool.refuse(reads.map((r) => r.buffer as PooledBuffer), batch);
  }

  /**
   * Finds the cause of a failed read: the loss of the device, which may be reported a moment later, or the queue's
   * error.
   */
  async #failedRead(cause: unknown): Promise<never> {
    await this.gpu.queue.onSubmittedWorkDone().catch(() => {});
    this.check();
    throw new UnavailableError("Cannot read GPU memory: the copy failed", { cause });
  }

  free(buffer: DeviceBuffer): void {
    this.#pool.give(buffer as PooledBuffer, this.#stream.batch);
  }
  /**
   * Returns the WebGPU buffer behind a buffer, for another library on this device: recorded commands are submitted, so
   * that it reads current data.
   */
  lend(buffer: DeviceBuffer): GPUBuffer {
    this.flush();
    (buffer as PooledBuffer).given = null;
    return (buffer as PooledBuffer).gpu;
  }
  /**
   * Wraps another library's buffer on this device, for kernels and reads; it stays that library's, which must have
   * submitted the commands that write it. Its size must be a multiple of 16 bytes: kernels may bind it as vectors of
   * four.
   */
  adopt(gpu: GPUBuffer): DeviceBuffer {
    return this.#pool.adopt(gpu);
  }
  bytesOf(spec: ConcreteSpec): number {
    return storageBytes(spec);
  }
  /** Copies another owner's buffer as of all submitted work; its owner may then change it. */
  copyIn(gpu: GPUBuffer, spec: ConcreteSpec): DeviceBuffer {
    this.check();
    const bytes = storageBytes(spec);
    const buffer = this.#pool.take(this.#pool.classOf(bytes));
    buffer.written = this.#stream.batch;
    this.#stream.submit((encoder) => encoder.copyBufferToBuffer(gpu, 0, buffer.gpu, 0, bytes));
    return buffer;
  }
  /** Ends the use of an adopted buffer: after it, its owner may write it. */
  release(buffer: DeviceBuffer): void {
    if ((buffer as PooledBuffer).batch === this.#stream.batch) this.flush();
  }
  memory(): { poolBytes: number; gpuBuffers: number } {
    return { poolBytes: this.#pool.poolBytes, gpuBuffers: this.#pool.buffers };
  }
  check(): void {
    if (this.#lost) throw this.#lost;
    if (this.#error) {
      const e = this.#error;
      this.#error = null;
      throw e;
    }
  }
  settleTrace(): Promise<void> {
    return this.#stream.settleTrace();
  }
  destroy(): void {
    this.gpu.destroy();
  }
}
