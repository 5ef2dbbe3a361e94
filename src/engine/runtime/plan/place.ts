/**
 * Placement: chooses the device of each node, and counts the readbacks before it. Pure functions of the graph, the
 * devices' abilities, and the cost of moving values.
 */
import { DTYPES } from "../../core/dtype.ts";
import { isLocal } from "../../core/contract/host_op.ts";
import { argOfInput } from "../../core/op.ts";
import type { TransferCost } from "../../core/device.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../../graph/ir.ts";

export type DeviceType = "CPU" | "GPU";

/** Options of {@linkcode place}. */
export interface PlaceOptions {
  /** The device of nodes that may choose; a run's inputs count as placed there. */
  readonly preferred: DeviceType;
  /** The device of a node that must not choose; null for any other. */
  readonly required: (node: IrNode) => DeviceType | null;
  /** Cost of moving values between the devices. */
  readonly transfer: TransferCost;
  /** Values that are on the host, or wanted there; default none. */
  readonly host?: HostPlacing | undefined;
}

/** Numbers of the feeds that are on the host, and of the fetches that are wanted there. */
export interface HostPlacing {
  readonly feeds: ReadonlySet<number>;
  readonly fetches: ReadonlySet<number>;
}
const NO_FEEDS: ReadonlySet<number> = new Set();

/** Integers and booleans of at most this many elements are sizes, axes and counters rather than data. */
const SMALL = 64;
/** Bytes per millisecond that the host streams through simple ops. */
const HOST_BYTES_PER_MS = 4e6;

/**
 * Returns the device of each node. Required devices are met; views stay with their sources; small integers computed
 * from the host's stay there. Then neighbouring GPU nodes between host nodes stay on the host where the transfers and
 * readbacks cost more than the host's own work.
 */
export function place(ir: IrGraph, options: PlaceOptions): Map<IrNode, DeviceType> {
  const placed = new Map<IrNode, DeviceType>();
  const free = new Set<IrNode>();
  const { preferred } = options, hostFeeds = options.host?.feeds ?? NO_FEEDS;
  const onHost = nodesForHost(ir, options);
  for (const node of ir.nodes) {
    const required = isGiven(node) || onHost.has(node) ? "CPU" : options.required(node);
    if (required === null) free.add(node);
    placed.set(node, required ?? choose(node, placed, { preferred, hostFeeds }));
  }
  moveViewsOfFeeds(ir, placed, free, hostFeeds);
  if (preferred === "CPU") return placed;
  let cost = costOf(ir, placed, options.transfer, hostFeeds);
  for (const group of groupsToMove(ir, placed, free)) {
    const moved = new Map(placed);
    for (const node of group) moved.set(node, "CPU");
    const other = costOf(ir, moved, options.transfer, hostFeeds);
    if (other >= cost) continue;
    cost = other;
    for (const node of group) placed.set(node, "CPU");
  }
  return placed;
}

/** Returns the nodes that compute host values from host values. */
function nodesForHost(ir: IrGraph, { host, required }: PlaceOptions): Set<IrNode> {
  const nodes = new Set<IrNode>();
  for (const i of host?.fetches ?? []) {
    for (const node of hostWork(ir.fetches[i], required)?.nodes ?? []) nodes.add(node);
  }
  return nodes;
}

/** The host's computation of a value. */
export interface HostWork {
  /** The additional nodes that the host runs for it. */
  readonly nodes: ReadonlySet<IrNode>;
  readonly feeds: ReadonlySet<number>;
}

/** Finds how the host alone computes a small value from small feeds, constants and its own nodes; null if it cannot. */
export function hostWork(
  value: IrValue,
  required: (node: IrNode) => DeviceType | null,
): HostWork | null {
  const nodes = new Set<IrNode>(), feeds = new Set<number>();
  const stack = [value];
  for (let v = stack.pop(); v !== undefined; v = stack.pop()) {
    const { node } = v;
    if (isConstant(node) || node.feed < 0 && nodes.has(node)) continue;
    if (!isSmall(v)) return null;
    if (node.feed >= 0) {
      feeds.add(node.feed);
      continue;
    }
    const place = required(node);
    if (place === "CPU") continue;
    if (place === "GPU" || !isSimple(node) || !node.outputs.every(isSmall)) return null;
    nodes.add(node);
    stack.push(...node.inputs);
  }
  return { nodes, feeds };
}

/** Returns the numbers of feeds that only the host reads. */
export function feedsOfHost({ nodes, fetches }: IrGraph): Set<number> {
  const feeds = new Set<number>(), others = new Set<number>();
  for (const v of fetches) others.add(v.node.feed);
  for (const node of nodes) {
    node.inputs.forEach(({ node: { feed } }, i) => {
      if (feed >= 0) (needsHost(node, i) ? feeds : others).add(feed);
    });
  }
  for (const feed of others) feeds.delete(feed);
  return feeds;
}

