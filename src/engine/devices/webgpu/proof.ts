/**
 * Synchronous proof that pipelines can run: WebGPU reports later that one is invalid, and drops all commands around it.
 */
import { mappable } from "./readback.ts";

/** Bytes between two marks. */
const STRIDE = 8;

/**
 * Tests for each pipeline that commands with it run; nothing is proven of a device that is lost. Requires a device whose memory can be mapped
 * synchronously.
 */
export function provePipelines(
  device: GPUDevice,
  pipelines: readonly GPUComputePipeline[],
): boolean[] {
  const size = STRIDE * (pipelines.length + 1);
  const mark = device.createBuffer({
    size: STRIDE,
    usage: GPUBufferUsage.COPY_SRC,
    mappedAtCreation: true,
  });
  new Uint32Array(mark.getMappedRange()).fill(1);
  mark.unmap();
  const marks = mappable(device, size);
  device.pushErrorScope("validation");
  // The last has no pipeline, and runs wherever anything does.
  [...pipelines, null].forEach((pipeline, i) => {
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    if (pipeline !== null) pass.setPipeline(pipeline);
    pass.end();
    encoder.copyBufferToBuffer(mark, 0, marks, i * STRIDE, 4);
    device.queue.submit([encoder.finish()]);
  });
  device.popErrorScope().catch(() => {});
  device.queue.submit([]);
  marks.mapAsync(GPUMapMode.READ).catch(() => {});
  const words = new Uint32Array(marks.getMappedRange().slice(0));
  marks.destroy();
  mark.destroy();
  const ran = (i: number): boolean => words[i * STRIDE / 4] === 1;
  return pipelines.map((_, i) => ran(i) || !ran(pipelines.length));
}
