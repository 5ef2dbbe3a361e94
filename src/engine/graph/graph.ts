/** Graph: append-only operations with unique names, name scopes and control dependencies. As an interpreter it adds an operation for each `apply`. */
import { type Seam, seam } from "../core/contract/seam.ts";
import { counter } from "../core/collections/counter.ts";
import { type OpInput, withInterpreter } from "../core/apply.ts";
import { type Attrs, inferOutputs, lookupOp, type OpDef } from "../core/op.ts";
import { castArray } from "../core/convert.ts";
import { DTYPES } from "../core/dtype.ts";
import { wantFunction, wantList, wantMade, wantString, wrongArgument } from "../core/arguments.ts";
import { isSealed, NdArray } from "../core/nd_array.ts";
import type { Tensor } from "../core/tensor.ts";
import { type Spec, specText } from "../core/tensor_spec.ts";
import { currentScope, withScope } from "../core/scope_context.ts";
import { LookupError, OpError, RuntimeError, ValueError } from "../core/errors.ts";
import { type Resource, resourceOf } from "../core/graph_node.ts";
import { Collections } from "./collections.ts";
import type { GraphInterpreter } from "./current_graph.ts";
import { GraphVariables } from "./graph_variables.ts";
import type { GraphDefJson, GraphDefOptions } from "./graph_def_json.ts";
import { captureSite, constantValue, Operation, operationOf, SymbolicTensor } from "./operation.ts";

/** Writes graphs as GraphDefs. */
export const graphDefs: Seam<(graph: Graph, options: GraphDefOptions) => GraphDefJson> = seam(
  "GraphDefs",
);

const ROOT_NAME = /^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$/;
const SCOPED_NAME = /^[A-Za-z0-9_.\\/>-]*$/;

/** Checks a full name. Throws `ValueError` for an invalid one. */
function checkName(name: string): string {
  if (ROOT_NAME.test(name)) return name;
  throw new ValueError(`'${name}' is not a valid root scope name`);
}

/** The scopes in force for new operations. */
interface Surroundings {
  /** Name scope, with its `/`. */
  readonly scope: string;
  readonly controls: readonly ControlScope[];
  readonly colocation: Operation | null;
  readonly overrides: Readonly<Record<string, string>> | null;
}

interface ControlScope {
  readonly controls: readonly Operation[];
  /** Operations made inside: an input from one of them makes a control edge unnecessary. */
  readonly made: Set<Operation>;
}

const nextGraph = counter();

/**
 * A dataflow graph. Follows TensorFlow `tf.Graph`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const y = g.asDefault(() => tf.add(tf.placeholder("float32", [], "x"), 1));
 * await using sess = new tf.Session({ graph: g });
 * console.log(await sess.run(y, { feeds: { "x:0": 2 } })); // 3
 * ```
 */
export class Graph {
  /** Name of the graph in messages. */
  readonly key: string = `graph_${nextGraph()}`;
  readonly #operations: Operation[] = [];
  readonly #byName = new Map<string, Operation>();
  readonly #names = new Map<string, number>();
  readonly #unfeedable = new Set<number>();
  #around: Surroundings = { scope: "", controls: [], colocation: null, overrides: null };
  #finalized = false;
  /** Number of shapes promised with `setShape`: a plan checks the promises made before it. */
  promises = 0;
  /** Its variables. */
  readonly variables: GraphVariables = new GraphVariables(this);
  /** Its collections. */
  readonly collections: Collections = new Collections();
  /**
   * Adds an operation for each `apply`.
   * @internal
   */
  readonly interpreter: GraphInterpreter = {
    symbolic: true,
    operationCount: () => this.version,
    graph: this,
    apply: (def, inputs, attrs) => this.addOp(def, inputs, attrs).outputs.slice(),
    constant: (value, dtype = value.dtype) => this.constant(castArray(value, dtype)),
  };

  /** Operations in order of their creation. */
  get operations(): readonly Operation[] {
    return this.#operations;
  }
  /** Increases with each operation; a plan is for one version. */
  get version(): number {
    return this.#operations.length;
  }
  /** True after `finalize()`. */
  get finalized(): boolean {
    return this.#finalized;
  }
  /** Current name scope, with its `/`. */
  get scopeName(): string {
    return this.#around.scope;
  }

