/** The namespace `tf.math.special`. */
export * from "./pointwise/bessel.ts";
export * from "./pointwise/integrals.ts";
