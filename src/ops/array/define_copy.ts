/**
 * Kernels for both devices from one description of a copy.
 */
import type { GpuVariant } from "../../core/dispatch.ts";
import type { CpuKernel, Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { copyCpu } from "../../kernels/host/copy.ts";
import type { CopyOptions } from "../../kernels/copy/variants.ts";
import { type GpuKernels, onGpu } from "../../kernels/gpu_kernels.ts";
import type { CopyMap } from "../../kernels/copy/map.ts";
import { bindableInPieces, bindsWhole } from "../../kernels/copy/pieces.ts";
import { withMeaning } from "../../kernels/host/meaning.ts";

/** How a problem of an op is a copy. */
export type MapOf = (problem: Problem) => CopyMap;

/** What else is known of an op that copies. */
interface CopyKernelOptions {
  /** Input whose element places get that are read from nowhere. Default: zero. */
  readonly fill?: number;
  /** True: the copy may be a transpose, for which there are kernels of their own. */
  readonly transposes?: boolean;
}

/** Kernels of an op that copies input `from`. */
export function copyKernels(
  from: number,
  map: MapOf,
  { fill, transposes = false }: CopyKernelOptions = {},
): { readonly cpu: CpuKernel; readonly gpu: readonly GpuVariant[] } {
  const options: CopyOptions = {
    from: { input: from },
    ...(fill === undefined ? {} : { fill: { input: fill } }),
  };
  return {
    cpu: withMeaning(
      (ins, [out], problem) =>
        copyCpu(map(problem), ins[from], out, fill === undefined ? undefined : ins[fill]),
      { copy: { from, map, fill } },
    ),
    gpu: onGpu((kernels) => [...(transposes ? [transposeOf(from, map, kernels)] : []), {
      name: "copy",
      fits: (problem, profile) =>
        bindableInPieces(problem.inputs[from], 2, profile) && kernels.copyFits(map(problem)),
      plan: (problem, profile) =>
        kernels.copyGpu(map(problem), problem.outputs[0].dtype, profile, {
          ...options,
          fromCount: sizeOf(problem.inputs[from].shape),
        }),
    }]),
  };
}

function transposeOf(
  from: number,
  map: MapOf,
  { transposeFits, transposeGpu }: GpuKernels,
): GpuVariant {
  return {
    name: "transpose",
    fits: (problem, profile) =>
      bindsWhole(problem, profile) && transposeFits(map(problem), profile),
    plan: (problem, profile) => transposeGpu(map(problem), from, problem.outputs[0].dtype, profile),
  };
}
