/**
 * The walk over a graph's nodes: each becomes Weft's ops by its rule, in the graph being built or eagerly. Constant
 * computations run while building.
 */
import { currentInterpreter } from "../../engine/core/apply.ts";
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { allNodes, type GraphNode, type OnnxGraph, opName } from "../file/graph.ts";
import { inputsLast, resultLast } from "./channels_last.ts";
import { type Followed, followEntries, knownEntries } from "./entries.ts";
import { asHalf, inFloat32 } from "./halves.ts";
import { NodeCall, type NodeSurroundings } from "./node_call.ts";
import { onHost } from "./on_host.ts";
import type { Lookup, OpEntry, Rule, RuleOutput } from "./rule.ts";
import { Value } from "./value.ts";

/** Maximum elements that are computed while building. */
const MOST_FOLDED = 2 ** 16;

export interface WalkOptions {
  /** Name of the device of all ops; absent for the current one. */
  readonly device?: string;
  /** The table of ops. */
  readonly lookup: Lookup;
  /** The caller's rules, by op name. */
  readonly scripts: ReadonlyMap<string, Rule>;
  /** True for training, false for inference. Default: as the nodes say. */
  readonly training?: boolean;
  /**
   * Makes what lies between nodes of float16 float32. `always`: products take float32 beside float16; `mostly`: they
   * take two of a dtype, and those that read much for few rows take float16.
   */
  readonly inFloat32?: "always" | "mostly";
}

/** The names of a graph and of the graphs around it. */
class Frame implements NodeSurroundings {
  readonly tensors: Map<Value, Tensor>;
  readonly lasts: Map<Value, Tensor>;
  readonly wide: Map<Value, Value>;
  readonly #values = new Map<string, Value>();
  readonly #outer: Frame | null;
  readonly #walk: Walk;

  constructor(walk: Walk, outer: Frame | null) {
    this.#walk = walk;
    this.#outer = outer;
    // Tensors made in another graph are not of this one.
    const inPlace = outer !== null && outer.#walk.graphNow() === outer.builtIn;
    this.builtIn = walk.graphNow();
    this.tensors = inPlace ? outer.tensors : new Map();
    this.lasts = inPlace ? outer.lasts : new Map();
    this.wide = inPlace ? outer.wide : new Map();
  }

  readonly builtIn: unknown;

  get training(): boolean | undefined {
    return this.#walk.training;
  }

  get inFloat32(): WalkOptions["inFloat32"] {
    return this.#walk.inFloat32;
  }

  get(name: string): Value | undefined {
    return this.#values.get(name) ?? this.#outer?.get(name);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }

  runGraph(graph: OnnxGraph, inputs: readonly Value[]): Value[] {
    return this.#walk.run(graph, inputs, this);
  }
}

/** Makes Weft's ops of the nodes of graphs. */
export class Walk {
  readonly #options: WalkOptions;
  /** Values of initialisers and constant nodes, by graph: computed once. */
  readonly #constants: Map<OnnxGraph, Map<string, Value>>;

  /** `constants` holds known values of a model for all its inputs; it is filled here. */
  constructor(options: WalkOptions, constants: Map<OnnxGraph, Map<string, Value>>) {
    this.#options = options;
    this.#constants = constants;
  }

  /** True for training, false for inference, undefined for what nodes say. */
  get training(): boolean | undefined {
    return this.#options.training;
  }

  /** Says where float32 stands for float16 between nodes. */
  get inFloat32(): WalkOptions["inFloat32"] {
    return this.#options.inFloat32;
  }

  /** The graph being built; null for eager code. */
  graphNow(): unknown {
    const now = currentInterpreter();
    return now.symbolic ? now : null;
  }

