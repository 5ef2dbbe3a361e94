/**
 * `tf.engine()`: TensorFlow.js's engine for its packages, over Weft. Bundled copies of TensorFlow.js find it at
 * `globalThis._tfengine`, so that their ops run here.
 */
import { currentRecorders } from "../../engine/core/apply.ts";
import { newTensorId, Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { customGrad } from "../../engine/autodiff/custom_grad.ts";
import { type Shape, sizeOf } from "../../engine/core/shape.ts";
import { concat, reshape, split } from "../../../mod.ts";
import { memory, type MemoryInfo } from "../../engine/runtime/eager/memory.ts";
import {
  disposeVariables,
  eagerVariables,
} from "../../engine/runtime/variables/known_variables.ts";
import { type Variable, variable } from "../../engine/runtime/variables/variable.ts";
import type { KernelBackend } from "./backend.ts";
import * as backends from "./backends.ts";
import { tensor } from "./creation.ts";
import { valueAndGrads } from "./gradients.ts";
import { env, type Environment, setEnvironmentGlobal } from "./environment.ts";
import { getGradient, getKernel, type NamedAttrMap } from "./kernel_registry.ts";
import { KERNELS } from "./kernels/mod.ts";
import type { KernelAttrs, KernelInputs } from "./kernels/types.ts";
import { endScope, keep, scopeNames, startScope, tidy } from "./scopes.ts";
import { profile, type ProfileInfo, time, type TimingInfo } from "./timing.ts";
import type {
  BackendValues,
  DataId,
  DataType,
  DataValues,
  NamedTensorMap,
  NamedVariableMap,
  TensorInfo,
} from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Counts and lists of an engine. */
export class EngineState {
  /** Variables by name. */
  get registeredVariables(): NamedVariableMap {
    return Object.fromEntries(eagerVariables().map((v) => [v.name, v]));
  }
  /** Number of tensors. */
  get numTensors(): number {
    return memory().numTensors;
  }
  /** Bytes of all tensors. */
  get numBytes(): number {
    return memory().numBytes;
  }
  /** Number of buffers. */
  get numDataBuffers(): number {
    return memory().numDataBuffers;
  }
  /** Number of recording tapes. */
  get gradientDepth(): number {
    return currentRecorders().length;
  }
  /** Always 0: kernels run no others. */
  readonly kernelDepth: number = 0;
  /** The open scopes. */
  get scopeStack(): { name: string; id: number; track: Tensor[] }[] {
    return scopeNames().map((name, id) => ({ name, id, track: [] }));
  }
  /** The innermost open scope. */
  get activeScope(): { name: string; id: number; track: Tensor[] } | undefined {
    return this.scopeStack.at(-1);
  }
  /** Does nothing. */
  dispose(): void {}
}

/** TensorFlow.js's engine, over Weft. */
export class Engine {
  /** Counts and lists. */
  readonly state: EngineState = new EngineState();

  /** Flags and the platform. */
  get ENV(): Environment {
    return env();
  }
  set ENV(environment: Environment) {
    setEnvironmentGlobal(environment);
  }
  /** Name of the backend in use. */
  get backendName(): string {
    return backends.getBackend();
  }
  /** The backend in use. */
  get backend(): KernelBackend {
    return backends.backend();
  }
  /** Waits until the backend in use has started. */
  ready(): Promise<void> {
    return backends.ready();
  }
  /** The started backends, by name. */
  get registry(): Record<string, KernelBackend> {
    return backends.startedBackends();
  }
  /** Factories of the backends, by name. */
  get registryFactory(): Record<string, { factory: backends.BackendFactory; priority: number }> {
    return backends.backendFactories();
  }
  /** Names of all backends. */
  backendNames(): string[] {
    return backends.backendNames();
  }
  /** See `tf.findBackend`. */
  findBackend(name: string): KernelBackend | null {
    return backends.findBackend(name);
  }
  /** See `tf.findBackendFactory`. */
  findBackendFactory(name: string): backends.BackendFactory | null {
    return backends.findBackendFactory(name);
  }
  /** See `tf.registerBackend`. */
  registerBackend(name: string, factory: backends.BackendFactory, priority?: number): boolean {
    return backends.registerBackend(name, factory, priority);
  }
  /** See `tf.setBackend`. */
  setBackend(name: string): Promise<boolean> {
    return backends.setBackend(name);
  }
  /** See `tf.removeBackend`. */
  removeBackend(name: string): void {
    backends.removeBackend(name);
  }

  /** See `tf.tidy`. */
  tidy<T>(nameOrFn: string | (() => T), fn?: () => T): T {
    return tidy(nameOrFn, fn);
  }
  /** Opens a scope. */
  startScope(name = ""): void {
    startScope(name);
  }
  /** Closes the innermost scope: tensors made since are disposed, except those in `result`. */
  endScope(result?: unknown): void {
    endScope(result);
  }
  /** See `tf.keep`. */
  keep<T extends Tensor>(result: T): T {
    return keep(result);
  }

  /**
   * Runs a kernel by its name: Weft's own, else one registered for the backend in use, with its registered gradient.
   * Throws for an unknown one.
   */
  runKernel(
    kernelName: string,
    inputs: NamedTensorMap | Tensor[],
    attrs: NamedAttrMap = {},
  ): Tensor | Tensor[] {
    const own = Object.hasOwn(KERNELS, kernelName) ? KERNELS[kernelName] : undefined;
    if (own !== undefined) {
      return tidy(() => own(inputs as unknown as KernelInputs, attrs as KernelAttrs));
    }
    return runRegistered(this, kernelName, inputs as NamedTensorMap, attrs);
  }

  /** Makes a tensor of values. */
  makeTensor(values: DataValues | Uint8Array[], shape: number[], dtype?: DataType): Tensor {
    return tensor(values as TensorLike, shape, dtype);
  }
  /**
   * Makes the tensor that a kernel's result describes: Weft's tensor itself, else one of the elements that the backend
   * reads.
   */
  makeTensorFromTensorInfo(info: TensorInfo, backend?: KernelBackend): Tensor {
    const made: unknown = info;
    if (made instanceof Tensor) return made;
    return this.makeTensorFromDataId(info.dataId, info.shape, info.dtype, backend);
  }
  /** Makes a tensor of the elements that a backend has under an id. */
  makeTensorFromDataId(
    dataId: DataId,
    shape: number[],
    dtype: DataType,
    backend: KernelBackend = this.backend,
  ): Tensor {
    return tensor(backend.readSync(dataId) as TensorLike, shape, dtype);
  }
  /** Variables by name, as in {@linkcode EngineState}. */
  get registeredVariables(): NamedVariableMap {
    return this.state.registeredVariables;
  }
  /** See `tf.variable`. */
  makeVariable(
    initialValue: Tensor,
    trainable?: boolean,
    name?: string,
    dtype?: DataType,
  ): Variable {
    return variable(initialValue, trainable, name, dtype);
  }
  /** Frees a tensor. */
  disposeTensor(t: Tensor): void {
    t.dispose();
  }
  /** Frees a variable. */
  disposeVariable(v: Variable): void {
    v.dispose();
  }
  /** See `tf.disposeVariables`. */
  disposeVariables(): void {
    disposeVariables();
  }
  /** See `tf.memory`. */
  memory(): MemoryInfo {
    return memory();
  }
  /** See `tf.profile`. */
  profile(query: () => unknown): Promise<ProfileInfo> {
    return profile(query);
  }
  /** See `tf.time`. */
  time(query: () => void): Promise<TimingInfo> {
    return time(query);
  }
  /** True while a tape records. */
  isTapeOn(): boolean {
    return this.state.gradientDepth > 0;
  }
  /** Returns the value of `f()` and its gradients for `xs`. */
  gradients(f: () => Tensor, xs: Tensor[], dy?: Tensor): { value: Tensor; grads: Tensor[] } {
    return valueAndGrads(() => f())(xs, dy);
  }
  /** See `tf.customGrad`. */
  customGrad(f: Parameters<typeof customGrad>[0]): (...inputs: Tensor[]) => Tensor {
    return customGrad(f);
  }
  /** Returns a new number for a tensor. */
  nextTensorId(): number {
    return newTensorId();
  }
  /** Returns a new number for a variable. */
  nextVariableId(): number {
    return newTensorId();
  }
  /** Reads the elements that a backend has under an id; a tensor's id is the tensor. */
  read(dataId: DataId): Promise<BackendValues> {
    return this.backend.read(dataId);
  }
  /** Reads as {@linkcode Engine.read}, synchronously. */
  readSync(dataId: DataId): BackendValues {
    return this.backend.readSync(dataId);
  }
  /** Returns the GPU memory of a tensor. */
  readToGPU(dataId: DataId): object {
    return this.backend.readToGPU(dataId);
  }
  /** Does nothing: storage counts its owners. */
  incRef(_a: Tensor, _backend?: KernelBackend): void {}
  /** Does nothing: scopes track new tensors. */
  trackTensor(_a: Tensor, _backend?: KernelBackend): void {}
  /** Resets flags, and removes registered backends and variables. */
  reset(): void {
    env().reset();
    backends.resetBackends();
    disposeVariables();
  }
}

function runRegistered(
  engine: Engine,
  kernelName: string,
  inputs: NamedTensorMap,
  attrs: NamedAttrMap,
): Tensor | Tensor[] {
  const { backendName } = engine;
  // Packages make the kernels of these two of ops, which run on a GPU as well.
  const names = [backendName, "tensorflow", "cpu"];
  const config = names.map((name) => getKernel(kernelName, name)).find((found) => found);
  if (config === undefined) {
    throw new Error(
      `Cannot run the kernel ${kernelName}: it is none of Weft's, and not registered for ${backendName}`,
    );
  }
  const { backend } = engine;
  const compute = (given: NamedTensorMap): Tensor[] | Tensor => {
    const result = config.kernelFunc({
      inputs: given as unknown as Record<string, TensorInfo>,
      backend,
      attrs,
    });
    const make = (info: TensorInfo) => engine.makeTensorFromTensorInfo(info, backend);
    return Array.isArray(result) ? result.map(make) : make(result);
  };
  const gradient = getGradient(kernelName);
  if (gradient === undefined || !engine.isTapeOn()) return compute(inputs);
  const keys = Object.keys(inputs);
  const { saveAllInputs, inputsToSave = [], outputsToSave = [], gradFunc } = gradient;
  // A function with a gradient has one value: several outputs are one vector on the way.
  let shapes: readonly Shape[] | null = null;
  const parts = (vector: Tensor): Tensor | Tensor[] => {
    if (shapes === null) return vector;
    const sizes = shapes.map(sizeOf);
    return split(vector, sizes, 0).map((part, i) => reshape(part, shapes![i]));
  };
  const result = customGrad((...args) => {
    const given = Object.fromEntries(keys.map((name, i) => [name, args[i] as Tensor]));
    const made = compute(given), outputs = [made].flat();
    shapes = Array.isArray(made) ? outputs.map(({ shape }) => shape) : null;
    const saved = (saveAllInputs ? keys : inputsToSave).map((name) => given[name]);
    const save = args.at(-1) as (tensors: Tensor[]) => void;
    save([...saved, ...outputs.filter((_, i) => outputsToSave[i])]);
    return {
      value: Array.isArray(made) ? concat(made.map((each) => reshape(each, [-1])), 0) : made,
      gradFunc: (dy, kept) => {
        const grads = gradFunc(parts(dy) as Tensor, [...kept], attrs);
        return keys.map((name) => grads[name]());
      },
    };
  })(...keys.map((name) => inputs[name]));
  return parts(result);
}

/** The place where copies of TensorFlow.js look for the engine. */
const scope = globalThis as { _tfengine?: object };

/** Returns the engine of this process. */
export const ENGINE: Engine = new Engine();
scope._tfengine ??= ENGINE;

/**
 * Returns the engine of this process.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.engine().memory().numTensors === tf.memory().numTensors); // true
 * ```
 */
export function engine(): Engine {
  return ENGINE;
}

// Packages import it by this path, as TensorFlow.js declares it here.
export { add } from "./arithmetic.ts";
