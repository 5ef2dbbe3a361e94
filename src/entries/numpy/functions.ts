/** numpyFunction and pyFunc for bodies of numpy-ts arrays. */
import { isPlainObject, mapNest } from "../../engine/core/nest.ts";
import { remembered } from "../../engine/core/collections/recent_map.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { BodyArguments, ScriptInput } from "../../engine/script/body_types.ts";
import type { Decorated, DecoratorOptions } from "../../engine/script/decorator.ts";
import {
  numpyFunction as baseNumpyFunction,
  numpyFunctionAsync as baseNumpyFunctionAsync,
  type NumpyFunctionOptions as BaseOptions,
  type PyFuncForms,
  pyFuncOf,
  type ScriptResult,
} from "../../engine/script/numpy_function.ts";
import {
  checkCallable,
  type RegisteredScript,
  registerScript as baseRegisterScript,
  type ScriptFunction,
} from "../../engine/script/script.ts";
import type { Tout } from "../../engine/script/tout.ts";
import { type NDArray, toNumpy } from "./arrays.ts";

/**
 * Options of {@linkcode numpyFunction}: those of `tf.numpyFunction` without `worker`, since a body's source does not
 * bring numpy-ts along.
 */
export type NumpyFunctionOptions = Omit<BaseOptions, "worker">;

/** A body of numpy-ts arrays. */
export type NumpyBody<I extends readonly unknown[]> = (
  ...args: BodyArguments<I, NDArray>
) => unknown;

const convert = (v: unknown): unknown => (v instanceof NdArray ? toNumpy(v) : v);

/** Wraps the body for `tf.numpyFunction`, which passes host arrays; equal functions have the same wrapper. */
const bodyOf = remembered((func: ScriptFunction): ScriptFunction => {
  checkCallable(func);
  return (...args) => func(...args.map((a) => mapNest(convert, a)));
});

function checkOptions(options: NumpyFunctionOptions): void {
  if ((options as BaseOptions).worker) {
    throw new ValueError(
      "Cannot run a body of numpy-ts arrays in a worker: use tf.numpyFunction, and import numpy-ts in the worker's module",
    );
  }
}

/**
 * Is `tf.numpyFunction` for a body of numpy-ts arrays, which share the elements of the inputs, one per element of
 * `inp`. It returns such arrays (views of any layout), numbers, or other results of `tf.numpyFunction`. Options and the
 * decorator form are the same. Throws as `tf.numpyFunction` does, and `ValueError` for the option `worker`; an input of
 * a dtype that numpy-ts does not have is the call's `InvalidArgumentError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { type NDArray, np, numpyFunction } from "@weft/weft/numpy";
 * const y = numpyFunction((x: NDArray) => np.sinh(x), [tf.scalar(1)], "float32");
 * console.log(y.item().toFixed(4)); // 1.1752
 * ```
 */
export function numpyFunction<const T extends Tout, const I extends readonly ScriptInput[]>(
  func: NoInfer<NumpyBody<I>>,
  inp: I,
  Tout: T,
  options?: NumpyFunctionOptions,
): ScriptResult<T>;
/** The decorator form: `numpyFunction({ Tout })(func)`. */
export function numpyFunction<const T extends Tout>(
  options: DecoratorOptions<T> & NumpyFunctionOptions,
): Decorated<T, NDArray>;
export function numpyFunction(
  func: unknown,
  inp?: unknown,
  tout?: unknown,
  options: NumpyFunctionOptions = {},
): unknown {
  if (isPlainObject(func)) {
    checkOptions(func);
    const decorate = baseNumpyFunction(func as unknown as DecoratorOptions<"float32">);
    return (body: ScriptFunction) => decorate(bodyOf(body));
  }
  checkOptions(options);
  const body = func === undefined || func === null ? func : bodyOf(func as ScriptFunction);
  return baseNumpyFunction(
    body as ScriptFunction,
    inp as ScriptInput[],
    tout as "float32",
    options,
  );
}

/**
 * Is {@linkcode numpyFunction} for eager code whose body is async, or whose inputs can only be read asynchronously. In
 * a graph it adds the node.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { type NDArray, np, numpyFunctionAsync } from "@weft/weft/numpy";
 * const flip = async (x: NDArray) => await Promise.resolve(np.flip(x));
 * const y = await numpyFunctionAsync(flip, [tf.tensor([1, 2, 3])], "float32");
 * console.log(await y.data()); // Float32Array(3) [3, 2, 1]
 * ```
 */
export async function numpyFunctionAsync<
  const T extends Tout,
  const I extends readonly ScriptInput[],
>(
  func: NoInfer<NumpyBody<I>>,
  inp: I,
  Tout: T,
  options: NumpyFunctionOptions = {},
): Promise<ScriptResult<T>> {
  checkOptions(options);
  return await baseNumpyFunctionAsync(bodyOf(func as ScriptFunction), inp, Tout, options);
}

/**
 * TensorFlow 1's spelling of {@linkcode numpyFunction}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { type NDArray, np, pyFunc } from "@weft/weft/numpy";
 * const [low, high] = pyFunc((x: NDArray) => [np.min(x), np.max(x)], [tf.tensor([3, 1, 2])], ["float32", "float32"]);
 * console.log([low.item(), high.item()]); // [1, 3]
 * ```
 */
export const pyFunc: PyFuncForms<NDArray> = pyFuncOf(numpyFunction);

/**
 * Is `tf.registerScript` for a body of numpy-ts arrays: calls of it through {@linkcode numpyFunction} and {@linkcode
 * pyFunc} are saved by this name, and a graph that names it can be loaded. Returns the body. Throws as
 * `tf.registerScript` does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { type NDArray, np, numpyFunction, registerScript } from "@weft/weft/numpy";
 * const cube = registerScript("example.np_cube@1", (x: NDArray) => np.power(x, 3));
 * console.log(numpyFunction(cube, [tf.scalar(2)], "float32").item()); // 8
 * ```
 */
export function registerScript<F extends ScriptFunction>(
  token: string,
  func: F,
  options: Omit<RegisteredScript, "func"> = {},
): F {
  baseRegisterScript(token, bodyOf(func), options);
  return func;
}
