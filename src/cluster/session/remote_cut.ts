/** The plan of a run whose dense parts are computed elsewhere: all nodes of a wave become one call. */
import { DTYPES } from "../../engine/core/dtype.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { defineOp, type OpDef } from "../../engine/core/op.ts";
import {
  buildIr,
  type IrGraph,
  type IrNode,
  type IrRequest,
  type IrValue,
} from "../../engine/graph/ir.ts";
import type { RemoteGraph } from "./remote_graph.ts";

/** A call's request, by names of the remote graph. */
export interface RemoteStep {
  /** Fed tensors, in the order of their values. */
  readonly feeds: readonly string[];
  /** Fetched tensors. */
  readonly fetches: readonly string[];
  /** Operations that run for their effect. */
  readonly targets: readonly string[];
}

export type RunStep = (
  step: RemoteStep,
  values: readonly NdArray[],
  signal: AbortSignal,
) => Promise<NdArray[]>;

/** The call of a wave: its inputs come from home, its outputs are read by home and later waves. */
const RunStepOp: OpDef = defineOp({
  name: "_RunStep",
  inputs: ["input: Tin"],
  outputs: ["output: Tout"],
  attrs: ["Tin: list(type)", "Tout: list(type)", "_step: step = null", "_run: run = null"],
  hostInputs: ["input"],
  infer: (_, { Tout }) => Tout.map(() => null),
  portable: { never: "it is a call of another process" },
  grad: null,
  effects: "ordered",
  stateful: true,
  host: {
    run: ({ inputs, attrs, context: { signal } }) =>
      (attrs._run as RunStep)(attrs._step, inputs as NdArray[], signal),
  },
});

/** A wave's nodes, inputs and outputs. */
interface Wave {
  readonly nodes: IrNode[];
  readonly feeds: Map<IrValue, string>;
  readonly wanted: Map<IrValue, string>;
  readonly targets: Set<IrNode>;
}

/**
 * Returns the plan's view of a request: the nodes that run at home, and a `_RunStep` for each wave. Throws
 * `UnimplementedError` for a handle that would have to travel.
 */
export function cut(request: IrRequest, graph: RemoteGraph, run: RunStep): IrGraph {
  const ir = buildIr(request);
  const waves: Wave[] = [], home: IrNode[][] = [];
  const isHome = (n: IrNode): boolean => n.feed < 0 && graph.isHome(n.source);
  const waveOf = (n: IrNode): number | undefined => graph.waveOf(n.source);
  const waveAt = (number: number): Wave =>
    waves[number] ??= { nodes: [], feeds: new Map(), wanted: new Map(), targets: new Set() };
  const nameOf = ({ node, index }: IrValue, wave: number): string =>
    graph.nameOf(node.feed >= 0 ? request.feeds[node.feed] : node.source.outputs[index], wave);
  // Brings a value that was made elsewhere to its reader, unless it is known without a call.
  const bring = (v: IrValue, reader: IrNode | null): void => {
    const wave = waveOf(v.node);
    if (v.node.feed >= 0 || isHome(v.node) || isGivenAnyway(v.node)) return;
    if (wave === undefined || DTYPES[v.dtype].kind === "handle") throw cannotTravel(v, reader);
    waveAt(wave).wanted.set(v, nameOf(v, wave));
  };
  const waitFor = (n: IrNode): void => {
    const wave = waveOf(n);
    if (n.feed < 0 && !isHome(n) && wave !== undefined) waveAt(wave).targets.add(n);
  };
  for (const node of ir.nodes) {
    const wave = waveOf(node);
    if (node.feed >= 0 || wave === undefined) continue;
    if (isHome(node)) {
      (home[wave] ??= []).push(node);
      for (const v of node.inputs) bring(v, node);
      node.controls.forEach(waitFor);
      continue;
    }
    const { nodes, feeds } = waveAt(wave);
    nodes.push(node);
    for (const v of node.inputs) {
      const from = waveOf(v.node), isFed = v.node.feed >= 0;
      if (!isFed && !isHome(v.node) && (from === undefined || from === wave)) continue;
      if (!isFed && DTYPES[v.dtype].kind === "handle") throw cannotTravel(v, node);
      bring(v, node);
      feeds.set(v, nameOf(v, wave));
    }
    for (const c of node.controls) if (waveOf(c) !== wave) waitFor(c);
  }
  for (const v of ir.fetches) bring(v, null);
  ir.targets.forEach(waitFor);
  return assemble(ir, { waves, home, run });
}

