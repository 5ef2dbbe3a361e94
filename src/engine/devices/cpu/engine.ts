/** The engine of the CPU device: the heap and the compiled modules of its kernels. */
import { RecentMap } from "../../core/collections/recent_map.ts";
import { evenBlocks } from "./blocks.ts";
import { Heap, type Pointer } from "./heap.ts";
import { usefulFeatures } from "./memory.ts";
import { Threads, type WasmCall, type WasmFunction } from "./threads/threads.ts";
import type { WasmFeatures } from "./wasm/features.ts";
import { ModuleBuilder } from "./wasm/module_builder.ts";
import { Error } from "../../core/throwing/builtin_errors.ts";

export type { WasmCall, WasmFunction };
export type WasmExports = Readonly<Record<string, WasmFunction>>;

/** Pieces that a kernel processes one after another, and that may be divided. */
export interface Pieces {
  readonly count: number;
  /** Floating point operations for all of them. */
  readonly work: number;
  /** All parts but the last are multiples of this. */
  readonly multiple?: number;
  /** Least pieces of a part. */
  readonly least?: number;
  /** Bytes of scratch memory of each part. */
  readonly room?: number | undefined;
}

/** Returns the arguments of a kernel for `size` pieces from number `from` on; `room` is the part's scratch memory. */
export type PartArguments = (from: number, size: number, room: Pointer) => number[];

/** Most modules that are cached for reuse; their users hold them in any case. */
const MOST_MODULES = 1024;

/** Most numbers that kernels read from memory. */
const MOST_NUMBERS = 1024;

/** Compiles kernels into one memory, each once as long as it is in use. */
export class Engine {
  readonly features: WasmFeatures;
  readonly heap: Heap;
  /** Collects the keys of requested modules; null where nothing records them. */
  asked: string[] | null = null;
  packings = 0;
  readonly #compiled = new RecentMap<string, WasmExports>(MOST_MODULES);
  #scratch = { pointer: 0, bytes: 0 };
  readonly threads: Threads;
  /** Less work than this, in floating point operations, is done by one thread. */
  worthSharing = 4e6;

  /** `features` may restrict those of the machine. Makes a heap of at most `limit` bytes, unless one is given. */
  constructor(
    features: WasmFeatures = usefulFeatures(),
    limit?: number,
    heap: Heap = new Heap(features.shared, limit, features.fixed),
  ) {
    this.heap = heap;
    this.heap.lastResort = () => this.#freeScratch();
    this.threads = new Threads(this.heap);
    this.features = {
      ...features,
      simd: features.simd && this.#mayCompile(),
      shared: this.heap.shared,
    };
  }

  /**
   * Returns scratch memory for the kernel that runs now; the next one gets the same, unless memory is short in between.
   * A kernel allocates its other blocks before. Throws `ResourceExhaustedError` where there is no memory.
   */
  scratch(bytes: number): Pointer {
    if (this.#scratch.bytes < bytes) {
      this.#freeScratch();
      const size = Math.max(bytes, 1 << 16);
      this.#scratch = { pointer: this.heap.alloc(size), bytes: size };
    }
    return this.#scratch.pointer;
  }

