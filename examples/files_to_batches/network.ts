// Where digits are: a network of three convolutions, its loss against boxes that differ in number, and a step that trains it.

import * as tf from "@weft/weft";
import { SIDE } from "./scenes.ts";

/** Cells of the grid that the network looks for digits in, along each side. */
const CELLS = 8;

/** 1 in the cells of a grid that the middle of a box is in. Rows of -1 are nowhere. */
export function cellsOf(boxes: tf.Tensor): tf.Tensor {
  const [y, x, height, width] = tf.unstack(boxes, 2);
  const cell = (from: tf.Tensor, size: tf.Tensor): tf.Tensor => {
    const at = tf.floor(tf.div(tf.add(from, tf.div(size, 2)), SIDE / CELLS));
    return tf.cast(tf.oneHot(tf.cast(at, "int32"), CELLS), "float32");
  };
  return tf.minimum(tf.matMul(cell(y, height), cell(x, width), true), 1);
}

/** A network of three convolutions that says where digits are, and a step that trains it. */
export function makeTraining(seed = 1): (image: tf.Tensor, boxes: tf.Tensor) => tf.Tensor {
  const filters = [[1, 16], [16, 32], [32, 1]].map(([from, to], i) =>
    tf.variable(
      tf.randomNormal([3, 3, from, to], 0, Math.sqrt(2 / (9 * from)), "float32", seed + i),
    )
  );
  const biases = [0, 0, -2].map((b, i) => tf.variable(tf.fill([filters[i].shape[3]!], b)));
  const optimizer = tf.train.adam(2e-3);
  const loss = (image: tf.Tensor, boxes: tf.Tensor): tf.Tensor => {
    let y = image;
    filters.forEach((w, i) => {
      y = tf.add(tf.conv2d(y, w, 2, "same"), biases[i]);
      if (i < 2) y = tf.relu(y);
    });
    const cells = tf.expandDims(cellsOf(boxes), 3);
    return tf.losses.sigmoidCrossEntropy(cells, y, tf.add(tf.mul(cells, 10), 1));
  };
  return tf.function(
    (image: tf.Tensor, boxes: tf.Tensor) =>
      optimizer.minimize(() => tf.squeeze(loss(image, boxes)), true)!,
    { reduceRetracing: true },
  );
}
