/**
 * How the ops of variables run: eagerly, and as steps of plans.
 */
import type { OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import {
  AssignAddVariableOp,
  AssignSubVariableOp,
  AssignVariableOp,
  ReadVariableOp,
  VarHandleOp,
  VarIsInitializedOp,
} from "../../ops/state/variable.ts";
import { add, sub } from "../../ops/pointwise/arithmetic.ts";
import { cpuDevice, defaultDevice } from "../devices/devices.ts";
import { aside } from "../eager/aside.ts";
import { constantTensor, setHostRunner } from "../eager/eager.ts";
import { setHostEffect, setHostOp, setStateOp } from "../run/run_context.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { noteRead, readsAreFollowed } from "./variable_reads.ts";
import { VariableHandle, type VariableState } from "./variable_state.ts";

/** The state behind a handle. Throws `InvalidArgumentError` for what is none, and where the op wants another dtype. */
export function stateOf(x: OpInput, dtype?: DType): VariableState {
  if (!(x instanceof VariableHandle)) {
    throw new InvalidArgumentError("Cannot use a variable: its handle is none");
  }
  const { resource } = x;
  if (dtype !== undefined && dtype !== resource.dtype) {
    throw new InvalidArgumentError(
      `Trying to read variable ${resource.sharedName} with wrong dtype. Expected ${resource.dtype} got ${dtype}`,
    );
  }
  return resource;
}

setHostRunner(ReadVariableOp, ([handle], attrs) => {
  const state = stateOf(handle);
  if (attrs._shared && !readsAreFollowed()) return [state.value];
  return [noteRead(state.read(), handle, ReadVariableOp, attrs)];
});
setHostOp(ReadVariableOp.name, ({ inputs, attrs }) => [stateOf(inputs[0], attrs.dtype).read()]);

setHostEffect(AssignVariableOp, ([handle, value]) => {
  const state = stateOf(handle);
  if (value instanceof EagerTensor) return state.assign(value);
  const t = outsideScopes(() => constantTensor(value as NdArray, state.home ?? defaultDevice()));
  state.assign(t);
  t.dispose();
});
setHostEffect(AssignAddVariableOp, ([handle, value]) => combine(stateOf(handle), value, add));
setHostEffect(AssignSubVariableOp, ([handle, value]) => combine(stateOf(handle), value, sub));

/** Replaces the value by what `fn` makes of it, where the variable lives. */
function combine(
  state: VariableState,
  value: OpInput,
  fn: (a: Tensor, b: OpInput) => Tensor,
): void {
  const { name } = state.value.storage.device;
  const next = aside({ device: name }, () => fn(state.value, value)) as EagerTensor;
  state.assign(next);
  next.dispose();
}

setStateOp(VarHandleOp.name, (attrs) => attrs._resource);

const isInitialized = (handle: OpInput): NdArray =>
  new NdArray("bool", [], Uint8Array.of(stateOf(handle).storage === null ? 0 : 1));
setHostRunner(
  VarIsInitializedOp,
  ([handle]) => [outsideScopes(() => constantTensor(isInitialized(handle), cpuDevice()))],
);
setHostOp(VarIsInitializedOp.name, ({ inputs: [handle] }) => [isInitialized(handle)]);
