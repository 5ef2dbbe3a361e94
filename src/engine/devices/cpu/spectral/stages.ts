/**
 * Stages of Fourier transforms that sort on their way (Stockham): each combines as many numbers as its radix says, `apart` bytes from each
 * other, for each of `count` factors and the `step` bytes of neighbours that share them.
 */
import type { FunctionRef, I } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import { Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { butterfly, type Radix } from "./butterflies.ts";
import { type C, GROUP, Lanes, type Part } from "./lanes.ts";

type V = Value<Part>;

/** Functions of a module, for one precision. */
export interface Writer {
  readonly m: ModuleBuilder;
  readonly part: Part;
  /** True where multiply-add may be fused. */
  readonly relaxed: boolean;
}

/** A function of so many addresses and numbers, without a result. */
export type Fn = FunctionRef<readonly "i32"[], null>;

/** Adds a function to the module. */
export function define(
  { m, part, relaxed }: Writer,
  params: number,
  body: (v: Lanes, params: readonly I[]) => void,
  name: string | null = null,
): Fn {
  return m.function(name, new Array<"i32">(params).fill("i32"), null, (f, ...p) => {
    body(new Lanes(new Simd(f, relaxed), part), p);
  });
}

/** Places of the numbers of a block of scales: sign of the imaginary parts that are read, factors of the parts that are written. */
export const SCALES = { sign: 0, re: 1, im: 2, numbers: 3 };

/**
 * Adds a stage between others: `(to, from, factors, count, step)`. The factors of all numbers but the first lie side by side, their parts
 * too.
 */
export function innerStage(w: Writer, radix: Radix): Fn {
  return define(w, 5, (v, [to, from, factors, count, step]) => {
    const { f } = v, inputs = f.ramp(from, i32.mul(count, step), radix);
    const outputs = f.ramp(to, step, radix), skipped = f.let(i32.mul(step, radix - 1));
    f.countDown(count, 1, () => {
      const by = Array.from({ length: radix - 1 }, (_, k): V[] => {
        const c = v.let(v.ops.loadSplat(factors, 2 * k * v.bytes));
        const s = v.let(v.ops.loadSplat(factors, (2 * k + 1) * v.bytes));
        return [c, s, v.neg(s)];
      });
      const left = f.variable("i32", step);
      f.countDown(left, GROUP, () => {
        const y = butterfly(v, inputs.map((p) => v.load(p)));
        outputs.forEach((p, k) => v.store(p, k === 0 ? y[0] : v.times(y[k], by[k - 1])));
        [...inputs, ...outputs].forEach((p) => f.advance(p, GROUP));
      });
      outputs.forEach((p) => f.advance(p, skipped));
      f.advance(factors, 2 * (radix - 1) * v.bytes);
    });
  });
}

/** Adds a last stage, whose factors are all 1: `(to, from, step)`; with scales it writes numbers as tensors have them: `(…, scales)`. */
export function lastStage(w: Writer, radix: Radix, isScaled: boolean): Fn {
  return define(w, isScaled ? 4 : 3, (v, [to, from, step, scales]) => {
    const { f } = v, inputs = f.ramp(from, step, radix), outputs = f.ramp(to, step, radix);
    const scale = isScaled
      ? [SCALES.re, SCALES.im].map((n) => v.let(v.ops.loadSplat(scales, n * v.bytes)))
      : [];
    f.countDown(step, GROUP, () => {
      const y = butterfly(v, inputs.map((p) => v.load(p)));
      outputs.forEach((p, k) => {
        if (!isScaled) return v.store(p, y[k]);
        v.storeNumbers(p, y[k].map((x, i) => v.let(v.ops.mul(x, scale[i]))) as unknown as C);
      });
      [...inputs, ...outputs].forEach((p) => f.advance(p, GROUP));
    });
  });
}

/**
 * Adds the first stage of a single row of numbers as tensors have them: `(to, from, factors, count, scales)`, with neighbouring factors in
 * vectors; the factors of a number lie one after the other, their real parts first.
 */
export function firstStage(w: Writer): Fn {
  return define(w, 5, (v, [to, from, factors, count, scales]) => {
    const { f } = v, sign = v.let(v.ops.loadSplat(scales, SCALES.sign * v.bytes));
    const size = f.let(i32.mul(count, v.bytes)), apart = f.let(i32.mul(size, 2));
    const done = f.variable("i32", 0), last = f.let(i32.add(count, -v.width));
    f.while(i32.lt(done, count), () => {
      // The last vector begins early where it would end late.
      f.if(i32.gt(done, last), () => f.set(done, last));
      const inputs = f.ramp(i32.add(from, i32.mul(done, 2 * v.bytes)), apart, 4);
      const x = inputs.map((p): C => {
        const [re, im] = v.loadNumbers(p);
        return [re, v.let(v.ops.mul(im, sign))];
      });
      const y = butterfly(v, x);
      const at = f.variable("i32", i32.add(factors, i32.mul(done, v.bytes)));
      const z = y.map((yk, k): C => {
        if (k === 0) return yk;
        const c = v.let(v.ops.load(at));
        f.advance(at, size);
        const s = v.let(v.ops.load(at));
        f.advance(at, size);
        return v.times(yk, [c, s, v.neg(s)]);
      });
      const place = f.let(i32.add(to, i32.mul(done, 8 * v.bytes)));
      v.turned(z).forEach((group, i) => v.store(place, group, GROUP * i));
      f.advance(done, v.width);
    });
  });
}
