/**
 * The command: `inspect MODEL` prints what is in a model of ONNX, `convert MODEL TO` writes it as a GraphDef (`FILE.pb`) or
 * a SavedModel (a folder's name), or one of these or a `model.json` of TensorFlow.js as `FILE.onnx`.
 *
 * @module
 */
import { runMain } from "../library/io/command.ts";
import { inspectionLines, inspectOnnx } from "./inspect_onnx.ts";

const USAGE = "usage: inspect MODEL | convert MODEL FILE.onnx|FILE.pb|FOLDER";

async function main([what, from, to]: readonly string[]): Promise<number> {
  if (what === "inspect" && from !== undefined) {
    for (const line of inspectionLines(await inspectOnnx(from))) console.log(line);
    return 0;
  }
  if (what === "convert" && from !== undefined && to !== undefined) {
    const { convertOnnx } = await import("./convert.ts");
    await convertOnnx(from, to);
    return 0;
  }
  console.error(USAGE);
  return 2;
}

/** Runs the command and ends the process. */
export const runCommand = (): Promise<void> => runMain(USAGE, main);

if (import.meta.main) await runCommand();
