/** Counts of ragged rows, which only files have. On the host. */
import { defineOp } from "../../engine/core/op.ts";
import { setElement } from "../../engine/core/nd_array.ts";
import { isBigInt } from "../../engine/core/dtype.ts";
import { hostInts, knownInts } from "../../engine/ops/array/view.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

/** Throws `InvalidArgumentError` for invalid row splits of this many values. */
function checkSplits(splits: readonly number[], count: number): void {
  if (splits[0] !== 0) refuse(`Splits must start with 0, not with ${splits[0]}`);
  if (splits.at(-1) !== count || splits.some((v, i) => v < (splits[i - 1] ?? 0))) {
    refuse(`Splits must rise up to the number of values, ${count}, received [${splits}]`);
  }
}

defineOp({
  name: "RaggedBincount",
  inputs: ["splits: int64", "values: Tidx", "size: Tidx", "weights: T"],
  outputs: ["output: T"],
  attrs: ["Tidx: index", "T: {int32, int64, float32, float64}", "binary_output: bool = false"],
  hostInputs: ["size"],
  infer: ([splits, , size]) => {
    const rows = splits.shape?.[0] ?? null;
    return [[rows === null ? null : rows - 1, knownInts(size)?.[0] ?? null]];
  },
  grad: null,
  cpu: ([splits, values, size, weights], [out], { attrs: { binary_output } }) => {
    const ends = hostInts(splits), bins = hostInts(size)[0], all = hostInts(values);
    checkSplits(ends, all.length);
    const isWide = isBigInt(out.dtype), one = (n: number) => (isWide ? BigInt(n) : n) as number;
    (out.data as number[]).fill(one(0));
    for (let row = 0, i = 0; row < ends.length - 1; row++) {
      for (; i < ends[row + 1]; i++) {
        if (all[i] < 0) refuse(`Input must be non-negative, received ${all[i]}`);
        if (all[i] >= bins) continue;
        const at = row * bins + all[i];
        const more = weights.size === 0 ? one(1) : weights.at(i) as number;
        setElement(out, at, binary_output ? one(1) : out.at(at) as number + more);
      }
    }
  },
});
