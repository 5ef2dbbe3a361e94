/**
 * A loss between sets, as detectors of the DETR family have it: which prediction answers for which target is found by the Hungarian
 * method on the host, then the loss of the pairs is differentiated on the device.
 *
 * `deno run examples/set_loss.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";

const IMAGES = 4, QUERIES = 6, TARGETS = 3;

/**
 * Which column each row gets at the least total cost: the Hungarian method by shortest augmenting paths (Jonker and Volgenant), for
 * no more rows than columns.
 */
export function assign(
  cost: (row: number, column: number) => number,
  [rows, columns]: readonly [number, number],
): Int32Array {
  if (rows > columns) throw new RangeError(`Cannot assign ${rows} rows to ${columns} columns`);
  const u = new Float64Array(rows + 1), v = new Float64Array(columns + 1);
  const rowOf = new Int32Array(columns + 1);
  for (let row = 1; row <= rows; row++) {
    const least = new Float64Array(columns + 1).fill(Infinity);
    const way = new Int32Array(columns + 1), used = new Uint8Array(columns + 1);
    let at = 0;
    rowOf[0] = row;
    do {
      used[at] = 1;
      let delta = Infinity, next = 0;
      for (let j = 1; j <= columns; j++) {
        if (used[j]) continue;
        const reduced = cost(rowOf[at] - 1, j - 1) - u[rowOf[at]] - v[j];
        if (reduced < least[j]) [least[j], way[j]] = [reduced, at];
        if (least[j] < delta) [delta, next] = [least[j], j];
      }
      for (let j = 0; j <= columns; j++) {
        if (used[j]) [u[rowOf[j]], v[j]] = [u[rowOf[j]] + delta, v[j] - delta];
        else least[j] -= delta;
      }
      at = next;
    } while (rowOf[at] !== 0);
    for (; at !== 0; at = way[at]) rowOf[at] = rowOf[way[at]];
  }
  const columnOf = new Int32Array(rows);
  for (let j = 1; j <= columns; j++) if (rowOf[j] > 0) columnOf[rowOf[j] - 1] = j - 1;
  return columnOf;
}

/** For costs [images, targets, queries]: the query of each target, as int32[images, targets]. */
function matchAll(costs: tf.NdArray): { shape: number[]; data: Int32Array } {
  const [images, targets, queries] = costs.shape;
  const data = new Int32Array(images * targets);
  for (let i = 0; i < images; i++) {
    const cost = (t: number, q: number): number => Number(costs.get(i, t, q));
    data.set(assign(cost, [targets, queries]), i * targets);
  }
  return { shape: [images, targets], data };
}

/** The loss of boxes [images, queries, 4] and of the logits that say there is one, against boxes [images, targets, 4]. */
export function setLoss(boxes: tf.Tensor, logits: tf.Tensor, targets: tf.Tensor): tf.Tensor {
  const apart = tf.sub(tf.expandDims(targets, 2), tf.expandDims(boxes, 1));
  const distance = tf.sum(tf.abs(apart), 3);
  const costs = tf.sub(distance, tf.expandDims(tf.sigmoid(logits), 1));
  // The choice is a constant to the gradient, and said to be: a script without a `vjp` on the way would be an error or a warning.
  const query = tf.numpyFunction(
    matchAll,
    [tf.stopGradient(costs)],
    tf.TensorSpec(targets.shape.slice(0, 2), "int32"),
    { stateful: false },
  );
  const isChosen = tf.oneHot(query, logits.shape[1]!);
  const boxLoss = tf.sum(tf.mul(distance, isChosen));
  const labels = tf.sum(isChosen, 1);
  return tf.add(boxLoss, tf.losses.sigmoidCrossEntropy(labels, logits));
}

async function main(): Promise<void> {
  await tf.ready();
  tf.setRandomSeed(3);
  const targets = tf.random.uniform([IMAGES, TARGETS, 4]);
  const boxes = tf.variable(tf.random.uniform([IMAGES, QUERIES, 4]));
  const logits = tf.variable(tf.zeros([IMAGES, QUERIES]));
  const optimizer = tf.train.adam(0.03);
  const step = tf.function(() => optimizer.minimize(() => setLoss(boxes, logits, targets), true));

  for (let i = 0; i <= 300; i++) {
    using loss = step();
    if (i % 100 === 0) console.log(`Step ${i}: loss ${loss.item().toFixed(2)}`);
  }

  // The queries that were chosen say so, and lie on their targets.
  const chosen = tf.sum(tf.cast(tf.greater(logits, 0), "int32"), 1);
  console.log("Boxes found in each image:", chosen.arraySync());
  const { readbacks, hostCalls } = await tf.profile(() => step().dispose());
  console.log(
    `A step on the ${tf.getBackend()}: ${hostCalls} call of the host, ${readbacks} readbacks`,
  );
}

if (import.meta.main) await main();
