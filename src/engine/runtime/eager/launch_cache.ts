/** Finds the launch of an application: by comparison with recent ones of the same op, else by a text key. */
import { objectNumbers } from "../../core/collections/counter.ts";
import { NO_ATTRS, type OpInput } from "../../core/apply.ts";
import type { Device } from "../../core/device.ts";
import { InternalError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { argOfInput, type Attrs, type OpDef } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import { isConcrete, type Shape } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { onKernelsReplaced } from "../devices/devices.ts";
import { type Launch, prepareLaunch } from "./launch.ts";
import { specId } from "./spec_id.ts";
import { asEager, type EagerTensor } from "./tensor.ts";

/** A launch, and the application that it serves. */
interface Entry {
  readonly specIds: readonly number[];
  /** Copies of host inputs, at their places. */
  readonly hosts: readonly (HostValue | undefined)[];
  /** Copies of the attributes. */
  readonly attrs: Readonly<Record<string, unknown>>;
  readonly launch: Launch;
}
type NumberArray = ArrayLike<number | bigint>;
interface HostValue {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: NumberArray;
}

/** Recent applications by op and device, the most used ones first. */
const recent: (Entry[] | undefined)[] = [];
const MOST_RECENT = 16;
/** Longer host inputs and attributes are compared as text keys only. */
const MOST_VALUES = 32;

const launches = new Map<string, Launch>();
/** Number of look-ups by text key, after no recent application matched. */
export const lookups = { byText: 0 };
const MOST_LAUNCHES = 8192;

onKernelsReplaced(() => {
  recent.length = 0;
  launches.clear();
});

/**
 * Returns the launch of an op on a device for these inputs and attributes. Throws the errors of the preparation, `RuntimeError` for a
 * disposed tensor and `TypeError` for a symbolic one.
 */
export function findLaunch(
  def: OpDef,
  device: Device,
  inputs: readonly OpInput[],
  attrs: Attrs,
): Launch {
  const slot = 2 * def.id + (device.type === "GPU" ? 1 : 0);
  const entries = recent[slot] ??= [];
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i];
    if (!serves(entry, inputs, attrs)) continue;
    if (i > 0) {
      // Move by one step: applications that alternate keep their places.
      entries[i] = entries[i - 1];
      entries[i - 1] = entry;
    }
    return entry.launch;
  }
  // No entry has the spec id of such a tensor.
  for (const x of inputs) if (!(x instanceof NdArray)) asEager(x);
  const hosts = hostValues(def, inputs), specIds = inputs.map(specIdOf);
  lookups.byText++;
  const key = launchKey(def, device, specIds, hosts) + attrsKey(attrs);
  let launch = launches.get(key);
  if (launch === undefined) {
    launch = prepareLaunch(def, { specs: inputs.map(specOf), hosts, attrs, device });
    if (launches.size >= MOST_LAUNCHES) launches.clear();
    launches.set(key, launch);
  }
  const entry = entryOf(inputs, specIds, hosts, attrs, launch);
  if (entry !== null) {
    if (entries.length === MOST_RECENT) entries.pop();
    entries.push(entry);
  }
  return launch;
}

function serves(
  { specIds, hosts, attrs }: Entry,
  inputs: readonly OpInput[],
  given: Attrs,
): boolean {
  const n = inputs.length;
  if (n !== specIds.length) return false;
  for (let i = 0; i < n; i++) {
    const x = inputs[i], host = hosts[i];
    if (host === undefined ? specIdOf(x) !== specIds[i] : !isHostValue(x, host)) return false;
  }
  return sameAttrs(attrs, given);
}

/** Compares element by element: the arrays are short, and a number for the shape would need a text key. */
function isHostValue(x: OpInput, { dtype, shape, data }: HostValue): boolean {
  return x instanceof NdArray && x.dtype === dtype && sameValues(x.shape, shape) &&
    sameValues(x.data as NumberArray, data);
}

