/**
 * `deno run -A tools/run.ts program.ts [arguments]`: runs a program of this repository with the
 * environment that WebGPU needs here, see environment.ts. With `--frozen` before the program's name, and with `WEFT_FROZEN=1`,
 * packages must be as deno.lock has them.
 *
 * @module
 */

import { run } from "./command.ts";
import { answerHelp } from "./dev/help.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists, ROOT } from "./files.ts";
import { FROZEN, frozenArgs } from "./lock.ts";

async function main(given: string[]): Promise<number> {
  const isFrozen = given[0] === "--frozen";
  const [program, ...args] = isFrozen ? given.slice(1) : given;
  enterRoot();
  if (program === undefined || !exists(program, "isFile")) {
    console.error(`Cannot run "${program}": there is no such file`);
    return 2;
  }
  answerHelp(new URL(program, ROOT).href, args);
  prepareWebGpu();
  const flags = ["run", "--allow-all", ...(isFrozen ? FROZEN : frozenArgs())];
  return (await run(Deno.execPath(), [...flags, program, ...args])).code;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
