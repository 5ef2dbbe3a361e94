/**
 * Opens the WebGPU device. Its code and its kernels are loaded here, once there is an adapter: a process that stays on
 * the CPU never waits for them.
 */
import type { Meaning } from "../../core/meaning.ts";
import { gpuKernels } from "./kernel_table.ts";
import type { WebGpuDevice } from "./webgpu_device.ts";

/** A device over the default adapter, with the kernels of ops of these meanings; null where there is none. */
export async function openWebGpuDevice(
  meanings: readonly Meaning[],
): Promise<WebGpuDevice | null> {
  const adapter = await findAdapter();
  if (adapter === null) return null;
  const [{ requestDevice }, { WebGpuDevice }] = await Promise.all([
    import("./adapter.ts"),
    import("./webgpu_device.ts"),
    gpuKernels.load(meanings),
  ]);
  return new WebGpuDevice(await requestDevice(adapter));
}

/** The fastest adapter; null where the runtime has no WebGPU, or none. */
export async function findAdapter(): Promise<GPUAdapter | null> {
  const gpu = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
  return await gpu?.requestAdapter({ powerPreference: "high-performance" }) ?? null;
}
