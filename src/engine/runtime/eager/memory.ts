/**
 * Live totals: tensors, bytes, pools, registries.
 */
import { tapeCount } from "../../autodiff/step_recorder.ts";
import { gpuDevice } from "../devices/devices.ts";
import { totals } from "./storage.ts";

/** What is alive. Constants of functions and sessions, which live as long as those, are not counted as tensors. */
export interface MemoryInfo {
  /** Tensor handles not disposed. */
  readonly numTensors: number;
  /** Bytes of the memory they share. */
  readonly numBytes: number;
  /** Pieces of memory. */
  readonly numDataBuffers: number;
  /** Tensor handles that nobody disposed, and that the garbage collector found: they are still counted in `numTensors`. */
  readonly reclaimedTensors: number;
  /** Bytes that came free so: they are still counted in `numBytes`. */
  readonly reclaimedBytes: number;
  /** Bytes that devices hold for reuse. */
  readonly poolBytes: number;
  /** GPU buffers, in use and held. */
  readonly gpuBuffers: number;
  /** Scripts registered by name or kept by live graphs. */
  readonly registeredScripts: number;
  /** Tapes not disposed. */
  readonly liveTapes: number;
  /** Always false: totals are exact. TensorFlow.js has this field. */
  readonly unreliable: boolean;
}

/** Counts registered scripts; set by `script/`. */
export const scriptCounter: { count: () => number } = { count: () => 0 };

/**
 * Counts what is alive; flat counts over a loop mean that nothing leaks. Where `reclaimedTensors` grows, the memory of tensors that
 * nobody disposes is given back only when the garbage collector comes by, which knows nothing of its size: use `tidy()` or `using`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const before = tf.memory().numTensors;
 * tf.scalar(1).dispose();
 * assertEquals(tf.memory().numTensors, before);
 * ```
 */
export function memory(): MemoryInfo {
  const gpu = gpuDevice()?.memory();
  return {
    numTensors: totals.tensors,
    numBytes: totals.bytes,
    numDataBuffers: totals.storages,
    reclaimedTensors: totals.lostTensors,
    reclaimedBytes: totals.lostBytes,
    poolBytes: gpu?.poolBytes ?? 0,
    gpuBuffers: gpu?.gpuBuffers ?? 0,
    registeredScripts: scriptCounter.count(),
    liveTapes: tapeCount.live,
    unreliable: false,
  };
}
