/** The GPU's kernels by the kinds of ops. */
import type { GpuVariant } from "../../core/dispatch.ts";
import type { Meaning } from "../../core/meaning.ts";
import type { OpDef } from "../../core/op.ts";
import type { GpuKernels } from "../../kernels/gpu_kernels.ts";
import { KernelTable } from "../../kernels/kernel_table.ts";

const windows = () => import("../../kernels/window_kernels.ts");

/** The kernels of GPU devices. Their module brings most kinds; these are loaded if ops of the process have them. */
export const gpuKernels: KernelTable<GpuKernels> = /* @__PURE__ */ new KernelTable<GpuKernels>({
  window: windows,
  dilation: windows,
  convolution: windows,
  sample: windows,
  fourier: windows,
});

const made = new WeakMap<Meaning, readonly GpuVariant[]>();

/** The variants of an op: its own, or those of its kind; none while the kind has not been loaded. */
export function gpuVariants(def: OpDef): readonly GpuVariant[] {
  const { gpu, meaning } = def;
  if (gpu !== undefined) return gpu;
  let variants = made.get(meaning);
  if (variants === undefined) {
    const make = gpuKernels.get(meaning.kind) as
      | ((meaning: Meaning, def: OpDef) => readonly GpuVariant[])
      | undefined;
    if (make === undefined) return [];
    made.set(meaning, variants = make(meaning, def));
  }
  return variants;
}
