/**
 * Kernels over random shapes: every variant that fits under each kind of adapter, with grids and bindings made small as well,
 * must agree with the CPU.
 */

import { assertEquals } from "@std/assert";
import { setBackend } from "@weft/weft";
import type { Program } from "../../src/core/dispatch.ts";
import { lookupOp, type OpDef, registeredOps } from "../../src/core/op.ts";
// Ops have their GPU kernels from this module.
import "../../src/devices/webgpu/webgpu_device.ts";
import type { WebGpuDevice } from "../../src/devices/webgpu/webgpu_device.ts";
import { cpuDevice, gpuDevice } from "../../src/runtime/devices.ts";
import { difference } from "../../src/testing/compare.ts";
import {
  disposeInputs,
  forcedPlans,
  inputsOn,
  isStatic,
  problemOf,
  runEagerly,
  runPlan,
} from "../../src/testing/run_op.ts";
import { testOnGpu } from "./force_variant.ts";
import { Draw, RANDOM_PROBLEMS } from "./random_problems.ts";
import { MORE_RANDOM_PROBLEMS, WITHOUT_RANDOM_PROBLEMS } from "./random_problems_more.ts";

/** Problems of each op; `WEFT_PROBLEMS=500` asks for more. */
const PROBLEMS = Number(Deno.env.get("WEFT_PROBLEMS") ?? 12);
/** Problems after which a variant that fitted none is an error. */
const LONGEST = 100;
/** Programs that each variant may have compiled: software takes its time for each. */
const MOST_PROGRAMS = PROBLEMS;
const NEAR = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };

const ALL = { ...RANDOM_PROBLEMS, ...MORE_RANDOM_PROBLEMS };

Deno.test("every kind of variant has problems of random shapes, or a reason why not", () => {
  const names = (ops: readonly OpDef[]): string[] =>
    ops.flatMap((op) => (op.gpu ?? []).map((v) => v.name));
  const covered = new Set([
    ...names(Object.keys(ALL).map((op) => lookupOp(op)!)),
    ...Object.keys(WITHOUT_RANDOM_PROBLEMS),
  ]);
  const all = new Set(names(registeredOps()));
  assertEquals([...all].filter((name) => !covered.has(name)), []);
  assertEquals(Object.keys(WITHOUT_RANDOM_PROBLEMS).filter((name) => !all.has(name)), []);
});

for (const [op, draw] of Object.entries(ALL)) {
  testOnGpu(`${op} of random shapes agrees with the CPU in every variant`, async () => {
    await setBackend("webgpu");
    const gpu = gpuDevice() as WebGpuDevice;
    const def = lookupOp(op)!;
    const programs = new Map(def.gpu!.map((v) => [v.name, new Set<Program>()]));
    const wrong: string[] = [];
    const ran = (): boolean => [...programs.values()].every((own) => own.size > 0);
    // More than were asked for where some variant has not fitted yet.
    for (
      let seed = 0;
      (seed < PROBLEMS || (seed < LONGEST && !ran())) && wrong.length < 4;
      seed++
    ) {
      const { inputs, attrs = {}, absolute = NEAR.absolute } = draw(new Draw(seed));
      const problem = problemOf(def, inputs, attrs);
      if (!isStatic(problem)) throw new Error(`${op} has no shape before it is run`);
      const given = inputsOn(def, inputs, cpuDevice());
      const wanted = await runEagerly(def, given, attrs, cpuDevice());
      disposeInputs(given);
      for (const forced of forcedPlans(def.gpu!, problem, gpu.profile)) {
        const own = programs.get(forced.variant)!,
          used = forced.plan.dispatches.map((d) => d.program);
        if (own.size >= MOST_PROGRAMS && !used.every((program) => own.has(program))) continue;
        for (const program of used) own.add(program);
        const outputs = await runPlan(gpu, forced, inputs, problem);
        for (const [k, output] of outputs.entries()) {
          const text = difference(output, wanted[k], output.dtype, { ...NEAR, absolute });
          if (text === null) continue;
          const shapes = inputs.map((a) => `${a.dtype}[${a.shape}]`).join(" ");
          wrong.push(
            `seed ${seed}, "${forced.variant}" (${forced.profile}) of ${shapes} ${
              JSON.stringify(attrs)
            }: output ${k} ${text}`,
          );
        }
      }
    }
    assertEquals(wrong, []);
    assertEquals([...programs].filter(([, own]) => own.size === 0), [], "These did not run");
  });
}
