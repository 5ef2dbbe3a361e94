/** Graphs from the network: their ops of files work in the folders that their model may name. */
import { lookupOp } from "../../engine/core/op.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { base64Text } from "./values.ts";

/** Returns the graph with the attribute `_within` at each node whose op reads or writes files. */
export function filesWithin(def: GraphDefJson, folders: readonly string[]): GraphDefJson {
  const within = { s: base64Text(folders.join("\n")) };
  // JSON of others leaves out lists of nothing.
  const bounded = (nodes: readonly NodeDefJson[] | undefined): NodeDefJson[] =>
    (nodes ?? []).map((node) =>
      lookupOp(node.op)?.outside === "files"
        ? { ...node, attr: { ...node.attr, _within: within } }
        : node
    );
  const { library } = def;
  return {
    ...def,
    node: bounded(def.node),
    ...(library?.function && {
      library: {
        ...library,
        function: library.function.map((f) => ({ ...f, nodeDef: bounded(f.nodeDef) })),
      },
    }),
  };
}
