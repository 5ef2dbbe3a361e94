/** Samples of random ops: stateless ones must agree on every device, the others only keep shape and dtype. */

import { floats, number, positive, sample, type SampleTable, vector } from "./inputs.ts";
import { NdArray } from "@weft/weft";
import type { OpSample } from "@weft/weft/testing";

const seed = vector(17, -4);
const shapes = [vector(2, 3), vector(), vector(0), vector(1031), vector(3, 5, 2)];
const stateless = (dtypes: readonly string[]): OpSample[] =>
  shapes.flatMap((shape, i) =>
    (i < 2 ? dtypes : dtypes.slice(0, 1)).map((dtype) => sample([shape, seed], { dtype }))
  );
/** Draws of the rows of a seed each: extents of an even and an odd number, and of fours. */
const rows = (more: OpSample["inputs"], attrs: OpSample["attrs"], own = {}): OpSample[] =>
  [vector(2, 3, 3), vector(2, 4), vector(2), vector(2, 0)].map((shape) =>
    sample([shape, new NdArray("int32", [2, 2], Int32Array.of(17, -4, 3, 9)), ...more], attrs, own)
  );
const floating = ["float32", "float64", "float16", "bfloat16"];

/** Logarithms and turns of GPUs. */
const LOOSE = { gpuUlps: 1024, gpuAbsolute: 1e-5 };

export const RANDOM: SampleTable = {
  RandomKey: [sample([], { seed: 1, seed2: 2 }), sample([])],
  StatelessRandomUniform: stateless(floating),
  StatelessRandomNormal: stateless(floating).map((s) => ({ ...s, ...LOOSE })),
  StatelessTruncatedNormal: stateless(floating).map((s) => ({ ...s, ...LOOSE })),
  StatelessRandomUniformFullInt: stateless(["int32", "uint32", "int64", "uint64"]),
  StatelessRandomUniformInt: [
    sample([vector(2, 3), seed, number(-5), number(7)], { dtype: "int32" }),
    sample([vector(1031), seed, number(0), number(2)], { dtype: "int32" }),
    sample([vector(), seed, number(0), number(2147483647)], { dtype: "int32" }),
  ],
  _StatelessRandomUniformRows: floating.flatMap((dtype) => rows([], { dtype })),
  _StatelessRandomNormalRows: rows([], { dtype: "float32" }, LOOSE),
  _StatelessTruncatedNormalRows: rows([], { dtype: "float32" }, LOOSE),
  _StatelessRandomUniformFullIntRows: ["int32", "uint32", "int64"].flatMap((dtype) =>
    rows([], { dtype })
  ),
  _StatelessRandomUniformIntRows: rows([number(-5), number(7)], { dtype: "int32" }),
  StatelessMultinomial: [
    sample([floats([2, 3], 0, 1, 2, -1, 0, 3), number(5), seed], { output_dtype: "int32" }),
    sample([floats([1, 1], 0), number(1), seed], { output_dtype: "int32" }),
    sample([floats([1, 4], 0, -Infinity, 0, 1), number(33), seed], { output_dtype: "int64" }),
  ],
  StatelessRandomGammaV2: [
    // Gradients keep each number's part of the distribution, and not the words that it is drawn from.
    sample([vector(2, 3), seed, positive()], {}, {
      dtypes: ["float32", "float64"],
      gradient: false,
    }),
    sample([vector(4, 2), seed, positive(2)], {}, { dtypes: ["float32"], gradient: false }),
  ],
  RandomUniform: [
    sample([vector(2, 3)], { dtype: "float32" }),
    sample([vector(0)], { dtype: "float64" }),
  ],
  RandomStandardNormal: [sample([vector(2, 3)], { dtype: "float32" })],
  TruncatedNormal: [sample([vector(2, 3)], { dtype: "float32" })],
  RandomUniformInt: [sample([vector(2, 3), number(0), number(9)], { Tout: "int32" })],
  Multinomial: [sample([floats([2, 3], 0, 1, 2, -1, 0, 3), number(5)], { output_dtype: "int32" })],
  RandomGamma: [sample([vector(3), positive(2)], {}, { dtypes: ["float32"], gradient: false })],
};
