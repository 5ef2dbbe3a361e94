/** Common parts of ops that only files have: maps over strings, and inverse gathers of rows. */
import { apply1, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, defineOp, lookupOp } from "../../engine/core/op.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { intScalar } from "../../engine/ops/input.ts";
import { textsOf } from "../../engine/ops/host/arrays.ts";

/** Defines an op on each string: `kernel` makes the function from the further inputs. */
export function defineStringMap(
  name: string,
  { inputs = ["input: string"], output = "string", attrs = [] }: {
    readonly inputs?: readonly string[];
    readonly output?: string;
    readonly attrs?: readonly string[];
  },
  kernel: (
    attrs: Attrs,
    others: readonly NdArray[],
  ) => (text: Uint8Array) => Uint8Array | number | bigint,
): void {
  defineOp({
    name,
    inputs,
    outputs: [`output: ${output}`],
    attrs,
    infer: ([x]) => [x.shape],
    grad: null,
    cpu: ([x, ...others], [out], { attrs }) => {
      const to = out.data as unknown[], make = kernel(attrs, others);
      textsOf(x).forEach((text, i) => to[i] = make(text));
    },
  });
}

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
