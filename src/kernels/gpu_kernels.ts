/**
 * What ops say of kernels that are loaded only with a GPU device: how variants are made of them.
 */
import type { GpuVariant } from "../core/dispatch.ts";
import type * as kernels from "./gpu.ts";

/** The kernels of GPU devices. */
export type GpuKernels = typeof kernels;

let loaded: GpuKernels | null = null;
const waiting: ((kernels: GpuKernels) => void)[] = [];

/** The variants that `make` makes of the kernels. The list is empty until a device brings them. */
export function onGpu(
  make: (kernels: GpuKernels) => readonly GpuVariant[],
): readonly GpuVariant[] {
  if (loaded !== null) return make(loaded);
  const variants: GpuVariant[] = [];
  waiting.push((kernels) => variants.push(...make(kernels)));
  return variants;
}

/** Hands the kernels to all ops. */
export function bringGpuKernels(kernels: GpuKernels): void {
  loaded = kernels;
  for (const hand of waiting.splice(0)) hand(kernels);
}
