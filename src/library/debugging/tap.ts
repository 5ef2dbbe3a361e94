/** `tap`: a callback on a value that passes through. */
import { withRecorders } from "../../engine/core/apply.ts";
import { describe } from "../../engine/core/convert.ts";
import { FailedPreconditionError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isPromise } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { controlDependencies } from "../../engine/graph/scopes.ts";
import { identity } from "../../engine/ops/array/view.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { isSymbolicNow } from "../../engine/script/call.ts";
import { numpyFunction, numpyFunctionAsync } from "../../engine/script/numpy_function.ts";
import type { ScriptContext } from "../../engine/script/script.ts";

/** The callback of {@linkcode tap}. Its result is ignored; a promise is awaited in graphs. */
export type TapFunction = (value: NdArray, context: ScriptContext) => unknown;

/** Options of {@linkcode tap}. */
export interface TapOptions {
  /** False: its calls are not ordered with other effects. Default true. */
  readonly ordered?: boolean;
  /** Node name. */
  readonly name?: string;
}

const checkOptions = optionCheck<TapOptions>("tap", { ordered: true, name: true });

/**
 * Returns `x` and calls `fn` with its value: in a graph at each run that needs the result, in a function at each call,
 * eagerly at once. Gradients pass through it, and `x` stays on its device: `fn` gets a copy. An error of `fn` ends the
 * run. Where the runtime reads GPU memory only asynchronously an eager call comes later, and its error is written to
 * the console. JAX has the like as `jax.debug.callback`. Throws `ValueError` where `fn` is no function.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const seen: number[] = [];
 * const f = tf.function((x: tf.Tensor) => tf.square(tf.tap(tf.exp(x), (v) => seen.push(Number(v)))));
 * f(tf.scalar(0));
 * f(tf.scalar(0));
 * console.log(seen); // [1, 1]
 * ```
 */
export function tap(x: TensorLike, fn: TapFunction, options: TapOptions = {}): Tensor {
  checkOptions(options);
  if (typeof fn !== "function") {
    throw new ValueError(`Expected fn of tap to be callable. Received fn=${describe(fn)}`);
  }
  const t = asTensor(toInput(x, "x", "tap"));
  const body = (value: NdArray, context: ScriptContext): unknown => {
    const out = fn(value, context);
    return isPromise(out) ? out.then(() => undefined) : undefined;
  };
  if (isSymbolicNow()) {
    const look = numpyFunction(body, [t], [], { name: "tap", ...options }) as Operation;
    return controlDependencies([look], () => identity(t));
  }
  // Eager code continues meanwhile.
  const now = (value: NdArray, context: ScriptContext): void => {
    const out = fn(value, context);
    if (isPromise(out)) out.then(undefined, (late) => console.error(late));
  };
  withRecorders([], () => {
    try {
      numpyFunction(now, [t], []);
    } catch (error) {
      if (!(error instanceof FailedPreconditionError) || error.cause !== undefined) throw error;
      numpyFunctionAsync(now, [t], []).catch((late) => console.error(late));
    }
  });
  return identity(t);
}
