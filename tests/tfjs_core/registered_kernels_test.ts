/** Kernels that a package makes of ops and registers for TensorFlow.js's backends, as nanogpt does. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as tf from "@weft/weft/tfjs-core";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import type { Any } from "../script/helpers.ts";

/** Registers a kernel for one of TensorFlow.js's backends while `work` runs. */
async function withKernel(kernel: Any, gradient: Any, work: () => Promise<void>): Promise<void> {
  tf.registerKernel(kernel);
  tf.registerGradient(gradient);
  try {
    await work();
  } finally {
    tf.unregisterKernel(kernel.kernelName, kernel.backendName);
    tf.unregisterGradient(kernel.kernelName);
  }
}

testOnDevices(
  "runKernel() runs kernels of ops on variables, and differentiates them",
  () =>
    withKernel(
      {
        kernelName: "Scaled",
        backendName: "cpu",
        kernelFunc: ({ inputs: { x, scale } }: Any) => tf.tidy(() => x.mul(scale)),
      },
      {
        kernelName: "Scaled",
        inputsToSave: ["x", "scale"],
        gradFunc: (dy: Any, [x, scale]: Any) => ({
          x: () => dy.mul(scale),
          scale: () => dy.mul(x).sum(0),
        }),
      },
      async () => {
        const scale = tf.variable(tf.tensor1d([1, 2, 3]), true, "registered_scale");
        const x = tf.tensor2d([[1, 1, 1], [2, 2, 2]]);
        const { value, grads } = tf.variableGrads(() =>
          tf.sum(tf.engine().runKernel("Scaled", { x, scale }) as tf.Tensor)
        );
        assertEquals([...await value.data()], [18]);
        assertEquals([...await grads.registered_scale.data()], [3, 3, 3]);
        assertEquals(tf.engine().registeredVariables.registered_scale, scale as Any);
        scale.dispose();
      },
    ),
);

testOnDevices(
  "runKernel() differentiates kernels with several outputs of several shapes",
  () =>
    withKernel(
      {
        kernelName: "Halves",
        backendName: "tensorflow",
        kernelFunc: ({ inputs: { x } }: Any) =>
          tf.tidy(
            () => [x.slice([0, 0], [2, 1]), x.slice([0, 1], [2, 2]).mul(x.slice([0, 0], [2, 1]))],
          ),
      },
      {
        kernelName: "Halves",
        inputsToSave: ["x"],
        outputsToSave: [false, true],
        gradFunc: ([da, db]: Any, [x, product]: Any) => ({
          x: () => {
            assertEquals(product.shape, [2, 2]);
            const a = x.slice([0, 0], [2, 1]), b = x.slice([0, 1], [2, 2]);
            return tf.concat([da.add(db.mul(b).sum(1, true)), db.mul(a)], 1);
          },
        }),
      },
      async () => {
        const x = tf.tensor2d([[1, 2, 3], [4, 5, 6]]);
        const f = (x: tf.Tensor) => {
          const [a, b] = tf.engine().runKernel("Halves", { x }) as tf.Tensor[];
          return tf.add(tf.sum(tf.mul(a, 10)), tf.sum(b));
        };
        assertEquals([...await f(x).data()], [10 + 40 + 2 + 3 + 20 + 24]);
        assertEquals([...await tf.grad(f)(x).data()], [15, 1, 1, 21, 4, 4]);
      },
    ),
);

testOnDevices("the function of customGrad() may dispose what it has saved", async () => {
  const square = tf.customGrad(
    ((x: tf.Tensor, save: (tensors: tf.Tensor[]) => void) => {
      const twice = tf.mul(x, 2);
      save([twice]);
      const value = tf.div(tf.square(twice), 4);
      twice.dispose();
      return { value, gradFunc: (dy: tf.Tensor, [twice]: tf.Tensor[]) => tf.mul(dy, twice) };
    }) as Any,
  );
  const x = tf.tensor1d([1, 2, 3]);
  const { numTensors } = tf.memory();
  const g = tf.tidy(() => tf.grad((x: tf.Tensor) => tf.sum(square(x) as tf.Tensor))(x));
  assertEquals([...await g.data()], [2, 4, 6]);
  g.dispose();
  assertEquals(tf.memory().numTensors, numTensors);
});
