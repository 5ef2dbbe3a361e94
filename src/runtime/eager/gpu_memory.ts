/**
 * Exchange of GPU memory with code of your own: the WebGPU device, and tensors of its buffers.
 */
import { currentInterpreter } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { FailedPreconditionError, ValueError } from "../../core/errors.ts";
import { type GpuData, gpuDataReader } from "../../core/gpu_data.ts";
import { shapeText } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { WebGpuDevice } from "../../devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../devices.ts";
import { Storage } from "./storage.ts";
import { EagerTensor } from "./tensor.ts";

/** Bytes a buffer's size must be a multiple of for kernels to bind it: they read vectors of four words. */
const BINDING_BYTES = 16;

/**
 * The `GPUDevice` that Weft computes on: make your own pipelines and buffers on it, to exchange memory with tensors. It is another
 * one after a device was lost.
 * Throws `FailedPreconditionError` where no GPU was found, or nobody has looked: await `tf.ready()` first.
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

/** A buffer of somebody else's, which the device uses and does not free. */
export class AdoptedStorage extends Storage {
  readonly #gpu: WebGpuDevice;

  /** The buffer's maker must have submitted what writes it. */
  constructor(gpu: WebGpuDevice, buffer: GPUBuffer, spec: ConcreteSpec) {
    super(gpu, gpu.adopt(buffer), spec);
    this.#gpu = gpu;
  }

  /** Ends the use: from here on the owner may write it. */
  protected override free(): void {
    this.#gpu.release(this.buffer);
  }
}

function tensorOfGpuData(
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
  if (shape.some((d) => !Number.isInteger(d) || d < 0)) {
    throw new ValueError(`Cannot make ${what}: the shape must be of non-negative integers`);
  }
  if (!device.supports(dtype)) {
    throw new ValueError(`Cannot make ${what}: the device does not hold this dtype`);
  }
  const spec = { dtype, shape: [...shape] };
  const bytes = device.bytesOf(spec);
  if (buffer.size < bytes) {
    throw new ValueError(`Cannot make ${what}: it takes ${bytes} bytes, received ${buffer.size}`);
  }
  const usage = zeroCopy ? "STORAGE" : "COPY_SRC";
  if ((buffer.usage & GPUBufferUsage[usage]) === 0) {
    throw new ValueError(`Cannot make ${what}: its usage must include ${usage}`);
  }
  if (!zeroCopy) {
    return new EagerTensor(
      dtype,
      spec.shape,
      new Storage(device, device.copyIn(buffer, spec), spec),
    );
  }
  if (buffer.size % BINDING_BYTES !== 0) {
    throw new ValueError(
      `Cannot make ${what} without a copy: its size must be a multiple of ${BINDING_BYTES} bytes, received ${buffer.size}`,
    );
  }
  return new EagerTensor(dtype, spec.shape, new AdoptedStorage(device, buffer, spec));
}

gpuDataReader.read = tensorOfGpuData;
