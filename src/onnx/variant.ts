/** A model's graph for some outputs and a mode: traced by shapes, run op by op, or built into another graph. */
import { compose, currentInterpreter } from "../engine/core/apply.ts";
import { withScope } from "../engine/core/scope_context.ts";
import { DTYPES } from "../engine/core/dtype.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { Tensor } from "../engine/core/tensor.ts";
import type { TensorSpec } from "../engine/core/tensor_spec.ts";
import { currentGraph } from "../engine/graph/current_graph.ts";
import type { FuncGraph } from "../engine/graph/func_graph.ts";
import { captureSite } from "../engine/graph/operation.ts";
import { identity } from "./build/tf.ts";
import { asTensor } from "../engine/ops/input.ts";
import {
  onceLoaded,
  type TracedFunction,
  tracedFunction,
} from "../engine/runtime/functions/function.ts";
import { NeedsValueError, tensorOf } from "./build/node_call.ts";
import { Value } from "./build/value.ts";
import { Walk, type WalkOptions } from "./build/walk.ts";
import { MOST_UNROLLED } from "./ops/control.ts";
import { allNodes, type GraphNode, type OnnxGraph } from "./file/graph.ts";

/** An output value: a tensor, or a list of them for a sequence. */
export type OnnxOutput = Tensor | Tensor[];

/** Outputs of a model, by name. */
export type OnnxOutputs = Record<string, OnnxOutput>;

/** Inputs by name; {@linkcode ABSENT} for an absent optional. */
export type Feeds = Readonly<Record<string, Tensor | readonly Tensor[]>>;

/** Stands for an absent optional. */
export const ABSENT: readonly Tensor[] = Object.freeze([]);

/** Maximum number of input shapes with traces of their own. Then varying extents become unknown. */
const MOST_SHAPES = 4;

/** Maximum number of values with graphs of their own, of inputs that choose branches or count turns. */
const MOST_CHOSEN = 8;

/** Maximum nodes of a loop's turn, for loops that are unrolled by the value of an input. */
const MOST_TURN_NODES = 16;

/** The choice of an input: a branch, or only the number of turns of a loop. */
type Switch = "branch" | "turns";

interface VariantInit {
  /** The model's name in errors. */
  readonly name: string;
  readonly graph: OnnxGraph;
  /** Keys of its results, in the order of its outputs. */
  readonly keys: readonly string[];
  readonly walk: WalkOptions;
  /** Variables and initialisers by name; the graph's other constants are added. */
  readonly constants: Map<string, Value>;
}

/** A graph with its traced functions. */
export class Variant {
  readonly graph: OnnxGraph;
  readonly #init: VariantInit;
  /** Names of inputs that choose branches or count the turns of loops. */
  readonly #switches: ReadonlyMap<string, Switch>;
  /** Its graph with one branch each, and with unrolled loops, by the values of those inputs. */
  readonly #chosen = new Map<string, Variant>();
  readonly #keys: readonly string[];
  readonly #walk: WalkOptions;
  readonly #constants: Map<OnnxGraph, Map<string, Value>>;
  readonly #function: TracedFunction<[Feeds], OnnxOutputs>;
  readonly #relaxed: TracedFunction<[Feeds], OnnxOutputs>;
  /** True where a graph needs values known only at run time. */
  #isEager = false;

  constructor(init: VariantInit) {
    const { name, graph, keys, walk, constants } = init;
    this.graph = graph;
    this.#init = { ...init, constants: new Map(constants) };
    this.#switches = switchesOf(graph);
    this.#keys = keys;
    this.#walk = walk;
    this.#constants = new Map([[graph, constants]]);
    const body = (feeds: Feeds): OnnxOutputs => this.#build(feeds);
    this.#function = tracedFunction(body, { name });
    this.#relaxed = tracedFunction(body, { name, reduceRetracing: true });
  }

