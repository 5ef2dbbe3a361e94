/**
 * Ops that the executor runs itself for what they do to things that are no tensors.
 */
import { defineOp, type OpDef, type OpInit } from "../../core/op.ts";

/** Defines an op that names a thing which is no tensor. */
export function defineHandle(init: Omit<OpInit, "inputs" | "infer"> & Partial<OpInit>): OpDef {
  return defineOp({ inputs: [], infer: () => [[]], grad: null, ...init });
}

/** Defines an op that is never dropped and keeps its place in the program; it has no gradient unless it says so. */
export function defineEffect(init: OpInit): OpDef {
  return defineOp({ grad: null, effects: "ordered", stateful: true, ...init });
}
