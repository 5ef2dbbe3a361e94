/** The results of passes as text, for comparisons. */
import type * as tf from "@weft/weft";
import { Graph } from "@weft/weft";
import { buildIr } from "../../src/engine/graph/ir.ts";
import {
  PASSES,
  type PassName,
  pipelineOptions,
  runPasses,
} from "../../src/engine/graph/passes/pipeline.ts";
import type { PassTarget } from "../../src/engine/graph/passes/pointwise_nodes.ts";
import { irText } from "../../src/engine/graph/passes/verify.ts";
import { foldOrdinary } from "../../src/engine/runtime/plan/folder.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { fuseAll } from "../attention/fused.ts";

/** All passes. */
export const PASS_NAMES = Object.keys(PASSES) as PassName[];

/** Calls `fn` with these passes on and the graph verified after each. */
export function withPasses<R>(passes: readonly PassName[], fn: () => R): R {
  const before = { ...pipelineOptions };
  using _all = fuseAll();
  Object.assign(pipelineOptions, { passes: { CPU: passes, GPU: passes }, verify: true });
  try {
    return fn();
  } finally {
    Object.assign(pipelineOptions, before);
  }
}

/** Returns the graph of `build` after folding and passes: one node a line, without names. */
export function optimized(
  build: () => tf.Tensor | tf.Tensor[],
  passes: readonly PassName[] = PASS_NAMES,
  target: PassTarget = "CPU",
): string[] {
  const results = new Graph().asDefault(build);
  const fetches = (Array.isArray(results) ? results : [results]) as unknown as SymbolicTensor[];
  const text = withPasses(
    passes,
    () => irText(runPasses(foldOrdinary(buildIr({ fetches, targets: [], feeds: [] })), target)),
  );
  return text.split("\n").map((line) => line.replace(/ {2}#.*/, ""));
}
