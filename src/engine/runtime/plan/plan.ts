/**
 * Plans: nodes placed on devices and put in an order with one readback per host boundary.
 */
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
  /** Attributes of the call: those of the node, or others that do less. */
  readonly attrs: Attrs;
  readonly device: Device;
  readonly inputs: readonly number[];
  /** Whether the op takes each input as a host array. */
  readonly onHost: readonly boolean[];
  /** Whether each input must be out of GPU memory before the step runs. */
  readonly offGpu: readonly boolean[];
  readonly outputs: readonly number[];
  /** Steps that must have run: control edges, and producers that may be pending. */
  readonly after: readonly number[];
  /** Steps that wait for this one. */
  readonly before: readonly number[];
  /** Slots that the steps of the same boundary read to the host: the first of them to run reads all it can, in one copy. */
  readonly reads: readonly number[];
  /** False where no input can be in GPU memory that must not be. */
  readonly mayRead: boolean;
  /** Whether somebody reads each output. */
  readonly wanted: readonly boolean[];
  /** The device whose kernels alone read each output; null where others read it. */
  readonly sinks: readonly (Device | null)[];
}

/** A plan for one set of fetches and feeds. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  readonly slots: number;
  /** Values known from the start, by slot: host arrays, and handles of variables. */
  readonly constants: readonly { readonly slot: number; readonly value: NdArray | Tensor }[];
  readonly feeds: readonly number[];
  /** The device whose kernels alone read each feed; null where others read it. */
  readonly feedSinks: readonly (Device | null)[];
  /** What each slot holds: 0 a result, or a feed that is the run's own, 1 a constant, 2 a feed. */
  readonly kinds: Uint8Array;
  readonly fetches: readonly number[];
  /** Uses of each slot by steps and fetches. */
  readonly uses: readonly number[];
}

/** Told of each plan; for debugging. */
export const planTrace: { print: ((plan: Plan) => void) | null } = { print: null };

/** Options of {@linkcode makePlan}. */
export interface PlanOptions {
  /** The values that are on the host, or are wanted there. */
  readonly host?: HostPlacing | undefined;
  /** True: the feeds of a run are its own, to be changed, handed on and freed. */
  readonly ownsFeeds?: boolean;
  /** The state of the session that the plan is for; null, the default, where none runs it. */
  readonly state?: SessionState | null | undefined;
  /** True: what is fetched is for a first gradient alone. */
  readonly firstOrder?: boolean;
}

/** Makes a plan. An op that cannot run on the device asked for runs elsewhere. */
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

/** The value of a node that is the same at every run. */
function valueOf(node: IrNode, state: SessionState | null): NdArray | Tensor | undefined {
  // A constant waits for nothing.
  if (node.def.meaning.kind === "constant") return node.attrs.value;
  return node.controls.length === 0 ? handleOfNode(node, state) : undefined;
}

/** The device of each value that nothing but its kernels reads. */
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

/** What the steps of each depth read to the host: they make one boundary. */
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

/** Where a node must run: where it was asked for, if it can; on the CPU, if it can run nowhere else; null where it may choose. */
export function requiredDevice(node: IrNode): DeviceType | null {
  const gpu = gpuDevice();
  const able = gpu !== null && canRunOnGpu(node, gpu);
  if (node.device !== "") {
    const spec = parseDevice(node.device);
    if (spec.type === "GPU" && able && isHere(spec)) return "GPU";
    if (spec.type !== undefined) return "CPU";
  }
  // What is to be read at once cannot be where reads must be awaited.
  return able && (gpu.canReadSync || node.def.host?.readsAtOnce?.(node.attrs) !== true)
    ? null
    : "CPU";
}

function canRunOnGpu(node: IrNode, gpu: Device): boolean {
  if (node.def.host) {
    // Function-valued and eager-style script ops run where their tensors are; the others are the host's.
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
 * Checks that no node asks for another process, and unless placement is `soft` that every node can run on the device it asks for,
 * before anything is computed beforehand. Throws `InvalidArgumentError` for one that cannot.
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
