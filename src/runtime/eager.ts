/**
 * The eager interpreter: picks a device, finds or prepares the kernel, runs it.
 * May import core, devices through the Device interface, storage and tensor.
 */
import {
  apply,
  type Interpreter,
  NO_ATTRS,
  type OpInput,
  setBaseInterpreter,
  withInterpreter,
  withRecorders,
} from "../core/apply.ts";
import { argOfInput, type Attrs, type OpDef } from "../core/op.ts";
import type { Device } from "../core/device.ts";
import { NdArray } from "../core/nd_array.ts";
import { Tensor } from "../core/tensor.ts";
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import { currentScope, withScope } from "../core/scope_context.ts";
import { isConcrete } from "../core/shape.ts";
import { InternalError, UnimplementedError } from "../core/errors.ts";
import { asEager, EagerTensor, tidy } from "./tensor.ts";
import { type Launch, ofOp, prepareLaunch } from "./launch.ts";
import { specId } from "./spec_id.ts";
import { Storage } from "./storage.ts";
import { cpuDevice, defaultDevice, findDevice, onDeviceReplaced } from "./devices.ts";

const LAUNCH_LIMIT = 8192;
/** By text, and by number for the many applications of at most two inputs and nothing else. */
const launches = new Map<string, Launch>(), simple = new Map<number, Launch>();
/** Of the latter, the last one of each op, device and number of inputs: the next is often like it. */
const latest: ({ first: number; second: number; launch: Launch } | undefined)[] = [];
onDeviceReplaced(() => {
  launches.clear();
  simple.clear();
  latest.length = 0;
});

/** Runs ops at once. */
export const eagerInterpreter: Interpreter = {
  symbolic: false,
  apply: executeEagerly,
  constant: (value) => constantTensor(value, targetDevice()),
  tidy: (fn) => tidy(fn),
};

/** Installs eager execution as what happens outside graphs. */
export function installEager(): void {
  setBaseInterpreter(eagerInterpreter);
}

/** The device asked for; else the GPU where an input lives there; else the default. */
function targetDevice(inputs: readonly OpInput[] = []): Device {
  const asked = currentScope().device;
  if (asked) return findDevice(asked);
  for (const x of inputs) {
    if (x instanceof EagerTensor && x.storage.device.type === "GPU") return x.storage.device;
  }
  return defaultDevice();
}

