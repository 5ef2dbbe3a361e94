/** Replaces variables of a GraphDef by constants, also in loops, branches and calls that pass them to functions. */
import { DTYPES } from "../../engine/core/dtype.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { calledFunctions, constantAttrs, dataInputs } from "./nodes.ts";

/** Ops that pass their inputs to functions: the first such input, and the attributes with the types. */
const CALLS: readonly (readonly [RegExp, { readonly first: number; readonly types: string }])[] = [
  [/^(Stateless)?While$/, { first: 0, types: "T" }],
  [/^(Stateless)?If$/, { first: 1, types: "Tin" }],
  [/^(Stateful)?PartitionedCall$/, { first: 0, types: "Tin" }],
];

const callOf = (op: string) => CALLS.find(([pattern]) => pattern.test(op))?.[1];

/**
 * Returns the graph with a constant for each variable whose handle is named. Throws `UnimplementedError` where a node
 * other than a read uses one.
 */
export function freezeVariables(
  def: GraphDefJson,
  values: ReadonlyMap<string, NdArray>,
): GraphDefJson {
  const freezer = new Freezer(def.library?.function ?? []);
  const handles = new Map(
    [...values].map(([name, value]) => [name, DTYPES[value.dtype].tfEnum] as const),
  );
  const { nodes } = new Body(def.node, handles, freezer).frozen();
  const node = nodes.map((n) => {
    const value = values.get(n.name);
    return value === undefined ? n : { name: n.name, op: "Const", attr: constantAttrs(value) };
  });
  const { library: _, ...rest } = def;
  const functions = calledFunctions(node, freezer.functions);
  return { ...rest, node, ...(functions.length > 0 && { library: { function: functions } }) };
}

/** Types of the former handles, by position; undefined for unchanged values. */
type FrozenTypes = readonly (string | undefined)[];

interface Specialized {
  readonly name: string;
  readonly outputs: FrozenTypes;
}

/** Functions, and their variants that take values instead of handles. */
class Freezer {
  readonly #known: ReadonlyMap<string, FunctionDefJson>;
  readonly #made = new Map<string, Specialized>();
  /** Returns all functions, also unused ones. */
  readonly functions: FunctionDefJson[];

  constructor(functions: readonly FunctionDefJson[]) {
    this.#known = new Map(functions.map((f) => [f.signature.name, f]));
    this.functions = [...functions];
  }

  /** Returns the variant of a function that takes values of these types instead of handles. */
  specialize(name: string, inputs: FrozenTypes): Specialized {
    const key = [name, ...inputs.map((t) => t ?? "")].join(" ");
    const made = this.#made.get(key);
    if (made !== undefined) return made;
    const f = this.#known.get(name)!;
    const { inputArg, outputArg } = f.signature;
    const frozen = inputArg.flatMap((arg, i) =>
      inputs[i] === undefined ? [] : [[arg.name, inputs[i]!] as const]
    );
    const body = new Body(f.nodeDef, new Map(frozen), this);
    const { nodes, rename } = body.frozen();
    const outputs = outputArg.map((o) => body.typeOf(f.ret[o.name]));
    const result = { name: `${name}_frozen_${this.#made.size}`, outputs };
    this.#made.set(key, result);
    this.functions.push({
      ...f,
      signature: {
        ...f.signature,
        name: result.name,
        inputArg: inputArg.map((arg, i) => ({ ...arg, type: inputs[i] ?? arg.type })),
        outputArg: outputArg.map((arg, i) => ({ ...arg, type: outputs[i] ?? arg.type })),
      },
      nodeDef: nodes,
      ret: Object.fromEntries(Object.entries(f.ret).map(([k, v]) => [k, rename(v)])),
    });
    return result;
  }
}

/** Nodes of a graph or of a function; some of their tensors have become values. */
class Body {
  readonly #nodes: readonly NodeDefJson[];
  readonly #byName: ReadonlyMap<string, NodeDefJson>;
  readonly #handles: ReadonlyMap<string, string>;
  readonly #freezer: Freezer;
  readonly #called = new Map<string, readonly Specialized[]>();

