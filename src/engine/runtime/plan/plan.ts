/** Plans: nodes placed on devices and ordered with one readback per host boundary. */
import type { Device } from "../../core/device.ts";
import { type Attrs, runsOnDevices } from "../../core/op.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../../graph/ir.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import {
  depthsOf,
  type DeviceType,
  type HostPlacing,
  inOrder,
  leavesGpu,
  needsHost,
  place,
} from "./place.ts";
import {
  cpuDevice,
  defaultDevice,
  devicesText,
  gpuDevice,
  isHere,
  isThisProcess,
  parseDevice,
} from "../devices/devices.ts";
import { handleOfNode } from "../run/run_context.ts";
import { tapeOnly } from "./tape_only.ts";
import type { SessionState } from "../run/session_state.ts";

/** A node ready to run. */
export interface PlanStep {
  readonly index: number;
  readonly node: IrNode;
  /** Attributes of the call: the node's, or others that do less. */
  readonly attrs: Attrs;
  readonly device: Device;
  readonly inputs: readonly number[];
  /** For each input, true where the op takes a host array. */
  readonly onHost: readonly boolean[];
  /** For each input, true where it must leave GPU memory before the step runs. */
  readonly offGpu: readonly boolean[];
  readonly outputs: readonly number[];
  /** Steps that must run before: control edges, and producers that may be pending. */
  readonly after: readonly number[];
  /** Steps that wait for this one. */
  readonly before: readonly number[];
  /** Slots that the steps of the same boundary read to the host; the first of them reads all it can in one copy. */
  readonly reads: readonly number[];
  /** False where no input needs to be read from GPU memory. */
  readonly mayRead: boolean;
  /** For each output, true where it is read. */
  readonly wanted: readonly boolean[];
  /** For each output, the only device whose kernels read it; null if others read it. */
  readonly sinks: readonly (Device | null)[];
}

/** A plan for one set of fetches and feeds. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  readonly slots: number;
  /** Values known from the start, by slot: host arrays, and handles of variables. */
  readonly constants: readonly { readonly slot: number; readonly value: NdArray | Tensor }[];
  readonly feeds: readonly number[];
  /** For each feed, the only device whose kernels read it; null if others read it. */
  readonly feedSinks: readonly (Device | null)[];
  /** Kind of each slot: 0 a result, or a feed that the run owns, 1 a constant, 2 a feed. */
  readonly kinds: Uint8Array;
  readonly fetches: readonly number[];
  /** Number of uses of each slot by steps and fetches. */
  readonly uses: readonly number[];
}

/** Debugging hook that gets each plan. */
export const planTrace: { print: ((plan: Plan) => void) | null } = { print: null };

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
  const { type: preferred } = defaultDevice();
  const gpu = gpuDevice();
  const types = place(ir, {
    preferred,
    required: requiredDevice,
    transfer: (gpu ?? cpuDevice()).transfer,
    host,
  });
  const runsOnGpu = (node: IrNode): boolean => types.get(node) === "GPU";
  const deviceOf = (node: IrNode): Device => (runsOnGpu(node) ? gpu! : cpuDevice());
  const depth = depthsOf(ir, runsOnGpu);
  const slotOf = new Map<IrValue, number>();
  let slots = 0;
  const constants: { slot: number; value: NdArray | Tensor }[] = [];
  const feeds: number[] = [], fed: IrValue[] = [];
  const stepOf = new Map<IrNode, number>();
  const planned: IrNode[] = [];
  for (const node of inOrder(ir, runsOnGpu, depth)) {
    for (const v of node.outputs) slotOf.set(v, slots++);
    if (node.feed >= 0) {
      feeds[node.feed] = slotOf.get(fed[node.feed] = node.outputs[0])!;
      continue;
    }
    const value = valueOf(node, state);
    if (value !== undefined) constants.push({ slot: slotOf.get(node.outputs[0])!, value });
    else {
      stepOf.set(node, planned.length);
      planned.push(node);
    }
  }
  const uses = new Array<number>(slots).fill(0);
  for (const node of planned) for (const v of node.inputs) uses[slotOf.get(v)!]++;
  for (const v of ir.fetches) uses[slotOf.get(v)!]++;
  const kinds = new Uint8Array(slots);
  for (const { slot } of constants) kinds[slot] = 1;
  if (!ownsFeeds) { for (const slot of feeds) kinds[slot] = 2; }
  const before: number[][] = planned.map(() => []);
  const reads = readsOfBoundaries(planned, runsOnGpu, depth, slotOf);
  const sinks = sinksOf(planned, ir.fetches, deviceOf);
  const { attrs: changed } = tapeOnly(ir, firstOrder);
  const steps = planned.map((node, index): PlanStep => {
    const after = new Set<number>();
    for (const c of node.controls) if (stepOf.has(c)) after.add(stepOf.get(c)!);
    for (const v of node.inputs) if (stepOf.has(v.node)) after.add(stepOf.get(v.node)!);
    for (const a of after) before[a].push(index);
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
      after: [...after],
      before: before[index],
      reads: reads.get(depth.get(node)!) ?? [],
      mayRead: node.inputs.some((v, i) =>
        offGpu[i] && (v.node.feed >= 0 || v.node.def.host || runsOnGpu(v.node))
      ),
      wanted: node.outputs.map((v) => uses[slotOf.get(v)!] > 0),
      sinks: node.outputs.map((v) => sinks.get(v) ?? null),
    };
  });
  const plan: Plan = {
    steps,
    slots,
    constants,
    feeds,
    feedSinks: fed.map((v) => sinks.get(v) ?? null),
    kinds,
    fetches: ir.fetches.map((v) => slotOf.get(v)!),
    uses,
  };
  planTrace.print?.(plan);
  return plan;
}

