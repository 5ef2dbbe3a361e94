/** Rule that `./tf` alone has: a sparse tensor split along an axis. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { size } from "../../../engine/ops/array/view.ts";
import { range } from "../../../engine/ops/of_files.ts";
import { add, floorDiv, mod, mul, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { less } from "../../../engine/ops/pointwise/compare.ts";
import { sum } from "../../../engine/ops/reduce/reduce.ts";
import { addEntries } from "../op_table.ts";
import { type ImportedNode, intOf, put, put1, rule } from "../rule.ts";

const wide = (x: Tensor): Tensor => cast(x, "int64");

/** The parts as slices: the first ones are larger by one where the extent is no multiple. */
function sparseSplit({ inputs: [axis, ...given], attr }: ImportedNode): Tensor[] {
  const count = intOf(attr.num_split, 1), dims = given[2], rank = size(dims);
  const places = range(0, rank), at = mod(cast(axis, "int32"), rank);
  const along = wide(put1("Equal", [places, at]));
  const extent = sum(mul(along, dims));
  const number = (n: number): Tensor => wide(cast(n, "int32"));
  const least = floorDiv(extent, number(count)), more = mod(extent, number(count));
  const parts = Array.from({ length: count }, (_, i) => {
    const before = put1("Minimum", [number(i), more]);
    const begin = mul(along, add(mul(number(i), least), before));
    const own = add(least, wide(less(number(i), more)));
    const most = add(mul(sub(number(1), along), dims), mul(along, own));
    return put("SparseSlice", [...given, begin, most]);
  });
  return [0, 1, 2].flatMap((k) => parts.map((part) => part[k]));
}

addEntries({ SparseSplit: rule(sparseSplit, 4) });
