/** Kernels of the CPU device that turn and bend images, each with random cases and what they should give. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { eachIndex, Sums } from "./oracles.ts";

/** A place along an axis of `n` pixels, brought into it. */
function folded(v: number, n: number, mode: string): number {
  if (mode === "CONSTANT") return v;
  let at = v;
  if (mode === "REFLECT" && n > 1) {
    const rest = v % (2 * n);
    if (v < 0) at = rest < -n ? rest + 2 * n : -rest - 1;
    else if (v > n - 1) at = rest >= n ? 2 * n - rest - 1 : rest;
  } else if (mode === "WRAP" && n > 1) {
    if (v < 0) at = v + n * (Math.trunc(-v / (n - 1)) + 1);
    else if (v > n - 1) at = v - n * Math.trunc(v / (n - 1));
  }
  return Math.min(Math.max(at, 0), n - 1);
}

function transform(dice: Dice): Case {
  const [h, w, c] = [dice.between(1, 7), dice.between(1, 7), dice.extent(9)];
  const batch = dice.extent(3), to = [dice.between(1, 8), dice.between(1, 8)];
  const interpolation = dice.pick("NEAREST", "BILINEAR");
  const fill_mode = dice.pick("CONSTANT", "REFLECT", "WRAP", "NEAREST");
  const whole = interpolation === "NEAREST" && dice.chance(0.2);
  const shape = [batch, h, w, c];
  const x = whole ? dice.integers(shape) : dice.floats(shape);
  const count = dice.chance(0.5) ? 1 : batch, size = [batch, ...to, c];
  // Exact in binary, so that the order of sums does not tell; divisors of 0 among them.
  const bent = dice.chance(0.4), exact = dice.chance(0.8);
  const transforms = Float32Array.from({ length: 8 * count }, (_, i) => {
    const [steps, unit] = i % 8 > 5 ? [bent ? 3 : 0, 4] : i % 3 === 2 ? [40, 4] : [16, 8];
    return dice.between(-steps, steps) / unit * (exact ? 1 : 1.1);
  });
  const rest = dice.pick(0, -2, 7), sums = new Sums(sizeOf(size));
  eachIndex(size, ([n, i, j, d], at) => {
    const t = transforms.subarray(count === 1 ? 0 : 8 * n);
    const pixel = (a: number, b: number): number =>
      a >= 0 && a < h && b >= 0 && b < w ? x.data[((n * h + a) * w + b) * c + d] as number : rest;
    const divisor = t[6] * j + t[7] * i + 1;
    if (divisor === 0) return sums.add(at, rest);
    const place = (a: number, n: number): number =>
      folded((t[a] * j + t[a + 1] * i + t[a + 2]) / divisor, n, fill_mode);
    const [y, z] = [place(3, h), place(0, w)];
    if (interpolation === "NEAREST") {
      return sums.add(at, pixel(Math.floor(y + 0.5), Math.floor(z + 0.5)));
    }
    const [a, b] = [Math.floor(y), Math.floor(z)];
    for (const [row, p] of [[a, 1 - (y - a)], [a + 1, y - a]]) {
      for (const [column, q] of [[b, 1 - (z - b)], [b + 1, z - b]]) {
        // A pixel of no weight does not count, be it infinite.
        if (p * q !== 0) sums.add(at, p * q * pixel(row, column));
      }
    }
  });
  const output = interpolation === "NEAREST" ? { values: sums.values } : sums;
  return {
    inputs: [
      x,
      new NdArray("float32", [count, 8], transforms),
      ints(...to),
      new NdArray("float32", [], Float32Array.of(rest)),
    ],
    attrs: { interpolation, fill_mode },
    outputs: [output],
  };
}

function rotation(dice: Dice): Case {
  const shape = [dice.extent(3), dice.between(1, 8), dice.between(1, 8), dice.extent(9)];
  const [, h, w, c] = shape, x = dice.floats(shape);
  const radians = dice.pick(0, 0.5, Math.PI / 2, -Math.PI, dice.between(-70, 70) / 10);
  const center = [dice.between(-1, 5) / 4, dice.between(0, 10) / 10];
  const fill_value = dice.chance(0.5) ? [dice.pick(0, 3)] : [1, 2, 3];
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  const [middle, height] = [w * center[0], h * center[1]];
  const values = new Float64Array(x.size);
  eachIndex(shape, ([n, i, j, d], at) => {
    const column = Math.floor((j - middle) * cos - (i - height) * sin + middle + 0.5);
    const row = Math.floor((j - middle) * sin + (i - height) * cos + height + 0.5);
    // One number fills all; of three, colours take theirs, and the fourth channel is opaque.
    const rest = fill_value.length === 1 ? fill_value[0] : d === 3 ? 255 : fill_value[d] ?? 0;
    values[at] = row >= 0 && row < h && column >= 0 && column < w
      ? x.data[((n * h + row) * w + column) * c + d] as number
      : rest;
  });
  return { inputs: [x], attrs: { radians, fill_value, center }, outputs: [{ values }] };
}

/** Kernels that read images at computed places. */
export const WARP_KERNELS: readonly Kernel[] = [
  ["ImageProjectiveTransformV3", transform],
  ["RotateWithOffset", rotation],
];
