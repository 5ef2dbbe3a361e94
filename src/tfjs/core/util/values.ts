/**
 * `tf.util`: what kind of value something is, texts, time and fetching.
 */
import { decodeString as decodeUtf8 } from "../../../engine/core/text.ts";
import type { DataType } from "../types.ts";
import { env } from "../environment.ts";
import { isTypedArray as isOurs } from "../platform.ts";

/** Whether a value is a text. */
export function isString(value: unknown): value is string {
  return typeof value === "string" || value instanceof String;
}
/** Whether a value is a truth value. */
export function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
/** Whether a value is a number. */
export function isNumber(value: unknown): boolean {
  return typeof value === "number";
}
/** Whether a number is an integer. */
export function isInt(a: number): boolean {
  return a % 1 === 0;
}
/** Whether a value can be called. */
export function isFunction(f: unknown): boolean {
  return typeof f === "function";
}
/** Whether a value is a promise. */
export function isPromise(object: unknown): object is Promise<unknown> {
  return typeof (object as { then?: unknown } | null | undefined)?.then === "function";
}
/** Whether a value is a typed array that tensors are made of. */
export function isTypedArray(
  a: unknown,
): a is Float32Array | Int32Array | Uint8Array | Uint8ClampedArray {
  // Platforms that programs set may lack it.
  const { platform } = env();
  return platform.isTypedArray ? platform.isTypedArray(a) : isOurs(a);
}
/** Whether there is such an element type in TensorFlow.js. */
export function isValidDtype(dtype: unknown): dtype is DataType {
  return ["bool", "complex64", "float32", "int32", "string"].includes(dtype as string);
}

/** The element type of values where none is asked for. */
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

/** Milliseconds since some fixed moment. */
export function now(): number {
  return env().platform.now();
}

/** Fetches a resource as the platform does. */
export function fetch(path: string, requestInits?: RequestInit): Promise<Response> {
  return env().platform.fetch(path, requestInits);
}

/** Bytes of a text. */
export function encodeString(s: string, encoding = "utf-8"): Uint8Array {
  return env().platform.encode(s, encoding || "utf-8");
}

/** The text that bytes spell. */
export function decodeString(bytes: Uint8Array, encoding = "utf-8"): string {
  return env().platform.decode(bytes, encoding || "utf-8");
}

/** The texts that bytes spell. */
export function fromUint8ToStringArray(vals: readonly Uint8Array[]): string[] {
  return vals.map((bytes) => decodeUtf8(bytes));
}

/** The bytes of texts. */
export function fromStringArrayToUint8(strings: readonly string[]): Uint8Array[] {
  return strings.map((text) => encodeString(text));
}
