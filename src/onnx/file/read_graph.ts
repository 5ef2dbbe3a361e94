/** Makes a graph of the file's messages, and checks names, order and depth. */
import { DTYPES } from "../../engine/core/dtype.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import type { Graph } from "../proto/onnx_pb.ts";
import { Attributes } from "./attributes.ts";
import type { TensorBytes } from "./external_data.ts";
import { domainName, type Functions } from "./functions.ts";
import type { GraphNode, GraphValue, OnnxGraph } from "./graph.ts";
import { inOrder } from "./order.ts";
import { readSparse } from "./sparse_data.ts";
import { readTensor, type TensorData } from "./tensor_data.ts";
import { readType, type ValueType } from "./types.ts";

/** Maximum nesting of graphs. Control flow of real models nests four deep. */
const MOST_DEPTH = 32;

export interface GraphContext {
  /** The model's functions. */
  readonly functions: Functions;
  /** Versions of operator sets by domain. */
  readonly versions: ReadonlyMap<string, number>;
  /** Bytes of tensors whose elements are in other files, or are left for later. */
  readonly external: TensorBytes;
}

/**
 * Reads a graph. Throws `DataLossError` for a name made twice or never, nodes in a cycle, too deeply
 * nested graphs, or a node's domain without a version.
 */
export function readGraph(graph: Graph, context: GraphContext): OnnxGraph {
  return new Reader(context).read(graph, null, 0);
}

/** The names of a graph so far, and of the graphs around it. */
class Names {
  readonly own: Set<string>;
  readonly #outer: Names | null;

  constructor(own: Iterable<string>, outer: Names | null) {
    this.own = new Set(own);
    this.#outer = outer;
  }

  isAround(name: string): boolean {
    return this.#outer !== null && (this.#outer.own.has(name) || this.#outer.isAround(name));
  }
}

class Reader {
  readonly #context: GraphContext;

  constructor(context: GraphContext) {
    this.#context = context;
  }

  read(graph: Graph, outer: Names | null, depth: number): OnnxGraph {
    if (depth > MOST_DEPTH) {
      throw new DataLossError(
        `Cannot read the graph "${graph.name}": more than ${MOST_DEPTH} graphs are within each other`,
      );
    }
    const initialisers = this.#initialisers(graph);
    const names = new Names(initialisers.keys(), outer), { own } = names;
    const inputs: GraphValue[] = [], seen = new Set<string>();
    for (const info of graph.input) {
      if (seen.has(info.name)) throw twice(info.name, "an input", `graph "${graph.name}"`);
      seen.add(info.name);
      // An input with an initialiser is a constant: most runtimes would ignore a passed value.
      if (!initialisers.has(info.name)) {
        inputs.push({ name: info.name, type: readType(info.type) });
      }
      own.add(info.name);
    }
    const nodes: GraphNode[] = [], captures = new Set<string>();
    const expanded = inOrder(this.#context.functions.expand(graph.node, this.#context.versions));
    const later = new Set(expanded.flatMap(({ node }) => node.output));
    const use = (name: string, by: string): void => {
      if (name === "" || own.has(name)) return;
      if (!names.isAround(name)) throw missing(name, by, later.has(name));
      captures.add(name);
    };
    for (const { node, versions } of expanded) {
      const domain = domainName(node.domain), version = versions.get(domain);
      const name = node.name || node.output.find((o) => o !== "") || node.opType;
      const label = `node "${name}" (${node.opType})`;
      if (node.opType === "") throw new DataLossError(`Cannot read ${label}: it has no op`);
      if (version === undefined) {
        throw new DataLossError(
          `Cannot read ${label}: the file imports no version of the operator set "${node.domain}"`,
        );
      }
      for (const input of node.input) use(input, label);
      const graphs: Record<string, OnnxGraph> = {};
      for (const a of node.attribute) {
        if (a.g === undefined) continue;
        // Inner graphs see the names so far.
        const inner = this.read(a.g, names, depth + 1);
        graphs[a.name] = inner;
        for (const captured of inner.captures) use(captured, label);
      }
      for (const output of node.output) {
        if (output === "") continue;
        if (own.has(output)) throw twice(output, "made", label);
        own.add(output);
      }
      nodes.push({
        op: node.opType,
        domain,
        version,
        name,
        inputs: node.input,
        outputs: node.output,
        attributes: new Attributes(node.attribute, label),
        graphs,
      });
    }
    for (const { name } of graph.output) {
      if (name === "") {
        throw new DataLossError(
          `Cannot read graph "${graph.name}": one of its outputs has no name`,
        );
      }
      use(name, `the outputs of graph "${graph.name}"`);
    }
    if (depth === 0) takeWeights(nodes, initialisers);
    return {
      name: graph.name,
      inputs,
      outputs: graph.output.map(({ name, type }) => ({ name, type: readType(type) })),
      nodes,
      initialisers,
      types: typesOf(graph),
      captures: [...captures],
    };
  }

  #initialisers(graph: Graph): Map<string, TensorData> {
    if (graph.sparseInitializer.length > 0) {
      return new Map([...this.#dense(graph), ...this.#sparse(graph)]);
    }
    return this.#dense(graph);
  }

  #dense(graph: Graph): Map<string, TensorData> {
    const out = new Map<string, TensorData>();
    for (const tensor of graph.initializer) {
      if (out.has(tensor.name)) throw twice(tensor.name, "an initialiser", `graph "${graph.name}"`);
      out.set(
        tensor.name,
        readTensor(tensor, this.#context.external.get(tensor.externalData) ?? null),
      );
    }
    return out;
  }

  #sparse(graph: Graph): Map<string, TensorData> {
    return new Map(graph.sparseInitializer.map((s) => {
      const name = s.values?.name ?? "";
      return [name, readSparse(s)];
    }));
  }
}

/** Makes initialisers of constant nodes, where a file has all its weights in such: some exporters write none else. */
function takeWeights(nodes: GraphNode[], initialisers: Map<string, TensorData>): void {
  const isWeight = ({ dtype, shape }: TensorData): boolean =>
    DTYPES[dtype].kind === "float" && shape.length > 0;
  if ([...initialisers.values()].some(isWeight)) return;
  const kept = nodes.filter(({ op, domain, outputs: [name], attributes }) => {
    if (op !== "Constant" || domain !== "" || attributes.raw("value")?.t?.dataLocation !== 0) {
      return true;
    }
    const value = attributes.tensor("value")!;
    if (!isWeight(value) || !name) return true;
    initialisers.set(name, value);
    return false;
  });
  nodes.splice(0, nodes.length, ...kept);
}

function typesOf(graph: Graph): Map<string, ValueType> {
  const types = new Map<string, ValueType>();
  for (const { name, type } of [...graph.valueInfo, ...graph.output]) {
    const read = readType(type);
    if (read !== null) types.set(name, read);
  }
  return types;
}

function twice(name: string, what: string, by: string): DataLossError {
  return new DataLossError(`Cannot read ${by}: "${name}" is ${what} twice`);
}

function missing(name: string, by: string, isLater: boolean): DataLossError {
  return new DataLossError(
    isLater
      ? `Cannot read ${by}: it reads "${name}", which a later node makes; nodes form a cycle`
      : `Cannot read ${by}: it reads "${name}", which nothing makes`,
  );
}
