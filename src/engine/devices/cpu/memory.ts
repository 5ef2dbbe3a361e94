/** The memory that tensors of the CPU live in, and what its WebAssembly can do. */
import { Heap } from "./heap.ts";
import { workerCount } from "./threads/worker_count.ts";
import { probeFeatures, type WasmFeatures } from "./wasm/features.ts";

/** Blocks for tensors, and the features of kernels that work on them. */
export interface CpuMemory {
  readonly features: WasmFeatures;
  readonly heap: Heap;
}

/**
 * Returns the features of the machine. Memory is shared only where there are threads: the engine accesses unshared
 * memory faster.
 */
export function usefulFeatures(): WasmFeatures {
  const features = probeFeatures();
  return { ...features, shared: features.shared && workerCount() > 0 };
}

/** Makes a memory, or returns null without WebAssembly or memory. */
export function makeMemory(): CpuMemory | null {
  try {
    const features = usefulFeatures(), heap = new Heap(features.shared, undefined, features.fixed);
    return { features, heap };
  } catch {
    return null;
  }
}
