/** The state of a variable, shared by eager code, graphs and functions. */
import type { Device, DeviceBuffer, KernelForm } from "../../core/device.ts";
import type { DType } from "../../core/dtype.ts";
import { FailedPreconditionError, ResourceExhaustedError, ValueError } from "../../core/errors.ts";
import type { NodeState } from "../../core/contract/host_op.ts";
import type { Resource } from "../../core/graph_node.ts";
import { compatible, type PartialShape, shapeTuple } from "../../core/shape.ts";
import { newTensorId, Tensor } from "../../core/tensor.ts";
import { Storage, totals } from "../eager/storage.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";

/** The value of a variable. Ops read it in place; only the variable frees it. */
class VariableValue extends EagerTensor {
  /** Keeps the state alive, whose collection would free the memory. */
  readonly owner: VariableState;

  /** Takes over one reference to `storage`. */
  constructor(shape: readonly number[], storage: Storage, owner: VariableState) {
    super(owner.dtype, shape, storage);
    this.owner = owner;
  }
  /** Does nothing: the variable owns the value. */
  override dispose(): void {}
  /** Does nothing: the state is guarded. */
  override guard(): void {}
  release(): void {
    super.dispose();
  }
}

/** The memory of a state, for the garbage collector's callback. */
interface Place {
  storage: Storage | null;
  /** The value in kernels' forms, by form key. */
  readonly forms: Map<string, Storage>;
}
const lost = new FinalizationRegistry<Place>(({ storage, forms }) => {
  storage?.reclaim();
  for (const form of forms.values()) form.lose();
});

export interface VariableInit extends Omit<Resource, "id"> {
  /** It belongs to a graph, and sessions have the values. Default false. */
  readonly ofGraph?: boolean;
}

/** The state of a variable: graphs refer to it. */
export class VariableState implements Resource, NodeState {
  /** Number of changes of `trainable`; traces depend on those flags. */
  static trainableChanges = 0;
  readonly id: number;
  readonly ofGraph: boolean;
  readonly dtype: DType;
  /** Shape of the value, as far as it is common to all. */
  readonly shape: PartialShape;
  readonly sharedName: string;
  /** The user's variable over it. */
  variable: Tensor | null = null;
  /** The requested device, for values from the host; null for the default one. */
  home: Device | null = null;
  /** The handle that ops read and assign. */
  readonly handle: VariableHandle;
  readonly #place: Place = { storage: null, forms: new Map() };
  /** The graph's state that this is a session's of; null for any other. */
  readonly #graphs: VariableState | null;
  #trainable: boolean;
  #valueShape: readonly number[] = [];
  #version = 0;
  /** The value as a tensor, made on demand: compiled steps often replace values that are never read. */
  #value: VariableValue | null = null;

