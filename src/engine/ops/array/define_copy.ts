/** Defines ops that copy elements. */
import type { MeaningOf } from "../../core/meaning.ts";
import type { OpDef } from "../../core/op.ts";
import { copyCpu } from "../../kernels/host/copy.ts";

/**
 * Returns the meaning and host kernel of an op that copies input `from`. Places without a source get the element in
 * input `fill`, or zero; `transposes` marks a copy that may be a transpose, which has kernels of its own.
 */
export function copyKernels(
  from: number,
  map: MeaningOf<"copy">["map"],
  { fill, transposes = false }: { readonly fill?: number; readonly transposes?: boolean } = {},
): Required<Pick<OpDef, "meaning" | "cpu">> {
  return {
    meaning: { kind: "copy", from, map, fill, transposes },
    cpu: (ins, [out], problem) =>
      copyCpu(map(problem), ins[from], out, fill === undefined ? undefined : ins[fill]),
  };
}
