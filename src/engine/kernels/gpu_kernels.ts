/**
 * What ops say of kernels that are loaded only with a GPU device: how variants are made of them.
 */
import type { GpuVariant } from "../core/dispatch.ts";
import type * as common from "./gpu.ts";
import type * as windows from "./gpu_windows.ts";

/** The kernels of GPU devices that every one has. */
export type GpuKernels = typeof common;

/** All kernels, by when they are loaded: with a device, or where an op has use for them. */
interface Families {
  readonly common: GpuKernels;
  readonly windows: typeof windows;
}

const loaded: Partial<Families> = {};
const waiting: { readonly [K in keyof Families]: ((kernels: Families[K]) => void)[] } = {
  common: [],
  windows: [],
};

/** The variants that `make` makes of the kernels. The list is empty until a device brings them. */
export function onGpu<K extends keyof Families = "common">(
  make: (kernels: Families[K]) => readonly GpuVariant[],
  family: K = "common" as K,
): readonly GpuVariant[] {
  const kernels = loaded[family];
  if (kernels !== undefined) return make(kernels);
  const variants: GpuVariant[] = [];
  waiting[family].push((kernels) => variants.push(...make(kernels)));
  return variants;
}

export function bringGpuKernels<K extends keyof Families>(family: K, kernels: Families[K]): void {
  Object.assign(loaded, { [family]: kernels });
  for (const hand of waiting[family].splice(0)) hand(kernels);
}

/** Loads the kernels of windows if an op waits for them. True where there is something new. */
export async function loadGpuWindows(): Promise<boolean> {
  if (waiting.windows.length === 0) return false;
  bringGpuKernels("windows", await import("./gpu_windows.ts"));
  return true;
}
