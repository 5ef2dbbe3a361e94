/**
 * Kernels for both devices from one description of a copy.
 */
import type { GpuVariant } from "../../core/dispatch.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { OpDef } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { copyCpu } from "../../kernels/host/copy.ts";
import { type GpuKernels, onGpu } from "../../kernels/gpu_kernels.ts";
import { bindableInPieces, bindsWhole } from "../../kernels/copy/pieces.ts";

/**
 * What an op that copies input `from` is, and its kernels. Places that are read from nowhere get the element in input `fill`, or zero;
 * `transposes` says that the copy may be a transpose, for which there are kernels of their own.
 */
export function copyKernels(
  from: number,
  map: MeaningOf<"copy">["map"],
  { fill, transposes = false }: { readonly fill?: number; readonly transposes?: boolean } = {},
): Pick<OpDef, "meaning"> & Required<Pick<OpDef, "cpu" | "gpu">> {
  return {
    meaning: { kind: "copy", from, map, fill },
    cpu: (ins, [out], problem) =>
      copyCpu(map(problem), ins[from], out, fill === undefined ? undefined : ins[fill]),
    gpu: onGpu((kernels) => [...(transposes ? [transposeOf(from, map, kernels)] : []), {
      name: "copy",
      fits: (problem, profile) =>
        bindableInPieces(problem.inputs[from], 2, profile) && kernels.copyFits(map(problem)),
      plan: (problem, profile) =>
        kernels.copyGpu(map(problem), problem.outputs[0].dtype, profile, {
          from: { input: from },
          ...(fill === undefined ? {} : { fill: { input: fill } }),
          fromCount: sizeOf(problem.inputs[from].shape),
        }),
    }]),
  };
}

function transposeOf(
  from: number,
  map: MeaningOf<"copy">["map"],
  { transposeFits, transposeGpu }: GpuKernels,
): GpuVariant {
  return {
    name: "transpose",
    fits: (problem, profile) =>
      bindsWhole(problem, profile) && transposeFits(map(problem), profile),
    plan: (problem, profile) => transposeGpu(map(problem), from, problem.outputs[0].dtype, profile),
  };
}
