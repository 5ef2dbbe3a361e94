/**
 * Resource-variable ops: handle, read, assign.
 */
import type { OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import { defineEffect, defineHandle } from "../host/effect.ts";

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
});

/** The value a variable holds now. */
export const ReadVariableOp: OpDef = defineEffect({
  name: "ReadVariableOp",
  inputs: ["resource: resource"],
  outputs: ["value: dtype"],
  attrs: ["dtype: type", "_shape: shape = null"],
  infer: (_, { _shape }) => [_shape],
  grad: { saves: [], passesOn: true, vjp: (_, [dy]) => [dy] },
});

function assignOp(name: string): OpDef {
  return defineEffect({
    name,
    inputs: ["resource: resource", "value: dtype"],
    outputs: [],
    attrs: ["dtype: type", "_shape: shape = null"],
    infer: ([, value], { _shape }) => {
      mergeShapes(_shape, value.shape);
      return [];
    },
  });
}

/** Replaces the value. */
export const AssignVariableOp: OpDef = assignOp("AssignVariableOp");
/** Adds to the value. */
export const AssignAddVariableOp: OpDef = assignOp("AssignAddVariableOp");
/** Subtracts from the value. */
export const AssignSubVariableOp: OpDef = assignOp("AssignSubVariableOp");

/** True where a variable has a value. */
export const VarIsInitializedOp: OpDef = defineEffect({
  name: "VarIsInitializedOp",
  inputs: ["resource: resource"],
  outputs: ["is_initialized: bool"],
  infer: () => [[]],
});
