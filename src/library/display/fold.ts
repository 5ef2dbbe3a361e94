/** Drawings in which each scope of names is one box, but for those that are open. */

import type { Drawing, DrawnEdge, DrawnNode } from "./placed.ts";

/** The outermost scope of a name that is not open; null where there is none. */
function shutScope(name: string, open: ReadonlySet<string>): string | null {
  for (let end = name.indexOf("/"); end >= 0; end = name.indexOf("/", end + 1)) {
    const scope = name.slice(0, end);
    if (!open.has(scope)) return scope;
  }
  return null;
}

/** The nodes by the scope that holds them shut, null for those that no scope does, in the order of the graph. */
export function boxesOf(
  nodes: readonly DrawnNode[],
  open: ReadonlySet<string>,
): Map<string | null, DrawnNode[]> {
  const members = new Map<string | null, DrawnNode[]>();
  for (const node of nodes) {
    const scope = shutScope(node.name, open), others = members.get(scope);
    if (others === undefined) members.set(scope, [node]);
    else others.push(node);
  }
  return members;
}

/** Joins the nodes of each scope that is not open. A scope of one node stays that node. */
export function folded({ nodes, edges }: Drawing, open: ReadonlySet<string> = new Set()): Drawing {
  const members = boxesOf(nodes, open);
  const boxes: DrawnNode[] = [], boxOfScope = new Map<string, number>();
  const place = nodes.map((node) => {
    const scope = shutScope(node.name, open), within = members.get(scope)!;
    if (scope === null || within.length === 1) return boxes.push(node) - 1;
    if (!boxOfScope.has(scope)) boxOfScope.set(scope, boxes.push(box(scope, within)) - 1);
    return boxOfScope.get(scope)!;
  });
  const kinds = new Map<string, DrawnEdge>();
  for (const { from, to, kind } of edges) {
    const edge = { from: place[from], to: place[to], kind };
    if (edge.from !== edge.to) kinds.set(`${edge.from} ${edge.to} ${kind}`, edge);
  }
  return sorted(boxes, [...kinds.values()]);
}

/** The box of a scope: on a GPU where one of its nodes is. */
function box(scope: string, within: readonly DrawnNode[]): DrawnNode {
  return {
    name: scope,
    label: `${within.length} in ${scope.slice(scope.lastIndexOf("/") + 1)}`,
    script: within.some(({ script }) => script),
    device: within.some(({ device }) => device === "GPU") ? "GPU" : "CPU",
    scope: true,
  };
}

/**
 * Puts each box behind those it reads (Kahn, 1962). Scopes may read each other in a circle: the first of those that are left comes
 * next, and a line goes back up to it.
 */
function sorted(boxes: readonly DrawnNode[], edges: readonly DrawnEdge[]): Drawing {
  const waits = boxes.map(() => 0), left = new Set(boxes.keys()), order: number[] = [];
  for (const { to } of edges) waits[to]++;
  while (left.size > 0) {
    let [next] = left;
    for (const i of left) if (waits[i] < waits[next]) next = i;
    left.delete(next);
    order.push(next);
    for (const { from, to } of edges) if (from === next) waits[to]--;
  }
  const rank = new Map(order.map((i, r) => [i, r]));
  return {
    nodes: order.map((i) => boxes[i]),
    edges: edges.map((e) => ({ ...e, from: rank.get(e.from)!, to: rank.get(e.to)! }))
      .sort((a, b) => a.to - b.to),
  };
}
