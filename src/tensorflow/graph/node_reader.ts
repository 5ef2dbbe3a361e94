/** Adds the nodes and functions of a GraphDef to graphs. */
import { asDType } from "../../engine/core/dtype.ts";
import { lookupOp, type OpDef } from "../../engine/core/op.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { withScope } from "../../engine/core/scope_context.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { FuncGraph } from "../../engine/graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { type Budget, checkInputCount, located } from "../graph_def/check.ts";
import { controlInputs, dataInputs, sourceOf } from "../graph_def/nodes.ts";
import { attrFromJson } from "../graph_def/values.ts";
import { makesTable } from "../../engine/ops/host/lookup.ts";
import { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import { mergeDevices } from "../../engine/runtime/devices/devices.ts";
import { opNamed, ruleFor } from "./op_table.ts";
import { nodeAttributes } from "./import_attributes.ts";
import type { InlineOptions } from "./import_options.ts";
import type { Functions, ImportedNode, RuleEntry } from "./rule.ts";

/** Functions of a GraphDef, built when first used. */
export class Library implements Functions {
  /** Limits the values that the file may create. */
  readonly budget: Budget;
  readonly #defs: Map<string, FunctionDefJson>;
  readonly #options: InlineOptions;
  readonly #built = new Map<string, ConcreteFunction>();
  readonly #open = new Set<string>();
  readonly #gradients: ReadonlyMap<string, string>;

  constructor(
    { function: defs, gradient = [] }: NonNullable<GraphDefJson["library"]>,
    options: InlineOptions,
    budget: Budget,
  ) {
    this.budget = budget;
    this.#gradients = new Map(gradient.map((g) => [g.functionName, g.gradientFunc]));
    // Bodies of loops and branches take all their values as arguments.
    this.#options = { ...options, inputMap: {} };
    this.#defs = new Map(defs.map((d) => [d.signature.name, d]));
  }

  /** Returns a function of the file. Throws `NotFoundError` for an unknown name. */
  def(name: string): FunctionDefJson {
    const def = this.#defs.get(name);
    if (def) return def;
    throw new NotFoundError(`Function ${name} is not in the GraphDef's library`);
  }

  /** Returns the function that the file declares as the gradient of another; undefined for none. */
  gradientOf(name: string): string | undefined {
    return this.#gradients.get(name);
  }

  /** Runs `fn` with a function's body open. Throws `ValueError` if it is open already: the function calls itself. */
  within<T>(name: string, work: () => T): T {
    if (this.#open.has(name)) {
      throw new ValueError(`Cannot import: function ${name} calls itself`);
    }
    this.#open.add(name);
    try {
      return work();
    } finally {
      this.#open.delete(name);
    }
  }

  /** Returns a function. Its arguments have the dtypes of the call: TensorArrays, handles in the file, are tensors here. */
  get(name: string, given: readonly Spec[] = []): ConcreteFunction {
    const def = this.def(name);
    const types = def.signature.inputArg.map((arg, i) => given[i]?.dtype ?? asDType(arg.type));
    const shapes = def.signature.inputArg.map((_, i) => given[i]?.shape ?? null);
    const key = [name, ...types, JSON.stringify(shapes)].join(" ");
    const known = this.#built.get(key);
    if (known) return known;
    const graph = new FuncGraph(name);
    const reader = new Reader(graph, this, this.#options);
    const build = (): void => {
      def.signature.inputArg.forEach((arg, i) => {
        reader.replace(arg.name, graph.addInput(types[i], shapes[i], arg.name));
      });
      reader.nodes(def.nodeDef);
      graph.outputs = def.signature.outputArg.map((o, k) => {
        const t = reader.tensor(def.ret[o.name], name), declared = asDType(o.type);
        // TensorArrays are their rows here, and so are handles and flows of version 1 arrays: rows in, rows out.
        const isOther = declared === "variant" ||
          t.dtype === types[k] && def.signature.inputArg[k]?.type === o.type ||
          (this.#options.narrowIntegers && declared === "int64");
        if (t.dtype === declared || isOther) return t;
        throw new ValueError(
          `Cannot import: result ${o.name} of function ${name} is ${t.dtype}, declared as ${declared}`,
        );
      });
    };
    this.within(name, () => graph.asDefault(build));
    const f = new ConcreteFunction(graph);
    this.#built.set(key, f);
    return f;
  }
}

/** Adds nodes of a GraphDef to a graph, and finds the tensor of each name in the file. */
export class Reader {
  readonly #graph: Graph;
  readonly #library: Library;
  readonly #options: InlineOptions;
  readonly #operations = new Map<string, Operation>();
  readonly #replaced = new Map<string, SymbolicTensor>();
  /** Output names of nodes that became other ops. */
  readonly #outputArguments = new Map<string, readonly string[]>();

  constructor(graph: Graph, library: Library, options: InlineOptions = {}) {
    this.#graph = graph;
    this.#library = library;
    this.#options = options;
  }

  replace(name: string, t: SymbolicTensor): void {
    this.#replaced.set(name, t);
  }

  /** Returns the tensor of an input text: `x`, `x:1`, or `x:output:1` inside functions. */
  tensor(name: string, reader?: string): SymbolicTensor {
    const parts = name.split(":");
    const plain = this.#replaced.get(name) ?? this.#replaced.get(`${name}:0`);
    if (plain) return plain;
    const op = this.operation(parts[0], reader);
    const index = parts.length === 3 ? this.#outputIndex(op, parts) : Number(parts[1] ?? 0);
    const t = this.#replaced.get(`${parts[0]}:${index}`) ?? op.outputs[index];
    if (!t) {
      throw new ValueError(
        `Cannot import: "${name}" is output ${index} of ${op.name}, which has ${op.outputs.length}`,
      );
    }
    return t;
  }

  /** Returns the output number of `node:argument:k`. */
  #outputIndex(op: Operation, [node, argument, k]: readonly string[]): number {
    const names = this.#outputArguments.get(node);
    if (names === undefined) return outputIndex(op, argument, Number(k));
    if (names.length === 0) return Number(k);
    if (names.includes(argument)) return names.indexOf(argument) + Number(k);
    throw new ValueError(
      `Cannot import: "${node}:${argument}" is not known, its outputs are ${names}`,
    );
  }

  operation(name: string, reader?: string): Operation {
    const op = this.#operations.get(name) ?? this.#replaced.get(`${name}:0`)?.operation;
    if (op) return op;
    throw new ValueError(
      reader === undefined
        ? `Cannot import: Requested return_element '${name}' not found in graph_def`
        : `Cannot import: Node '${reader}': Unknown input node '${name}'`,
    );
  }

  /** Adds nodes in topological order, for any order in the file. */
  nodes(defs: readonly NodeDefJson[]): void {
    const byName = new Map<string, NodeDefJson>();
    for (const d of defs) {
      if (byName.has(d.name)) throw new ValueError(`Cannot import: Node '${d.name}' is not unique`);
      byName.set(d.name, d);
    }
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
          const source = sourceOf(input);
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
    const inputs = dataInputs(def).map((i) => this.tensor(i, def.name));
    const controls = controlInputs(def).map((i) => this.operation(i.slice(1), def.name));
    if (this.#options.inlineCalls && CALL.test(def.op)) {
      return this.#inline(def, inputs, controls);
    }
    const node = { name: def.name, inputs, attr: def.attr ?? {}, functions: this.#library };
    const entry = ruleFor(def.op, node);
    if (entry !== undefined) return this.#addByRule(def, entry, { node, controls });
    // Missing ones were reported for all nodes at once.
    const op = opNamed(def.op)!;
    const attrs = located(
      def,
      () => nodeAttributes(op, def, { inputs, library: this.#library, options: this.#options }),
    );
    const add = (): Operation => {
      try {
        return this.#graph.addOp(op, this.#widened(op, inputs), attrs, {
          name: def.name,
          ...deviceOf(def),
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
    const shapes = def.attr?._output_shapes, { budget } = this.#library;
    located(def, () => {
      const all = shapes === undefined ? [] : attrFromJson(OUTPUT_SHAPES, shapes, budget);
      (all as readonly PartialShape[]).forEach((s, i) => {
        // A TensorArray has the shape of a scalar in the file.
        if (!isListOutput(def, i)) made.outputs[i]?.setShape(s);
      });
    });
    made.isFromFile = true;
    this.#operations.set(def.name, made);
    if (this.#options.narrowIntegers) this.#narrow(def.name, made);
  }

  #narrow(name: string, made: Operation): void {
    made.outputs.forEach((t, k) => {
      if (t.dtype !== "int64") return;
      this.#replaced.set(
        `${name}:${k}`,
        this.#graph.addOp(lookupOp("Cast")!, [t], { DstT: "int32" }).outputs[0],
      );
    });
  }

  #widened(op: OpDef, inputs: readonly SymbolicTensor[]): readonly SymbolicTensor[] {
    const { inputArgs } = op.signature;
    // The keys that a dense table never holds are among its attributes here.
    if (makesTable(op.name)) return [];
    if (!this.#options.narrowIntegers || inputArgs.length !== inputs.length) return inputs;
    return inputs.map((t, i) =>
      inputArgs[i].dtype === "int64" && t.dtype === "int32"
        ? this.#graph.addOp(lookupOp("Cast")!, [t], { DstT: "int64" }).outputs[0]
        : t
    );
  }

  /** Adds the nodes of a rule. The last one has the file's node name. */
  #addByRule(
    def: NodeDefJson,
    { rule, least, outputs: names }: RuleEntry,
    { node, controls }: { readonly node: ImportedNode; readonly controls: readonly Operation[] },
  ): void {
    checkInputCount(def, least);
    const add = () => this.#graph.nameScope(def.name, () => rule(node));
    const before = this.#graph.operations.length;
    const outputs = this.#graph.controlDependencies(
      [...controls],
      () => withScope(deviceOf(def), add) as readonly SymbolicTensor[],
    );
    const effects = this.#graph.operations.slice(before).filter((o) => o.def.stateful);
    outputs.forEach((t, k) => this.#replaced.set(`${def.name}:${k}`, t));
    this.#outputArguments.set(def.name, names);
    // A reader of a writing op's result triggers the write, and a node that waits for it waits for the write.
    const writes = effects.filter((o) => o.outputs.length === 0);
    const named = outputs.length === 1
      ? this.#graph.controlDependencies(
        writes,
        () => this.#graph.addOp(lookupOp("Identity")!, [outputs[0]], {}, { name: def.name }),
      )
      : this.#graph.controlDependencies(
        [...controls, ...effects, ...outputs.map((t) => t.operation)],
        () => this.#graph.addOp(lookupOp("NoOp")!, [], {}, { name: def.name }),
      );
    if (outputs.length === 1 && writes.length > 0) {
      this.#replaced.set(`${def.name}:0`, named.outputs[0]);
    }
    this.#operations.set(def.name, named);
  }

  /** Adds the body of a called function. Nodes that wait for the call wait for the body's effects. */
  #inline(
    def: NodeDefJson,
    inputs: readonly SymbolicTensor[],
    controls: readonly Operation[],
  ): void {
    const name = def.attr?.f?.func?.name ?? "";
    const f = this.#library.def(name);
    const body = new Reader(this.#graph, this.#library, this.#options);
    f.signature.inputArg.forEach((arg, i) => body.replace(arg.name, inputs[i]));
    this.#library.within(
      name,
      () =>
        this.#graph.nameScope(
          def.name,
          () => this.#graph.controlDependencies([...controls], () => body.nodes(f.nodeDef)),
        ),
    );
    const outputs = f.signature.outputArg.map((o) => body.tensor(f.ret[o.name], name));
    outputs.forEach((t, k) => {
      this.#replaced.set(`${def.name}:${k}`, t);
    });
    const effects = Object.values(f.controlRet ?? {}).map((c) => body.operation(c, name));
    const done = this.#graph.controlDependencies(
      [...effects, ...outputs.map((t) => t.operation), ...controls],
      () => this.#graph.addOp(lookupOp("NoOp")!, [], {}, { name: def.name }),
    );
    this.#outputArguments.set(def.name, []);
    this.#operations.set(def.name, done);
  }
}

/** Ops that call a function. */
export const CALL: RegExp = /^(Stateful)?PartitionedCall$/;

function deviceOf({ device }: NodeDefJson): { readonly device?: string } {
  return device ? { device: mergeDevices(null, device) } : {};
}

function isListOutput({ attr }: NodeDefJson, i: number): boolean {
  const types = attr?.Tout?.list?.type ?? attr?.T?.list?.type;
  return (types === undefined ? attr?.T?.type : types[i]) === "DT_VARIANT";
}

const OUTPUT_SHAPES = { name: "_output_shapes", type: "list(shape)" };

function outputIndex(op: Operation, name: string, k: number): number {
  let i = 0;
  for (const arg of op.def.signature.outputArgs) {
    if (arg.name === name) return i + k;
    i += arg.numberAttr
      ? op.attrs[arg.numberAttr] as number
      : arg.typeListAttr
      ? (op.attrs[arg.typeListAttr] as unknown[]).length
      : 1;
  }
  return k;
}
