/** Prepares vector kernels, which the table has by the kinds of ops. Modules of kernels bring it with them. */
import type { DType } from "../../core/dtype.ts";
import type { Meaning, MeaningKind } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { CompileRefused, Engine } from "./engine.ts";
import type { FastRun } from "./fast.ts";
import { fastPrepared } from "./fast_prepared.ts";
import { prepareInFloat32 } from "./in_float32.ts";
import { cpuKernels, type VectorCode } from "./kernel_table.ts";

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
  "copy",
  "elimination",
  "exchange",
  "fourier",
  "gather",
  "pointwise",
  "product",
  "quantised product",
  "scatter",
  "update",
]);

/** The code that kernels of all kinds need. */
export const code: VectorCode = {
  engine: ({ features, heap }) => new Engine(features, undefined, heap),
  prepare(engine, def, problem) {
    try {
      const fast = prepareFast(engine, def, problem);
      return fast && fastPrepared(engine.heap, fast, problem);
    } catch (e) {
      if (!(e instanceof CompileRefused)) throw e;
      warnOfLoops(def.name, e);
      return null;
    }
  },
};

/** Output of the warnings, and the ops they have named, for tests. */
export const loopsWarning: { write: (text: string) => void; readonly named: Set<string> } = {
  write: (text) => console.warn(text),
  named: new Set(),
};

/** Says once for each op that its kernel did not compile: its numbers are right, and slow. */
function warnOfLoops(op: string, { message, cause }: CompileRefused): void {
  if (loopsWarning.named.has(op)) return;
  loopsWarning.named.add(op);
  loopsWarning.write(
    `weft: ${op} runs in loops of JavaScript on the CPU, which is slower: ${message}: ${cause}`,
  );
}
