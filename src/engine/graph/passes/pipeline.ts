/** The passes of every plan after folding, in order; each can be disabled to locate a fault. */
import { traced } from "../../core/trace.ts";
import type { IrGraph } from "../ir.ts";
import { fuseAttention } from "./attention.ts";
import { cse } from "./cse.ts";
import { fuseEpilogues } from "./epilogue.ts";
import { foldIntoFilters } from "./filters.ts";
import { fuse } from "./fuse.ts";
import { groupAlike } from "./group.ts";
import { readHalves } from "./halves.ts";
import { mergePointwise } from "./merge.ts";
import { normalizeInProducts } from "./norms.ts";
import type { PassTarget } from "./pointwise_nodes.ts";
import { writeFromProducts } from "./product_writes.ts";
import { fuseReductions } from "./reductions.ts";
import { rewrite } from "./rewrite.ts";
import { verify } from "./verify.ts";
import { simplifyViews } from "./views.ts";

/** Names of all passes, in order. */
const NAMES = [
  "cse",
  "filters",
  "rewrite",
  "views",
  "attention",
  "halves",
  "fuse",
  "norms",
  "epilogue",
  "writes",
  "reductions",
  "merge",
  "group",
] as const;
export type PassName = typeof NAMES[number];

export const PASSES: Readonly<Record<PassName, (ir: IrGraph, target: PassTarget) => IrGraph>> = {
  cse,
  filters: foldIntoFilters,
  rewrite,
  views: simplifyViews,
  attention: fuseAttention,
  halves: readHalves,
  fuse,
  norms: normalizeInProducts,
  epilogue: fuseEpilogues,
  writes: writeFromProducts,
  reductions: fuseReductions,
  merge: mergePointwise,
  group: groupAlike,
};

/** Options of the pipeline, which tests change. */
export const pipelineOptions: {
  /** Enabled passes, by the device of most of a plan's nodes. */
  passes: Readonly<Record<PassTarget, readonly PassName[]>>;
  /** Verify the graph after each pass. */
  verify: boolean;
  /** Debugging hook: gets the graph before the first and after each pass. */
  trace: ((stage: string, ir: IrGraph) => void) | null;
} = {
  passes: {
    // The other passes help where dispatches are expensive, or where only the GPU has a kernel.
    CPU: [
      "cse",
      "filters",
      "rewrite",
      "views",
      "attention",
      "fuse",
      "epilogue",
      "reductions",
      "merge",
    ],
    GPU: NAMES,
  },
  verify: false,
  trace: null,
};

/** Verifies the result of a pass on `before`, if enabled. */
export function checked(ir: IrGraph, pass: string, before?: IrGraph): IrGraph {
  return pipelineOptions.verify ? verify(ir, pass, before) : ir;
}

/** Merges equal pure nodes, before all passes. */
export function mergeEqual(ir: IrGraph): IrGraph {
  return checked(cse(ir), "cse", ir);
}

/** Runs the enabled passes for a plan that runs mostly on `target`. */
export function runPasses(ir: IrGraph, target: PassTarget = "CPU"): IrGraph {
  const { passes, trace } = pipelineOptions;
  trace?.("built", ir);
  for (const name of passes[target]) {
    const before = ir;
    ir = traced({ name, category: "pass" }, () => PASSES[name](before, target));
    checked(ir, name, before);
    trace?.(name, ir);
  }
  return ir;
}
