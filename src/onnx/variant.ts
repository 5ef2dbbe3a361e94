/** A model's graph for some outputs and a mode: traced by shapes, run op by op, or built into another graph. */
import { compose, currentInterpreter } from "../engine/core/apply.ts";
import { withScope } from "../engine/core/scope_context.ts";
import { Tensor } from "../engine/core/tensor.ts";
import type { TensorSpec } from "../engine/core/tensor_spec.ts";
import { currentGraph } from "../engine/graph/current_graph.ts";
import type { FuncGraph } from "../engine/graph/func_graph.ts";
import { captureSite } from "../engine/graph/operation.ts";
import { identity } from "../../mod.ts";
import { asTensor } from "../engine/ops/input.ts";
import { type TracedFunction, tracedFunction } from "../engine/runtime/functions/function.ts";
import { NeedsValueError, tensorOf } from "./build/node_call.ts";
import { Value } from "./build/value.ts";
import { Walk, type WalkOptions } from "./build/walk.ts";
import type { OnnxGraph } from "./file/graph.ts";

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
  readonly #keys: readonly string[];
  readonly #walk: WalkOptions;
  readonly #constants: Map<OnnxGraph, Map<string, Value>>;
  readonly #function: TracedFunction<[Feeds], OnnxOutputs>;
  readonly #relaxed: TracedFunction<[Feeds], OnnxOutputs>;
  /** True where a graph needs values known only at run time. */
  #isEager = false;

  constructor({ name, graph, keys, walk, constants }: VariantInit) {
    this.graph = graph;
    this.#keys = keys;
    this.#walk = walk;
    this.#constants = new Map([[graph, constants]]);
    const body = (feeds: Feeds): OnnxOutputs => this.#build(feeds);
    this.#function = tracedFunction(body, { name });
    this.#relaxed = tracedFunction(body, { name, reduceRetracing: true });
  }

  /** Runs it, and waits for scripts in it. */
  async run(feeds: Feeds): Promise<OnnxOutputs> {
    if (this.#runsOneByOne(feeds)) return this.runEagerly(feeds);
    try {
      return await this.#traced().async(feeds);
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(feeds);
    }
  }

  /** Runs it synchronously, or builds it into the graph being built. */
  call(feeds: Feeds): OnnxOutputs {
    if (currentInterpreter().symbolic) return this.#build(feeds);
    if (this.#runsOneByOne(feeds)) return this.runEagerly(feeds);
    try {
      return this.#traced()(feeds);
    } catch (e) {
      this.#noteUnknown(e);
      return this.runEagerly(feeds);
    }
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
