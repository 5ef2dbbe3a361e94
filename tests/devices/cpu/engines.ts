/** Engines to test kernels on: with and without fused multiply-add, and shared memory, as far as this machine has them. */

import { assert } from "@std/assert";
import { DTYPES } from "../../../src/engine/core/dtype.ts";
import type { NdArray } from "../../../src/engine/core/nd_array.ts";
import { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import type { Pointer } from "../../../src/engine/devices/cpu/heap.ts";
import { workerCount } from "../../../src/engine/devices/cpu/threads/worker_count.ts";
import { probeFeatures, type WasmFeatures } from "../../../src/engine/devices/cpu/wasm/features.ts";

const has = probeFeatures();

const wanted: WasmFeatures[] = [
  { simd: true, relaxed: true, shared: true, fixed: has.fixed },
  { simd: true, relaxed: false, shared: false, fixed: false },
];

/** Names and engines. */
export const ENGINES: readonly (readonly [string, Engine])[] = wanted
  .filter((w) => (has.relaxed || !w.relaxed) && (has.shared || !w.shared))
  .map((
    w,
  ) => [`${w.relaxed ? "fused" : "plain"}, ${w.shared ? "shared" : "own"} memory`, new Engine(w)]);

/**
 * An engine whose threads are up and take part in whatever is shared; null where there can be none. `before` gets it when there are
 * none yet.
 */
export async function threadedEngine(
  features: WasmFeatures = has,
  before?: (engine: Engine) => void,
): Promise<Engine | null> {
  const engine = new Engine(features);
  before?.(engine);
  engine.threads.mayRest = false;
  engine.threads.start(2);
  if (engine.threads.started === 0) {
    assert(!has.shared || workerCount() === 0, "there is use for threads, and none was started");
    return null;
  }
  while (engine.threads.available(0) <= engine.threads.started) {
    await new Promise((done) => setTimeout(done, 1));
  }
  return engine;
}

/** Bytes of an array's elements. */
export function bytesOf({ data }: NdArray): number {
  return (data as Float32Array).byteLength;
}

/** A block with this array in it. */
export function put(engine: Engine, array: NdArray): Pointer {
  const pointer = engine.heap.alloc(bytesOf(array));
  const view = new (DTYPES[array.dtype].array!)(
    engine.heap.memory.buffer,
    pointer,
    array.data.length,
  );
  view.set(array.data as Float32Array & BigInt64Array);
  return pointer;
}

/** Returns the contents of a block. */
export function take(engine: Engine, pointer: Pointer, like: NdArray): ArrayLike<number> {
  const view = new (DTYPES[like.dtype].array!)(
    engine.heap.memory.buffer,
    pointer,
    like.data.length,
  );
  return Array.from(view as ArrayLike<number>);
}

/** Numbers in [0, 1), the same in each run. */
export function randomSource(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const f32 = new Float32Array(1), bits = new Int32Array(f32.buffer);

/** Units in the last place between two float32; 0 for equal infinities and for two NaN, Infinity where only one is NaN. */
export function ulps(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) && Number.isNaN(b) ? 0 : Infinity;
  const place = (x: number): number => {
    f32[0] = x;
    return bits[0] < 0 ? -(bits[0] & 0x7fffffff) : bits[0];
  };
  return Math.abs(place(a) - place(b));
}
