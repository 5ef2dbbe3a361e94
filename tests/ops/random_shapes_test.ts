/**
 * Kernels over random shapes: every variant that fits under each kind of adapter, with grids and bindings made small as well,
 * must agree with the CPU.
 *
 * `WEFT_PROBLEMS=500 deno test -A tests/ops/random_shapes_test.ts` gives every variant 500 problems, and says how many plans and
 * programs those were: a quarter of an hour on two cores with a software adapter, most of it compiling. One op is asked for with
 * `--filter "Conv2D of"`.
 */

import { assertEquals } from "@std/assert";
import { setBackend } from "@weft/weft";
import type { Program } from "../../src/engine/core/dispatch.ts";
import { type OpDef, registeredOps } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
// Ops have their GPU kernels from this module.
import "./gpu_kernels.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference } from "../../src/library/testing/compare.ts";
import {
  type ForcedPlan,
  forcedPlans,
  isStatic,
  problemOf,
  runEagerly,
  runPlan,
} from "../../src/library/testing/run_op.ts";
import { effort, ofTheDay, Turns } from "../effort.ts";
import { testOnGpu } from "./force_variant.ts";
import { opOfCase } from "../fusions.ts";
import { Draw, RANDOM_PROBLEMS } from "./random_problems.ts";
import { COMPLEX_RANDOM_PROBLEMS } from "../signal/random_problems.ts";
import { MOVED_RANDOM_PROBLEMS } from "./random_problems_moved.ts";
import { MORE_RANDOM_PROBLEMS, WITHOUT_RANDOM_PROBLEMS } from "./random_problems_more.ts";

const ASKED = Deno.env.get("WEFT_PROBLEMS");
/** Problems that each variant is given; `WEFT_PROBLEMS=500` asks for more, and prints how long they took. */
const PROBLEMS = Number(ASKED ?? effort(3, 12));
/** Draws for each problem of a variant, after which one that had too few is an error. */
const DRAWS = effort(160, 40);
/** Programs that each variant may have compiled: software takes its time for each. */
const MOST_PROGRAMS = ASKED === undefined ? 12 : 128;
const NEAR = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };

const ALL = {
  ...RANDOM_PROBLEMS,
  ...MORE_RANDOM_PROBLEMS,
  ...MOVED_RANDOM_PROBLEMS,
  ...COMPLEX_RANDOM_PROBLEMS,
};

Deno.test("every kind of variant has problems of random shapes, or a reason why not", () => {
  const names = (ops: readonly OpDef[]): string[] =>
    ops.flatMap((op) => gpuVariants(op).map((v) => v.name));
  const covered = new Set([
    ...names(Object.keys(ALL).map(opOfCase)),
    ...Object.keys(WITHOUT_RANDOM_PROBLEMS),
  ]);
  const all = new Set(names(registeredOps()));
  assertEquals([...all].filter((name) => !covered.has(name)), []);
  assertEquals(Object.keys(WITHOUT_RANDOM_PROBLEMS).filter((name) => !all.has(name)), []);
});

/** As a rule each problem is solved as one kind of adapter would. */
const turns = new Turns();

/** Counts of a variant. */
interface Tally {
  /** Problems that it was given. */
  problems: number;
  /** Plans that were compared. */
  plans: number;
  /** Compiled programs. */
  readonly programs: Set<Program>;
}

for (
  const [op, draw] of ASKED === undefined ? ofTheDay(Object.entries(ALL), 3) : Object.entries(ALL)
) {
  testOnGpu(`${op} of random shapes agrees with the CPU in every variant`, async () => {
    await setBackend("webgpu");
    const gpu = gpuDevice() as WebGpuDevice, started = performance.now();
    const def = opOfCase(op);
    const tallies = new Map(
      gpuVariants(def).filter((v) => v.complex !== "only" || op === def.name).map((v): [
        string,
        Tally,
      ] => [v.name, { problems: 0, plans: 0, programs: new Set() }]),
    );
    const wrong: string[] = [];
    const few = (): string[] =>
      [...tallies].flatMap(([name, { problems }]) => (problems < PROBLEMS ? [name] : []));
    for (
      let seed = 0;
      seed < PROBLEMS * DRAWS && few().length > 0 && wrong.length < 4;
      seed++
    ) {
      const { inputs, attrs = {}, absolute = NEAR.absolute } = draw(new Draw(seed));
      const problem = problemOf(def, inputs, attrs);
      if (!isStatic(problem)) throw new Error(`${op} has no shape before it is run`);
      // Where some variant fits seldom, the others have had theirs.
      const wanting = new Set(few());
      const forced = forcedPlans(
        gpuVariants(def).filter(({ name }) => wanting.has(name)),
        problem,
        gpu.profile,
      );
      const plans = [...Map.groupBy(forced, ({ variant }) => variant).values()]
        .flatMap((own) => turns.of(own))
        .filter((plan) => take(plan, tallies.get(plan.variant)!));
      if (plans.length === 0) continue;
      for (const name of new Set(plans.map((p) => p.variant))) tallies.get(name)!.problems++;
      const wanted = await runEagerly(def, inputs, attrs, cpuDevice());
      for (const forced of plans) {
        tallies.get(forced.variant)!.plans++;
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
    if (ASKED !== undefined) report(op, tallies, performance.now() - started);
    assertEquals(wrong, []);
    assertEquals(few(), [], `These had fewer than ${PROBLEMS} problems`);
  });
}

/** True where a variant may have compiled what a plan needs: notes that it has. */
function take({ plan }: ForcedPlan, { programs }: Tally): boolean {
  const used = plan.dispatches.map((d) => d.program);
  if (programs.size >= MOST_PROGRAMS && !used.every((p) => programs.has(p))) return false;
  for (const program of used) programs.add(program);
  return true;
}

function report(op: string, tallies: ReadonlyMap<string, Tally>, ms: number): void {
  const lines = [...tallies].map(([name, { problems, plans, programs }]) =>
    `${op}, "${name}": ${problems} problems, ${plans} plans, ${programs.size} programs`
  );
  console.log(lines.join("\n") + `\n${op}: ${(ms / 1000).toFixed(1)} s`);
}
