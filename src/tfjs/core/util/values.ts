/** `tf.util`: kinds of values, texts, time and fetching. */
import { decodeString as decodeUtf8 } from "../../../engine/core/text.ts";
import type { DataType } from "../types.ts";
import { env } from "../environment.ts";
import { isTypedArray as isOurs } from "../platform.ts";

/** True for a text. */
export function isString(value: unknown): value is string {
  return typeof value === "string" || value instanceof String;
}
/** True for a boolean. */
export function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
/** True for a number. */
export function isNumber(value: unknown): boolean {
  return typeof value === "number";
}
/** True for an integer. */
export function isInt(a: number): boolean {
  return a % 1 === 0;
}
/** True for a function. */
export function isFunction(f: unknown): boolean {
  return typeof f === "function";
}
/** True for a promise. */
export function isPromise(object: unknown): object is Promise<unknown> {
  return typeof (object as { then?: unknown } | null | undefined)?.then === "function";
}
/** True for a typed array that tensors are made of. */
export function isTypedArray(
  a: unknown,
): a is Float32Array | Int32Array | Uint8Array | Uint8ClampedArray {
  // Platforms that programs set may lack it.
  const { platform } = env();
  return platform.isTypedArray ? platform.isTypedArray(a) : isOurs(a);
}
/** True for an element type of TensorFlow.js. */
export function isValidDtype(dtype: unknown): dtype is DataType {
  return ["bool", "complex64", "float32", "int32", "string"].includes(dtype as string);
}

/** Returns the default element type of values. */
export function inferDtype(values: unknown): DataType {
  let first = values;
  while (Array.isArray(first)) first = first[0];
  if (first instanceof Float32Array) return "float32";
  if (
    first instanceof Int32Array || first instanceof Uint8Array || first instanceof Uint8ClampedArray
  ) return "int32";
  if (isString(first)) return "string";
  return isBoolean(first) ? "bool" : "float32";
}

/** Returns milliseconds since a fixed moment. */
export function now(): number {
  return env().platform.now();
}

/** Fetches a resource by the platform. */
export function fetch(path: string, requestInits?: RequestInit): Promise<Response> {
  return env().platform.fetch(path, requestInits);
}

/** Encodes a text. */
export function encodeString(s: string, encoding = "utf-8"): Uint8Array {
  return env().platform.encode(s, encoding || "utf-8");
}

/** Decodes a text. */
export function decodeString(bytes: Uint8Array, encoding = "utf-8"): string {
  return env().platform.decode(bytes, encoding || "utf-8");
}

/** Decodes texts. */
export function fromUint8ToStringArray(vals: readonly Uint8Array[]): string[] {
  return vals.map((bytes) => decodeUtf8(bytes));
}

/** Encodes texts. */
export function fromStringArrayToUint8(strings: readonly string[]): Uint8Array[] {
  return strings.map((text) => encodeString(text));
}
