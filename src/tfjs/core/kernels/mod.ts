/**
 * The kernels of TensorFlow.js by name, as functions of ours: what `engine().runKernel` runs.
 */
import { ARRAYS } from "./arrays.ts";
import { NEURAL } from "./neural.ts";
import { POINTWISE } from "./pointwise.ts";
import type { KernelTable } from "./types.ts";

/** All kernels by name. */
export const KERNELS: KernelTable = { ...POINTWISE, ...ARRAYS, ...NEURAL };
