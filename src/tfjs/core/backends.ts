/**
 * The choice of a backend. Weft has `"webgpu"` and `"cpu"`; names of TensorFlow.js's other backends stand for the
 * nearest of them. Backends that programs register are kept, and run the kernels that are registered for them; other
 * ops keep running on Weft's devices.
 */
import {
  getBackend as ownBackend,
  ready as devicesReady,
  setBackend as useDevice,
} from "../../engine/runtime/devices/devices.ts";
import { type KernelBackend, WeftBackend } from "./backend.ts";
import { getKernelsForBackend } from "./kernel_registry.ts";
import { isPromise } from "./util/values.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Makes a backend. */
export type BackendFactory = () => KernelBackend | Promise<KernelBackend>;
/** A registered backend. */
interface Registered {
  readonly factory: BackendFactory;
  readonly priority: number;
  instance: KernelBackend | null;
  starting: Promise<KernelBackend> | null;
}

/** The devices that names of TensorFlow.js's backends stand for, best first. */
const STAND_FOR: Readonly<Record<string, readonly ("webgpu" | "cpu")[]>> = {
  webgpu: ["webgpu"],
  webgl: ["webgpu", "cpu"],
  "rn-webgl": ["webgpu", "cpu"],
  cpu: ["cpu"],
  wasm: ["cpu"],
  tensorflow: ["cpu"],
};

const weft = new WeftBackend();
const registered = new Map<string, Registered>();
/** The registered backend in use, if any. */
let chosen: string | null = null;

/**
 * Name of the backend in use.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * await tf.setBackend("cpu");
 * console.log(tf.getBackend()); // cpu
 * ```
 */
export function getBackend(): string {
  return chosen ?? ownBackend();
}

/** Names of all backends. */
export function backendNames(): string[] {
  return [...new Set(["webgpu", "cpu", ...registered.keys()])];
}

/**
 * Chooses the backend: `"webgpu"`, `"cpu"`, a name of TensorFlow.js that stands for one of them (`"webgl"`, `"wasm"`,
 * `"tensorflow"`), or a registered backend. Resolves with false where it is unavailable. Throws for an unknown name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(await tf.setBackend("cpu")); // true
 * ```
 */
export function setBackend(backendName: string): Promise<boolean> {
  const own = STAND_FOR[backendName];
  if (own !== undefined) return choose(own);
  if (!registered.has(backendName)) {
    throw new Error(
      `Cannot use the backend '${backendName}': there are ${
        [...new Set([...Object.keys(STAND_FOR), ...registered.keys()])].join(", ")
      }`,
    );
  }
  chosen = backendName;
  return begun(backendName);
}

/** Chooses the first available device. */
async function choose(names: readonly ("webgpu" | "cpu")[]): Promise<boolean> {
  chosen = null;
  for (const name of names) if (await useDevice(name)) return true;
  return false;
}

async function begun(name: string): Promise<boolean> {
  try {
    await start(name);
    return true;
  } catch (error) {
    console.warn(`Cannot start backend ${name}`, error);
    return false;
  }
}

function start(name: string): KernelBackend | Promise<KernelBackend> {
  const entry = registered.get(name)!;
  if (entry.instance) return entry.instance;
  if (entry.starting) return entry.starting;
  const made = entry.factory();
  const begin = (instance: KernelBackend) => {
    for (const { setupFunc } of getKernelsForBackend(name)) setupFunc?.(instance);
    return entry.instance = instance;
  };
  if (!isPromise(made)) return begin(made as KernelBackend);
  return entry.starting = (made as Promise<KernelBackend>).then(begin);
}

/**
 * Returns the backend in use. Throws where it has not started yet.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * await tf.ready();
 * console.log(tf.backend() instanceof tf.KernelBackend); // true
 * ```
 */
export function backend(): KernelBackend {
  if (chosen === null) return weft;
  const made = start(chosen);
  if (!isPromise(made)) return made as KernelBackend;
  throw new Error(`Cannot use the backend '${chosen}': it has not started, await tf.ready() first`);
}

/**
 * Waits until the backend in use has started.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * await tf.ready();
 * console.log(tf.getBackend() !== ""); // true
 * ```
 */
export async function ready(): Promise<void> {
  await devicesReady();
  if (chosen !== null) await start(chosen);
}

/**
 * Finds a backend by name, and starts it where it can start synchronously; null where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.findBackend("none of them")); // null
 * ```
 */
export function findBackend(name: string): KernelBackend | null {
  if (!registered.has(name)) return STAND_FOR[name]?.includes(ownBackend()) ? weft : null;
  const made = start(name);
  return isPromise(made) ? null : made as KernelBackend;
}

/**
 * Finds the factory of a backend by name; null where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(typeof tf.findBackendFactory("cpu")); // function
 * ```
 */
export function findBackendFactory(name: string): BackendFactory | null {
  return registered.get(name)?.factory ?? (name in STAND_FOR ? () => weft : null);
}

/** Factories and priorities of the backends, by name. */
export function backendFactories(): Record<string, { factory: BackendFactory; priority: number }> {
  // TensorFlow.js's priorities for these names.
  const own = Object.entries({ webgpu: 3, cpu: 1 }).map(([name, priority]) =>
    [name, { factory: () => weft, priority }] as const
  );
  const others = [...registered].map(([name, { factory, priority }]) =>
    [name, { factory, priority }] as const
  );
  return Object.fromEntries([...own, ...others]);
}

/** The started backends, by name. */
export function startedBackends(): Record<string, KernelBackend> {
  const others = [...registered].flatMap(([name, { instance }]) =>
    instance === null ? [] : [[name, instance] as const]
  );
  return Object.fromEntries([[ownBackend(), weft], ...others]);
}

/**
 * Adds a backend, which `setBackend` chooses by name, whatever its priority. Returns false where the name is taken.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.registerBackend("mine", () => new tf.KernelBackend())); // true
 * tf.removeBackend("mine");
 * ```
 */
export function registerBackend(name: string, factory: BackendFactory, priority = 1): boolean {
  if (registered.has(name)) {
    console.warn(`${name} backend was already registered: the first one stays`);
    return false;
  }
  registered.set(name, { factory, priority, instance: null, starting: null });
  return true;
}

/**
 * Removes a registered backend and disposes it. Throws where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.registerBackend("mine", () => new tf.KernelBackend());
 * tf.removeBackend("mine");
 * console.log(tf.findBackend("mine")); // null
 * ```
 */
export function removeBackend(name: string): void {
  const entry = registered.get(name);
  if (entry === undefined) {
    throw new Error(`Cannot remove the backend ${name}: it was not registered`);
  }
  const { instance } = entry;
  if (instance !== null) {
    for (const { disposeFunc } of getKernelsForBackend(name)) disposeFunc?.(instance);
    instance.dispose();
  }
  registered.delete(name);
  if (chosen === name) chosen = null;
}

/** Removes all registered backends. */
export function resetBackends(): void {
  for (const name of [...registered.keys()]) removeBackend(name);
}
