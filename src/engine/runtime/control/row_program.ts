/**
 * RowProgram: a function taken apart at the calls that many rows make together, and at the control flow around such calls. The
 * operations between them become functions of their own.
 */
import type { Tensor } from "../../core/tensor.ts";
import { resourceOf } from "../../core/graph_node.ts";
import { effectsOf, isRead } from "../../graph/effect_order.ts";
import { FuncGraph } from "../../graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../../graph/operation.ts";
import { ConcreteFunction } from "../functions/concrete_function.ts";
import type { Branch } from "./branch.ts";

/** A part of a function that each row runs by itself. */
export interface Piece {
  readonly f: ConcreteFunction;
  /** Values of the whole function that it takes; the handles of the variables that it uses come last. */
  readonly takes: readonly SymbolicTensor[];
  /** Values of the whole function that it gives. */
  readonly gives: readonly SymbolicTensor[];
}

/** A node that many rows run together. */
export interface Stop {
  readonly op: Operation;
  /** The function of one call of it for all: its arguments and results have a leading axis. Control flow is not called as one. */
  readonly batched: ConcreteFunction | null;
}

/** A function as steps that rows take side by side. */
export interface RowProgram {
  /** Inputs of the function: arguments, captured values, handles of variables. */
  readonly inputs: readonly SymbolicTensor[];
  readonly steps: readonly (Piece | Stop)[];
}

const programs = new WeakMap<ConcreteFunction, RowProgram | null>();

/** The steps of a function in which rows can call something together; null for any other. */
export function rowProgram(f: ConcreteFunction): RowProgram | null {
  let program = programs.get(f);
  if (program === undefined) {
    const isApart = f.graph.operations.some(isStop) && !hasOrder(f);
    programs.set(f, program = isApart ? takeApart(f) : null);
  }
  return program;
}

/** True for a function with effects in an order: a row ends before the next one begins. Reading variables is no such effect. */
function hasOrder(f: ConcreteFunction): boolean {
  return f.graph.ordered && f.graph.operations.some((op) => {
    if (effectsOf(op) !== "ordered" || isRead(op)) return false;
    const called = calledBy(op);
    return called.length === 0 || called.some(hasOrder);
  });
}

/** The functions that a branch, a loop or a call runs; none for other ops. */
function calledBy({ attrs }: Operation): readonly ConcreteFunction[] {
  const { then_branch, else_branch, cond, body, f } = attrs as Record<string, Branch | undefined>;
  if (then_branch && else_branch) return [then_branch.f, else_branch.f];
  if (cond?.f && body?.f) return [cond.f, body.f];
  return f instanceof ConcreteFunction ? [plainOf(f)] : [];
}

/** The function without what it returns for its gradient. */
export function plainOf(f: ConcreteFunction): ConcreteFunction {
  return f.variantOf?.plain ?? f;
}

/** True for a call that many rows can make together. */
function isBatchable({ def: { host }, attrs }: Operation): boolean {
  return host?.isBatchable?.(attrs) === true;
}

function isStop(op: Operation): boolean {
  const called = calledBy(op);
  if (!(called.length > 0 ? called.some((f) => rowProgram(f) !== null) : isBatchable(op))) {
    return false;
  }
  // Where its tape is read, a call has to be whole.
  const own = op.attrs.f !== undefined
    ? called[0].outputs.length
    : op.outputs.filter((t) => t.dtype !== "variant").length;
  return op.outputs.slice(own).every((t) => t.consumers().length === 0);
}

/** True for a constant that each piece may have for itself. One that waits for an op belongs where it waits. */
function isConstant({ type, controlInputs }: Operation): boolean {
  return type === "Const" && controlInputs.length === 0;
}