  /** Frees the scratch memory; false where there is none. */
  #freeScratch(): boolean {
    const { pointer, bytes } = this.#scratch;
    if (bytes === 0) return false;
    this.#scratch = { pointer: 0, bytes: 0 };
    this.heap.free(pointer, bytes);
    return true;
  }

  /** Returns the address of a number that stays there; null where there are many already. */
  number(value: number): Pointer | null {
    const numbers = this.#numbers, known = numbers.get(value);
    if (known !== undefined) return known;
    if (numbers.size === MOST_NUMBERS) return null;
    if (numbers.size === 0) this.#numbersAt = this.heap.alloc(4 * MOST_NUMBERS);
    const at = this.#numbersAt + 4 * numbers.size;
    this.heap.f32[at >>> 2] = value;
    numbers.set(value, at);
    return at;
  }
  readonly #numbers = new Map<number, Pointer>();
  #numbersAt: Pointer = 0;

  /** Returns the best number of parts for this much work (in floating point operations). */
  parts(operations: number): number {
    if (operations < this.worthSharing) return 1;
    const threads = this.threads.available(operations);
    // A few parts for each thread, so that none waits long for another.
    const most = Math.floor(operations / (this.worthSharing / 4));
    return threads === 1 ? 1 : Math.min(4 * threads, most);
  }

  /**
   * Makes several calls of compiled functions, by threads where there are some, in any order. `operations` is the work
   * in them, where {@linkcode parts} was not asked about it.
   */
  callAll(calls: readonly WasmCall[], operations = 0): void {
    const { threads } = this;
    if (calls.length > 1 && threads.available(operations) > 1 && threads.run(calls)) return;
    for (const [run, args] of calls) run(...args);
  }

  /**
   * Calls a kernel once for all pieces, or for parts that threads share where that pays. Ops that take less than a
   * microsecond make small calls themselves: listing their arguments here would cost a good part of that.
   */
  inParts(
    run: WasmFunction,
    { count, work, multiple = 1, least = 1, room = 0 }: Pieces,
    argumentsOf: PartArguments,
  ): void {
    const parts = this.parts(work);
    if (parts === 1) return void run(...argumentsOf(0, count, room > 0 ? this.scratch(room) : 0));
    const blocks = evenBlocks(count, Math.max(least, Math.ceil(count / parts)), multiple);
    const at = this.scratch(room * blocks.length);
    this.callAll(
      blocks.map(({ from, size }, k): WasmCall => [run, argumentsOf(from, size, at + k * room)]),
    );
  }

  /**
   * Calls a kernel of pieces at these addresses, which move by so many bytes with each; after the addresses its
   * arguments are the number of pieces and the rest.
   */
  alongSteps(
    run: WasmFunction,
    pieces: Pieces,
    addresses: readonly Pointer[],
    steps: readonly number[],
    rest: readonly number[],
  ): void {
    if (pieces.work < this.worthSharing) return void run(...addresses, pieces.count, ...rest);
    this.inParts(
      run,
      pieces,
      (from, size) => [...addresses.map((p, k) => p + from * steps[k]), size, ...rest],
    );
  }

  /** False where modules may not be compiled: then there is memory, but no vector code. */
  #mayCompile(): boolean {
    try {
      this.#zero = this.compile("zero", (m) => {
        m.function("run", ["i32", "i32"], null, (f, to, count) => f.fill(to, 0, count));
      }).run;
      return true;
    } catch {
      return false;
    }
  }
  #zero: WasmFunction | undefined;

  zero(pointer: Pointer, bytes: number): void {
    if (this.#zero) this.#zero(pointer, bytes);
    else this.heap.u8.fill(0, pointer, pointer + bytes);
  }

  /** Returns the exports of the module that `build` writes; built once for each key, unless it was evicted. */
  compile(key: string, build: (m: ModuleBuilder) => void): WasmExports {
    this.asked?.push(key);
    const known = this.#compiled.get(key);
    if (known !== undefined) return known;
    const { memory, minimum, maximum, shared } = this.heap;
    const m = new ModuleBuilder({ shared, minimum, maximum });
    build(m);
    const code = m.finish(), instance = instantiate(code, { ...HOST_FUNCTIONS, memory });
    const exports = instance.exports as unknown as WasmExports;
    this.#compiled.set(key, exports);
    if (shared) this.threads.add(code, Object.values(exports));
    return exports;
  }
}

/** Returns the types of `count` integers. */
export function words(count: number): "i32"[] {
  return new Array<"i32">(count).fill("i32");
}

/** Thrown where compiling is forbidden: by a content security policy, or a limit on modules compiled at once. */
export class CompileRefused extends Error {
  override readonly name: string = "CompileRefused";
}

function instantiate(
  code: Uint8Array<ArrayBuffer>,
  env: WebAssembly.ModuleImports,
): WebAssembly.Instance {
  try {
    return new WebAssembly.Instance(new WebAssembly.Module(code), { env });
  } catch (cause) {
    throw new CompileRefused(`Cannot compile a kernel of ${code.length} bytes`, { cause });
  }
}

/** JavaScript functions that modules may import, for the rare elements that vector code does not handle. */
export const HOST_FUNCTIONS: Readonly<Record<string, (...args: number[]) => number>> = {
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  fmod: (a, b) => a % b,
};
