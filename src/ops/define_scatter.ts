/**
 * GPU variants of ops that add rows to places.
 * May import core and kernels.
 */
import type { GpuVariant, Profile } from "../core/dispatch.ts";
import type { Problem } from "../core/op.ts";
import { bindable } from "../kernels/copy_pieces.ts";
import type { RowLayout } from "../kernels/gather_layout.ts";
import type { ScatterInputs } from "../kernels/scatter_gpu.ts";
import { onGpu } from "../kernels/gpu_kernels.ts";

/** A search for few rows or few places, else atomic additions, which are of float32 for float16. */
export function scatterAddVariants(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
): readonly GpuVariant[] {
  const narrow = (p: Problem, profile: Profile): boolean =>
    p.inputs[inputs.indices].dtype === "int32" &&
    bindable(p.inputs[inputs.rows], profile) && bindable(p.inputs[inputs.indices], profile);
  return onGpu(({ atomicAddGpu, atomicFits, searchAddGpu, searchFits, throughFloat32 }) => [
    {
      name: "search",
      fits: (p, profile) => narrow(p, profile) && searchFits(layout(p)),
      plan: (p, profile) => searchAddGpu(layout(p), p.outputs[0].dtype, inputs, profile),
    },
    throughFloat32({
      name: "atomic",
      fits: (p, profile) => narrow(p, profile) && atomicFits(layout(p), p.outputs[0].dtype),
      plan: (p, profile) => atomicAddGpu(layout(p), p.outputs[0].dtype, inputs, profile),
    }),
  ]);
}
