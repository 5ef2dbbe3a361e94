/** Shares GPU memory with the user's code: the WebGPU device, and tensors over its buffers. */
import { currentInterpreter } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { FailedPreconditionError, ValueError } from "../../core/errors.ts";
import type { GpuData } from "../../core/gpu_data.ts";
import { shapeText } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { WebGpuDevice } from "../../devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../devices/devices.ts";
import { Storage } from "./storage.ts";
import { EagerTensor } from "./tensor.ts";

/** Kernels read vectors of four words: a buffer must be a multiple of this to be bound. */
const BINDING_BYTES = 16;

/**
 * Returns the `GPUDevice` that Weft computes on: make your own pipelines and buffers on it to exchange memory with
 * tensors. A new one replaces a lost device. Throws `FailedPreconditionError` if no GPU was found, or before
 * `tf.ready()`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * await tf.ready();
 * if (tf.listDevices().some((d) => d.type === "GPU")) console.log(tf.webgpuDevice().limits.maxBufferSize);
 * ```
 */
export function webgpuDevice(): GPUDevice {
  return found("give the WebGPU device").gpu;
}

function found(action: string): WebGpuDevice {
  const device = gpuDevice();
  if (device === null) {
    throw new FailedPreconditionError(
      `Cannot ${action}: no GPU device was found, await tf.ready() first`,
    );
  }
  device.check();
  return device;
}

/** A buffer of the user's, which the device uses and does not free. */
export class AdoptedStorage extends Storage {
  /** The memory is the user's. */
  override get isMovable(): boolean {
    return false;
  }
  readonly #gpu: WebGpuDevice;

  /** The writes of the buffer must have been submitted. */
  constructor(gpu: WebGpuDevice, buffer: GPUBuffer, spec: ConcreteSpec) {
    super(gpu, gpu.adopt(buffer), spec);
    this.#gpu = gpu;
  }

  /** Ends the use: the owner may write the buffer again. */
  protected override free(): void {
    this.#gpu.release(this.buffer);
  }
}

export function tensorOfGpuData(
  { buffer, zeroCopy = false }: GpuData,
  shape: readonly number[],
  dtype: DType,
): EagerTensor {
  const what = `a tensor of shape ${shapeText(shape)} and dtype ${dtype} of a GPU buffer`;
  if (currentInterpreter().symbolic) {
    throw new FailedPreconditionError(
      `Cannot make ${what} inside a graph: make it outside, the graph captures it`,
    );
  }
  const device = found(`make ${what}`);
  const check = (isFine: boolean, why: string): void => {
    if (!isFine) throw new ValueError(`Cannot make ${what}${why}`);
  };
  const isShape = shape.every((d) => Number.isInteger(d) && d >= 0);
  check(isShape, ": the shape must be of non-negative integers");
  check(device.supports(dtype), ": the device does not hold this dtype");
  const spec = { dtype, shape: [...shape] }, { size } = buffer;
  const bytes = device.bytesOf(spec);
  check(size >= bytes, `: it takes ${bytes} bytes, received ${size}`);
  const usage = zeroCopy ? "STORAGE" : "COPY_SRC";
  check((buffer.usage & GPUBufferUsage[usage]) !== 0, `: its usage must include ${usage}`);
  check(
    !zeroCopy || size % BINDING_BYTES === 0,
    ` without a copy: its size must be a multiple of ${BINDING_BYTES} bytes, received ${size}`,
  );
  const storage = zeroCopy
    ? new AdoptedStorage(device, buffer, spec)
    : new Storage(device, device.copyIn(buffer, spec), spec);
  return new EagerTensor(dtype, spec.shape, storage);
}
