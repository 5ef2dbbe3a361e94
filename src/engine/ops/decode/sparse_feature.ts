/** Sparse tensors of two features of records: of their indices along some axes, and of their values. */
import { apply } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { reshape } from "../array/view.ts";
import { intVector } from "../input.ts";
import { checkedIndices } from "../ragged/sparse_check.ts";
import { SparseReorder } from "../ragged/sparse_parts.ts";

/** A feature of any number of values as the op gives it: indices and dense shape of int64. */
export type Found = readonly [indices: Tensor, values: Tensor, denseShape: Tensor];

/** Returns the indices, values and dense shape of a sparse feature. */
export function mergedSparse(
  name: string,
  { size, alreadySorted }: {
    readonly size: number | readonly number[];
    readonly alreadySorted: boolean;
  },
  { ids, own }: { readonly ids: readonly Found[]; readonly own: Found },
): Tensor[] {
  const [, values] = own, [[places, , dims]] = ids;
  const count = values.staticShape?.[0] ?? null;
  for (const [, { staticShape }] of ids) {
    const given = staticShape?.[0] ?? null;
    if (count === null || given === null || count === given) continue;
    throw new InvalidArgumentError(
      `Cannot parse the sparse feature "${name}": it has ${given} indices and ${count} values`,
    );
  }
  const rank = (places.staticShape?.[1] ?? 1) - 1, sizes = [size].flat();
  const columns = ids.map(([, at]) => reshape(at, [-1, 1]));
  // Places of the values stand behind the columns, so that graphs refuse other numbers of them too.
  const joined = concat([slice(places, [0, 0], [-1, rank]), ...columns, own[0]], 1);
  const denseShape = concat([slice(dims, [0], [rank]), cast(intVector(sizes), "int64")]);
  const indices = checkedIndices({
    indices: slice(joined, [0, 0], [-1, rank + sizes.length]),
    denseShape,
  });
  const [at, sorted] = alreadySorted
    ? [indices, values]
    : apply(SparseReorder, [indices, values, denseShape]);
  return [cast(at, "int32"), sorted, cast(denseShape, "int32")];
}
