// Ops that move elements, look them up, or make them.

import type { Tensor } from "@tensorflow/tfjs-core";
import { integers, normals } from "../random.ts";
import type { Row } from "../row.ts";
import { binaryCase, opCase, unaryCase } from "./op_case.ts";

const SQUARE = [1000, 1000] as const, IMAGES = [16, 32, 32, 64] as const;

/** Rows of a table, and which of them to take. */
function lookup(
  id: string,
  indexShape: readonly number[],
  apply: (tf: Parameters<Parameters<typeof opCase>[1]>[0], x: Tensor, at: Tensor) => Tensor,
): Row {
  return opCase(id, (tf) => {
    const x = tf.tensor(normals(1e6, 1), [...SQUARE]);
    const count = indexShape.reduce((n, d) => n * d, 1);
    const at = tf.tensor(integers(count, 2, 1000), [...indexShape], "int32");
    return () => apply(tf, x, at);
  });
}

/** Rows of this file. */
export const MOVE_ROWS: readonly Row[] = [
  unaryCase("transpose", SQUARE, (tf, x) => tf.transpose(x)),
  unaryCase("transpose_0213", IMAGES, (tf, x) => tf.transpose(x, [0, 2, 1, 3])),
  unaryCase("transpose_0312", IMAGES, (tf, x) => tf.transpose(x, [0, 3, 1, 2])),
  unaryCase("reverse_rows", SQUARE, (tf, x) => tf.reverse(x, 1)),
  unaryCase("reverse_columns", SQUARE, (tf, x) => tf.reverse(x, 0)),
  unaryCase("tile", SQUARE, (tf, x) => tf.tile(x, [1, 2])),
  unaryCase("pad", SQUARE, (tf, x) => tf.pad(x, [[1, 1], [1, 1]])),
  unaryCase("mirrorPad", SQUARE, (tf, x) => tf.mirrorPad(x, [[1, 1], [1, 1]], "reflect")),
  unaryCase("slice", SQUARE, (tf, x) => tf.slice(x, [10, 10], [900, 900])),
  unaryCase("stridedSlice", SQUARE, (tf, x) => tf.stridedSlice(x, [0, 0], [1000, 1000], [2, 2])),
  binaryCase("concat_0", [[500, 1000], [500, 1000]], (tf, a, b) => tf.concat([a, b], 0)),
  binaryCase("concat_1", [[1000, 500], [1000, 500]], (tf, a, b) => tf.concat([a, b], 1)),
  binaryCase("stack_first", [[500, 1000], [500, 1000]], (tf, a, b) => tf.stack([a, b])),
  binaryCase("stack_last", [[500, 1000], [500, 1000]], (tf, a, b) => tf.stack([a, b], -1)),
  unaryCase("split", SQUARE, (tf, x) => tf.split(x, 4, 1)),
  unaryCase("unstack", [100, 1000], (tf, x) => tf.unstack(x)),
  unaryCase("depthToSpace", [8, 32, 32, 64], (tf, x) => tf.depthToSpace(x as never, 2)),
  unaryCase(
    "spaceToBatchND",
    [8, 32, 32, 16],
    (tf, x) => tf.spaceToBatchND(x, [2, 2], [[0, 0], [0, 0]]),
  ),
  lookup("gather_rows", [1000], (tf, x, at) => tf.gather(x, at)),
  lookup("gather_columns", [500], (tf, x, at) => tf.gather(x, at, 1)),
  lookup("gatherND", [1000, 2], (tf, x, at) => tf.gatherND(x, at)),
  lookup("oneHot", [10_000], (tf, _, at) => tf.oneHot(at, 100)),
  opCase("scatterND", (tf) => {
    const rows = tf.tensor(normals(1e5, 1), [100, 1000]);
    const at = tf.tensor2d(integers(100, 2, 1000), [100, 1], "int32");
    return () => tf.scatterND(at, rows, [1000, 1000]);
  }),
  opCase("zeros", (tf) => () => tf.zeros([1000, 1000])),
  opCase("ones", (tf) => () => tf.ones([1000, 1000])),
  opCase("fill", (tf) => () => tf.fill([1000, 1000], 3)),
  unaryCase("zerosLike", SQUARE, (tf, x) => tf.zerosLike(x)),
  opCase("range", (tf) => () => tf.range(0, 100_000)),
  // TensorFlow.js adds the step up, and ends at 1.001.
  opCase("linspace", (tf) => () => tf.linspace(0, 1, 100_000), { tolerance: 2e-3 }),
  opCase("eye", (tf) => () => tf.eye(500)),
  opCase("randomNormal", (tf) => () => tf.randomNormal([1000, 100]), { tolerance: null }),
  opCase("randomUniform", (tf) => () => tf.randomUniform([1000, 100]), { tolerance: null }),
  opCase("truncatedNormal", (tf) => () => tf.truncatedNormal([1000, 100]), { tolerance: null }),
  opCase("multinomial", (tf) => {
    const logits = tf.tensor2d(normals(1000, 1), [10, 100]);
    return () => tf.multinomial(logits, 100);
  }, { tolerance: null }),
];