  /**
   * Runs `fn` with this graph as the one being built; an async function only until its first await, as in all scopes.
   */
  asDefault<R>(fn: () => R): R {
    wantFunction(fn, "fn", "asDefault");
    return withInterpreter(this.interpreter, fn);
  }

  /** Forbids further operations. */
  finalize(): void {
    this.#finalized = true;
  }

  /**
   * Adds an operation. Throws `RuntimeError` after `finalize()`, and the errors of `infer` for inputs that do not fit.
   */
  addOp(
    def: OpDef,
    inputs: readonly OpInput[],
    attrs: Attrs,
    options: { name?: string | undefined; device?: string; site?: Error } = {},
  ): Operation {
    if (this.#finalized) throw new RuntimeError("Graph is finalized and cannot be modified.");
    const wanted = options.name ?? currentScope().opName ?? def.name.replace(/^_+/, "");
    const tensors = withScope({ opName: null }, () => inputs.map((x) => this.convertInput(x, def)));
    const specs = tensors.map((t): Spec => ({
      dtype: t.dtype,
      shape: t.staticShape,
      value: constantValue(t),
    }));
    let inferred: { attrs: Attrs; outputs: Spec[] };
    try {
      inferred = inferOutputs(def, specs, attrs);
    } catch (e) {
      throw this.#located(e, def, specs);
    }
    const scoped = this.#scopedName(wanted), { controls, colocation, overrides } = this.#around;
    // A name that ends in `/` is a scope's, which the caller reserved.
    const isFree = wanted.endsWith("/") && !this.#byName.has(scoped);
    const name = isFree ? scoped : this.uniqueName(scoped);
    const op = new Operation(this, this.#operations.length, {
      name,
      def,
      inputs: tensors,
      controlInputs: this.#controlsFor(tensors),
      attrs: colocation || overrides
        ? { ...inferred.attrs, ...this.#scopeAttrs(def) }
        : inferred.attrs,
      device: options.device ?? colocation?.device ?? currentScope().device ?? "",
      outputs: inferred.outputs,
      site: options.site ?? captureSite(),
    });
    this.#operations.push(op);
    this.#byName.set(name, op);
    for (const c of controls) c.made.add(op);
    this.onOperation(op);
    return op;
  }

  /** Hook for each new operation: function graphs order effects here. */
  protected onOperation(_op: Operation): void {}

  /**
   * Converts an input to a tensor of this graph: literals and eager tensors become constants. Throws `ValueError` for a
   * tensor of another graph.
   */
  convertInput(x: OpInput, def: OpDef): SymbolicTensor {
    if (x instanceof NdArray) return this.constant(x);
    if (x instanceof SymbolicTensor) return x.graph === this ? x : this.foreign(x, def);
    const resource = resourceOf(x);
    if (resource !== undefined) return this.resource(x, resource);
    return this.capture(x);
  }

  /** Handles an eager tensor used in this graph. */
  protected capture(x: Tensor): SymbolicTensor {
    return this.constant(x.ndarraySync());
  }

  /** Handles a tensor of another graph used in this one. */
  protected foreign(x: SymbolicTensor, def: OpDef): SymbolicTensor {
    throw new ValueError(
      `Cannot use ${x} as an input of ${def.name} in ${this.key}: tensors must be from the same graph as the op, this one is of ${x.graph.key}`,
    );
  }

  /** Returns the node of a variable, one per variable. */
  protected resource(x: Tensor, resource: Resource): SymbolicTensor {
    const known = this.variables.find(resource);
    if (known) return known;
    const node = this.variables.add(resource);
    this.onResource(x);
    return node;
  }
  /** Adds a value to a collection. Follows TensorFlow `tf.Graph.add_to_collection`. */
  addToCollection(name: string, value: unknown): void {
    this.collections.list(name).push(value);
  }
  /**
   * Returns the values of a collection, or those whose names begin with `scope`. Follows TensorFlow
   * `tf.Graph.get_collection`.
   */
  getCollection(name: string, scope?: string): unknown[] {
    wantString(name, "name", "getCollection");
    if (scope !== undefined) wantString(scope, "scope", "getCollection");
    return this.collections.get(name, scope);
  }

  /** Hook for the first use of a variable in this graph. */
  protected onResource(_x: Tensor): void {}

  /** Adds a `Const` node with a copy of the value: later writes of the caller must not change it. */
  constant(given: NdArray, name?: string): SymbolicTensor {
    if (!(given instanceof NdArray)) throw wrongArgument(given, "given", "constant", "an NdArray");
    const isKept = DTYPES[given.dtype].kind === "handle" || isSealed(given);
    const value = isKept ? given : given.copy();
    return this.addOp(lookupOp("Const")!, [], { value, dtype: value.dtype }, { name }).outputs[0];
  }

  #within<R>(part: Partial<Surroundings>, fn: () => R): R {
    const before = this.#around;
    this.#around = { ...before, ...part };
    try {
      return fn();
    } finally {
      this.#around = before;
    }
  }

