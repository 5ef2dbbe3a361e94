/** shareDevice: one GPUDevice for Weft and TensorFlow.js. */
import * as tfjs from "@tensorflow/tfjs-core";
import { UnavailableError } from "../../engine/core/errors.ts";
import { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice, ready } from "../../engine/runtime/devices/devices.ts";
import {
  makeSharedBackend,
  type SharedBackend,
  type WebGpuBackendClass,
} from "./shared_backend.ts";

const NAME = "webgpu";
let shared: SharedBackend | null = null;

/** Returns TensorFlow.js's backend on Weft's device, while it has one. */
export function sharedBackend(): SharedBackend | null {
  return shared !== null && tfjs.findBackend(NAME) === shared ? shared : null;
}

/**
 * Makes TensorFlow.js's WebGPU backend run on Weft's GPU device, and makes it the current one. From then on `toTfjs`,
 * `fromTfjs` and `tfjsFunction` exchange GPU tensors without a copy. The argument is the class `WebGPUBackend` of
 * `@tensorflow/tfjs-backend-webgpu` 4.22. Call it first: it replaces the backend "webgpu" of TensorFlow.js, whose
 * tensors are lost with it. Throws `UnavailableError` where there is no WebGPU adapter.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { shareDevice } from "@weft/weft/tfjs";
 * await tf.ready();
 * if (tf.listDevices().some((d) => d.type === "GPU")) {
 *   const { WebGPUBackend } = await import("@tensorflow/tfjs-backend-webgpu");
 *   console.log(await shareDevice(WebGPUBackend)); // …
 * }
 * ```
 */
export async function shareDevice(WebGPUBackend: WebGpuBackendClass): Promise<void> {
  await ready();
  const device = gpuDevice();
  if (!(device instanceof WebGpuDevice)) {
    throw new UnavailableError(
      "Cannot share a device with TensorFlow.js: no WebGPU adapter was found",
    );
  }
  if (sharedBackend() === null) {
    if (tfjs.findBackendFactory(NAME)) tfjs.removeBackend(NAME);
    tfjs.registerBackend(NAME, () => shared = makeSharedBackend(WebGPUBackend, device), 3);
  }
  await tfjs.setBackend(NAME);
}
