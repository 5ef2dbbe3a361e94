/** Runs every GPU variant of an op by force, under each kind of adapter, and compares it with the CPU kernel. */

import { assert } from "@std/assert";
import { type NdArray, setBackend } from "@weft/weft";
import { lookupOp } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { forcedPlans, problemOf, runEagerly, runPlan } from "../../src/library/testing/run_op.ts";
import { HAS_WEBGPU } from "../devices.ts";
import { Turns } from "../effort.ts";

/** Tolerance of floats: units in the last place, of the value and of the largest value. */
export interface Nearness {
  readonly ulps?: number;
  readonly ulpsOfLargest?: number;
  readonly absolute?: number;
}

const turns = new Turns();

/**
 * Runs all variants, as a rule each as one kind of adapter would, and fails where one differs from the CPU. Returns the names of the variants that ran,
 * so that a test can say that those it means were among them.
 */
export async function compareVariants(
  op: string,
  inputs: readonly NdArray[],
  attrs: Record<string, unknown> = {},
  { ulps = 16, ulpsOfLargest = 16, absolute = 0 }: Nearness = {},
): Promise<Set<string>> {
  const def = lookupOp(op)!;
  const ran = new Set<string>();
  if (!HAS_WEBGPU) return ran;
  assert(await setBackend("webgpu"));
  const gpu = gpuDevice() as WebGpuDevice;
  const wanted = await runEagerly(def, inputs, attrs, cpuDevice());
  const problem = problemOf(def, inputs, attrs);
  const plans = forcedPlans(gpuVariants(def), problem, gpu.profile);
  assert(plans.length > 0, `${op} has no GPU variant for ${inputs.map((i) => `[${i.shape}]`)}`);
  const chosen = Map.groupBy(plans, ({ variant }) => variant).values().flatMap((p) => turns.of(p));
  for (const forced of chosen) {
    ran.add(forced.variant);
    const outputs = await runPlan(gpu, forced, inputs, problem);
    for (const [k, o] of outputs.entries()) {
      const wrong = difference(o, wanted[k], o.dtype, { ulps, ulpsOfLargest, absolute });
      assert(
        wrong === null,
        `${op} variant "${forced.variant}" (${forced.profile}) of ${
          inputs.map((i) => `${i.dtype}[${i.shape}]`).join(" ")
        } ${JSON.stringify(attrs)}: output ${k} ${wrong}`,
      );
    }
  }
  return ran;
}

/** Registers a test that needs a GPU. */
export function testOnGpu(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `${name} [webgpu]`, ignore: !HAS_WEBGPU, fn });
}