  /** Returns the outputs of a graph for these inputs, in its own order. */
  run(graph: OnnxGraph, inputs: readonly Value[], outer: Frame | null = null): Value[] {
    const frame = new Frame(this, outer), constants = this.#constantsOf(graph);
    if (inputs.length !== graph.inputs.length) {
      throw new InvalidArgumentError(
        `Cannot run the graph "${graph.name}": it takes ${graph.inputs.length} inputs, received ${inputs.length}`,
      );
    }
    for (const [name, value] of constants) frame.set(name, value);
    graph.inputs.forEach(({ name }, i) => frame.set(name, inputs[i]));
    for (const node of graph.nodes) {
      if (node.outputs.every((name) => name === "" || constants.has(name))) continue;
      const values = node.inputs.map((name) => name === "" ? null : frame.get(name)!);
      const results = this.#apply(node, values, frame);
      const isConstant = node.inputs.every((name) => name === "" || constants.has(name)) &&
        results.every((r) => r === null || r.isKnown);
      node.outputs.forEach((name, i) => {
        if (name === "") return;
        const result = results[i] ?? null;
        if (result === null) {
          throw new UnimplementedError(
            `Cannot apply ${opName(node)} at node "${node.name}": its output ${i} is not supported`,
            { op: opName(node), node: node.name },
          );
        }
        frame.set(name, result);
        if (isConstant) constants.set(name, result);
      });
    }
    return graph.outputs.map(({ name }) => frame.get(name)!);
  }

  #constantsOf(graph: OnnxGraph): Map<string, Value> {
    let constants = this.#constants.get(graph);
    if (constants === undefined) {
      constants = new Map(
        [...graph.initialisers].map(([name, data]) => [
          name,
          Value.known(data.array, data.packed === null ? null : data),
        ]),
      );
      this.#constants.set(graph, constants);
    }
    return constants;
  }

  #apply(
    node: GraphNode,
    inputs: readonly (Value | null)[],
    frame: Frame,
  ): readonly (Value | null)[] {
    const script = this.#options.scripts.get(opName(node));
    const entry = script === undefined ? entryOf(node, this.#options.lookup) : null;
    const rule = script ?? entry!.rule!;
    const followed = followEntries(entry?.follow, node, inputs);
    const shape = knownEntries(followed, inputs);
    if (shape !== null) return [shape];
    const folded = entry === null ? null : fold(node, inputs, entry, frame);
    if (folded !== null) return folded;
    const wide = entry === null || this.inFloat32 === undefined
      ? null
      : inFloat32(node, entry, inputs, frame);
    if (wide !== null) {
      const results = this.#ruled(node, wide, frame, { entry, rule, followed });
      return results.map(asHalf);
    }
    return this.#ruled(node, inputs, frame, { entry, rule, followed });
  }

  /** Applies a node's rule to its inputs. */
  #ruled(
    node: GraphNode,
    inputs: readonly (Value | null)[],
    frame: Frame,
    { entry, rule, followed }: {
      readonly entry: OpEntry | null;
      readonly rule: Rule;
      readonly followed: Followed | null;
    },
  ): readonly (Value | null)[] {
    if (entry?.pointwise === true) {
      const images = this.#channelsLast(node, inputs, frame, rule);
      if (images !== null) return images;
    }
    const isNarrow = entry?.narrow === true && isCounted(inputs);
    const results = listed(rule(new NodeCall(node, inputs, frame, isNarrow)));
    return results.map((r, i) => {
      const value = r === null ? null : valueOf(r);
      if (value === null || value.tensor === null) return value;
      const isCount = isNarrow && value.dtype === "int32", entries = followed?.entries;
      if (!isCount && (i > 0 || entries === undefined)) return value;
      return Value.of(value.tensor, {
        dtype: isCount ? "int64" : value.dtype,
        ...i === 0 && entries && { entries },
      });
    });
  }

  /** Applies an elementwise node to images with channels last; null if none of its inputs is stored so. */
  #channelsLast(
    node: GraphNode,
    inputs: readonly (Value | null)[],
    frame: Frame,
    rule: Rule,
  ): (Value | null)[] | null {
    // Before version 7 an attribute says where the second input stands.
    if (node.domain === "" && node.version < 7) return null;
    const moved = inputsLast(new NodeCall(node, inputs, frame));
    if (moved === null) return null;
    const rank = inputs.find((v) => v?.last != null)!.shape!.length;
    return listed(rule(new NodeCall(node, moved, frame))).map((r) => {
      const value = r === null ? null : valueOf(r);
      return value?.tensor ? resultLast(value.tensor, rank) : value;
    });
  }
}