  /** `handles`: arguments or nodes that are values now, with their types. */
  constructor(
    nodes: readonly NodeDefJson[],
    handles: ReadonlyMap<string, string>,
    freezer: Freezer,
  ) {
    this.#nodes = nodes;
    this.#byName = new Map(nodes.map((n) => [n.name, n]));
    this.#handles = handles;
    this.#freezer = freezer;
  }

  /** Returns the nodes, and the new name of each input that was a read. */
  frozen(): { readonly nodes: NodeDefJson[]; readonly rename: (input: string) => string } {
    const reads = new Set(
      this.#nodes.filter((n) => n.op === "ReadVariableOp" && this.#frozenInputs(n).some(Boolean))
        .map((n) => n.name),
    );
    const rename = (input: string): string => {
      const [node, output, k] = input.split(":");
      return k !== undefined && output === "value" && reads.has(node)
        ? `${node}:output:${k}`
        : input;
    };
    const nodes = this.#nodes.map((n) => this.#freeze(n)).map((n) => ({
      ...n,
      ...(n.input && { input: n.input.map(rename) }),
    }));
    return { nodes, rename };
  }

  /** Returns the type of a former handle; undefined for anything else. */
  typeOf(input: string): string | undefined {
    const [name, ...rest] = input.split(":");
    const given = this.#handles.get(name);
    if (given !== undefined) return given;
    const node = this.#byName.get(name);
    if (node === undefined) return undefined;
    if (node.op === "Identity") return this.typeOf(dataInputs(node)[0]);
    if (callOf(node.op) === undefined || !this.#frozenInputs(node).some(Boolean)) return undefined;
    const [f] = this.#callees(node);
    return f.outputs[Number(rest.at(-1) ?? 0)];
  }

  #frozenInputs(node: NodeDefJson): FrozenTypes {
    return dataInputs(node).map((i) => this.typeOf(i));
  }

  /**
   * Returns the functions of a node, specialized for values: of a loop the body first, whose results are the loop's.
   */
  #callees(node: NodeDefJson): readonly Specialized[] {
    const known = this.#called.get(node.name);
    if (known !== undefined) return known;
    const inputs = this.#frozenInputs(node).slice(callOf(node.op)!.first);
    const made = functionAttrs(node).map(([, { func }]) =>
      this.#freezer.specialize(func!.name, inputs)
    );
    this.#called.set(node.name, made);
    return made;
  }

  #freeze(node: NodeDefJson): NodeDefJson {
    const inputs = this.#frozenInputs(node);
    const first = inputs.find((t) => t !== undefined);
    if (first === undefined) return node;
    const { name, op, input = [], device, attr = {} } = node;
    if (op === "ReadVariableOp" || op === "Identity") {
      return {
        name,
        op: "Identity",
        input,
        ...(device && { device }),
        attr: { T: { type: first } },
      };
    }
    const call = callOf(op);
    if (call === undefined) {
      throw new UnimplementedError(
        `Cannot freeze node "${name}": ${op} uses a variable itself, not its value`,
        { op, node: name },
      );
    }
    const callees = this.#callees(node);
    const changed: Record<string, AttrValueJson> = { ...attr };
    functionAttrs(node).forEach(([key, value], i) => {
      changed[key] = { func: { ...value.func!, name: callees[i].name } };
    });
    changed[call.types] = withTypes(attr[call.types], inputs.slice(call.first));
    const { outputs } = callees[0];
    if (attr.Tout) changed.Tout = withTypes(attr.Tout, outputs);
    if (attr.output_shapes) changed.output_shapes = withoutShapes(attr.output_shapes, outputs);
    return { ...node, attr: changed };
  }
}

function withTypes(types: AttrValueJson | undefined, frozen: FrozenTypes): AttrValueJson {
  return { list: { type: (types?.list?.type ?? []).map((t, i) => frozen[i] ?? t) } };
}

/** A handle is a scalar; its value has any shape. */
function withoutShapes(shapes: AttrValueJson, frozen: FrozenTypes): AttrValueJson {
  const shape = shapes.list?.shape ?? [];
  return {
    list: { shape: shape.map((s, i) => frozen[i] === undefined ? s : { unknownRank: true }) },
  };
}

/** Attributes that are functions: of a loop the body before the condition. */
function functionAttrs({ attr = {} }: NodeDefJson): [string, AttrValueJson][] {
  return Object.entries(attr).filter(([, v]) => v.func !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
