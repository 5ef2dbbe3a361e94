/** makePlan: from a graph to a plan, in the steps that README.md draws. */
import type { Device } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { IrGraph, IrNode, IrValue } from "../../graph/ir.ts";
import { cpuDevice, defaultDevice, gpuDevice } from "../devices/devices.ts";
import { handleOfNode } from "../run/run_context.ts";
import type { SessionState } from "../run/session_state.ts";
import { depthsOf, type HostPlacing, inOrder, leavesGpu, needsHost, place } from "./place.ts";
import { type Plan, type PlanStep, planTrace } from "./plan.ts";
import { requiredDevice } from "./required_device.ts";
import { tapeOnly } from "./tape_only.ts";

export type { Plan, PlanStep } from "./plan.ts";
export { checkPlacement, requiredDevice } from "./required_device.ts";

/** Options of {@linkcode makePlan}. */
export interface PlanOptions {
  /** Values that are on the host, or wanted there. */
  readonly host?: HostPlacing | undefined;
  /** A run owns its feeds, and may change, return and free them. */
  readonly ownsFeeds?: boolean;
  /** The session state that the plan is for; null, the default, without a session. */
  readonly state?: SessionState | null | undefined;
  /** The fetches are for a first gradient alone. */
  readonly firstOrder?: boolean;
}

/** Makes a plan. An op that the requested device cannot run goes elsewhere. */
export function makePlan(
  ir: IrGraph,
  { host, ownsFeeds = false, state = null, firstOrder = false }: PlanOptions = {},
): Plan {
  const placement = placed(ir, host);
  const numbering = numbered(ir, placement, state);
  const { slotOf, fed, constants } = numbering;
  const uses = usesOf(numbering, ir.fetches);
  const sinks = sinksOf(numbering.nodes, ir.fetches, placement);
  const feeds = fed.map((v) => slotOf.get(v)!);
  const plan: Plan = {
    steps: stepsOf(ir, { placement, numbering, uses, sinks, firstOrder }),
    slots: slotOf.size,
    constants,
    feeds,
    feedSinks: fed.map((v) => sinks.get(v) ?? null),
    kinds: kindsOf(slotOf.size, constants, ownsFeeds ? [] : feeds),
    fetches: ir.fetches.map((v) => slotOf.get(v)!),
    uses,
  };
  planTrace.print?.(plan);
  return plan;
}

/** Devices of nodes, and their boundaries. */
interface Placement {
  readonly runsOnGpu: (node: IrNode) => boolean;
  readonly deviceOf: (node: IrNode) => Device;
  /** Number of boundaries before each node. */
  readonly depth: ReadonlyMap<IrNode, number>;
}

/** Chooses a device for each node. */
function placed(ir: IrGraph, host: HostPlacing | undefined): Placement {
  const gpu = gpuDevice(), { type: preferred } = defaultDevice();
  const { transfer } = gpu ?? cpuDevice();
  const types = place(ir, { preferred, required: requiredDevice, transfer, host });
  const runsOnGpu = (node: IrNode): boolean => types.get(node) === "GPU";
  return {
    runsOnGpu,
    deviceOf: (node) => runsOnGpu(node) ? gpu! : cpuDevice(),
    depth: depthsOf(ir, runsOnGpu),
  };
}

/** Slots of values, and indices of steps. */
interface Numbering {
  readonly slotOf: ReadonlyMap<IrValue, number>;
  /** The nodes that are steps, by index. */
  readonly nodes: readonly IrNode[];
  readonly stepOf: ReadonlyMap<IrNode, number>;
  readonly constants: Plan["constants"];
  /** The value of each feed. */
  readonly fed: readonly IrValue[];
}

/** Orders nodes, and gives each value a slot and each computing node an index. */
function numbered(
  ir: IrGraph,
  { runsOnGpu, depth }: Placement,
  state: SessionState | null,
): Numbering {
  const slotOf = new Map<IrValue, number>(), stepOf = new Map<IrNode, number>();
  const nodes: IrNode[] = [], fed: IrValue[] = [];
  const constants: { slot: number; value: NdArray | Tensor }[] = [];
  for (const node of inOrder(ir, runsOnGpu, depth)) {
    for (const v of node.outputs) slotOf.set(v, slotOf.size);
    if (node.feed >= 0) {
      fed[node.feed] = node.outputs[0];
      continue;
    }
    const value = valueOf(node, state);
    if (value !== undefined) constants.push({ slot: slotOf.get(node.outputs[0])!, value });
    else stepOf.set(node, nodes.push(node) - 1);
  }
  return { slotOf, nodes, stepOf, constants, fed };
}

