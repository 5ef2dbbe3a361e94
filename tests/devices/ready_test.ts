/** Which device `ready()` chooses, asked of modules that have chosen none yet. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { withVariables } from "../environment.ts";
import { testOnGpu } from "../ops/force_variant.ts";

let count = 0;

/** The module of devices as a new process has it. */
function newDevices(): Promise<typeof import("../../src/engine/runtime/devices/devices.ts")> {
  return import(`../../src/engine/runtime/devices/devices.ts?ready=${count++}`);
}

testOnDevices(
  "ready() takes the device that WEFT_DEVICE says, and setBackend() another",
  async (device) => {
    const variables = { WEFT_DEVICE: "tpu" };
    using _ = withVariables(variables);
    const { ready, getBackend, setBackend } = await newDevices();
    assertEquals(getBackend(), "cpu");
    await assertRejects(ready, Error, 'Cannot use WEFT_DEVICE=tpu: wanted "cpu" or "webgpu"');
    variables.WEFT_DEVICE = device;
    await ready();
    assertEquals(getBackend(), device);
    // What was chosen stays.
    variables.WEFT_DEVICE = "tpu";
    await ready();
    assertEquals(getBackend(), device);
    await assertRejects(() => setBackend("tpu" as "cpu"), Error, 'there are "webgpu" and "cpu"');
    assertEquals([await setBackend("cpu"), getBackend()], [true, "cpu"]);
  },
);

testOnDevices("ready() takes the CPU rather than a software adapter", async (device) => {
  const { ready, getBackend, gpuDevice } = await newDevices();
  await ready();
  const isHardware = gpuDevice()?.software === false;
  assertEquals(getBackend(), isHardware ? "webgpu" : "cpu");
  if (device === "webgpu") assertEquals(gpuDevice() !== null, true);
  assertEquals(tf.getBackend(), device);
});

testOnGpu("ready() takes an adapter that is a GPU, and says so", async () => {
  const { ready, getBackend, gpuDevice, hasGpu } = await newDevices();
  assertEquals(await hasGpu(), true);
  const found = gpuDevice()!, { software, description } = found;
  try {
    Object.defineProperty(found, "software", { value: false, configurable: true, writable: true });
    const { reason } = await ready();
    assertEquals([reason, getBackend()], [`The adapter is a GPU: ${description}`, "webgpu"]);
  } finally {
    Object.defineProperty(found, "software", { value: software });
  }
});
