/** Engines that put blocks where addresses are hard: across 2 GiB, where their sign changes, and at the very end of memory. */

import { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { Heap, type Pointer } from "../../../src/engine/devices/cpu/heap.ts";
import type { WasmFeatures } from "../../../src/engine/devices/cpu/wasm/features.ts";

const MIB = 2 ** 20, HALF = 2 ** 31;
/** Larger blocks lie where there is room. */
const LARGEST = 32 * MIB;
/** Free bytes at the end of the heap. */
const GUARD = 512;

/** Where a block of so many bytes goes. */
export type Place = "across 2 GiB" | "at the end of 4 GiB" | "at the end of 96 MiB";

/** Puts one block of those that a run asks for, or its scratch memory, to the hard place. */
export class HardPlaces {
  readonly engine: Engine;
  readonly #at: (size: number) => Pointer;
  #left = Infinity;
  #scratch = false;
  #held: Pointer = 0;

  /** Nothing lies there until {@linkcode put} says what. */
  constructor(features: WasmFeatures, place: Place) {
    const end = place === "at the end of 96 MiB" ? 96 * MIB : 2 * HALF;
    const { heap } = this.engine = new Engine(features, end);
    // Memory that is only taken costs none.
    if (place === "across 2 GiB") {
      heap.alloc(HALF - 2 * LARGEST);
      heap.alloc(4 * LARGEST);
      this.#at = (size) => HALF - Math.max(64, (size >> 1) & ~63);
    } else {
      heap.alloc(end - 2 * LARGEST);
      heap.alloc(LARGEST + 16 * MIB);
      while (heap.u8.length < end) heap.alloc(MIB);
      this.#at = (size) => end - GUARD - size;
    }
    this.#watch();
  }

  #watch(): void {
    const { engine, engine: { heap } } = this;
    const alloc = heap.alloc.bind(heap), free = heap.free.bind(heap);
    const scratch = engine.scratch.bind(engine);
    heap.alloc = (bytes) => {
      const size = Heap.blockBytes(bytes);
      if (this.#held !== 0 || size > LARGEST || this.#left-- !== 0) return alloc(bytes);
      return this.#held = this.#at(size);
    };
    heap.free = (pointer, bytes) => {
      if (pointer === this.#held) this.#held = 0;
      else free(pointer, bytes);
    };
    engine.scratch = (bytes) => {
      const size = Heap.blockBytes(bytes);
      return this.#scratch && size <= LARGEST ? this.#at(size) : scratch(bytes);
    };
  }

  /** From now on the block asked for after so many others lies there; or else scratch memory does. */
  put(what: number | "scratch"): void {
    this.#scratch = what === "scratch";
    this.#left = what === "scratch" ? Infinity : what;
  }
}