/** Executes one op now. Throws the kernel's error as an `OpError` that names the op and its inputs. */
export function executeEagerly(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[] {
  return def.host
    ? hostRunner(def)(inputs, attrs)
    : executeOn(def, inputs, attrs, targetDevice(inputs));
}

/** Executes an op on a device, or on the CPU where that device has no kernel for it. */
export function executeOn(
  def: OpDef,
  inputs: readonly OpInput[],
  attrs: Attrs,
  asked: Device,
): Tensor[] {
  for (let i = 0; i < inputs.length; i++) {
    if (inputs[i] instanceof Tensor) asEager(inputs[i] as Tensor);
  }
  const launch = def.hostInputs === undefined && inputs.length <= 2 && isEmpty(attrs)
    ? simpleLaunch(def, asked, inputs)
    : anyLaunch(def, asked, inputs, attrs);
  return runLaunch(def, launch, inputs);
}

function isEmpty(attrs: Attrs): boolean {
  if (attrs === NO_ATTRS) return true;
  for (const _ in attrs) return false;
  return true;
}

function anyLaunch(
  def: OpDef,
  device: Device,
  inputs: readonly OpInput[],
  attrs: Attrs,
): Launch {
  const hosts = hostValues(def, inputs);
  const key = launchKey(def, device, inputs, hosts, attrs);
  let launch = launches.get(key);
  if (launch === undefined) {
    launch = prepareLaunch(def, { specs: inputs.map(specOf), hosts, attrs, device });
    remember(launches, key, launch);
  }
  return launch;
}

function remember<K>(map: Map<K, Launch>, key: K, launch: Launch): void {
  if (map.size >= LAUNCH_LIMIT) map.clear();
  map.set(key, launch);
}

const SPEC_IDS = 2 ** 18;

/** The launch of an application of at most two inputs, without attributes and host inputs. */
function simpleLaunch(def: OpDef, device: Device, inputs: readonly OpInput[]): Launch {
  const n = inputs.length;
  const first = n > 0 ? specIdOf(inputs[0]) : 0, second = n > 1 ? specIdOf(inputs[1]) : 0;
  const slot = def.id * 6 + (device.type === "GPU" ? 3 : 0) + n;
  const last = latest[slot];
  if (last !== undefined && last.first === first && last.second === second) return last.launch;
  if (first >= SPEC_IDS || second >= SPEC_IDS) return anyLaunch(def, device, inputs, NO_ATTRS);
  const key = (slot * SPEC_IDS + first) * SPEC_IDS + second;
  let launch = simple.get(key);
  if (launch === undefined) {
    const hosts = hostValues(def, inputs);
    launch = prepareLaunch(def, { specs: inputs.map(specOf), hosts, attrs: NO_ATTRS, device });
    remember(simple, key, launch);
  }
  latest[slot] = { first, second, launch };
  return launch;
}

function specIdOf(x: OpInput): number {
  return x instanceof EagerTensor ? x.specId : specId(x.dtype, (x as NdArray).shape);
}

function runLaunch(def: OpDef, launch: Launch, inputs: readonly OpInput[]): Tensor[] {
  const { device, kernel, outputs } = launch;
  if (def.kind === "view" && inputs.length > 0) return [viewOf(inputs[0], launch)];
  if (kernel === null) return runExpand(def, launch, inputs);
  let temporary: EagerTensor[] | undefined;
  try {
    const buffers: unknown[] = new Array(inputs.length);
    for (let i = 0; i < inputs.length; i++) {
      if (launch.hosts[i] !== undefined) {
        buffers[i] = undefined;
        continue;
      }
      const input = inputs[i];
      const t = onDevice(input, device);
      if (t !== input) (temporary ??= []).push(t);
      buffers[i] = t.storage.buffer;
    }
    if (kernel.dynamic) return kernel.dynamic(buffers).map((a) => constantTensor(a, device));
    const made = kernel.run(buffers), results: Tensor[] = new Array(made.length);
    for (let i = 0; i < made.length; i++) {
      const spec = outputs[i];
      const t = new EagerTensor(spec.dtype, spec.shape, new Storage(device, made[i], spec));
      t.specId = launch.outputIds[i];
      results[i] = t;
    }
    return results;
  } catch (e) {
    throw ofOp(e, def, inputs.map(specOf));
  } finally {
    if (temporary) { for (const t of temporary) t.dispose(); }
  }
}

function viewOf(input: OpInput, { device, outputs: [spec] }: Launch): EagerTensor {
  const source = onDevice(input, input instanceof EagerTensor ? input.storage.device : device);
  const view = new EagerTensor(spec.dtype, spec.shape, source.storage.retain());
  if (source !== input) source.dispose();
  return view;
}

function runExpand(def: OpDef, launch: Launch, inputs: readonly OpInput[]): Tensor[] {
  const results = tidy(() =>
    withInterpreter(
      null,
      () =>
        withRecorders([], () =>
          withScope({ device: launch.device.name }, () =>
            def.expand!(
              inputs.map((x) => (x instanceof Tensor ? x : x as unknown as Tensor)),
              launch.attrs,
            ).slice())),
    )
  );
  // An expansion may hand an input back; the result must be a handle of its own.
  return results.map((r) =>
    r as unknown instanceof NdArray
      ? constantTensor(r as unknown as NdArray, launch.device)
      : inputs.includes(r)
      ? new EagerTensor(
        r.dtype,
        (r as EagerTensor).staticShape,
        (r as EagerTensor).storage.retain(),
      )
      : r
  );
}

function specOf(x: OpInput): ConcreteSpec {
  const shape = x instanceof Tensor ? x.staticShape : x.shape;
  if (!isConcrete(shape)) throw new InternalError(`Cannot run on ${x}: its shape is not known`);
  return { dtype: x.dtype, shape };
}

/** Values of the op's host inputs: literals as they are, tensors read back. */
function hostValues(def: OpDef, inputs: readonly OpInput[]): (NdArray | undefined)[] {
  if (!def.hostInputs) return NO_HOSTS[inputs.length] ??= inputs.map(() => undefined);
  return inputs.map((x, i) => {
    if (!def.signature.isHostInput[argOfInput(def, i, inputs.length)]) return undefined;
    return x instanceof NdArray ? x : (x as EagerTensor).ndarraySync();
  });
}
const NO_HOSTS: (undefined[] | undefined)[] = [];

function launchKey(
  def: OpDef,
  device: Device,
  inputs: readonly OpInput[],
  hosts: readonly (NdArray | undefined)[],
  attrs: Attrs,
): string {
  let key = `${def.id}${device.type}`;
  for (let i = 0; i < inputs.length; i++) {
    key += `|${specIdOf(inputs[i])}`;
    const host = hosts[i];
    if (host !== undefined) key += `=${host.data}`;
  }
  return key + attrsKey(attrs);
}

/** A text that is equal for equal attributes. */
export function attrsKey(attrs: Attrs): string {
  let key = "";
  for (const name in attrs) {
    const v = attrs[name];
    key += typeof v === "object" || typeof v === "function"
      ? `;${name}=${objectKey(v)}`
      : `;${name}=${v}`;
  }
  return key;
}

let nextObject = 1;
const objectNumbers = new WeakMap<object, number>();
function objectKey(v: object | null): string {
  if (v === null) return "null";
  if (Array.isArray(v)) {
    return `[${
      v.map((e) => (typeof e === "object" || typeof e === "function" ? objectKey(e) : e))
    }]`;
  }
  let n = objectNumbers.get(v);
  if (n === undefined) objectNumbers.set(v, n = nextObject++);
  return `#${n}`;
}

/** The input as a tensor on this device; a new tensor, owned by the caller, where it was elsewhere. */
export function onDevice(input: OpInput, device: Device): EagerTensor {
  if (input instanceof NdArray) return constantTensor(input, device);
  const t = asEager(input);
  if (t.storage.device === device) return t;
  return constantTensor(t.ndarraySync(), device);
}

/** Uploads a literal. */
export function constantTensor(value: NdArray, device: Device): EagerTensor {
  const home = device.supports(value.dtype) ? device : cpuDevice();
  return new EagerTensor(
    value.dtype,
    value.shape,
    new Storage(home, home.upload(value), { dtype: value.dtype, shape: value.shape }),
  );
}

/** Runs ops that the host executes itself (scripts, control flow); set by those who define them. */
export type HostRunner = (inputs: readonly OpInput[], attrs: Attrs) => Tensor[];
const hostRunners = new Map<string, HostRunner>();

/** Says how an op with `host: true` runs eagerly. */
export function setHostRunner(def: OpDef, runner: HostRunner): void {
  hostRunners.set(def.name, runner);
}

function hostRunner(def: OpDef): HostRunner {
  const r = hostRunners.get(def.name);
  if (!r) {
    throw new UnimplementedError(`Cannot run ${def.name} eagerly: it has meaning only in a graph`, {
      op: def.name,
    });
  }
  return r;
}

export { apply };
