/** Reads of variables in graphs. */
import { lookupOp } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import type { Spec } from "../core/tensor_spec.ts";
import type { SymbolicTensor } from "./operation.ts";

/** Adds a read of a variable outside the scopes of the calling code. */
export function addRead(
  handle: SymbolicTensor,
  { dtype, shape }: Pick<Spec, "dtype" | "shape">,
): SymbolicTensor {
  const attrs = { dtype, _shape: shape };
  return withScope(
    { opName: null, device: null },
    () => handle.graph.addOp(lookupOp("ReadVariableOp")!, [handle], attrs).outputs[0],
  );
}
