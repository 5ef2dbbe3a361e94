/** The results of a program, and their comparison. */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";

/** Dtype and nested elements. */
export type Value = readonly [tf.DType, unknown];
/** The results of a program: the outputs of each step, and the variables after the last. */
export interface Result {
  readonly steps: Record<string, Value>[];
  readonly variables: Record<string, Value>;
}

/** Tolerance of numbers of a dtype; integers are equal. */
export type Tolerances = Partial<Record<tf.DType, number>>;

/**
 * Tolerance against TensorFlow, relative to one plus the size. Sums have another order and elementary functions other
 * approximations, each a few units in the last place (6e-8 in float32), which some training steps multiply.
 */
export const NEAR_TENSORFLOW: Tolerances = {
  float16: 4e-3,
  float32: 5e-5,
  float64: 1e-9,
  complex64: 5e-5,
};

/** Tolerance between modes: the kernels are the same except for fusion, which saves roundings. */
export const NEAR_EAGER: Tolerances = {
  float16: 4e-3,
  float32: 2e-5,
  float64: 1e-12,
  complex64: 2e-5,
};

/** An array, or a session's scalar of this dtype, as what is compared. */
export function valueOf(x: unknown, dtype?: tf.DType): Value {
  return x instanceof tf.NdArray ? [x.dtype, plain(x.toArray())] : [dtype!, plain(x)];
}

/** Elements as JSON has them. */
function plain(x: unknown): unknown {
  if (Array.isArray(x)) return x.map(plain);
  return typeof x === "bigint" || typeof x === "boolean" ? Number(x) : x;
}

/** Compares two results, number by number. */
export function assertNear(
  actual: Result,
  wanted: Result,
  tolerance: number | Tolerances,
): void {
  assertEquals(actual.steps.length, wanted.steps.length);
  const compare = (where: string, a: Record<string, Value>, w: Record<string, Value>): void => {
    assertEquals(Object.keys(a).sort(), Object.keys(w).sort(), where);
    for (const [name, [dtype, elements]] of Object.entries(a)) {
      assertEquals(dtype, w[name][0], `dtype of ${name} ${where}`);
      const [x, y] = [elements, w[name][1]];
      assert(
        isNear(x, y, typeof tolerance === "number" ? tolerance : tolerance[dtype] ?? 0),
        `${name} ${where} is ${JSON.stringify(x)}, wanted ${JSON.stringify(y)}`,
      );
    }
  };
  actual.steps.forEach((s, k) => compare(`of step ${k}`, s, wanted.steps[k]));
  compare("at the end", actual.variables, wanted.variables);
}

function isNear(a: unknown, b: unknown, tolerance: number): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((x, i) => isNear(x, b[i], tolerance));
  }
  const [x, y] = [Number(a), Number(b)];
  return x === y || Math.abs(x - y) <= tolerance * (1 + Math.abs(y));
}
