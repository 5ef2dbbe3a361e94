/**
 * What a vector kernel is: a function of addresses.
 */
import type { Problem } from "../../core/op.ts";
import type { Engine } from "./engine.ts";
import type { Pointer } from "./heap.ts";

/** Fills the outputs from the inputs, all of them blocks of the heap; host inputs are undefined. */
export interface FastRun {
  (outs: readonly Pointer[], ins: readonly Pointer[]): void;
  /** An input that it copies before it reads it. */
  readonly form?: FastForm | undefined;
}

/** How a kernel packs one of its inputs, so that one that stays as it is can be packed once. */
export interface FastForm extends PackedForm {
  readonly input: number;
  /** The kernel that finds it packed in its place. */
  readonly run: FastRun;
  /** True where that adds in another order. */
  readonly differs?: boolean | undefined;
}

/** A matrix in panels. */
export interface PackedForm {
  /** The same for those that are packed alike. */
  readonly key: string;
  readonly bytes: number;
  readonly pack: (to: Pointer, from: Pointer) => void;
}

/** Makes the kernel for a problem whose tensors all live in the heap, or null where it has none. */
export type FastPrepare = (engine: Engine, problem: Problem) => FastRun | null;
