/**
 * `deno task mutate`: changes the sources a little and looks whether a test notices.
 *
 * It takes a sample of all mutants, which `--seed` decides, runs for each the tests that execute its place, those that are most
 * about its file and then the fastest first, in a copy of the tree, and lists those that none noticed. What tests execute is
 * learnt once and kept under .cache/ until a test file changes; a test stands for all of a source that has changed since.
 *
 *     deno task mutate                        60 mutants of seed 1
 *     deno task mutate --count=250 --seed=7
 *     deno task mutate --skip=60              the next 60
 *     deno task mutate --since=main           those on lines that differ from a commit first
 *     deno task mutate --files=src/library/data       of some files or folders
 *     deno task mutate --device=cpu           no tests that need WebGPU; "webgpu" no others
 *     deno task mutate --budget=60            seconds of tests for one mutant on one device, 20 if not said
 *     deno task mutate --json=out/mutants.json --minutes=9   ends after so long; the file holds what is known
 *     deno task mutate --json=out/mutants.json --again       goes on: those not tried yet, then those that survived
 *     deno task mutate --jobs=1               mutants at a time, 2 if not said
 *     deno task mutate --near=tests/passes --files=src/engine/graph/passes
 *                                             on these tests alone, which takes seconds for many mutants: tools/mutate/near.ts
 *     deno task mutate --near=tests/devices/cpu --apart --learnt=out/tests.json --files=src/engine/devices/cpu
 *                                             each in a process of its own; the file keeps which tests reach which mutants
 *
 * Mutants that only cost time, or change nothing, are listed with the reason in tools/mutate/equivalent.json and not tried.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { runTask } from "./dev/help.ts";
import { enterRoot, exists, list, read } from "./files.ts";
import { Coverage } from "./mutate/coverage.ts";
import { judge, type Verdict } from "./mutate/judge.ts";
import { findMutants, keyOf, type Mutant, type MutantKey } from "./mutate/mutants.ts";
import { judgeNear } from "./mutate/near.ts";
import { changedLines, order } from "./mutate/sample.ts";
import { type TestDevice, Workspace } from "./mutate/workspace.ts";

/** The folders whose files are changed. Kernels and the GPU are held to oracles instead: an ulp is no mutant. */
const FOLDERS = [
  ...["core", "graph", "devices/cpu", "runtime", "script", "autodiff", "ops"].map((room) =>
    `engine/${room}`
  ),
  ...["data", "io", "train"].map((room) => `library/${room}`),
];

const DEVICES: readonly TestDevice[] = ["cpu", "webgpu"];

const EQUIVALENT = "tools/mutate/equivalent.json";

/** A mutant that no test can notice. */
type Equivalent = MutantKey & { readonly reason: string };

async function main(args: string[]): Promise<number> {
  enterRoot();
  const { values } = parseArgs({
    args,
    options: {
      count: { type: "string", default: "60" },
      seed: { type: "string", default: "1" },
      skip: { type: "string", default: "0" },
      again: { type: "boolean", default: false },
      minutes: { type: "string", default: "Infinity" },
      jobs: { type: "string", default: "2" },
      since: { type: "string" },
      files: { type: "string", multiple: true },
      device: { type: "string", default: "all" },
      budget: { type: "string", default: "20" },
      json: { type: "string" },
      list: { type: "boolean", default: false },
      near: { type: "string", multiple: true },
      apart: { type: "boolean", default: false },
      learnt: { type: "string" },
    },
  });
  const count = Number(values.count), skip = Number(values.skip), seed = Number(values.seed);
  const budgetMs = Number(values.budget) * 1e3, jobs = Number(values.jobs);
  const devices = DEVICES.filter((device) => values.device === "all" || values.device === device);
  const sources = new Map(
    FOLDERS.flatMap((folder) => list(`src/${folder}`, ".ts")).map((file) => [file, read(file)]),
  );
  const isChosen = (file: string) => values.files?.some((path) => file.startsWith(path)) ?? true;
  const isKnown = equivalents();
  const mutants = [...sources].filter(([file]) => isChosen(file))
    .flatMap(([file, text]) => findMutants(file, text)).filter((mutant) => !isKnown(mutant));
  const ordered = order(mutants, seed, await changedLines(values.since));
  const sample = ordered.slice(skip, skip + count);
  console.log(`${sample.length} of ${mutants.length} mutants, seed ${seed}`);
  if (values.list) {
    for (const mutant of sample) console.log(describe(mutant));
    return 0;
  }

  if (values.near !== undefined) {
    const start = performance.now(), known = new Map<Mutant, Verdict>();
    if (values.again && values.json !== undefined) remember(values.json, sample, known);
    const found = [...known.values()].filter((verdict) => !isSurvivor(verdict));
    const left = sample.filter((mutant) => !found.some((verdict) => verdict.mutant === mutant));
    const files = values.near.flatMap((path) =>
      path.endsWith(".ts") ? [path] : list(path, "_test.ts")
    );
    if (files.length === 0) throw new Error(`There are no tests in ${values.near.join(", ")}`);
    await judgeNear(left, {
      files,
      budgetMs,
      isOnGpu: values.device !== "cpu",
      isApart: values.apart,
      jobs,
      learnt: values.learnt ?? null,
      say: console.log,
      verdict: (verdict) => {
        found.push(verdict);
        console.log(describeVerdict(verdict));
        if (values.json !== undefined) write(values.json, found);
      },
    });
    report(found, (performance.now() - start) / 1e3);
    return 0;
  }
  // The copy is what is judged, so that the tree may be worked on meanwhile.
  using stack = new DisposableStack();
  const workspaces: Workspace[] = [];
  for (let i = 0; i < jobs; i++) workspaces.push(stack.use(await Workspace.create("plain")));
  const coverage = new Coverage(sources);
  for (const device of devices) await coverage.learn(device, console.log);
  const verdicts = new Map<Mutant, Verdict>();
  if (values.again && values.json !== undefined) remember(values.json, sample, verdicts);
  const start = performance.now();
  const waiting = sample.filter((mutant) => !verdicts.has(mutant))
    .concat(sample.filter((mutant) => isSurvivor(verdicts.get(mutant)))).values();
  await Promise.all(workspaces.map(async (workspace) => {
    for (const mutant of waiting) {
      if (performance.now() - start > Number(values.minutes) * 60e3) break;
      const source = sources.get(mutant.file)!, tests = coverage.testsOf(mutant);
      const verdict = await judge(mutant, { workspace, source, tests, budgetMs });
      verdicts.set(mutant, verdict);
      console.log(describeVerdict(verdict));
      if (values.json !== undefined) write(values.json, [...verdicts.values()]);
    }
  }));
  report([...verdicts.values()], (performance.now() - start) / 1e3);
  return 0;
}

