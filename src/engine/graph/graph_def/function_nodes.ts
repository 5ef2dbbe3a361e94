/**
 * Nodes whose op is a function of the library, written as calls of it.
 */
import { sourceOf } from "./nodes.ts";
import type { FunctionDefJson, GraphDefJson, NodeDefJson } from "./types.ts";

/** The graph with a call in place of each node that has a function's name as its op. */
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

/** `node:result:0` is an output of the call, by the place of the result among all. */
function renamed(input: string, outputs: readonly string[] | undefined): string {
  const [node, name] = input.split(":");
  return outputs === undefined || name === undefined
    ? input
    : `${node}:output:${outputs.indexOf(name)}`;
}
