/** The eager interpreter: chooses a device, finds or prepares the kernel, and runs it. */
import {
  type Interpreter,
  type OpInput,
  withInterpreter,
  withRecorders,
} from "../../core/apply.ts";
import { fusionOf } from "../../core/fusion.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { canRead, type Device, type DeviceBuffer, type PreparedKernel } from "../../core/device.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import type { DType } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import { currentScope, Dynamic, withScope } from "../../core/scope_context.ts";
import { UnimplementedError } from "../../core/errors.ts";
import { traced, tracer } from "../../core/trace.ts";
import { throughFloat32 } from "../../ops/through_float32.ts";
import { asEager, EagerTensor, tidy } from "./tensor.ts";
import { type Launch, ofOp } from "./launch.ts";
import { currentReads } from "./read_ahead.ts";
import { findLaunch, specOf } from "./launch_cache.ts";
import { Storage } from "./storage.ts";
import {
  cpuDevice,
  defaultDevice,
  findDevice,
  forgetPlans,
  gpuDevice,
} from "../devices/devices.ts";

/** Eager execution. */
export const EAGER: Interpreter = {
  symbolic: false,
  apply: executeEagerly,
  constant: (value, dtype) => constantTensor(value, targetDevice(), dtype),
  tidy: (fn) => tidy(fn),
};

/** Returns the requested device, else the GPU if an input lives there, else the default. */
function targetDevice(inputs: readonly OpInput[] = []): Device {
  const asked = currentScope().device;
  if (asked) return reachable(findDevice(asked), inputs);
  if (gpuDevice() === null) return defaultDevice();
  for (const x of inputs) {
    if (x instanceof NdArray) continue;
    if (x instanceof EagerTensor && x.storage.device.type === "GPU") return x.storage.device;
  }
  return defaultDevice();
}

/** Returns the device, or the GPU if it holds an input that cannot be read synchronously. */
function reachable(device: Device, inputs: readonly OpInput[]): Device {
  if (device.type === "GPU" || gpuDevice() === null) return device;
  const reads = currentReads();
  if (reads?.mayRepeat) return device;
  for (const x of inputs) {
    if (!(x instanceof EagerTensor) || x.storage.device === device) continue;
    if (!canRead(x.storage.device) && !reads?.has(x)) return x.storage.device;
  }
  return device;
}

/**
 * Inspects the outputs of each op as it is computed, unfused and unfolded; throws on a finding, or rejects if it must
 * wait. `waits` is false for eager code, which does not wait for the inspection.
 */
export type OutputWatch = (
  application: {
    readonly def: OpDef;
    readonly inputs: readonly OpInput[];
    readonly outputs: readonly (OpInput | null)[];
  },
  waits: boolean,
) => void | Promise<void>;

const watch = new Dynamic<OutputWatch | null>(null);

/** The watch in force; null for none. */
export function outputWatch(): OutputWatch | null {
  return watch.current;
}

/** Sets the watch. Plans made for another one are made anew. */
export function setOutputWatch(to: OutputWatch | null): void {
  watch.current = to;
  forgetPlans();
}

/** Passes the results of a plan's step to the watch, and frees them if it throws. `values` are those of all slots. */
export function watched(
  step: { readonly node: { readonly def: OpDef }; readonly inputs: readonly number[] },
  values: readonly unknown[],
  results: HostResults | Promise<HostResults>,
): HostResults | Promise<HostResults> {
  if (results instanceof Promise) return results.then((r) => watched(step, values, r));
  const free = (error: unknown): never => {
    for (const r of results) if (r instanceof EagerTensor) r.dispose();
    throw error;
  };
  try {
    const inputs = step.inputs.map((slot) => values[slot] as OpInput);
    const done = watch.current?.({ def: step.node.def, inputs, outputs: results }, true);
    return done ? done.then(() => results, free) : results;
  } catch (error) {
    return free(error);
  }
}

/** Runs `fn` without a watch. */
export function unwatched<R>(fn: () => R): R {
  return watch.within(null, fn);
}

