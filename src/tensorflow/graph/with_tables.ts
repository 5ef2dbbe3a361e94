/** Makes the lookup tables of a graph self-contained: the graph fills them before they are read. */
import { DTYPES } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { constantAttrs } from "../graph_def/nodes.ts";
import { makesTable } from "../../engine/ops/host/lookup.ts";
import { LookupTable } from "../../engine/ops/host/lookup_table.ts";

/**
 * Returns the definition of a graph with the current contents of its tables. Repeating the same fill changes nothing.
 */
export function withTables(def: GraphDefJson, graph: Graph): GraphDefJson {
  const fills = new Map<string, readonly NodeDefJson[]>();
  for (const { name, type, attrs: { _table: table } } of graph.operations) {
    if (!makesTable(type) || !(table instanceof LookupTable) || table.size === 0) continue;
    fills.set(name, filling(name, type, table));
  }
  if (fills.size === 0) return def;
  const node = def.node.flatMap((n) => {
    const waits = (n.input ?? []).flatMap((i) =>
      fills.get(i.replace(/:0$/, ""))?.at(-1)?.name ?? []
    );
    const input = [...n.input ?? [], ...waits.map((name) => `^${name}`)];
    return [waits.length === 0 ? n : { ...n, input }, ...fills.get(n.name) ?? []];
  });
  return { ...def, node };
}

/** Makes nodes with a table's contents, and last the one that fills the table. */
function filling(name: string, type: string, table: LookupTable): NodeDefJson[] {
  const { keys, values } = table.entries();
  return [
    constant(`${name}/keys`, keys),
    constant(`${name}/values`, values),
    {
      name: `${name}/fill`,
      op: type.endsWith("V2") ? "LookupTableImportV2" : "LookupTableImport",
      input: [name, `${name}/keys`, `${name}/values`],
      attr: { Tin: typeOf(keys), Tout: typeOf(values) },
    },
  ];
}

function constant(name: string, array: NdArray): NodeDefJson {
  return { name, op: "Const", input: [], attr: constantAttrs(array) };
}

function typeOf({ dtype }: NdArray): { type: string } {
  return { type: DTYPES[dtype].tfEnum };
}
