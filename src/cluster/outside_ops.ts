/** Ops that graphs from the network may not run here. */
import { PermissionDeniedError } from "../engine/core/errors.ts";
import { lookupOp } from "../engine/core/op.ts";
import type { GraphDefJson, NodeDefJson } from "../engine/graph/graph_def_json.ts";

/**
 * Throws `PermissionDeniedError` for ops that reach outside of the process and are not among `allowed`; one message
 * names all of them.
 */
export function checkOutside(def: GraphDefJson, allowed: readonly string[] = []): void {
  const refused = nodesOf(def).filter(({ op }) => isOutside(op) && !allowed.includes(op));
  if (refused.length === 0) return;
  const list = refused.map(({ op, name }) => `${op} ("${name}") reaches ${lookupOp(op)!.outside}`);
  throw new PermissionDeniedError(
    `Cannot run a graph that came over the network: ${
      list.join(", ")
    }; the server must name such ops in allowOps`,
    { op: refused[0].op, node: refused[0].name },
  );
}

/** True for an op that reaches outside of the process. */
export function isOutside(op: string): boolean {
  return lookupOp(op)?.outside !== undefined;
}

function nodesOf({ node, library }: GraphDefJson): NodeDefJson[] {
  return [node, ...(library?.function ?? []).map((f) => f.nodeDef)].flat();
}
