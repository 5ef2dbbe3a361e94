/**
 * Messages between a script op and its worker: values with host arrays, and errors. The memory of arrays is transferred
 * rather than copied; the sender loses it.
 */
import { toNdArray } from "../../core/convert.ts";
import { asDType, type DType, type HostData } from "../../core/dtype.ts";
import * as errors from "../../core/errors.ts";
import { isForeignArray } from "../../core/arrays/foreign_array.ts";
import { isPlainObject } from "../../core/nest.ts";
import { NdArray } from "../../core/nd_array.ts";
import { readable, textOf } from "../../core/thrown.ts";
import type { ScriptContext } from "../script.ts";

/** The body for a worker: the source of a function, or an export of a module. */
export type WorkerBody = { readonly source: string } | {
  readonly module: string;
  readonly name: string;
};

/** A call as it is sent, with packed arguments. */
export interface WorkerCall extends Pick<ScriptContext, "node" | "run" | "seed"> {
  /** Number of the call in its worker. */
  readonly id: number;
  readonly body: WorkerBody;
  readonly args: readonly unknown[];
  /** Common dtype of all outputs; null if they differ. */
  readonly dtype: DType | null;
}

/** Messages to a worker: first the shared word for aborts, if possible; then calls and aborts. */
export type WorkerMessage =
  | { readonly aborted: Int32Array | null }
  | { readonly call: WorkerCall }
  | { readonly abort: WireError };

/**
 * Messages from a worker: a packed result, an error, that the call's body listens to its signal, or that the worker
 * ends.
 */
export type WorkerReply =
  | { readonly result: unknown }
  | { readonly error: WireError }
  | { readonly listens: true }
  | { readonly ended: WireError };

/** An error in a message, with its stack in the worker. */
interface WireError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
}

const ARRAY = "weft:array";
const STRINGS = "weft:strings";

/** Smaller arrays are copied rather than transferred. */
const LEAST_HANDED_OVER = 1 << 12;

/**
 * Replaces each host array of a value by a record and adds its memory to `transfer`; a part of a larger memory is
 * copied. Throws `ValueError` for an array whose memory was transferred before.
 */
export function pack(value: unknown, transfer: ArrayBuffer[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof NdArray) {
    const { dtype, data } = value;
    const sent = ArrayBuffer.isView(data)
      ? handOver(data, transfer)
      : dtype === "string"
      ? joinStrings(data as readonly Uint8Array[], transfer)
      : data;
    return { [ARRAY]: dtype, shape: [...value.shape], data: sent };
  }
  if (ArrayBuffer.isView(value)) return handOver(value, transfer);
  if (Array.isArray(value)) {
    return value.some((v) => typeof v === "object") ? value.map((v) => pack(v, transfer)) : value;
  }
  if (isForeignArray(value) && !isPlainObject(value)) return pack(toNdArray(value), transfer);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, pack(v, transfer)]));
}

function handOver(view: ArrayBufferView, transfer: ArrayBuffer[]): ArrayBufferView {
  const { buffer } = view;
  if (buffer instanceof ArrayBuffer) {
    if (buffer.detached) {
      throw new errors.ValueError(
        "Cannot send an array whose memory was handed over before: a body in a worker has no more use of what it returned or was sent back, return a copy of what it keeps",
      );
    }
    const isWhole = buffer.byteLength === view.byteLength;
    if (isWhole && buffer.byteLength < LEAST_HANDED_OVER) return view;
    if (isWhole) {
      if (!transfer.includes(buffer)) transfer.push(buffer);
      return view;
    }
  }
  if (view instanceof DataView) return view;
  // Part of a larger memory, which would be transferred as a whole, or shared memory.
  const copy = (view as Uint8Array).slice();
  if (copy.byteLength >= LEAST_HANDED_OVER) transfer.push(copy.buffer);
  return copy;
}

/** Packs strings in one memory: their bytes, and the end of each. */
function joinStrings(strings: readonly Uint8Array[], transfer: ArrayBuffer[]): unknown {
  const ends = new Float64Array(strings.length);
  let size = 0;
  strings.forEach((s, i) => ends[i] = size += s.length);
  const bytes = new Uint8Array(size);
  strings.forEach((s, i) => bytes.set(s, ends[i] - s.length));
  return { [STRINGS]: handOver(bytes, transfer), ends: handOver(ends, transfer) };
}

function splitStrings(bytes: Uint8Array, ends: Float64Array): Uint8Array[] {
  return Array.from(ends, (end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}

/** Unpacks a value. */
export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.some((v) => typeof v === "object") ? value.map(unpack) : value;
  }
  if (!isPlainObject(value)) return value;
  if (ARRAY in value) {
    const { data } = value;
    const isStrings = isPlainObject(data) && STRINGS in data;
    return new NdArray(
      asDType(value[ARRAY]) as DType,
      value.shape as number[],
      isStrings
        ? splitStrings(data[STRINGS] as Uint8Array, data.ends as Float64Array)
        : data as HostData,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpack(v)]));
}

/** Packs an error, or another thrown value. */
export function packError(thrown: unknown): WireError {
  const error = readable(thrown);
  if (!(error instanceof Error)) return { name: "Error", message: textOf(error), stack: undefined };
  const { name, message, stack } = error;
  return { name, message, stack: typeof stack === "string" ? stack : undefined };
}

const CLASSES = { ...errors, TypeError, RangeError } as unknown as Readonly<
  Record<string, new (message: string) => Error>
>;

/** Unpacks an error as the class of its name. */
export function unpackError({ name, message, stack }: WireError): Error {
  const Class = CLASSES[name] ?? Error;
  const error = new Class(message);
  if (error.name !== name) error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
