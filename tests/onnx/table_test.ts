/** The document of ONNX's ops. */
import { assert } from "@std/assert";
import { DOCUMENT, onnxTableText } from "../../tools/structure/onnx_table.ts";
import { read } from "../../tools/files.ts";

Deno.test("docs/onnx_ops.md tells the ops of the table", async () => {
  const squeeze = (text: string): string => text.replaceAll(/[\s|-]+/g, " ");
  assert(squeeze(read(DOCUMENT)) === squeeze(await onnxTableText()), 'Run "deno task op-table"');
});
