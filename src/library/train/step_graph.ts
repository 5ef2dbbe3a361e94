/** Operations of a training step in the graph being built, if any. */
import { currentInterpreter, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, lookupOp, type OpDef } from "../../engine/core/op.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";

/** The operation of a graph that applies a step. */
export type StepOperation = NonNullable<ReturnType<Variable["assign"]>>["operation"];

/** The part of the graph being built that a step uses. */
interface StepGraph {
  controlDependencies<R>(controls: readonly StepOperation[], fn: () => R): R;
  addOp(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): StepOperation;
}

function currentGraph(): StepGraph | undefined {
  return (currentInterpreter() as unknown as { graph?: StepGraph }).graph;
}

/** Runs `fn` with new operations after those in the list; eagerly just runs it. */
export function after(
  done: readonly (StepOperation | null)[],
  fn: () => StepOperation | null,
): StepOperation | null {
  const graph = currentGraph();
  const operations = done.filter((o) => o !== null);
  return graph ? graph.controlDependencies(operations, fn) : fn();
}

/** Adds an operation to the graph being built. */
export function addOperation(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): StepOperation {
  return currentGraph()!.addOp(def, inputs, attrs);
}

/** Adds an operation that only waits for the current control dependencies; null eagerly. */
export function group(): StepOperation | null {
  return currentGraph()?.addOp(lookupOp("NoOp")!, [], {}) ?? null;
}
