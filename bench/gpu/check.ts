// Whether every kernel is right on this adapter: all variants of all ops and all candidates for products and convolutions, on
// problems of the tests' own tables, against float64 on the host.

import type { NdArray } from "@weft/weft";
import { castArray } from "../../src/engine/core/convert.ts";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import type { Attrs, OpDef, Problem } from "../../src/engine/core/op.ts";
import { gpuKernels, gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference, epsilonOf } from "../../src/library/testing/compare.ts";
import {
  type ForcedPlan,
  forcedPlans,
  isStatic,
  problemOf,
  profilesOf,
  runEagerly,
  runPlan,
} from "../../src/library/testing/run_op.ts";
import { opOfCase } from "../../tests/fusions.ts";
import { CANDIDATE_WORK, candidatesOf } from "../../tests/ops/candidate_plans.ts";
import { Draw, RANDOM_PROBLEMS, type RandomProblem } from "../../tests/ops/random_problems.ts";
import { MOVED_RANDOM_PROBLEMS } from "../../tests/ops/random_problems_moved.ts";
import { MORE_RANDOM_PROBLEMS } from "../../tests/ops/random_problems_more.ts";
import { gpuDevice, hasGpu } from "./device.ts";
import type { Setting } from "./measure.ts";
import type { Recorder } from "./record.ts";

const ALL = { ...RANDOM_PROBLEMS, ...MORE_RANDOM_PROBLEMS, ...MOVED_RANDOM_PROBLEMS };
/** As in the tests of random shapes. */
const NEAR = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };
/** Sums are kept in float32, and each result rounds once; prologues and intermediate results round as well. */
const NEAR_HALF = { ulps: 4, ulpsOfLargest: 4, absolute: 1e-3 };
/** Draws for an op, after which a variant that nothing fitted is left. */
const DRAWS = 80;
/** Problems for each variant under each kind of adapter, and for each kind of work with candidates. */
const PROBLEMS = { variants: 2, candidates: 6 };

/** The results of an item's plans. */
interface Outcome {
  plans: number;
  /** Plans whose results only float32 on the host agrees with, as of ops that jump. */
  notFloat64: number;
  readonly wrong: string[];
  readonly seconds: Record<string, number>;
}

function newOutcome(): Outcome {
  return { plans: 0, notFloat64: 0, wrong: [], seconds: {} };
}

/** Computes on the host in another dtype, or returns null if that is impossible. */
async function onHost(
  def: OpDef,
  inputs: readonly NdArray[],
  attrs: Attrs,
  dtype?: "float64" | "float32",
): Promise<NdArray[] | null> {
  const given = inputs.map((a) => (dtype && epsilonOf(a.dtype) > 0 ? castArray(a, dtype) : a));
  try {
    return await runEagerly(def, given, attrs, cpuDevice());
  } catch (error) {
    if (dtype === undefined) throw error;
    return null;
  }
}

/** A problem with what its results should be. */
interface Posed {
  readonly def: OpDef;
  readonly inputs: readonly NdArray[];
  readonly attrs: Attrs;
  readonly problem: Problem;
  readonly near: { ulps: number; ulpsOfLargest: number; absolute: number };
  readonly wanted: readonly (readonly NdArray[])[];
}

/** The inputs with float16 in place of float32. */
function halved({ inputs }: RandomProblem): NdArray[] {
  return inputs.map((a) => (a.dtype === "float32" ? castArray(a, "float16") : a));
}

/** True where an op supports the same problem in float16. */
function takesHalf(def: OpDef, drawn: RandomProblem): boolean {
  if (!drawn.inputs.some(({ dtype }) => dtype === "float32")) return false;
  try {
    problemOf(def, halved(drawn), drawn.attrs ?? {});
    return true;
  } catch {
    return false;
  }
}

async function pose(def: OpDef, drawn: RandomProblem, half = false): Promise<Posed | null> {
  const attrs = drawn.attrs ?? {};
  const inputs = half ? halved(drawn) : drawn.inputs;
  const problem = problemOf(def, inputs, attrs);
  if (!isStatic(problem)) return null;
  const wide = await onHost(def, inputs, attrs, "float64");
  const own = await onHost(def, inputs, attrs, half ? "float32" : undefined);
  const near = half
    ? { ...NEAR_HALF }
    : { ...NEAR, absolute: Math.max(NEAR.absolute, drawn.absolute ?? 0) };
  return { def, inputs, attrs, problem, near, wanted: [wide, own].filter((w) => w !== null) };
}

/** Runs a plan and notes what is wrong. */
async function judge(posed: Posed, forced: ForcedPlan, outcome: Outcome): Promise<void> {
  const { inputs, attrs, problem, near, wanted } = posed;
  outcome.plans++;
  const of = `${forced.variant} (${forced.profile}) of ${
    inputs.map((a) => `${a.dtype}[${a.shape}]`).join(" ")
  } ${JSON.stringify(attrs).slice(0, 200)}`;
  const started = performance.now();
  try {
    const outputs = await runPlan(gpuDevice(), forced, inputs, problem);
    const verdicts = wanted.map((arrays) =>
      outputs.flatMap((output, k) => difference(output, arrays[k]!, output.dtype, near) ?? [])
    );
    const right = verdicts.findIndex((verdict) => verdict.length === 0);
    if (right < 0) outcome.wrong.push(`${of}: ${verdicts[0]!.join("; ")}`);
    else if (right > 0) outcome.notFloat64++;
  } catch (error) {
    outcome.wrong.push(`${of}: ${String(error).split("\n")[0]}`);
  }
  const seconds = (performance.now() - started) / 1000;
  outcome.seconds[forced.variant] = Number(
    ((outcome.seconds[forced.variant] ?? 0) + seconds).toFixed(3),
  );
}

