/**
 * The passes every plan goes through after folding, in order; each can be switched off to find out which one is wrong.
 */
import { traced } from "../../core/trace.ts";
import type { IrGraph } from "../ir.ts";
import { fuseAttention } from "./attention.ts";
import { cse } from "./cse.ts";
import { fuseEpilogues } from "./epilogue.ts";
import { foldIntoFilters } from "./filters.ts";
import { fuse } from "./fuse.ts";
import { groupAlike } from "./group.ts";
import { mergePointwise } from "./merge.ts";
import type { PassTarget } from "./pointwise_nodes.ts";
import { fuseReductions } from "./reductions.ts";
import { rewrite } from "./rewrite.ts";
import { verify } from "./verify.ts";

/** Names of all passes, in their order. */
const NAMES = [
  "cse",
  "filters",
  "rewrite",
  "attention",
  "fuse",
  "epilogue",
  "reductions",
  "merge",
  "group",
] as const;
/** Name of a pass. */
export type PassName = typeof NAMES[number];

/** Passes by name. */
export const PASSES: Readonly<Record<PassName, (ir: IrGraph, target: PassTarget) => IrGraph>> = {
  cse,
  filters: foldIntoFilters,
  rewrite,
  attention: fuseAttention,
  fuse,
  epilogue: fuseEpilogues,
  reductions: fuseReductions,
  merge: mergePointwise,
  group: groupAlike,
};

/** What the pipeline does; tests change it. */
export const pipelineOptions: {
  /** Passes that are on, by the device on which most of a plan will run. */
  passes: Readonly<Record<PassTarget, readonly PassName[]>>;
  /** True: the graph is verified after each pass. */
  verify: boolean;
  /** Told of the graph before the first and after each pass. */
  trace: ((stage: string, ir: IrGraph) => void) | null;
} = {
  passes: {
    // The others pay where a dispatch has a price, or where only the GPU has a kernel.
    CPU: ["cse", "filters", "rewrite", "fuse", "epilogue", "reductions", "merge"],
    GPU: NAMES,
  },
  verify: false,
  trace: null,
};

/** What a pass made of `before`, verified where that is on. */
export function checked(ir: IrGraph, pass: string, before?: IrGraph): IrGraph {
  return pipelineOptions.verify ? verify(ir, pass, before) : ir;
}

/** The graph with equal pure nodes merged, for what comes before all passes. */
export function mergeEqual(ir: IrGraph): IrGraph {
  return checked(cse(ir), "cse", ir);
}

/** Runs the passes that are on, for plans of which most will run on `target`. */
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
