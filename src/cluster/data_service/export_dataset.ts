/**
 * A pipeline of tf.data as the graph that a tf.data service is given: stages as TensorFlow's dataset ops, functions as its functions.
 */
import { CompositeSpec, leafSpecs } from "../../engine/core/composite.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { OperatorNotAllowedInGraphError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { TraceInner } from "../../library/data/settings.ts";
import type { Source } from "../../library/data/source.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { GraphDefWriter, PRODUCER } from "../../tensorflow/graph_def/graph_def.ts";
import { constantToJson, shapeToJson } from "../../tensorflow/graph_def/values.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import { stageNode, type StageScope, type WrittenFunction } from "./export_rules.ts";

/**
 * Writes a pipeline. Throws `ValueError` for a stage that no other program can run. The graph is whole when the tensors in it are read.
 */
export function exportDataset(source: Source): () => Promise<GraphDefJson> {
  const written = new Written(), scope = new Scope(written);
  const sink = scope.dataset(source);
  const attr = { T: { type: DTYPES.variant.tfEnum }, index: { i: "0" } };
  const def = {
    node: [...scope.nodes, { name: "sink", op: "_Retval", input: [sink], attr }],
    versions: { producer: PRODUCER },
    library: { function: [...written.functions.functions.values()] },
  };
  return async () => {
    await written.readConstants();
    return def;
  };
}

/** State that the graph and its functions share. */
class Written {
  readonly functions: GraphDefWriter = new GraphDefWriter({});
  readonly #constants: { readonly node: NodeDefJson; readonly value: Promise<NdArray> }[] = [];

  /** Gives a node a value that may still be a promise. */
  constant(node: NodeDefJson, value: NdArray | Promise<NdArray>): void {
    const coming = Promise.resolve(value);
    // The reader of the dataset gets the error.
    coming.catch(() => {});
    this.#constants.push({ node, value: coming });
  }

  async readConstants(): Promise<void> {
    for (const { node, value } of this.#constants) {
      if (node.attr !== undefined) continue;
      const array = await value;
      node.attr = {
        dtype: { type: DTYPES[array.dtype].tfEnum },
        value: { tensor: constantToJson(array) },
      };
    }
  }
}

/** Stages that divide or join elements: of those that are composite they would divide the tensors. */
const DIVIDES: ReadonlySet<string> = new Set(["Batch", "PaddedBatch", "Unbatch"]);

function hasComposites({ structure, specs }: Source): boolean {
  return leafSpecs(structure, specs).some((spec) => spec instanceof CompositeSpec);
}

/** Stands for a tensor of a function's body until that is written: its number among those that nodes read. */
const NEEDED = /^\?(\d+)$/;

/** Destination of nodes: the graph, or the body of a function. */
class Scope {
  readonly nodes: NodeDefJson[] = [];
  readonly needed: Tensor[] = [];
  readonly #written: Written;
  readonly #inFunction: boolean;

  constructor(written: Written, inFunction = false) {
    this.#written = written;
    this.#inFunction = inFunction;
  }

