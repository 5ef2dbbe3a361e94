/** Loads all GPU kernels, where no device is as well. */
import "@weft/weft";
import { registeredOps } from "../../src/engine/core/op.ts";
import "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuKernels } from "../../src/engine/devices/webgpu/kernel_table.ts";

await gpuKernels.load(registeredOps().map(({ meaning }) => meaning));
