/** Pictures in which each scope of names is one box. */

import type { Drawing, DrawnEdge, DrawnNode } from "../../src/library/display/placed.ts";

/** The outermost scope of a name; null where there is none. */
function scopeOf(name: string): string | null {
  const end = name.indexOf("/");
  return end < 0 ? null : name.slice(0, end);
}

/** Joins the nodes of each scope. Scopes that read what comes of them stay open, for a picture has no circles. */
export function folded(drawing: Drawing): Drawing {
  const members = Map.groupBy(drawing.nodes, ({ name }) => scopeOf(name));
  const closed = new Set([...members].flatMap(([scope, { length }]) => {
    return scope !== null && length > 1 ? [scope] : [];
  }));
  for (;;) {
    if (closed.size === 0) return drawing;
    const joined = join(drawing, closed);
    const order = topological(joined);
    if (order.length === joined.nodes.length) return sorted(joined, order);
    const left = joined.nodes.filter((_, i) => !order.includes(i));
    for (const { name } of left) closed.delete(name);
  }
}

function join({ nodes, edges }: Drawing, closed: ReadonlySet<string>): Drawing {
  const at = new Map<string, number>(), made: DrawnNode[] = [];
  const place = nodes.map((node) => {
    const scope = scopeOf(node.name);
    if (scope === null || !closed.has(scope)) return made.push(node) - 1;
    if (!at.has(scope)) at.set(scope, made.push(box(scope, nodes)) - 1);
    return at.get(scope)!;
  });
  const kinds = new Map<string, DrawnEdge>();
  for (const edge of edges) {
    const from = place[edge.from]!, to = place[edge.to]!;
    if (from !== to) kinds.set(`${from} ${to} ${edge.kind}`, { ...edge, from, to });
  }
  return { nodes: made, edges: [...kinds.values()] };
}

/** The box of a scope: on a GPU where one of its nodes is. */
function box(scope: string, nodes: readonly DrawnNode[]): DrawnNode {
  const within = nodes.filter(({ name }) => scopeOf(name) === scope);
  return {
    name: scope,
    label: `${within.length} in ${scope}`,
    script: within.some(({ script }) => script),
    device: within.some(({ device }) => device === "GPU") ? "GPU" : "CPU",
    about: within.map(({ label }) => label).join("·"),
  };
}

/** Numbers of nodes, each after those it reads; those on circles are missing (Kahn, 1962). */
function topological({ nodes, edges }: Drawing): number[] {
  const waits = nodes.map(() => 0);
  for (const { to } of edges) waits[to]!++;
  const order = [...nodes.keys()].filter((i) => waits[i] === 0);
  for (const i of order) {
    for (const { from, to } of edges) if (from === i && --waits[to]! === 0) order.push(to);
  }
  return order;
}

function sorted({ nodes, edges }: Drawing, order: readonly number[]): Drawing {
  const rank = new Map(order.map((i, r) => [i, r]));
  return {
    nodes: order.map((i) => nodes[i]!),
    edges: edges.map((e) => ({ ...e, from: rank.get(e.from)!, to: rank.get(e.to)! }))
      .sort((a, b) => a.to - b.to),
  };
}
