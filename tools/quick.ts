/**
 * `deno task quick`: what tells most about a change in seconds. Format, lint and types, the architecture, the samples of ops that
 * changed and the tests that are nearest to what changed. `deno task ok` and `deno task test` tell the rest.
 *
 * A change is what differs from the last commit or from the one that is named, `deno task quick main`; where nothing differs it is
 * the last commit itself. `--tests=20` runs more tests than the nearest eight files.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { opsDefined, shareSubject } from "./affected.ts";
import { capture, run } from "./command.ts";
import { runTask } from "./dev/help.ts";
import { enterRoot, entryPoints, exists, list, read } from "./files.ts";
import { nativeCheck } from "./native_check.ts";
import { nearestTests, sourceGraph } from "./dev/nearest.ts";

/** Tests of every op over its samples. */
const OP_CHECK = "tests/op_check_test.ts";

/** Tests of the sources themselves. */
const ARCHITECTURE = ["tests/architecture_test.ts", "tests/limits_test.ts"];

/** A step, and the function that runs it to an exit status. */
type Step = readonly [name: string, run: () => Promise<number>];

async function git(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await capture("git", args);
  if (code !== 0) throw new Error(`Cannot ask git ${args[0]}: ${stderr.trim()}`);
  return stdout.split("\n").filter((line) => line !== "");
}

/** Files that differ from a commit and are still there. */
async function changedSince(commit: string): Promise<string[]> {
  const [tracked, others] = await Promise.all([
    git("diff", "--name-only", commit),
    git("ls-files", "--others", "--exclude-standard"),
  ]);
  return [...tracked, ...others].filter((file) => exists(file, "isFile"));
}

const deno = async (...args: string[]): Promise<number> => (await run(Deno.execPath(), args)).code;

async function types(): Promise<number> {
  const checked = await nativeCheck();
  if (checked !== null) return checked.code;
  console.log("The native compiler cannot be had: deno check checks the library alone");
  return await deno("check", "--quiet", ...entryPoints());
}

/** Runs the tests nearest to what changed, and the samples of its ops. */
async function tests(changed: readonly string[], most: number): Promise<number> {
  const all = nearestTests(changed, await sourceGraph());
  const chosen = [...new Set([...ARCHITECTURE, ...all.slice(0, most)])];
  console.log(`Of ${all.length} files of tests that the change concerns the nearest:`);
  for (const file of chosen) console.log(`  ${file}`);
  const code = await deno("run", "-A", "tools/test.ts", ...chosen, "--quiet");
  const ops = list("src/engine/ops", ".ts").filter((file) =>
    changed.some((other) =>
      other === file || /^src\/(kernels|devices)\//.test(other) && shareSubject(file, other)
    )
  ).flatMap((file) => opsDefined(read(file)));
  if (ops.length === 0) return code;
  Deno.env.set("WEFT_OPS", ops.join(","));
  return Math.max(code, await deno("run", "-A", "tools/test.ts", OP_CHECK, "--quiet"));
}

async function main(args: string[]): Promise<number> {
  enterRoot();
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tests: { type: "string", default: "8" } },
  });
  let changed = await changedSince(positionals[0] ?? "HEAD");
  if (changed.length === 0) changed = await changedSince("HEAD~1");
  const code = changed.filter((file) => /\.(ts|js)$/.test(file));
  const written = changed.filter((file) => /\.(ts|js|json|md)$/.test(file));
  console.log(`${changed.length} files changed`);
  const steps: readonly Step[] = [
    ["fmt", async () => written.length === 0 ? 0 : await deno("fmt", "--check", ...written)],
    ["lint", async () => code.length === 0 ? 0 : await deno("lint", ...code)],
    ["types", types],
    ["tests", () => tests(changed, Number(values.tests))],
  ];
  const results: string[] = [];
  let failures = 0;
  for (const [name, step] of steps) {
    console.log(`\n== ${name}`);
    const start = performance.now();
    const status = await step();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    results.push(`${status === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
    if (status !== 0) failures++;
  }
  console.log(`\n${results.join("\n")}`);
  return failures === 0 ? 0 : 1;
}

if (import.meta.main) await runTask(import.meta.url, main);