function equivalents(): (mutant: Mutant) => boolean {
  const known: readonly Equivalent[] = exists(EQUIVALENT) ? JSON.parse(read(EQUIVALENT)) : [];
  const keys = new Set(known.map(keyOf));
  return (mutant) => keys.has(keyOf(mutant));
}

/** Takes over what an earlier run wrote. */
function remember(path: string, sample: readonly Mutant[], to: Map<Mutant, Verdict>): void {
  const earlier: (Mutant & Omit<Verdict, "mutant">)[] = exists(path) ? JSON.parse(read(path)) : [];
  const known = new Map(earlier.map((verdict) => [keyOf(verdict), verdict]));
  for (const mutant of sample) {
    const verdict = known.get(keyOf(mutant));
    if (!verdict) continue;
    const { status, by, tests, ms } = verdict;
    to.set(mutant, { mutant, status, by, tests, ms });
  }
}

function isSurvivor(verdict: Verdict | undefined): boolean {
  return verdict !== undefined && verdict.status !== "killed" && verdict.status !== "hung";
}

function describe({ file, line, original, mutated }: Mutant): string {
  const short = (text: string) => text.replace(/\s+/g, " ").slice(0, 80);
  return `${file}:${line}: ${short(original)} -> ${short(mutated) || "(nothing)"}`;
}

function describeVerdict({ mutant, status, by, tests, ms }: Verdict): string {
  const seconds = (ms / 1e3).toFixed(1);
  return `${status} ${describe(mutant)}  [${seconds} s, ${tests} tests${by ? `: ${by}` : ""}]`;
}

function write(path: string, verdicts: readonly Verdict[]): void {
  const results = verdicts.map(({ mutant, ...rest }) => ({ ...mutant, ...rest }));
  Deno.writeTextFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
}

/** The remark on a survivor. */
const WHY: Partial<Record<Verdict["status"], string>> = {
  unreached: " (no test executes it)",
  unclear: " (too slow without it too)",
};

function report(verdicts: readonly Verdict[], seconds: number): void {
  const survived = verdicts.filter(isSurvivor);
  console.log(`\nSurvived: ${survived.length}`);
  for (const { mutant, status } of survived) {
    console.log(`  ${describe(mutant)}${WHY[status] ?? ""}`);
    console.log(`      ${mutant.text}`);
  }
  const killed = verdicts.length - survived.length;
  const rate = (100 * killed / Math.max(1, verdicts.length)).toFixed(1);
  for (const [folder, all] of Map.groupBy(verdicts, ({ mutant }) => mutant.file.split("/")[1])) {
    console.log(
      `  ${folder}: ${all.filter((verdict) => !isSurvivor(verdict)).length} of ${all.length}`,
    );
  }
  console.log(
    `${killed} of ${verdicts.length} killed: ${rate} %, in ${(seconds / 60).toFixed(1)} minutes`,
  );
}

if (import.meta.main) await runTask(import.meta.url, main);