/** True for constants and unfed placeholders, which the plan provides itself. */
function isGivenAnyway({ def }: IrNode): boolean {
  return def.meaning.kind === "constant" || def.meaning.kind === "input";
}

/** Orders the home nodes and the calls, each after its inputs. */
function assemble(
  ir: IrGraph,
  { waves, home, run }: { waves: Wave[]; home: IrNode[][]; run: RunStep },
): IrGraph {
  const nodes: IrNode[] = [],
    values = new Map<IrValue, IrValue>(),
    made = new Map<IrNode, IrNode>();
  const keep = (node: IrNode): void => {
    const controls = [...new Set(node.controls.flatMap((c) => made.get(c) ?? []))];
    const inputs = node.inputs.map((v) => values.get(v)!);
    const copy: IrNode = { ...node, inputs, controls, outputs: [] };
    for (const v of node.outputs) {
      const value = { ...v, node: copy };
      copy.outputs.push(value);
      values.set(v, value);
    }
    made.set(node, copy);
    nodes.push(copy);
  };
  for (const node of ir.nodes) if (node.feed >= 0 || isGivenAnyway(node)) keep(node);
  for (let number = 0; number < Math.max(waves.length, home.length); number++) {
    home[number]?.forEach(keep);
    const wave = waves[number];
    if (wave === undefined) continue;
    const call = callOf(wave, { values, made, run });
    for (const node of wave.nodes) made.set(node, call);
    nodes.push(call);
  }
  return {
    nodes,
    fetches: ir.fetches.map((v) => values.get(v)!),
    targets: [...new Set(ir.targets.flatMap((n) => made.get(n) ?? []))],
  };
}

function callOf(
  { nodes, feeds, wanted, targets }: Wave,
  { values, made, run }: { values: Map<IrValue, IrValue>; made: Map<IrNode, IrNode>; run: RunStep },
): IrNode {
  const inputs = [...feeds.keys()].map((v) => values.get(v)!);
  const step: RemoteStep = {
    feeds: [...feeds.values()],
    fetches: [...wanted.values()],
    targets: [...targets].map((n) => n.name),
  };
  const node: IrNode = {
    name: nodes[0].name,
    def: RunStepOp,
    attrs: {
      Tin: inputs.map((v) => v.dtype),
      Tout: [...wanted.keys()].map((v) => v.dtype),
      _step: step,
      _run: run,
    },
    inputs,
    controls: [...new Set(nodes.flatMap((n) => n.controls).flatMap((c) => made.get(c) ?? []))],
    outputs: [],
    device: "",
    source: nodes[0].source,
    feed: -1,
  };
  [...wanted.keys()].forEach((v, index) => {
    // Another process may compute a value of an unexpected shape.
    const value: IrValue = { ...v, node, index, promised: v.shape !== null };
    node.outputs.push(value);
    values.set(v, value);
  });
  return node;
}

function cannotTravel({ node, dtype }: IrValue, reader: IrNode | null): UnimplementedError {
  const who = reader === null ? "It is fetched" : `"${reader.name}" (${reader.def.name}) reads it`;
  return new UnimplementedError(
    `Cannot send the ${dtype} that "${node.name}" (${node.def.name}) makes to another process: ${who} where it is not made. Variables and what is kept in them are used where they are: scripts get their values`,
    { op: node.def.name, node: node.name },
  );
}
