/**
 * `deno task ok`: everything that a change must pass, cheapest first. It goes on after a failure,
 * so that one run tells all.
 *
 * `deno task ok lint check` runs those steps, `deno task ok --skip=test` all but that one, `--jobs=2` two at a time: most of them keep one
 * processor busy. What a step writes then comes when it ends.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { capture, run } from "./command.ts";
import { runTask } from "./dev/help.ts";
import { EXAMPLES, writeExamples } from "./doc_test.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, entryPoints, exists } from "./files.ts";
import { chooseImports, type ImportSource } from "./jsr.ts";

/** One thing to pass: the arguments for Deno. */
interface Step {
  readonly name: string;
  readonly args: readonly string[];
  /** True where another step or task has it too: it runs only when it is named. */
  readonly isPart?: boolean;
}

/** Folders that are type-checked beside the entry points, where they exist. */
const FOLDERS = ["src", "tests", "tools", "examples", "bench", EXAMPLES];

/** Tests of the sources themselves, and of what documents print. */
const ARCHITECTURE = "tests/architecture_test.ts";
const LIMITS = "tests/limits_test.ts";
const DOCUMENTS = "tests/documents/";

/** TensorFlow.js's own tests, which CI runs beside these steps. */
const CONFORMANCE = ["run", "-A", "tools/run.ts", "tests/tfjs/conformance/main.ts"];

function allSteps(imports: ImportSource): Step[] {
  const testing = ["test", "-A", "--no-check", ...imports.args];
  const everything = [...entryPoints(), ...FOLDERS.filter((folder) => exists(folder))];
  return [
    { name: "fmt", args: ["fmt", "--check"] },
    { name: "lint", args: ["lint"] },
    { name: "shaders", args: ["run", "-A", "tools/shaders.ts", "--check"] },
    { name: "check", args: ["check", ...imports.args, ...everything] },
    {
      // The types that browsers have, without Deno's.
      name: "browser-check",
      args: ["check", "--config", "tools/browser_check.json", ...entryPoints()],
    },
    { name: "doc-lint", args: ["run", "-A", "tools/reference/doc_lint.ts", ...imports.args] },
    { name: "architecture", args: [...testing, ARCHITECTURE] },
    { name: "limits", args: [...testing, LIMITS] },
    { name: "docs", args: [...testing, DOCUMENTS], isPart: true },
    { name: "conformance", args: [...CONFORMANCE], isPart: true },
    {
      name: "backend",
      args: [...CONFORMANCE, "--subject", "backend", "--device", "cpu"],
      isPart: true,
    },
    { name: "test", args: ["run", "-A", "tools/test.ts"] },
    { name: "doc-test", args: ["run", "-A", "tools/doc_test.ts"] },
    {
      name: "publish",
      args: ["run", "-A", "tools/run.ts", "--frozen", "tools/build.ts", "--check"],
    },
  ];
}

/** The command line. */
interface Chosen {
  readonly steps: readonly Step[];
  /** Steps that run at a time. */
  readonly jobs: number;
}

/** The steps that the command line asks for, or null when it names one that is not there. */
function chosenSteps(steps: readonly Step[], args: string[]): Chosen | null {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      skip: { type: "string", multiple: true, default: [] },
      jobs: { type: "string", default: "1" },
    },
  });
  const unknown = [...positionals, ...values.skip].filter((name) =>
    !steps.some((step) => step.name === name)
  );
  if (unknown.length > 0) {
    console.error(`Cannot find the step "${unknown[0]}": there are ${steps.map((s) => s.name)}`);
    return null;
  }
  const jobs = Number(values.jobs);
  if (!(jobs >= 1)) {
    console.error(`Cannot run "${values.jobs}" steps at a time: wanted a number above 0`);
    return null;
  }
  const chosen = steps.filter(({ name, isPart = false }) =>
    !values.skip.includes(name) && (positionals.length === 0 ? !isPart : positionals.includes(name))
  );
  return { steps: chosen, jobs: Math.floor(jobs) };
}

/** Runs a step; true where it passes. */
async function passes({ name, args }: Step, isAlone: boolean): Promise<boolean> {
  const title = `\n== ${name}: deno ${args.join(" ")}`;
  if (isAlone) {
    console.log(title);
    return (await run(Deno.execPath(), args)).code === 0;
  }
  const { code, stdout, stderr } = await capture(Deno.execPath(), args);
  console.log(`${title}\n${stdout}${stderr}`);
  return code === 0;
}

async function main(args: string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  await writeExamples();
  const imports = await chooseImports();
  const chosen = chosenSteps(allSteps(imports), args);
  if (chosen === null) return 2;

  const { steps, jobs } = chosen, results: string[] = [], waiting = steps.entries();
  let failures = 0;
  const work = async (): Promise<void> => {
    for (const [i, step] of waiting) {
      const start = performance.now(), isPassed = await passes(step, jobs === 1);
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      results[i] = `${isPassed ? "ok    " : "FAILED"} ${step.name} (${seconds} s)`;
      if (!isPassed) failures++;
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  console.log(`\n${results.join("\n")}`);
  return failures === 0 ? 0 : 1;
}

if (import.meta.main) await runTask(import.meta.url, main);
