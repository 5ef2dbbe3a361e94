// One token of a decoder with caches: 6 layers of width 384 with 6 heads, 256 places, the logits of 4,096 words.
//
// Weft writes keys and values to a row of a variable. TensorFlow.js has no such op: it multiplies the row into the whole.

import type { Tensor, Tensor2D, Variable } from "@tensorflow/tfjs-core";
import { type Tf, tfOutput } from "../peers/tfjs.ts";
import { type Weft, weftOutput } from "../peers/weft.ts";
import { normals, sizeOf } from "../random.ts";
import type { Case, Output, Row } from "../row.ts";

const [LAYERS, WIDTH, HEADS, ROOM, WORDS, PLACE] = [6, 384, 6, 256, 4096, 200];

const HEAD = WIDTH / HEADS;

const EPSILON = 1e-5;

/** Matrices of a layer: queries, keys and values; output; feed-forward up and down. */
const LAYER_SHAPES = [[WIDTH, 3 * WIDTH], [WIDTH, WIDTH], [WIDTH, 4 * WIDTH], [4 * WIDTH, WIDTH]];

/** Writes a row of keys and values to a cache. */
type Write = (cache: Variable, row: Tensor2D) => void;

/** Makes the step of a token, and what frees it. */
function decoder(tf: Tf, write: Write): { step: () => Tensor2D; dispose: () => void } {
  let seed = 0;
  const made: Tensor[] = [];
  const keep = <T extends Tensor>(x: T): T => {
    made.push(x);
    return x;
  };
  const matrix = ([rows, columns]: readonly number[]): Tensor2D => {
    const values = normals(rows! * columns!, ++seed, 0.05);
    return keep(tf.variable(tf.tensor2d(values, [rows!, columns!])) as Tensor as Tensor2D);
  };
  const layers = Array.from({ length: LAYERS }, () => ({
    weights: LAYER_SHAPES.map(matrix),
    cache: keep(tf.variable(
      tf.tensor2d(normals(sizeOf([ROOM, 2 * WIDTH]), ++seed), [ROOM, 2 * WIDTH]),
    )),
  }));
  const head = matrix([WIDTH, WORDS]), word = matrix([1, WIDTH]);
  const mask = keep(tf.tensor1d(Array.from({ length: ROOM }, (_, i) => i <= PLACE ? 0 : -1e9)));
  const ones = keep(tf.ones([WIDTH])), zeros = keep(tf.zeros([WIDTH]));
  function layerNorm(x: Tensor2D): Tensor2D {
    const centred = tf.sub(x, tf.mean(x, -1, true));
    const variance = tf.mean(tf.square(centred), -1, true);
    return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, EPSILON))), ones), zeros);
  }
  function attention(x: Tensor2D, [wQkv, wOut]: readonly Tensor2D[], cache: Variable): Tensor2D {
    const qkv = tf.matMul(x, wQkv!);
    write(cache, tf.slice(qkv, [0, WIDTH], [1, 2 * WIDTH]) as Tensor2D);
    const ofHeads = (x: Tensor): Tensor =>
      tf.transpose(tf.reshape(x, [-1, HEADS, HEAD]), [1, 0, 2]);
    const [k, v] = [0, WIDTH].map((at) =>
      ofHeads(tf.slice(cache as Tensor, [0, at], [ROOM, WIDTH]))
    );
    const q = ofHeads(tf.slice(qkv, [0, 0], [1, WIDTH]));
    const scores = tf.mul(tf.matMul(q, k!, false, true), HEAD ** -0.5);
    const mixed = tf.matMul(tf.softmax(tf.add(scores, mask)), v!);
    return tf.matMul(tf.reshape(tf.transpose(mixed, [1, 0, 2]), [1, WIDTH]), wOut!);
  }
  function step(): Tensor2D {
    let x = word;
    for (const { weights, cache } of layers) {
      const [, , wUp, wDown] = weights;
      x = tf.add(x, attention(layerNorm(x), weights, cache));
      x = tf.add(x, tf.matMul(tf.relu(tf.matMul(layerNorm(x), wUp!)), wDown!));
    }
    return tf.matMul(layerNorm(x), head);
  }
  return { step, dispose: () => tf.dispose(made) };
}

function caseOf(tf: Tf, write: Write, wrap: (logits: Tensor) => Output): Case {
  const { step, dispose } = decoder(tf, write);
  return { call: () => wrap(tf.tidy(step)), dispose };
}

function tfCase(tf: Tf): Case {
  const hot = Array.from({ length: ROOM }, (_, i) => Number(i === PLACE));
  const row = tf.tensor2d(hot, [ROOM, 1]);
  const others = tf.sub(1, row);
  return caseOf(
    tf,
    (cache, values) => cache.assign(tf.add(tf.mul(cache, others), tf.mul(row, values))),
    tfOutput,
  );
}

/** A variable of Weft, as far as TensorFlow.js has it not. */
interface Rows {
  scatterUpdate(rows: object): void;
}

function intoRow(tf: Weft): Write {
  const place = tf.tensor1d([PLACE], "int32");
  return (cache, values) =>
    (cache as unknown as Rows).scatterUpdate(new tf.IndexedSlices(values, place));
}

function weftFunctionCase(tf: Weft): Case {
  const { step, dispose } = decoder(tf, intoRow(tf)), traced = tf.function(step);
  return { call: () => weftOutput(tf, traced()), dispose };
}

/** Bytes of weights and caches that a token reads. */
const BYTES = 4 * (LAYERS * (12 * WIDTH ** 2 + 2 * ROOM * WIDTH) + WIDTH * WORDS);

/** Rows of this file. */
export const DECODE_ROWS: readonly Row[] = [{
  id: "decode_token",
  what: "a token of a decoder, 6 layers of 384, 256 places of keys and values, 4,096 words",
  bytes: BYTES,
  weft: ({ tf }) => caseOf(tf, intoRow(tf), (logits) => weftOutput(tf, logits)),
  weftFunction: ({ tf }) => weftFunctionCase(tf),
  tfjs: ({ tf }) => tfCase(tf),
  check: { expected: () => [], tolerance: 1e-3, agrees: true },
}];
