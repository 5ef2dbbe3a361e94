/**
 * A graph as pictures need it: its nodes with their devices, and the edges along which values are read back to the
 * host.
 */
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wrongArgument } from "../../engine/core/arguments.ts";
import type { Resource } from "../../engine/core/graph_node.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { buildIr } from "../../engine/graph/ir.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { cpuDevice, defaultDevice, gpuDevice } from "../../engine/runtime/devices/devices.ts";
import { type DeviceType, place } from "../../engine/runtime/plan/place.ts";
import { requiredDevice } from "../../engine/runtime/plan/make_plan.ts";
import type { Session } from "../../engine/runtime/session/session.ts";
import { arrayLabel } from "./array_label.ts";
import { runDrawing } from "./plan_drawing.ts";
import { openOnScreen } from "./fit.ts";
import { folded } from "./fold.ts";
import { type Drawable, graphOf, isScript, scriptName } from "./summary.ts";

/** Options of a drawing. */
export interface DrawOptions {
  /** Fed tensors, or their names: their producers are drawn as inputs of the host. Default: the placeholders. */
  readonly feeds?: readonly (Tensor | string)[];
  /**
   * A session of the graph: draws the plan by which it would compute all unread outputs, with the nodes that are fused
   * into one kernel. Default: the graph as it was written.
   */
  readonly session?: Session;
  /**
   * True: each scope of names (`tf.nameScope`) is one box. A list: all but these scopes. `"fit"`: all but those that a picture of 1600×1000
   * has room for. Default: a box for each operation.
   */
  readonly fold?: boolean | "fit" | readonly string[];
}

export interface DrawnNode {
  readonly name: string;
  /** Text of the box: the op, of a script op its function. */
  readonly label: string;
  /** True for a script op. */
  readonly script: boolean;
  /** Its device. */
  readonly device: DeviceType;
  /** The nodes that were fused into it. */
  readonly about?: string;
  /** True for the box of a scope of names. */
  readonly scope?: boolean;
}

/** An edge. Control edges carry no value; a value that crosses from the GPU to the host is read back. */
export interface DrawnEdge {
  readonly from: number;
  readonly to: number;
  readonly kind: "data" | "control" | "readback";
}

export interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

/**
 * Places the whole graph as a run of it would be. Throws `TypeError` for a value without a graph and for unknown
 * options, `ValueError` for a session of another graph.
 */
export function drawing(x: Drawable, fn: string, options: DrawOptions): Drawing {
  optionCheck<DrawOptions>(fn, { feeds: true, session: true, fold: true })(options);
  const { fold = false } = options;
  if (typeof fold !== "boolean" && fold !== "fit" && !isListOfNames(fold)) {
    throw wrongArgument(fold, "fold", fn, 'true, "fit", or a list of the scopes that stay open');
  }
  const drawn = openDrawing(graphOf(x, fn), fn, options);
  if (fold === false) return drawn;
  return folded(drawn, fold === "fit" ? openOnScreen(drawn) : new Set(fold === true ? [] : fold));
}

const isListOfNames = (x: unknown): boolean =>
  Array.isArray(x) && x.every((name) => typeof name === "string");

/** Places each operation. */
function openDrawing(graph: Graph, fn: string, options: DrawOptions): Drawing {
  const { operations } = graph;
  const feeds = (options.feeds ?? []).map((f) =>
    typeof f === "string"
      ? graph.getTensorByName(f.includes(":") ? f : `${f}:0`)
      : f as SymbolicTensor
  );
  const { session } = options;
  if (session !== undefined) {
    if (session.graph === graph) return runDrawing(graph, feeds);
    throw new ValueError(`Cannot show this with ${fn}: the session is of another graph`);
  }
  const ir = buildIr({ fetches: [], targets: operations, feeds: [] });
  const types = place(ir, {
    preferred: defaultDevice().type,
    required: requiredDevice,
    transfer: (gpuDevice() ?? cpuDevice()).transfer,
  });
  const placed = new Map(ir.nodes.map((n) => [n.source, types.get(n)!]));
  const given = new Set(feeds.map((t) => t.operation));
  const isGiven = (op: Operation): boolean => given.has(op) || op.def.meaning.kind === "input";
  const drawn = operations.filter((op) => given.has(op) || !isFolded(op));
  const at = new Map(drawn.map((op, i) => [op, i]));
  const nodes = drawn.map((op): DrawnNode => ({
    name: op.name,
    label: given.has(op) ? op.type : labelOf(op, at),
    script: isScript(op),
    device: isGiven(op) ? "CPU" : placed.get(op) ?? "CPU",
  }));
  const edges = drawn.flatMap((op, to) => {
    const read = given.has(op) ? [] : op.inputs.map((t) => t.operation);
    const sources = new Set(read.filter((s) => at.has(s)));
    return [
      ...[...sources].map((s): DrawnEdge => {
        const from = at.get(s)!;
        const back = nodes[from].device === "GPU" && nodes[to].device === "CPU";
        return { from, to, kind: back ? "readback" : "data" };
      }),
      ...op.controlInputs.filter((c) => at.has(c)).map((c): DrawnEdge => ({
        from: at.get(c)!,
        to,
        kind: "control",
      })),
    ];
  });
  return { nodes, edges };
}

/** True for constants, variables' handles and plain reads of these, which stand in the boxes of their readers. */
function isFolded(op: Operation): boolean {
  if (op.controlInputs.length > 0 || valueLabel(op) === null) return false;
  // Each variable of a graph has a read, of which a fetch may use nothing.
  return op.inputs.length > 0 || op.outputs.some((t) => t.consumers().length > 0);
}

/** Formats an op: its script's or its called function's name, else its type, and the constants and variables that it reads. */
function labelOf(op: Operation, drawn: ReadonlyMap<Operation, number>): string {
  if (isScript(op)) return `${scriptName(op)}()`;
  const { name } = op.attrs.f as { readonly name?: string } ?? {};
  const own = name === undefined ? op.type : `${name.replace(/^__inference_/, "")}()`;
  const folded = op.inputs.map((t) => t.operation).filter((source) => !drawn.has(source));
  return [own, ...folded.map(valueLabel)].join(" ");
}

/** Formats a constant or a variable; null for what is neither. */
function valueLabel({ attrs, inputs }: Operation): string | null {
  const { value } = attrs, [handle] = inputs;
  if (value instanceof NdArray) return inputs.length === 0 ? arrayLabel(value) : null;
  const source = handle?.dtype === "resource" && attrs.dtype !== undefined && inputs.length === 1
    ? handle.operation.attrs
    : attrs;
  return (source._resource as Resource | undefined)?.sharedName ?? null;
}
