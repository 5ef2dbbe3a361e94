/** Writes a graph, its functions and its attributes as a GraphDef in proto3 JSON form. */
import { writtenScripts } from "../../engine/script/offered.ts";
import type { Script } from "../../engine/script/script.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import type { OpDef } from "../../engine/core/op.ts";
import { optionCheck, wrongArgument } from "../../engine/core/arguments.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { FuncGraph } from "../../engine/graph/func_graph.ts";
import { attrToJson, base64Text, shapeToJson } from "./values.ts";
import { type Graph, graphDefs } from "../../engine/graph/graph.ts";
import { isLoop } from "./nodes.ts";
import {
  attrsOfOurOwn,
  Place,
  type Replacement,
  replacementOf,
  resultNode,
  unportableError,
  type UnportableNode,
} from "./portable.ts";
import { scanNodes } from "./portable_scan.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  GraphDefOptions,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";

import { structureToText } from "../../engine/script/structure_text.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";

const checkOptions = optionCheck<GraphDefOptions>("toGraphDef", {
  addShapes: true,
  allowAnonymousScripts: true,
  portable: true,
});

/** A function in an attribute: a body, perhaps with the inputs that go to its captures. */
export interface FunctionAttr {
  readonly f?: FunctionAttr;
  readonly from?: readonly number[];
  readonly graph?: FuncGraph;
  readonly outputs?: readonly SymbolicTensor[];
  readonly name?: string;
}

/** Options of a {@linkcode GraphDefWriter}. */
export interface WriterOptions extends GraphDefOptions {
  /** Token of a script without a registered name. Default: its own. */
  readonly tokenOf?: (script: unknown) => string;
}

/** The written producer version, that of TensorFlow 2.21. */
export const PRODUCER = 2474;

/**
 * Writes a graph. Throws `ValueError` with a list of scripts without a registered name, or of nodes that TensorFlow
 * cannot have.
 */
export function toGraphDef(graph: Graph, options: GraphDefOptions = {}): GraphDefJson {
  checkOptions(options);
  const writer = new GraphDefWriter(options);
  const node = writer.graph(graph);
  writer.checkAnonymous();
  if (writer.unportable.length > 0) throw unportableError(writer.unportable);
  const def: GraphDefJson = { node, versions: { producer: PRODUCER } };
  if (writer.functions.size > 0) def.library = { function: [...writer.functions.values()] };
  return def;
}

/**
 * Lists the nodes of a graph and its functions that a portable GraphDef cannot have, each with the reason; empty if
 * TensorFlow can read all of it.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.gelu(tf.placeholder("float32", [2], "x")));
 * console.log(tf.portability(g)); // []
 * ```
 */
export function portability(graph: Graph): UnportableNode[] {
  if (!Array.isArray(graph?.operations)) {
    throw wrongArgument(graph, "graph", "portability", "a Graph");
  }
  const writer = new GraphDefWriter({ allowAnonymousScripts: true });
  writer.graph(graph);
  return writer.unportable;
}

/** Writes graphs, whole or in increments. */
export class GraphDefWriter {
  /** Functions called by the written nodes. */
  readonly functions: Map<string, FunctionDefJson> = new Map();
  readonly unportable: UnportableNode[] = [];
  /** Names of refused scripts, which have no registered name. */
  readonly anonymous: string[] = [];
  readonly #options: WriterOptions;
  /** Ops that are written as other ops. */
  readonly #replaced = new Map<Operation, Replacement>();

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Throws `ValueError` for refused scripts. */
  checkAnonymous(): void {
    if (this.anonymous.length === 0) return;
    throw new ValueError(
      `Cannot write a GraphDef with anonymous script functions: ${
        this.anonymous.join(", ")
      }. Name them with tf.registerScript("ns.name@1", func), or pass { allowAnonymousScripts: true }`,
    );
  }

  /** Writes the nodes of a graph that is no function. */
  graph(graph: Graph): NodeDefJson[] {
    const place = this.place(graph);
    return graph.operations.flatMap((op) => this.nodes(op, place));
  }

