/** Finds, names and chooses the devices of this process. */
import { wantFunction } from "../../core/arguments.ts";
import type { Device } from "../../core/device.ts";
import type { Meaning } from "../../core/meaning.ts";
import { registeredOps } from "../../core/op.ts";
import { CpuDevice } from "../../devices/cpu/cpu_device.ts";
import { cpuKernels } from "../../devices/cpu/kernel_table.ts";
import { gpuKernels } from "../../devices/webgpu/kernel_table.ts";
import { openWebGpuDevice } from "../../devices/webgpu/open.ts";
import type { WebGpuDevice } from "../../devices/webgpu/webgpu_device.ts";
import { currentScope, withScope } from "../../core/scope_context.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import { environment } from "./environment.ts";

const cpu = new CpuDevice(undefined, loadMissing);
/** The devices in use. */
const inUse = {
  gpu: null as WebGpuDevice | null,
  /** The default device; null before one was chosen. */
  chosen: null as Device | null,
  probing: null as Promise<Device | null> | null,
  generation: 0,
  /** True while kernels are loaded that an op has missed. */
  isLoading: false,
  /** The reason for the default device. */
  reason: "ready() has not been awaited",
};
const CHOSEN = "setBackend() chose it";
const forgetters: (() => void)[] = [];

export function cpuDevice(): Device {
  return cpu;
}
/** The GPU device, or null if none was found yet. */
export function gpuDevice(): WebGpuDevice | null {
  return inUse.gpu;
}
/** The device of ops that do not name one. */
export function defaultDevice(): Device {
  return inUse.chosen ?? cpu;
}

/** The device that the scopes in force name, else the default. */
export function scopeDevice(): Device {
  const asked = currentScope().device;
  return asked ? findDevice(asked) : defaultDevice();
}

/** Increases when existing plans become useless, for instance after a lost device was replaced. */
export function deviceGeneration(): number {
  return inUse.generation;
}

/** Invalidates all plans. */
export function forgetPlans(): void {
  inUse.generation++;
}

/**
 * Registers a callback that drops stale kernels: those of a lost device, or loops that were replaced by better ones.
 */
export function onKernelsReplaced(forget: () => void): void {
  forgetters.push(forget);
}

function probe(): Promise<Device | null> {
  return inUse.probing ??= openWebGpuDevice(meanings()).then(adopt);
}

/** Takes a new device into use in the place of a lost one. */
function adopt(found: WebGpuDevice | null): Device | null {
  if (found === null) {
    // The next ready() may find a device again after a loss.
    if (inUse.gpu !== null) inUse.probing = null;
    return null;
  }
  const before = inUse.gpu;
  inUse.gpu = found;
  found.lost.then(() => {
    inUse.probing = null;
    // Not after a device that could not be used: that might repeat for ever.
    if (found.counters.submits > 0) void probe().catch(() => inUse.probing = null);
  });
  if (before !== null) {
    found.tuner.timing = before.tuner.timing;
    found.tuner.remember(before.tuner.choices);
    if (inUse.chosen === before) inUse.chosen = found;
    forgetKernels();
  }
  return found;
}

function forgetKernels(): void {
  inUse.generation++;
  for (const forget of forgetters) forget();
}

/** Meanings of the ops loaded so far; kernels are loaded by their kinds. */
function meanings(): Meaning[] {
  return registeredOps().map(({ meaning }) => meaning);
}

/** Loads the CPU kernels for ops of these meanings. */
export async function loadCpuKernels(wanted: readonly Meaning[] = meanings()): Promise<void> {
  if (await cpuKernels.load(wanted)) forgetKernels();
}

/** False where a page has CPU kernels to load. */
export function hasCpuKernels(): boolean {
  return cpuKernels.isWhole;
}

/** Serves ops that ran before `ready()` was awaited. An error here is reported by the next `ready()`. */
function loadMissing(meaning: Meaning): void {
  if (inUse.isLoading) return;
  inUse.isLoading = true;
  loadCpuKernels([meaning]).catch(() => {}).finally(() => inUse.isLoading = false);
}

/** Returns the GPU, with the kernels for the ops loaded so far; a newly opened one loads them itself. */
async function findGpu(): Promise<Device | null> {
  const found = await probe();
  if (found !== null && await gpuKernels.load(meanings())) forgetKernels();
  return found;
}

/** The answer of {@linkcode ready}. */
export interface ReadyInfo {
  /** Name of the default device: `/device:CPU:0` or `/device:GPU:0`. */
  readonly device: string;
  /** The reason for it, in words. */
  readonly reason: string;
}

