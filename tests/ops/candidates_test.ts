/**
 * Kernels that a device may choose among for products and convolutions: each candidate by its index, on random shapes.
 *
 * With `WEFT_PROBLEMS=500` five minutes on two cores with a software adapter.
 */

import { assertEquals } from "@std/assert";
import { setBackend } from "@weft/weft";
import type { Program } from "../../src/engine/core/dispatch.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { SHARED_RANKING } from "../../src/engine/kernels/matmul/shared_ranking.ts";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { problemOf, runEagerly, runPlan } from "../../src/library/testing/run_op.ts";
import { effort, isOfTheDay } from "../effort.ts";
import { opOfCase } from "../fusions.ts";
import { type Candidate, CANDIDATE_WORK, candidatesOf } from "./candidate_plans.ts";
import { testOnGpu } from "./force_variant.ts";
import { Draw, RANDOM_PROBLEMS } from "./random_problems.ts";
import { MORE_RANDOM_PROBLEMS } from "./random_problems_more.ts";

const ASKED = Deno.env.get("WEFT_PROBLEMS");
/** Problems of each kind of work and of adapter; `WEFT_PROBLEMS=500` asks for more, and prints how long they took. */
const PROBLEMS = Number(ASKED ?? effort(16, 48));
/** One tile of so many is tried, in the order in which they are met. */
const EVERY = ASKED === undefined ? effort(3, 1) : 1;
/** Draws for each problem: not all have candidates. */
const DRAWS = effort(32, 8);
/** Programs that each candidate may have compiled: software takes its time for each. */
const MOST_PROGRAMS = ASKED === undefined ? 1 : 6;
const NEAR = { ulps: 64, ulpsOfLargest: 64 };
const DRAW = { ...RANDOM_PROBLEMS, ...MORE_RANDOM_PROBLEMS };

/** Counts of a candidate. */
interface Tally {
  runs: number;
  readonly programs: Set<Program>;
}

/** Candidates that a problem is given to: those it has programs for, and the one with the fewest, which may have another. */
function given(candidates: readonly Candidate[], tallies: ReadonlyMap<string, Tally>): Candidate[] {
  const known = ({ tile, plan }: Candidate): boolean =>
    plan.dispatches.every((d) => tallies.get(tile)!.programs.has(d.program));
  const count = ({ tile }: Candidate): number => tallies.get(tile)!.programs.size;
  const [next] = candidates.filter((c) => !known(c) && count(c) < MOST_PROGRAMS)
    .sort((a, b) => count(a) - count(b));
  return candidates.filter((c) => c === next || known(c));
}

for (const [i, { kinds, ops: usual, longest = [], parts }] of CANDIDATE_WORK.entries()) {
  const ops = ASKED === undefined ? usual : [...usual, ...longest];
  for (const barriers of [false, true]) {
    if (ASKED === undefined && !isOfTheDay(i + Number(barriers), 2)) continue;
    const adapter = barriers ? "hardware" : "software";
    testOnGpu(`every ${adapter} candidate for ${kinds.join(" and ")} is right`, async () => {
      await setBackend("webgpu");
      const gpu = gpuDevice() as WebGpuDevice, started = performance.now();
      const tiles = new Set<string>(), tallies = new Map<string, Tally>(), wrong: string[] = [];
      let problems = 0, cut = false;
      for (let seed = 0; seed < PROBLEMS * DRAWS && problems < PROBLEMS; seed++) {
        const op = ops[seed % ops.length], def = opOfCase(op);
        const { inputs, attrs = {}, absolute = 1e-6 } = DRAW[op](new Draw(seed));
        const problem = problemOf(def, inputs, attrs);
        const all = candidatesOf(def, problem, { own: { ...gpu.profile, barriers }, kinds });
        for (const { tile } of all) tiles.add(tile);
        const tried = new Set([...tiles].filter((_, i) => i % EVERY === 0));
        const candidates = all.filter(({ tile }) => tried.has(tile));
        for (const { tile } of candidates) {
          if (!tallies.has(tile)) tallies.set(tile, { runs: 0, programs: new Set() });
        }
        const list = given(candidates, tallies);
        if (list.length === 0) continue;
        problems++;
        const [wanted] = await runEagerly(def, inputs, attrs, cpuDevice());
        for (const candidate of list) {
          const tally = tallies.get(candidate.tile)!;
          for (const { program } of candidate.plan.dispatches) tally.programs.add(program);
          tally.runs++;
          cut ||= candidate.parts > 1;
          const [out] = await runPlan(gpu, candidate, inputs, problem);
          const text = difference(out, wanted, out.dtype, { ...NEAR, absolute });
          if (text === null) continue;
          const shapes = inputs.map((a) => `${a.dtype}[${a.shape}]`).join(" ");
          wrong.push(
            `seed ${seed}, ${op} by ${candidate.profile} of ${shapes} ${
              JSON.stringify(attrs)
            }: ${text}`,
          );
        }
      }
      if (ASKED !== undefined) report(tallies, performance.now() - started);
      assertEquals(wrong, []);
      assertEquals(problems, PROBLEMS);
      assertEquals([...tallies].filter(([, { runs }]) => runs === 0), [], "Never forced");
      const { maxInvocations, maxWorkgroupBytes } = gpu.profile;
      if (barriers && maxInvocations >= 256 && maxWorkgroupBytes >= 16384) {
        assertEquals(tiles.size, SHARED_RANKING.tiles.length);
      }
      if (ASKED !== undefined && parts.includes(barriers)) {
        assertEquals(cut, true, "No sum was cut");
      }
    });
  }
}

function report(tallies: ReadonlyMap<string, Tally>, ms: number): void {
  const runs = [...tallies.values()].map((t) => t.runs);
  const programs = [...tallies.values()].reduce((n, t) => n + t.programs.size, 0);
  console.log(
    `${tallies.size} candidates, ${Math.min(...runs)} to ${Math.max(...runs)} problems each, ` +
      `${programs} programs, ${(ms / 1000).toFixed(1)} s`,
  );
}
