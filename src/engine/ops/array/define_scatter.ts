/** Defines ops that scatter rows, and checks their shapes. */
import type { OpDef, Problem } from "../../core/op.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { MeaningOf, RowLayout, ScatterInputs } from "../../core/meaning.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";

/** Checks updates against indices and the target's shape; returns that shape. */
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
 * Returns the meaning and host kernel of an op that adds or writes rows at places. With `skip` `negative`, rows with a
 * negative index are left out.
 */
export function scatterKernels(
  layout: (problem: Problem) => RowLayout,
  inputs: ScatterInputs,
  { how = "add", skip = "none" }: Partial<Pick<MeaningOf<"scatter">, "how" | "skip">> = {},
): Required<Pick<OpDef, "meaning" | "cpu">> {
  const { rows, indices, start } = inputs;
  return {
    meaning: { kind: "scatter", layout, inputs, how, skip },
    cpu: (ins, [out], problem) =>
      scatterCpu(ins[rows], ins[indices], layout(problem), out, {
        how,
        skip,
        start: start === undefined ? undefined : ins[start],
      }),
  };
}
