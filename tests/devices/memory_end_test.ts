/** Kernels of rows that are longer than the free bytes at the very end of memory: none reads or needs what lies behind. */
import "@weft/weft";
import { assertEquals } from "@std/assert";
import type { DType } from "../../src/engine/core/dtype.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import type { Attrs } from "../../src/engine/core/op.ts";
import { ENGINES } from "./cpu/engines.ts";
import { HardPlaces } from "./cpu/hard_places.ts";
import { ints, op, runFast } from "./cpu/kernel_runs.ts";

function filled(dtype: DType, shape: readonly number[]): NdArray {
  const array = NdArray.zeros(dtype, [...shape]);
  (array.data as Float32Array).forEach((_, i, data) => data[i] = (i * 31 & 63) / 8 - 2);
  return array;
}

const pooling = (padding: string): Attrs => ({
  ksize: [1, 9, 9, 1],
  strides: [1, 2, 2, 1],
  dilations: [1, 1, 1, 1],
  padding,
});

const CASES: readonly (readonly [string, readonly NdArray[], Attrs])[] = [
  ...[125, 126, 127].flatMap((n): [string, NdArray[], Attrs][] => [
    ["RFFT", [filled("float32", [9, n]), ints(n)], { Tcomplex: "complex64" }],
    ["IRFFT", [filled("complex64", [9, (n >> 1) + 1]), ints(n)], { Treal: "float32" }],
  ]),
  ...["MaxPool", "AvgPool"].flatMap((name) =>
    ["SAME", "VALID"].map((padding): [string, NdArray[], Attrs] => [
      name,
      [filled("float32", [1, 11, 13, 400])],
      pooling(padding),
    ])
  ),
];

for (const [how, engine] of ENGINES) {
  Deno.test(`kernels of long rows compute the same bits at the end of memory: ${how}`, () => {
    const hard = new HardPlaces(engine.features, "at the end of 96 MiB");
    for (const [name, inputs, attrs] of CASES) {
      const wanted = runFast(engine, op(name), inputs, attrs)!;
      // The first input, and the result.
      for (const block of [0, 1]) {
        hard.put(block);
        const text = `${name} of [${inputs[0]!.shape}], block ${block}`;
        runFast(hard.engine, op(name), inputs, attrs)!.forEach((x, k) =>
          assertEquals(x.data, wanted[k]!.data, text)
        );
      }
    }
  });
}
