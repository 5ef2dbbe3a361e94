/**
 * `deno run -A tools/run.ts program.ts [arguments]`: runs a program of this repository with the
 * environment that WebGPU needs here, see environment.ts.
 *
 * It hands over the npm-only import map, because Deno then fetches only the packages that the program
 * imports. With the imports of deno.json it fetches all of them first, about 180 MB.
 *
 * @module
 */

import { run } from "./command.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists } from "./files.ts";
import { NPM_ONLY_IMPORT_MAP } from "./jsr.ts";

async function main([program, ...args]: string[]): Promise<number> {
  enterRoot();
  if (program === undefined || !exists(program, "isFile")) {
    console.error(`Cannot run "${program}": there is no such file`);
    return 2;
  }
  prepareWebGpu();
  const flags = ["run", "--allow-all", "--import-map", NPM_ONLY_IMPORT_MAP];
  return (await run(Deno.execPath(), [...flags, program, ...args])).code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
