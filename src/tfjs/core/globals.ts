/** Switches, warnings and platforms of TensorFlow.js, and the wrapper of its ops. */
import { wantNumber, wantObject, wantString } from "../../engine/core/arguments.ts";
import { env, type Platform } from "./environment.ts";
import { ENGINE } from "./engine.ts";
import { promote } from "../../engine/core/dtype.ts";
import type { DType } from "../../engine/core/dtype.ts";
import type { DataType } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** The version of TensorFlow.js's core that this module follows. */
export const version_core = "4.22.0";

/** Suffix of the names of ops. */
export const OP_SCOPE_SUFFIX = "__op";

/**
 * Skips costly checks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.enableProdMode();
 * console.log(tf.env().getBool("PROD")); // true
 * tf.env().set("PROD", false);
 * ```
 */
export function enableProdMode(): void {
  env().set("PROD", true);
}
/** Sets the flag DEBUG; `tf.debugging` of Weft checks numbers. */
export function enableDebugMode(): void {
  env().set("DEBUG", true);
}
/** Turns warnings of deprecated names off. */
export function disableDeprecationWarnings(): void {
  env().set("DEPRECATION_WARNINGS_ENABLED", false);
  console.warn("Warnings of what is going to be removed are off from now on");
}
/** Warns of a deprecated name. */
export function deprecationWarn(msg: string): void {
  wantString(msg, "msg", "deprecationWarn");
  if (!env().getBool("DEPRECATION_WARNINGS_ENABLED")) return;
  console.warn(`${msg} (tf.disableDeprecationWarnings() ends such warnings)`);
}
/** Sets the platform. */
export function setPlatform(platformName: string, platform: Platform): void {
  env().setPlatform(platformName, platform);
}

/**
 * Returns the wider of two element types. Throws where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.upcastType("int32", "float32")); // float32
 * ```
 */
export function upcastType(typeA: DataType, typeB: DataType): DataType {
  wantString(typeA, "typeA", "upcastType");
  wantString(typeB, "typeB", "upcastType");
  return promote(typeA as DType, typeB as DType) as DataType;
}
/**
 * Returns the element type of a sum.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.sumOutType("bool")); // int32
 * ```
 */
export function sumOutType(type: DataType): DataType {
  return upcastType(type, "int32");
}

/**
 * Makes an op of a function, given as the only property of an object: it runs in a scope of its name. Throws for
 * several.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const double = tf.op({ double_: (x: tf.Tensor) => tf.mul(x, 2) });
 * console.log(double(tf.scalar(3)).dataSync()[0]); // 6
 * ```
 */
export function op<F extends (...args: never[]) => unknown>(f: { [name: string]: F }): F {
  wantObject(f, "f", "op", "an object of one function");
  const names = Object.keys(f);
  if (names.length !== 1) {
    throw new Error(`Cannot make an op: wanted one function by its name, received ${names.length}`);
  }
  const name = names[0].replace(/_$/, "") + OP_SCOPE_SUFFIX;
  const fn = f[names[0]];
  const wrapped = (...args: never[]): unknown => {
    ENGINE.startScope(name);
    let result: unknown;
    try {
      result = fn(...args);
      return result;
    } finally {
      ENGINE.endScope(result);
    }
  };
  Object.defineProperty(wrapped, "name", { value: name, configurable: true });
  return wrapped as F;
}

/** Returns the least power of two that is not below a number. */
export function enclosingPowerOfTwo(value: number): number {
  wantNumber(value, "value", "enclosingPowerOfTwo");
  return 2 ** Math.ceil(Math.log2(value));
}
