/** `tf.util`: kinds of values, texts, time and fetching. */
import { decodeString as decodeUtf8 } from "../../../engine/core/text.ts";
import type { DataType } from "../types.ts";
import { env } from "../environment.ts";
import { isTypedArray as isOurs } from "../platform.ts";

/**
 * True for a text.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isString("a"), tf.util.isString(1)); // true false
 * ```
 */
export function isString(value: unknown): value is string {
  return typeof value === "string" || value instanceof String;
}
/**
 * True for a boolean.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isBoolean(true), tf.util.isBoolean(1)); // true false
 * ```
 */
export function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
/**
 * True for a number.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isNumber(1), tf.util.isNumber("1")); // true false
 * ```
 */
export function isNumber(value: unknown): boolean {
  return typeof value === "number";
}
/**
 * True for an integer.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isInt(1), tf.util.isInt(1.5)); // true false
 * ```
 */
export function isInt(a: number): boolean {
  return a % 1 === 0;
}
/**
 * True for a function.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isFunction(() => 1), tf.util.isFunction({})); // true false
 * ```
 */
export function isFunction(f: unknown): boolean {
  return typeof f === "function";
}
/**
 * True for a promise.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isPromise(Promise.resolve()), tf.util.isPromise({})); // true false
 * ```
 */
export function isPromise(object: unknown): object is Promise<unknown> {
  return typeof (object as { then?: unknown } | null | undefined)?.then === "function";
}
/**
 * True for a typed array that tensors are made of.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isTypedArray(Float32Array.of(1)), tf.util.isTypedArray([1])); // true false
 * ```
 */
export function isTypedArray(
  a: unknown,
): a is Float32Array | Int32Array | Uint8Array | Uint8ClampedArray {
  // Platforms that programs set may lack it.
  const { platform } = env();
  return platform.isTypedArray ? platform.isTypedArray(a) : isOurs(a);
}
/**
 * True for an element type of TensorFlow.js.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isValidDtype("int32"), tf.util.isValidDtype("int33")); // true false
 * ```
 */
export function isValidDtype(dtype: unknown): dtype is DataType {
  return ["bool", "complex64", "float32", "int32", "string"].includes(dtype as string);
}

/**
 * Returns the default element type of values.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.inferDtype([true]), tf.util.inferDtype([1])); // bool float32
 * ```
 */
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

/**
 * Returns milliseconds since a fixed moment.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const start = tf.util.now();
 * console.log(tf.util.now() >= start); // true
 * ```
 */
export function now(): number {
  return env().platform.now();
}

/** Fetches a resource by the platform. */
export function fetch(path: string, requestInits?: RequestInit): Promise<Response> {
  return env().platform.fetch(path, requestInits);
}

/**
 * Encodes a text.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.encodeString("hi")); // Uint8Array(2) [104, 105]
 * ```
 */
export function encodeString(s: string, encoding = "utf-8"): Uint8Array {
  return env().platform.encode(s, encoding || "utf-8");
}

/**
 * Decodes a text.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.decodeString(Uint8Array.of(104, 105))); // hi
 * ```
 */
export function decodeString(bytes: Uint8Array, encoding = "utf-8"): string {
  return env().platform.decode(bytes, encoding || "utf-8");
}

/**
 * Decodes texts.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.backend_util.fromUint8ToStringArray([Uint8Array.of(104, 105)])); // ["hi"]
 * ```
 */
export function fromUint8ToStringArray(vals: readonly Uint8Array[]): string[] {
  return vals.map((bytes) => decodeUtf8(bytes));
}

/**
 * Encodes texts.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.backend_util.fromStringArrayToUint8(["hi"])); // [Uint8Array(2) [104, 105]]
 * ```
 */
export function fromStringArrayToUint8(strings: readonly string[]): Uint8Array[] {
  return strings.map((text) => encodeString(text));
}
