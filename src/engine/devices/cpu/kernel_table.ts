/**
 * The CPU's vector kernels by the kinds of ops. `mod.ts` has all from the start (`all_kernels.ts`); pages of a bundler load kinds
 * when the CPU is awaited as a device or an op has missed them (`lazy_kernels.ts`).
 */
import type { PreparedKernel } from "../../core/device.ts";
import type { MeaningKind, MeaningOf } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { KernelTable } from "../../kernels/kernel_table.ts";
import type { Engine } from "./engine.ts";
import type { FastRun } from "./fast.ts";
import type { CpuMemory } from "./memory.ts";

/** Writes and runs the modules of kernels. */
export interface VectorCode {
  /** Makes an engine over a memory. */
  readonly engine: (memory: CpuMemory) => Engine;
  /** Prepares the vector kernel for a problem, or returns null. */
  readonly prepare: (engine: Engine, def: OpDef, problem: Problem) => PreparedKernel | null;
}

/** For each kind what makes the kernel of a problem whose tensors all live in the heap; null where there is none. */
export type CpuKernels =
  & {
    readonly [K in MeaningKind]: (
      engine: Engine,
      problem: Problem,
      meaning: MeaningOf<K>,
    ) => FastRun | null;
  }
  & {
    /** Comes with the kernels of any kind. */
    readonly code: VectorCode;
  };

/** The kernels of some kinds, with the code that all need. */
export type KernelsOf<K extends MeaningKind> = Pick<CpuKernels, K | "code">;

/** The fast kernels of the CPU; other ops run in plain loops. */
export const cpuKernels: KernelTable<CpuKernels> = /* @__PURE__ */ new KernelTable();
