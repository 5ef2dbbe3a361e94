/**
 * What the table of kernels is made of.
 */
import type { Tensor } from "../../../engine/core/tensor.ts";

/** Tensors by the names that kernels have for them. */
export type KernelInputs = Readonly<Record<string, Tensor>>;
/** Attributes by name. Each is what the function that takes it wants: TensorFlow.js's callers see to that. */
export type KernelAttrs = Readonly<Record<string, never>>;
/** A kernel of TensorFlow.js as a function of ours. */
export type Kernel = (inputs: KernelInputs, attrs: KernelAttrs) => Tensor | Tensor[];
/** Kernels by name. */
export type KernelTable = Readonly<Record<string, Kernel>>;
