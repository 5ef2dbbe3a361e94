/**
 * Rewrites variables of TensorFlow 1 (VariableV2, Assign, ApplyAdam …) to resource variables, in the GraphDef. In
 * TensorFlow 1 a tensor may be a reference that ops write through. Here the variable is a handle, and its value is read
 * where the reference was used, after the op that returned the reference.
 */
import { ValueError } from "../../engine/core/errors.ts";
import type {
  AttrValueJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { controlInputs, dataInputs } from "./nodes.ts";
import { base64Text, text } from "./values.ts";

type Attrs = Record<string, AttrValueJson>;

/** The resource op that replaces an op on references. */
interface RefOp {
  /** The op on handles. */
  readonly op: string;
  /** Number of its first inputs that are references. */
  readonly refs: number;
  /** The attributes that it keeps. */
  attrs(attr: Attrs): Attrs;
}

const VARIABLE = /^Variable(V2)?$/;

/** Returns the attributes without those that only references have. */
const asUpdate = ({ _class: _c, use_locking: _, validate_shape: __, ...attr }: Attrs): Attrs =>
  attr;

const asValue = ({ T, ...attr }: Attrs): Attrs => ({ ...asUpdate(attr), dtype: T! });

const refOp = (op: string, attrs: RefOp["attrs"], refs = 1): RefOp => ({ op, refs, attrs });

/** Kinds of scatter ops on a variable's rows or parts. */
const SCATTERS = "Add Sub Mul Div Min Max Update NdAdd NdSub NdMin NdMax NdUpdate".split(" ");

/** Optimizer updates that exist for all rows and for some, with the number of variables they change. */
const UPDATES = [
  ["Momentum", 2],
  ["Adagrad", 2],
  ["AdagradV2", 2],
  ["Adadelta", 3],
  ["RMSProp", 3],
  ["CenteredRMSProp", 4],
  ["Ftrl", 3],
  ["FtrlV2", 3],
] as const;

/** Ops that write through their first inputs and return the first one. */
const REF_OPS: ReadonlyMap<string, RefOp> = new Map<string, RefOp>([
  ["Assign", refOp("AssignVariableOp", asValue)],
  ["AssignAdd", refOp("AssignAddVariableOp", asValue)],
  ["AssignSub", refOp("AssignSubVariableOp", asValue)],
  ...SCATTERS.map((how) => [`Scatter${how}`, refOp(`ResourceScatter${how}`, asValue)] as const),
  ["ApplyGradientDescent", refOp("ResourceApplyGradientDescent", asUpdate)],
  ["ApplyAdam", refOp("ResourceApplyAdam", asUpdate, 3)],
  ["ApplyAdaMax", refOp("ResourceApplyAdaMax", asUpdate, 3)],
  ...UPDATES.flatMap(([name, refs]) =>
    [`Apply${name}`, `SparseApply${name}`]
      .map((op) => [op, refOp(`Resource${op}`, asUpdate, refs)] as const)
  ),
]);

/** Ops that only pass a reference on. */
const PASSES = "RefIdentity";

/** True for an op that takes or returns references; it is rewritten. */
export function isRefOp(op: string): boolean {
  return VARIABLE.test(op) || REF_OPS.has(op) || op === "IsVariableInitialized" || op === PASSES;
}

/** True where a graph has variables that are references. */
export function hasRefVariables(nodes: readonly NodeDefJson[]): boolean {
  return nodes.some(({ op }) => isRefOp(op));
}

/** A tensor that is a reference: its variable, and the ops that have written through it. */
interface Ref {
  readonly variable: NodeDefJson;
  /** The op that returned it; absent for the variable's own. */
  readonly after?: string;
}

/**
 * Returns the graph with resource variables instead of references. Throws `ValueError` where an op writes to a value
 * that is no variable.
 */
export function raiseRefVariables(def: GraphDefJson): GraphDefJson {
  const rewriter = new Rewriter(def.node);
  return { ...def, node: def.node.flatMap((node) => rewriter.rewrite(node)) };
}

const handleName = (variable: NodeDefJson): string => `${variable.name}/handle`;

class Rewriter {
  readonly #byName: ReadonlyMap<string, NodeDefJson>;

  constructor(nodes: readonly NodeDefJson[]) {
    this.#byName = new Map(nodes.map((n) => [n.name, n]));
  }

  rewrite(node: NodeDefJson): NodeDefJson[] {
    if (VARIABLE.test(node.op)) return variableNodes(node);
    const data = dataInputs(node), controls = controlInputs(node);
    if (node.op === "IsVariableInitialized") {
      const { variable, after } = this.#writable(node, data[0]);
      const input = [handleName(variable), ...controls, ...control(after)];
      return [{ name: node.name, op: "VarIsInitializedOp", input, attr: {} }];
    }
    const rule = REF_OPS.get(node.op);
    if (rule !== undefined) return this.#update(node, rule, { data, controls });
    const { reads, input } = this.#read(node, data, controls);
    if (reads.length === 0) return [node];
    if (node.op === PASSES) {
      return [{ ...node, op: "Identity", input: [...input, ...controls] }, ...reads];
    }
    return [...reads, { ...node, input: [...input, ...controls] }];
  }

  /** Rewrites a writing op, whose name then stands for the value after the write. */
  #update(
    node: NodeDefJson,
    { op, refs, attrs }: RefOp,
    { data, controls }: { readonly data: readonly string[]; readonly controls: readonly string[] },
  ): NodeDefJson[] {
    const written = Array.from({ length: refs }, (_, k) => this.#writable(node, data[k]));
    const { reads, input } = this.#read(node, data, controls, refs);
    const handles = written.map(({ variable }) => handleName(variable));
    const before = [...controls, ...written.flatMap(({ after }) => control(after))];
    const write: NodeDefJson = {
      ...node,
      name: `${node.name}/write`,
      op,
      input: [...handles, ...input, ...before],
      attr: attrs(node.attr ?? {}),
    };
    return [...reads, write, readNode(node.name, { ...written[0], after: write.name }, [])];
  }

  /** Returns the inputs from this number on as values, with the nodes that read references. */
  #read(node: NodeDefJson, data: readonly string[], controls: readonly string[], from = 0) {
    const reads: NodeDefJson[] = [];
    const input = data.slice(from).map((name, k) => {
      const ref = this.#refOf(name);
      if (ref === null) return name;
      const read = readNode(`${node.name}/read_${from + k}`, ref, controls);
      reads.push(read);
      return read.name;
    });
    return { reads, input };
  }

  #writable(node: NodeDefJson, input: string | undefined): Ref {
    const ref = input === undefined ? null : this.#refOf(input);
    if (ref !== null) return ref;
    throw new ValueError(
      `Cannot import: node "${node.name}" (${node.op}) writes to "${
        input ?? ""
      }", which is no variable`,
    );
  }

  /** Returns the reference that a tensor's name stands for; null for a value. */
  #refOf(input: string): Ref | null {
    let after: string | undefined;
    const seen = new Set<string>();
    for (let name = input;;) {
      const node = this.#byName.get(name.replace(/:0$/, ""));
      if (node === undefined || seen.has(node.name)) return null;
      seen.add(node.name);
      if (VARIABLE.test(node.op)) return { variable: node, ...(after !== undefined && { after }) };
      if (node.op !== PASSES && !REF_OPS.has(node.op)) return null;
      after ??= node.name;
      const [next] = dataInputs(node);
      if (next === undefined) return null;
      name = next;
    }
  }
}

