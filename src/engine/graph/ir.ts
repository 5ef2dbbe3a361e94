/**
 * The planner's view of a graph: the nodes that the fetches need, in an order that respects data and control edges.
 * Passes rewrite it.
 */
import type { DType } from "../core/dtype.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import type { PartialShape } from "../core/shape.ts";
import type { Operation, SymbolicTensor } from "./operation.ts";

/** A value between nodes. */
export interface IrValue {
  /** The producing node. */
  readonly node: IrNode;
  /** Number of the node's output. */
  readonly index: number;
  readonly dtype: DType;
  /** Known shape. */
  readonly shape: PartialShape;
  /** True where the shape is a user's promise, to be checked. */
  readonly promised: boolean;
}

/** A node of a plan. */
export interface IrNode {
  /** Name for messages. */
  readonly name: string;
  readonly def: OpDef;
  readonly attrs: Attrs;
  readonly inputs: IrValue[];
  /** Nodes that must run before. A constant has none: its readers wait in its place. */
  readonly controls: IrNode[];
  readonly outputs: IrValue[];
  /** Requested device, or empty. */
  readonly device: string;
  /** The operation it comes from. */
  readonly source: Operation;
  /** For a feed, its number; else -1. */
  readonly feed: number;
}

/** True for a constant without a feed. */
export function isConstant({ def, feed }: IrNode): boolean {
  return feed < 0 && def.meaning.kind === "constant";
}

/** The graph of a run. */
export interface IrGraph {
  /** Nodes in topological order. */
  readonly nodes: IrNode[];
  readonly fetches: IrValue[];
  /** Nodes to run for their effect. */
  readonly targets: IrNode[];
}

/** The fetches and feeds of a run. */
export interface IrRequest {
  readonly fetches: readonly SymbolicTensor[];
  /** Operations to run for their effect. */
  readonly targets: readonly Operation[];
  /** Tensors with given values: their producers do not run for them. */
  readonly feeds: readonly SymbolicTensor[];
}

const NONE: readonly IrNode[] = [];

/** Builds the part of a graph that a run needs. */
export function buildIr({ fetches, targets, feeds }: IrRequest): IrGraph {
  const fed = new Map<SymbolicTensor, IrValue>();
  const nodes: IrNode[] = [];
  feeds.forEach((t, feed) => {
    const node = makeNode(t.operation, [], [], feed);
    const value: IrValue = { ...valueOf(t, node), index: 0, promised: false };
    node.outputs.push(value);
    nodes.push(node);
    fed.set(t, value);
  });
  const made = new Map<Operation, IrNode>();
  // The nodes that a constant's readers wait for in its place.
  const behind = new Map<Operation, readonly IrNode[]>();
  // A fed placeholder waits for nothing.
  const isWaited = (c: Operation): boolean =>
    c.def.meaning.kind !== "input" || !fed.has(c.outputs[0]);
  const waitsOf = (op: Operation): readonly IrNode[] => behind.get(op) ?? [made.get(op)!];
  const waitsBefore = (op: Operation): IrNode[] => {
    let waits: Set<IrNode> | null = null;
    const add = (list: readonly IrNode[]): void => {
      for (const n of list) (waits ??= new Set()).add(n);
    };
    for (const c of op.controlInputs) if (isWaited(c)) add(waitsOf(c));
    for (const t of op.inputs) if (!fed.has(t)) add(behind.get(t.operation) ?? NONE);
    return waits === null ? [] : [...waits];
  };
  const need = (root: Operation): void => {
    // Iterative: graphs may be deeper than the call stack.
    const stack = [root];
    while (stack.length > 0) {
      const op = stack[stack.length - 1], before = stack.length;
      if (made.has(op)) {
        stack.pop();
        continue;
      }
      for (const c of op.controlInputs) if (!made.has(c) && isWaited(c)) stack.push(c);
      for (let i = op.inputs.length - 1; i >= 0; i--) {
        const t = op.inputs[i];
        if (!fed.has(t) && !made.has(t.operation)) stack.push(t.operation);
      }
      if (stack.length > before) continue;
      stack.pop();
      const inputs = op.inputs.map((t) =>
        fed.get(t) ?? made.get(t.operation)!.outputs[t.valueIndex]
      );
      const waits = waitsBefore(op), isConst = op.def.meaning.kind === "constant";
      if (isConst) behind.set(op, waits);
      const node = makeNode(op, inputs, isConst ? [] : waits, -1);
      for (const t of op.outputs) node.outputs.push(valueOf(t, node));
      made.set(op, node);
      nodes.push(node);
    }
  };
  for (const t of fetches) if (!fed.has(t)) need(t.operation);
  for (const op of targets) need(op);
  // The order of the program: a gradient of a weight comes before the next step back, and what only it reads is freed.
  const later = nodes.splice(feeds.length);
  later.sort((a, b) => a.source.index - b.source.index);
  nodes.push(...later);
  return {
    nodes,
    fetches: fetches.map((t) => fed.get(t) ?? made.get(t.operation)!.outputs[t.valueIndex]),
    targets: [
      ...new Set([
        ...targets.flatMap(waitsOf),
        ...fetches.flatMap((t) => fed.has(t) ? [] : behind.get(t.operation) ?? []),
      ]),
    ],
  };
}

function valueOf(
  { dtype, staticShape: shape, valueIndex: index, promised }: SymbolicTensor,
  node: IrNode,
): IrValue {
  return { node, index, dtype, shape, promised };
}

function makeNode(op: Operation, inputs: IrValue[], controls: IrNode[], feed: number): IrNode {
  const { name, def, attrs, device } = op;
  return { name, def, attrs, inputs, controls, outputs: [], device, source: op, feed };
}

/** Copies a node without its outputs. All nodes list their fields in one order, so that passes read one hidden class. */
export function nodeLike(
  { name, def, attrs, device, source, feed }: IrNode,
  inputs: IrValue[],
  controls: IrNode[],
): IrNode {
  return { name, def, attrs, inputs, controls, outputs: [], device, source, feed };
}

/** Copies a value as the next output of a node. */
export function addOutputLike(node: IrNode, { dtype, shape, promised }: IrValue): IrValue {
  const value = { node, index: node.outputs.length, dtype, shape, promised };
  node.outputs.push(value);
  return value;
}
