/**
 * `deno task test`: runs the tests on every device this machine has, some files of them at a time.
 *
 * `--thorough` tries all that tests can try (see tests/effort.ts), `--serial` runs one file after the
 * other, `--swiftshader` takes the adapter that comes with Chromium, `--day` runs what CI runs on this day (structure/test_days.ts);
 * other arguments go to `deno test` (files, `--filter`…). It needs nothing but Deno: where
 * JSR cannot be reached the assertions come from tests/npm_only, where there is no WebGPU adapter a
 * software one is installed if the system lets us, and what then still cannot run is listed.
 *
 * Where no files are named, those of a folder run in groups (structure/test_groups.ts), and parts of the slowest lists take turns by
 * days (tests/effort.ts): `WEFT_TEST_DAY` chooses another day. What several files build stands in
 * one folder, `WEFT_TEST_BUILT` (see tests/built.ts).
 * Tests see `WEFT_TEST_WEBGPU=1` or `0` and name the half that needs an adapter "… [webgpu]".
 * `WEFT_REQUIRE_WEBGPU=1` makes it an error that there is no adapter.
 *
 * @module
 */

import { describeAdapter, findOrInstallAdapter, swiftShader } from "./adapter.ts";
import { capture } from "./command.ts";
import { runTask } from "./dev/help.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists, list } from "./files.ts";
import { chooseImports } from "./jsr.ts";
import { testsOfDay } from "./structure/test_days.ts";
import { writeTestGroups } from "./structure/test_groups.ts";
import { type Sink, type SkippedTest, TestOutput, writeAll } from "./test_output.ts";

/** Marks the tests that need a WebGPU adapter, at the end of their names. */
const WEBGPU_MARK = "[webgpu]";

/** Flags of this task, which `deno test` does not get. */
const OWN_FLAGS = ["--thorough", "--serial", "--swiftshader", "--day"];

// Types are checked by `deno task ok`; here they would cost more than the tests.
// Room for short-lived objects, of which tests have more than programs, saves a tenth of the time.
const TEST_FLAGS = ["test", "--allow-all", "--no-check", "--v8-flags=--min-semi-space-size=64"];

/** Files that run at a time, where there are so many processors: each has WebGPU devices and threads of its own. */
const MOST_JOBS = 4;

/** Files that run at a time beyond the number of processors: tests wait for pages, processes and readbacks, a fifth of the time. */
const MORE_JOBS = 1;

const DAY_MS = 86_400_000;

/** A run of `deno test`. */
interface Run {
  /** Arguments behind those that every run has. */
  readonly args: readonly string[];
  /** Files of tests that are grouped, null where the arguments name the files. */
  readonly tests: readonly string[] | null;
  readonly isThorough: boolean;
  readonly isSerial: boolean;
  readonly onSwiftShader: boolean;
  /** Number of the day by which tests take turns, null where the arguments name the files: these run whole. */
  readonly day: number | null;
  /** Files that run at a time. */
  readonly jobs: number;
}

/** The folder that a run builds in, and its outputs. */
interface Surroundings {
  /** The folder of what several tests build. */
  readonly built: string;
  /** Receives what the tests print. */
  readonly sink: Sink;
  /** Receives a line about the run. */
  readonly say: (line: string) => void;
}

async function main(given: string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const built = await Deno.makeTempDir({ prefix: "weft-built-" });
  let code = 0;
  for (const [first, ...others] of await runsOf(given)) {
    const ended = await Promise.allSettled([
      runTests(first, { built, sink: Deno.stdout, say: console.log }),
      ...others.map((run) => runAside(run, built)),
    ]);
    for (const run of ended) {
      if (run.status === "rejected") throw run.reason;
      code = run.value || code;
    }
  }
  await Deno.remove(built, { recursive: true });
  return code;
}

/** Runs tests beside others: what they print comes when they end. */
async function runAside(run: Run, built: string): Promise<number> {
  const printed: Uint8Array[] = [], encoder = new TextEncoder();
  try {
    return await runTests(run, {
      built,
      sink: { write: (bytes) => Promise.resolve(printed.push(bytes.slice()) && bytes.length) },
      say: (line) => void printed.push(encoder.encode(`${line}\n`)),
    });
  } finally {
    for (const bytes of printed) await writeAll(Deno.stdout, bytes);
  }
}

/** The runs that the arguments ask for, those of one list beside each other. */
async function runsOf(given: readonly string[]): Promise<Run[][]> {
  const args = given.filter((arg) => !OWN_FLAGS.includes(arg));
  const tests = namesFiles(args) ? null : list("tests", "_test.ts");
  const run: Run = {
    args,
    tests,
    isThorough: given.includes("--thorough"),
    isSerial: given.includes("--serial"),
    onSwiftShader: given.includes("--swiftshader"),
    day: tests === null ? null : await dayOfRun(),
    jobs: Number(Deno.env.get("DENO_JOBS")) ||
      Math.min(MOST_JOBS, navigator.hardwareConcurrency + MORE_JOBS),
  };
  if (!given.includes("--day")) return [[run]];
  if (run.day === null) throw new Error("--day runs the files of the day: name no files");
  const day = testsOfDay(run.day), fewer = Math.max(1, run.jobs >> 1);
  // The two shorter runs end with a file that takes long: beside each other they leave no processor idle.
  return [
    [{ ...run, tests: day.usual, args: [...args, `--filter=${day.filter}`] }],
    [
      { ...run, tests: day.thorough, isThorough: true, jobs: Math.max(1, run.jobs - fewer) },
      { ...run, tests: day.swiftshader, onSwiftShader: true, jobs: fewer },
    ],
  ];
}

