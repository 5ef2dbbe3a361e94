/**
 * The command: `inspect MODEL` prints what is in a model of ONNX, `convert MODEL TO` writes it as a GraphDef (`FILE.pb`) or
 * a SavedModel (a folder's name), or one of these or a `model.json` of TensorFlow.js as `FILE.onnx`.
 *
 * @module
 */
import { inspectionLines, inspectOnnx } from "./inspect_onnx.ts";

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
  console.error("usage: inspect MODEL | convert MODEL FILE.onnx|FILE.pb|FOLDER");
  return 2;
}

/** Runs the command and ends the process. */
export async function runCommand(): Promise<void> {
  // The library's types are for browsers; a command runs in Deno.
  const { Deno: deno } = globalThis as unknown as {
    Deno: { readonly args: readonly string[]; exit(code: number): never };
  };
  deno.exit(await main(deno.args));
}

if (import.meta.main) await runCommand();
