/**
 * GpuData: elements in a buffer of the WebGPU device, on their way into a tensor or out of one.
 */
import type { DType } from "./dtype.ts";
import type { Tensor } from "./tensor.ts";

/** Elements in a buffer of the device that `tf.webgpuDevice()` gives: what `tf.tensor` makes a tensor of. */
export interface GpuData {
  /** The elements in row-major order; of bool each is a word of 32 bits. Whatever writes them is submitted. */
  readonly buffer: GPUBuffer;
  /** True: the tensor reads this very buffer, which stays yours and must not change while the tensor lives. Default: a copy. */
  readonly zeroCopy?: boolean;
}

/** Memory of a tensor, as `Tensor.dataToGPU` gives it. */
export interface TensorGpuData {
  /** The elements in row-major order, of bool as words of 32 bits, then perhaps unused bytes. For reading only. */
  readonly buffer: GPUBuffer;
  /** Holds the memory: the buffer is used again once this and all other tensors on it are disposed. */
  readonly tensorRef: Tensor;
}

/** Makes tensors of GPU data; set by the runtime. */
export const gpuDataReader: {
  read: ((data: GpuData, shape: readonly number[], dtype: DType) => Tensor) | null;
} = { read: null };

export function isGpuData(value: unknown): value is GpuData {
  if (typeof value !== "object" || value === null || !("buffer" in value)) return false;
  // Deno loads its WebGPU when the name is read first, which takes milliseconds: not for arrays.
  if (ArrayBuffer.isView(value)) return false;
  const { GPUBuffer } = globalThis as { GPUBuffer?: new () => object };
  return GPUBuffer !== undefined && value.buffer instanceof GPUBuffer;
}
