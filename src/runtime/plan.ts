/**
 * Plans: nodes placed on devices and put in an order with one readback per host boundary.
 * May import core, graph and devices.
 */
import { argOfInput } from "../core/op.ts";
import type { Device } from "../core/device.ts";
import type { IrGraph, IrNode, IrValue } from "../graph/ir.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import { DTYPES } from "../core/dtype.ts";
import type { NdArray } from "../core/nd_array.ts";
import { isLocal } from "./run_context.ts";
import { cpuDevice, defaultDevice, gpuDevice, isHere, parseDevice } from "./devices.ts";

/** A node ready to run. */
export interface PlanStep {
  /** Position in the plan. */
  readonly index: number;
  /** The node. */
  readonly node: IrNode;
  /** Where it runs. */
  readonly device: Device;
  /** Slots of its inputs. */
  readonly inputs: readonly number[];
  /** Whether the op takes each input as a host array. */
  readonly onHost: readonly boolean[];
  /** Whether each input must be out of GPU memory before the step runs. */
  readonly offGpu: readonly boolean[];
  /** Slots of its outputs. */
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
}

/** A plan for one set of fetches and feeds. */
export interface Plan {
  /** Steps in order. */
  readonly steps: readonly PlanStep[];
  /** Number of value slots. */
  readonly slots: number;
  /** Values known from the start: slot and constant. */
  readonly constants: readonly { readonly slot: number; readonly value: NdArray }[];
  /** Slot per feed. */
  readonly feeds: readonly number[];
  /** What each slot holds: 0 a result, 1 a constant, 2 a feed. */
  readonly kinds: Uint8Array;
  /** Slot per fetch. */
  readonly fetches: readonly number[];
  /** Uses of each slot by steps and fetches. */
  readonly uses: readonly number[];
}

/** Told of each plan; for debugging. */
export const planTrace: { print: ((plan: Plan) => void) | null } = { print: null };

/** Makes a plan. An op that cannot run on the device asked for runs elsewhere. */
export function makePlan(ir: IrGraph): Plan {
  const device = new Map<IrNode, Device>();
  for (const node of ir.nodes) {
    device.set(node, placeNode(node, device));
  }
  moveViewsOfFeeds(ir.nodes, device);
  const depth = new Map<IrNode, number>();
  for (const node of ir.nodes) depth.set(node, depthOf(node, device, depth));
  const onGpu = (n: IrNode): number => (runsOnGpu(n, device) ? 1 : 0);
  const order = ir.nodes.map((node, i) => ({ node, i }));
  order.sort((a, b) =>
    depth.get(a.node)! - depth.get(b.node)! || onGpu(a.node) - onGpu(b.node) || a.i - b.i
  );

  const slotOf = new Map<IrValue, number>();
  let slots = 0;
  const constants: { slot: number; value: NdArray }[] = [];
  const feeds: number[] = [];
  const stepOf = new Map<IrNode, number>();
  const planned: IrNode[] = [];
  for (const { node } of order) {
    for (const v of node.outputs) slotOf.set(v, slots++);
    if (node.feed >= 0) feeds[node.feed] = slotOf.get(node.outputs[0])!;
    else if (node.def.name === "Const") {
      constants.push({ slot: slotOf.get(node.outputs[0])!, value: node.attrs.value });
    } else {
      stepOf.set(node, planned.length);
      planned.push(node);
    }
  }
  const uses = new Array<number>(slots).fill(0);
  for (const node of planned) for (const v of node.inputs) uses[slotOf.get(v)!]++;
  for (const v of ir.fetches) uses[slotOf.get(v)!]++;
  const kinds = new Uint8Array(slots);
  for (const { slot } of constants) kinds[slot] = 1;
  for (const slot of feeds) kinds[slot] = 2;
  const before: number[][] = planned.map(() => []);
  const reads = readsOfBoundaries(planned, device, depth, slotOf);
  const steps = planned.map((node, index): PlanStep => {
    const after = new Set<number>();
    for (const c of node.controls) if (stepOf.has(c)) after.add(stepOf.get(c)!);
    for (const v of node.inputs) if (stepOf.has(v.node)) after.add(stepOf.get(v.node)!);
    for (const a of after) before[a].push(index);
    const offGpu = node.inputs.map((_, i) => leavesGpu(node, i, device));
    return {
      index,
      node,
      device: device.get(node)!,
      inputs: node.inputs.map((v) => slotOf.get(v)!),
      onHost: node.inputs.map((_, i) => needsHost(node, i)),
      offGpu,
      outputs: node.outputs.map((v) => slotOf.get(v)!),
      after: [...after],
      before: before[index],
      reads: reads.get(depth.get(node)!) ?? [],
      mayRead: node.inputs.some((v, i) =>
        offGpu[i] && (v.node.feed >= 0 || v.node.def.host || runsOnGpu(v.node, device))
      ),
      wanted: node.outputs.map((v) => uses[slotOf.get(v)!] > 0),
    };
  });
  const plan: Plan = {
    steps,
    slots,
    constants,
    feeds,
    kinds,
    fetches: ir.fetches.map((v) => slotOf.get(v)!),
    uses,
  };
  planTrace.print?.(plan);
  return plan;
}

/** True where the node's value must be on the host for this input. */
function needsHost(node: IrNode, input: number): boolean {
  return node.def.isHostInput[argOfInput(node.def, input, node.inputs.length)] ?? false;
}

/** True where an input of the node must not stay in GPU memory: the op reads it on the host, or works on the CPU. */
function leavesGpu(node: IrNode, input: number, device: ReadonlyMap<IrNode, Device>): boolean {
  if (DTYPES[node.inputs[input].dtype].kind === "handle") return false;
  return needsHost(node, input) || (isLocal(node.def) && !runsOnGpu(node, device));
}