/** Moves views of feeds to the GPU if all their users are there: the feed may be there already and need not be read. */
function moveViewsOfFeeds(
  { nodes }: IrGraph,
  placed: Map<IrNode, DeviceType>,
  free: ReadonlySet<IrNode>,
  hostFeeds: ReadonlySet<number>,
): void {
  const users = new Map<IrNode, DeviceType>();
  for (const node of nodes.toReversed()) {
    if (users.get(node) === "GPU" && free.has(node) && isViewOfFeed(node, hostFeeds)) {
      placed.set(node, "GPU");
    }
    const onGpu = placed.get(node) === "GPU";
    node.inputs.forEach((v, i) => {
      const here = onGpu && !needsHost(node, i) ? "GPU" : "CPU";
      if (here === "CPU" || !users.has(v.node)) users.set(v.node, here);
    });
  }
}

function isViewOfFeed(node: IrNode, hostFeeds: ReadonlySet<number>): boolean {
  let source = node;
  while (source.def.meaning.kind === "view" && source.inputs.length > 0) {
    source = source.inputs[0].node;
  }
  return source !== node && source.feed >= 0 && !hostFeeds.has(source.feed);
}

/** True for values that exist before the run: feeds and constants. */
function isGiven(node: IrNode): boolean {
  return node.feed >= 0 || isConstant(node);
}

function choose(
  node: IrNode,
  placed: ReadonlyMap<IrNode, DeviceType>,
  { preferred, hostFeeds }: {
    readonly preferred: DeviceType;
    readonly hostFeeds: ReadonlySet<number>;
  },
): DeviceType {
  if (node.def.meaning.kind === "view") {
    const source = node.inputs[0].node;
    // Constants are kept on every device that reads them.
    if (isConstant(source)) return preferred;
    return placed.get(source)!;
  }
  const isOnHost = ({ node }: IrValue): boolean =>
    (node.feed < 0 || hostFeeds.has(node.feed)) && placed.get(node) === "CPU" &&
    !isViewOfFeed(node, hostFeeds);
  const staysThere = node.inputs.length > 0 && node.outputs.every(isSmallInteger) &&
    node.inputs.every((v) => isOnHost(v) && isSmallInteger(v)) &&
    // Constants alone are folded; the rest may go anywhere.
    node.inputs.some((v) => v.node.def.meaning.kind !== "constant");
  return staysThere && isSimple(node) ? "CPU" : preferred;
}

function isSmallInteger(v: IrValue): boolean {
  const { kind } = DTYPES[v.dtype];
  return (kind === "int" || kind === "uint" || kind === "bool") && isSmall(v);
}

function isSmall({ dtype, shape }: IrValue): boolean {
  return DTYPES[dtype].kind !== "handle" && isConcrete(shape) && sizeOf(shape) <= SMALL;
}

/** True for nodes that the host runs at the speed of its memory. */
function isSimple({ def, outputs }: IrNode): boolean {
  return !def.host && def.effects === "none" && !def.stateful &&
    (def.meaning.kind === "pointwise" || def.meaning.kind === "view" ||
      outputs.every(isSmallInteger)) &&
    outputs.every((v) => isConcrete(v.shape));
}

/** Returns connected simple GPU nodes that read a host value: candidates for the host. */
function groupsToMove(
  ir: IrGraph,
  placed: ReadonlyMap<IrNode, DeviceType>,
  free: ReadonlySet<IrNode>,
): Set<IrNode>[] {
  const groupOf = new Map<IrNode, Set<IrNode>>();
  for (const node of ir.nodes) {
    if (!free.has(node) || placed.get(node) === "CPU" || !isSimple(node)) continue;
    const group = new Set([node]);
    for (const v of node.inputs) {
      for (const member of groupOf.get(v.node) ?? []) group.add(member);
    }
    for (const member of group) groupOf.set(member, group);
  }
  const isMadeOnHost = ({ node }: IrValue): boolean => !isGiven(node) && placed.get(node) === "CPU";
  return [...new Set(groupOf.values())]
    .filter((group) => [...group].some((node) => node.inputs.some(isMadeOnHost)));
}

/**
 * Estimates a placement's milliseconds apart from the GPU's own work: transfers, readbacks, and the host's simple
 * nodes.
 */
