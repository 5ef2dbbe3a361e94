/** Copies in vector code, against the ops' own loops. */

import { assert, assertEquals } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { ENGINES } from "./engines.ts";
import { ints, op, runFast, runLoops } from "./kernel_runs.ts";

function counting(dtype: "float32" | "int32" | "bool", ...shape: number[]): NdArray {
  const x = NdArray.zeros(dtype, shape);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = i + 1);
  return x;
}
function pads(...values: number[][]): NdArray {
  return new NdArray("int32", [values.length, 2], new Int32Array(values.flat()));
}
// As they lie in memory: bytes that differ show where each went.
const b = (...shape: number[]): NdArray => counting("bool", ...shape);
const number = (value: number): NdArray => new NdArray("float32", [], new Float32Array([value]));

const f = (...shape: number[]): NdArray => counting("float32", ...shape);
const CASES: readonly [op: string, inputs: NdArray[], attrs?: Record<string, unknown>][] = [
  ["Transpose", [f(5, 7), ints(1, 0)]],
  ["Transpose", [f(3, 2), ints(1, 0)]],
  ["Transpose", [f(33, 50), ints(1, 0)]],
  ["Transpose", [counting("int32", 16, 20), ints(1, 0)]],
  ["Transpose", [f(2, 5, 6, 7), ints(0, 2, 1, 3)]],
  ["Transpose", [f(2, 5, 6, 7), ints(0, 3, 1, 2)]],
  ["Transpose", [f(2, 5, 6, 7), ints(3, 2, 1, 0)]],
  ["Transpose", [f(2, 3, 4, 5, 6), ints(4, 0, 3, 1, 2)]],
  ["Transpose", [f(0, 3), ints(1, 0)]],
  ["Transpose", [f(), ints()]],
  ["Transpose", [b(3, 2), ints(1, 0)]],
  ["Transpose", [b(7, 5), ints(1, 0)]],
  ["Transpose", [b(23, 39), ints(1, 0)]],
  ["Transpose", [b(70, 3), ints(1, 0)]],
  ["Transpose", [b(2, 5, 6, 21), ints(0, 3, 1, 2)]],
  ["Transpose", [b(2, 3, 4, 5, 6), ints(4, 0, 3, 1, 2)]],
  ["Slice", [f(6, 7, 8), ints(1, 2, 3), ints(4, 3, 5)]],
  ["Slice", [f(6, 70), ints(2, 0), ints(3, 70)]],
  ["Slice", [b(6, 7, 28), ints(1, 2, 3), ints(4, 3, 23)]],
  ["Slice", [b(2, 3000), ints(1, 1), ints(1, 2999)]],
  ["StridedSlice", [b(9, 70), ints(1, 68), ints(9, 0), ints(2, -1)]],
  ["StridedSlice", [f(9, 10), ints(1, 8), ints(9, 0), ints(2, -3)]],
  ["Pad", [f(3, 5), pads([1, 2], [3, 4])]],
  ["Pad", [f(2, 3, 4), pads([0, 1], [0, 0], [1, 0])]],
  ["PadV2", [f(3, 50), pads([2, 0], [0, 9]), number(7.5)]],
  ["PadV2", [b(3, 50), pads([2, 0], [0, 9]), new NdArray("bool", [], Uint8Array.of(1))]],
  ["MirrorPad", [b(4, 30), pads([2, 1], [23, 2])], { mode: "REFLECT" }],
  ["MirrorPad", [f(4, 6), pads([2, 1], [3, 2])], { mode: "REFLECT" }],
  ["MirrorPad", [f(4, 6), pads([2, 1], [3, 2])], { mode: "SYMMETRIC" }],
  ["Tile", [f(2, 3), ints(3, 2)]],
  ["Tile", [f(1, 40), ints(5, 1)]],
  ["BroadcastTo", [b(3, 1), ints(2, 3, 25)]],
  ["BroadcastTo", [f(3, 1), ints(2, 3, 5)]],
  ["BroadcastTo", [f(5), ints(4, 5)]],
  ["BroadcastTo", [f(), ints(3, 3)]],
  ["ReverseV2", [f(4, 5, 6), ints(1)]],
  ["ReverseV2", [f(4, 5, 6), ints(0, 2)]],
  ["ReverseV2", [b(5, 71), ints(0, 1)]],
  ["Roll", [b(5, 60), ints(13), ints(1)]],
  ["Roll", [f(5, 6), ints(2), ints(1)]],
];

for (const [name, engine] of ENGINES) {
  Deno.test(`copies are those of the loops: ${name}`, () => {
    for (const [kind, inputs, attrs] of CASES) {
      const text = `${kind} of ${inputs.map((x) => `[${x.shape}]`)}`;
      const got = runFast(engine, op(kind), inputs, attrs);
      assert(got !== null, `no vector code for ${text}`);
      assertEquals([...got[0].data], [...runLoops(op(kind), inputs, attrs)[0].data], text);
    }
  });
}
