// Products in low precision, beside those of float32: one row times a matrix, as in decoding, and a square.

import type { Tensor } from "@tensorflow/tfjs-core";
import { type Weft, weftOutput, type WeftPeer } from "../peers/weft.ts";
import { normals } from "../random.ts";
import type { Case, Row } from "../row.ts";

/** Extent of the matrix that one row is multiplied by. */
const WIDE = 4096;
/** Extent of the square. */
const SIDE = 256;

type Operands = readonly [unknown, unknown];

/** A row of a product whose operands Weft makes of float32. */
function lowRow(
  id: string,
  what: string,
  [m, n]: readonly [number, number],
  operands: (tf: Weft, x: Tensor, w: Tensor) => Operands,
): Row {
  function caseOf(peer: WeftPeer, isFunction: boolean): Case {
    const { tf } = peer;
    const [x, w] = [[m, n], [n, n]].map(([rows, columns], i) =>
      tf.tensor(normals(rows! * columns!, i + 1, 4), [rows!, columns!])
    );
    const [a, b] = operands(tf, x!, w!) as [Tensor, Tensor];
    const product = (a: Tensor): Tensor => tf.matMul(a, b);
    const call = isFunction ? tf.function(product) : product;
    return { call: () => weftOutput(tf, call(a)) };
  }
  return {
    id,
    what: `${what} [${m}, ${n}] × [${n}, ${n}]`,
    flop: 2 * m * n * n,
    devices: ["cpu"],
    weft: (peer) => caseOf(peer, false),
    weftFunction: (peer) => caseOf(peer, true),
  };
}

const cast =
  (dtype: "float16" | "int32" | "float64") => (tf: Weft, x: Tensor, w: Tensor): Operands => [
    tf.cast(x as never, dtype as never),
    tf.cast(w as never, dtype as never),
  ];
const levels = (bits: 4 | 8) => (tf: Weft, x: Tensor, w: Tensor): Operands => {
  const { quantize } = tf as unknown as { quantize(x: Tensor, options: { bits: number }): unknown };
  return [x, quantize(w, { bits })];
};
const plain = (_: Weft, x: Tensor, w: Tensor): Operands => [x, w];

/** Rows of this file. */
export const PRECISION_ROWS: readonly Row[] = [
  lowRow("row_f32", "float32", [1, WIDE], plain),
  lowRow("row_f16", "float16", [1, WIDE], cast("float16")),
  lowRow("row_int32", "int32", [1, WIDE], cast("int32")),
  lowRow("row_q8", "float32 × 8 bits in blocks of 32", [1, WIDE], levels(8)),
  lowRow("row_q4", "float32 × 4 bits in blocks of 32", [1, WIDE], levels(4)),
  lowRow("mm256_f16", "float16", [SIDE, SIDE], cast("float16")),
  lowRow("mm256_int32", "int32", [SIDE, SIDE], cast("int32")),
  lowRow("mm256_f64", "float64", [SIDE, SIDE], cast("float64")),
  lowRow("mm256_q4", "float32 × 4 bits in blocks of 32", [SIDE, SIDE], levels(4)),
];