  /** Takes over `value`; null leaves the variable uninitialised. `graphs`: the graph's state, for a session's. */
  constructor(value: EagerTensor | null, init: VariableInit, graphs: VariableState | null = null) {
    this.id = graphs?.id ?? newTensorId();
    this.ofGraph = init.ofGraph ?? false;
    this.#graphs = graphs;
    this.#trainable = init.trainable;
    this.dtype = init.dtype;
    this.shape = init.shape;
    this.sharedName = init.sharedName;
    this.handle = new VariableHandle(this);
    lost.register(this, this.#place);
    if (value === null) return;
    this.#put(value.staticShape, value.storage.retain());
    value.dispose();
  }

  /** Makes a session's state for that of a graph, with the same id, so that gradients find it. */
  fork(): this {
    const { dtype, shape, sharedName, trainable } = this;
    const own = new VariableState(null, { dtype, shape, sharedName, trainable }, this);
    if (this.storage !== null) own.replace(this.#valueShape, this.storage.retain());
    own.variable = this.variable;
    own.home = this.home;
    return own as this;
  }

  /** True where tapes watch it automatically. */
  get trainable(): boolean {
    return this.#graphs?.trainable ?? this.#trainable;
  }
  set trainable(trainable: boolean) {
    if (trainable === this.#trainable) return;
    this.#trainable = trainable;
    VariableState.trainableChanges++;
  }
  /** Memory of the value; null if there is none. */
  get storage(): Storage | null {
    return this.#place.storage;
  }
  get valueShape(): readonly number[] {
    return this.#valueShape;
  }
  /** Changes with each change of the value. */
  get version(): number {
    return this.#version;
  }
  /** The current value. Throws `FailedPreconditionError` after `dispose()`. */
  get value(): EagerTensor {
    if (this.#value !== null) return this.#value;
    const storage = this.#held();
    // The state counts itself from now on.
    totals.tensors--;
    return this.#value = outsideScopes(() => new VariableValue(this.#valueShape, storage, this));
  }
  /** True after `dispose()`. */
  get isDisposed(): boolean {
    return this.#place.storage === null;
  }
  /** Returns a handle on the current value, which later assignments do not change. */
  read(): EagerTensor {
    return new EagerTensor(this.dtype, this.#valueShape, this.#held().retain());
  }

  /** Returns the value in a kernel's form, kept until the value changes; undefined if memory is short. */
  form({ key, spec, make }: KernelForm): DeviceBuffer | undefined {
    const { forms } = this.#place, known = forms.get(key);
    if (known !== undefined) return known.buffer;
    const { device, buffer } = this.#held();
    try {
      const made = new Storage(device, make(buffer), spec);
      forms.set(key, made);
      return made.buffer;
    } catch (e) {
      if (e instanceof ResourceExhaustedError) return undefined;
      throw e;
    }
  }
  /** Notes a change of the value in place: its other forms are out of date. */
  change(): void {
    this.#version++;
    const { forms } = this.#place;
    if (forms.size === 0) return;
    for (const form of forms.values()) form.release();
    forms.clear();
  }

  #held(): Storage {
    if (this.ofGraph) throw this.#outsideOfSessions();
    const { storage } = this.#place;
    if (storage !== null) return storage;
    throw new FailedPreconditionError(
      `Could not find variable ${this.sharedName}. This could mean that the variable has been deleted. It can also mean that it is uninitialized`,
    );
  }

  #outsideOfSessions(): FailedPreconditionError {
    return new FailedPreconditionError(
      `Could not find variable ${this.sharedName} outside of a session: it belongs to a graph, and is uninitialized but for the values that sessions have of it. Use session.run()`,
    );
  }

  /** True where a value of this dtype and shape can be assigned. */
  takes(dtype: DType, shape: PartialShape): boolean {
    return dtype === this.dtype && compatible(this.shape, shape);
  }
  /** Replaces the value; `next` stays the caller's. Throws `ValueError` for another dtype or shape. */
  assign({ dtype, staticShape, storage }: EagerTensor): void {
    this.check(dtype, staticShape);
    this.replace(staticShape, storage.retain());
  }
  /** Throws `ValueError` for a dtype or shape that cannot be assigned. */
  check(dtype: DType, shape: PartialShape): void {
    if (this.takes(dtype, shape)) return;
    const what = compatible(this.shape, shape) ? "Dtype" : "Shape";
    throw new ValueError(
      `Cannot assign value to variable '${this.sharedName}': ${what} mismatch. The variable shape ${
        shapeTuple(this.shape)
      } and dtype ${this.dtype}, and the assigned value shape ${
        shapeTuple(shape)
      } and dtype ${dtype} are incompatible`,
    );
  }
  /** Replaces the value by one that it {@linkcode VariableState.takes}, and takes over a reference to its memory. */
  replace(shape: readonly number[], storage: Storage): void {
    if (this.ofGraph) {
      storage.release();
      throw this.#outsideOfSessions();
    }
    this.#put(shape, storage);
  }
  #put(shape: readonly number[], storage: Storage): void {
    this.dispose();
    this.#valueShape = shape;
    this.#place.storage = storage;
    totals.tensors++;
  }
  dispose(): void {
    const { storage } = this.#place;
    if (storage === null) return;
    this.change();
    this.#place.storage = null;
    if (this.#value !== null) {
      this.#value.release();
      this.#value = null;
      return;
    }
    totals.tensors--;
    storage.release();
  }
}

/** The handle of a variable: a resource tensor with the variable's id, so that gradients find it. */
export class VariableHandle extends Tensor {
  /** A handle is a scalar. */
  readonly staticShape: readonly number[] = [];
  /**
   * The variable's state.
   * @internal
   */
  readonly resource: VariableState;

  /** `id` is the variable's. */
  constructor(resource: VariableState) {
    super("resource", resource.id);
    this.resource = resource;
  }
  /** Checks the value's shape. Throws `ValueError` on conflict. */
  override setShape(): void {}
}