  /** Runs it, and waits for scripts in it. */
  async run(feeds: Feeds): Promise<OnnxOutputs> {
    if (this.#switches.size > 0) {
      const values = [...this.#switches.keys()].map((name) => (feeds[name] as Tensor).ndarray());
      const { variant, rest } = this.#choose(feeds, await Promise.all(values));
      if (variant !== this) return variant.run(rest);
    }
    if (this.#runsOneByOne(feeds)) return this.runEagerly(feeds);
    const graph = (): FuncGraph => this.#traced().getConcreteFunction(feeds).graph;
    const call = { graph, device: this.#walk.device ?? null, values: feeds };
    try {
      return await onceLoaded(call, (fed) => this.#traced().async(fed));
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(feeds);
    }
  }

  /** Runs it synchronously, or builds it into the graph being built. */
  call(feeds: Feeds): OnnxOutputs {
    if (currentInterpreter().symbolic) return this.#build(feeds);
    if (this.#switches.size > 0) {
      const values = [...this.#switches.keys()].map((name) =>
        (feeds[name] as Tensor).ndarraySync()
      );
      const { variant, rest } = this.#choose(feeds, values);
      if (variant !== this) return variant.call(rest);
    }
    if (this.#runsOneByOne(feeds)) return this.runEagerly(feeds);
    try {
      return this.#traced()(feeds);
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(feeds);
    }
  }

  /** Returns the graph of the branches that these values choose: the others need not fit the inputs' shapes. */
  #choose(feeds: Feeds, arrays: readonly NdArray[]): { variant: Variant; rest: Feeds } {
    const { graph, constants } = this.#init, all = [...this.#switches];
    // Long loops are not unrolled.
    const given = all.map(([name, kind], i) => ({ name, kind, array: arrays[i] }))
      .filter(({ kind, array }) => kind === "branch" || Number(array.at(0)) <= MOST_UNROLLED);
    if (given.length === 0) return { variant: this, rest: feeds };
    const names = given.map(({ name }) => name);
    const key = given.map(({ name, array }) => `${name} ${array.at(0)}`).join();
    let variant = this.#chosen.get(key);
    if (variant === undefined) {
      // Values that keep changing choose at run time.
      if (this.#chosen.size === MOST_CHOSEN) return { variant: this, rest: feeds };
      const known = given.map(({ name, array }) => [name, Value.known(array)] as const);
      variant = new Variant({
        ...this.#init,
        graph: { ...graph, inputs: graph.inputs.filter(({ name }) => !names.includes(name)) },
        constants: new Map([...constants, ...known]),
      });
      this.#chosen.set(key, variant);
    }
    const rest = Object.entries(feeds).filter(([name]) => !names.includes(name));
    return { variant, rest: Object.fromEntries(rest) };
  }

  /** Runs it op by op. */
  runEagerly(feeds: Feeds): OnnxOutputs {
    return compose(() => this.#build(feeds));
  }

  /** Traces it for inputs of these types. Throws `NeedsValueError` if these are not enough. */
  graphOf(specs: Readonly<Record<string, TensorSpec>>): FuncGraph {
    return this.#function.getConcreteFunction(specs).graph;
  }

  /** Traces by exact shapes while there are few of them. */
  #traced(): TracedFunction<[Feeds], OnnxOutputs> {
    return this.#function.traceCount < MOST_SHAPES ? this.#function : this.#relaxed;
  }

  /** True where the ops run one by one, since only then enough is known. */
  #runsOneByOne(feeds: Feeds): boolean {
    return this.#isEager || Object.values(feeds).some((v) => v === ABSENT);
  }

  /** Rethrows an error, except one that reports missing values. */
  #noteUnknown(e: unknown): void {
    if (!(e instanceof NeedsValueError)) throw e;
    this.#isEager = true;
  }

  /** Runs the ops of the graph on these inputs, in the graph being built or eagerly. */
  #build(feeds: Feeds): OnnxOutputs {
    const { graph } = this;
    const inputs = graph.inputs.map(({ name }) => {
      const fed = feeds[name];
      if (fed === ABSENT) return Value.none;
      return fed instanceof Tensor ? Value.of(fed) : Value.sequence(fed.map((t) => Value.of(t)));
    });
    const built = currentGraph(), before = built?.operations.length ?? 0;
    const { device = null } = this.#walk;
    // A file's nodes have one place in the program: where it is called.
    const scope = { site: captureSite(), ...device === null ? {} : { device } };
    const outputs = withScope(
      scope,
      () => new Walk(this.#walk, this.#constants).run(graph, inputs),
    );
    // Plans may compute files otherwise than op by op, such as norms within filters.
    for (const made of built?.operations.slice(before) ?? []) made.isFromFile = true;
    const tensors = new Map<Value, Tensor>();
    const given = new Set<unknown>(Object.values(feeds).flat());
    const own = (value: Value): OnnxOutput => {
      if (value.kind === "sequence") return value.items.map((v) => own(v) as Tensor);
      if (value.kind === "none") return [];
      const tensor = asTensor(tensorOf(value, tensors).asOpInput());
      // Each output is disposed by itself: none is an input, or another output.
      if (given.has(tensor)) return identity(tensor);
      given.add(tensor);
      return tensor;
    };
    return Object.fromEntries(outputs.map((v, i) => [this.#keys[i], own(v)]));
  }
}

/**
 * Names of inputs that choose branches: single integers and booleans, such as a sampling rate, of which alone a condition
 * is made, or the number of turns of a small loop. Those of graphs within count too.
 */
function switchesOf(graph: OnnxGraph): ReadonlyMap<string, Switch> {
  const inputs = graph.inputs.filter(({ type }) =>
    type?.kind === "tensor" && DTYPES[type.dtype].kind !== "float" &&
    (type.shape?.every((extent) => extent === 1) ?? false)
  ).map(({ name }) => name);
  const found = new Map<string, Switch>();
  if (inputs.length > 0) {
    findSwitches(graph, new Map(inputs.map((name) => [name, [name]])), found);
  }
  return new Map(
    inputs.flatMap((name) => found.has(name) ? [[name, found.get(name)!] as const] : []),
  );
}

/** Follows the inputs that values are made of. `madeOf` has an empty list for constants. */
function findSwitches(
  { nodes, initialisers }: OnnxGraph,
  outer: ReadonlyMap<string, readonly string[]>,
  found: Map<string, Switch>,
): void {
  const madeOf = new Map(outer);
  for (const name of initialisers.keys()) madeOf.set(name, []);
  for (const node of nodes) {
    const kind = switchOf(node);
    if (kind !== null) {
      for (const name of madeOf.get(node.inputs[0]) ?? []) {
        if (found.get(name) !== "branch") found.set(name, kind);
      }
    }
    for (const inner of Object.values(node.graphs)) findSwitches(inner, madeOf, found);
    if (Object.keys(node.graphs).length > 0) continue;
    const sources = node.inputs.map((name) => name === "" ? [] : madeOf.get(name));
    if (!sources.every((s) => s !== undefined)) continue;
    for (const name of node.outputs) madeOf.set(name, sources.flat());
  }
}

/** Returns the choice of a node by its first input; null where graphs do not depend on it, or are too large to unroll. */
function switchOf({ op, graphs }: GraphNode): Switch | null {
  if (op === "If") return "branch";
  const { body } = graphs;
  return op === "Loop" && body !== undefined && allNodes(body).length <= MOST_TURN_NODES
    ? "turns"
    : null;
}
