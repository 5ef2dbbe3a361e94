/**
 * importGraphDef: reading a GraphDef in proto3 JSON form into the current graph.
 * May import core, graph and runtime files.
 */
import { asDType, type DType, DTYPES, isBigInt } from "../core/dtype.ts";
import { type AttrDef, lookupOp, type OpDef } from "../core/op.ts";
import { NdArray } from "../core/nd_array.ts";
import { type PartialShape, sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { NotFoundError, RuntimeError, ValueError } from "../core/errors.ts";
import { currentGraph, type Graph } from "../graph/graph.ts";
import { FuncGraph } from "../graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../graph/operation.ts";
import type {
  AttrValueJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "../graph/graph_def.ts";
import { ConcreteFunction } from "./concrete_function.ts";
import { VariableState } from "./variable.ts";

/** Options of {@linkcode importGraphDef}. */
export interface ImportOptions {
  /** Name scope of what is imported. Default `"import"`; empty for none. */
  readonly prefix?: string;
  /** Tensors to use in place of those of the GraphDef, by name (`"x"` or `"x:0"`). */
  readonly inputMap?: Readonly<Record<string, Tensor>>;
  /** Names of operations (`"y"`) and tensors (`"y:0"`) to return. */
  readonly returnElements?: readonly string[];
}

/** Checks that a script can run here; `script/` says how. Returns how to register it, or null where it is known. */
export const scriptCheck: { missing: (token: string) => string | null } = { missing: () => null };

/**
 * Adds the nodes of a GraphDef to the current graph. Follows TensorFlow `tf.import_graph_def`.
 * Throws `NotFoundError` for an op or a script nobody registered (naming all that are missing), `ValueError` for a broken GraphDef.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const a = new tf.Graph();
 * a.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), tf.scalar(1)));
 * const def = JSON.parse(JSON.stringify(a.toGraphDef()));
 * const b = new tf.Graph();
 * const [y] = b.asDefault(() => tf.importGraphDef(def, { prefix: "", returnElements: ["AddV2:0"] })) as tf.Tensor[];
 * assertEquals(await new tf.Session({ graph: b }).run(y, { feeds: { "x:0": 2 } }), 3);
 * ```
 */
export function importGraphDef(
  def: GraphDefJson,
  options: ImportOptions = {},
): (Tensor | Operation)[] {
  const graph = currentGraph();
  if (!graph) {
    throw new RuntimeError(
      "Cannot import a GraphDef in eager mode: call importGraphDef() inside graph.asDefault()",
    );
  }
  if (typeof def !== "object" || def === null || !Array.isArray(def.node)) {
    throw new ValueError("Cannot import: wanted a GraphDef object with a list `node`");
  }
  checkScripts(def);
  const library = new Library(def.library?.function ?? []);
  const { prefix = "import", inputMap = {}, returnElements = [] } = options;
  const build = (): (Tensor | Operation)[] => {
    const reader = new Reader(graph, library);
    for (const [name, t] of Object.entries(inputMap)) {
      reader.replace(
        name.includes(":") ? name : `${name}:0`,
        graph.convertInput(t, lookupOp("Identity")!),
      );
    }
    reader.nodes(def.node);
    return returnElements.map((e) => (e.includes(":") ? reader.tensor(e) : reader.operation(e)));
  };
  return prefix === "" ? build() : graph.nameScope(prefix, build);
}

function checkScripts(def: GraphDefJson): void {
  const missing: string[] = [];
  const visit = (nodes: readonly NodeDefJson[]): void => {
    for (const n of nodes) {
      if (!/^(PyFunc|PyFuncStateless|EagerPyFunc)$/.test(n.op)) continue;
      const token = n.attr?.token?.s;
      if (token === undefined) continue;
      const how = scriptCheck.missing(text(token));
      if (how !== null) missing.push(`"${n.name}" needs script "${text(token)}" (${how})`);
    }
  };
  visit(def.node);
  for (const f of def.library?.function ?? []) visit(f.nodeDef);
  if (missing.length > 0) {
    throw new NotFoundError(
      `Cannot import: ${missing.length} script functions are not registered: ${missing.join("; ")}`,
    );
  }
}

/** Functions of a GraphDef, built when first used. */
class Library {
  readonly #defs: Map<string, FunctionDefJson>;
  readonly #built = new Map<string, ConcreteFunction>();

  constructor(defs: readonly FunctionDefJson[]) {
    this.#defs = new Map(defs.map((d) => [d.signature.name, d]));
  }

  get(name: string): ConcreteFunction {
    const known = this.#built.get(name);
    if (known) return known;
    const def = this.#defs.get(name);
    if (!def) throw new NotFoundError(`Function ${name} is not in the GraphDef's library`);
    const graph = new FuncGraph(name);
    const reader = new Reader(graph, this);
    const build = (): void => {
      for (const arg of def.signature.inputArg) {
        reader.replace(arg.name, graph.addInput(asDType(arg.type), null, arg.name));
      }
      reader.nodes(def.nodeDef);
      graph.outputs = def.signature.outputArg.map((o) => reader.tensor(def.ret[o.name]));
    };
    graph.asDefault(build);
    const f = new ConcreteFunction(graph);
    this.#built.set(name, f);
    return f;
  }
}

class Reader {
  readonly #graph: Graph;
  readonly #library: Library;
  readonly #operations = new Map<string, Operation>();
  readonly #replaced = new Map<string, SymbolicTensor>();

  constructor(graph: Graph, library: Library) {
    this.#graph = graph;
    this.#library = library;
  }

  replace(name: string, t: SymbolicTensor): void {
    this.#replaced.set(name, t);
  }

  /** The tensor an input text means: `x`, `x:1`, or `x:output:1` inside functions. */
  tensor(name: string): SymbolicTensor {
    const known = this.#replaced.get(name) ?? this.#replaced.get(`${name}:0`);
    if (known) return known;
    const parts = name.split(":");
    const op = this.operation(parts[0]);
    const index = parts.length === 3
      ? outputIndex(op, parts[1], Number(parts[2]))
      : Number(parts[1] ?? 0);
    const t = op.outputs[index];
    if (!t) {
      throw new ValueError(
        `Cannot import: "${name}" is output ${index} of ${op.name}, which has ${op.outputs.length}`,
      );
    }
    return t;
  }

  operation(name: string): Operation {
    const op = this.#operations.get(name);
    if (!op) throw new ValueError(`Cannot import: node "${name}" is not in the GraphDef`);
    return op;
  }

  /** Adds nodes, each after those it reads, whatever order they stand in. */
  nodes(defs: readonly NodeDefJson[]): void {
    const byName = new Map(defs.map((d) => [d.name, d]));
    const state = new Map<string, "open" | "done">();
    for (const root of defs) {
      const stack: [NodeDefJson, boolean][] = [[root, false]];
      while (stack.length > 0) {
        const [def, ready] = stack.pop()!;
        if (ready) {
          this.#add(def);
          state.set(def.name, "done");
          continue;
        }
        if (state.get(def.name) === "done") continue;
        if (state.get(def.name) === "open") {
          throw new ValueError(`Cannot import: node "${def.name}" is part of a cycle`);
        }
        state.set(def.name, "open");
        stack.push([def, true]);
        for (const input of def.input ?? []) {
          const source = input.replace(/^\^/, "").split(":")[0];
          const next = byName.get(source);
          if (
            next && state.get(source) !== "done" && !this.#replaced.has(input) &&
            !this.#replaced.has(`${input}:0`)
          ) {
            stack.push([next, false]);
          }
        }
      }
    }
  }

  #add(def: NodeDefJson): void {
    const op = lookupOp(def.op);
    if (!op) {
      throw new NotFoundError(
        `Op type not registered '${def.op}' in binary running here, at node "${def.name}"`,
        { op: def.op, node: def.name },
      );
    }
    const data = (def.input ?? []).filter((i) => !i.startsWith("^"));
    const controls = (def.input ?? []).filter((i) => i.startsWith("^")).map((i) =>
      this.operation(i.slice(1))
    );
    const inputs = data.map((i) => this.tensor(i));
    const attrs = this.#attrs(op, def, inputs);
    const add = (): Operation => {
      try {
        return this.#graph.addOp(op, inputs, attrs, {
          name: def.name,
          ...(def.device ? { device: def.device } : {}),
        });
      } catch (e) {
        if (!(e instanceof TypeError)) throw e;
        const i = inputs.findIndex((t) => e.message.includes(t.dtype));
        throw new ValueError(
          i < 0
            ? e.message
            : `Input ${i} of node ${def.name} was passed ${inputs[i].dtype} from ${
              inputs[i].name
            } incompatible with the op's signature: ${e.message}`,
        );
      }
    };
    const made = controls.length > 0 ? this.#graph.controlDependencies(controls, add) : add();
    const shapes = def.attr?._output_shapes?.list?.shape;
    shapes?.forEach((s, i) => made.outputs[i]?.setShape(shapeFromJson(s)));
    this.#operations.set(def.name, made);
  }

  #attrs(op: OpDef, def: NodeDefJson, inputs: readonly SymbolicTensor[]): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    for (const a of op.attrDefs) {
      const value = def.attr?.[a.name];
      if (value === undefined) {
        if (
          a.default === undefined && a.type !== "type" && !a.name.startsWith("_") && a.name !== "N"
        ) {
          throw new ValueError(
            `NodeDef missing attr '${a.name}' from Op<name=${op.name}; signature=${
              op.inputs.join(", ")
            } -> ${op.outputs.join(", ")}> at node "${def.name}"`,
          );
        }
      } else {out[a.name] = a.type === "func"
          ? this.#function(op, value.func!.name, inputs)
          : attrFromJson(a, value);}
    }
    if (def.attr?._script_args) {
      out._script_args = JSON.parse(text(def.attr._script_args.s!));
      out._script_structure = JSON.parse(text(def.attr._script_structure.s!));
    }
    if (op.name === "While") {
      out.Tin = out.Tout = inputs.map((t) => t.dtype);
      out._shapes = inputs.map((t) => t.staticShape);
    }
    if (op.name === "VarHandleOp") {
      out._resource = VariableState.uninitialized(
        out.dtype as DType,
        out.shape as PartialShape,
        (out.shared_name as string) || def.name,
      );
    }
    if (op.name === "ReadVariableOp" && out._shape === undefined) {
      out._shape = inputs[0]?.operation.attrs.shape ?? null;
    }
    return out;
  }

  #function(op: OpDef, name: string, inputs: readonly SymbolicTensor[]): unknown {
    const f = this.#library.get(name);
    if (op.name !== "If" && op.name !== "While") return f;
    // Imported functions take all inputs of the op as arguments and capture nothing.
    return { f, from: op.name === "If" ? inputs.slice(1).map((_, i) => i) : [] };
  }
}

