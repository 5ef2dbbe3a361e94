/** GpuData: elements in a buffer of the WebGPU device, as the source or the memory of a tensor. */
import type { Tensor } from "./tensor.ts";

/** Elements in a buffer of the device of `tf.webgpuDevice()`, from which `tf.tensor` makes a tensor. */
export interface GpuData {
  /**
   * The elements in row-major order; each bool is a word of 32 bits. The commands that write them must have been
   * submitted.
   */
  readonly buffer: GPUBuffer;
  /** True: the tensor reads this very buffer, which stays yours and must not change while the tensor lives. Default: a copy. */
  readonly zeroCopy?: boolean;
}

/** Memory of a tensor, returned by `Tensor.dataToGPU`. */
export interface TensorGpuData {
  /** The elements in row-major order, of bool as words of 32 bits, then perhaps unused bytes. For reading only. */
  readonly buffer: GPUBuffer;
  /** Owns the memory: the buffer is reused once this and all other tensors on it are disposed. */
  readonly tensorRef: Tensor;
}

export function isGpuData(value: unknown): value is GpuData {
  if (typeof value !== "object" || value === null || !("buffer" in value)) return false;
  // Deno loads its WebGPU when the name is first read, which takes milliseconds: arrays must not cause that.
  if (ArrayBuffer.isView(value)) return false;
  const { GPUBuffer } = globalThis as { GPUBuffer?: new () => object };
  return GPUBuffer !== undefined && value.buffer instanceof GPUBuffer;
}
