/** A WebGPU device of a test's own, and a kernel to run on it. */
import * as tf from "@weft/weft";
import { assert } from "@std/assert";
import { type GpuPlan, makeProgram } from "../../../src/engine/core/dispatch.ts";
import { registeredOps } from "../../../src/engine/core/op.ts";
import { openWebGpuDevice } from "../../../src/engine/devices/webgpu/open.ts";
import type { WebGpuDevice } from "../../../src/engine/devices/webgpu/webgpu_device.ts";

/** Opens a device without other users. */
export async function freshDevice(): Promise<WebGpuDevice> {
  const device = await openWebGpuDevice(registeredOps().map(({ meaning }) => meaning));
  assert(device !== null);
  return device;
}

export const SPEC = { dtype: "float32", shape: [4] } as const;
export const VALUES: tf.NdArray = new tf.NdArray("float32", [4], new Float32Array([1, 2, 3, 4]));

/** Doubles four floats. */
export const DOUBLE_PLAN: GpuPlan = {
  dispatches: [{
    program: makeProgram({
      name: "double",
      inputs: ["f32"],
      outputs: ["f32"],
      params: ["n"],
      workgroup: [4, 1, 1],
      body: "if (gid.x < p.n) { out0[gid.x] = 2.0 * in0[gid.x]; }",
    }),
    buffers: [{ input: 0 }, { output: 0 }],
    params: [4],
    grid: [1, 1, 1],
  }],
};
