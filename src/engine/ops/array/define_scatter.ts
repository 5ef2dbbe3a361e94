/**
 * Kernels of ops that put rows in places, from one description, and the shapes they want.
 */
import type { GpuVariant, Profile } from "../../core/dispatch.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { bindable } from "../../kernels/copy/pieces.ts";
import type { MeaningOf, RowLayout, ScatterInputs } from "../../core/meaning.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";

/** Checks updates against indices and the shape they go into; returns that shape. */
export function scatteredShape(
  indices: PartialShape,
  updates: PartialShape,
  into: PartialShape,
): PartialShape {
  const depth = indices?.at(-1);
  if (indices?.length === 0) {
    throw new ValueError("Cannot scatter: indices must be at least a vector");
  }
  if (indices === null || into === null || depth == null) return into;
  if (depth > into.length) {
    throw new ValueError(
      `Cannot scatter: index vectors of ${depth} elements do not fit into shape ${shapeText(into)}`,
    );
  }
  const wanted = [...indices.slice(0, -1), ...into.slice(depth)];
  if (!compatible(updates, wanted)) {
    throw new ValueError(
      `Cannot scatter updates of shape ${shapeText(updates)}: must have updates.shape = ${
        shapeText(wanted)
      } for indices ${shapeText(indices)} and shape ${shapeText(into)}`,
    );
  }
  return into;
}

/**
 * What an op is that adds rows to places, or writes them there, and its kernels. Where `skip` is `negative`, rows with such an index are
 * left out.
 */
export function scatterKernels(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
  { how = "add", skip = "none" }: Partial<Pick<MeaningOf<"scatter">, "how" | "skip">> = {},
): Required<Pick<OpDef, "meaning" | "cpu" | "gpu">> {
  const { rows, indices, start } = inputs;
  return {
    meaning: { kind: "scatter", layout, inputs, how, skip },
    cpu: (ins, [out], problem) =>
      scatterCpu(ins[rows], ins[indices], layout(problem), out, {
        how,
        skip,
        start: start === undefined ? undefined : ins[start],
      }),
    gpu: how === "add" ? addVariants(layout, inputs) : writeVariants(layout, inputs),
  };
}

function isNarrow(
  { inputs }: Problem,
  { rows, indices }: ScatterInputs,
  profile: Profile,
): boolean {
  return inputs[indices].dtype === "int32" && bindable(inputs[rows], profile) &&
    bindable(inputs[indices], profile);
}

/** A search for few rows or few places, else atomic additions, which are of float32 for float16. */
function addVariants(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
): readonly GpuVariant[] {
  return onGpu(({ atomicAddGpu, atomicFits, searchAddGpu, searchFits, throughFloat32 }) => [
    {
      name: "search",
      fits: (p, profile) => isNarrow(p, inputs, profile) && searchFits(layout(p)),
      plan: (p, profile) => searchAddGpu(layout(p), p.outputs[0].dtype, inputs, profile),
    },
    throughFloat32({
      name: "atomic",
      fits: (p, profile) =>
        isNarrow(p, inputs, profile) && atomicFits(layout(p), p.outputs[0].dtype),
      plan: (p, profile) => atomicAddGpu(layout(p), p.outputs[0].dtype, inputs, profile),
    }),
  ]);
}

function writeVariants(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
): readonly GpuVariant[] {
  return onGpu(({ gatherFits, writeGpu }) => [{
    name: "write",
    fits: (p, profile) => isNarrow(p, inputs, profile) && gatherFits(layout(p)),
    plan: (p, profile) => writeGpu(layout(p), p.outputs[0].dtype, inputs, profile),
  }]);
}
