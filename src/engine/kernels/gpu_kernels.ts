/** The type of the GPU's kernels by the kinds of ops. */
import type { GpuVariant } from "../core/dispatch.ts";
import type { MeaningKind, MeaningOf } from "../core/meaning.ts";
import type { OpDef } from "../core/op.ts";

/** For each kind the variants of an op, tried in order. */
export type GpuKernels = {
  readonly [K in MeaningKind]: (meaning: MeaningOf<K>, def: OpDef) => readonly GpuVariant[];
};
