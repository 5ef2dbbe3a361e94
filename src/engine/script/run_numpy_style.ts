/** Numpy-style scripts: runs PyFunc in plans and in eager mode. */
import { announce, currentRecorders, type OpInput } from "../core/apply.ts";
import { type Device, urgently } from "../core/device.ts";
import type { HostResults } from "../core/contract/host_op.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import { NdArray } from "../core/nd_array.ts";
import type { PartialShape } from "../core/shape.ts";
import { newTensorId, type Tensor } from "../core/tensor.ts";
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import { FailedPreconditionError } from "../core/errors.ts";
import { isPromise } from "../core/nest.ts";
import { importedSeeds, nextCall, nextEagerCall } from "../ops/random/state.ts";
import { constantTensor } from "../runtime/eager/eager.ts";
import { currentReads } from "../runtime/eager/read_ahead.ts";
import {
  type EagerTensor,
  isEager,
  outsideScopes,
  type Owned,
  withOwner,
} from "../runtime/eager/tensor.ts";
import type { RunCall } from "../runtime/run/run_context.ts";
import { hostCallTotal } from "../runtime/run/metadata.ts";
import { scopeDevice } from "../runtime/devices/devices.ts";
import {
  copyArray,
  copyConstant,
  isLarge,
  releaseValue,
  type RunValue,
} from "../runtime/run/run_value.ts";
import { type Batch, batchOf, batchOfOne, onlyRow, shapesOfCall } from "./batch.ts";
import { type BodyUse, callBody, type CallSite } from "./body.ts";
import { attrsOf } from "./call.ts";
import { freeReturned } from "./returned.ts";
import { hostResult, splitResult } from "./marshal.ts";
import { type Script, unknownToken } from "./script.ts";
import { findScriptOf } from "./imported.ts";

/** Returns the script of a node. Throws `InvalidArgumentError` with TensorFlow's phrase for an unknown token. */
function scriptOf(attrs: Attrs, node?: string): Script {
  const script = findScriptOf(attrs);
  if (!script) throw unknownToken(attrs.token, node);
  return script;
}

/** A call of a script, as it begins. */
export interface Beginning {
  readonly script: Script;
  /** Static shapes of its results. */
  readonly shapes: readonly PartialShape[];
  readonly site: CallSite;
  /** The batch that it is; null for a script that takes none. */
  readonly batch: Batch | null;
}

/** The way of a call's results from the body to their readers. */
interface Destination {
  /** True where results are copied at once, so that they may be the body's own. */
  readonly shared?: boolean;
  /** Writes a result directly to its destination, without a copy; null where the run needs an array of its own. */
  readonly sinks?: readonly (Device | null)[];
  /** The results that are read; default all. */
  readonly wanted?: readonly boolean[];
}

function sharesMemory(array: NdArray, others: readonly RunValue[]): boolean {
  const { data } = array;
  return ArrayBuffer.isView(data) &&
    others.some((other) =>
      other instanceof NdArray && ArrayBuffer.isView(other.data) &&
      other.data.buffer === data.buffer
    );
}

/** A call of a numpy-style body: one object in place of a callback for each of its parts, as thousands of calls a run make. */
class NumpyStyleCall implements BodyUse<RunValue[]> {
  readonly script: Script;
  readonly values: readonly NdArray[];
  readonly site: CallSite;
  readonly #shapes: readonly PartialShape[];
  readonly #batch: Batch | null;
  readonly #to: Destination;
  /** Newer tensors belong to the call. */
  readonly #first = newTensorId();

  constructor(
    { script, shapes, site, batch }: Beginning,
    inputs: readonly NdArray[],
    to: Destination,
  ) {
    this.script = script;
    this.values = batch?.isAlone ? inputs.map(batchOfOne) : inputs;
    this.site = site;
    this.#shapes = shapes;
    this.#batch = batch;
    this.#to = to;
  }

