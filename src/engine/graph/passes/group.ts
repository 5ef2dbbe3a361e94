/**
 * Grouping: updates of several variables by one rule become one op, so that an optimizer's step is one dispatch;
 * likewise small sums over first axes, such as the gradients of biases.
 */
import type { MeaningOf } from "../../core/meaning.ts";
import { argument } from "../../core/scalar/expr.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { addedNode, isLoaded } from "./added.ts";
import { Clusters, type Joined, joinNodes } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { isReduction } from "./pointwise_nodes.ts";

/** Maximum members of a group: its kernel has a branch for each. */
const MAX_MEMBERS = 16;
/** Maximum rows that one invocation sums: a longer sum deserves dispatches of its own. */
const MAX_ROWS = 1024;

const COLUMN_SUM = "_GroupedColumnSum", UPDATE = "_GroupedUpdate";

/** Returns the graph with updates that differ in their arrays only grouped, and small column sums grouped. */
export function groupAlike(ir: IrGraph): IrGraph {
  const groups = new Map<string, IrNode[][]>();
  const numbers = new Map(ir.nodes.map((n, i) => [n, i]));
  const clusters = new Clusters(ir);
  for (const node of ir.nodes) {
    const isRule = isUpdate(node);
    if (!isRule && !isColumnSum(node) || !isLoaded(isRule ? UPDATE : COLUMN_SUM)) continue;
    const key = isRule ? ruleOf(node, numbers) : `sums@${node.device}`;
    const lists = groups.get(key) ?? [];
    groups.set(key, lists);
    const open = lists.find((list) =>
      list.length < MAX_MEMBERS && clusters.unite(list[0], node, true)
    );
    if (open) open.push(node);
    else lists.push([node]);
  }
  const joins = [...groups.values()].flat().filter((list) => list.length > 1).map((
    members,
  ): Joined => ({
    members,
    node: isUpdate(members[0]) ? updateNode(members) : columnSumNode(members),
    outputs: members.flatMap((m) => m.outputs),
  }));
  return joins.length === 0 ? ir : joinNodes(ir, joins);
}

/** True for a sum or mean over the first axis of a matrix, or over a vector, that is too small to fill an adapter. */
export function isColumnSum(node: IrNode): boolean {
  if (sumOf(node) === null || !mayJoin(node)) return false;
  const [{ dtype, shape }, axes] = node.inputs;
  const isSmall = dtype === "float32" && isConcrete(shape) && sizeOf(shape) > 0 &&
    (shape.length === 1 || shape.length === 2) && shape[0] <= MAX_ROWS;
  if (!isSmall || !isConstant(axes.node)) return false;
  const list = (axes.node.attrs.value as NdArray).data as Int32Array;
  return list.length === 1 && (list[0] === 0 || list[0] === -shape.length);
}

/** Returns the kind of a sum or mean; null for everything else. */
function sumOf(node: IrNode): "sum" | "mean" | null {
  const { op, term, finish } = node.def.meaning as MeaningOf<"reduce">;
  return isReduction(node) && !term && !finish && (op === "sum" || op === "mean") ? op : null;
}

function columnSumNode(members: readonly IrNode[]): IrNode {
  const scaleOf = (m: IrNode): number =>
    sumOf(m) === "mean" ? 1 / (m.inputs[0].shape![0] as number) : 1;
  return addedNode(members[0], COLUMN_SUM, members.map((m) => m.inputs[0]), {
    N: members.length,
    T: "float32",
    shapes: members.map((m) => m.outputs[0].shape),
    scales: members.map(scaleOf),
  });
}

function isUpdate(node: IrNode): boolean {
  const { meaning } = node.def;
  return meaning.kind === "update" && meaning.members === undefined && mayJoin(node) &&
    node.outputs.every((v) => v.dtype === "float32" && isConcrete(v.shape) && sizeOf(v.shape) > 0);
}

/** Returns a key that is equal for nodes of the same op, attributes, device and scalars. */
function ruleOf(node: IrNode, numbers: ReadonlyMap<IrNode, number>): string {
  const scalars = node.inputs.filter(isScalarInput(node)).map((v) =>
    `${numbers.get(v.node)}:${v.index}`
  );
  return `${node.def.id}@${node.device}|${JSON.stringify(node.attrs)}|${scalars}`;
}

/** An update's inputs are the variable and its slots, one per output, then scalars, and the gradient last. */
function isScalarInput(node: IrNode): (v: IrValue, i: number) => boolean {
  const slots = node.outputs.length;
  const last = node.inputs.length - 1;
  return (_, i) => i >= slots && i !== last;
}

function updateNode(members: readonly IrNode[]): IrNode {
  const [first] = members;
  const scalar = isScalarInput(first);
  const scalars = first.inputs.filter(scalar);
  const arrays = members.map((m) => m.inputs.filter((v, i) => !scalar(v, i)));
  let s = 0, a = 0;
  // The rule's arguments: scalars come first, then one member's arrays.
  const args = first.inputs.map((v, i) => argument(scalar(v, i) ? s++ : scalars.length + a++));
  const inputs = [...scalars, ...arrays.flat()];
  return addedNode(first, UPDATE, inputs, {
    Tin: inputs.map((v) => v.dtype),
    Tout: members.flatMap((m) => m.outputs.map((v) => v.dtype)),
    exprs: (first.def.meaning as MeaningOf<"update">).exprs(args, first.attrs),
    scalars: scalars.length,
    arrays: arrays[0].length,
  });
}
