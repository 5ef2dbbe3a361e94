/** Variable: a tensor with a replaceable value, shared by eager code, graphs and functions. */
import { wantBoolean, wantString } from "../../core/arguments.ts";
import { counter } from "../../core/collections/counter.ts";
import {
  apply,
  apply1,
  currentInterpreter,
  type OpInput,
  withRecorders,
} from "../../core/apply.ts";
import type { Attrs } from "../../core/op.ts";
import { currentScope, Dynamic, withScope } from "../../core/scope_context.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { withValues } from "../../core/arrays/format.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Rank } from "../../core/ranks.ts";
import { isConcrete, type PartialShape, shapeText, shapeTuple } from "../../core/shape.ts";
import { graphServices, Tensor, type TensorLike, variables } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import {
  AssignAddVariableOp,
  AssignSubVariableOp,
  AssignVariableOp,
  ReadVariableOp,
} from "./variable_ops.ts";
import type { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { castInput, shapeOfInput, toDenseInput } from "../../ops/input.ts";
import { AssignedVariable } from "../../graph/assigned_variable.ts";
import { currentGraph, isFuncGraph } from "../../graph/current_graph.ts";
import type { Graph } from "../../graph/graph.ts";
import type { VariableNode } from "../../graph/graph_variables.ts";
import type { Operation } from "../../graph/operation.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { constantTensor } from "../eager/eager.ts";
import { fullName, isThisProcess, parseDevice, scopeDevice } from "../devices/devices.ts";
import { currentReads } from "../eager/read_ahead.ts";
import { defaultSession } from "../run/default_session.ts";
import { currentRun } from "../run/run_context.ts";
import { VariableState } from "./variable_state.ts";
import { GLOBAL_VARIABLES, named, TRAINABLE_VARIABLES } from "./known_variables.ts";
import "./variable_ops.ts";
import { scatter } from "./scatter_ops.ts";

const nextVariable = counter();

/** A tensor that can be assigned. Make one with `tf.variable`. */
export class Variable<R extends Rank = Rank> extends Tensor<R> {
  /** Number of variables made: a function that makes some is traced again. */
  static created = 0;
  /** True while a function is traced that may make no variables. */
  static readonly refused: Dynamic<boolean> = new Dynamic(false);
  /** Runs code whose variables may be made while a function is traced, since its owner is older and keeps them. */
  static kept<R>(make: () => R): R {
    const before = Variable.created;
    try {
      return Variable.refused.within(false, make);
    } finally {
      Variable.created = before;
    }
  }
  /**
   * The state, shared with graphs.
   * @internal
   */
  readonly resource: VariableState;
  readonly #sharedRead: Attrs;
  /** Common shape of all values; null where it varies. */
  readonly #shape: readonly number[] | null;

  /** Its place in its graph; null for a variable of eager code. */
  readonly #node: VariableNode | null;

  /** Made by `tf.variable`. Throws `ValueError` in a function that makes variables in every trace. */
  constructor(state: VariableState, node: VariableNode | null = null) {
    super(wanted(state).dtype, state.id);
    if (Variable.refused.current) {
      state.dispose();
      throw new ValueError(
        "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside tf.function. See https://www.tensorflow.org/guide/function#creating_tfvariables for more information.",
      );
    }
    Variable.created++;
    currentReads()?.noteEffect("a new variable");
    this.resource = state;
    this.#node = node;
    state.variable = this;
    this.#shape = isConcrete(state.shape) ? state.shape : null;
    this.#sharedRead = { dtype: state.dtype, _shape: state.shape, _shared: true };
  }

  /**
   * The state in eager code: for a graph's variable that of the calling script's session, else of the default session,
   * else none.
   */
  get #now(): VariableState {
    const { resource } = this;
    if (!resource.ofGraph) return resource;
    return (currentRun()?.state ?? defaultSession()?.state)?.of(resource) ?? resource;
  }
  /** True for a graph's variable in eager code with a session, which has a value of its own. */
  get isInSession(): boolean {
    return this.#now !== this.resource;
  }
  /** The state for ops that are applied or built now. */
  get #used(): VariableState {
    return currentInterpreter().symbolic ? this.resource : this.#now;
  }
  /** The handle that ops of a graph read and assign. */
  get handle(): Tensor {
    return this.resource.handle;
  }
  /**
   * True where `variableGrads`, tapes and optimizers consider it. Setting it freezes or thaws the variable from the
   * next step on, also in traced functions; existing operations of graphs stay as they are.
   */
  get trainable(): boolean {
    return this.resource.trainable;
  }
  set trainable(trainable: boolean) {
    this.resource.trainable = trainable;
  }
  /** Its graph. Throws `RuntimeError` for a variable of eager code. */
  override get graph(): Graph {
    return this.#node?.graph ?? super.graph as Graph;
  }
  /** Its operation in the graph. Throws `RuntimeError` for a variable of eager code. */
  override get op(): Operation {
    return this.#node?.handle.operation ?? super.op as Operation;
  }
  /**
   * The operation that assigns its initial value; null for a variable of eager code, and for an imported one without.
   */
  get initializer(): Operation | null {
    return this.#node?.initializer ?? null;
  }
  /** Its initial value in the graph; null if there is none. */
  get initialValue(): Tensor | null {
    return this.#node?.initializer?.inputs[1] ?? null;
  }
  /** Name of the variable. */
  override get name(): string {
    return this.resource.sharedName;
  }
  /** Shape of the value. */
  override get staticShape(): readonly number[] {
    const { resource } = this;
    return this.#shape ?? (resource.ofGraph ? resource.shape as number[] : resource.valueShape);
  }
  /** Device of the value. */
  override get device(): string {
    const { storage } = this.#now;
    if (storage !== null) return fullName(storage.device);
    return this.#node?.handle.device ?? this.#now.value.device;
  }
  /** True after `dispose()`. */
  override get isDisposed(): boolean {
    return this.#node === null && this.resource.isDisposed;
  }
  /** Returns the value as a tensor: in a graph a node that reads it at each run. TensorFlow op `ReadVariableOp`. */
  override readValue(): Tensor {
    return apply1(ReadVariableOp, [this.#used.handle], {
      dtype: this.dtype,
      _shape: this.resource.shape,
    });
  }
  /** Returns the value as an input of ops: in eager mode no tensor is made, so none has to be disposed. */
  override asOpInput(): Tensor {
    if (currentInterpreter().symbolic) return this.readValue();
    return apply1(ReadVariableOp, [this.#used.handle], this.#sharedRead);
  }
  /**
   * Replaces the value. In a graph returns the operation, which as a tensor is the new value. Throws `ValueError` for
   * another shape or dtype.
   */
  assign(value: TensorLike): AssignedVariable | null {
    return this.#update(AssignVariableOp, value);
  }
  /** Adds to the value; see {@linkcode Variable.assign}. */
  assignAdd(value: TensorLike): AssignedVariable | null {
    return this.#update(AssignAddVariableOp, value);
  }
  /** Subtracts from the value; see {@linkcode Variable.assign}. */
  assignSub(value: TensorLike): AssignedVariable | null {
    return this.#update(AssignSubVariableOp, value);
  }

  /** Adds slices to its rows; an index that repeats adds each time. In a graph returns the operation. */
  scatterAdd(delta: IndexedSlices): Operation | null {
    return scatter(this.#used, "Add", delta);
  }
  /** Subtracts slices from its rows; see {@linkcode Variable.scatterAdd}. */
  scatterSub(delta: IndexedSlices): Operation | null {
    return scatter(this.#used, "Sub", delta);
  }
  /** Replaces rows by slices; see {@linkcode Variable.scatterAdd}. */
  scatterUpdate(rows: IndexedSlices): Operation | null {
    return scatter(this.#used, "Update", rows);
  }

  #update(def: typeof AssignVariableOp, value: TensorLike): AssignedVariable | null {
    const input = toDenseInput(value, "value", "assign", {
      dtype: value instanceof Tensor ? undefined : this.dtype,
    });
    const inputs: OpInput[] = [this.#used.handle, input];
    const attrs = { dtype: this.dtype, _shape: this.resource.shape };
    this.resource.check(input.dtype, shapeOfInput(input));
    if (!currentInterpreter().symbolic) {
      apply(def, inputs, attrs);
      return null;
    }
    const graph = currentGraph()!;
    const assigned = new AssignedVariable(graph.addOp(def, inputs, attrs));
    // A fetch of it from a finalized graph needs the read; a function's results are reads at its end.
    if (!isFuncGraph(graph)) assigned.readValue();
    return assigned;
  }

  /** Returns the current value. */
  override get held(): EagerTensor {
    return this.#now.value;
  }
  /** Checks the value's shape. Throws `ValueError` on conflict. */
  override setShape(shape: PartialShape): void {
    this.#now.value.setShape(shape);
  }
  /**
   * Frees the value. Reading it then throws `FailedPreconditionError`; `assign` gives the variable a value again, as neither TensorFlow nor
   * TensorFlow.js refuses it.
   */
  override dispose(): void {
    if (named.get(this.name) === this) named.delete(this.name);
    this.#now.dispose();
    this.resource.dispose();
  }
  /** The variable as text, with its value where that is on the host. */
  override toString(): string {
    const head = `<tf.Variable '${this.name}' ${this.dtype}${shapeText(this.staticShape)}>`;
    if (this.resource.ofGraph && !this.isInSession) return `${head} in a graph`;
    const { initialized } = this as { readonly initialized?: boolean };
    return initialized === false ? `${head} not initialized` : withValues(head, this);
  }
}

/**
 * Makes a variable. `initialValue` is copied to the device that `tf.device()` names, else the default one. No scope
 * disposes it. In a graph (`graph.asDefault`) the variable belongs to the graph: its name is made unique there, and it
 * has its value after its `initializer`, or that of all variables (`tf.compat.v1.globalVariablesInitializer()`), has
 * run. Throws `ValueError` if a live eager variable has the name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using v = tf.variable([1, 2]);
 * v.assign([3, 4]);
 * console.log(v.add(1).arraySync()); // [4, 5]
 * ```
 */
export function variable<R extends Rank = Rank>(
  initialValue: Tensor<R> | TensorLike,
  trainable = true,
  name?: string,
  dtype?: DType,
): Variable<R> {
  wantBoolean(trainable, "trainable", "variable");
  if (name !== undefined && name !== null) wantString(name, "name", "variable");
  const graph = currentGraph();
  if (graph !== null && !isFuncGraph(graph)) {
    return graphVariable(graph, initialValue, { trainable, name, dtype });
  }
  if (name !== undefined && named.has(name)) {
    throw new ValueError(
      `Cannot make variable '${name}': a variable of that name was already registered, dispose() it first`,
    );
  }
  const value = valueOf(initialValue, dtype);
  const spec = { dtype: value.dtype, shape: value.staticShape };
  return listed(
    new VariableState(value, { ...spec, sharedName: name ?? defaultName(), trainable }),
  );
}

/** Returns the initial tensor of an eager variable, which takes it over. */
export function valueOf(initialValue: TensorLike, dtype: DType | undefined): EagerTensor {
  return outsideScopes(() => {
    const input = initialInput(initialValue, dtype);
    if (input instanceof EagerTensor) return input.alias();
    const literal = input instanceof Tensor
      ? graphServices("initialise a variable").evaluateNow(input, "initialise a variable")
      : input;
    return literal instanceof NdArray
      ? constantTensor(literal, scopeDevice())
      : literal as EagerTensor;
  });
}

/** Returns the initial value of a variable in the requested dtype. */
function initialInput(given: TensorLike, dtype: DType | undefined): OpInput {
  const wanted = dtype === undefined ? undefined : asDType(dtype);
  const input = toDenseInput(given, "initialValue", "variable", {
    dtype: given instanceof Tensor ? undefined : wanted,
  });
  return wanted === undefined ? input : castInput(input, wanted);
}

/** Makes the eager variable of a state and registers its name. */
export function listed<R extends Rank>(state: VariableState): Variable<R> {
  const made = new Variable<R>(state);
  named.set(made.name, made);
  return made;
}

/** Options of {@linkcode graphVariable}. */
export interface GraphVariableOptions {
  /** Lets tapes and optimizers consider it. Default true. */
  readonly trainable?: boolean | undefined;
  /** Its name, made unique in the graph. Default `"Variable"`. */
  readonly name?: string | undefined;
  /** Element type. Default: the initial value's. */
  readonly dtype?: DType | undefined;
  /** Further collections that list it. Default: that of global variables. */
  readonly collections?: readonly string[] | undefined;
}

/**
 * Makes a variable of a graph with TensorFlow's operations: the handle, the initial assignment, and the read that
 * fetches use. It has no value before its initializer has run. Throws `ValueError` if the initial shape is unknown.
 */
export function graphVariable(
  graph: Graph,
  initialValue: TensorLike | (() => TensorLike),
  { trainable = true, name = "Variable", dtype, collections }: GraphVariableOptions = {},
): Variable {
  const make = (scope: string): Variable => {
    const given = typeof initialValue === "function"
      ? graph.nameScope("Initializer", initialValue)
      : initialValue;
    const input = initialInput(given, dtype);
    const value = input instanceof NdArray
      ? graph.constant(input, "initial_value")
      : graph.convertInput(input, AssignVariableOp);
    const { staticShape: shape } = value, attrs = { dtype: value.dtype, _shape: shape };
    if (!isConcrete(shape)) {
      throw new ValueError(
        `initial_value must have a shape specified: ${value} of variable '${name}' has shape ${
          shapeTuple(shape)
        }`,
      );
    }
    const sharedName = scope.slice(0, -1);
    const state = new VariableState(null, {
      dtype: value.dtype,
      shape,
      sharedName,
      trainable,
      ofGraph: true,
    });
    const handle = graph.variables.add(state, scope);
    const initializer = graph.addOp(AssignVariableOp, [handle, value], attrs, { name: "Assign" });
    graph.variables.snapshot(state);
    const { device } = currentScope();
    // A variable of another process has no home here.
    if (device && isThisProcess(parseDevice(device))) state.home = scopeDevice();
    return ownVariable(state, { graph, handle, initializer }, collections);
  };
  const inScope = () => graph.controlDependencies(null, () => graph.nameScope(name, make));
  return withScope({ opName: null }, () => withRecorders([], inScope));
}

/** Makes the variable of a graph's state and adds it to collections. */
export function ownVariable(
  state: VariableState,
  node: VariableNode,
  collections: readonly string[] = [GLOBAL_VARIABLES],
): Variable {
  const made = new Variable(state, node);
  for (const c of collections) node.graph.addToCollection(c, made);
  if (state.trainable) node.graph.addToCollection(TRAINABLE_VARIABLES, made);
  return made;
}

variables.provide(variable);

export function defaultName(): string {
  for (;;) {
    const n = nextVariable(), name = n === 0 ? "Variable" : `Variable_${n}`;
    if (!named.has(name)) return name;
  }
}

/** Throws `TypeError` for a value in the place of a state, as `new tf.Variable([1, 2])` gives one. */
function wanted(state: VariableState): VariableState {
  if (state instanceof VariableState) return state;
  throw new TypeError("Cannot construct a Variable: call tf.variable(initialValue)");
}
