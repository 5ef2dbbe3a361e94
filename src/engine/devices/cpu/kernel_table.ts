/**
 * The CPU's vector kernels by the kinds of ops. `mod.ts` has all from the start (`all_kernels.ts`); pages of a bundler load kinds
 * when the CPU is awaited as a device or an op has missed them (`lazy_kernels.ts`).
 */
import type { DType } from "../../core/dtype.ts";
import type { Meaning, MeaningKind, MeaningOf } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { KernelTable } from "../../kernels/kernel_table.ts";

import type { Engine } from "./engine.ts";
import { prepareInFloat32 } from "./in_float32.ts";
import type { FastRun } from "./fast.ts";

/** For each kind what makes the kernel of a problem whose tensors all live in the heap; null where there is none. */
export type CpuKernels = {
  readonly [K in MeaningKind]: (
    engine: Engine,
    problem: Problem,
    meaning: MeaningOf<K>,
  ) => FastRun | null;
};

/** The fast kernels of the CPU; other ops run in plain loops. */
export const cpuKernels: KernelTable<CpuKernels> = /* @__PURE__ */ new KernelTable();

/** Prepares the vector kernel for a problem, or returns null. */
export function prepareFast(
  engine: Engine,
  { meaning }: OpDef,
  problem: Problem,
): FastRun | null {
  if (!engine.features.simd) return null;
  const prepare = cpuKernels.get(meaning.kind) as
    | ((engine: Engine, problem: Problem, meaning: Meaning) => FastRun | null)
    | undefined;
  if (prepare === undefined) return null;
  const { inputs, outputs, hosts } = problem;
  const given = inputs.filter((_, i) => hosts[i] === undefined);
  if ([...given, ...outputs].every(({ dtype }) => OF_ALL.has(dtype))) {
    return prepare(engine, problem, meaning);
  }
  const own = OF_ALL_DTYPES.has(meaning.kind) ? prepare(engine, problem, meaning) : null;
  // Random numbers of float16 have their own steps, and rounded ones may reach 1.
  if (meaning.kind === "fill") return null;
  const pointwise = cpuKernels.get("pointwise");
  return own ?? (pointwise
    ? prepareInFloat32(
      engine,
      problem,
      (wide) => prepare(engine, wide, meaning),
      (cast, expr) => pointwise(engine, cast, { kind: "pointwise", exprs: () => [expr] }),
    )
    : null);
}

/** Dtypes that the kernels of all kinds know, or refuse. */
const OF_ALL: ReadonlySet<DType> = new Set(["float32", "int32", "uint32", "bool"]);
/** Kinds whose kernels look at dtypes beyond these. */
const OF_ALL_DTYPES: ReadonlySet<MeaningKind> = new Set([
  "elimination",
  "fourier",
  "pointwise",
  "product",
  "quantised product",
  "update",
]);
