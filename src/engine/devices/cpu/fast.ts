/** Vector kernels: functions of addresses. */
import type { LevelMatrix } from "../../core/arrays/level_matrix.ts";
import type { Problem } from "../../core/op.ts";
import type { Engine } from "./engine.ts";
import type { Pointer } from "./heap.ts";

/** Fills the outputs from the inputs, all of them blocks of the heap; host inputs are undefined. */
export interface FastRun {
  (outs: readonly Pointer[], ins: readonly Pointer[]): void;
  /** An input that the output starts as a copy of. The kernel skips the copy where both have one address. */
  readonly onto?: number | undefined;
  /** An input that the kernel copies before it reads it. */
  readonly form?: FastForm | undefined;
}

/** The packing of a kernel's input: a constant input can be packed once. */
export interface FastForm extends PackedForm {
  readonly input: number;
  /** The kernel that reads the packed input. */
  readonly run: FastRun;
  /** True where that adds in another order. */
  readonly differs?: boolean | undefined;
  /** The packing of levels in its place. */
  readonly levels?: (PackedLevels & { readonly run: FastRun }) | undefined;
}

/** Levels in panels. */
export interface PackedLevels extends Omit<PackedForm, "pack"> {
  readonly pack: (to: Pointer, matrix: LevelMatrix) => void;
}

/** Returns a form with other kernels. */
export function formBy(form: FastForm, by: (run: FastRun) => FastRun): FastForm {
  const { levels } = form;
  return { ...form, run: by(form.run), levels: levels && { ...levels, run: by(levels.run) } };
}

/** A matrix in panels. */
export interface PackedForm {
  /** Equal for equal packings. */
  readonly key: string;
  readonly bytes: number;
  readonly pack: (to: Pointer, from: Pointer) => void;
}

/** Makes the kernel for a problem whose tensors all live in the heap, or returns null. */
export type FastPrepare = (engine: Engine, problem: Problem) => FastRun | null;
