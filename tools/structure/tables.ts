/**
 * `deno task op-table`: writes the tables that documents have: docs/tensorflow_ops.md and docs/onnx_ops.md, the ops that imported
 * graphs and models may have, and docs/tensorflow_names.md, TensorFlow's public names.
 *
 * @module
 */

import { run } from "../command.ts";
import { runTask } from "../dev/help.ts";
import { enterRoot } from "../files.ts";
import * as names from "./name_table.ts";
import * as onnx from "./onnx_table.ts";
import * as ops from "./op_table.ts";

async function main(): Promise<number> {
  enterRoot();
  await Deno.writeTextFile(ops.DOCUMENT, await ops.opTableText());
  await Deno.writeTextFile(onnx.DOCUMENT, await onnx.onnxTableText());
  await Deno.writeTextFile(names.DOCUMENT, await names.nameTableText());
  const documents = [ops, onnx, names].map(({ DOCUMENT }) => DOCUMENT);
  return (await run(Deno.execPath(), ["fmt", "-q", ...documents])).code;
}

if (import.meta.main) await runTask(import.meta.url, main);