/**
 * Finds the adapters and chooses the default device: a hardware GPU, else the CPU; `WEFT_DEVICE=cpu|webgpu` overrides.
 * Resolves to the device and the reason for it. Eager work on the CPU needs no `ready()`. After `UnavailableError`, which
 * reports a lost GPU device, it waits for the next one. Rejects with `ValueError` where `WEFT_DEVICE` asks for what is not there.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { device, reason } = await tf.ready();
 * console.log(device, reason); // /device:… …
 * ```
 */
export async function ready(): Promise<ReadyInfo> {
  const found = await findGpu();
  inUse.reason = choose(found) ?? inUse.reason;
  if (inUse.chosen === cpu) await loadCpuKernels();
  return { device: defaultDevice().name, reason: inUse.reason };
}

/** Chooses the default device, unless it was chosen before; returns the reason. */
function choose(found: Device | null): string | null {
  if (inUse.chosen) return null;
  const wish = environment("WEFT_DEVICE");
  if (wish !== undefined && wish !== "cpu" && wish !== "webgpu") {
    throw new ValueError(`Cannot use WEFT_DEVICE=${wish}: wanted "cpu" or "webgpu"`);
  }
  if (wish === "webgpu" && !found) {
    throw new ValueError("Cannot use WEFT_DEVICE=webgpu: no WebGPU adapter was found");
  }
  const useGpu = found !== null && (wish === "webgpu" || (wish === undefined && !found.software));
  inUse.chosen = useGpu ? found : cpu;
  if (wish !== undefined) return `WEFT_DEVICE is ${wish}`;
  if (useGpu) return `The adapter is a GPU: ${found.description}`;
  if (found !== null) {
    return `The only WebGPU adapter is software, which the CPU's own kernels outrun: ${found.description}`;
  }
  return (globalThis.navigator as { readonly gpu?: unknown } | undefined)?.gpu
    ? "WebGPU has no adapter here"
    : `This runtime has no WebGPU${
      "process" in globalThis ? ": in Node npm's webgpu brings it" : ""
    }`;
}

/**
 * Makes `"webgpu"` or `"cpu"` the default device. False if it is not available. Rejects with `ValueError` for another
 * name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.setBackend("cpu")); // true
 * ```
 */
export async function setBackend(name: "webgpu" | "cpu"): Promise<boolean> {
  if (name === "cpu") {
    await loadCpuKernels();
    inUse.chosen = cpu;
    inUse.reason = CHOSEN;
    return true;
  }
  if (name !== "webgpu") {
    throw new ValueError(
      `Cannot use the backend "${name}": there are "webgpu" and "cpu", in the place of webgl and wasm`,
    );
  }
  const found = await findGpu();
  if (!found) return false;
  inUse.chosen = found;
  inUse.reason = CHOSEN;
  return true;
}

/** True where there is a GPU, whichever device is the default. */
export async function hasGpu(): Promise<boolean> {
  return await probe() !== null;
}

/**
 * Returns the name of the default device's backend.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * await tf.setBackend("cpu");
 * console.log(tf.getBackend()); // cpu
 * ```
 */
export function getBackend(): "webgpu" | "cpu" {
  return defaultDevice().type === "GPU" ? "webgpu" : "cpu";
}

/** A device in `listDevices`. */
export interface DeviceInfo {
  /** `/device:CPU:0`. */
  readonly name: string;
  /** `CPU` or `GPU`. */
  readonly type: "CPU" | "GPU";
  /** Name of the adapter or processor. */
  readonly description: string;
  /** True for a GPU emulated on the processor. */
  readonly software: boolean;
}

/**
 * Lists the devices found so far; call `ready()` first to see GPUs.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.listDevices().map(({ type }) => type).includes("CPU")); // true
 * ```
 */
export function listDevices(): DeviceInfo[] {
  return (inUse.gpu ? [cpu, inUse.gpu] : [cpu]).map(({ name, type, description, software }) => ({
    name,
    type,
    description,
    software,
  }));
}

/** Parts of a device name. */
export interface DeviceSpec {
  /** Job, e.g. `worker`. */
  readonly job?: string;
  readonly replica?: number;
  readonly task?: number;
  /** `CPU` or `GPU`. */
  readonly type?: string;
  readonly index?: number;
}

/** Cache of parsed names: every eager op in a scope needs one. */
const specs = new RecentMap<string, DeviceSpec>(64);

