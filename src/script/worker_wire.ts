/**
 * What travels between a script op and its worker: values with host arrays in them, and errors.
 */
import { asDType, type DType, type HostData } from "../core/dtype.ts";
import * as errors from "../core/errors.ts";
import { isPlainObject } from "../core/nest.ts";
import { NdArray } from "../core/nd_array.ts";

/** Which body a worker runs: the source of a function, or an export of a module. */
export type WorkerBody = { readonly source: string } | {
  readonly module: string;
  readonly name: string;
};

/** A call as it is sent. */
export interface WorkerCall {
  /** The body. */
  readonly body: WorkerBody;
  /** Packed arguments. */
  readonly args: readonly unknown[];
  /** Node name. */
  readonly node: string;
  /** Number of the run. */
  readonly run: number;
  /** The seed of the call. */
  readonly seed: bigint;
  /** The dtype of all outputs; null where they differ. */
  readonly dtype: DType | null;
}

/** What comes back: a packed result, or an error. */
export type WorkerReply = { readonly result: unknown } | { readonly error: WireError };

/** An error as it is sent. */
export interface WireError {
  /** Its name. */
  readonly name: string;
  /** Its text. */
  readonly message: string;
  /** Its stack in the worker. */
  readonly stack: string | undefined;
}

const ARRAY = "weft:array";

/** A value with each host array as a record. Memory that belongs to the value alone is added to `transfer`. */
export function pack(value: unknown, transfer: ArrayBuffer[] | null): unknown {
  if (value instanceof NdArray) {
    const { data } = value;
    if (transfer && ArrayBuffer.isView(data)) {
      const { buffer } = data;
      const whole = buffer instanceof ArrayBuffer && buffer.byteLength === data.byteLength;
      if (whole && !transfer.includes(buffer)) transfer.push(buffer);
    }
    return { [ARRAY]: value.dtype, shape: [...value.shape], data };
  }
  if (Array.isArray(value)) {
    return value.some((v) => typeof v === "object") ? value.map((v) => pack(v, transfer)) : value;
  }
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, pack(v, transfer)]));
}

/** The value that was packed. */
export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.some((v) => typeof v === "object") ? value.map(unpack) : value;
  }
  if (!isPlainObject(value)) return value;
  if (ARRAY in value) {
    return new NdArray(
      asDType(value[ARRAY]) as DType,
      value.shape as number[],
      value.data as HostData,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, unpack(v)]));
}

/** An error, or whatever else was thrown, as it is sent. */
export function packError(thrown: unknown): WireError {
  if (thrown instanceof Error) {
    return { name: thrown.name, message: thrown.message, stack: thrown.stack };
  }
  return { name: "Error", message: String(thrown), stack: undefined };
}

const OWN_CLASSES = errors as unknown as Readonly<Record<string, new (message: string) => Error>>;

/** The error that was sent, of the class its name says. */
export function unpackError({ name, message, stack }: WireError): Error {
  const Class = name === "TypeError"
    ? TypeError
    : name === "RangeError"
    ? RangeError
    : OWN_CLASSES[name] ?? Error;
  const error = new Class(message);
  if (error.name !== name) error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