  use(result: unknown): RunValue[] {
    const taken: RunValue[] = [];
    try {
      const parts = splitResult(this.script, result);
      for (let i = 0; i < parts.length; i++) taken.push(this.#take(parts[i], i, taken));
      return taken;
    } catch (e) {
      taken.forEach(releaseValue);
      throw e;
    } finally {
      freeReturned(result, this.#first);
    }
  }

  #take(value: unknown, i: number, taken: readonly RunValue[]): RunValue {
    const { shared = false, sinks, wanted } = this.#to, script = this.script, batch = this.#batch;
    const sink = isLarge(value) ? sinks?.[i] ?? null : null, isRead = wanted?.[i] !== false;
    const options = { shape: this.#shapes[i], shared: shared || sink !== null || !isRead, batch };
    const whole = hostResult(script, i, value, options);
    const own = batch?.isAlone ? onlyRow(whole) : whole;
    // A worker sends memory that its body returned twice once.
    const array = script.worker && sharesMemory(own, taken) ? copyArray(own) : own;
    return sink === null ? array : outsideScopes(() => constantTensor(array, sink));
  }

  endLate(result: unknown): void {
    freeReturned(result, this.#first);
  }
}

/** Calls a numpy-style body and frees its tensors, returned ones included. */
function callNumpyStyle(call: NumpyStyleCall): RunValue[] | Promise<RunValue[]> {
  const owned: Owned[] = [];
  let out: RunValue[] | Promise<RunValue[]> | undefined;
  try {
    out = withOwner(owned, () => callBody(call));
  } finally {
    if (owned.length > 0 && !(out instanceof Promise)) free(owned);
  }
  return out instanceof Promise ? freeAfter(out, owned) : out;
}

function freeAfter<R>(out: Promise<R>, owned: readonly Owned[]): Promise<R> {
  return owned.length > 0 ? out.finally(() => free(owned)) : out;
}

function free(owned: readonly Owned[]): void {
  for (const t of owned) {
    if (isEager(t) && t.kept) t.outlive();
    else t.dispose();
  }
}

/** Runs a node with a numpy-style body. */
export function runNumpyStyle(call: RunCall): HostResults | Promise<HostResults> {
  const beginning = beginCall(call), { inputs, owners } = call, values: NdArray[] = [];
  // A body may write into its arguments: each is unshared, or a copy. The bytes of strings may be shared by tensors.
  for (let i = 0; i < inputs.length; i++) {
    const x = inputs[i] as NdArray, owner = owners[i];
    if (owner === "constant") values.push(copyConstant(x));
    else values.push(owner === "callee" && x.dtype !== "string" ? x : copyArray(x));
  }
  return callNumpyStyle(new NumpyStyleCall(beginning, values, call));
}

/** True for a node that may be called for many rows at once. */
export function isBatchable(attrs: Attrs): boolean {
  return attrs._batched !== true && findScriptOf(attrs)?.vectorized === true;
}

/** Counts a plan's call; returns its script, its place and the shapes of its results. */
export function beginCall(call: RunCall): Beginning {
  const { attrs, node, source, context, draws, inputs } = call, script = scriptOf(attrs, node);
  const batch = batchOf(script, attrs, inputs);
  const { token, seeds } = script, shapes = shapesOfCall(script, inputs, batch);
  context.hostCalls++;
  hostCallTotal.count++;
  const number = nextCall(seeds ?? importedSeeds(token), source, draws);
  const site = { op: call.def.name, node, token, source, context, call: number };
  return { script, shapes, site, batch };
}

/**
 * Reads inputs to the host, those of one device in one copy; null if that must be awaited. The caller owns the arrays.
 */
function readInputsSync(inputs: readonly OpInput[]): NdArray[] | null {
  const remote = remoteInputs(inputs);
  if (remote.length === 0) return withRead(inputs, []);
  const { device } = remote[0].storage;
  device.check();
  const read = device.readSync(remote.map(readOf)) ?? readAhead(remote);
  return read && withRead(inputs, read);
}

/** Runs {@linkcode readInputsSync} for a caller that cannot wait. */
function readInputsLate(inputs: readonly OpInput[]): NdArray[] | null {
  const values = urgently(() => readInputsSync(inputs));
  if (values !== null) currentReads()?.readLate(remoteInputs(inputs));
  return values;
}

/**
 * Returns the copies that the surrounding body read ahead from a device that must be awaited; null if any is missing.
 */
function readAhead(tensors: readonly EagerTensor[]): NdArray[] | null {
  const reads = currentReads();
  const copies = tensors.map((t) => {
    const data = reads && reads.read(t);
    return data && new NdArray(t.dtype, t.staticShape, data);
  });
  return copies.every((c) => c !== null) ? copies : null;
}

/** Reads inputs to the host in one copy and awaits the device. The caller owns the arrays. */
async function readInputs(inputs: readonly OpInput[]): Promise<NdArray[]> {
  const now = readInputsSync(inputs);
  if (now) return now;
  const remote = remoteInputs(inputs);
  return withRead(inputs, await remote[0].storage.device.read(remote.map(readOf)));
}

function isRemote(x: OpInput): x is EagerTensor {
  return !(x instanceof NdArray) && isEager(x) && x.storage.device.type === "GPU";
}

/** The inputs that lie on the GPU. */
export function remoteInputs(inputs: readonly OpInput[]): EagerTensor[] {
  const remote: EagerTensor[] = [];
  for (const x of inputs) if (isRemote(x)) remote.push(x);
  return remote;
}

function withRead(inputs: readonly OpInput[], read: readonly NdArray[]): NdArray[] {
  const values: NdArray[] = [];
  for (let i = 0, k = 0; i < inputs.length; i++) {
    const x = inputs[i];
    if (x instanceof NdArray) values.push(copyArray(x));
    else values.push(isRemote(x) ? read[k++] : ownArray(x.ndarraySync()));
  }
  return values;
}

/** A read of a host tensor is a copy already, except the bytes of strings. */
function ownArray(a: NdArray): NdArray {
  return a.dtype === "string" ? copyArray(a) : a;
}

function readOf(t: EagerTensor): { buffer: unknown; spec: ConcreteSpec } {
  return { buffer: t.storage.buffer, spec: { dtype: t.dtype, shape: t.staticShape } };
}

/** Runs an eager call of a numpy-style body, which must not await. */
export function runEagerly(op: string): (inputs: readonly OpInput[], attrs: Attrs) => Tensor[] {
  return (inputs, attrs) => {
    const script = scriptOf(attrs);
    if (script.worker) throw mustAwait(op, script, "its body runs in a worker");
    const values = readInputsSync(inputs) ?? readInputsLate(inputs);
    if (values === null) {
      const why = "its inputs are on a device that can only be read asynchronously";
      throw mustAwait(op, script, why);
    }
    hostCallTotal.count++;
    const device = scopeDevice();
    const batch = batchOf(script, attrs, inputs), shapes = shapesOfCall(script, inputs, batch);
    const site = { op, token: script.token, context: null, call: nextEagerCall() };
    const beginning = { script, shapes, site, batch };
    const out = callNumpyStyle(new NumpyStyleCall(beginning, values, AT_ONCE));
    if (!isPromise(out)) return tensorsOf(out as NdArray[], device);
    (out as Promise<RunValue[]>).catch(() => {});
    throw mustAwait(op, script, "its body is async");
  };
}

const AT_ONCE: Destination = { shared: true };

function tensorsOf(arrays: readonly NdArray[], device: Device): Tensor[] {
  const tensors: Tensor[] = [];
  for (let i = 0; i < arrays.length; i++) tensors.push(constantTensor(arrays[i], device));
  return tensors;
}

function mustAwait(op: string, script: Script, why: string): FailedPreconditionError {
  return new FailedPreconditionError(
    `Cannot run ${op} ${script.token} synchronously: ${why}, await numpyFunctionAsync instead`,
    { op },
  );
}

/** Runs a numpy-style script in eager mode and awaits its inputs and body. The tapes active at the call record it. */
export async function runNumpyStyleAsync(
  script: Script,
  inputs: readonly OpInput[],
  def: OpDef,
): Promise<Tensor[]> {
  const recorders = currentRecorders();
  const device = scopeDevice();
  const call = nextEagerCall();
  const values = await readInputs(inputs);
  hostCallTotal.count++;
  const attrs = attrsOf(script, inputs);
  const batch = batchOf(script, attrs, inputs), shapes = shapesOfCall(script, inputs, batch);
  const site = { op: def.name, token: script.token, context: null, call };
  const arrays = await callNumpyStyle(
    new NumpyStyleCall({ script, shapes, site, batch }, values, {}),
  );
  const outputs = tensorsOf(arrays as NdArray[], device);
  announce({ def, inputs, outputs, attrs }, recorders);
  return outputs;
}