export function costOf(
  ir: IrGraph,
  placed: ReadonlyMap<IrNode, DeviceType>,
  { latencyMs, bytesPerMs }: TransferCost,
  hostFeeds: ReadonlySet<number> = NO_FEEDS,
): number {
  const onGpu = (node: IrNode): boolean =>
    node.feed >= 0 ? !hostFeeds.has(node.feed) : placed.get(node) === "GPU";
  const depth = depthsOf(ir, onGpu);
  const waits = new Set<number>(), down = new Set<IrValue>(), up = new Set<IrValue>();
  let hostBytes = 0;
  for (const node of ir.nodes) {
    if (!onGpu(node) && isSimple(node)) { for (const v of node.outputs) hostBytes += bytesOf(v); }
    node.inputs.forEach((v, i) => {
      if (isConstant(v.node)) return;
      if (onGpu(v.node) && leavesGpu(node, i, onGpu)) {
        down.add(v);
        waits.add(depth.get(node)!);
      } else if (!onGpu(v.node) && onGpu(node) && !needsHost(node, i)) up.add(v);
    });
  }
  let moved = 0;
  for (const v of [...down, ...up]) moved += bytesOf(v);
  return waits.size * latencyMs + moved / bytesPerMs + hostBytes / HOST_BYTES_PER_MS;
}

/** Returns the bytes of a value; unknown dimensions count as one. */
function bytesOf({ dtype, shape }: IrValue): number {
  return (shape ?? []).reduce<number>((n, d) => n * (d ?? 1), DTYPES[dtype].bytes);
}

/** Counts the readbacks that must come before each node. */
export function depthsOf(
  { nodes }: IrGraph,
  onGpu: (node: IrNode) => boolean,
): Map<IrNode, number> {
  const depths = new Map<IrNode, number>();
  for (const node of nodes) {
    const here = onGpu(node);
    let depth = 0;
    node.inputs.forEach((v, i) => {
      const crosses = onGpu(v.node) && !node.def.shapeOnly && (!here || needsHost(node, i));
      depth = Math.max(depth, depths.get(v.node)! + (crosses ? 1 : 0));
    });
    for (const c of node.controls) {
      depth = Math.max(depth, depths.get(c)! + (!here && onGpu(c) ? 1 : 0));
    }
    depths.set(node, depth);
  }
  return depths;
}

/**
 * Sorts nodes by depth: the nodes between two readbacks stand together, the host's before the GPU's. A node that needs
 * only the shape of a GPU value follows it without a readback.
 */
export function inOrder(
  { nodes }: IrGraph,
  onGpu: (node: IrNode) => boolean,
  depths: ReadonlyMap<IrNode, number>,
): IrNode[] {
  // Even phases are the host's, odd ones the GPU's.
  const phases = new Map<IrNode, number>();
  for (const node of nodes) {
    const side = onGpu(node) ? 1 : 0;
    let phase = side;
    for (const before of [...node.inputs.map((v) => v.node), ...node.controls]) {
      if (depths.get(before) !== depths.get(node)) continue;
      const p = phases.get(before)!;
      phase = Math.max(phase, p % 2 === side ? p : p + 1);
    }
    phases.set(node, phase);
  }
  // The sort is stable: nodes are in topological order already.
  const order = [...nodes].sort((a, b) =>
    depths.get(a)! - depths.get(b)! || phases.get(a)! - phases.get(b)!
  );
  return changesLast(
    order,
    (a, b) => depths.get(a) === depths.get(b) && phases.get(a) === phases.get(b),
  );
}

/**
 * The order with each node that puts rows among those of an input moved behind the other readers of that input, as far as these do not
 * need it and stand in one group with it: reading last, it may change the input's memory.
 */
function changesLast(order: IrNode[], inGroup: (a: IrNode, b: IrNode) => boolean): IrNode[] {
  const changed = order.flatMap((node) => {
    const { meaning, changes } = node.def;
    const start = meaning.kind === "scatter" ? meaning.inputs.start : changes;
    return start === undefined ? [] : [{ node, value: node.inputs[start] }];
  });
  for (const { node, value } of changed) {
    const from = order.indexOf(node), behind = new Set([node]);
    let last = from;
    for (let i = from + 1; i < order.length && inGroup(order[i], node); i++) {
      const other = order[i];
      const waits = other.inputs.some((v) => behind.has(v.node)) ||
        other.controls.some((c) => behind.has(c));
      if (waits) behind.add(other);
      else if (other.inputs.includes(value)) last = i;
    }
    if (last === from) continue;
    const window = order.slice(from, last + 1);
    const parts = [false, true].flatMap((is) => window.filter((n) => behind.has(n) === is));
    order.splice(from, parts.length, ...parts);
  }
  return order;
}

/** True where the node needs this input's value on the host. */
export function needsHost({ def, attrs, inputs }: IrNode, input: number): boolean {
  return (def.signature.isHostInput[argOfInput(def, input, inputs.length)] ?? false) ||
    def.host?.hostInputs?.(attrs).has(input) === true;
}

/** True where an input must not stay in GPU memory: the op reads it on the host, or runs on the CPU. */
export function leavesGpu(
  node: IrNode,
  input: number,
  onGpu: (node: IrNode) => boolean,
): boolean {
  if (node.def.shapeOnly || DTYPES[node.inputs[input].dtype].kind === "handle") return false;
  return needsHost(node, input) || (isLocal(node.def) && !onGpu(node));
}
