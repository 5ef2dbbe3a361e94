/** Types of the table of kernels. */
import type { Tensor } from "../../../engine/core/tensor.ts";

/** Tensors by the kernel's names of them. */
export type KernelInputs = Readonly<Record<string, Tensor>>;
/** Attributes by name. TensorFlow.js's callers give each the type that its function takes. */
export type KernelAttrs = Readonly<Record<string, never>>;
/** A kernel of TensorFlow.js as a function of Weft. */
export type Kernel = (inputs: KernelInputs, attrs: KernelAttrs) => Tensor | Tensor[];
export type KernelTable = Readonly<Record<string, Kernel>>;
