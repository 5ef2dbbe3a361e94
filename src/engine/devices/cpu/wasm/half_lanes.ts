/** float16 in lanes of 32 bits: to and from float32, which WebAssembly has no instruction for. */
import type { FunctionBuilder } from "./function_builder.ts";
import { f32x4, i32x4 } from "./instructions.ts";
import type { F4, I4 } from "./simd.ts";
import type { Value } from "./value.ts";

/** Converts halves, which lie in lanes with their signs extended, to float32. */
export function ofHalves(f: FunctionBuilder, halves: Value<"i32x4">): F4 {
  const x = scaledHalves(f, halves), exponent = f.constant("i32x4", 0x0f800000);
  const most = i32x4.eq(i32x4.and(i32x4.ofBits(x), exponent), exponent);
  const special = i32x4.and(most, f.constant("i32x4", 0x7f800000));
  const number = f32x4.mul(x, f.constant("f32x4", 2 ** 112));
  return f32x4.or(number, f32x4.ofBits(special));
}

/** Converts finite halves to float32 times 2⁻¹¹²: their bits in the places of those of float32. */
export function scaledHalves(f: FunctionBuilder, halves: Value<"i32x4">): F4 {
  const kept = f.constant("i32x4", 0x8fffe000 | 0);
  return f.let(f32x4.ofBits(i32x4.and(i32x4.shl(halves, 13), kept)));
}

/** Rounds float32 to the bits of halves, ties to even, as unsigned numbers in the lanes. */
export function halfBits(f: FunctionBuilder, value: F4): I4 {
  const x = f.let(value), bits = i32x4.ofBits(x), least = f.constant("i32x4", LEAST);
  const magnitude = i32x4.and(bits, f.constant("i32x4", 0x7fffffff));
  // All that is larger becomes infinity as 65536 does.
  const size = f.let(i32x4.min(magnitude, f.constant("i32x4", TOO_LARGE)));
  // A sum with a power of two that is 13 places above the number's own, or above the least of normal halves, has their last place.
  const own = f.let(i32x4.max(i32x4.and(size, f.constant("i32x4", 0x7f800000)), least));
  const power = f.let(i32x4.add(own, f.constant("i32x4", 13 << 23)));
  const sum = i32x4.ofBits(f32x4.add(f32x4.ofBits(size), f32x4.ofBits(power)));
  const exponent = i32x4.shrU(i32x4.sub(own, least), 13);
  const half = i32x4.add(exponent, i32x4.sub(sum, power));
  const nan = i32x4.and(f32x4.ne(x, x), f.constant("i32x4", 0x200));
  const sign = i32x4.and(i32x4.shrU(bits, 16), f.constant("i32x4", 0x8000));
  return f.let(i32x4.or(i32x4.or(half, nan), sign));
}

/** The bits of 2⁻¹⁴, the least normal half, and of 65536. */
const LEAST = 113 << 23, TOO_LARGE = 143 << 23;
