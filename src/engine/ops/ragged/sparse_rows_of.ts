/** sparseRows: the sparse matrix of rows of different lengths. */
import { cast } from "../array/cast.ts";
import { zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat, stack } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { reshape, size } from "../array/view.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { max } from "../reduce/reduce.ts";
import type { RaggedTensor } from "./ragged_tensor.ts";
import type { SparseLike } from "./sparse_input.ts";
import { SparseArray } from "./ragged_array.ts";
import { SparseTensor } from "./sparse_tensor.ts";

/** Returns rows as a sparse tensor, as wide as the longest of them. */
export function sparseRows(x: SparseLike | RaggedTensor): SparseTensor {
  if (x instanceof SparseTensor) return x;
  if (x instanceof SparseArray) return new SparseTensor(x.indices, x.values, x.denseShape);
  const ids = x.valueRowIds(), { dtype } = ids;
  const places = cast(range(0, size(ids), 1, "int32"), dtype);
  const columns = sub(places, gather(cast(x.rowSplits, dtype), ids));
  const none = zerosLike(slice(cast(x.rowSplits, dtype), [0], [1]));
  const dims = concat([
    reshape(cast(x.nrows(), dtype), [1]),
    reshape(max(concat([cast(x.rowLengths(), dtype), none])), [1]),
  ]);
  return new SparseTensor(stack([ids, columns], 1), x.flatValues, dims);
}
