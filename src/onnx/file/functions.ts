/** Functions of a model: calls are replaced by the function's nodes when the model is read. */
import { create } from "@bufbuild/protobuf";
import { DataLossError, ResourceExhaustedError } from "../../engine/core/errors.ts";
import {
  type Attribute,
  AttributeSchema,
  type Function as FunctionMessage,
  type Graph,
  GraphSchema,
  type Node,
  NodeSchema,
  type OperatorSet,
  ValueInfoSchema,
} from "../proto/onnx_pb.ts";

/** Maximum nodes of a model with all calls replaced: functions that call each other twice grow without bound. */
export const MOST_NODES = 200_000;

/** A node, and the versions of its operator sets. */
export interface VersionedNode {
  readonly node: Node;
  readonly versions: ReadonlyMap<string, number>;
}

/** Returns the name of a domain: ONNX's own has two. */
export function domainName(domain: string): string {
  return domain === "ai.onnx" ? "" : domain;
}

/** Returns versions by domain. Throws `DataLossError` for invalid versions. */
export function versionsOf(sets: readonly OperatorSet[]): Map<string, number> {
  return new Map(sets.map(({ domain, version }) => {
    const v = Number(version);
    if (v >= 1 && v < 1e6) return [domainName(domain), v];
    throw new DataLossError(`Cannot read operator set "${domain}": its version is ${version}`);
  }));
}

/** Replaces calls of a model's functions by their nodes. */
export class Functions {
  readonly #byKey = new Map<string, FunctionMessage>();
  readonly #open: string[] = [];
  #made = 0;
  #calls = 0;

  /** Throws `DataLossError` for two functions with one name. */
  constructor(functions: readonly FunctionMessage[]) {
    for (const f of functions) {
      const key = keyOf(f.domain, f.name, f.overload);
      if (this.#byKey.has(key)) {
        throw new DataLossError(`Cannot read the function ${key}: there are two of this name`);
      }
      this.#byKey.set(key, f);
    }
  }

  /**
   * Returns the nodes with all calls replaced, those in inner graphs when they are read. Throws `DataLossError` for
   * recursive functions, `ResourceExhaustedError` for too many nodes.
   */
  expand(nodes: readonly Node[], versions: ReadonlyMap<string, number>): VersionedNode[] {
    const out: VersionedNode[] = [];
    for (const node of nodes) {
      if (++this.#made > MOST_NODES) {
        throw new ResourceExhaustedError(
          `Cannot read the graph: it has more than ${MOST_NODES} nodes once its functions' calls are replaced`,
        );
      }
      const key = keyOf(node.domain, node.opType, node.overload), f = this.#byKey.get(key);
      if (f === undefined) out.push({ node, versions });
      else out.push(...this.#inline(f, key, node));
    }
    return out;
  }

  #inline(f: FunctionMessage, key: string, call: Node): VersionedNode[] {
    if (this.#open.includes(key)) {
      throw new DataLossError(`Cannot read the function ${key}: it calls itself`);
    }
    if (call.input.length > f.input.length || call.output.length > f.output.length) {
      throw new DataLossError(
        `Cannot call the function ${key}: it takes ${f.input.length} inputs and gives ${f.output.length} outputs, the call has ${call.input.length} and ${call.output.length}`,
      );
    }
    // The outermost call names the nodes: names of nested calls would grow without bound.
    const prefix = `${call.name.split("#")[0] || key}#${this.#calls++}/`;
    const names = new Map<string, string>([["", ""]]);
    f.input.forEach((name, i) => names.set(name, call.input[i] ?? ""));
    f.output.forEach((name, i) => {
      // An output that is an input under its own name must be copied.
      if (call.output[i] && !f.input.includes(name)) names.set(name, call.output[i]);
    });
    const given = new Map(f.attributeProto.map((a) => [a.name, a]));
    for (const a of call.attribute) given.set(a.name, a);
    const renamed = f.node.map((n) => renameNode(n, { names, given, prefix }));
    const copied = f.output.flatMap((name, i) =>
      call.output[i] && f.input.includes(name)
        ? [create(NodeSchema, {
          opType: "Identity",
          input: [names.get(name)!],
          output: [call.output[i]],
        })]
        : []
    );
    this.#open.push(key);
    try {
      const versions = versionsOf(f.opsetImport);
      if (copied.length > 0 && !versions.has("")) versions.set("", 1);
      return this.expand([...renamed, ...copied], versions);
    } finally {
      this.#open.pop();
    }
  }
}

function keyOf(domain: string, name: string, overload: string): string {
  return [domainName(domain), name, ...overload === "" ? [] : [overload]].join(":");
}

interface Renaming {
  /** New names by old ones. */
  readonly names: Map<string, string>;
  /** Attributes of the call, or the function's defaults. */
  readonly given: ReadonlyMap<string, Attribute>;
  /** Prefix of all other names. */
  readonly prefix: string;
}

function rename(name: string, { names, prefix }: Renaming): string {
  let to = names.get(name);
  if (to === undefined) names.set(name, to = prefix + name);
  return to;
}

function renameNode(node: Node, renaming: Renaming): Node {
  return create(NodeSchema, {
    ...node,
    name: renaming.prefix + node.name,
    input: node.input.map((n) => rename(n, renaming)),
    output: node.output.map((n) => rename(n, renaming)),
    attribute: node.attribute.flatMap((a) => {
      if (a.refAttrName !== "") {
        const value = renaming.given.get(a.refAttrName);
        return value === undefined ? [] : [create(AttributeSchema, { ...value, name: a.name })];
      }
      if (a.g === undefined && a.graphs.length === 0) return [a];
      return [create(AttributeSchema, {
        ...a,
        ...a.g && { g: renameGraph(a.g, renaming) },
        graphs: a.graphs.map((g) => renameGraph(g, renaming)),
      })];
    }),
  });
}

function renameGraph(graph: Graph, renaming: Renaming): Graph {
  const value = (v: Graph["input"][number]) =>
    create(ValueInfoSchema, { ...v, name: rename(v.name, renaming) });
  return create(GraphSchema, {
    ...graph,
    input: graph.input.map(value),
    output: graph.output.map(value),
    valueInfo: graph.valueInfo.map(value),
    initializer: graph.initializer.map((t) => ({ ...t, name: rename(t.name, renaming) })),
    node: graph.node.map((n) => renameNode(n, renaming)),
  });
}
