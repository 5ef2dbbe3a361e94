/**
 * Namespace `tf.contrib.framework`.
 * May import this folder.
 */
export { contribPyFunc as pyFunc } from "./numpy_function.ts";
