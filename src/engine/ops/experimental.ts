/** The namespace `tf.experimental`. */
/** Functions of NumPy, under its names. */
export * as numpy from "./numpy/namespace.ts";