/** Returns the value of a node that is the same at every run. */
function valueOf(node: IrNode, state: SessionState | null): NdArray | Tensor | undefined {
  // A constant waits for nothing.
  if (node.def.meaning.kind === "constant") return node.attrs.value;
  return node.controls.length === 0 ? handleOfNode(node, state) : undefined;
}

/** Returns the device of each value that only its kernels read. */
function sinksOf(
  nodes: readonly IrNode[],
  fetches: readonly IrValue[],
  deviceOf: (node: IrNode) => Device,
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
  nodes: readonly IrNode[],
  runsOnGpu: (node: IrNode) => boolean,
  depth: ReadonlyMap<IrNode, number>,
  slotOf: ReadonlyMap<IrValue, number>,
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

/** Returns the device where a node must run: the requested one if able, the CPU if no other can; null for any. */
export function requiredDevice(node: IrNode): DeviceType | null {
  const gpu = gpuDevice();
  const able = gpu !== null && canRunOnGpu(node, gpu);
  if (node.device !== "") {
    const spec = parseDevice(node.device);
    if (spec.type === "GPU" && able && isHere(spec)) return "GPU";
    if (spec.type !== undefined) return "CPU";
  }
  // A device whose reads must be awaited cannot serve a synchronous read.
  return able && (gpu.canReadSync || node.def.host?.readsAtOnce?.(node.attrs) !== true)
    ? null
    : "CPU";
}

function canRunOnGpu(node: IrNode, gpu: Device): boolean {
  if (node.def.host) {
    // Function-valued and eager-style script ops run where their tensors are; the others run on the host.
    const takesTensors = node.def.hostInputs === undefined
      ? node.def.signature.inputArgs.length > 0
      : node.inputs.some((_, i) => !needsHost(node, i));
    return takesTensors &&
      node.inputs.every((v) =>
        v.dtype === "resource" || v.dtype === "variant" || gpu.supports(v.dtype)
      ) &&
      node.outputs.every((v) => v.dtype === "variant" || gpu.supports(v.dtype));
  }
  if (!runsOnDevices(node.def)) return false;
  return node.inputs.every((v, i) => needsHost(node, i) || gpu.supports(v.dtype)) &&
    node.outputs.every((v) => gpu.supports(v.dtype) && v.shape !== undefined);
}

/**
 * Checks before any computation that no node names another process and, unless placement is `soft`, that every node can
 * run on the device it names. Throws `InvalidArgumentError` otherwise.
 */
export function checkPlacement({ nodes }: IrGraph, soft: boolean): void {
  const gpu = gpuDevice();
  for (const node of nodes) {
    // Constants are wherever they are read.
    if (node.device === "" || node.feed >= 0 || isConstant(node)) continue;
    const spec = parseDevice(node.device);
    if (soft && isThisProcess(spec)) continue;
    const able = spec.type !== "GPU" || (gpu !== null && canRunOnGpu(node, gpu));
    if (able && isHere(spec)) continue;
    throw new InvalidArgumentError(
      `Cannot assign a device for operation ${node.name}: {{node ${node.name}}} was explicitly assigned to ${node.device} but available devices are ${devicesText()}, or the op has no kernel there. Make sure the device specification refers to a valid device.`,
      { op: node.def.name, node: node.name },
    );
  }
}
