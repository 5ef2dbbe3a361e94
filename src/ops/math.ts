/**
 * The namespace `tf.math`.
 */
export { confusionMatrix } from "./array/count.ts";
export { digamma, erfinv, lgamma, ndtri, polygamma, xlog1py, zeta } from "./pointwise/special.ts";
