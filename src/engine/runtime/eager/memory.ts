/** Totals for `memory()`: tensors, bytes, pools, registries. */
import { tapeCount } from "../../autodiff/step_recorder.ts";
import { gpuDevice } from "../devices/devices.ts";
import { totals } from "./storage.ts";

/** Counts of live objects. Constants of functions and sessions are not counted as tensors. */
export interface MemoryInfo {
  /** Tensor handles not disposed. */
  readonly numTensors: number;
  /** Bytes of the memory of those tensors, shared memory once. */
  readonly numBytes: number;
  /** Memory allocations. */
  readonly numDataBuffers: number;
  /** Tensor handles that were collected as garbage without being disposed; `numTensors` still counts them. */
  readonly reclaimedTensors: number;
  /** Bytes of their memory; `numBytes` still counts them. */
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

/** Registered scripts, which `script/` counts. */
export const scriptCount = { registered: 0 };

/**
 * Counts live objects; constant counts over a loop mean that nothing leaks. A growing `reclaimedTensors` means that
 * memory waits for the garbage collector, which does not know its size: use `tidy()` or `using`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const before = tf.memory().numTensors;
 * tf.scalar(1).dispose();
 * console.log(tf.memory().numTensors - before); // 0
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
    registeredScripts: scriptCount.registered,
    liveTapes: tapeCount.live,
    unreliable: false,
  };
}