/** Parses `/job:J/replica:R/task:T/device:TYPE:N` or any part of it. Throws `ValueError` with TensorFlow's phrase. */
export function parseDevice(text: string): DeviceSpec {
  if (typeof text !== "string") {
    throw new TypeError(`Cannot read a device's name: wanted a string, received ${typeof text}`);
  }
  const known = specs.get(text);
  if (known !== undefined) return known;
  const spec: { -readonly [K in keyof DeviceSpec]: DeviceSpec[K] } = {};
  for (const part of text.split("/").filter((s) => s !== "")) {
    const [key, a, b] = part.split(":");
    if (key === "job" && a) spec.job = a;
    else if (key === "replica" && a) spec.replica = Number(a);
    else if (key === "task" && a) spec.task = Number(a);
    else if (key === "device" && a) Object.assign(spec, deviceParts(a, b));
    else if (/^(cpu|gpu)$/i.test(key)) Object.assign(spec, deviceParts(key, a));
    else {
      throw new ValueError(
        `Unknown attribute '${key}' is encountered while parsing the device spec: '${text}'`,
      );
    }
  }
  specs.set(text, spec);
  return spec;
}

function deviceParts(type: string, index: string | undefined): DeviceSpec {
  return {
    type: type.toUpperCase(),
    ...(index === undefined || index === "*" ? {} : { index: Number(index) }),
  };
}

/** Merges two names field by field; `inner` wins. Returns a canonical name. */
export function mergeDevices(outer: string | null, inner: string): string {
  return deviceText({ ...(outer ? parseDevice(outer) : {}), ...parseDevice(inner) });
}

/** Formats a device spec canonically. */
export function deviceText(s: DeviceSpec): string {
  let t = "";
  if (s.job !== undefined) t += `/job:${s.job}`;
  if (s.replica !== undefined) t += `/replica:${s.replica}`;
  if (s.task !== undefined) t += `/task:${s.task}`;
  if (s.type !== undefined) t += `/device:${s.type}:${s.index ?? "0"}`;
  return t;
}

/** Number of this process's servers for each task of a cluster, by name. */
const served = new Map<string, number>();

/** Notes that a server in this process is this task of a cluster. Returns a function that withdraws the note. */
export function serveTask(job: string, task: number): () => void {
  const name = `${job}:${task}`;
  served.set(name, (served.get(name) ?? 0) + 1);
  return () => {
    const left = served.get(name)! - 1;
    if (left > 0) served.set(name, left);
    else served.delete(name);
  };
}

/** True for the name that this process has in every cluster, and without one. */
export function isLocalhost({ job, replica, task }: DeviceSpec): boolean {
  return (job ?? "localhost") === "localhost" && (replica ?? 0) === 0 && (task ?? 0) === 0;
}

/** True where the spec names this process: by its own name, or as the task of one of its servers. */
export function isThisProcess(spec: DeviceSpec): boolean {
  const { job, replica = 0, task = 0 } = spec;
  return isLocalhost(spec) || (replica === 0 && served.has(`${job}:${task}`));
}

/** True where the spec names a device of this process. */
export function isHere(spec: DeviceSpec): boolean {
  const { type, index } = spec;
  const known = type === undefined || type === "CPU" || (type === "GPU" && inUse.gpu !== null);
  return known && (index ?? 0) === 0 && isThisProcess(spec);
}

/** Returns a device's name with that of this process. */
export function fullName({ name }: Pick<Device, "name">): string {
  return `/job:localhost/replica:0/task:0${name}`;
}

/** Lists the devices for an error message. */
export function devicesText(): string {
  return `[ ${listDevices().map(fullName).join(", ")} ]`;
}

/** Returns the device with this name. Throws `InvalidArgumentError`, which lists the devices, if there is none. */
export function findDevice(name: string): Device {
  const spec = parseDevice(name);
  const { type } = spec, isOurs = isThisProcess(spec);
  if (type === undefined && isOurs) return defaultDevice();
  const found = [cpu, inUse.gpu].find((d) => d?.type === type && (spec.index ?? 0) === 0);
  if (!found || !isOurs) {
    throw new InvalidArgumentError(
      `Cannot find device ${name}: available devices are ${devicesText()}. Make sure the device specification refers to a valid device, and that tf.ready() was awaited`,
    );
  }
  return found;
}

/**
 * Runs `fn` with ops placed on the named device, eager or in a graph; `null` clears the scopes around it.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.device("/CPU:0", () => tf.add(1, 2));
 * console.log(y.item()); // 3
 * ```
 */
export function device<R>(name: string | null, fn: () => R): R {
  wantFunction(fn, "fn", "device");
  return withScope(
    { device: name === null ? null : mergeDevices(currentScope().device, name) },
    fn,
  );
}
