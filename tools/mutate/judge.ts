/**
 * Shows a mutant to the tests that execute it and says whether one of them notices.
 *
 * @module
 */

import type { KnownTest } from "./coverage.ts";
import type { Mutant } from "./mutants.ts";
import type { TestDevice, Workspace } from "./workspace.ts";

/** The result of a mutant. */
export interface Verdict {
  readonly mutant: Mutant;
  /**
   * `hung` counts as killed; `unreached` (no test executes it) and `unclear` (the source itself is too slow just now) as
   * survived.
   */
  readonly status: "killed" | "hung" | "survived" | "unreached" | "unclear";
  /** The test that noticed. */
  readonly by: string | null;
  /** Number of tests that ran on it. */
  readonly tests: number;
  readonly ms: number;
}

/** Options of {@linkcode judge}. */
export interface JudgeOptions {
  readonly workspace: Pick<Workspace, "write" | "test">;
  /** The mutant's file as it is. */
  readonly source: string;
  /** The tests that execute the mutant, fastest first. */
  readonly tests: readonly KnownTest[];
  /** Time budget for tests on each device, in milliseconds. */
  readonly budgetMs: number;
}

/** Tests up to this are tried before longer ones: most mutants are noticed by one that takes a moment. */
const QUICK_MS = 100;

/** Which part of the budget is for the tests that are most about the mutant's file. */
const FIRST = 1 / 10;

/** Where all tests take long, so many are tried whatever they take. */
const LEAST_TESTS = 3;

/** Starting a file's tests costs about that, so a file with few of them comes no earlier for it. */
const FILE_MS = 200;

/** A mutant may be slower than the source by so much, and the machine busier, before it counts as hung. */
const SLOWER = 8, LEAST_IDLE_MS = 10_000;

/** Files may be loaded for so long. */
const LOADING_MS = 60_000;

/** A hang counts where the unchanged source takes less than this part of the limit right after it. */
const SURELY = 1 / 3;

/** Runs tests on a mutant: the CPU's first, WebGPU's where those notice nothing. */
export async function judge(
  mutant: Mutant,
  { workspace, source, tests, budgetMs }: JudgeOptions,
): Promise<Verdict> {
  const start = performance.now();
  let shown = 0;
  const verdict = (status: Verdict["status"], by: string | null): Verdict => {
    return { mutant, status, by, tests: shown, ms: Math.round(performance.now() - start) };
  };
  const noticed = async (
    tests: readonly KnownTest[],
    device: TestDevice,
  ): Promise<Verdict | null> => {
    workspace.write(mutant.file, applyMutant(source, mutant));
    const { passed, hung, failed } = await show(workspace, tests, device, 1);
    workspace.write(mutant.file, source);
    if (passed) return null;
    if (hung) {
      const plain = await show(workspace, tests, device, SURELY);
      return verdict(plain.hung ? "unclear" : "hung", failed);
    }
    const failing = tests.filter(({ name }) => name === failed);
    if (failing.length === 0 || (await show(workspace, failing, device, 1)).passed) {
      return verdict("killed", failed);
    }
    // What fails without the mutant too says nothing about it.
    const others = tests.filter(({ name }) => name !== failed);
    return others.length === 0 ? null : noticed(others, device);
  };
  for (const device of ["cpu", "webgpu"] as const) {
    for (const round of rounds(tests, device, budgetMs)) {
      shown += round.length;
      const found = await noticed(round, device);
      if (found) return found;
    }
  }
  return verdict(tests.length === 0 ? "unreached" : "survived", null);
}

/** The source with the mutant in it. */
export function applyMutant(source: string, { start, end, mutated }: Mutant): string {
  return source.slice(0, start) + mutated + source.slice(end);
}

/** The tests that are most about the mutant's file, then quick ones, quickest first, then others that fit the budget. */
function rounds(tests: readonly KnownTest[], device: TestDevice, budgetMs: number): KnownTest[][] {
  const files = new Set<string>();
  let spent = 0, count = 0;
  const take = (tests: readonly KnownTest[], limit: number, least = 0): KnownTest[] =>
    tests.filter(({ ms, file }) => {
      const cost = ms + (files.has(file) ? 0 : FILE_MS);
      if (spent + cost > limit && count >= least) return false;
      spent += cost;
      count++;
      files.add(file);
      return true;
    });
  const here = tests.filter((test) => test.device === device);
  const special = here.toSorted((a, b) => b.share - a.share);
  const first = take(special, budgetMs * FIRST);
  const quick = take(
    here.filter((test) => test.ms <= QUICK_MS && !first.includes(test)),
    budgetMs / 2,
  );
  const taken = new Set([...first, ...quick]);
  const others = take(special.filter((test) => !taken.has(test)), budgetMs, LEAST_TESTS);
  return [first, quick, others].filter((round) => round.length > 0);
}

function show(
  workspace: JudgeOptions["workspace"],
  tests: readonly KnownTest[],
  device: TestDevice,
  patience: number,
) {
  const files = Map.groupBy(tests, (test) => test.file);
  const cost = (file: string) => files.get(file)!.reduce((sum, { ms }) => sum + ms, 0);
  const ordered = [...files.keys()].sort((a, b) => cost(a) - cost(b));
  const names = ordered.map((file) => [file, files.get(file)!.map(({ name }) => name)]);
  const usual = new Map(tests.map(({ name, ms }) => [name, ms]));
  return workspace.test(ordered, {
    device,
    request: { tests: Object.fromEntries(names), record: null },
    idleMs: (name) =>
      patience * (name === null ? LOADING_MS : LEAST_IDLE_MS + SLOWER * (usual.get(name) ?? 0)),
  });
}
