/** Loops that are printed and compiled, and what runs where nothing may be compiled: the same bits. */
import { assertEquals } from "@std/assert";
import { type DType, DTYPES, makeData } from "../../src/engine/core/dtype.ts";
import { NdArray, setElement } from "../../src/engine/core/nd_array.ts";
import { arithmeticOf, type FoldOp } from "../../src/engine/kernels/host/numbers.ts";
import { identityOf, interpretLoops, makeLoops } from "../../src/engine/kernels/host/reduce.ts";
import { interpretLoop, makeLoop } from "../../src/engine/kernels/host/scan.ts";

const FLOATS = [0.1, -0, 0, NaN, Infinity, -Infinity, 1e30, -1e30, 3, 0.7, 1 / 3, -2.5];
const INTS = [1, 0, 127, 255, 65535, 2147483647, -2147483648, -1, 3, 40503, -7, 2];

function sample(dtype: DType, size: number): NdArray {
  const array = NdArray.zeros(dtype, [size]), { kind, bytes } = DTYPES[dtype];
  for (let i = 0; i < size; i++) {
    const int = INTS[(i * 5) % INTS.length];
    if (kind === "float") setElement(array, i, FLOATS[(i * 7) % FLOATS.length]);
    else if (kind === "bool") setElement(array, i, i % 3 !== 0);
    else setElement(array, i, bytes === 8 ? BigInt(int) * 4611686018427387905n : int);
  }
  return array;
}

const COMPUTED = (Object.keys(DTYPES) as DType[]).filter((dtype) =>
  !["complex", "string", "handle"].includes(DTYPES[dtype].kind) && DTYPES[dtype].array !== undefined
);

Deno.test("interpreted reductions give the bits of compiled ones, in every dtype", () => {
  for (const dtype of COMPUTED) {
    const ops: FoldOp[] = dtype === "bool" ? ["any", "all"] : ["sum", "prod", "max", "min"];
    const x = sample(dtype, 66), arithmetic = arithmeticOf(dtype);
    const holds: DType = arithmetic === "bigint"
      ? dtype
      : ({ float: "float64", int: "int32", uint: "uint32" } as const)[arithmetic];
    for (const op of ops) {
      const made = makeLoops(op, arithmetic, dtype),
        closures = interpretLoops(op, arithmetic, dtype);
      for (const n of [1, 3, 4, 11]) {
        for (const way of ["rows", "columns"] as const) {
          const results = [made, closures].map((loops) => {
            const acc = makeData(holds, 11) as Float64Array;
            acc.fill(identityOf(op, dtype) as number);
            loops[way](x.data, 0, 6, n, acc, 0);
            return acc;
          });
          assertEquals(results[1], results[0], `${op} of ${dtype}, ${way} of ${n}`);
        }
      }
    }
  }
});

Deno.test("interpreted scans give the bits of compiled ones, in every dtype", () => {
  for (const dtype of COMPUTED.filter((dtype) => dtype !== "bool")) {
    const x = sample(dtype, 60), isBig = arithmeticOf(dtype) === "bigint";
    for (const op of ["sum", "prod"] as const) {
      for (const exclusive of [false, true]) {
        for (
          const line of [{ outer: 3, length: 20, inner: 1 }, { outer: 2, length: 6, inner: 5 }]
        ) {
          for (const reverse of [false, true]) {
            const loops = [
              makeLoop(op, exclusive, dtype, line.inner === 1),
              interpretLoop(op, exclusive, dtype),
            ];
            const [compiled, interpreted] = loops.map((loop) => {
              const y = makeData(dtype, 60);
              loop(x.data, y, line, reverse, isBig ? new Array(5) : new Float64Array(5));
              // The sign of a NaN is the engine's affair.
              return new NdArray(dtype, [60], y).toArray();
            });
            const what = `${op} of ${dtype}, exclusive ${exclusive}, reverse ${reverse}`;
            assertEquals(interpreted, compiled, what);
          }
        }
      }
    }
  }
});