function sameValues(a: NumberArray, b: NumberArray): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false;
  return true;
}

function sameAttrs(a: Attrs, b: Attrs): boolean {
  if (a === b) return true;
  let more = 0;
  for (const name in a) {
    const x = a[name], y = b[name];
    // NaN equals itself.
    if (!Object.is(x, y) && !(Array.isArray(x) && Array.isArray(y) && sameValues(x, y))) {
      return false;
    }
    more++;
  }
  for (const _ in b) more--;
  return more === 0;
}

/** Makes an entry to compare with; null for attributes other than numbers and names. */
function entryOf(
  inputs: readonly OpInput[],
  specIds: readonly number[],
  hosts: readonly (NdArray | undefined)[],
  attrs: Attrs,
  launch: Launch,
): Entry | null {
  const values: (HostValue | undefined)[] = [];
  let copies: Record<string, unknown> = NO_ATTRS;
  for (const [i, host] of hosts.entries()) {
    if (host !== undefined && (!(inputs[i] instanceof NdArray) || !isComparable(host.data))) {
      return null;
    }
    values.push(
      host && { dtype: host.dtype, shape: [...host.shape], data: host.data.slice() as NumberArray },
    );
  }
  for (const name in attrs) {
    const value = attrs[name];
    const isObject = typeof value === "object" && value !== null;
    if (isObject && !(Array.isArray(value) && isComparable(value))) return null;
    if (copies === NO_ATTRS) copies = {};
    copies[name] = Array.isArray(value) && !Object.isFrozen(value) ? value.slice() : value;
  }
  return { specIds, hosts: values, attrs: copies, launch };
}

function isComparable(values: ArrayLike<unknown>): boolean {
  if (values.length > MOST_VALUES) return false;
  for (let i = 0; i < values.length; i++) {
    if (typeof values[i] === "object" || typeof values[i] === "function") return false;
  }
  return true;
}

/** Makes a text that is equal for equal applications, apart from their attributes. */
function launchKey(
  def: OpDef,
  device: Device,
  specIds: readonly number[],
  hosts: readonly (NdArray | undefined)[],
): string {
  const inputs = specIds.map((id, i) =>
    hosts[i] === undefined ? `|${id}` : `|${id}=${hosts[i].data}`
  );
  return `${def.id}${device.type}${inputs.join("")}`;
}

function attrsKey(attrs: Attrs): string {
  let key = "";
  for (const name in attrs) key += `;${name}=${valueKey(attrs[name])}`;
  return key;
}

const numberOf = objectNumbers();

function valueKey(v: unknown): string {
  // The length keeps a text apart from one that contains the separator.
  if (typeof v === "string") return `${v.length}:${v}`;
  if (Object.is(v, -0)) return "-0";
  if (v === null || (typeof v !== "object" && typeof v !== "function")) return String(v);
  if (Array.isArray(v)) return `[${v.map(valueKey)}]`;
  return `#${numberOf(v)}`;
}

function specIdOf(x: OpInput): number {
  return x instanceof NdArray ? specId(x.dtype, x.shape) : (x as EagerTensor).specId;
}

/** Returns the spec of an input. */
export function specOf(x: OpInput): ConcreteSpec {
  const shape = x instanceof NdArray ? x.shape : x.staticShape;
  if (!isConcrete(shape)) throw new InternalError(`Cannot run on ${x}: its shape is not known`);
  return { dtype: x.dtype, shape };
}

/** Returns the values of the op's host inputs: literals as they are, tensors read back. */
function hostValues(def: OpDef, inputs: readonly OpInput[]): (NdArray | undefined)[] {
  if (!def.hostInputs) return inputs.map(() => undefined);
  return inputs.map((x, i) => {
    if (!def.signature.isHostInput[argOfInput(def, i, inputs.length)]) return undefined;
    return x instanceof NdArray ? x : (x as EagerTensor).ndarraySync();
  });
}