/** True where the node is recorded with GPU work rather than run between readbacks. */
function runsOnGpu(node: IrNode, device: ReadonlyMap<IrNode, Device>): boolean {
  return device.get(node)!.type === "GPU";
}

/** How many readbacks must come before the node can run. */
function depthOf(
  node: IrNode,
  device: ReadonlyMap<IrNode, Device>,
  depth: ReadonlyMap<IrNode, number>,
): number {
  const gpu = runsOnGpu(node, device);
  let d = 0;
  node.inputs.forEach((v, i) => {
    const crosses = runsOnGpu(v.node, device) && (!gpu || needsHost(node, i));
    d = Math.max(d, depth.get(v.node)! + (crosses ? 1 : 0));
  });
  for (const c of node.controls) {
    d = Math.max(d, depth.get(c)! + (!gpu && runsOnGpu(c, device) ? 1 : 0));
  }
  return d;
}

/** What the steps of each depth read to the host: they make one boundary. */
function readsOfBoundaries(
  nodes: readonly IrNode[],
  device: ReadonlyMap<IrNode, Device>,
  depth: ReadonlyMap<IrNode, number>,
  slotOf: ReadonlyMap<IrValue, number>,
): Map<number, number[]> {
  const byDepth = new Map<number, number[]>();
  const seen = new Set<number>();
  for (const node of nodes) {
    node.inputs.forEach((v, i) => {
      const slot = slotOf.get(v)!;
      if (seen.has(slot) || !runsOnGpu(v.node, device) || !leavesGpu(node, i, device)) return;
      seen.add(slot);
      const d = depth.get(node)!;
      const list = byDepth.get(d);
      if (list) list.push(slot);
      else byDepth.set(d, [slot]);
    });
  }
  return byDepth;
}

/** Where a node runs: what was asked for, if it can; else beside its inputs or on the default device. */
function placeNode(node: IrNode, placed: ReadonlyMap<IrNode, Device>): Device {
  const cpu = cpuDevice(), gpu = gpuDevice();
  if (node.feed >= 0 || node.def.name === "Const") return cpu;
  const able = gpu !== null && canRunOnGpu(node, gpu);
  if (node.device !== "") {
    const spec = parseDevice(node.device);
    if (spec.type === "GPU" && able && isHere(spec)) return gpu;
    if (spec.type !== undefined) return cpu;
  }
  if (!able) return cpu;
  if (node.def.kind === "view") return placed.get(node.inputs[0].node)!;
  return defaultDevice();
}

/** Moves views of what is fed to the GPU where all their users are: what is fed may be there already, and need not be read. */
function moveViewsOfFeeds(nodes: readonly IrNode[], device: Map<IrNode, Device>): void {
  const gpu = gpuDevice();
  if (gpu === null) return;
  const users = new Map<IrNode, "GPU" | "host">();
  for (const node of nodes.toReversed()) {
    const movable = users.get(node) === "GPU" && node.device === "" && isViewOfFeed(node);
    if (movable && canRunOnGpu(node, gpu)) device.set(node, gpu);
    const onGpu = runsOnGpu(node, device);
    node.inputs.forEach((v, i) => {
      const here = onGpu && !needsHost(node, i) ? "GPU" : "host";
      if (here === "host" || !users.has(v.node)) users.set(v.node, here);
    });
  }
}

function isViewOfFeed(node: IrNode): boolean {
  let source = node;
  while (source.def.kind === "view" && source.inputs.length > 0) source = source.inputs[0].node;
  return source !== node && source.feed >= 0;
}

function canRunOnGpu(node: IrNode, gpu: Device): boolean {
  if (node.def.host) {
    // Function-valued and eager-style script ops run where their tensors are; the others are the host's.
    const takesTensors = node.def.hostInputs === undefined
      ? node.def.inputArgs.length > 0
      : node.inputs.some((_, i) => !needsHost(node, i));
    return takesTensors &&
      node.inputs.every((v) =>
        v.dtype === "resource" || v.dtype === "variant" || gpu.supports(v.dtype)
      ) &&
      node.outputs.every((v) => v.dtype === "variant" || gpu.supports(v.dtype));
  }
  if (!node.def.gpu && !node.def.expand && node.def.kind !== "view") return false;
  return node.inputs.every((v, i) => needsHost(node, i) || gpu.supports(v.dtype)) &&
    node.outputs.every((v) => gpu.supports(v.dtype) && v.shape !== undefined);
}

/**
 * Checks that every node can run on the device that was asked for, before anything is computed beforehand.
 * Throws `InvalidArgumentError` for one that cannot.
 */
export function checkPlacement({ nodes }: IrGraph): void {
  const gpu = gpuDevice();
  for (const node of nodes) {
    if (node.device === "" || node.feed >= 0) continue;
    const spec = parseDevice(node.device);
    const able = spec.type !== "GPU" || node.def.name === "Const" ||
      (gpu !== null && canRunOnGpu(node, gpu));
    if (!able || !isHere(spec)) throw cannotPlace(node);
  }
}

function cannotPlace(node: IrNode): InvalidArgumentError {
  const gpu = gpuDevice();
  const list = (gpu ? [cpuDevice(), gpu] : [cpuDevice()]).map((d) =>
    `/job:localhost/replica:0/task:0${d.name}`
  );
  return new InvalidArgumentError(
    `Cannot assign a device for operation ${node.name}: {{node ${node.name}}} was explicitly assigned to ${node.device} but available devices are [ ${
      list.join(", ")
    } ], or the op has no kernel there. Make sure the device specification refers to a valid device.`,
    { op: node.def.name, node: node.name },
  );
}
