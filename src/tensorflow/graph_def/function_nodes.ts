/** Replaces nodes whose op is a function of the library by calls. */
import { sourceOf } from "./nodes.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";

/** Returns the graph with a call in place of each node whose op is a function's name. */
export function raiseFunctionNodes(def: GraphDefJson): GraphDefJson {
  const functions = new Map(def.library?.function.map((f) => [f.signature.name, f]));
  const all = [def.node, ...[...functions.values()].map((f) => f.nodeDef)].flat();
  if (!all.some((n) => functions.has(n.op))) return def;
  const raised = (nodes: readonly NodeDefJson[]): NodeDefJson[] =>
    nodes.map((n) => callOf(n, functions.get(n.op)));
  return {
    ...def,
    node: raised(def.node),
    library: {
      ...def.library,
      function: [...functions.values()].map((f) => {
        const outputs = new Map(f.nodeDef.flatMap((n) => {
          const called = functions.get(n.op);
          return called ? [[n.name, called.signature.outputArg.map((o) => o.name)]] : [];
        }));
        const ref = (input: string): string => renamed(input, outputs.get(sourceOf(input)));
        return {
          ...f,
          nodeDef: raised(f.nodeDef).map((n) => ({ ...n, input: (n.input ?? []).map(ref) })),
          ret: Object.fromEntries(Object.entries(f.ret).map(([name, value]) => [name, ref(value)])),
        };
      }),
    },
  };
}

function callOf(node: NodeDefJson, f: FunctionDefJson | undefined): NodeDefJson {
  if (f === undefined) return node;
  const { name, inputArg, outputArg, isStateful } = f.signature;
  return {
    ...node,
    op: isStateful === true ? "StatefulPartitionedCall" : "PartitionedCall",
    attr: {
      Tin: { list: { type: inputArg.map((a) => a.type) } },
      Tout: { list: { type: outputArg.map((a) => a.type) } },
      f: { func: { name } },
    },
  };
}

/** Converts `node:result:0` to an output of the call, by the result's position. */
function renamed(input: string, outputs: readonly string[] | undefined): string {
  const [node, name] = input.split(":");
  return outputs === undefined || name === undefined
    ? input
    : `${node}:output:${outputs.indexOf(name)}`;
}
