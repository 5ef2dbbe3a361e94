/** Gathers of rows on the GPU. An index out of range gives zeros. */
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { gpuBytes, vec, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { shaderProgram } from "../../core/shader.ts";
import { COPY_GATHER } from "../../../shaders_generated.ts";
import { partsOf, partType } from "../pointwise/complex_problem.ts";
import { bindable, bindableInPieces, piecedSource, planPieces } from "./pieces.ts";
import type { MeaningOf, RowLayout } from "../../core/meaning.ts";

/** The variants of an op that picks rows of input 0 by input 1. A table larger than one binding is bound in pieces. */
export function gatherVariants({ layout }: MeaningOf<"gather">): readonly GpuVariant[] {
  return [{
    name: "gather",
    complex: "too",
    fits: (problem, profile) => {
      const [table, indices] = problem.inputs;
      return indices.dtype === "int32" && bindable(indices, profile) &&
        bindableInPieces(table, 2, profile) && gatherFits(layout(problem));
    },
    plan: (problem, profile) => {
      const { dtype } = problem.inputs[0];
      return gatherGpu(ofParts(layout(problem), dtype), partType(dtype), profile);
    },
  }];
}

/** Returns the layout of rows whose elements have several parts. */
export function ofParts(layout: RowLayout, dtype: DType): RowLayout {
  return { ...layout, inner: partsOf(dtype) * layout.inner };
}

/** True where the uniform block can hold the layout. */
export function gatherFits({ dims }: RowLayout): boolean {
  return dims.length <= 32;
}

/** Plans one dispatch: the rows of input 0 that input 1 names. */
function gatherGpu(layout: RowLayout, dtype: DType, profile: Profile): GpuPlan {
  const { batch, outer, dims, inner, count } = layout;
  const size = batch * outer * count * inner;
  const group = inner % 4 === 0 ? 4 : 1, width = inner / group;
  const type = vec(wordType(dtype), group), bytes = gpuBytes(dtype) * group;
  const extent = dims.reduce((a, b) => a * b, 1);
  const table = piecedSource({ input: 0 }, batch * outer * extent * width, type, bytes, 1, profile);
  const program = shaderProgram(COPY_GATHER, {
    element: type,
    rank: dims.length,
    pieced: table.types.length > 1,
    table: table.prelude,
  }, { name: "gather", inputs: table.types.length > 1 ? table.types : [] });
  return planPieces(program, [size / group, bytes], profile, ({ first, count: n, range }) => ({
    buffers: [{ input: 1 }, ...table.buffers, { output: 0, ...range }],
    params: [n, first, outer, count, width, extent, ...dims],
  }));
}
