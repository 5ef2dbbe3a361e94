/**
 * Variable: a tensor whose value can be replaced; eager code, graphs and functions share it.
 * May import core, ops, graph and tensor.
 */
import { apply, apply1, currentInterpreter, type OpInput, withRecorders } from "../core/apply.ts";
import type { Attrs } from "../core/op.ts";
import { withScope } from "../core/scope_context.ts";
import { asDType, type DType, type HostData } from "../core/dtype.ts";
import type { NdArray, Nested, Scalar } from "../core/nd_array.ts";
import { compatible, type PartialShape, shapeTuple } from "../core/shape.ts";
import type { Resource } from "../core/graph_node.ts";
import type { TensorGpuData } from "../core/gpu_data.ts";
import { newTensorId, Tensor, type TensorLike, variableMaker } from "../core/tensor.ts";
import { FailedPreconditionError, ValueError } from "../core/errors.ts";
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
import { noteRead, readsAreFollowed } from "./variable_reads.ts";

/** The value of a variable. Ops read it as it is; only the variable frees it. */
class VariableValue extends EagerTensor {
  /** Shares the memory of `value`. */
  constructor(value: EagerTensor) {
    super(value.dtype, value.staticShape, value.storage.retain());
  }
  /** Does nothing: the value is the variable's. */
  override dispose(): void {}
  /** Frees the value. */
  release(): void {
    super.dispose();
  }
}

/** The state behind a variable: what graphs refer to. */
export class VariableState implements Resource {
  /** The variable's tensor id. */
  readonly id: number;
  /** True where tapes watch it by themselves. */
  readonly trainable: boolean;
  /** Dtype of the value. */
  readonly dtype: DType;
  /** Shape of the value. */
  readonly shape: PartialShape;
  /** Name graphs give it. */
  readonly sharedName: string;
  /** The variable over it, which users hold. */
  variable: Variable | null = null;
  #value: VariableValue | null;

  /** Takes over `value`; null leaves the variable uninitialised. */
  constructor(value: EagerTensor | null, init: Resource) {
    this.id = init.id;
    this.trainable = init.trainable;
    this.dtype = init.dtype;
    this.shape = init.shape;
    this.sharedName = init.sharedName;
    this.#value = value && outsideScopes(() => new VariableValue(value));
    value?.dispose();
  }

  /** A variable without a value yet, as imported graphs have. */
  static uninitialized(dtype: DType, shape: PartialShape, sharedName: string): VariableState {
    return new VariableState(null, {
      id: newTensorId(),
      dtype,
      shape,
      sharedName,
      trainable: true,
    });
  }

  /** The value now. Throws `FailedPreconditionError` after `dispose()`. */
  get value(): EagerTensor {
    if (this.#value === null) {
      throw new FailedPreconditionError(
        `Could not find variable ${this.sharedName}. This could mean that the variable has been deleted. It can also mean that it is uninitialized`,
      );
    }
    return this.#value;
  }
  /** True after `dispose()`. */
  get isDisposed(): boolean {
    return this.#value === null;
  }
  /** A handle on the value now: later assignments do not change it. */
  read(): EagerTensor {
    const v = this.value;
    return new EagerTensor(v.dtype, v.staticShape, v.storage.retain());
  }
  /** Replaces the value; `next` stays the caller's. */
  assign(next: EagerTensor): void {
    if (next.dtype !== this.dtype || !compatible(this.shape, next.staticShape)) {
      throw new ValueError(
        `Cannot assign value to variable '${this.sharedName}': Shape mismatch. The variable shape ${
          shapeTuple(this.shape)
        } and dtype ${this.dtype}, and the assigned value shape ${
          shapeTuple(next.staticShape)
        } and dtype ${next.dtype} are incompatible`,
      );
    }
    const before = this.#value;
    this.#value = outsideScopes(() => new VariableValue(next));
    before?.release();
  }
  /** Frees the value. */
  dispose(): void {
    this.#value?.release();
    this.#value = null;
  }
}

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
  /** True where `variableGrads`, tapes and optimizers consider it. */
  readonly trainable: boolean;
  readonly #handle: VariableHandle;
  readonly #sharedRead: Attrs;

  /** Made by `tf.variable`. */
  constructor(value: EagerTensor, name: string, trainable: boolean) {
    super(value.dtype);
    Variable.created++;
    this.resource = new VariableState(value, {
      id: this.id,
      dtype: value.dtype,
      shape: value.staticShape,
      sharedName: name,
      trainable,
    });
    this.resource.variable = this;
    named.set(name, this);
    this.trainable = trainable;
    this.#handle = new VariableHandle(this.resource);
    this.#sharedRead = { dtype: value.dtype, _shape: value.staticShape, _shared: true };
  }

  /** What ops that read or assign take as input. */
  get handle(): Tensor {
    return this.#handle;
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
    return apply1(ReadVariableOp, [this.#handle], {
      dtype: this.dtype,
      _shape: this.resource.shape,
    });
  }
  /** The value as ops read it: eagerly no tensor is made, so none has to be disposed. */
  override asOpInput(): Tensor {
    if (currentInterpreter().symbolic) return this.readValue();
    return apply1(ReadVariableOp, [this.#handle], this.#sharedRead);
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
    const inputs: OpInput[] = [this.#handle, input];
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

/** The handle that ops get: a resource tensor with the variable's id, so that gradients find it. */
export class VariableHandle extends Tensor {
  readonly staticShape: readonly number[] = [];
  /** The variable's state. */
  readonly resource: VariableState;

  /** `id` is the variable's. */
  constructor(resource: VariableState) {
    super("resource", resource.id);
    this.resource = resource;
  }
  /** Checks the value's shape. Throws `ValueError` on conflict. */
  override setShape(): void {}
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

function stateOf(x: OpInput): VariableState {
  return (x as VariableHandle).resource;
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

setHostOp("VarHandleOp", ({ attrs }) => [new VariableHandle(attrs._resource)]);
setConstantOp("VarHandleOp", (attrs) => new VariableHandle(attrs._resource));
setHostOp("ReadVariableOp", ({ inputs }) => [stateOf(inputs[0]).read()]);
setHostOp("AssignVariableOp", ({ inputs: [handle, value] }) => {
  withEager(value, (v) => stateOf(handle).assign(v));
  return [];
});
setHostOp("AssignAddVariableOp", ({ inputs: [h, value] }) => combine(stateOf(h), value, add));
setHostOp("AssignSubVariableOp", ({ inputs: [h, value] }) => combine(stateOf(h), value, sub));
