/**
 * Variable: a tensor whose value can be replaced; eager code, graphs and functions share it.
 * May import core, ops, graph and tensor.
 */
import { apply, apply1, currentInterpreter, type OpInput, withRecorders } from "../core/apply.ts";
import type { Attrs } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { asDType, type DType, type HostData, isTrainable } from "../core/dtype.ts";
import type { NdArray, Nested, Scalar } from "../core/nd_array.ts";
import { type PartialShape, shapeTuple } from "../core/shape.ts";
import type { TensorGpuData } from "../core/gpu_data.ts";
import { Tensor, type TensorLike, variableMaker } from "../core/tensor.ts";
import { InvalidArgumentError, ValueError } from "../core/errors.ts";
import {
  AssignAddVariableOp,
  AssignSubVariableOp,
  AssignVariableOp,
  ReadVariableOp,
} from "../ops/variable.ts";
import { castInput, toInput } from "../ops/input.ts";
import { add, sub } from "../ops/pointwise_arithmetic.ts";
import type { Operation } from "../graph/operation.ts";
import { evaluateNow } from "./evaluate.ts";
import { EagerTensor, outsideScopes } from "./tensor.ts";
import { constantTensor, setHostRunner } from "./eager.ts";
import { setConstantOp, setHostOp } from "./run_context.ts";
import { defaultDevice, scopeDevice } from "./devices.ts";
import { currentReads } from "./read_ahead.ts";
import { noteRead, readsAreFollowed } from "./variable_reads.ts";
import { VariableHandle, VariableState } from "./variable_state.ts";

let variableCount = 0;
/** Variables not disposed, by name. */
const named = new Map<string, Variable>();

/**
 * A tensor that can be assigned. Make one with `tf.variable`.
 */
export class Variable extends Tensor {
  /** How many were made: `tf.function` allows that on its first trace only. */
  static created = 0;
  /** The state, shared with graphs. */
  readonly resource: VariableState;
  readonly #sharedRead: Attrs;

