/** The CPU's kernels for the graphs of functions, in pages that load them when they are needed. */
import { mapNest, type Nest } from "../../core/nest.ts";
import type { OpDef } from "../../core/op.ts";
import { bodiesOf, type FuncGraph } from "../../graph/func_graph.ts";
import { FusedAttention } from "../../ops/rows/attention.ts";
import { getBackend, hasCpuKernels, loadCpuKernels } from "../devices/devices.ts";
import { dispose, EagerTensor } from "../eager/tensor.ts";

/** A graph on a device, null for the default one, and the values that it runs on. */
export interface GraphCall<V> {
  /** The graph, made where kernels may be missing. */
  readonly graph: () => FuncGraph;
  readonly device: string | null;
  readonly values: V;
}

/** Calls `run` once a page has loaded the CPU's kernels for a graph that runs there. The values stay alive until then. */
export async function onceLoaded<V, R>(
  { graph, device, values }: GraphCall<V>,
  run: (values: V) => Promise<R>,
): Promise<R> {
  const isOnCpu = device?.includes("CPU") ?? getBackend() === "cpu";
  if (!isOnCpu || hasCpuKernels()) return await run(values);
  const defs = [...opsWithin(graph())];
  // A plan makes attention of it.
  const made = defs.some(({ name }) => name === "Softmax") ? [FusedAttention] : [];
  const loading = loadCpuKernels([...defs, ...made].map(({ meaning }) => meaning));
  const held = mapNest((t) => t instanceof EagerTensor ? t.hold() : t, values as Nest<unknown>);
  try {
    await loading;
    return await run(held as V);
  } finally {
    dispose(held);
  }
}

/** Returns the ops of a graph, and of the functions that it calls. */
function opsWithin(graph: FuncGraph, found: Set<OpDef> = new Set()): Set<OpDef> {
  for (const op of graph.operations) {
    found.add(op.def);
    for (const body of bodiesOf(op)) opsWithin(body, found);
  }
  return found;
}
