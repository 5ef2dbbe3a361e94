/**
 * Opens the WebGPU device. Its code and its kernels are loaded here, once there is an adapter: a process that stays on
 * the CPU never waits for them.
 */
import type { Meaning } from "../../core/meaning.ts";
import { requestDevice } from "./adapter.ts";
import { gpuKernels } from "./kernel_table.ts";
import type { WebGpuDevice } from "./webgpu_device.ts";

/** A device over the default adapter, with the kernels of ops of these meanings; null where there is none. */
export async function openWebGpuDevice(
  meanings: readonly Meaning[],
): Promise<WebGpuDevice | null> {
  const found = await requestDevice();
  if (found === null) return null;
  const [{ WebGpuDevice }] = await Promise.all([
    import("./webgpu_device.ts"),
    gpuKernels.load(meanings),
  ]);
  return new WebGpuDevice(found);
}
