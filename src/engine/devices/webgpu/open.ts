/**
 * Opens the WebGPU device. Its code and its kernels are loaded here, once there is an adapter: a process that stays on the CPU
 * never waits for them.
 */
import { loadGpuWindows } from "../../kernels/gpu_kernels.ts";
import { requestDevice } from "./adapter.ts";
import type { WebGpuDevice } from "./webgpu_device.ts";

/** A device over the default adapter; null where there is none. */
export async function openWebGpuDevice(): Promise<WebGpuDevice | null> {
  const found = await requestDevice();
  if (found === null) return null;
  const [{ WebGpuDevice }] = await Promise.all([import("./webgpu_device.ts"), loadGpuWindows()]);
  return new WebGpuDevice(found);
}