function outputIndex(op: Operation, name: string, k: number): number {
  let i = 0;
  for (const arg of op.def.outputArgs) {
    if (arg.name === name) return i + k;
    i += arg.numberAttr
      ? op.attrs[arg.numberAttr] as number
      : arg.typeListAttr
      ? (op.attrs[arg.typeListAttr] as unknown[]).length
      : 1;
  }
  return k;
}

function attrFromJson(def: AttrDef, v: AttrValueJson): unknown {
  switch (def.type) {
    case "type":
      return asDType(v.type);
    case "bool":
      return v.b ?? false;
    case "int":
      return Number(v.i ?? 0);
    case "float":
      return Number(v.f ?? 0);
    case "string":
      return text(v.s ?? "");
    case "shape":
      return shapeFromJson(v.shape ?? {});
    case "tensor":
      return tensorFromJson(v.tensor!);
    case "list(type)":
      return (v.list?.type ?? []).map(asDType);
    case "list(int)":
      return (v.list?.i ?? []).map(Number);
    case "list(float)":
      return (v.list?.f ?? []).map(Number);
    case "list(bool)":
      return v.list?.b ?? [];
    case "list(string)":
      return (v.list?.s ?? []).map(text);
    case "list(shape)":
      return (v.list?.shape ?? []).map(shapeFromJson);
  }
  throw new ValueError(`Cannot read attribute "${def.name}" of type ${def.type} from a GraphDef`);
}

