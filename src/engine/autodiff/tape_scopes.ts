/** Names of the operations that a tape's backward pass adds to a graph: `gradient_tape/`, then the scope of the forward op, as TensorFlow has them. */
import { currentInterpreter } from "../core/apply.ts";
import { NdArray } from "../core/nd_array.ts";
import { currentScope, withScope } from "../core/scope_context.ts";
import { MOST_FRAMES, withLongStacks } from "../core/throwing/user_stack.ts";
import type { AroundStep } from "./backprop.ts";

/** The part of a graph's interpreter that gives names; eager code has no graph. */
interface Naming {
  readonly graph?: { nameScope<R>(name: string, fn: () => R): R };
}

/** Runs a backward pass. The stack of what asked for it is taken once: many of the ops that it adds to a graph stand too far below. */
export function inBackwardPass<R>(fn: () => R): R {
  if ((currentInterpreter() as Naming).graph === undefined) return fn();
  const asked = currentScope().asked ?? withLongStacks(() => new Error(), MOST_FRAMES);
  return withScope({ asked }, () => inTapeScope("", fn));
}

/** Runs a part of a backward pass; `forward` is a scope of names, empty or with its last `/`. */
function inTapeScope<R>(forward: string, fn: () => R): R {
  const { graph } = currentInterpreter() as Naming;
  return graph === undefined ? fn() : graph.nameScope(`gradient_tape/${forward}`, fn);
}

/** Puts what the gradient of a step adds into the scope of the step. */
export const namedStep: AroundStep = (step, run) => {
  const first = step.kept.get("o0");
  const name = first === undefined || first instanceof NdArray || !first.isSymbolic
    ? ""
    : first.op.name;
  return inTapeScope(name.slice(0, name.lastIndexOf("/") + 1), run);
};