/** True where the node's int64 is held as int32, or is known and fits. */
function isCounted(inputs: readonly (Value | null)[]): boolean {
  let narrow = false;
  for (const value of inputs) {
    if (value === null || value.kind !== "tensor") continue;
    if (value.dtype === "int32") return false;
    if (value.dtype !== "int64") continue;
    if (value.isNarrow) narrow = true;
    else if (
      value.known === null || value.entries?.every((v) => v === null || v === (v | 0)) !== true
    ) {
      return false;
    }
  }
  return narrow;
}

function listed(result: ReturnType<Rule>): readonly (RuleOutput | null)[] {
  return Array.isArray(result) ? result : [result as RuleOutput];
}

export function valueOf(result: RuleOutput): Value {
  if (result instanceof Tensor) return Value.of(result);
  return result instanceof NdArray ? Value.known(result) : result;
}

/** Returns the entry of a node's op. Throws `UnimplementedError` if there is none, or if it is refused. */
function entryOf(node: GraphNode, lookup: Lookup): OpEntry {
  const entry = lookup(node.domain, node.op, node.version);
  if (entry !== null && entry.rule !== null) return entry;
  throw new UnimplementedError(
    `Cannot apply ${opName(node)} at node "${node.name}": ${
      entry?.refused ?? "there is no such op"
    }`,
    { op: opName(node), node: node.name },
  );
}

/** Computes a constant node on the host; null if its inputs are not all known, or are too large. */
function fold(
  node: GraphNode,
  inputs: readonly (Value | null)[],
  entry: OpEntry,
  frame: Frame,
): readonly (Value | null)[] | null {
  if (entry.folds === false || Object.keys(node.graphs).length > 0) return null;
  let elements = 0, made = 1;
  for (const value of inputs) {
    if (value === null) continue;
    if (!value.isKnown || value.data !== null) return null;
    elements += sizeOf(value.shape as readonly number[]);
    if (elements > MOST_FOLDED) return null;
    // A shape among the inputs may ask for any number of elements.
    for (const v of value.entries ?? []) made *= Math.max(1, Math.abs(v ?? 1));
  }
  if (made > MOST_FOLDED && entry.grows === true) return null;
  return onHost(() => {
    const around: NodeSurroundings = {
      tensors: new Map(),
      lasts: new Map(),
      wide: new Map(),
      runGraph: frame.runGraph.bind(frame),
    };
    const results = listed(entry.rule!(new NodeCall(node, inputs, around)));
    return results.map((r) => {
      if (r === null) return null;
      const value = valueOf(r);
      if (value.kind !== "tensor" || value.isKnown) return value;
      return Value.known(new NodeCall(node, [value], around).known(0)!);
    });
  });
}

/** Finds the ops of a graph without rule or script, with the names of their nodes. */
export function missingOps(
  graph: OnnxGraph,
  { lookup, scripts }: WalkOptions,
): Map<string, { readonly nodes: string[]; readonly refused: string | undefined }> {
  const missing = new Map<string, { nodes: string[]; refused: string | undefined }>();
  for (const node of allNodes(graph)) {
    const name = opName(node), entry = lookup(node.domain, node.op, node.version);
    if (scripts.has(name) || entry !== null && entry.rule !== null) continue;
    const found = missing.get(name);
    if (found !== undefined) found.nodes.push(node.name);
    else missing.set(name, { nodes: [node.name], refused: entry?.refused });
  }
  return missing;
}
