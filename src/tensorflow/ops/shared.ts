/** Common parts of ops that only files have: sums of elements, and inverse gathers of rows. */
import { apply1, type OpInput } from "../../engine/core/apply.ts";
import { lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { intScalar } from "../../engine/ops/input.ts";

/** Adds two elements of a dtype. */
export function addElements(x: unknown, y: unknown): unknown {
  return Array.isArray(x)
    ? [x[0] + (y as number[])[0], x[1] + (y as number[])[1]]
    : x as number + (y as number);
}

/** Returns the numbers from 0 to below `n`. */
export function iota(n: OpInput): Tensor {
  return apply1(lookupOp("Range")!, [intScalar(0), n, intScalar(1)]);
}

/** Sums the rows that share a place, of `count` places. */
export function sumInto(rows: OpInput, places: OpInput, count: OpInput): Tensor {
  return apply1(lookupOp("UnsortedSegmentSum")!, [rows, places, count]);
}
