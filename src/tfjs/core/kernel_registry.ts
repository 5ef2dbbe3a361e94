/**
 * Kernels and gradients that programs register by name. They are stored as in TensorFlow.js, so that packages with a
 * copy of it find them; Weft's own kernels are listed as well, and cannot be replaced.
 */
import { wantObject, wantString } from "../../engine/core/arguments.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { KERNELS } from "./kernels/mod.ts";
import type { KernelAttrs, KernelInputs } from "./kernels/types.ts";
import type { RecursiveArray, TensorInfo } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** A value of an attribute. */
export type AttributeValue =
  | number
  | number[]
  | boolean
  | boolean[]
  | string
  | string[]
  | NamedAttrMap;
/** An attribute. */
export type Attribute = AttributeValue | RecursiveArray<AttributeValue>;
/** Attributes by name. */
export interface NamedAttrMap {
  /** An attribute. */
  [name: string]: Attribute;
}
/** Inputs by name. */
export interface NamedTensorInfoMap {
  /** An input; optional ones may be missing. */
  [name: string]: TensorInfo | undefined;
}
/** Computes a kernel. */
export type KernelFunc = (params: {
  inputs: NamedTensorInfoMap;
  backend: object;
  attrs?: NamedAttrMap;
}) => TensorInfo | TensorInfo[];
/** Returns functions that compute the gradients of a kernel's inputs. */
export type GradFunc = (
  dy: Tensor | Tensor[],
  saved: Tensor[],
  attrs: NamedAttrMap,
) => { [inputName: string]: () => Tensor };
/** Called when a backend begins or ends. */
export type KernelSetupFunc = (backend: object) => void;
/** Called when a backend ends. */
export type KernelDisposeFunc = KernelSetupFunc;
/** A kernel of a backend. */
export interface KernelConfig {
  /** Name of the kernel. */
  kernelName: string;
  /** Name of the backend. */
  backendName: string;
  /** Computes the kernel. */
  kernelFunc: KernelFunc;
  /** Called when the backend begins. */
  setupFunc?: KernelSetupFunc;
  /** Called when it ends. */
  disposeFunc?: KernelDisposeFunc;
}
/** The gradient of a kernel. */
export interface GradConfig {
  /** Name of the kernel. */
  kernelName: string;
  /** Names of the saved inputs. */
  inputsToSave?: string[];
  /** True: all inputs are saved. */
  saveAllInputs?: boolean;
  /** True for each saved output. */
  outputsToSave?: boolean[];
  /** Computes the gradients. */
  gradFunc: GradFunc;
}

/** Returns the map of this name that all copies of TensorFlow.js share. */
function sharedMap<V>(name: string): Map<string, V> {
  const scope = globalThis as { _tfGlobals?: Map<string, unknown> };
  const maps = scope._tfGlobals ??= new Map();
  if (!maps.has(name)) maps.set(name, new Map());
  return maps.get(name) as Map<string, V>;
}

const kernels = sharedMap<KernelConfig>("kernelRegistry");
const gradients = sharedMap<GradConfig>("gradRegistry");

/** Makes TensorFlow.js's key of a kernel. */
function keyOf(kernelName: string, backendName: string, fn: string): string {
  wantString(kernelName, "kernelName", fn);
  wantString(backendName, "backendName", fn);
  return `${backendName}_${kernelName}`;
}

/** Names of Weft's backends, which have all of its kernels. */
const OWN_BACKENDS = ["cpu", "webgpu"];

function ownKernel(kernelName: string, backendName: string): KernelConfig | undefined {
  if (!OWN_BACKENDS.includes(backendName) || !Object.hasOwn(KERNELS, kernelName)) return undefined;
  const kernel = KERNELS[kernelName];
  return {
    kernelName,
    backendName,
    kernelFunc: ({ inputs, attrs = {} }) =>
      kernel(inputs as unknown as KernelInputs, attrs as KernelAttrs) as unknown as
        | TensorInfo
        | TensorInfo[],
  };
}

/** Finds a kernel: Weft's own, else a registered one; undefined where there is none. */
export function getKernel(kernelName: string, backendName: string): KernelConfig | undefined {
  return ownKernel(kernelName, backendName) ??
    kernels.get(keyOf(kernelName, backendName, "getKernel"));
}
/** Finds the registered gradient of a kernel. */
export function getGradient(kernelName: string): GradConfig | undefined {
  return gradients.get(kernelName);
}
/** Lists all kernels of a backend. */
export function getKernelsForBackend(backendName: string): KernelConfig[] {
  const own = Object.keys(KERNELS).map((name) => ownKernel(name, backendName))
    .filter((config) => config !== undefined);
  const isOther = (config: KernelConfig) =>
    config.backendName === backendName && !own.some((o) => o.kernelName === config.kernelName);
  return [...own, ...[...kernels.values()].filter(isOther)];
}
/** Adds a kernel, which `engine().runKernel` runs where its backend is chosen. Weft's own kernels are unchanged. */
export function registerKernel(config: KernelConfig): void {
  wantObject(config, "config", "registerKernel");
  kernels.set(keyOf(config.kernelName, config.backendName, "registerKernel"), config);
}
/** Adds the gradient of a registered kernel. Kernels of Weft keep their own. */
export function registerGradient(config: GradConfig): void {
  wantObject(config, "config", "registerGradient");
  gradients.set(config.kernelName, config);
}
/** Removes a kernel. Throws where it was not registered. */
export function unregisterKernel(kernelName: string, backendName: string): void {
  if (!kernels.delete(keyOf(kernelName, backendName, "unregisterKernel"))) {
    throw new Error(`The kernel '${kernelName}' for backend '${backendName}' is not registered`);
  }
}
/** Removes a gradient. Throws where it was not registered. */
export function unregisterGradient(kernelName: string): void {
  wantString(kernelName, "kernelName", "unregisterGradient");
  if (!gradients.delete(kernelName)) {
    throw new Error(`The gradient '${kernelName}' is not registered`);
  }
}
/** Registers the kernels of one backend for another as well. */
export function copyRegisteredKernels(
  registeredBackendName: string,
  newBackendName: string,
): void {
  for (const config of getKernelsForBackend(registeredBackendName)) {
    registerKernel({ ...config, backendName: newBackendName });
  }
}
