/**
 * The command: `inspect MODEL` prints what is in a model's file, `convert MODEL TO` writes it in another form: a GraphDef
 * (`FILE.pb`), a model of TensorFlow.js (`model.json`, weights beside it) or a SavedModel (a folder's name).
 * MODEL is a `model.json` of TensorFlow.js, the folder of a SavedModel, or a GraphDef.
 *
 * @module
 */
import "../../mod.ts";
import "./files/checkpoint_ops.ts";
import { runMain } from "../library/io/command.ts";
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
export const runCommand = (): Promise<void> => runMain(USAGE, main);

if (import.meta.main) await runCommand();
