/** Order of a graph's nodes: ONNX asks for a topological one, which onnxruntime's own converters do not keep. */
import type { Graph, Node } from "../proto/onnx_pb.ts";

interface Placed {
  readonly node: Node;
}

/**
 * Returns nodes so that each stands behind those whose results it reads, otherwise in their own order: the same list where they are so,
 * or where some form a cycle.
 */
export function inOrder<T extends Placed>(nodes: readonly T[]): readonly T[] {
  const makers = new Map<string, number>();
  nodes.forEach(({ node }, i) => {
    for (const name of node.output) if (!makers.has(name)) makers.set(name, i);
  });
  makers.delete("");
  const isBehind = ({ node }: T, i: number) => readsOf(node).every((n) => !(makers.get(n)! >= i));
  return nodes.every(isBehind) ? nodes : sorted(nodes, makers) ?? nodes;
}

/** Visits nodes depth first, without recursion: chains may be as long as the file. Returns null for a cycle. */
function sorted<T extends Placed>(
  nodes: readonly T[],
  makers: ReadonlyMap<string, number>,
): T[] | null {
  const out: T[] = [], states = new Uint8Array(nodes.length), OPEN = 1, DONE = 2;
  for (const first of nodes.keys()) {
    const path = [first];
    while (path.length > 0) {
      const at = path[path.length - 1];
      if (states[at] === DONE) {
        path.pop();
        continue;
      }
      const waits = [...new Set(readsOf(nodes[at].node).map((name) => makers.get(name)))]
        .filter((i) => i !== undefined && states[i] !== DONE) as number[];
      if (waits.length === 0) {
        states[at] = DONE;
        out.push(nodes[at]);
        path.pop();
        continue;
      }
      // What it waits for was done while it was open, but for a cycle.
      if (states[at] === OPEN) return null;
      states[at] = OPEN;
      for (const i of waits.reverse()) path.push(i);
    }
  }
  return out;
}

/** Returns the names that a node reads, with those that the graphs in its attributes do. */
function readsOf({ input, attribute }: Node): readonly string[] {
  const inner = attribute.flatMap(({ g }) => g === undefined ? [] : readsWithin(g));
  return inner.length === 0 ? input : [...input, ...inner];
}

function readsWithin({ node, output }: Graph): string[] {
  return [...node.flatMap(readsOf), ...output.map(({ name }) => name)];
}
