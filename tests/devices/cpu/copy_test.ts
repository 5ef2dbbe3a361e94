/** Copies in vector code, against the ops' own loops. */

import { assert, assertEquals } from "@std/assert";
import { type DType, DTYPES } from "../../../src/engine/core/dtype.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { prepareFast } from "../../../src/engine/devices/cpu/prepare.ts";
import { problemOf } from "../../../src/library/testing/run_op.ts";
import { ENGINES } from "./engines.ts";
import { ints, op, runFast, runLoops } from "./kernel_runs.ts";

function counting(dtype: DType, ...shape: number[]): NdArray {
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

const axis = (at: number): NdArray => new NdArray("int32", [], Int32Array.of(at));
const vectors = (...at: number[][]): NdArray =>
  new NdArray("int32", [at.length, at[0].length], Int32Array.from(at.flat()));
const ROWS: typeof CASES = [
  ["ConcatV2", [f(3, 5), f(3, 1), axis(1)]],
  ["Pack", [f(2, 3), f(2, 3)], { axis: 1 }],
  ["GatherV2", [f(6, 5), ints(5, 0, 3, 3), axis(0)]],
  ["GatherV2", [f(3, 40), ints(39, 0, 3), axis(1)]],
  ["GatherNd", [f(3, 4, 2), vectors([2, 1], [0, 3])]],
  ["TensorScatterUpdate", [f(6, 7), vectors([4], [0], [2]), f(3, 7)]],
];
const OTHER_DTYPES = ["int8", "uint8", "float16", "float64", "complex64", "complex128"] as const;
for (const [name, engine] of ENGINES) {
  Deno.test(`copies of elements of one, two, eight and sixteen bytes are those of the loops: ${name}`, () => {
    for (const dtype of OTHER_DTYPES) {
      for (const [kind, given, attrs] of [...CASES, ...ROWS]) {
        // Values that fill have one byte or four, or are converted.
        const isRefused = kind === "PadV2" && DTYPES[dtype].bytes > 4;
        if (given[0].dtype !== "float32" || isRefused) continue;
        const inputs = given.map((x) => x.dtype === "float32" ? counting(dtype, ...x.shape) : x);
        const text = `${kind} of ${inputs.map((x) => `${x.dtype}[${x.shape}]`)}`;
        const got = runFast(engine, op(kind), inputs, attrs);
        assert(got !== null, `no vector code for ${text}`);
        assertEquals([...got[0].data], [...runLoops(op(kind), inputs, attrs)[0].data], text);
      }
    }
  });
}

Deno.test("rows of float16 are read and written where they lie", () => {
  const [, engine] = ENGINES[0], { heap } = engine, table = counting("float16", 6000, 1000);
  const room = (): number => heap.liveBytes + heap.poolBytes;
  const cases: typeof CASES = [
    ["GatherV2", [table, ints(5), axis(0)]],
    ["Slice", [table, ints(5, 0), ints(1, 1000)]],
  ];
  for (const [kind, inputs] of cases) {
    const before = room();
    assert(runFast(engine, op(kind), inputs) !== null);
    // The table itself is 12 MB, and its elements as float32 are 24.
    assert(room() - before < 16e6, `${kind} takes ${room() - before} bytes`);
  }
  const update = op("TensorScatterUpdate");
  const problem = problemOf(update, [table, vectors([5]), counting("float16", 1, 1000)], {});
  assertEquals(prepareFast(engine, update, problem)?.onto, 0);
});
