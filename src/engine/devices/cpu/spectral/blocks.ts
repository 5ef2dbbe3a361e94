/** Blocks of rows or columns side by side in the lanes of vectors: loaded, transformed, stored. */
import type { I, Local } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import type { Value } from "../wasm/value.ts";
import { type C, GROUP, type Lanes } from "./lanes.ts";
import { define, type Fn, SCALES, type Writer } from "./stages.ts";

/** Addresses of the numbers of a vector's lanes, `step` bytes apart; lanes past the last of `count` take its number. */
function laneAddresses({ f, width }: Lanes, first: I, step: I, count: I): Local<"i32">[] {
  const at = f.variable("i32", first);
  return Array.from({ length: width }, (_, lane) => {
    if (lane > 0) f.if(i32.gt(count, lane), () => f.advance(at, step));
    return f.variable("i32", at);
  });
}

/**
 * Adds the functions that load and store numbers of lanes: `(block, memory, numbers, bytes from number to number in memory, from lane to
 * lane, lanes, bytes from number to number in the block, scales)`. Lanes side by side fill the block's numbers.
 */
export function moves(w: Writer): { readonly load: Fn; readonly store: Fn } {
  const add = (isLoad: boolean): Fn =>
    define(w, 8, (v, [block, memory, numbers, step, laneStep, lanes, blockStep, scales]) => {
      const { f } = v, { mul, loadSplat } = v.ops;
      const scale = (n: number): Value<typeof v.type> => v.let(loadSplat(scales, n * v.bytes));
      const [re, im] = isLoad ? [null, scale(SCALES.sign)] : [scale(SCALES.re), scale(SCALES.im)];
      const scaled = ([a, b]: C): C => [re ? v.let(mul(a, re)) : a, v.let(mul(b, im))];
      const whole = i32.eq(lanes, i32.mul(i32.div(blockStep, GROUP), v.width));
      f.if(i32.and(i32.eq(laneStep, 2 * v.bytes), whole), () => {
        const rest = f.let(i32.sub(step, blockStep));
        f.countDown(numbers, 1, () => {
          const left = f.variable("i32", blockStep);
          f.countDown(left, GROUP, () => {
            if (isLoad) v.store(block, scaled(v.loadNumbers(memory)));
            else v.storeNumbers(memory, scaled(v.load(block)));
            f.advance(block, GROUP);
            f.advance(memory, GROUP);
          });
          f.advance(memory, rest);
        });
      }, () => {
        f.while(i32.gt(lanes, 0), () => {
          const at = laneAddresses(v, memory, laneStep, lanes);
          const place = f.variable("i32", block), left = f.variable("i32", numbers);
          f.countDown(left, 1, () => {
            if (isLoad) v.store(place, scaled(v.gather(at)));
            else v.scatter(at, scaled(v.load(place)));
            at.forEach((p) => f.advance(p, step));
            f.advance(place, blockStep);
          });
          f.advance(block, GROUP);
          f.advance(memory, i32.mul(laneStep, v.width));
          f.advance(lanes, -v.width);
        });
      });
    });
  return { load: add(true), store: add(false) };
}

/**
 * Adds the function that turns the numbers of a block by products of two factors: `(block, numbers, bytes of a number in the block, low
 * factors, their count, high factors, bytes from one to the next)`. Both have vectors for neighbouring lanes.
 */
export function twist(w: Writer): Fn {
  return define(w, 7, (v, [block, numbers, blockStep, low, most, high, step]) => {
    const { f } = v, lane = f.variable("i32", 0);
    f.while(i32.lt(lane, blockStep), () => {
      const at = f.variable("i32", i32.add(block, lane)), left = f.variable("i32", numbers);
      const outer = f.variable("i32", i32.add(high, lane));
      f.while(i32.gt(left, 0), () => {
        const [c, s] = v.load(outer), by = [c, s, v.neg(s)];
        const inner = f.variable("i32", i32.add(low, lane)), count = f.variable("i32", most);
        f.if(i32.lt(left, count), () => f.set(count, left));
        f.advance(left, i32.sub(0, most));
        f.countDown(count, 1, () => {
          const [re, im] = v.times(v.load(inner), by);
          v.store(at, v.times(v.load(at), [re, im, v.neg(im)]));
          f.advance(inner, step);
          f.advance(at, blockStep);
        });
        f.advance(outer, step);
      });
      f.advance(lane, GROUP);
    });
  });
}
