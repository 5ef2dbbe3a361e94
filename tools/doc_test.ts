/**
 * Runs the examples in doc comments and in the README as tests. They import the published names,
 * as a user would, and work without JSR like the other tests.
 *
 * @module
 */

import { run } from "./command.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists, list } from "./files.ts";
import { chooseImports } from "./jsr.ts";

/** Fences that `deno test --doc` runs. */
const EXAMPLE = /^[ *]*```(ts|typescript|tsx|js|javascript|jsx)\b(?!.*\bignore\b)/m;

async function main(args: readonly string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const modules = ["mod.ts", ...list("src", ".ts"), "README.md", ...list("docs", ".md")];
  // Files without examples would only cost time.
  const files = args.length > 0 ? args : modules.filter((file) => {
    return exists(file) && EXAMPLE.test(Deno.readTextFileSync(file));
  });
  if (files.length === 0) {
    console.log("There are no examples to test");
    return 0;
  }
  const imports = await chooseImports();
  const flags = ["test", "--allow-all", "--doc", "--parallel", ...imports.args];
  return (await run(Deno.execPath(), [...flags, ...files])).code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