function shapeFromJson(s: ShapeJson): PartialShape {
  if (s.unknownRank) return null;
  return (s.dim ?? []).map((d) => (Number(d.size) < 0 ? null : Number(d.size)));
}

function tensorFromJson(t: TensorJson): NdArray {
  const dtype = asDType(t.dtype);
  const shape = shapeFromJson(t.tensorShape ?? {}) as number[];
  if (dtype === "string") return new NdArray(dtype, shape, (t.stringVal ?? []).map(bytes));
  const info = DTYPES[dtype];
  if (t.tensorContent === undefined) return listedValues(t, dtype, shape);
  const raw = bytes(t.tensorContent);
  return new NdArray(
    dtype,
    shape,
    new info.array!(raw.buffer as ArrayBuffer, 0, sizeOf(shape) * info.slots),
  );
}

/** Values in a field of their own type: the last one stands for all that follow, none at all for zeros. */
function listedValues(t: TensorJson, dtype: DType, shape: readonly number[]): NdArray {
  const out = NdArray.zeros(dtype, shape);
  const field = VALUE_FIELDS[dtype];
  const values = field === undefined
    ? undefined
    : (t as unknown as Record<string, unknown>)[field] as
      | readonly (number | string | boolean)[]
      | undefined;
  if (!values || values.length === 0) return out;
  const { slots } = DTYPES[dtype];
  const data = out.data as { [i: number]: number | bigint };
  const half = field === "halfVal" ? new Uint16Array((out.data as Uint16Array).buffer) : null;
  const read = (v: number | string | boolean): number | bigint =>
    isBigInt(dtype) ? BigInt(v) : Number(v);
  for (let i = 0; i < out.size * slots; i++) {
    const v = read(values[i < values.length ? i : values.length - slots + i % slots]);
    // Halves come as their bits.
    if (half) half[i] = Number(v);
    else data[i] = v;
  }
  return out;
}

/** Where a TensorProto keeps elements that are not packed into bytes. */
const VALUE_FIELDS: Partial<Record<DType, string>> = {
  float32: "floatVal",
  float64: "doubleVal",
  float16: "halfVal",
  bfloat16: "halfVal",
  int8: "intVal",
  int16: "intVal",
  int32: "intVal",
  uint8: "intVal",
  uint16: "intVal",
  int64: "int64Val",
  uint32: "uint32Val",
  uint64: "uint64Val",
  bool: "boolVal",
  complex64: "scomplexVal",
  complex128: "dcomplexVal",
};

function bytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function text(base64: string): string {
  return new TextDecoder().decode(bytes(base64));
}
