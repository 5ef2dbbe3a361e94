/** Pipelines are compiled once as long as something uses them, and few are cached without a user. */
import { assertEquals } from "@std/assert";
import { DeviceCounters } from "../../../src/engine/core/device.ts";
import { makeProgram, type Program } from "../../../src/engine/core/dispatch.ts";
import { Pipelines } from "../../../src/engine/devices/webgpu/pipelines.ts";
import type { WebGpuDevice } from "../../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { testOnGpu } from "../../devices.ts";

function programOf(n: number): Program {
  return makeProgram({
    name: `adds_${n}`,
    inputs: ["f32"],
    outputs: ["f32"],
    workgroup: [1, 1, 1],
    body: `out0[0] = in0[0] + ${n}.0;`,
  });
}

testOnGpu(
  "a pipeline that a kernel holds is not compiled again, however many come in between",
  () => {
    const { gpu } = gpuDevice() as WebGpuDevice, counters = new DeviceCounters();
    const params = gpu.createBuffer({ size: 256, usage: GPUBufferUsage.UNIFORM });
    const fail = (error: Error): never => {
      throw error;
    };
    const pipelines = new Pipelines(gpu, counters, params, { batch: () => 0, fail, unused: 2 });
    const programs = [0, 1, 2, 3, 4].map(programOf), held = pipelines.pipeline(programs[0]);
    for (const program of programs) pipelines.pipeline(program);
    assertEquals(pipelines.pipeline(programs[0]), held);
    assertEquals(counters.pipelinesCreated, 5);
    params.destroy();
  },
);
