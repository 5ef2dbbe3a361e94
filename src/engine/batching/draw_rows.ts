/** Draws of rows, each by its own seed: as many ops as there are stateless ones with kernels on devices. */
import { NdArray } from "../core/nd_array.ts";
import { defineOp, type OpDef } from "../core/op.ts";
import { INTEGERS, StatelessBits } from "../ops/random/integer_ops.ts";
import { REAL } from "../ops/random/ops.ts";

/** Defines the op of rows: `shape` is that of all rows, and `seed` has a row in each. */
function defineRows(seeded: OpDef): OpDef {
  const { name, inputs, outputs, attrs, hostInputs, meaning, infer, cpu } = seeded;
  return defineOp({
    name: `_${name}Rows`,
    portable: { never: "TensorFlow draws by one seed at a time" },
    inputs,
    outputs,
    attrs: attrs!,
    hostInputs: hostInputs!,
    infer: ([shape, seed, ...limits], attrs) =>
      infer([shape, { ...seed, shape: seed.shape && seed.shape.slice(1) }, ...limits], attrs),
    grad: null,
    meaning,
    cpu: ([shape, seeds, ...limits], [out], problem) => {
      for (let row = 0; row < seeds.shape[0]; row++) {
        cpu!([shape, rowOf(seeds, row), ...limits], [rowOf(out, row)], problem);
      }
    },
  });
}

/** A row of an array of numbers, on the same memory. */
export function rowOf({ dtype, shape: [count, ...shape], data }: NdArray, row: number): NdArray {
  const numbers = data as Float32Array, slots = count === 0 ? 0 : numbers.length / count;
  return new NdArray(dtype, shape, numbers.subarray(row * slots, (row + 1) * slots));
}

/** The ops of rows by the name of the op that draws one. */
export const DRAWS_OF_ROWS: ReadonlyMap<string, OpDef> = new Map(
  [...Object.values(REAL).map(({ seeded }) => seeded), INTEGERS.seeded, StatelessBits]
    .map((seeded) => [seeded.name, defineRows(seeded)]),
);