/** Makes the handle; the variable's own name stands for its value, which may be fetched. */
function variableNodes(node: NodeDefJson): NodeDefJson[] {
  const { dtype, shape, container, shared_name } = node.attr ?? {};
  const isNamed = shared_name?.s !== undefined && text(shared_name.s) !== "";
  const handle: NodeDefJson = {
    name: handleName(node),
    op: "VarHandleOp",
    ...(node.device !== undefined && { device: node.device }),
    input: controlInputs(node),
    attr: {
      ...(dtype !== undefined && { dtype }),
      ...(shape !== undefined && { shape }),
      ...(container !== undefined && { container }),
      shared_name: isNamed ? shared_name : { s: base64Text(node.name) },
    },
  };
  return [handle, readNode(node.name, { variable: node }, [])];
}

function readNode(
  name: string,
  { variable, after }: Ref,
  controls: readonly string[],
): NodeDefJson {
  const { dtype } = variable.attr ?? {};
  return {
    name,
    op: "ReadVariableOp",
    ...(variable.device !== undefined && { device: variable.device }),
    input: [handleName(variable), ...controls, ...control(after)],
    attr: dtype === undefined ? {} : { dtype },
  };
}

function control(name: string | undefined): string[] {
  return name === undefined ? [] : [`^${name}`];
}
