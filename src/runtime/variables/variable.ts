/**
 * Variable: a tensor whose value can be replaced; eager code, graphs and functions share it.
 */
import { apply, apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import type { Attrs } from "../../core/op.ts";
import { currentScope } from "../../core/scope_context.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Rank } from "../../core/ranks.ts";
import { compatible, isConcrete, type PartialShape, shapeTuple } from "../../core/shape.ts";
import { evaluator, Tensor, type TensorLike, variableMaker } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import {
  AssignAddVariableOp,
  AssignSubVariableOp,
  AssignVariableOp,
  ReadVariableOp,
} from "../../ops/state/variable.ts";
import type { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { castInput, toInput } from "../../ops/input.ts";
import { AssignedVariable } from "../../graph/assigned_variable.ts";
import { currentGraph, isFuncGraph } from "../../graph/current_graph.ts";
import type { Graph } from "../../graph/graph.ts";
import type { VariableNode } from "../../graph/graph_variables.ts";
import type { Operation } from "../../graph/operation.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { constantTensor } from "../eager/eager.ts";
import { isThisProcess, parseDevice, scopeDevice } from "../devices.ts";
import { currentReads } from "../eager/read_ahead.ts";
import { VariableState } from "./variable_state.ts";
import { GLOBAL_VARIABLES, named, TRAINABLE_VARIABLES } from "./known_variables.ts";
import "./run_variable_ops.ts";
import { scatter } from "./scatter_rows.ts";

let variableCount = 0;

/**
 * A tensor that can be assigned. Make one with `tf.variable`.
 */
export class Variable<R extends Rank = Rank> extends Tensor<R> {
  /** How many were made: `tf.function` allows that on its first trace only. */
  static created = 0;
  /** The state, shared with graphs. */
  readonly resource: VariableState;
  readonly #sharedRead: Attrs;
  /** The shape of all values; null where some of its extents vary. */
  readonly #shape: readonly number[] | null;

  /** Its place in the graph that it belongs to; null for a variable of eager code. */
  readonly #node: VariableNode | null;

  /** Made by `tf.variable`. */
  constructor(state: VariableState, node: VariableNode | null = null) {
    super(state.dtype, state.id);
    Variable.created++;
    currentReads()?.noteEffect("a new variable");
    this.resource = state;
    this.#node = node;
    state.variable = this;
    this.#shape = isConcrete(state.shape) ? state.shape : null;
    this.#sharedRead = { dtype: state.dtype, _shape: state.shape, _shared: true };
  }

  /** What ops that read or assign take as input. */
  get handle(): Tensor {
    return this.resource.handle;
  }
  /**
   * True where `variableGrads`, tapes and optimizers consider it. Setting it freezes or thaws the variable from the next step on, in
   * traced functions too; operations that a graph already has stay as they were built.
   */
  get trainable(): boolean {
    return this.resource.trainable;
  }
  set trainable(trainable: boolean) {
    this.resource.trainable = trainable;
  }
  /** The graph that it belongs to. Throws `RuntimeError` for a variable of eager code. */
  override get graph(): Graph {
    return this.#node?.graph ?? super.graph as Graph;
  }
  /** The operation that stands for it in its graph. Throws `RuntimeError` for a variable of eager code. */
  override get op(): Operation {
    return this.#node?.handle.operation ?? super.op as Operation;
  }
  /** The operation that gives it its initial value; null for a variable of eager code, and for an imported one without. */
  get initializer(): Operation | null {
    return this.#node?.initializer ?? null;
  }
  /** The tensor that it starts with in its graph; null where there is none. */
  get initialValue(): Tensor | null {
    return this.#node?.initializer?.inputs[1] ?? null;
  }
  /** Name of the variable. */
  override get name(): string {
    return this.resource.sharedName;
  }
  /** Shape of the value. */
  override get staticShape(): readonly number[] {
    return this.#shape ?? this.resource.valueShape;
  }
  /** Device the value lives on. */
  override get device(): string {
    const { resource } = this;
    if (resource.storage !== null || this.#node === null) return resource.value.device;
    return this.#node.handle.device;
  }
  /** True after `dispose()`. */
  override get isDisposed(): boolean {
    return this.#node === null && this.resource.isDisposed;
  }
  /** The value now, as a tensor: in a graph a node that reads it at each run. TensorFlow op `ReadVariableOp`. */
  override readValue(): Tensor {
    return apply1(ReadVariableOp, [this.resource.handle], {
      dtype: this.dtype,
      _shape: this.resource.shape,
    });
  }
  /** The value as ops read it: eagerly no tensor is made, so none has to be disposed. */
  override asOpInput(): Tensor {
    if (currentInterpreter().symbolic) return this.readValue();
    return apply1(ReadVariableOp, [this.resource.handle], this.#sharedRead);
  }
  /** Replaces the value. In a graph returns what does so at each run, and as a tensor is the new value. Throws `ValueError` for another shape or dtype. */
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

  /** Adds slices to its rows; what an index names twice is added twice. In a graph returns the operation that does so at each run. */
  scatterAdd(delta: IndexedSlices): Operation | null {
    return scatter(this, "Add", delta);
  }
  /** Subtracts slices from its rows; see {@linkcode Variable.scatterAdd}. */
  scatterSub(delta: IndexedSlices): Operation | null {
    return scatter(this, "Sub", delta);
  }
  /** Replaces rows by slices; see {@linkcode Variable.scatterAdd}. */
  scatterUpdate(rows: IndexedSlices): Operation | null {
    return scatter(this, "Update", rows);
  }

  #update(def: typeof AssignVariableOp, value: TensorLike): AssignedVariable | null {
    const input = toInput(value, "value", "assign", {
      dtype: value instanceof Tensor ? undefined : this.dtype,
    });
    const inputs: OpInput[] = [this.resource.handle, input];
    const attrs = { dtype: this.dtype, _shape: this.resource.shape };
    const { staticShape: shape } = input instanceof Tensor ? input : { staticShape: input.shape };
    if (input.dtype !== this.dtype || !compatible(shape, this.resource.shape)) {
      throw new ValueError(
        `Cannot assign value to variable '${this.name}': Shape mismatch. The variable shape ${
          shapeTuple(this.resource.shape)
        } and dtype ${this.dtype}, and the assigned value shape ${
          shapeTuple(shape)
        } and dtype ${input.dtype} are incompatible`,
      );
    }
    const interpreter = currentInterpreter();
    if (!interpreter.symbolic) {
      apply(def, inputs, attrs);
      return null;
    }
    const graph = currentGraph()!;
    const assigned = new AssignedVariable(graph.addOp(def, inputs, attrs));
    // Who fetches it from a finalized graph wants it to be there; a function's results are reads at its end.
    if (!isFuncGraph(graph)) assigned.readValue();
    return assigned;
  }

  /** The value now. */
  override get held(): EagerTensor {
    return this.resource.value;
  }
  /** Checks the value's shape. Throws `ValueError` on conflict. */
  override setShape(shape: PartialShape): void {
    this.resource.value.setShape(shape);
  }
  /** Frees the value. Later uses throw `FailedPreconditionError`. */
  override dispose(): void {
    if (named.get(this.name) === this) named.delete(this.name);
    this.resource.dispose();
  }
  /** The variable as text. */
  override toString(): string {
    return `<tf.Variable '${this.name}' ${this.dtype}[${this.resource.shape}]>`;
  }
}

/**
 * Makes a variable. `initialValue` is copied; the value lives on the device that `tf.device()` names, else on the default one. No scope disposes it.
 * While a graph is built (`graph.asDefault`) the variable belongs to that graph: its name is made unique there, and it has its value once
 * its `initializer` has run, or that of all (`tf.compat.v1.globalVariablesInitializer()`).
 * Throws `ValueError` where an eager variable of that name was not disposed.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * using v = tf.variable([1, 2]);
 * v.assign([3, 4]);
 * assertEquals(v.add(1).arraySync(), [4, 5]);
 * ```
 */
export function variable<R extends Rank = Rank>(
  initialValue: Tensor<R> | TensorLike,
  trainable = true,
  name?: string,
  dtype?: DType,
): Variable<R> {
  const graph = currentGraph();
  if (graph !== null && !isFuncGraph(graph)) {
    return graphVariable(graph, initialValue, { trainable, name, dtype });
  }
  const wanted = dtype === undefined ? undefined : asDType(dtype);
  if (name !== undefined && named.has(name)) {
    throw new ValueError(
      `Cannot make variable '${name}': a variable of that name was already registered, dispose() it first`,
    );
  }
  const input = toInput(initialValue, "initialValue", "variable", {
    dtype: initialValue instanceof Tensor ? undefined : wanted,
  });
  const value = outsideScopes(() => {
    const cast = wanted === undefined ? input : castInput(input, wanted);
    if (cast instanceof EagerTensor) return cast.alias();
    const literal = cast instanceof Tensor ? evaluator.now!(cast, "initialise a variable") : cast;
    return literal instanceof NdArray
      ? constantTensor(literal, scopeDevice())
      : literal as EagerTensor;
  });
  const made = new Variable(
    new VariableState(value, {
      dtype: value.dtype,
      shape: value.staticShape,
      sharedName: name ?? defaultName(),
      trainable,
    }),
  );
  named.set(made.name, made);
  return made;
}

/**
 * A variable of eager code that has no value, and takes no memory, before it is assigned; its name is made unlike those of others.
 * Reading it before throws `FailedPreconditionError`.
 */
export function uninitializedVariable(
  { dtype, shape, name, trainable }: {
    readonly dtype: DType;
    readonly shape: PartialShape;
    readonly name: string;
    readonly trainable: boolean;
  },
): Variable {
  let sharedName = name;
  for (let n = 1; named.has(sharedName); n++) sharedName = `${name}_${n}`;
  const made = new Variable(
    new VariableState(null, { dtype, shape, sharedName, trainable }),
  );
  named.set(sharedName, made);
  return made;
}

/** Options of {@linkcode graphVariable}. */
export interface GraphVariableOptions {
  /** True, the default: tapes and optimizers consider it. */
  readonly trainable?: boolean | undefined;
  /** Its name, made unique in the graph. Default `"Variable"`. */
  readonly name?: string | undefined;
  /** Element type. Default that of the initial value. */
  readonly dtype?: DType | undefined;
  /** Collections that list it besides that of trainable variables. Default that of global variables. */
  readonly collections?: readonly string[] | undefined;
}

/** A variable that belongs to a graph. It has no value before its initializer has run. Throws `ValueError` where the initial shape is not known. */
export function graphVariable(
  graph: Graph,
  initialValue: TensorLike | (() => TensorLike),
  { trainable = true, name = "Variable", dtype, collections }: GraphVariableOptions = {},
): Variable {
  const wanted = dtype === undefined ? undefined : asDType(dtype);
  const { resource, node } = graph.variables.own(name, {
    assign: AssignVariableOp,
    initial: () => {
      const given = typeof initialValue === "function"
        ? graph.nameScope("Initializer", initialValue)
        : initialValue;
      const input = toInput(given, "initialValue", "variable", {
        dtype: given instanceof Tensor ? undefined : wanted,
      });
      const cast = wanted === undefined ? input : castInput(input, wanted);
      return cast instanceof NdArray
        ? graph.constant(cast, "initial_value")
        : graph.convertInput(cast, AssignVariableOp);
    },
    state: ({ dtype, shape }, sharedName) =>
      new VariableState(null, { dtype, shape, sharedName, trainable }),
  });
  const { device } = currentScope();
  // What another process is to keep has no home here.
  if (device && isThisProcess(parseDevice(device))) resource.home = scopeDevice();
  return ownVariable(resource, node, collections);
}

/** The variable of a graph over a state, listed in collections. */
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

variableMaker.make = variable;

function defaultName(): string {
  for (;;) {
    const name = variableCount === 0 ? "Variable" : `Variable_${variableCount}`;
    variableCount++;
    if (!named.has(name)) return name;
  }
}
