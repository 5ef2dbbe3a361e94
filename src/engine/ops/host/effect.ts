/** Defines ops that the executor runs itself for their effects. */
import { defineOp, type OpDef, type OpInit } from "../../core/op.ts";

/** Defines an op that returns a handle. */
export function defineHandle(init: Omit<OpInit, "inputs" | "infer"> & Partial<OpInit>): OpDef {
  return defineOp({ inputs: [], infer: () => [[]], grad: null, ...init });
}

/** Defines an op that is never dropped and keeps its order in the program; it has no gradient by default. */
export function defineEffect(init: OpInit): OpDef {
  return defineOp({ grad: null, effects: "ordered", stateful: true, ...init });
}
