/** Bodies of a SavedModel's signatures: functions that add their nodes to the graph being built. */
import type { Tensor } from "../../engine/core/tensor.ts";

/** Adds a signature's nodes; inputs and outputs are in the signature's order. */
export type SignatureBody = (...inputs: Tensor[]) => Tensor[];

/** Bodies by signature. */
export const SIGNATURE_BODIES: WeakMap<object, SignatureBody> = new WeakMap();
