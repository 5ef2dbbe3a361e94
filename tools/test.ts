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

import { chooseSwiftShader, describeAdapter, findOrInstallAdapter } from "./adapter.ts";
import { runTask } from "./dev/help.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists, list } from "./files.ts";
import { chooseImports } from "./jsr.ts";
import { testsOfDay } from "./structure/test_days.ts";
import { writeTestGroups } from "./structure/test_groups.ts";
import { type SkippedTest, TestOutput } from "./test_output.ts";

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
}

async function main(given: string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const built = await Deno.makeTempDir({ prefix: "weft-built-" });
  let code = 0;
  for (const run of runsOf(given)) code = await runTests(run, built) || code;
  await Deno.remove(built, { recursive: true });
  return code;
}

/** The runs that the arguments ask for. */
function runsOf(given: readonly string[]): Run[] {
  const args = given.filter((arg) => !OWN_FLAGS.includes(arg));
  const tests = namesFiles(args) ? null : list("tests", "_test.ts");
  const run: Run = {
    args,
    tests,
    isThorough: given.includes("--thorough"),
    isSerial: given.includes("--serial"),
    onSwiftShader: given.includes("--swiftshader"),
    day: tests === null ? null : today(),
  };
  if (!given.includes("--day")) return [run];
  if (run.day === null) throw new Error("--day runs the files of the day: name no files");
  const day = testsOfDay(run.day);
  // SwiftShader comes last: a process keeps the adapter that it once chose.
  return [
    { ...run, tests: day.usual, args: [...args, `--filter=${day.filter}`] },
    { ...run, tests: day.thorough, isThorough: true },
    { ...run, tests: day.swiftshader, onSwiftShader: true },
  ];
}

/** Returns the number of the day: that of `WEFT_TEST_DAY`, so that a day's run can be had again, or of the clock. */
function today(): number {
  const day = Deno.env.get("WEFT_TEST_DAY") ?? String(Math.floor(Date.now() / DAY_MS));
  if (!/^\d+$/.test(day)) {
    throw new Error(`Cannot use WEFT_TEST_DAY "${day}": wanted a number of days`);
  }
  return Number(day);
}

/** Runs tests; what several of them build stands in the folder `built`. */
async function runTests(
  { args, tests, isThorough, isSerial, onSwiftShader, day }: Run,
  built: string,
): Promise<number> {
  if (onSwiftShader) chooseSwiftShader();
  // Each asks a process of its own.
  const [adapter, imports] = await Promise.all([
    findOrInstallAdapter(console.log),
    chooseImports(),
  ]);
  console.log(`WebGPU: ${adapter ? describeAdapter(adapter) : "no adapter"}`);
  console.log(`Imports: ${imports.description}`);
  if (day !== null) console.log(`Turns: those of WEFT_TEST_DAY=${day}`);

  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...TEST_FLAGS,
      ...isSerial ? [] : ["--parallel"],
      ...imports.args,
      ...args,
      ...tests === null ? [] : await writeTestGroups(tests, built, isThorough ? 2 : undefined),
    ],
    env: {
      WEFT_TEST_BUILT: built,
      WEFT_TEST_WEBGPU: adapter ? "1" : "0",
      ...(isThorough ? { WEFT_TEST_EFFORT: "thorough" } : {}),
      ...(day === null ? {} : { WEFT_TEST_DAY: String(day) }),
      DENO_JOBS: Deno.env.get("DENO_JOBS") ??
        String(Math.min(MOST_JOBS, navigator.hardwareConcurrency + MORE_JOBS)),
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
  await output.tee(child.stdout, Deno.stdout);
  const { code, signal } = await child.status;

  reportSkipped(output.skipped, adapter !== null);
  const counts = output.counts ?? { passed: 0, failed: 0, skipped: 0 };
  if (code !== 0 && counts.failed === 0) {
    const end = signal === null ? `with status ${code}` : `by ${signal}`;
    console.log(`The test process ended ${end} although no test failed: counted as one failure`);
    counts.failed = 1;
  }
  const isMissing = adapter === null && Deno.env.get("WEFT_REQUIRE_WEBGPU") === "1";
  if (isMissing) console.log("WEFT_REQUIRE_WEBGPU is set and there is no WebGPU adapter");
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
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
function reportSkipped(skipped: readonly SkippedTest[], hasAdapter: boolean): void {
  const webgpu = skipped.filter(({ name }) => name.endsWith(WEBGPU_MARK));
  const other = skipped.filter(({ name }) => !name.endsWith(WEBGPU_MARK));
  const reason = hasAdapter ? "not possible on this adapter" : "no WebGPU adapter";
  for (const [title, tests] of [[reason, webgpu], ["other reasons", other]] as const) {
    if (tests.length === 0) continue;
    console.log(`Skipped (${title}): ${tests.length}`);
    for (const { file, name } of tests) console.log(`  ${file}: ${name}`);
  }
}

if (import.meta.main) await runTask(import.meta.url, main);