function takeApart(f: ConcreteFunction): RowProgram {
  const { graph } = f;
  const handles = new Map<SymbolicTensor, Tensor>(
    graph.resources.map((r) => [graph.variables.find(resourceOf(r)!)!, r]),
  );
  const inputs = [...graph.inputs, ...graph.captures.map((c) => c.inner), ...handles.keys()];
  const given = new Set(inputs.map((t) => t.operation));
  // A level ends with stops: what reads their results is of the next one.
  const levels = new Map<Operation, number>();
  for (const op of graph.operations) {
    const before = [...op.inputs.map((t) => t.operation), ...op.controlInputs];
    levels.set(
      op,
      Math.max(0, ...before.map((b) => levels.get(b)! + Number(!given.has(b) && isStop(b)))),
    );
  }
  const needed = neededFor(f, given);
  const ops = graph.operations.filter((op) => needed.has(op));
  const isOwn = (op: Operation): boolean => !isStop(op) && !isConstant(op);
  const wanted = new Set<SymbolicTensor>(f.outputs);
  for (const op of ops) {
    for (const t of op.inputs) {
      const isPieces = isOwn(op) && (isConstant(t.operation) || isOwn(t.operation));
      if (!isPieces || !isConstant(t.operation) && levels.get(t.operation) !== levels.get(op)) {
        wanted.add(t);
      }
    }
  }
  const steps: (Piece | Stop)[] = [];
  const last = Math.max(0, ...ops.map((op) => levels.get(op)!));
  for (let level = 0; level <= last; level++) {
    const here = ops.filter((op) => levels.get(op) === level);
    const piece = here.filter((op) =>
      isOwn(op) || level === 0 && op.outputs.some((t) => wanted.has(t)) && isConstant(op)
    );
    if (piece.length > 0) steps.push(makePiece(`${f.name}_${level}`, piece, { handles, wanted }));
    for (const op of here) {
      if (isStop(op)) steps.push({ op, batched: isBatchable(op) ? batchedCall(op) : null });
    }
  }
  return { inputs, steps };
}

/** One call of a script for many rows. */
function batchedCall(op: Operation): ConcreteFunction {
  const graph = new FuncGraph(op.name, null);
  const inputs = op.inputs.map(({ dtype, staticShape }) =>
    graph.addInput(dtype, staticShape && [null, ...staticShape])
  );
  const { outputs } = op.copyTo(graph, inputs, { _batched: true });
  outputs.forEach((t, i) => {
    const { promised, staticShape } = op.outputs[i];
    if (promised) t.setShape(staticShape && [null, ...staticShape]);
  });
  graph.outputs = outputs.filter((t) => t.dtype !== "variant");
  return new ConcreteFunction(graph);
}

/** The operations that outputs and effects need, but for what is given. */
function neededFor(f: ConcreteFunction, given: ReadonlySet<Operation>): Set<Operation> {
  const needed = new Set<Operation>();
  const open = [...f.outputs.map((t) => t.operation), ...f.graph.effects];
  while (open.length > 0) {
    const op = open.pop()!;
    if (given.has(op) || needed.has(op)) continue;
    needed.add(op);
    open.push(...op.inputs.map((t) => t.operation), ...op.controlInputs);
  }
  return needed;
}

/** Operations of one level as a function. */
function makePiece(
  name: string,
  ops: readonly Operation[],
  { handles, wanted }: {
    readonly handles: ReadonlyMap<SymbolicTensor, Tensor>;
    readonly wanted: ReadonlySet<SymbolicTensor>;
  },
): Piece {
  const graph = new FuncGraph(name, null);
  const copies = new Map<Operation, Operation>(), own = new Set(ops);
  const takes: SymbolicTensor[] = [], taken = new Map<SymbolicTensor, Tensor>();
  const copy = (op: Operation): Operation => {
    let made = copies.get(op);
    if (made === undefined) {
      const controls = op.controlInputs.filter((c) => own.has(c)).map(copy);
      copies.set(op, made = op.copyTo(graph, op.inputs.map(inside)));
      made.outputs.forEach((t, i) =>
        op.outputs[i].promised && t.setShape(op.outputs[i].staticShape)
      );
      made.controlInputs.push(...controls.filter((c) => !made!.controlInputs.includes(c)));
    }
    return made;
  };
  const inside = (t: SymbolicTensor): Tensor => {
    if (own.has(t.operation) || isConstant(t.operation)) {
      return copy(t.operation).outputs[t.valueIndex];
    }
    let there = taken.get(t);
    if (there === undefined) {
      const handle = handles.get(t);
      there = handle ?? graph.addInput(t.dtype, t.staticShape);
      if (handle === undefined) takes.push(t);
      taken.set(t, there);
    }
    return there;
  };
  for (const op of ops) copy(op);
  const gives = ops.flatMap((op) => op.outputs.filter((t) => wanted.has(t)));
  graph.outputs = gives.map((t) => inside(t) as SymbolicTensor);
  const used = graph.resources.map((r) => [...handles].find(([, h]) => h === r)![0]);
  return { f: new ConcreteFunction(graph), takes: [...takes, ...used], gives };
}
