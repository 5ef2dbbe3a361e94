/**
 * What a vector kernel is: a function of addresses.
 */
import type { Problem } from "../../core/op.ts";
import type { Engine } from "./engine.ts";
import type { Pointer } from "./heap.ts";

/** Fills the outputs from the inputs, all of them blocks of the heap; host inputs are undefined. */
export type FastRun = (outs: readonly Pointer[], ins: readonly Pointer[]) => void;

/** Makes the kernel for a problem whose tensors all live in the heap, or null where it has none. */
export type FastPrepare = (engine: Engine, problem: Problem) => FastRun | null;
