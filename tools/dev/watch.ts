/**
 * `deno task watch FILE`: runs a test, or the tests nearest to a file of the library, now and after each change below `src/`,
 * `tests/` and `shaders/`. A change of a shader writes the generated modules first. `--tests=5` runs more than the nearest three.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { changes } from "./changes.ts";
import { run } from "../command.ts";
import { enterRoot, exists } from "../files.ts";
import { runTask } from "./help.ts";
import { nearestTests, sourceGraph } from "./nearest.ts";

const deno = async (...args: string[]): Promise<number> => (await run(Deno.execPath(), args)).code;

async function main(args: string[]): Promise<number> {
  enterRoot();
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { tests: { type: "string", default: "3" } },
  });
  const [file] = positionals;
  if (file === undefined || !exists(file, "isFile")) {
    console.error(`Cannot watch ${JSON.stringify(file)}: name a file by its path from the root`);
    return 2;
  }
  const tests = file.endsWith("_test.ts")
    ? [file]
    : nearestTests([file], await sourceGraph()).slice(0, Number(values.tests));
  console.log(`Tests: ${tests.join(", ")}`);
  await deno("run", "-A", "tools/test.ts", ...tests);
  for await (const changed of changes(["src", "tests", "shaders"])) {
    console.log(`\nChanged: ${changed.join(", ")}`);
    if (changed.some((path) => path.endsWith(".wgsl"))) await deno("run", "-A", "tools/shaders.ts");
    await deno("run", "-A", "tools/test.ts", ...tests);
  }
  return 0;
}

if (import.meta.main) await runTask(import.meta.url, main);
