/** The ops of resource variables: handle, read, assign. They run in eager mode and as steps of plans. */
import type { OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { hostEffect } from "../../core/contract/host_op.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { defineEffect, defineHandle } from "../../ops/host/effect.ts";
import { add, sub } from "../../ops/pointwise/arithmetic.ts";
import { cpuDevice, defaultDevice } from "../devices/devices.ts";
import { isolated } from "../eager/isolated.ts";
import { constantTensor } from "../eager/eager.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { noteRead, readsAreFollowed } from "./variable_reads.ts";
import { VariableHandle, type VariableState } from "./variable_state.ts";

/** Returns the state of a handle. Throws `InvalidArgumentError` for other values, and for another dtype. */
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

/** Names a variable inside a graph. */
export const VarHandleOp: OpDef = defineHandle({
  name: "VarHandleOp",
  outputs: ["resource: resource"],
  attrs: [
    "dtype: type",
    "shape: shape = null",
    'shared_name: string = ""',
    'container: string = ""',
    "_resource: resource = null",
  ],
  host: { state: (attrs) => attrs._resource },
});

/** Reads the current value of a variable. */
export const ReadVariableOp: OpDef = defineEffect({
  name: "ReadVariableOp",
  inputs: ["resource: resource"],
  outputs: ["value: dtype"],
  attrs: ["dtype: type", "_shape: shape = null"],
  infer: (_, { _shape }) => [_shape],
  grad: { saves: [], passesOn: true, vjp: (_, [dy]) => [dy] },
  host: {
    repeatable: true,
    run: ({ inputs, attrs }) => [stateOf(inputs[0], attrs.dtype).read()],
    eager: ([handle], attrs) => readNow(handle, attrs),
  },
});

function readNow(handle: OpInput, attrs: Attrs): Tensor[] {
  const state = stateOf(handle);
  if (attrs._shared && !readsAreFollowed()) return [state.value];
  return [noteRead(state.read(), handle, ReadVariableOp, attrs)];
}

function assignOp(name: string, run: (state: VariableState, value: OpInput) => void): OpDef {
  return defineEffect({
    name,
    inputs: ["resource: resource", "value: dtype"],
    outputs: [],
    attrs: ["dtype: type", "_shape: shape = null"],
    infer: ([, value], { _shape }) => {
      mergeShapes(_shape, value.shape);
      return [];
    },
    host: hostEffect(([handle, value]) => run(stateOf(handle), value)),
  });
}

export const AssignVariableOp: OpDef = assignOp("AssignVariableOp", assign);
export const AssignAddVariableOp: OpDef = assignOp(
  "AssignAddVariableOp",
  (state, value) => combine(state, value, add),
);
export const AssignSubVariableOp: OpDef = assignOp(
  "AssignSubVariableOp",
  (state, value) => combine(state, value, sub),
);

/** True where a variable has a value. */
export const VarIsInitializedOp: OpDef = defineEffect({
  name: "VarIsInitializedOp",
  inputs: ["resource: resource"],
  outputs: ["is_initialized: bool"],
  infer: () => [[]],
  host: {
    run: ({ inputs: [handle] }) => [isInitialized(handle)],
    eager: ([handle]) => [outsideScopes(() => constantTensor(isInitialized(handle), cpuDevice()))],
  },
});

function assign(state: VariableState, value: OpInput): void {
  if (value instanceof EagerTensor) return state.assign(value);
  const t = outsideScopes(() => constantTensor(value as NdArray, state.home ?? defaultDevice()));
  state.assign(t);
  t.dispose();
}

/** Replaces the value by the result of `fn` on the variable's device. */
function combine(
  state: VariableState,
  value: OpInput,
  fn: (a: Tensor, b: OpInput) => Tensor,
): void {
  const { name } = state.value.storage.device;
  const next = isolated({ device: name }, () => fn(state.value, value)) as EagerTensor;
  state.assign(next);
  next.dispose();
}

function isInitialized(handle: OpInput): NdArray {
  return new NdArray("bool", [], Uint8Array.of(stateOf(handle).storage === null ? 0 : 1));
}