  /** Made by `tf.variable`. */
  constructor(value: EagerTensor, name: string, trainable: boolean) {
    super(value.dtype);
    Variable.created++;
    currentReads()?.noteEffect("a new variable");
    this.resource = new VariableState(value, {
      id: this.id,
      dtype: value.dtype,
      shape: value.staticShape,
      sharedName: name,
      trainable,
    });
    this.resource.variable = this;
    named.set(name, this);
    this.#sharedRead = { dtype: value.dtype, _shape: value.staticShape, _shared: true };
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
  /** Name of the variable. */
  override get name(): string {
    return this.resource.sharedName;
  }
  /** Shape of the value. */
  override get staticShape(): readonly number[] {
    return this.resource.shape as readonly number[];
  }
  /** Device the value lives on. */
  override get device(): string {
    return this.resource.value.device;
  }
  /** True after `dispose()`. */
  override get isDisposed(): boolean {
    return this.resource.isDisposed;
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
  /** Replaces the value. In a graph returns the operation that does so at each run. Throws `ValueError` for another shape or dtype. */
  assign(value: TensorLike): Operation | null {
    return this.#update(AssignVariableOp, value);
  }
  /** Adds to the value; see {@linkcode Variable.assign}. */
  assignAdd(value: TensorLike): Operation | null {
    return this.#update(AssignAddVariableOp, value);
  }
  /** Subtracts from the value; see {@linkcode Variable.assign}. */
  assignSub(value: TensorLike): Operation | null {
    return this.#update(AssignSubVariableOp, value);
  }

  #update(def: typeof AssignVariableOp, value: TensorLike): Operation | null {
    const input = toInput(value, "value", "assign", {
      dtype: value instanceof Tensor ? undefined : this.dtype,
    });
    const inputs: OpInput[] = [this.resource.handle, input];
    const attrs = { dtype: this.dtype, _shape: this.resource.shape };
    if (input.dtype !== this.dtype || !sameOrUnknown(input, this.staticShape)) {
      throw new ValueError(
        `Cannot assign value to variable '${this.name}': Shape mismatch. The variable shape ${
          shapeTuple(this.resource.shape)
        } and dtype ${this.dtype}, and the assigned value shape ${
          shapeTuple(input instanceof Tensor ? input.staticShape : input.shape)
        } and dtype ${input.dtype} are incompatible`,
      );
    }
    const interpreter = currentInterpreter();
    if (!interpreter.symbolic) {
      apply(def, inputs, attrs);
      return null;
    }
    return (interpreter as unknown as {
      graph: { addOp(d: typeof def, i: OpInput[], a: object): Operation };
    }).graph.addOp(def, inputs, attrs);
  }

  /** Reads the value as a host array. */
  override ndarray(): Promise<NdArray> {
    return this.resource.value.ndarray();
  }
  /** Reads the value as a host array at once. */
  override ndarraySync(): NdArray {
    return this.resource.value.ndarraySync();
  }
  /** Reads the elements, awaiting the device. */
  override data(): Promise<HostData> {
    return this.resource.value.data();
  }
  /** Reads the elements at once. */
  override dataSync(): HostData {
    return this.resource.value.dataSync();
  }
  /** Reads the elements as nested arrays. */
  override array(): Promise<Nested> {
    return this.resource.value.array();
  }
  /** Reads the elements as nested arrays at once. */
  override arraySync(): Nested {
    return this.resource.value.arraySync();
  }
  /** Reads the only element at once, in the form its dtype has in JavaScript. */
  override scalar(): Scalar {
    return this.resource.value.scalar();
  }
  /** Reads the only element at once. */
  override item(): number {
    return this.resource.value.item();
  }
  /** The GPU memory of the value that the variable has now. */
  override dataToGPU(): TensorGpuData {
    return this.resource.value.dataToGPU();
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

function sameOrUnknown(x: OpInput, shape: readonly number[]): boolean {
  const s = x instanceof Tensor ? x.staticShape : x.shape;
  return s === null ||
    (s.length === shape.length && s.every((d, i) => d === null || d === shape[i]));
}

/**
 * Makes a variable. `initialValue` is copied; the value lives on the device that `tf.device()` names, else on the default one. No scope disposes it.
 * Throws `ValueError` where a variable of that name was not disposed.
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
export function variable(
  initialValue: TensorLike,
  trainable = true,
  name?: string,
  dtype?: DType,
): Variable {
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
    if (cast instanceof EagerTensor) {
      return new EagerTensor(cast.dtype, cast.staticShape, cast.storage.retain());
    }
    const literal = cast instanceof Tensor ? evaluateNow(cast, "initialise a variable") : cast;
    return literal instanceof EagerTensor ? literal : constantTensor(literal, scopeDevice());
  });
  return new Variable(value, name ?? defaultName(), trainable);
}

variableMaker.make = variable;

function defaultName(): string {
  for (;;) {
    const name = variableCount === 0 ? "Variable" : `Variable_${variableCount}`;
    variableCount++;
    if (!named.has(name)) return name;
  }
}

/** The variable of this name that was not disposed, or undefined. */
export function variableByName(name: string): Variable | undefined {
  return named.get(name);
}

/** The resources of the variables that can be trained. */
export function trainableResources(): VariableState[] {
  return [...named.values()].filter((v) => v.trainable && isTrainable(v.dtype))
    .map((v) => v.resource);
}

/**
 * Disposes every variable. Follows TensorFlow.js `disposeVariables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assert } from "@std/assert";
 * const v = tf.variable(1);
 * tf.disposeVariables();
 * assert(v.isDisposed);
 * ```
 */
export function disposeVariables(): void {
  for (const v of [...named.values()]) v.dispose();
}

/** The state behind a handle. Throws `InvalidArgumentError` for what is none, and where the op wants another dtype. */
function stateOf(x: OpInput, dtype?: DType): VariableState {
  if (!(x instanceof VariableHandle)) {
    throw new InvalidArgumentError("Cannot use a variable: its handle is none");
  }
  const { resource } = x;
  if (dtype !== undefined && dtype !== resource.dtype) {
    throw new InvalidArgumentError(
      `Trying to read variable ${resource.sharedName} with wrong dtype. Expected ${resource.dtype} got ${dtype}`,
    );
  }
  return resource;
}

setHostRunner(ReadVariableOp, ([handle], attrs) => {
  const state = stateOf(handle);
  if (attrs._shared && !readsAreFollowed()) return [state.value];
  return [noteRead(state.read(), handle, ReadVariableOp, attrs)];
});
setHostRunner(AssignVariableOp, ([handle, value]) => {
  withEager(value, (v) => stateOf(handle).assign(v));
  return [];
});
setHostRunner(AssignAddVariableOp, ([handle, value]) => combine(stateOf(handle), value, add));
setHostRunner(AssignSubVariableOp, ([handle, value]) => combine(stateOf(handle), value, sub));

/** Replaces the value by what `fn` makes of it, where the variable lives. */
function combine(
  state: VariableState,
  value: OpInput,
  fn: (a: Tensor, b: OpInput) => Tensor,
): Tensor[] {
  const { name } = state.value.storage.device;
  const next = outsideScopes(() =>
    withScope({ device: name }, () => withRecorders([], () => fn(state.value, value)))
  ) as EagerTensor;
  state.assign(next);
  next.dispose();
  return [];
}

function withEager(value: OpInput, use: (v: EagerTensor) => void): void {
  if (value instanceof EagerTensor) return use(value);
  const t = outsideScopes(() => constantTensor(value as NdArray, defaultDevice()));
  use(t);
  t.dispose();
}

setHostOp("VarHandleOp", ({ attrs }) => [attrs._resource.handle]);
setConstantOp("VarHandleOp", (attrs) => attrs._resource.handle);
setHostOp("ReadVariableOp", ({ inputs, attrs }) => [stateOf(inputs[0], attrs.dtype).read()]);
setHostOp("AssignVariableOp", ({ inputs: [handle, value] }) => {
  withEager(value, (v) => stateOf(handle).assign(v));
  return [];
});
setHostOp("AssignAddVariableOp", ({ inputs: [h, value] }) => combine(stateOf(h), value, add));
setHostOp("AssignSubVariableOp", ({ inputs: [h, value] }) => combine(stateOf(h), value, sub));
