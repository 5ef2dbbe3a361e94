/** The kernels of TensorFlow.js by name, as functions of Weft, for `engine().runKernel`. */
import { ARRAYS } from "./arrays.ts";
import { NEURAL } from "./neural.ts";
import { POINTWISE } from "./pointwise.ts";
import type { KernelTable } from "./types.ts";

/** All kernels by name. */
export const KERNELS: KernelTable = { ...POINTWISE, ...ARRAYS, ...NEURAL };