/** Returns the value of a node that is the same at every run. */
function valueOf(node: IrNode, state: SessionState | null): NdArray | Tensor | undefined {
  // A constant waits for nothing.
  if (node.def.meaning.kind === "constant") return node.attrs.value;
  return node.controls.length === 0 ? handleOfNode(node, state) : undefined;
}

/** Counts the uses of each slot by steps and fetches. */
function usesOf({ nodes, slotOf }: Numbering, fetches: readonly IrValue[]): number[] {
  const uses = new Array<number>(slotOf.size).fill(0);
  for (const node of nodes) for (const v of node.inputs) uses[slotOf.get(v)!]++;
  for (const v of fetches) uses[slotOf.get(v)!]++;
  return uses;
}

/** Returns {@linkcode Plan.kinds}; `feeds` are those that stay the caller's. */
function kindsOf(
  slots: number,
  constants: Plan["constants"],
  feeds: readonly number[],
): Uint8Array {
  const kinds = new Uint8Array(slots);
  for (const { slot } of constants) kinds[slot] = 1;
  for (const slot of feeds) kinds[slot] = 2;
  return kinds;
}

/** Returns the device of each value that only its kernels read. */
function sinksOf(
  nodes: readonly IrNode[],
  fetches: readonly IrValue[],
  { deviceOf }: Placement,
): Map<IrValue, Device | null> {
  const sinks = new Map<IrValue, Device | null>(fetches.map((v) => [v, null]));
  for (const node of nodes) {
    node.inputs.forEach((v, i) => {
      const device = node.def.host || needsHost(node, i) ? null : deviceOf(node);
      sinks.set(v, !sinks.has(v) || sinks.get(v) === device ? device : null);
    });
  }
  return sinks;
}

/** Collects the host reads of each depth: they form one boundary. */
function readsOfBoundaries(
  { nodes, slotOf }: Numbering,
  { runsOnGpu, depth }: Placement,
): Map<number, number[]> {
  const byDepth = new Map<number, number[]>();
  const seen = new Set<number>();
  for (const node of nodes) {
    node.inputs.forEach((v, i) => {
      const slot = slotOf.get(v)!;
      if (seen.has(slot) || !runsOnGpu(v.node) || !leavesGpu(node, i, runsOnGpu)) return;
      seen.add(slot);
      const d = depth.get(node)!, list = byDepth.get(d);
      if (list) list.push(slot);
      else byDepth.set(d, [slot]);
    });
  }
  return byDepth;
}

/** Returns for each step the steps that must run before it, and those that wait for it. */
function edgesOf({ nodes, stepOf }: Numbering): { after: number[][]; before: number[][] } {
  const before: number[][] = nodes.map(() => []);
  const after = nodes.map(({ controls, inputs }, index) => {
    const own = new Set<number>();
    for (const node of [...controls, ...inputs.map((v) => v.node)]) {
      const step = stepOf.get(node);
      if (step !== undefined) own.add(step);
    }
    for (const a of own) before[a].push(index);
    return [...own];
  });
  return { after, before };
}

function stepsOf(
  ir: IrGraph,
  { placement, numbering, uses, sinks, firstOrder }: {
    readonly placement: Placement;
    readonly numbering: Numbering;
    readonly uses: readonly number[];
    readonly sinks: ReadonlyMap<IrValue, Device | null>;
    readonly firstOrder: boolean;
  },
): PlanStep[] {
  const { runsOnGpu, deviceOf, depth } = placement, { slotOf, nodes } = numbering;
  const { after, before } = edgesOf(numbering);
  const reads = readsOfBoundaries(numbering, placement);
  const { attrs: changed } = tapeOnly(ir, firstOrder);
  return nodes.map((node, index): PlanStep => {
    const offGpu = node.inputs.map((_, i) => leavesGpu(node, i, runsOnGpu));
    return {
      index,
      node,
      attrs: changed.get(node) ?? node.attrs,
      device: deviceOf(node),
      inputs: node.inputs.map((v) => slotOf.get(v)!),
      onHost: node.inputs.map((_, i) => needsHost(node, i)),
      offGpu,
      outputs: node.outputs.map((v) => slotOf.get(v)!),
      after: after[index],
      before: before[index],
      reads: reads.get(depth.get(node)!) ?? [],
      mayRead: node.inputs.some((v, i) =>
        offGpu[i] && (v.node.feed >= 0 || v.node.def.host || runsOnGpu(v.node))
      ),
      wanted: node.outputs.map((v) => uses[slotOf.get(v)!] > 0),
      sinks: node.outputs.map((v) => sinks.get(v) ?? null),
    };
  });
}
