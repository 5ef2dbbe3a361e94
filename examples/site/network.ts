/** A small convolutional network in a graph, with a function of the host before its first layer. */

import * as tf from "@weft/weft";
// tf.compat has the whole library as its v2.
import { globalVariablesInitializer } from "../../src/tensorflow/compat_v1/variables.ts";
import type { Images } from "./editable_body.ts";

/** Feeds and fetches of a session. */
export interface Network {
  readonly graph: tf.Graph;
  readonly initializer: tf.Operation;
  /** Fed: images [n, 28, 28] of uint8, and the digits that they show [n]. */
  readonly images: tf.Tensor;
  readonly labels: tf.Tensor;
  /** The images as the function left them. */
  readonly prepared: tf.Tensor;
  readonly probabilities: tf.Tensor;
  readonly loss: tf.Tensor;
  readonly hits: tf.Tensor;
  readonly step: tf.Operation;
  readonly variables: readonly tf.Variable[];
  /** The picture of what leads to the loss. */
  readonly svg: string;
}

/** A layer's weights, as large as suits ReLU (He and others, 2015, arXiv:1502.01852). */
function weights(shape: number[], inputs: number): tf.Variable {
  return tf.variable(tf.randomNormal(shape, 0, Math.sqrt(2 / inputs)));
}

/** Builds it around a body. */
export function buildNetwork(
  body: (images: tf.NdArray) => Images,
  optimizer: tf.Optimizer,
): Network {
  const filter1 = weights([3, 3, 1, 8], 9), bias1 = tf.variable(tf.zeros([8]));
  const filter2 = weights([3, 3, 8, 16], 72), bias2 = tf.variable(tf.zeros([16]));
  const matrix1 = weights([784, 64], 784), bias3 = tf.variable(tf.zeros([64]));
  const matrix2 = weights([64, 10], 64), bias4 = tf.variable(tf.zeros([10]));
  const variables = [filter1, bias1, filter2, bias2, matrix1, bias3, matrix2, bias4];
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const images = tf.placeholder("uint8", [null, 28, 28], "images");
    const labels = tf.placeholder("uint8", [null], "labels");
    const prepared = tf.numpyFunction(body, [images], "uint8", {
      name: "your_function",
      shapeFn: (spec) => spec,
    });
    const layer = (x: tf.Tensor, filter: tf.Variable, bias: tf.Variable) =>
      tf.maxPool(tf.relu(tf.add(tf.conv2d(x, filter, 1, "same"), bias)), 2, 2, "same");
    const pixels = tf.expandDims(tf.div(tf.cast(prepared, "float32"), 255), -1);
    const features = layer(layer(pixels, filter1, bias1), filter2, bias2);
    const flat = tf.reshape(features, [-1, 784]);
    const hidden = tf.relu(tf.add(tf.matMul(flat, matrix1), bias3));
    const logits = tf.add(tf.matMul(hidden, matrix2), bias4);
    const digits = tf.cast(labels, "int32");
    const loss = tf.mean(tf.sparseSoftmaxCrossEntropyWithLogits({ labels: digits, logits }));
    const hits = tf.sum(tf.cast(tf.equal(tf.argMax(logits, -1), digits), "int32"));
    const probabilities = tf.softmax(logits);
    const svg = tf.toSvg(graph);
    const gradients = tf.gradients(loss, variables);
    const step = optimizer.applyGradients(
      variables.map(({ name }, i) => ({ name, tensor: gradients[i]! })),
    ) as tf.Operation;
    const initializer = globalVariablesInitializer();
    const ends = { loss, hits, probabilities, step };
    return { graph, initializer, images, labels, prepared, svg, variables, ...ends };
  });
}
