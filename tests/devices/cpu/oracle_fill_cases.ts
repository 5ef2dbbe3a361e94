/** Kernels that make elements of nothing but numbers, each with random cases and what they should give. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";

type Made = "float32" | "int32" | "uint32" | "bool";

function scalar(dtype: Made, value: number): NdArray {
  const array = NdArray.zeros(dtype, []);
  (array.data as Float32Array)[0] = value;
  return array;
}

/** An element of the dtype, now and then one that goes wrong. */
function element(dice: Dice, dtype: Made): number {
  if (dtype === "bool") return dice.between(0, 1);
  if (dtype === "float32") return (dice.floats([1], 100).data as Float32Array)[0];
  const [value] = dice.integers([1]).data as Int32Array;
  return dtype === "uint32" ? value >>> 0 : value;
}

const same = (shape: readonly number[], value: number): Float64Array =>
  new Float64Array(sizeOf(shape)).fill(value);

/** Small, and now and then large enough to be filled by copies. */
function filledShape(dice: Dice): number[] {
  return dice.chance(0.03) ? [dice.between(8000, 30000)] : dice.shape(dice.between(0, 3), 9);
}

function fill(dice: Dice): Case {
  const dtype = dice.pick<Made>("float32", "int32", "uint32", "bool");
  const shape = filledShape(dice), value = element(dice, dtype);
  return {
    inputs: [ints(...shape), scalar(dtype, value)],
    outputs: [{ values: same(shape, value) }],
  };
}

function fillNumber(dice: Dice): Case {
  const T = dice.pick<Made>("float32", "int32", "uint32", "bool");
  const shape = filledShape(dice), value = element(dice, T);
  return {
    inputs: [ints(...shape)],
    attrs: { T, value },
    outputs: [{ values: same(shape, value) }],
  };
}

function like(value: number) {
  return (dice: Dice): Case => {
    const shape = dice.shape(dice.between(0, 3), 9);
    const x = dice.chance(0.5) ? dice.floats(shape) : dice.integers(shape);
    return { inputs: [x], outputs: [{ values: same(shape, value) }] };
  };
}

function range(dice: Dice): Case {
  const dtype = dice.pick<Made>("float32", "int32");
  const whole = dtype === "int32" ? Math.round : Math.fround;
  const start = whole(dice.between(-50, 50) / 3), count = dice.extent(60);
  const delta = whole((dice.chance(0.5) ? 1 : -1) * dice.between(4, 40) / 4);
  const limit = whole(start + (count - 0.25) * delta);
  const inputs = [start, count === 0 ? start : limit, delta].map((v) => scalar(dtype, v));
  const most = count === 0 ? 0 : Math.ceil((limit - start) / delta);
  const values = Float64Array.from({ length: most }, (_, i) => Math.fround(start + i * delta));
  return { inputs, outputs: [{ values }] };
}

function linSpace(dice: Dice): Case {
  const [start, stop] = dice.plain([2], 100).data as Float32Array, n = dice.between(1, 60);
  const step = n > 1 ? (stop - start) / (n - 1) : 0;
  const values = Float64Array.from(
    { length: n },
    (_, i) => (i === n - 1 && n > 1 ? stop : Math.fround(start + i * step)),
  );
  return {
    inputs: [scalar("float32", start), scalar("float32", stop), scalar("int32", n)],
    outputs: [{ values }],
  };
}

/** Filling and numbering. */
export const FILL_KERNELS: readonly Kernel[] = [
  ["Fill", fill],
  ["FillNumber", fillNumber],
  ["ZerosLike", like(0)],
  ["OnesLike", like(1)],
  ["Range", range],
  ["LinSpace", linSpace],
];