  /** Runs `fn` outside name scopes and control dependencies. */
  atRoot<R>(fn: () => R): R {
    wantFunction(fn, "fn", "atRoot");
    return this.#within({ scope: "", controls: [] }, fn);
  }

  /** Returns a free name, case-insensitively, and reserves it: `x`, `x_1`, …. */
  uniqueName(wanted: string): string {
    wantString(wanted, "wanted", "uniqueName");
    const key = wanted.toLowerCase();
    const n = this.#names.get(key);
    this.#names.set(key, (n ?? 0) + 1);
    if (n === undefined) return wanted;
    for (let i = n;; i++) {
      const candidate = `${wanted}_${i}`;
      if (!this.#names.has(candidate.toLowerCase())) {
        this.#names.set(key, i + 1);
        this.#names.set(candidate.toLowerCase(), 1);
        return candidate;
      }
    }
  }

  #scopedName(wanted: string): string {
    if (wanted.endsWith("/")) return checkName(wanted.slice(0, -1));
    const { scope } = this.#around;
    if (!(scope === "" ? ROOT_NAME : SCOPED_NAME).test(wanted)) {
      throw new ValueError(`'${wanted}' is not a valid ${scope === "" ? "root " : ""}scope name`);
    }
    return scope + wanted;
  }

  /** Runs `fn` with names prefixed; a name that ends in `/` re-enters that scope, empty or null returns to the root. */
  nameScope<R>(name: string | null, fn: (scope: string) => R): R {
    if (name !== null) wantString(name, "name", "nameScope");
    wantFunction(fn, "fn", "nameScope");
    let scope = "";
    if (name?.endsWith("/")) scope = `${checkName(name.slice(0, -1))}/`;
    else if (name) scope = `${this.uniqueName(this.#scopedName(name))}/`;
    return this.#within({ scope }, () => fn(scope));
  }

  /** Runs `fn`; the operations made inside run after `controls`. Null clears the dependencies in force. */
  controlDependencies<R>(controls: readonly (Operation | Tensor)[] | null, fn: () => R): R {
    if (controls !== null) wantList(controls, "controls", "controlDependencies", "operations");
    wantFunction(fn, "fn", "controlDependencies");
    if (controls === null) return this.#within({ controls: [] }, fn);
    const ops = controls.map((c) => {
      const op = operationOf(c);
      if (op?.graph === this) return op;
      throw new ValueError(
        `Cannot depend on ${String(c)}: it is not an operation or tensor of this graph`,
      );
    });
    const scope = { controls: ops, made: new Set<Operation>() };
    return this.#within({ controls: [...this.#around.controls, scope] }, fn);
  }

  #controlsFor(inputs: readonly SymbolicTensor[]): Operation[] {
    const out = new Set<Operation>();
    const sources = inputs.map((t) => t.operation);
    for (const { controls, made } of this.#around.controls) {
      if (sources.some((s) => made.has(s))) continue;
      for (const c of controls) if (!sources.includes(c)) out.add(c);
    }
    return [...out];
  }

  /** Runs `fn` with new operations on the device of `op`. */
  colocateWith<R>(op: Operation | Tensor, fn: () => R): R {
    const colocation = operationOf(op);
    if (!colocation) throw wrongArgument(op, "op", "colocateWith", "an operation or its tensor");
    wantFunction(fn, "fn", "colocateWith");
    return this.#within({ colocation }, fn);
  }

  /**
   * Runs `fn`; the operations made inside have registered gradients, by type. Follows TensorFlow
   * `tf.Graph.gradient_override_map`.
   */
  gradientOverrideMap<R>(map: Readonly<Record<string, string>>, fn: () => R): R {
    wantFunction(fn, "fn", "gradientOverrideMap");
    return this.#within({ overrides: { ...this.#around.overrides, ...map } }, fn);
  }

  /** Returns the attributes that an operation gets from the scopes around it. */
  #scopeAttrs({ name }: OpDef): Attrs {
    const { overrides, colocation } = this.#around;
    const gradient = overrides?.[name], near = colocation?.name;
    const type = gradient === undefined ? {} : { _gradient_op_type: gradient };
    return near === undefined ? type : { ...type, _class: [`loc:@${near}`] };
  }

  /** Returns the operation of this name. Throws `ValueError` for a tensor's name, `LookupError` for an unknown one. */
  getOperationByName(name: string): Operation {
    wantString(name, "name", "getOperationByName");
    const op = this.#byName.get(name);
    if (op) return op;
    if (name.includes(":")) {
      throw new ValueError(`Name '${name}' appears to refer to a Tensor, not a Operation.`);
    }
    throw new LookupError(`The name '${name}' refers to an Operation not in the graph.`);
  }

  /** Returns the tensor `op:index`. Throws `ValueError` for an invalid name, `LookupError` for an unknown one. */
  getTensorByName(name: string): SymbolicTensor {
    wantString(name, "name", "getTensorByName");
    const m = /^(.+):(\d+)$/.exec(name);
    if (!m) {
      const is = this.#byName.has(name)
        ? "refers to an Operation"
        : "looks like an (invalid) Operation name";
      throw new ValueError(
        `The name '${name}' ${is}, not a Tensor. Tensor names must be of the form "<op_name>:<output_index>".`,
      );
    }
    const op = this.#byName.get(m[1]), t = op?.outputs[Number(m[2])];
    if (t) return t;
    const why = op
      ? `exists but only has ${op.outputs.length} outputs`
      : "does not exist in the graph";
    throw new LookupError(
      `The name '${name}' refers to a Tensor which does not exist. The operation, '${
        m[1]
      }', ${why}.`,
    );
  }

  /** Returns the operation of this name, or undefined. */
  findOperation(name: string): Operation | undefined {
    return this.#byName.get(name);
  }

  /**
   * Returns the graph as a GraphDef in proto3 JSON form, in TensorFlow's ops unless `portable` is false. Throws
   * `ValueError` for scripts without a registered name, and for nodes that TensorFlow cannot have: `tf.portability`
   * lists them.
   */
  toGraphDef(options: GraphDefOptions = {}): GraphDefJson {
    return graphDefs.to("write a GraphDef")(this, options);
  }

  /** Forbids feeding a tensor. */
  preventFeeding(t: Tensor): void {
    wantMade(t, "id", { arg: "t", fn: "preventFeeding", wanted: "a tensor" });
    this.#unfeedable.add(t.id);
  }
  /** False after `preventFeeding`. */
  isFeedable(t: Tensor): boolean {
    wantMade(t, "id", { arg: "t", fn: "isFeedable", wanted: "a tensor" });
    return !this.#unfeedable.has(t.id);
  }

  #located(e: unknown, def: OpDef, specs: readonly Spec[]): unknown {
    if (!(e instanceof Error) || e instanceof OpError) return e;
    const where = ` (in ${def.name} "${this.#around.scope}${
      currentScope().opName ?? def.name
    }" with inputs ${specs.map(specText).join(", ")})`;
    if (!e.message.includes(where)) e.message += where;
    return e;
  }
}