/** All variants of an op under a kind of adapter, each on a few problems that it fits. */
async function checkVariants(
  name: string,
  { family, half, record }: { family: string; half: boolean; record: Recorder },
): Promise<unknown> {
  const def = opOfCase(name), { profile } = gpuDevice();
  await gpuKernels.load([def.meaning]);
  const variants = gpuVariants(def);
  if (variants.length === 0) throw new Error(`Cannot check ${name}: it has no kernel`);
  const counts = new Map(variants.map((v) => [v.name, 0]));
  const outcome = newOutcome();
  for (let seed = 0; seed < DRAWS && !record.isLate; seed++) {
    const wanting = variants.filter((v) => counts.get(v.name)! < PROBLEMS.variants);
    if (wanting.length === 0 || outcome.wrong.length >= 4) break;
    const drawn = ALL[name]!(new Draw(seed));
    if (half && !takesHalf(def, drawn)) continue;
    // What a variant has for this problem is asked for before anything is computed.
    const plans = plansOf(def, drawn, { profile, wanting, family, half });
    if (plans.length === 0) continue;
    const posed = await pose(def, drawn, half);
    if (posed === null) continue;
    for (const variant of new Set(plans.map((p) => p.variant))) {
      counts.set(variant, counts.get(variant)! + 1);
    }
    for (const plan of plans) await judge(posed, plan, outcome);
  }
  const never = [...counts].flatMap(([variant, count]) => (count === 0 ? [variant] : []));
  return { ...outcome, never };
}

function plansOf(
  def: OpDef,
  drawn: RandomProblem,
  { profile, wanting, family, half }: {
    profile: Profile;
    wanting: ReturnType<typeof gpuVariants>;
    family: string;
    half: boolean;
  },
): ForcedPlan[] {
  const inputs = half ? halved(drawn) : drawn.inputs;
  const problem = problemOf(def, inputs, drawn.attrs ?? {});
  if (!isStatic(problem)) return [];
  return forcedPlans(wanting, problem, profile)
    .filter((plan) => plan.profile.split(",")[0] === family);
}

/** Every candidate for a kind of work, under a kind of adapter. */
async function checkCandidates(
  { kinds, ops }: typeof CANDIDATE_WORK[number],
  { own, half, most, record }: {
    own: Profile;
    half: boolean;
    most: number;
    record: Recorder;
  },
): Promise<unknown> {
  const outcome = newOutcome();
  let problems = 0;
  for (let seed = 0; seed < 200 && problems < most && !record.isLate; seed++) {
    const name = ops[seed % ops.length]!, def = opOfCase(name);
    const posed = await pose(def, ALL[name]!(new Draw(seed)), half);
    if (posed === null) continue;
    const { inputs, problem } = posed;
    if (half && !inputs.some(({ dtype }) => dtype === "float16")) continue;
    const candidates = candidatesOf(def, problem, { own, kinds });
    if (candidates.length === 0) continue;
    problems++;
    for (const candidate of candidates) await judge(posed, candidate, outcome);
  }
  return { ...outcome, problems };
}

/** Checks what this adapter would choose first, then the rest. */
export async function checkPart(record: Recorder, { small }: Setting): Promise<void> {
  await hasGpu();
  const { profile } = gpuDevice();
  const profiles = [...profilesOf(profile)];
  // Kernels of hardware first: these are what a GPU's users run.
  profiles.sort(([, a], [, b]) => Number(b.barriers) - Number(a.barriers));
  const names = small ? ["Sum", "MatMul", "Conv2D", "_GroupedColumnSum"] : Object.keys(ALL);
  const most = small ? 1 : PROBLEMS.candidates;
  for (const half of [false, true]) {
    const dtype = half ? "float16" : "float32";
    for (const work of small ? CANDIDATE_WORK.slice(0, 1) : CANDIDATE_WORK) {
      await record.attempt(
        `${dtype} candidates for ${work.kinds}`,
        () => checkCandidates(work, { own: { ...profile, barriers: true }, half, most, record }),
      );
    }
    for (const [family] of profiles.filter(([, p]) => p.barriers)) {
      for (const name of names) {
        // What is fused to an op says its dtypes, which are float32.
        if (half && /^_(Fused|Grouped)| with /.test(name)) continue;
        await record.attempt(
          `${dtype} ${family}: ${name}`,
          () => checkVariants(name, { family, half, record }),
        );
      }
    }
  }
  for (const [family] of profiles.filter(([, p]) => !p.barriers)) {
    for (const name of names) {
      await record.attempt(
        `float32 ${family}: ${name}`,
        () => checkVariants(name, { family, half: false, record }),
      );
    }
  }
}
