/**
 * The table of TensorFlow's ops in `docs/tensorflow_ops.md`, written from what imports them.
 *
 * @module
 */

/** The document. */
export const DOCUMENT = "docs/tensorflow_ops.md";

/** The text of the document. */
export async function opTableText(): Promise<string> {
  await Promise.all([import("../../mod.ts"), import("../../src/tensorflow/mod.ts")]);
  const { OP_TABLE } = await import("../../src/tensorflow/graph/op_table.ts");
  const { registeredOps } = await import("../../src/engine/core/op.ts");
  const entries = Object.entries(OP_TABLE);
  // Ops of ours that TensorFlow does not have say what a GraphDef has in their place.
  const own = registeredOps().filter(({ name, portable }) =>
    /^[A-Z]\w*$/.test(name) && portable !== "parts" &&
    !(typeof portable === "object" && "never" in portable)
  );
  const ruled = entries.filter(([, entry]) => "rule" in entry && entry.when === undefined);
  const renamed = entries.flatMap(([op, entry]) => "op" in entry ? [[op, entry.op]] : []);
  const reasons = Map.groupBy(
    entries.flatMap(([op, entry]) => "refused" in entry ? [[op, entry.refused]] : []),
    ([, reason]) => reason,
  );
  const list = (ops: readonly string[]): string =>
    ops.toSorted().map((op) => `\`${op}\``).join(", ");
  return [
    "# TensorFlow's ops",
    "",
    "What `tf.importGraphDef` and the readers of files take, by TensorFlow's names; ops on files need `@weft/weft/tf`. `deno task op-table` writes this page.",
    "",
    `## As they are (${own.length})`,
    "",
    list(own.map(({ name }) => name)),
    "",
    `## Written in others (${ruled.length + renamed.length})`,
    "",
    "They become ops of the first list while a graph is imported, so that plans and gradients know them.",
    "",
    list([...ruled, ...renamed].map(([op]) => op as string)),
    "",
    "## Refused",
    "",
    "| ops | reason |",
    "| --- | ------ |",
    ...[...reasons].map(([reason, ops]) => `| ${list(ops.map(([op]) => op))} | ${reason} |`),
    "",
    "All other ops are refused too: `NotFoundError` names all of a graph at once.",
    "",
  ].join("\n");
}