  /** The naming context of such a graph. */
  place(graph: Graph): Place {
    return new Place(graph, { reference: (op, i) => this.#reference(op, i) });
  }

  /** Writes an op's node, or its replacement nodes; the last one has its name and outputs. */
  nodes(op: Operation, place: Place): NodeDefJson[] {
    const replacement = this.#options.portable === false ? null : replacementOf(op);
    if (replacement === null) {
      const input = place.inputs(op), attr = this.#attrs(op);
      return [place.node(op, { name: place.name(op), type: op.type, input, attr })];
    }
    if (typeof replacement === "string") {
      const { inFunction } = place;
      this.unportable.push({
        node: place.name(op),
        op: op.type,
        ...(inFunction === undefined ? {} : { function: inFunction }),
        reason: replacement,
      });
      return [];
    }
    this.#replaced.set(op, replacement);
    if (replacement.scan) {
      const scan = scanNodes(op, {
        place,
        body: this.function(op.attrs.body, op),
        taken: (name) => this.functions.has(name),
      });
      for (const f of scan.functions) this.functions.set(f.signature.name, f);
      return scan.nodes;
    }
    const inner = place.inside(op, replacement);
    return [
      ...replacement.operations.flatMap((o) => this.nodes(o, inner)),
      resultNode(op, { place, results: replacement.outputs.map((t) => inner.input(t)) }),
    ];
  }

  #reference(op: Operation, index: number): string {
    return this.#replaced.has(op) ? `output:${index}` : outputName(op.outputs[index]);
  }

  #attrs(op: Operation): Record<string, AttrValueJson> {
    const out: Record<string, AttrValueJson> = {};
    for (const a of op.def.signature.attrDefs) {
      if (a.name.startsWith("_")) continue;
      if (a.name in attrsOfOurOwn(op.def) && this.#options.portable !== false) continue;
      const value = op.attrs[a.name];
      if (a.type === "func") out[a.name] = { func: { name: this.function(value, op) } };
      else if (value !== undefined && value !== null || a.type === "shape") {
        out[a.name] = attrToJson(a, value);
      }
    }
    if (isLoop(op.type)) writeLoop(op, out);
    if (op.attrs._class) {
      out._class = { list: { s: (op.attrs._class as string[]).map(base64Text) } };
    }
    const script = op.attrs._script as Script | null | undefined;
    if (script) this.#scriptAttrs(op, script, out);
    else if (op.type === "ReadVariableOp") {
      const shape = (op.attrs._shape ?? op.attrs.shape ?? null) as PartialShape;
      out._shape = { shape: shapeToJson(shape) };
    }
    if (this.#options.addShapes || script) {
      const n = visibleOutputs(op);
      if (n > 0) {
        out._output_shapes = {
          list: { shape: op.outputs.slice(0, n).map((t) => shapeToJson(t.staticShape)) },
        };
      }
    }
    return sorted(out);
  }

  #scriptAttrs(op: Operation, script: Script, out: Record<string, AttrValueJson>): void {
    const { allowAnonymousScripts, tokenOf } = this.#options;
    if (!script.registered) {
      if (tokenOf !== undefined) out.token = { s: base64Text(tokenOf(script)) };
      else if (allowAnonymousScripts) writtenScripts.set(script.token, script);
      else this.anonymous.push(`"${op.name}" (token ${script.token})`);
    }
    if (op.attrs._unordered) out._unordered = { b: true };
    if (script.vectorized) out._vectorized = { b: true };
    if (op.attrs._batched) out._batched = { b: true };
    out._script_args = { s: base64Text(structureToText(script.args)) };
    out._script_structure = { s: base64Text(structureToText(script.outputs.structure)) };
  }

  /** Writes a function that an op (or no node) calls, once. Returns its name. */
  function(attr: FunctionAttr, op?: Operation): string {
    const concrete = (attr.f ?? attr) as Required<Pick<FunctionAttr, "graph" | "outputs" | "name">>;
    let name = concrete.name;
    // One body with other captures, or with further results for a gradient, is another function.
    for (let n = 1; this.functions.has(name) && this.#made.get(name) !== attr; n++) {
      name = `${concrete.name}_${n}`;
    }
    if (!this.functions.has(name)) {
      this.#made.set(name, attr);
      this.#function(name, concrete.graph, concrete.outputs, attr, op);
    }
    return name;
  }
  readonly #made = new Map<string, unknown>();

