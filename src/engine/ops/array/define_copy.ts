/**
 * Ops that copy, from one description.
 */
import type { MeaningOf } from "../../core/meaning.ts";
import type { OpDef } from "../../core/op.ts";
import { copyCpu } from "../../kernels/host/copy.ts";

/**
 * The meaning and host kernel of an op that copies input `from`. Places that are read from nowhere get the element in input `fill`, or zero;
 * `transposes` says that the copy may be a transpose, for which there are kernels of their own.
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
