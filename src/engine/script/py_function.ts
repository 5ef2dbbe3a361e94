/** pyFunction: differentiable scripts whose bodies take tensors. */
import type { Tensor } from "../core/tensor.ts";
import { optionCheck } from "../core/arguments.ts";
import { callAsync, callOrDecorate, type ScriptKind } from "./call.ts";
import type { Decorated, DecoratorOptions } from "./decorator.ts";
import { runEagerly, runEagerlyAsync } from "./eager_style_now.ts";
import type { ScriptInput, TensorBody } from "./body_types.ts";
import type { NumpyFunctionOptions, ScriptResult } from "./numpy_function.ts";
import { EagerPyFunc } from "./script_ops.ts";
import type { Tout } from "./tout.ts";

/** Options of {@linkcode pyFunction}. */
export interface PyFunctionOptions
  extends Pick<NumpyFunctionOptions, "name" | "shapeFn" | "timeoutMs" | "ordered" | "vectorized"> {
  /** Make an input without a gradient an error; finds bodies that cut the tape. */
  readonly strictGradients?: boolean;
}

const checkOptions = optionCheck<PyFunctionOptions>("pyFunction", {
  name: true,
  shapeFn: true,
  timeoutMs: true,
  strictGradients: true,
  ordered: true,
  vectorized: true,
});

const PY_FUNCTION: ScriptKind<PyFunctionOptions> = {
  name: "pyFunction",
  check: checkOptions,
  opOf: () => EagerPyFunc,
  takes: "composites",
  run: runEagerly,
  runAsync: runEagerlyAsync,
};

/**
 * Makes an op from a function of tensors, differentiated through its body. `func(...args, ctx)` runs eagerly on the
 * op's device and may use control flow; it may be async inside graphs. Follows TensorFlow `tf.py_function`. A body that
 * may read synchronously, as with `x.item()`, runs on the host where the GPU can only be awaited, as in some browsers:
 * every body that is not async and not registered with `reads: false`. Called with options alone it is a decorator:
 * `pyFunction({ Tout })(func)`. Throws `ValueError` if `func` is not callable, `TypeError` for a bad `inp` or `Tout`;
 * in eager mode the body's error as an `OpError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const cube = (x: tf.Tensor) => tf.mul(x, tf.mul(x, x));
 * const g = new tf.Graph();
 * const [y, dx] = g.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   const y = tf.pyFunction(cube, [x], "float32");
 *   return [y, tf.gradients(y, [x])[0]!];
 * });
 * console.log(await new tf.Session({ graph: g }).run([y, dx], { feeds: { "x:0": 2 } })); // [8, 12]
 * ```
 */
export function pyFunction<const T extends Tout, const I extends readonly ScriptInput[]>(
  func: NoInfer<TensorBody<I>>,
  inp: I,
  Tout: T,
  options?: PyFunctionOptions,
): ScriptResult<T>;
/** The decorator form: `pyFunction({ Tout })(func)`. */
export function pyFunction<const T extends Tout>(
  options: DecoratorOptions<T> & PyFunctionOptions,
): Decorated<T, Tensor>;
export function pyFunction(
  func: unknown,
  inp?: unknown,
  tout?: unknown,
  options: PyFunctionOptions = {},
): unknown {
  return callOrDecorate(PY_FUNCTION, { func, inp, tout, options });
}

/**
 * Runs {@linkcode pyFunction} in eager code with an async body. In a graph it adds the node.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = await tf.pyFunctionAsync(async (x: tf.Tensor) => {
 *   const [v] = await x.data();
 *   return v as number > 0 ? tf.square(x) : x;
 * }, [tf.scalar(3)], "float32");
 * console.log((y as tf.Tensor).item()); // 9
 * ```
 */
export function pyFunctionAsync<const T extends Tout, const I extends readonly ScriptInput[]>(
  func: NoInfer<TensorBody<I>>,
  inp: I,
  Tout: T,
  options: PyFunctionOptions = {},
): Promise<ScriptResult<T>> {
  return callAsync(PY_FUNCTION, { func, inp, tout: Tout, options }) as Promise<ScriptResult<T>>;
}