  #function(
    name: string,
    graph: FuncGraph,
    outputs: readonly SymbolicTensor[],
    attr: FunctionAttr,
    op: Operation | undefined,
  ): void {
    const def: FunctionDefJson = {
      signature: { name, inputArg: [], outputArg: [] },
      nodeDef: [],
      ret: {},
    };
    this.functions.set(name, def);
    const argOf = new Map<SymbolicTensor, string>();
    const args = functionInputs(graph, attr, op);
    args.forEach(({ dtype, inner }, i) => {
      const arg = `arg${i}`;
      def.signature.inputArg.push({ name: arg, type: DTYPES[dtype].tfEnum });
      for (const t of inner) argOf.set(t, arg);
    });
    const place = new Place(graph, {
      inFunction: name,
      given: argOf,
      reference: (o, i) => this.#reference(o, i),
    });
    for (const o of graph.operations) {
      if (!o.outputs.some((t) => argOf.has(t))) def.nodeDef.push(...this.nodes(o, place));
    }
    const results = [
      ...outputs.map((t) => place.input(t)),
      ...passedOn(attr, op, args.length, outputs.length),
    ];
    const types = [
      ...outputs.map((t) => t.dtype),
      ...args.slice(outputs.length).map((a) => a.dtype),
    ];
    results.forEach((value, i) => {
      def.signature.outputArg.push({ name: `out${i}`, type: DTYPES[types[i]].tfEnum });
      def.ret[`out${i}`] = value;
    });
    if (graph.stateful) {
      def.signature.isStateful = true;
      def.controlRet = Object.fromEntries(graph.effects.map((e) => [e.name, e.name]));
    }
  }
}

/** Arguments of the written function: for If and While all inputs of the op, as TensorFlow requires. */
function functionInputs(
  graph: FuncGraph,
  attr: FunctionAttr,
  op: Operation | undefined,
): { dtype: DType; inner: SymbolicTensor[] }[] {
  const handles = graph.operations.filter((o) => o.type === "VarHandleOp").map((o) => o.outputs[0]);
  const captured = [...graph.captures.map((c) => c.inner), ...handles];
  if (!attr.from || op === undefined) {
    return [...graph.inputs, ...captured].map((t) => ({ dtype: t.dtype, inner: [t] }));
  }
  const opInputs = /If$/.test(op.type) ? op.inputs.slice(1) : op.inputs;
  const own = graph.inputs;
  return opInputs.map((t, i) => ({
    dtype: t.dtype,
    inner: [...(i < own.length ? [own[i]] : []), ...captured.filter((_, k) => attr.from![k] === i)],
  }));
}

/** TensorFlow's While has one list of types and returns all its inputs; an attribute tells the loop variables. */
function writeLoop(op: Operation, attr: Record<string, AttrValueJson>): void {
  const rest = op.inputs.slice((op.attrs.Tout as DType[]).length);
  attr._loop_vars = { i: String(op.inputs.length - rest.length) };
  attr.T = attr.Tin;
  delete attr.Tin;
  delete attr.Tout;
  attr.output_shapes.list!.shape!.push(...rest.map((t) => shapeToJson(t.staticShape)));
}

/** TensorFlow's While bodies return the values that they only read. */
function passedOn(
  attr: FunctionAttr,
  op: Operation | undefined,
  args: number,
  outputs: number,
): string[] {
  if (op === undefined || !isLoop(op.type) || op.attrs.body !== attr) return [];
  return Array.from({ length: args - outputs }, (_, k) => `arg${outputs + k}`);
}

function outputName(t: SymbolicTensor): string {
  const { def } = t.operation;
  let i = 0;
  for (const arg of def.signature.outputArgs) {
    const variadic = arg.numberAttr !== undefined || arg.typeListAttr !== undefined;
    const n = variadic
      ? visibleOutputs(t.operation) - (def.signature.outputArgs.length - 1 - hiddenArgs(def))
      : 1;
    if (t.valueIndex < i + n) return `${arg.name}:${t.valueIndex - i}`;
    i += n;
  }
  return `output:${t.valueIndex}`;
}

function hiddenArgs(def: OpDef): number {
  return def.signature.outputArgs.filter((a) => a.name === "tape").length;
}

/** Outputs of TensorFlow's op: without the tape of a script, a loop or a branch. */
export function visibleOutputs(op: Operation): number {
  return op.outputs.length - hiddenArgs(op.def);
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

graphDefs.provide(toGraphDef);
