/**
 * NumPy-style bodies written with numpy-ts: `np`, and `numpyFunction` and `pyFunc` for bodies of its arrays.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { type NDArray, np, pyFunc } from "@weft/weft/numpy";
 * const graph = new tf.Graph();
 * const y = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   return pyFunc((x: NDArray) => np.sinh(x), [x], "float32");
 * });
 * await using session = new tf.Session({ graph });
 * console.log((await session.run(y, { feeds: { "x:0": 1 } }) as number).toFixed(4)); // 1.1752
 * ```
 *
 * @module
 */
import * as numpy from "numpy-ts";
import "../../engine/runtime/install.ts";

/** numpy-ts: NumPy's functions by their names. */
export const np: typeof numpy = numpy;

export { fromNumpy, type NDArray, toNumpy } from "./arrays.ts";
export {
  type NumpyBody,
  numpyFunction,
  numpyFunctionAsync,
  type NumpyFunctionOptions,
  pyFunc,
  registerScript,
} from "./functions.ts";
export type { NumpyFunctionOptions as ScriptOptions } from "../../engine/types.ts";
export type * from "../../engine/types.ts";
