/** int8 and uint8 in vector code: every pair of bytes, against the loops. */
import { assert, assertEquals } from "@std/assert";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import type { DType } from "../../src/engine/core/dtype.ts";
import { ENGINES } from "../devices/cpu/engines.ts";
import { op, runFast, runLoops } from "../devices/cpu/kernel_runs.ts";
import "../../mod.ts";

const BINARY = [
  "AddV2",
  "Sub",
  "Mul",
  "Maximum",
  "Minimum",
  "Greater",
  "LessEqual",
  "Equal",
  "BitwiseAnd",
  "BitwiseXor",
];
const UNARY = ["Neg", "Abs", "Sign"];

/** All bytes, each so many times in a row, or all of them so many times. */
function bytes(dtype: "int8" | "uint8", how: "rows" | "columns"): NdArray {
  const array = NdArray.zeros(dtype, [256 * 256 + 3]), data = array.data as Uint8Array;
  data.forEach((_, i) => data[i] = how === "rows" ? i >> 8 : i);
  return array;
}

for (const dtype of ["int8", "uint8"] as const) {
  Deno.test(`vector code computes with ${dtype} as the loops do`, () => {
    const [a, b] = [bytes(dtype, "rows"), bytes(dtype, "columns")];
    const cases: [string, NdArray[], Record<string, unknown>][] = [
      ...BINARY.map((name): [string, NdArray[], Record<string, unknown>] => [name, [a, b], {}]),
      ...UNARY.filter((name) => dtype === "int8" || name !== "Neg").map((
        name,
      ): [string, NdArray[], Record<string, unknown>] => [name, [b], {}]),
      ...(["float32", "int32", "bool", "float16", "int8", "uint8"] as DType[]).map((
        DstT,
      ): [string, NdArray[], Record<string, unknown>] => ["Cast", [b], {
        SrcT: dtype,
        DstT,
        Truncate: false,
      }]),
    ];
    for (const [name, inputs, attrs] of cases) {
      const [wanted] = runLoops(op(name), inputs, attrs);
      for (const [how, engine] of ENGINES) {
        const got = runFast(engine, op(name), inputs, attrs);
        assert(got !== null, `${name} of ${dtype} has vector code`);
        assertEquals(got[0].data, wanted.data, `${how}: ${name} ${JSON.stringify(attrs)}`);
      }
    }
  });

  Deno.test(`vector code casts to ${dtype} as the loops do`, () => {
    const numbers = [
      0,
      -0,
      0.9,
      -0.9,
      127.5,
      128,
      255.9,
      256,
      300,
      -1,
      -128,
      -128.9,
      -129,
      1e10,
      -1e10,
      NaN,
      Infinity,
      -Infinity,
      65536,
    ];
    for (const from of ["float32", "int32", "float16"] as const) {
      const array = NdArray.zeros(from, [numbers.length]);
      (array.data as Float32Array).set(numbers);
      const attrs = { SrcT: from, DstT: dtype, Truncate: false };
      const [wanted] = runLoops(op("Cast"), [array], attrs);
      for (const [how, engine] of ENGINES) {
        assertEquals(
          runFast(engine, op("Cast"), [array], attrs)![0].data,
          wanted.data,
          `${how}: ${from}`,
        );
      }
    }
  });
}
