/** Short rows in order: an element's place is the number of elements before it, found by comparing all with all. */
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import { type I4, laneNumbers } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { THRESHOLDS } from "../thresholds.ts";

type I = Local<"i32">;

/** Longer rows are ranked where at least one element in so many is wanted. */
const ONE_IN = 4;
/** The least key. */
const LOWEST = -2147483648;

/** True where ranking is the fastest way to the first `k` of `n`. */
export function isRanked(n: number, k: number): boolean {
  return n <= THRESHOLDS.rankedRow || (n <= THRESHOLDS.rankedLongRow && k * ONE_IN >= n);
}

/**
 * Parameters: from, rows, their length, number wanted, values, indices, room for the keys of a row in whole vectors.
 */
export function writeRank(
  f: FunctionBuilder,
  keysOf: (v: I4) => I4,
  [x, rows, n, k, values, places, keys]: readonly I[],
): void {
  const end = f.let(i32.add(keys, i32.and(i32.add(i32.shl(n, 2), 12), -16)));
  const at = f.local("i32"), other = f.local("i32"), from = f.local("i32");
  const rank = f.local("i32"), place = f.local("i32"), before = f.local("i32x4");
  const lanes = f.let(laneNumbers(f)), count = f.let(i32x4.splat(n));
  const later = [0, 1, 2, 3].map((u) => f.let(i32x4.gt(lanes, u)));
  /** Counts, for each of four keys, those of four others that come before it. */
  const compare = (others: I4, isBefore: (one: I4, u: number) => I4): void =>
    [0, 1, 2, 3].forEach((u) => {
      const one = f.let(i32x4.shuffle(others, others, [u, u, u, u]));
      f.set(before, i32x4.sub(before, isBefore(one, u)));
    });
  /** Walks the vectors of the row, with the number of their first element. */
  const along = (body: () => void): void => {
    f.set(at, keys);
    f.set(from, x);
    f.set(place, 0);
    f.while(i32.ltU(at, end), () => {
      body();
      f.advance(at, 16);
      f.advance(from, 16);
      f.advance(place, 4);
    });
  };
  f.countDown(rows, 1, () => {
    along(() => {
      // Lanes beyond the row come after all of it.
      const isOwn = i32x4.lt(i32x4.add(lanes, i32x4.splat(place)), count);
      f.store(
        at,
        i32x4.select(keysOf(f.let(i32x4.load(from))), f.constant("i32x4", LOWEST), isOwn),
      );
    });
    along(() => {
      const own = f.let(i32x4.load(at));
      const until = (last: Value<"i32">, isBefore: (one: I4) => I4): void =>
        f.while(i32.ltU(other, last), () => {
          compare(f.let(i32x4.load(other)), isBefore);
          f.advance(other, 16);
        });
      f.set(before, i32x4.const(0));
      f.set(other, keys);
      until(at, (one) => i32x4.ge(one, own));
      compare(own, (one, u) => {
        const isEqual = i32x4.and(i32x4.eq(one, own), later[u]);
        return i32x4.or(i32x4.gt(one, own), isEqual);
      });
      f.advance(other, 16);
      until(end, (one) => i32x4.gt(one, own));
      for (let u = 0; u < 4; u++) {
        f.set(rank, i32x4.lane(before, u));
        f.if(i32.lt(rank, k), () => {
          f.set(rank, i32.shl(rank, 2));
          f.store(i32.add(values, rank), i32.load(from, 4 * u));
          f.store(i32.add(places, rank), i32.add(place, u));
        });
      }
    });
    f.advance(x, i32.shl(n, 2));
    [values, places].forEach((p) => f.advance(p, i32.shl(k, 2)));
  });
}
