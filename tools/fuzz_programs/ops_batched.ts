/**
 * Lines of programs whose function runs for all rows at once, beside the same for one row after the other. The table's language is
 * explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** A function of the rows of x, for all at once and for each. */
function rows(operands: string, body: string, weight = 1): Template {
  const [all, each] = ["vectorizedMap", "mapFn"].map((map) => `tf.${map}((row) => ${body}, $x)`);
  return [operands, `${all} ≡ ${each}`, weight];
}

/** Axes of a row, from either end. */
const AXIS = "#pick(0|-1)";

/** Rules of `tf.vectorizedMap`. */
export const BATCHED: readonly Template[] = [
  rows("x:matrices", `tf.#pick(sum|mean|max|min|prod|logSumExp)(row, ${AXIS}, #bool)`, 3),
  rows("x:matrices", "tf.#pick(sum|max|euclideanNorm)(row)"),
  rows("x:matrices", `tf.#pick(argMax|argMin)(row, ${AXIS})`),
  rows("x:matrices", `tf.cumsum(row, ${AXIS}, #bool, #bool)`, 2),
  rows("x:matrices", "tf.#pick(softmax|logSoftmax)(row)"),
  rows("x:matrices", `tf.reverse(row, [${AXIS}])`),
  rows("x:matrices", `tf.concat([row, tf.sin(row)], ${AXIS})`),
  rows("x:matrices", "tf.stack([row, tf.neg(row)], #pick(0|1|-1))"),
  rows("x:matrices", `tf.expandDims(row, ${AXIS})`),
  rows("x:matrices", `tf.gather(row, [0, 0], ${AXIS})`),
  rows("x:matrices", `tf.sort(row, -1, "#pick(ASCENDING|DESCENDING)")`),
  rows("x:matrices", "tf.where(tf.greater(row, 0), row, tf.max(row))"),
  rows("x:matrices y:float32", "tf.add(row, tf.cast(tf.sum($y), row.dtype))"),
  rows(
    "x:matrices m:bool",
    "tf.where(tf.any($m), row, tf.cast(tf.all(tf.less(row, 1)), row.dtype))",
  ),
  rows("x:attended", "tf.matMul(row, row, #pick(false, true|true, false))", 2),
  rows("x:attended", "tf.transpose(row)"),
  rows("x:attended", "tf.linalg.bandPart(row, 0, 1)"),
  rows("x:attended", `tf.sum(row, [-2, -1], #bool)`),
  rows("x:attended", `tf.mapFn((e) => tf.cumsum(e, ${AXIS}), row)`),
];
