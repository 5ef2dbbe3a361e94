/** Losses of TensorFlow 1: what `tf.losses` computes, listed in the graph. Numbers are TensorFlow's. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1, { losses } = v1;
const LABELS = [[0, 1], [1, 0]], VALUES = [[0.2, 0.7], [2, -1]];

testOnDevices("losses of TensorFlow 1 are listed and summed", async () => {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const made = [
      losses.meanSquaredError(LABELS, VALUES),
      losses.softmaxCrossEntropy(LABELS, VALUES),
      losses.sigmoidCrossEntropy(LABELS, VALUES),
      losses.huberLoss(LABELS, VALUES),
    ];
    assertEquals(losses.getLosses(), made);
    assertEquals(v1.getCollection(v1.GraphKeys.LOSSES), made);
    return [...made, losses.getTotalLoss()];
  });
  await using sess = new tf.Session({ graph });
  const found = await sess.run(fetches) as number[];
  const want = [0.5325, 0.26133215, 0.41037863, 0.266250014, 1.47046077];
  found.forEach((x, i) => assertAlmostEquals(x, want[i], 1e-6));
});

testOnDevices("the total loss takes what regularizers gave, and losses of one's own", async () => {
  const graph = new tf.Graph();
  const { fetches, init } = graph.asDefault(() => {
    assertThrows(() => losses.getTotalLoss(), tf.ValueError, "none was added");
    const regularizer = (w: tf.Tensor): tf.Tensor => tf.sum(tf.square(w));
    v1.getVariable("w", { initializer: tf.constant([1, 2]), regularizer });
    losses.addLoss(tf.scalar(10));
    losses.addLoss(tf.scalar(100), "others");
    return {
      fetches: [
        losses.getTotalLoss(),
        losses.getTotalLoss(false),
        losses.getRegularizationLoss(),
        losses.getRegularizationLoss("elsewhere"),
        tf.addN(losses.getLosses(undefined, "others")),
      ],
      init: v1.globalVariablesInitializer(),
    };
  });
  await using sess = new tf.Session({ graph });
  await sess.run(init);
  assertEquals(await sess.run(fetches), [15, 10, 5, 0, 100]);
});

testOnDevices("losses of TensorFlow 1 in eager mode are values that nobody lists", () => {
  using loss = losses.meanSquaredError([1, 2], [1, 4]);
  assertEquals(loss.item(), 2);
  assertThrows(() => losses.addLoss(loss), tf.RuntimeError, "eager");
});
