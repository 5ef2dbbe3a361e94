/**
 * The command: `inspect MODEL` prints what is in a model's file, `convert MODEL FILE.pb` writes its graph as TensorFlow's GraphDef.
 * MODEL is a `model.json` of TensorFlow.js, the folder of a SavedModel, or a GraphDef.
 *
 * @module
 */
import "../../mod.ts";
import "./checkpoint_ops.ts";
import { UnimplementedError } from "../core/errors.ts";
import { encodeGraphDef } from "./graph_def.ts";
import { describeModel, readModel } from "./inspect.ts";
import { replaceFile } from "./random_access.ts";

const USAGE = "usage: inspect MODEL | convert MODEL FILE.pb";

async function main([what, from, to]: readonly string[]): Promise<number> {
  if (what === "inspect" && from !== undefined) {
    for (const line of describeModel(await readModel(from))) console.log(line);
    return 0;
  }
  if (what === "convert" && from !== undefined && to?.endsWith(".pb")) {
    const { kind, def } = await readModel(from);
    if (kind === "SavedModel") {
      throw new UnimplementedError(
        `Cannot convert ${from}: a SavedModel's variables are not in its graph, freeze it first`,
      );
    }
    await replaceFile(to, encodeGraphDef(def));
    return 0;
  }
  console.error(USAGE);
  return 2;
}

/** Runs the command and ends the process. */
export async function runCommand(): Promise<void> {
  Deno.exit(await main(Deno.args));
}

if (import.meta.main) await runCommand();