/** Executes one op. A kernel's error is thrown as an `OpError` that names the op and its inputs. */
function executeEagerly(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[] {
  const run = watch.current === null ? executeNow : executeWatched;
  const outputs = run(def, inputs, attrs);
  const reads = currentReads();
  if (reads !== null && def.effects !== "none" && !def.host?.repeatable) {
    reads.noteEffect(def.name);
  }
  return outputs;
}

function executeWatched(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[] {
  // For an op made of other ops, the watch sees the whole.
  const outputs = def.host
    ? executeNow(def, inputs, attrs)
    : unwatched(() => executeNow(def, inputs, attrs));
  void watch.current!({ def, inputs, outputs }, false);
  return outputs;
}

function executeNow(def: OpDef, inputs: readonly OpInput[], attrs: Attrs): Tensor[] {
  if (!def.host) return executeOn(def, inputs, attrs, { device: targetDevice(inputs) });
  for (const x of inputs) {
    if (!(x instanceof NdArray) && (x.isSymbolic || x.isDisposed)) asEager(x);
  }
  if (def.host.eager !== undefined) return def.host.eager(inputs, attrs);
  throw new UnimplementedError(`Cannot run ${def.name} eagerly: it has meaning only in a graph`, {
    op: def.name,
  });
}

/** An input that nothing reads after the op that is executed, so that its result may be put into that memory. */
const spent = new Dynamic<EagerTensor | null>(null);

/**
 * Executes an op on a device, or on the CPU where that device has no kernel for it. An input that is `spent` is the op's: it may be
 * disposed afterwards. Plans give the meaning of fusions.
 */
export function executeOn(
  def: OpDef,
  inputs: readonly OpInput[],
  attrs: Attrs,
  options: {
    readonly device: Device;
    readonly spent?: EagerTensor | null;
    readonly expandFusion?: FusionExpansion;
  },
): Tensor[] {
  const { device, spent: last = null, expandFusion } = options;
  const launch = findLaunch(def, device, inputs, attrs);
  const run = tracer !== null && launch.device.type === "CPU" ? runTraced : runLaunch;
  if (last === null) return run(def, launch, inputs, expandFusion);
  return spent.within(last, () => run(def, launch, inputs, expandFusion));
}

/** Runs a launch, and reports its kernel: what has none is made of ops that report theirs. */
function runTraced(...args: Parameters<typeof runLaunch>): Tensor[] {
  const [{ name }, { device, kernel, outputBytes }] = args;
  if (kernel === null) return runLaunch(...args);
  const bytes = outputBytes.reduce((sum, n) => sum + n, 0);
  const details = { op: name, kernel: kernel.name, device: device.type, bytes };
  return traced({ name, category: "op", details }, () => runLaunch(...args));
}

function runLaunch(
  def: OpDef,
  launch: Launch,
  inputs: readonly OpInput[],
  expandFusion: FusionExpansion | undefined,
): Tensor[] {
  const { device, kernel, outputs } = launch;
  if (kernel === null) {
    const isView = def.meaning.kind === "view" && inputs.length > 0;
    return isView ? [viewOf(inputs[0], launch)] : runExpand(def, launch, inputs, expandFusion);
  }
  let moved: EagerTensor[] | undefined, uploaded: number[] | undefined;
  const buffers: unknown[] = new Array(inputs.length);
  try {
    for (let i = 0; i < inputs.length; i++) {
      if (launch.hosts[i] !== undefined) {
        buffers[i] = undefined;
        continue;
      }
      const input = inputs[i];
      if (input instanceof NdArray) {
        if (kernel.dynamic) {
          buffers[i] = input;
          continue;
        }
        buffers[i] = device.upload(input);
        (uploaded ??= []).push(i);
        continue;
      }
      // findLaunch() has refused other tensors.
      const { storage } = input as EagerTensor;
      if (storage.device === device) {
        buffers[i] = storage.buffer;
        continue;
      }
      const t = onDevice(input, device);
      (moved ??= []).push(t);
      buffers[i] = t.storage.buffer;
    }
    if (kernel.dynamic) return kernel.dynamic(buffers).map((a) => constantTensor(a, device));
    const made = kernel.onto
      ? runOnto(launch, kernel.onto, { inputs, buffers })
      : kernel.run(buffers);
    const results: Tensor[] = new Array(made.length);
    for (let i = 0; i < made.length; i++) {
      const spec = outputs[i];
      const storage = new Storage(device, made[i], spec, launch.outputBytes[i]);
      const t = new EagerTensor(spec.dtype, spec.shape, storage);
      t.specId = launch.outputIds[i];
      results[i] = t;
    }
    return results;
  } catch (e) {
    throw ofOp(e, def, inputs.map(specOf));
  } finally {
    if (moved) { for (const t of moved) t.dispose(); }
    if (uploaded) { for (const i of uploaded) device.free(buffers[i], inputs[i] as NdArray); }
  }
}

/** Runs a kernel in the memory of an input that is spent; in memory of its own where none is. */
function runOnto(
  { device, kernel }: Launch,
  onto: NonNullable<PreparedKernel["onto"]>,
  { inputs, buffers }: {
    readonly inputs: readonly OpInput[];
    readonly buffers: readonly (DeviceBuffer | undefined)[];
  },
): DeviceBuffer[] {
  const t = spent.current;
  if (
    t === null || inputs[onto.input] !== t || t.storage.device !== device || !t.isMovable ||
    inputs.indexOf(t) !== inputs.lastIndexOf(t)
  ) return kernel!.run(buffers);
  onto.run(buffers);
  return [t.surrender()];
}

function viewOf(input: OpInput, { device, outputs: [spec], outputIds: [id] }: Launch): EagerTensor {
  const uploaded = input instanceof NdArray ? constantTensor(input, device) : null;
  // findLaunch() has refused other tensors.
  const { storage } = uploaded ?? input as EagerTensor;
  const view = new EagerTensor(spec.dtype, spec.shape, storage.retain());
  view.specId = id;
  uploaded?.dispose();
  return view;
}

/** The ops that a node with a fusion stands for. */
type FusionExpansion = (def: OpDef, inputs: readonly OpInput[], attrs: Attrs) => Tensor[];

function runExpand(
  def: OpDef,
  launch: Launch,
  inputs: readonly OpInput[],
  expandFusion: FusionExpansion | undefined,
): Tensor[] {
  const dtypes = launch.outputs.map((o) => o.dtype);
  const expansion = fusionOf(launch.attrs)
    ? expandFusion!.bind(null, def)
    : (given: readonly OpInput[], attrs: Attrs) =>
      throughFloat32(def, given, attrs, dtypes) ?? def.expand!(given, attrs);
  const results = tidy(() =>
    withInterpreter(
      null,
      () =>
        withRecorders([], () =>
          withScope({ device: launch.device.name }, () =>
            expansion(inputs, launch.attrs).slice())),
    )
  );
  // An expansion may return an input; the result must be a handle of its own.
  return results.map((r) => inputs.includes(r) ? (r as EagerTensor).alias() : r);
}

/** Returns the input as a tensor on this device; a new tensor, owned by the caller, if it was elsewhere. */
export function onDevice(input: OpInput, device: Device): EagerTensor {
  if (input instanceof NdArray) return constantTensor(input, device);
  const t = asEager(input);
  if (t.storage.device === device) return t;
  return constantTensor(t.ndarraySync(), device);
}

/** Uploads a literal, converted to `dtype` if given. */
export function constantTensor(
  value: NdArray,
  device: Device,
  dtype: DType = value.dtype,
): EagerTensor {
  const home = device.supports(dtype) ? device : cpuDevice();
  const { shape } = value;
  const storage = new Storage(home, home.upload(value, dtype), { dtype, shape });
  return new EagerTensor(dtype, shape, storage);
}
