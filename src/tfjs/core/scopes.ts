/** Scopes with TensorFlow.js's rule: a result's tensors are kept at any depth, in objects of any class too. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import { isPromise } from "../../engine/core/nest.ts";
import { type Scope, scope } from "../../engine/runtime/eager/tensor.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { getTensorsInContainer } from "./tensor_util.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

const open: { readonly scope: Scope; readonly name: string }[] = [];

/** Opens a scope. */
export function startScope(name: string): void {
  open.push({ scope: scope(), name });
}

/** Closes the innermost scope: tensors made since then are disposed, except those in `result`. */
export function endScope(result?: unknown): void {
  const ended = open.pop();
  if (ended === undefined) throw new Error("Cannot end a scope: none was started");
  for (const t of getTensorsInContainer(result)) ended.scope.keep(t);
  ended.scope[Symbol.dispose]();
}

/** Names of the open scopes, outermost first. */
export function scopeNames(): string[] {
  return open.map(({ name }) => name);
}

/**
 * Runs `fn` and disposes the tensors made inside, except those in its result. A promise is returned with a warning: the
 * scope ends before it resolves. See `tf.tidy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const before = tf.memory().numTensors;
 * const y = tf.tidy(() => tf.add(tf.square(tf.scalar(2)), 1));
 * console.log(y.dataSync()[0], tf.memory().numTensors - before); // 5 1
 * y.dispose();
 * ```
 */
export function tidy<T>(nameOrFn: string | (() => T), fn?: () => T): T {
  const [name, body] = typeof nameOrFn === "function" && fn === undefined
    ? ["", nameOrFn]
    : [nameOrFn, fn];
  if (typeof name !== "string") {
    throw new Error(
      "Cannot tidy: wanted a text as the name of the scope",
    );
  }
  if (typeof body !== "function") {
    throw new Error(`Please provide a function to tidy(), received ${typeof body}`);
  }
  startScope(name);
  let result: T | undefined;
  try {
    result = body();
    if (isPromise(result)) console.error("Cannot return a Promise inside of tidy.");
    return result;
  } finally {
    endScope(result);
  }
}

/**
 * Disposes every tensor in a container. See `tf.dispose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const x = tf.scalar(1), y = tf.scalar(2);
 * tf.dispose({ x, others: [y] });
 * console.log(x.isDisposed, y.isDisposed); // true true
 * ```
 */
export function dispose(container: unknown): void {
  for (const t of getTensorsInContainer(container)) t.dispose();
}

/**
 * Keeps a tensor past the open scopes. See `tf.keep`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const x = tf.tidy(() => {
 *   const x = tf.keep(tf.scalar(2));
 *   return x.square().mul(x);
 * });
 * console.log(x.dataSync()[0]); // 8
 * ```
 */
export function keep<T extends Tensor>(result: T): T {
  if (!(result instanceof Tensor)) throw wrongArgument(result, "result", "keep", "a tensor");
  return result.keep();
}
