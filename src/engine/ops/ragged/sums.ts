/** Sums of elements and of rows that share a place. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { intScalar } from "../input.ts";

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
