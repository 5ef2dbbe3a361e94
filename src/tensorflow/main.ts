/**
 * The command: `inspect MODEL` prints what is in a model's file, `convert MODEL TO` writes it in another form: a GraphDef
 * (`FILE.pb`), a model of TensorFlow.js (`model.json`, weights beside it) or a SavedModel (a folder's name).
 * MODEL is a `model.json` of TensorFlow.js, the folder of a SavedModel, or a GraphDef.
 *
 * @module
 */
import "../../mod.ts";
import "./files/checkpoint_ops.ts";
import { convertModel } from "./files/convert.ts";
import { describeModel, readModel } from "./files/inspect.ts";

const USAGE = "usage: inspect MODEL | convert MODEL FILE.pb|model.json|FOLDER [SIGNATURE]";

async function main([what, from, to, signature]: readonly string[]): Promise<number> {
  if (what === "inspect" && from !== undefined) {
    for (const line of describeModel(await readModel(from))) console.log(line);
    return 0;
  }
  if (what === "convert" && from !== undefined && to !== undefined) {
    await convertModel(from, to, signature === undefined ? {} : { signature });
    return 0;
  }
  console.error(USAGE);
  return 2;
}

/** Runs the command and ends the process. */
export async function runCommand(): Promise<void> {
  // The library's types know browsers only; a command runs in Deno.
  const { Deno: deno } = globalThis as unknown as {
    Deno: { readonly args: readonly string[]; exit(code: number): never };
  };
  deno.exit(await main(deno.args));
}

if (import.meta.main) await runCommand();
