/**
 * The CPU device. Tensors of the dtypes that vector code knows live in one WebAssembly memory, where kernels made at run time
 * work on them; other dtypes are JavaScript arrays, and ops without a vector kernel run their own loops on views.
 */
import { castArray, isAssignable } from "../../core/convert.ts";
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  DeviceCounters,
  type HostElements,
  kernelTotal,
  kernelTrace,
  type PreparedKernel,
  type TransferCost,
} from "../../core/device.ts";
import {
  type DType,
  DTYPES,
  type HostData,
  makeData,
  type TypedArray,
  withinMemory,
} from "../../core/dtype.ts";
import { copyElements, NdArray, writerOf } from "../../core/nd_array.ts";
import { fusionOf } from "../../core/fusion.ts";
import type { Meaning } from "../../core/meaning.ts";
import type { CpuKernel, OpDef, Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { type ConcreteSpec, isConcreteSpec, problemText } from "../../core/tensor_spec.ts";
import { byteLength } from "./byte_length.ts";
import type { Engine } from "./engine.ts";
import type { Heap, Pointer } from "./heap.ts";
import { cpuKernels } from "./kernel_table.ts";
import { type CpuMemory, makeMemory } from "./memory.ts";

/** Dtypes whose tensors are blocks of the heap. */
const IN_HEAP: ReadonlySet<DType> = new Set(
  [
    ...["float32", "int32", "uint32", "bool", "float16", "float64", "int8", "uint8"] as const,
    ...["complex64", "complex128"] as const,
  ].filter((dtype) => DTYPES[dtype].array !== undefined),
);

/** Elements above which a value is copied through a view. */
const COPIED = 256;

/**
 * Runs kernels on the processor. A buffer is the address of a block, or a host array for dtypes that vector code does
 * not support.
 */
export class CpuDevice implements Device {
  readonly name = "/device:CPU:0";
  readonly type = "CPU";
  readonly software = false;
  readonly managed = true;
  readonly canReadSync = true;
  readonly transfer: TransferCost = { latencyMs: 0, bytesPerMs: Infinity };
  readonly counters: DeviceCounters = new DeviceCounters();
  readonly #onMissing: (meaning: Meaning) => void;
  /** Bytes of blocks whose values are shorter. */
  readonly #longer = new Map<Pointer, number>();
  #memory: CpuMemory | null | undefined;
  #engine: Engine | null;

  /**
   * Makes its own memory at first use, and an engine in it with the first kernels, unless one is given; `null` keeps everything in
   * JavaScript. `onMissing` is called where an op has to run in loops as its kernels have not been loaded.
   */
  constructor(engine?: Engine | null, onMissing: (meaning: Meaning) => void = () => {}) {
    this.#memory = engine;
    this.#engine = engine ?? null;
    this.#onMissing = onMissing;
  }

  /** Compiled kernels in the memory; null before kernels are there, and where the environment has no WebAssembly. */
  get engine(): Engine | null {
    if (this.#engine !== null || this.#own === null) return this.#engine;
    return this.#engine = cpuKernels.get("code")?.engine(this.#own) ?? null;
  }

  /** The memory; null where the environment has no WebAssembly. */
  get #own(): CpuMemory | null {
    return this.#memory === undefined ? this.#memory = makeMemory() : this.#memory;
  }

  get description(): string {
    const memory = this.engine ?? this.#own;
    if (memory === null) return "JavaScript";
    const { simd, relaxed, shared } = memory.features;
    const has = [
      simd ? "SIMD" : "no SIMD",
      ...(relaxed ? ["fused multiply-add"] : []),
      ...(shared ? ["shared memory"] : []),
    ];
    return `WebAssembly with ${has.join(", ")}`;
  }

  supports(_dtype: DType): boolean {
    return true;
  }

  prepare(def: OpDef, problem: Problem): PreparedKernel | null {
    const { print } = kernelTrace;
    if (print === null) return this.#prepare(def, problem);
    const keys: string[] = [];
    if (this.engine) this.engine.asked = keys;
    const kernel = this.#prepare(def, problem);
    if (this.engine) this.engine.asked = null;
    if (kernel) {
      const parts = [...new Set(keys)].map((key) => ({ key }));
      const specs = problemText(problem);
      print({ device: this.name, op: def.name, name: kernel.name, specs, parts });
    }
    return kernel;
  }

  #prepare(def: OpDef, problem: Problem): PreparedKernel | null {
    // The op's own loops do not apply a fusion.
    const cpu = fusionOf(problem.attrs) ? undefined : def.cpu;
    if (!problem.outputs.every(isConcreteSpec)) return cpu ? this.#dynamic(cpu, problem) : null;
    const fast = this.#fast(def, problem);
    if (fast) return fast;
    if (!cpu) return null;
    const { meaning } = def, start = meaning.kind === "scatter" ? meaning.inputs.start : undefined;
    return {
      name: "loops",
      run: (inputs) => this.#runLoops(cpu, problem, inputs),
      runInto: (inputs, outputs) => this.#fill(cpu, problem, inputs, outputs),
      ...(start !== undefined && {
        onto: {
          input: start,
          run: (inputs) => this.#fill(cpu, problem, inputs, [inputs[start]]),
        },
      }),
    };
  }

  /** Returns the vector kernel, or null where there is none. */
  #fast(def: OpDef, problem: Problem): PreparedKernel | null {
    if (this.#own === null) return null;
    const { inputs, outputs, hosts } = problem;
    if (!outputs.every(inHeap) || !inputs.every((s, i) => hosts[i] !== undefined || inHeap(s))) {
      return null;
    }
    if (cpuKernels.lacks(def.meaning.kind)) this.#onMissing(def.meaning);
    const { engine } = this;
    return engine && (cpuKernels.get("code")?.prepare(engine, def, problem) ?? null);
  }

  #runLoops(
    cpu: CpuKernel,
    problem: Problem,
    inputs: readonly (DeviceBuffer | undefined)[],
  ): DeviceBuffer[] {
    const buffers: DeviceBuffer[] = [];
    try {
      for (const spec of problem.outputs) buffers.push(this.#make(spec));
      this.#fill(cpu, problem, inputs, buffers);
    } catch (e) {
      buffers.forEach((b, i) => this.free(b, problem.outputs[i]));
      throw e;
    }
    return buffers;
  }

  /** Runs loops over existing memory. Views are made last: allocating a block may move their memory. */
  #fill(
    cpu: CpuKernel,
    problem: Problem,
    inputs: readonly (DeviceBuffer | undefined)[],
    outputs: readonly DeviceBuffer[],
  ): void {
    kernelTotal.count++;
    const outs = problem.outputs.map((spec, i) => this.#view(outputs[i], spec));
    const made = cpu(this.#views(problem, inputs), outs, problem);
    // An op whose shapes depend on values returns its results, also where their shapes are known.
    if (made) outs.forEach((out, i) => copyElements(made[i], out));
  }

  /** Prepares outputs whose shapes depend on values: the kernel allocates them. */
  #dynamic(cpu: CpuKernel, problem: Problem): PreparedKernel {
    return {
      name: "loops",
      run: () => [],
      dynamic: (inputs) => {
        kernelTotal.count++;
        return [...cpu(this.#views(problem, inputs), [], problem) as readonly NdArray[]];
      },
    };
  }

  #views(problem: Problem, inputs: readonly (DeviceBuffer | NdArray | undefined)[]): NdArray[] {
    return inputs.map((b, i) =>
      b instanceof NdArray ? b : problem.hosts[i] ?? this.#view(b, problem.inputs[i])
    );
  }

  /** Views a buffer as a host array, not copied: detached when the heap grows. */
  #view(buffer: DeviceBuffer, spec: ConcreteSpec): NdArray {
    if (typeof buffer !== "number") {
      return new NdArray(spec.dtype, spec.shape, firstOf(buffer as HostData, spec));
    }
    const { memory } = this.#own!.heap;
    const data = new (DTYPES[spec.dtype].array!)(memory.buffer, buffer, lengthOf(spec));
    return new NdArray(spec.dtype, spec.shape, data);
  }

  #make(spec: ConcreteSpec): DeviceBuffer {
    const memory = this.#own;
    if (memory === null || !inHeap(spec)) return makeData(spec.dtype, sizeOf(spec.shape));
    const { heap } = memory, bytes = byteLength(spec), pointer = heap.alloc(bytes);
    if (this.#engine !== null) this.#engine.zero(pointer, bytes);
    else heap.u8.fill(0, pointer, pointer + bytes);
    return pointer;
  }

  upload(array: NdArray, dtype: DType = array.dtype): DeviceBuffer {
    const heap = this.#own?.heap, spec = { dtype, shape: array.shape };
    if (!heap || !inHeap(spec) || !isAssignable(array.dtype, dtype)) {
      const cast = castArray(array, dtype);
      return cast === array ? array.data.slice() : this.upload(cast);
    }
    const write = array.shape.length > 1 && dtype === array.dtype ? writerOf(array) : undefined;
    if (write !== undefined) {
      const pointer = heap.alloc(byteLength(spec));
      write(this.#view(pointer, spec).data as TypedArray);
      return pointer;
    }
    const { data } = array, pointer = heap.alloc(byteLength(spec));
    if (data.length === 1 && isViewed(dtype)) setOne(heap, dtype, pointer, data[0] as number);
    else if (dtype === "float32") heap.f32.set(data as Float32Array, pointer >>> 2);
    else if (dtype === "int32") heap.i32.set(data as Int32Array, pointer >>> 2);
    else (this.#view(pointer, spec).data as TypedArray).set(data as Float32Array & BigInt64Array);
    return pointer;
  }

  readSync(reads: readonly BufferRead[]): NdArray[] {
    const arrays: NdArray[] = [];
    for (let i = 0; i < reads.length; i++) {
      const { buffer, spec } = reads[i];
      arrays.push(new NdArray(spec.dtype, spec.shape.slice(), this.readData(buffer, spec)));
    }
    return arrays;
  }

  readData(buffer: DeviceBuffer, spec: ConcreteSpec): HostData {
    if (typeof buffer !== "number") {
      return (buffer as HostData).slice(0, lengthOf(spec)) as HostData;
    }
    const size = sizeOf(spec.shape), { heap } = this.#own!;
    if (size === 1 && isViewed(spec.dtype)) {
      const data = makeData(spec.dtype, 1) as TypedArray;
      data[0] = getOne(heap, spec.dtype, buffer);
      return data;
    }
    if (spec.dtype === "float32") {
      const first = buffer >>> 2, end = first + size;
      // A copy, unlike a slice, is not cleared before it is filled, which pays for the view it needs.
      return size < COPIED
        ? heap.f32.slice(first, end)
        : withinMemory(4 * size, () => new Float32Array(heap.f32.subarray(first, end)));
    }
    const { data } = this.#view(buffer, spec);
    return withinMemory(byteLength(spec), () => data.slice() as HostData);
  }

  hostElements(buffer: DeviceBuffer, spec: ConcreteSpec): HostElements {
    if (typeof buffer !== "number") return { data: buffer as HostData, from: 0 };
    const { heap } = this.#own!;
    switch (spec.dtype) {
      case "float32":
        return { data: heap.f32, from: buffer >>> 2 };
      case "int32":
        return { data: heap.i32, from: buffer >>> 2 };
      case "bool":
        return { data: heap.u8, from: buffer };
      default:
        return { data: this.#view(buffer, spec).data, from: 0 };
    }
  }

  read(reads: readonly BufferRead[]): Promise<NdArray[]> {
    return Promise.resolve(this.readSync(reads));
  }

  free(buffer: DeviceBuffer, spec: ConcreteSpec, bytes: number = byteLength(spec)): void {
    if (typeof buffer !== "number") return;
    const all = this.#longer.size > 0 ? this.#longer.get(buffer) : undefined;
    if (all !== undefined) this.#longer.delete(buffer);
    this.#own!.heap.free(buffer, all ?? bytes);
  }

  shorten(buffer: DeviceBuffer, bytes: number): void {
    if (typeof buffer === "number") this.#longer.set(buffer, bytes);
  }

  memory(): { poolBytes: number; gpuBuffers: number } {
    return { poolBytes: this.#memory?.heap.poolBytes ?? 0, gpuBuffers: 0 };
  }
  check(): void {}
  destroy(): void {}
}

/** Number of entries in a host array. */
function lengthOf({ dtype, shape }: ConcreteSpec): number {
  return sizeOf(shape) * DTYPES[dtype].slots;
}

/** Returns the entries of a value, which may be the first of its memory. */
function firstOf(data: HostData, spec: ConcreteSpec): HostData {
  const length = lengthOf(spec);
  if (data.length === length) return data;
  return Array.isArray(data) ? data.slice(0, length) : (data as TypedArray).subarray(0, length);
}

function inHeap(spec: ConcreteSpec): boolean {
  return IN_HEAP.has(spec.dtype);
}

/** Dtypes whose elements are in the heap's own views. */
type Viewed = "float32" | "int32" | "uint32" | "bool";

function isViewed(dtype: DType): dtype is Viewed {
  return dtype === "float32" || dtype === "int32" || dtype === "bool" || dtype === "uint32";
}

function setOne(heap: Heap, dtype: Viewed, pointer: Pointer, value: number): void {
  if (dtype === "float32") heap.f32[pointer >>> 2] = value;
  else if (dtype === "bool") heap.u8[pointer] = value;
  else heap.i32[pointer >>> 2] = value;
}

function getOne(heap: Heap, dtype: Viewed, pointer: Pointer): number {
  if (dtype === "float32") return heap.f32[pointer >>> 2];
  if (dtype === "bool") return heap.u8[pointer];
  const value = heap.i32[pointer >>> 2];
  return dtype === "uint32" ? value >>> 0 : value;
}
