/** Rows sorted in descending order, by one byte of the keys after the other, with their indices. */
import { roundUp } from "../blocks.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { i32, i32x4 } from "../wasm/instructions.ts";
import type { I4 } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

type I = Local<"i32">;

const DIGITS = [0, 8, 16, 24];
/** Counters of the values of one byte, in bytes. */
const COUNTER_BYTES = 4 * 256;

/** Returns the bytes of the room for rows of `n`: counters, and keys with their indices twice. */
export function sortBytes(n: number): number {
  return DIGITS.length * COUNTER_BYTES + 2 * roundUp(8 * n);
}

/** Parameters: from, rows, their length, number wanted, values, indices, room. */
export function writeSort(
  f: FunctionBuilder,
  keysOf: (v: I4) => I4,
  [x, rows, n, k, values, places, counters]: readonly I[],
): void {
  const size = f.let(i32.shl(n, 3));
  const first = f.let(i32.add(counters, DIGITS.length * COUNTER_BYTES));
  const second = f.let(i32.add(first, i32.and(i32.add(size, 63), -64)));
  const from = f.local("i32"), to = f.local("i32"), key = f.local("i32"), place = f.local("i32");
  const counter = (digit: number): Value<"i32"> =>
    i32.add(counters, i32.shl(i32.and(i32.shrU(key, digit), 255), 2));
  const count = (): void => {
    f.set(to, first);
    f.times(n, (i) => {
      // Inverted, the greatest key is the least unsigned.
      const bits = keysOf(f.let(i32x4.loadSplat(i32.add(x, i32.shl(i, 2)))));
      f.set(key, i32.xor(i32x4.lane(bits, 0), 0x7fffffff));
      f.store(to, key);
      f.store(to, i, 4);
      f.advance(to, 8);
      DIGITS.forEach((digit, d) => {
        const at = f.let(counter(digit)), offset = d * COUNTER_BYTES;
        f.store(at, i32.add(i32.load(at, offset), 1), offset);
      });
    });
  };
  /** Converts counts to the first place of each byte. */
  const sum = (offset: number): void => {
    const at = f.variable("i32", counters), next = f.variable("i32", to);
    f.times(256, () => {
      const own = f.let(i32.shl(i32.load(at, offset), 3));
      f.store(at, next, offset);
      f.set(next, i32.add(next, own));
      f.advance(at, 4);
    });
  };
  const move = (digit: number, offset: number): void => {
    const end = f.let(i32.add(from, size)), source = f.variable("i32", from);
    f.while(i32.ltU(source, end), () => {
      f.set(key, i32.load(source));
      const at = f.let(counter(digit)), target = f.let(i32.load(at, offset));
      f.store(target, key);
      f.store(target, i32.load(source, 4), 4);
      f.store(at, i32.add(target, 8), offset);
      f.advance(source, 8);
    });
  };
  f.countDown(rows, 1, () => {
    f.fill(counters, 0, DIGITS.length * COUNTER_BYTES);
    count();
    f.set(from, first);
    f.set(to, second);
    DIGITS.forEach((digit, d) => {
      const offset = d * COUNTER_BYTES;
      f.set(key, i32.load(from));
      // A byte that all keys share orders nothing.
      f.if(i32.lt(i32.load(counter(digit), offset), n), () => {
        sum(offset);
        move(digit, offset);
        f.set(place, from);
        f.set(from, to);
        f.set(to, place);
      });
    });
    f.times(k, () => {
      f.set(place, i32.load(from, 4));
      f.store(places, place);
      f.store(values, i32.load(i32.add(x, i32.shl(place, 2))));
      [from, places, values].forEach((p, i) => f.advance(p, i === 0 ? 8 : 4));
    });
    f.advance(x, i32.shl(n, 2));
  });
}
