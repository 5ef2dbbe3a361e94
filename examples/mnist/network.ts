// The network and its training step as one TensorFlow graph, with two functions of the host in it: the one that moves
// the images, and the one that computes the loss.

import * as tf from "@weft/weft";
import { shiftBy } from "./augment.ts";
import { normals, type Random, seeded } from "./random.ts";

/** Nodes of the graph that a session feeds and fetches. */
export interface Network {
  /** The graph. */
  readonly graph: tf.Graph;
  /** Gives the variables their first values. */
  readonly initializer: tf.Operation;
  /** Fed: images [n, 28, 28] of uint8. */
  readonly images: tf.Tensor;
  /** Fed: the digits they show [n], uint8. */
  readonly labels: tf.Tensor;
  /** The images after the host has moved them. Fed for testing, which skips the host function. */
  readonly shifted: tf.Tensor;
  /** Loss of the batch, a scalar. */
  readonly loss: tf.Tensor;
  /** Number of recognised images of the batch, a scalar. */
  readonly hits: tf.Tensor;
  /** One step of the optimizer. */
  readonly step: tf.Operation;
  /** Number of trained parameters. */
  readonly parameters: number;
  /** Frees the variables. */
  dispose(): void;
}

/** A batch whose loss is below this is easy for the network. */
const EASY = 0.15;

/**
 * Loss of a batch: the mean cross entropy, and once the batch is easy, that of its harder half only.
 *
 * The body of a `tf.pyFunction`: ordinary code that runs eagerly and may branch on values. A tape watches, and
 * `tf.gradients` differentiates whichever way it went.
 */
function lossOf(logits: tf.Tensor, labels: tf.Tensor): tf.Tensor {
  const losses = tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits });
  const mean = tf.mean(losses);
  if (mean.item() > EASY) return mean;
  const isHard = tf.cast(tf.greaterEqual(losses, mean), "float32");
  return tf.div(tf.sum(tf.mul(losses, isHard)), labels.size);
}

/** Makes the variables of the layers. */
class Layers {
  readonly variables: tf.Variable[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Convolution 3×3, ReLU, and the maximum of each 2×2 pixels. */
  convolution(x: tf.Tensor, from: number, to: number, name: string): tf.Tensor {
    return tf.nameScope(name, () => {
      const filter = this.#weights([3, 3, from, to], 9 * from);
      const y = tf.add(tf.conv2d(x, filter, 1, "same"), this.#bias(to));
      return tf.maxPool(tf.relu(y), 2, 2, "same");
    });
  }

  /** Matrix product and bias. */
  dense(x: tf.Tensor, from: number, to: number, name: string): tf.Tensor {
    return tf.nameScope(
      name,
      () => tf.add(tf.matMul(x, this.#weights([from, to], from)), this.#bias(to)),
    );
  }

  // The graph puts the layer's name before that of its variables.
  #weights(shape: number[], inputs: number): tf.Variable {
    const size = shape.reduce((a, b) => a * b, 1);
    const values = normals(this.#random, size, Math.sqrt(2 / inputs));
    return this.#variable(new tf.NdArray("float32", shape, values), "weights");
  }
  #bias(size: number): tf.Variable {
    return this.#variable(tf.NdArray.zeros("float32", [size]), "bias");
  }
  #variable(initial: tf.NdArray, name: string): tf.Variable {
    const variable = tf.variable(initial, true, name);
    this.variables.push(variable);
    return variable;
  }
}

/** Builds the graph. Equal seeds train equal networks. */
export function buildNetwork(optimizer: tf.Optimizer, seed: number): Network {
  const random = seeded(seed);
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const images = tf.placeholder("uint8", [null, 28, 28], "images");
    const labels = tf.placeholder("uint8", [null], "labels");
    // Numpy-style: the host gets arrays and returns arrays.
    const shifted = tf.numpyFunction(shiftBy(2, random), [images], "uint8", {
      name: "shift",
      shapeFn: (images) => images,
    });

    const layers = new Layers(random);
    let x: tf.Tensor = tf.expandDims(tf.div(tf.cast(shifted, "float32"), 255), -1);
    x = layers.convolution(x, 1, 16, "conv1");
    x = layers.convolution(x, 16, 32, "conv2");
    const logits = layers.dense(tf.reshape(x, [-1, 7 * 7 * 32]), 7 * 7 * 32, 10, "dense");

    const digits = tf.cast(labels, "int32");
    // Eager-style: the host gets tensors, and what it does with them is differentiated.
    const loss = tf.pyFunction(lossOf, [logits, digits], tf.TensorSpec([], "float32"), {
      name: "loss",
    });
    const hits = tf.sum(tf.cast(tf.equal(tf.argMax(logits, -1), digits), "int32"));
    const { variables } = layers;
    const gradients = tf.gradients(loss, variables);
    const step = optimizer.applyGradients(
      variables.map(({ name }, i) => ({ name, tensor: gradients[i] })),
    ) as tf.Operation;
    return {
      graph,
      initializer: tf.compat.v1.globalVariablesInitializer(),
      images,
      labels,
      shifted,
      loss,
      hits,
      step,
      parameters: variables.reduce((n, v) => n + v.size, 0),
      dispose: () => tf.dispose(variables),
    };
  });
}
