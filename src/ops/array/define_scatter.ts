/**
 * Kernels of ops that put rows in places, from one description.
 */
import type { GpuVariant, Profile } from "../../core/dispatch.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { bindable } from "../../kernels/copy/pieces.ts";
import type { MeaningOf, RowLayout, ScatterInputs } from "../../core/meaning.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";

/** What an op is that puts rows in places, and its host kernel. */
export function scatterKernel(
  scatter: Omit<MeaningOf<"scatter">, "kind">,
): Required<Pick<OpDef, "meaning" | "cpu">> {
  const { layout, inputs: { rows, indices, start }, how, skip } = scatter;
  return {
    meaning: { kind: "scatter", ...scatter },
    cpu: (ins, [out], problem) =>
      scatterCpu(ins[rows], ins[indices], layout(problem), out, {
        how,
        skip,
        start: start === undefined ? undefined : ins[start],
      }),
  };
}

/** What an op is that adds rows to places, and its kernels. With `skip`, rows with a negative index are left out. */
export function scatterAddKernels(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
  skip: "none" | "negative" = "none",
): Required<Pick<OpDef, "meaning" | "cpu" | "gpu">> {
  return {
    ...scatterKernel({ layout, inputs, how: "add", skip }),
    gpu: scatterAddVariants(layout, inputs),
  };
}

/** A search for few rows or few places, else atomic additions, which are of float32 for float16. */
function scatterAddVariants(
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
