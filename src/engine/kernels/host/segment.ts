/** Extremes, products and means of segments on the host, in any real dtype. */
import { type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../../core/dtype.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";

/** The fold of a segment's elements. */
export type SegmentFold = "max" | "min" | "prod" | "mean";

/** Returns the result of an empty segment; of sorted segments it is 0, or 1 for products. */
function nothing(dtype: DType, how: SegmentFold, sorted: boolean): number | bigint {
  const n = how === "prod" ? 1 : 0;
  if (how === "prod" || how === "mean" || sorted) return isBigInt(dtype) ? BigInt(n) : n;
  const float = DTYPES[dtype].float?.greatest;
  const [low, high] = float === undefined ? INTEGER_ENDS[dtype]! : [-float, float];
  return how === "max" ? low : high;
}

type Fold = (a: number, b: number) => number;
const FOLDS: Readonly<Record<SegmentFold, Fold>> = {
  max: (a, b) => (b > a ? b : a),
  min: (a, b) => (b < a ? b : a),
  prod: (a, b) => a * b,
  mean: (a, b) => a + b,
};

/**
 * Folds the slices of `data` that `ids` assign to the same segment, `inner` elements each, into `out`. Slices of
 * negative ids are skipped; ids must be below the number of segments.
 */
export function segmentCpu(
  data: NdArray,
  ids: readonly number[],
  out: NdArray,
  { how, inner, sorted }: {
    readonly how: SegmentFold;
    readonly inner: number;
    readonly sorted: boolean;
  },
): void {
  const { dtype } = out, counts = new Map<number, number>();
  // Products of int32 wrap, those of floats do not.
  const fold = how === "prod" && dtype === "int32" ? Math.imul : FOLDS[how];
  const isWhole = DTYPES[dtype].kind === "int" || DTYPES[dtype].kind === "uint";
  const sums = new Array<number>(out.size).fill(nothing(dtype, how, sorted) as number);
  ids.forEach((id, i) => {
    if (id < 0) return;
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    for (let k = 0; k < inner; k++) {
      const value = data.at(i * inner + k) as number, at = id * inner + k;
      sums[at] = count === 0 ? value : fold(sums[at], value);
    }
  });
  sums.forEach((v, at) => setElement(out, at, how === "mean" ? mean(v, at) : v));

  function mean(sum: number, at: number): number {
    const n = counts.get(Math.floor(at / inner)) ?? 1;
    if (typeof sum === "bigint") return sum / BigInt(n) as unknown as number;
    return isWhole ? Math.trunc(sum / n) : sum / n;
  }
}
