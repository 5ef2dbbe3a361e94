/** Parts of strings of any rank: behind their own axes stands one more, whose rows differ in length. */
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { reshape, shape } from "../array/view.ts";
import { asTensor } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { RaggedTensor } from "../ragged/ragged_tensor.ts";
import { texts } from "./text_input.ts";

/** A function that parts strings. */
export interface Parting {
  /** Name of the function, for errors. */
  readonly fn: string;
  /** Parts a vector of strings: gives a ragged tensor of two axes for each result. */
  readonly part: (strings: Tensor) => readonly RaggedTensor[];
  /** True to take strings of unknown rank as a vector. */
  readonly isVectorIfUnknown?: boolean;
}

/**
 * Parts strings: of a scalar the results are vectors, of others ragged tensors. Throws `ValueError` for an unknown rank, unless it is
 * taken as a vector.
 */
export function partsOf(
  input: TensorLike | RaggedTensor,
  { fn, part, isVectorIfUnknown = false }: Parting,
): readonly (Tensor | RaggedTensor)[] {
  if (input instanceof RaggedTensor) {
    return compose(() => {
      const inner = partsOf(input.flatValues, { fn, part }) as readonly RaggedTensor[];
      return inner.map((values) => within(values, input.nestedRowSplits));
    });
  }
  return compose(() => {
    const strings = asTensor(texts(input as TensorLike, fn)), known = strings.staticShape;
    const rank = known === null && isVectorIfUnknown ? 1 : known?.length;
    if (rank === undefined) {
      throw new ValueError(
        `Cannot part strings of unknown rank in ${fn}: their rank must be known`,
      );
    }
    if (rank === 1) return part(strings);
    const parted = part(reshape(strings, [-1]));
    if (rank === 0) return parted.map((rows) => rows.values as Tensor);
    const splits = splitsOfAxes(strings, rank);
    return parted.map((rows) => within(rows, splits));
  });
}

/** Starts of the rows along each axis behind the first. */
function splitsOfAxes(strings: Tensor, rank: number): Tensor[] {
  const dims = shape(strings), splits: Tensor[] = [];
  let rows = gather(dims, 0) as Tensor;
  for (let axis = 1; axis < rank; axis++) {
    const extent = gather(dims, axis) as Tensor;
    splits.push(mul(range(0, add(rows, 1), 1, "int32"), extent));
    rows = mul(rows, extent);
  }
  return splits;
}

/** Puts rows into the rows of outer axes. */
function within(rows: RaggedTensor, outer: readonly Tensor[]): RaggedTensor {
  return outer.reduceRight((inner, splits) => RaggedTensor.fromRowSplits(inner, splits), rows);
}
