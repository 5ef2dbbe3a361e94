/**
 * `deno task repl`: starts Deno's prompt with the library as `tf`, the GPU ready where there is one.
 *
 * @module
 */

import { prepareWebGpu } from "../environment.ts";
import { enterRoot } from "../files.ts";
import { chooseImports } from "../jsr.ts";
import { runTask } from "./help.ts";

/** The prompt's first statement. */
const BEGINNING = 'import * as tf from "@weft/weft"; await tf.ready();';

async function main(): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const { args } = await chooseImports();
  console.log("tf is the library; await y.data() or console.log(`${y}`) show a tensor");
  const command = new Deno.Command(Deno.execPath(), {
    args: ["repl", "-A", ...args, "--eval", BEGINNING],
  });
  return (await command.spawn().status).code;
}

if (import.meta.main) await runTask(import.meta.url, main);
