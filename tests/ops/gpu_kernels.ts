/** Gives the ops all their GPU kernels, those that a device loads when it is opened as well, where no device is. */
import "../../src/engine/devices/webgpu/webgpu_device.ts";
import { loadGpuWindows } from "../../src/engine/kernels/gpu_kernels.ts";

await loadGpuWindows();
