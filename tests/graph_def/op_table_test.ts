/** The table of TensorFlow's ops, and the page that is written from it. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "../../mod.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { canImport, OP_TABLE, opNamed, refusalOf } from "../../src/tensorflow/graph/op_table.ts";
import { read } from "../../tools/files.ts";
import { DOCUMENT, opTableText } from "../../tools/structure/op_table.ts";

Deno.test("docs/tensorflow_ops.md lists the ops that can be imported", async () => {
  const squeeze = (text: string) =>
    text.replaceAll(/\s+/g, " ").replaceAll(/ ?\| ?/g, "|").replaceAll(/-{3,}/g, "---");
  assert(squeeze(read(DOCUMENT)) === squeeze(await opTableText()), 'Run "deno task op-table"');
});

Deno.test("each entry of OP_TABLE has an effect", () => {
  for (const [op, entry] of Object.entries(OP_TABLE)) {
    const isOurs = lookupOp(op) !== undefined;
    // Without a condition a rule is for ops that are none of ours.
    if ("rule" in entry) assertEquals(isOurs, entry.when !== undefined, op);
    else assert(!isOurs, op);
    if ("op" in entry) assert(opNamed(op) === lookupOp(entry.op) && canImport(op), op);
    assertEquals(canImport(op), !("refused" in entry), op);
  }
});

Deno.test("importGraphDef() says why it refuses an op", () => {
  const node = { name: "next", op: "IteratorGetNext", input: [], attr: {} };
  const graph = new tf.Graph();
  assertThrows(
    () => graph.asDefault(() => tf.importGraphDef({ node: [node], versions: { producer: 1 } })),
    tf.errors.NotFoundError,
    `'IteratorGetNext' in binary running here, at node "next" (${refusalOf("IteratorGetNext")})`,
  );
});