  /** Writes a stage and its inputs; returns the name of its elements. */
  dataset(source: Source): string {
    const { settings, specs } = source;
    if (settings === undefined) refuse(source, whyNot(source));
    if (DIVIDES.has(settings.stage) && [source, ...source.inputs].some(hasComposites)) {
      refuse(
        source,
        "it divides or joins composite elements, which workers see as their tensors; do that after distribute()",
      );
    }
    const inputs = source.inputs.map((input) => this.dataset(input));
    const { op, input, attr } = stageNode(settings, inputs, this.#stage(source));
    const types = /^(Tensor|TensorSlice|PaddedBatch)Dataset/.test(op)
      ? "Toutput_types"
      : "output_types";
    return this.#add({
      name: this.#name(op),
      op,
      input: [...input],
      attr: {
        ...attr,
        [types]: { list: { type: specs.map(({ dtype }) => DTYPES[dtype].tfEnum) } },
        output_shapes: { list: { shape: specs.map(({ shape }) => shapeToJson(shape)) } },
      },
    }, "handle");
  }

  #stage(source: Source): StageScope {
    const scope: StageScope = {
      constant: (value) => this.#constant(value),
      tensor: (t) => t.isSymbolic ? `?${this.needed.push(t) - 1}` : this.#constant(t.ndarray()),
      function: (f) => this.#function(f, source, scope),
      inner: (trace) => this.#inner(trace, source, scope),
      refuse: (why) => refuse(source, why),
    };
    return scope;
  }

  #constant(value: NdArray | Promise<NdArray>): string {
    const node: NodeDefJson = { name: this.#name("Const"), op: "Const" };
    this.#written.constant(node, value);
    return this.#add(node, "output");
  }

  #name(op: string): string {
    return `stage/${op}_${this.nodes.length}`;
  }

  #add(node: NodeDefJson, output: string): string {
    this.nodes.push(node);
    return this.#inFunction ? `${node.name}:${output}:0` : node.name;
  }

  #function(f: ConcreteFunction, source: Source, scope: StageScope): WrittenFunction {
    const { functions } = this.#written, { captures, resources } = f.graph;
    if (resources.length > 0 || captures.some(({ outer }) => outer.dtype === "resource")) {
      refuse(source, "its function uses a variable, which workers do not have; pass its value");
    }
    const name = functions.function(f);
    if (functions.anonymous.length > 0) {
      refuse(
        source,
        `its function calls ${
          functions.anonymous.join(", ")
        }, which workers do not have; give the script a name with tf.registerScript("ns.name@1", func), there too`,
      );
    }
    const [odd] = functions.unportable;
    if (odd !== undefined) {
      refuse(source, `TensorFlow has no counterpart of "${odd.node}" (${odd.op}): ${odd.reason}`);
    }
    return {
      name,
      captured: captures.map(({ outer }) => scope.tensor(outer)),
      types: captures.map(({ outer }) => outer.dtype),
    };
  }

  /** Writes a function that makes a dataset: the ops of its body, and then the stages. */
  #inner(trace: TraceInner, source: Source, scope: StageScope): WrittenFunction {
    const body = new Scope(this.#written, true);
    let made = "";
    const f = traced(source, () =>
      trace((inner) => {
        made = body.dataset(inner);
        return body.needed;
      }));
    const written = this.#function(f, source, scope);
    addStages(this.#written.functions.functions.get(written.name)!, body, made);
    return written;
  }
}

/** Makes a function return a dataset in place of the tensors that its stages read. */
function addStages(def: FunctionDefJson, { nodes }: Scope, made: string): void {
  for (const node of nodes) {
    const input = node.input?.map((name) => {
      const number = NEEDED.exec(name)?.[1];
      return number === undefined ? name : def.ret[`out${number}`];
    });
    def.nodeDef.push(input === undefined ? node : Object.assign(node, { input }));
  }
  def.signature.outputArg = [{ name: "dataset", type: DTYPES.variant.tfEnum }];
  def.ret = { dataset: made };
}

function traced(source: Source, trace: () => ConcreteFunction): ConcreteFunction {
  try {
    return trace();
  } catch (error) {
    // A function that reads values makes its datasets here, but cannot be written down.
    if (!(error instanceof OperatorNotAllowedInGraphError)) throw error;
    return refuse(source, `its function reads values of its elements: ${error.message}`);
  }
}

function refuse({ name }: Source, why: string): never {
  throw new ValueError(`Cannot distribute ${name}: ${why}`);
}

function whyNot({ kind }: Source): string {
  return kind === "Generator"
    ? "a generator runs in this process alone; map a range, slices or paths by a function that tf.registerScript knows"
    : `no dataset op of TensorFlow's is a stage ${kind} for workers; put it after distribute()`;
}