/** Returns the number of the day: that of `WEFT_TEST_DAY`, else of the last commit, whose runs thus all try the same, else of the clock. */
async function dayOfRun(): Promise<number> {
  const day = Deno.env.get("WEFT_TEST_DAY");
  if (day === undefined) {
    const { code, stdout } = await capture("git", ["log", "-1", "--format=%ct"]);
    return Math.floor((code === 0 && Number(stdout) * 1000 || Date.now()) / DAY_MS);
  }
  if (!/^\d+$/.test(day)) {
    throw new Error(`Cannot use WEFT_TEST_DAY "${day}": wanted a number of days`);
  }
  return Number(day);
}

/** Runs tests. */
async function runTests(
  { args, tests, isThorough, isSerial, onSwiftShader, day, jobs }: Run,
  { built, sink, say }: Surroundings,
): Promise<number> {
  const driver = onSwiftShader ? swiftShader() : {};
  // Each asks a process of its own.
  const [adapter, imports] = await Promise.all([
    findOrInstallAdapter(say, driver),
    chooseImports(),
  ]);
  say(`WebGPU: ${adapter ? describeAdapter(adapter) : "no adapter"}`);
  say(`Imports: ${imports.description}`);
  if (day !== null) say(`Turns: those of WEFT_TEST_DAY=${day}`);

  // Runs beside each other have groups of the same names.
  const folder = await Deno.makeTempDir({ dir: built, prefix: "groups-" });
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...TEST_FLAGS,
      ...isSerial ? [] : ["--parallel"],
      ...imports.args,
      ...args,
      ...tests === null ? [] : await writeTestGroups(tests, folder, isThorough ? 4 : undefined),
    ],
    env: {
      WEFT_TEST_BUILT: built,
      WEFT_TEST_WEBGPU: adapter ? "1" : "0",
      ...(isThorough ? { WEFT_TEST_EFFORT: "thorough" } : {}),
      ...(day === null ? {} : { WEFT_TEST_DAY: String(day) }),
      DENO_JOBS: String(jobs),
      ...driver,
      // Each pass over a graph is checked.
      WEFT_DEBUG: "verify",
      // Mesa's software adapter compiles kernels of tests for longer than they run: without LLVM's passes they take 30 % less.
      GALLIVM_PERF: Deno.env.get("GALLIVM_PERF") ?? "nopt",
      ...(Deno.stdout.isTerminal() && !Deno.noColor ? { FORCE_COLOR: "1" } : {}),
    },
    stdout: "piped",
  });
  const child = command.spawn();
  const output = new TestOutput();
  await output.tee(child.stdout, sink);
  const { code, signal } = await child.status;

  reportSkipped(output.skipped, { hasAdapter: adapter !== null, say });
  const counts = output.counts ?? { passed: 0, failed: 0, skipped: 0 };
  if (code !== 0 && counts.failed === 0) {
    const end = signal === null ? `with status ${code}` : `by ${signal}`;
    say(`The test process ended ${end} although no test failed: counted as one failure`);
    counts.failed = 1;
  }
  const isMissing = adapter === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") === "1";
  if (isMissing) say("WEFT_REQUIRE_WEBGPU is set and there is no WebGPU adapter");
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return code !== 0 ? code : isMissing ? 1 : 0;
}

/** True where the arguments name what is to run: files then run each by itself. */
function namesFiles(args: readonly string[]): boolean {
  const given = args[0] === "--" ? args.slice(1) : args;
  const isFile = (arg: string, i: number) =>
    !arg.startsWith("-") && given[i - 1] !== "--filter" && (exists(arg) || /\*|\.ts$/.test(arg));
  return given.some(isFile);
}

/** Lists the tests that did not run: first those that want an adapter, then the others. */
function reportSkipped(
  skipped: readonly SkippedTest[],
  { hasAdapter, say }: Pick<Surroundings, "say"> & { readonly hasAdapter: boolean },
): void {
  const webgpu = skipped.filter(({ name }) => name.endsWith(WEBGPU_MARK));
  const other = skipped.filter(({ name }) => !name.endsWith(WEBGPU_MARK));
  const reason = hasAdapter ? "not possible on this adapter" : "no WebGPU adapter";
  for (const [title, tests] of [[reason, webgpu], ["other reasons", other]] as const) {
    if (tests.length === 0) continue;
    say(`Skipped (${title}): ${tests.length}`);
    for (const { file, name } of tests) say(`  ${file}: ${name}`);
  }
}

if (import.meta.main) await runTask(import.meta.url, main);
