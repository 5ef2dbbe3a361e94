/** Namespace `tf.contrib.framework`. */
export { contribPyFunc as pyFunc } from "./numpy_function.ts";
