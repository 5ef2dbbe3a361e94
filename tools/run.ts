/**
 * `deno run -A tools/run.ts program.ts [arguments]`: runs a program of this repository with the
 * environment that WebGPU needs here, see environment.ts.
 *
 * @module
 */

import { run } from "./command.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists } from "./files.ts";

async function main([program, ...args]: string[]): Promise<number> {
  enterRoot();
  if (program === undefined || !exists(program, "isFile")) {
    console.error(`Cannot run "${program}": there is no such file`);
    return 2;
  }
  prepareWebGpu();
  return (await run(Deno.execPath(), ["run", "--allow-all", program, ...args])).code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
