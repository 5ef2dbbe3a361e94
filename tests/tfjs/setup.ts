/** TensorFlow.js beside the device that a test runs on: its CPU backend, or its WebGPU backend on our GPU device. */
import * as tf from "@weft/weft";
import { fromTfjs, shareDevice } from "@weft/weft/tfjs";
import * as tfjs from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
// The core alone registers no gradients, and this is the smallest package that does.
import "@tensorflow/tfjs-layers";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { assertEquals } from "@std/assert";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { totals } from "../script/helpers.ts";
// Without it TensorFlow.js gives advice about Node on the console.
tfjs.enableProdMode();

export { tfjs };

/** Registers a test once for each device, with TensorFlow.js on that device. */
export function testWithTfjs(name: string, fn: (device: TestDevice) => void | Promise<void>): void {
  testOnDevices(name, async (device) => {
    if (device === "cpu") await tfjs.setBackend("cpu");
    else await shareDevice(WebGPUBackend);
    await fn(device);
  });
}

/**
 * Counts the live objects of both libraries. TensorFlow.js counts buffers of complex tensors and bytes of strings
 * wrong.
 */
function bothTotals(): Record<string, number> {
  return { ...totals(), tfjsTensors: tfjs.memory().numTensors };
}

/** Asserts that `fn` leaves no tensor behind, here or there. */
export async function assertBothFlat(fn: () => unknown): Promise<void> {
  const before = bothTotals();
  await fn();
  assertEquals(bothTotals(), before);
}

/** Asserts that `fn` moves no element between host and GPU. */
export async function assertNoTransfer(fn: () => unknown): Promise<void> {
  const { readbacks, bytesToHost, bytesToDevice } = await tf.profile(async () => void await fn());
  assertEquals({ readbacks, bytesToHost, bytesToDevice }, {
    readbacks: 0,
    bytesToHost: 0,
    bytesToDevice: 0,
  });
}

/** Takes over the result of `fn` with TensorFlow.js; its other tensors are disposed. */
export function taken(fn: () => tfjs.Tensor): tf.Tensor {
  const made = tfjs.tidy(fn);
  const y = fromTfjs(made);
  made.dispose();
  return y;
}

/** The GPU buffer of a tensor of TensorFlow.js on the WebGPU backend. */
export function bufferOf(t: tfjs.Tensor): GPUBuffer {
  const { tensorMap } = tfjs.backend() as unknown as {
    tensorMap: { get(id: object): { resource: GPUBuffer } };
  };
  return tensorMap.get(t.dataId).resource;
}
