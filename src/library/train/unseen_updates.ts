/**
 * Updates of variables that bodies of scripts read unseen: only a run of the graph knows which ones, so one operation
 * updates them all.
 */
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import type { Resource } from "../../engine/core/graph_node.ts";
import type { OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { gradientsIn, UnseenGradient } from "../../engine/autodiff/unseen.ts";
import { type RunCall, withinRun } from "../../engine/runtime/run/run_context.ts";
import { addOperation, type StepOperation } from "./step_graph.ts";
import { defineEffect } from "../../engine/ops/host/effect.ts";

/** Updates variables by their gradients, eagerly. */
export type Update = (gradients: readonly (readonly [Resource, Tensor])[]) => void;

const ApplyUnseen: OpDef = defineEffect({
  name: "ApplyUnseen",
  portable: { never: "it reads gradients of variables that scripts used unseen" },
  inputs: ["gradients: variant"],
  outputs: [],
  attrs: ["_update: script = null"],
  infer: () => [],
  host: { run: updateUnseen },
});

function updateUnseen({ inputs, attrs, node, context }: RunCall): [] {
  const found = [...gradientsIn(inputs[0])], update = attrs._update as Update | null;
  if (update) withinRun(context, () => update(found));
  else if (found.length > 0) {
    throw new FailedPreconditionError(
      `Cannot update '${
        found[0][0].sharedName
      }', which a script has read: the optimizer of ${node} is not in the GraphDef it was imported from`,
      { op: "ApplyUnseen", node },
    );
  }
  return [];
}

/** Adds an operation that passes the gradients in a map to `update` at each run. */
export function applyUnseen(map: Tensor, update: Update): StepOperation {
  return addOperation(ApplyUnseen, [map], { _update: update });
}

/** Returns the map that a gradient comes from; null for any other gradient. */
export function unseenIn(gradient: Tensor): Tensor | null {
  return gradient.isSymbolic && gradient.op.def === UnseenGradient ? gradient.op.inputs[0] : null;
}
