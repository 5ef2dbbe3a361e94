/** float16 on adapters without f16: every op that takes it, on a device that was never asked for the feature. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { opCheck } from "@weft/weft/testing";
import { HAS_WEBGPU } from "../../devices.ts";
import { effort } from "../../effort.ts";
import { FAMILIES } from "../../op_samples/mod.ts";
import { lookupOp } from "../../../src/engine/core/op.ts";
import { gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { dtypesOf } from "../../../src/library/testing/op_case.ts";

/** From here on adapters do not list f16, and refuse what says `enable f16;`. */
function hideHalf(): void {
  const { gpu } = navigator;
  const requestAdapter = gpu.requestAdapter.bind(gpu);
  gpu.requestAdapter = async (options) => {
    const adapter = await requestAdapter(options);
    return adapter && {
      features: new Set([...adapter.features].filter((f) => f !== "shader-f16")),
      limits: adapter.limits,
      info: adapter.info,
      requestDevice: adapter.requestDevice.bind(adapter),
    } as unknown as GPUAdapter;
  };
}
if (HAS_WEBGPU) hideHalf();

function packedTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `${name} [webgpu]`,
    ignore: !HAS_WEBGPU,
    fn: async () => {
      await tf.setBackend("webgpu");
      await fn();
    },
  });
}

packedTest("float16 keeps two bytes an element on the GPU without f16", async () => {
  const gpu = gpuDevice()!;
  assert(gpu.supports("float16"));
  for (const size of [1, 2, 7, 1000]) {
    const before = gpu.counters.bytesToDevice;
    const x = tf.tensor(Array.from({ length: size }, (_, i) => i / 8), [size], "float16");
    const y = tf.mul(x, 2);
    assertEquals(await y.data<"float16">(), Float16Array.from({ length: size }, (_, i) => i / 4));
    // The tensor and the number.
    assertEquals(gpu.counters.bytesToDevice - before, Math.ceil(size / 2) * 4 + 4);
  }
});

packedTest("float16 random numbers stay below 1 without f16", async () => {
  const x = tf.randomUniform([4099], 0, 1, "float16");
  const values = await x.data<"float16">() as Float16Array;
  assert(values.every((v) => v >= 0 && v < 1 && Number.isInteger(v * 2048)));
});

for (const [name, samples] of Object.values(FAMILIES).flatMap((table) => Object.entries(table))) {
  const half = samples.filter((sample) => dtypesOf(lookupOp(name)!, sample).includes("float16"));
  if (half.length === 0) continue;
  packedTest(`${name} holds for packed halves`, async () => {
    await tf.setBackend("cpu");
    await opCheck(name, half.slice(0, effort(1, 2)), { devices: ["GPU"], dtypes: ["float16"] });
  });
}

packedTest("products of float32 read packed halves", async () => {
  await tf.setBackend("cpu");
  await opCheck("_HalfMatMul", FAMILIES.linear._HalfMatMul, { devices: ["GPU"] });
});
