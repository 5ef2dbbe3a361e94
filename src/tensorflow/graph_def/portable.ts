/** Replaces ops that TensorFlow lacks in a portable GraphDef. */
import { partsOf } from "./portable_build.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { OpDef } from "../../engine/core/op.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type { NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";

/** A node that TensorFlow cannot have. */
export interface UnportableNode {
  /** Its name. */
  readonly node: string;
  /** Its op. */
  readonly op: string;
  /** The function that contains it; absent for a node of the graph itself. */
  readonly function?: string;
  /** The reason. */
  readonly reason: string;
}

export function unportableError(nodes: readonly UnportableNode[]): ValueError {
  const list = nodes.map((n) =>
    `"${n.node}" (${n.op}${
      n.function === undefined ? "" : `, in function ${n.function}`
    }): ${n.reason}`
  );
  return new ValueError(
    `Cannot write a portable GraphDef: TensorFlow has no counterpart of ${
      nodes.length === 1 ? "one node" : `${nodes.length} nodes`
    }: ${list.join("; ")}. Pass { portable: false } to write a GraphDef that only Weft reads`,
  );
}

/** The replacement of an op by TensorFlow's ops. */
export interface Replacement {
  /** True for a loop over rows, which is written directly rather than built. */
  readonly scan?: boolean;
  /** The graph that they were built in. */
  readonly graph: Graph | null;
  /** Operations in topological order, without the placeholders of the inputs. */
  readonly operations: readonly Operation[];
  /** Placeholders of the op's inputs; null for unused ones. */
  readonly inputs: readonly (SymbolicTensor | null)[];
  /** Results, one for each output of the op. */
  readonly outputs: readonly SymbolicTensor[];
}

/** Returns the replacement of an op: null for the op itself, a text with the reason if there is none. */
export function replacementOf(op: Operation): Replacement | string | null {
  const { portable } = op.def;
  if (op.type === "Scan") {
    return { scan: true, graph: null, operations: [], inputs: [], outputs: [] };
  }
  if (portable === undefined) return null;
  if (typeof portable === "object") {
    if ("never" in portable) return portable.never;
    if (!("mostInputs" in portable)) return ownAttr(op);
    if (op.inputs.length <= portable.mostInputs) return null;
  }
  try {
    return partsOf(op);
  } catch (e) {
    return `its parts depend on what is not known before it runs (${(e as Error).message})`;
  }
}

/** Attributes that TensorFlow's op of this name lacks, each with a test for the values that can be omitted. */
export function attrsOfOurOwn(
  { portable }: OpDef,
): Readonly<Record<string, (v: unknown) => boolean>> {
  return typeof portable === "object" && "without" in portable ? portable.without : {};
}

function ownAttr({ type, def, attrs }: Operation): string | null {
  for (const [name, isPlain] of Object.entries(attrsOfOurOwn(def))) {
    const value = attrs[name] as unknown;
    if (!isPlain(value)) {
      return `TensorFlow's ${type} has no attribute ${name}, which is ${value} here`;
    }
  }
  return null;
}

export interface PlaceOptions {
  /** The enclosing function. */
  readonly inFunction?: string;
  /** Renamed values: arguments of the function. */
  readonly given?: ReadonlyMap<SymbolicTensor, string>;
  /** Formats an op's output as in functions: `name:index`. */
  readonly reference: (op: Operation, index: number) => string;
}

/** The naming context of nodes and inputs. */
export class Place {
  /** The enclosing function. */
  readonly inFunction: string | undefined;
  /** Device of nodes without one. */
  readonly device: string;
  readonly #options: PlaceOptions;
  readonly #prefix: string;
  readonly #controls: readonly string[];
  readonly #scopes: Set<string>;

  constructor(
    graph: Graph | null,
    options: PlaceOptions,
    outer?: { prefix: string; controls: readonly string[]; device: string; scopes: Set<string> },
  ) {
    this.#options = options;
    this.inFunction = options.inFunction;
    this.device = outer?.device ?? "";
    this.#prefix = outer?.prefix ?? "";
    this.#controls = outer?.controls ?? [];
    this.#scopes = outer?.scopes ?? scopesOf(graph?.operations ?? []);
  }

  name(op: Operation): string {
    return this.#prefix + op.name;
  }

  input(t: SymbolicTensor): string {
    const { operation, valueIndex } = t;
    return this.#options.given?.get(t) ?? this.output(this.name(operation), {
      index: valueIndex,
      arg: this.inFunction === undefined ? "" : this.#options.reference(operation, valueIndex),
    });
  }

  /** Formats a node's output; `arg` is the form in functions, `name:index`. */
  output(node: string, { index, arg }: { readonly index: number; readonly arg: string }): string {
    if (this.inFunction !== undefined) return `${node}:${arg}`;
    return index === 0 ? node : `${node}:${index}`;
  }

  /** Returns all inputs of an op's node, control inputs included. */
  inputs(op: Operation): string[] {
    return [
      ...op.inputs.map((t) => this.input(t)),
      ...op.controlInputs.map((c) => `^${this.name(c)}`),
      ...this.#controls,
    ];
  }

  /** Writes the node of an op, or of a part of it, on the op's device. */
  node(
    op: Operation,
    { name, type, input, attr }: {
      readonly name: string;
      readonly type: string;
      readonly input: string[];
      readonly attr: NonNullable<NodeDefJson["attr"]>;
    },
  ): NodeDefJson {
    const device = op.device || this.device;
    return {
      name,
      op: type,
      ...(input.length > 0 ? { input } : {}),
      ...(device === "" ? {} : { device }),
      ...(Object.keys(attr).length > 0 ? { attr } : {}),
    };
  }

  /** Returns a free scope for the parts of an op, with its `/`. */
  scope(op: Operation): string {
    let scope = this.name(op);
    for (let n = 1; this.#scopes.has(scope.toLowerCase()); n++) scope = `${this.name(op)}_${n}`;
    this.#scopes.add(scope.toLowerCase());
    return `${scope}/`;
  }

  inside(op: Operation, { inputs, operations }: Replacement): Place {
    const given = new Map<SymbolicTensor, string>();
    inputs.forEach((t, i) => t && given.set(t, this.input(op.inputs[i])));
    // A part without inputs would otherwise run before the op's control inputs.
    const controls = [...op.controlInputs.map((c) => `^${this.name(c)}`), ...this.#controls];
    const prefix = this.scope(op);
    return new Place(null, { ...this.#options, given }, {
      prefix,
      controls,
      device: op.device || this.device,
      scopes: new Set([...this.#scopes, ...scopesOf(operations, prefix)]),
    });
  }
}

/** Collects the scopes of op names. */
function scopesOf(operations: readonly Operation[], prefix = ""): Set<string> {
  const scopes = new Set<string>();
  for (const { name } of operations) {
    for (let i = name.indexOf("/"); i >= 0; i = name.indexOf("/", i + 1)) {
      scopes.add((prefix + name.slice(0, i)).toLowerCase());
    }
  }
  return scopes;
}

/** Returns the node with the op's name that returns the results of its parts. */
export function resultNode(
  op: Operation,
  { place, results }: { readonly place: Place; readonly results: readonly string[] },
): NodeDefJson {
  const types = op.outputs.slice(0, results.length).map((t) => DTYPES[t.dtype as DType].tfEnum);
  const one = results.length === 1;
  return place.node(op, {
    name: place.name(op),
    type: one ? "Identity" : "IdentityN",
    input: [...results, ...op.controlInputs.map((c) => `^${place.name(c)}`)],
    attr: { T: one ? { type: types[0] } : { list: { type: types } } },
  });
}
