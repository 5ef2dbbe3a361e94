/**
 * Namespace `tf.compat.v1`.
 * May import this folder and what has a TensorFlow 1 spelling.
 */
export { numpyFunction, pyFunc } from "./numpy_function.ts";
export { pyFunction } from "./py_function.ts";
