/**
 * Runs TensorFlow's update ops: reads the variables behind the handles, applies the pure update, assigns.
 */
import { apply, type OpInput } from "../core/apply.ts";
import { FailedPreconditionError, UnimplementedError } from "../core/errors.ts";
import { resourceOf } from "../core/graph_node.ts";
import { NdArray, setElement } from "../core/nd_array.ts";
import type { Attrs } from "../core/op.ts";
import { Tensor } from "../core/tensor.ts";
import { RESOURCE_UPDATES, type ResourceUpdate } from "../ops/state/resource_updates.ts";
import { setHostRunner } from "../runtime/eager/eager.ts";
import { setHostOp } from "../runtime/session/run_context.ts";
import { type EagerTensor, tidy } from "../runtime/eager/tensor.ts";
import type { VariableState } from "../runtime/variables/variable_state.ts";

function run(update: ResourceUpdate, inputs: readonly OpInput[], attrs: Attrs): void {
  if (attrs.update_slots === false) {
    throw new UnimplementedError(`Cannot run ${update.def.name} with update_slots = false`, {
      op: update.def.name,
    });
  }
  const states = inputs.slice(0, update.handles).map((handle) => stateOf(handle, update.def.name));
  const named = Object.fromEntries(update.scalars.map(([name, i]) => [name, numberOf(inputs[i])]));
  const plan = update.plan(named, attrs);
  const { dtype } = states[0];
  const scalars = plan.scalars.map((value) => {
    const literal = NdArray.zeros(dtype, []);
    setElement(literal, 0, value);
    return literal;
  });
  tidy(() => {
    const next = apply(update.pure, [
      ...states.map((s) => s.value),
      ...scalars,
      inputs[update.gradient],
    ], plan.attrs);
    states.forEach((s, i) => s.assign(next[i] as EagerTensor));
  });
}

function stateOf(handle: OpInput, op: string): VariableState {
  const state = handle instanceof Tensor
    ? resourceOf(handle) as VariableState | undefined
    : undefined;
  if (!state) {
    throw new FailedPreconditionError(`Cannot run ${op}: a handle has no variable behind it`, {
      op,
    });
  }
  return state;
}

function numberOf(x: OpInput): number {
  return Number((x instanceof NdArray ? x : x.ndarraySync()).at(0));
}

for (const update of RESOURCE_UPDATES) {
  setHostRunner(update.def, (inputs, attrs) => {
    run(update, inputs, attrs);
    return [];
  });
  setHostOp(update.def.name, ({ inputs, attrs }) => {
    run(update, inputs, attrs);
    return [];
  });
}
