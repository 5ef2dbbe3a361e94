/**
 * Merging: pointwise ops of one shape that are connected, or that read the same arrays, become one op of several
 * outputs, which loads and computes common values once.
 */
import { runsOnDevices } from "../../core/op.ts";
import { isConcrete, sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { Clusters, type Joined } from "./clusters.ts";
import {
  fusedNode,
  inputsOf,
  isElementwise,
  joined,
  MAX_BUFFERS,
  MAX_WORK,
  outside,
  type PassTarget,
  usesOf,
  workOfNode,
} from "./pointwise_nodes.ts";

/** Number of candidate sets per array: where hundreds of ops read one array, older sets are mostly full. */
const MOST_OPEN = 8;

/** Returns the graph with neighbouring pointwise ops merged where that saves reads of arrays. */
export function mergePointwise(ir: IrGraph, target: PassTarget): IrGraph {
  const mergeable = ir.nodes.filter((n) =>
    isElementwise(n, target) && n.outputs.every((v) => isConcrete(v.shape))
  );
  const known = new Set(mergeable), { readers } = usesOf(ir);
  // Most graphs have no two ops that could be one.
  let clusters: Clusters | null = null, waits: ReadonlyMap<IrNode, number> | null = null;
  const setOf = (node: IrNode): ReadonlySet<IrNode> => (clusters ??= new Clusters(ir)).setOf(node);
  const waitsOf = (node: IrNode): number => (waits ??= hostWaits(ir)).get(node)!;
  const fetched = new Set(ir.fetches);
  const leaves = (v: IrValue, set: ReadonlySet<IrNode>): boolean =>
    fetched.has(v) || readers.get(v.node)!.some((r) => !set.has(r) && r.inputs.includes(v));
  const outputsOf = (set: ReadonlySet<IrNode>): IrValue[] =>
    [...set].flatMap((n) => n.outputs.filter((v) => leaves(v, set)));
  const fits = (a: IrNode, b: IrNode): boolean => {
    if (
      a.device !== b.device || !sameShape(a.outputs[0].shape, b.outputs[0].shape) ||
      waitsOf(a) !== waitsOf(b)
    ) return false;
    const set = new Set([...setOf(a), ...setOf(b)]);
    let total = 0;
    for (const n of set) total += workOfNode(n);
    if (total > MAX_WORK) return false;
    const inputs = inputsOf(set), outputs = outputsOf(set).length;
    // Ops that are only waited for have no value.
    return inputs.size > 0 && outputs > 0 && inputs.size + outputs <= MAX_BUFFERS;
  };
  /** The last readers of each array, one of each set. */
  const open = new Map<IrValue, IrNode[]>();
  for (const node of mergeable) {
    const shared = outside(node).filter((v) => sameShape(v.shape, node.outputs[0].shape));
    const earlier = shared.flatMap((v) => [v.node, ...open.get(v) ?? []]).filter((n) =>
      known.has(n)
    );
    for (const other of new Set(earlier)) {
      if (!setOf(node).has(other) && fits(other, node)) clusters!.unite(other, node);
    }
    for (const v of shared) {
      const others = (open.get(v) ?? []).filter((n) => !setOf(node).has(n));
      open.set(v, [...others.slice(1 - MOST_OPEN), node]);
    }
  }
  if (clusters === null) return ir;
  const merged = new Set(mergeable.map(setOf).filter((set) => set.size > 1));
  const order = new Map(ir.nodes.map((n, i) => [n, i]));
  const joins = [...merged].map((set): Joined => {
    const members = new Set([...set].sort((a, b) => order.get(a)! - order.get(b)!));
    const outputs = outputsOf(members);
    return { members, node: fusedNode(members, outputs), outputs };
  });
  return joined(ir, joins);
}

/** Counts the host steps before each node: ops with different counts must not wait for each other. */
function hostWaits(ir: IrGraph): Map<IrNode, number> {
  const waits = new Map<IrNode, number>();
  for (const node of ir.nodes) {
    const before = [...node.inputs.map((v) => v.node), ...node.controls];
    waits.set(
      node,
      before.reduce((n, b) => Math.max(n, waits.get(b)! + (isHostStep(b) ? 1 : 0)), 0),
    );
  }
  return waits;
}

function isHostStep({ def, feed }: IrNode): boolean {
  if (feed >= 0 || def.meaning.kind === "constant") return false;
  return def.host !== undefined || !runsOnDevices(def);
}
