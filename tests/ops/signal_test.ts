import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("signal.frame() cuts any last axis, and pads where asked", () => {
  assertEquals(tf.signal.frame([[1, 2, 3, 4, 5], [6, 7, 8, 9, 0]], 3, 2).arraySync(), [
    [[1, 2, 3], [3, 4, 5]],
    [[6, 7, 8], [8, 9, 0]],
  ]);
  assertEquals(tf.signal.frame([1, 2, 3], 2, 2, true, -1).arraySync(), [[1, 2], [3, -1]]);
  assertEquals(tf.signal.frame([1, 2, 3], 4, 1).shape, [0, 4]);
  assertThrows(
    () => tf.signal.frame([1, 2, 3], 2, 0),
    tf.ValueError,
    "Cannot frame a signal: received frameLength 2 and frameStep 0, wanted",
  );
});

testOnDevices("dropout() scales what stays, shares chances, and is its own mask backward", () => {
  const x = tf.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]);
  const shared = tf.dropout(x, 0.5, [null, 1], 3).arraySync() as number[][];
  const plain = x.arraySync() as number[][];
  for (const [i, row] of shared.entries()) {
    assertEquals(row, row[0] === 0 ? [0, 0, 0, 0] : plain[i].map((v) => 2 * v));
  }
  const tape = new tf.GradientTape();
  tape.watch(x);
  const y = tf.dropout(x, 0.5, null, 5);
  const dx = tape.gradient(y, x) as tf.Tensor;
  assertEquals(tf.mul(dx, x).arraySync(), y.arraySync());
  assertEquals(tf.dropout([Infinity], 0.999999, null, 1).arraySync(), [0]);
  assertThrows(() => tf.dropout(x, 1), tf.ValueError, "[0, 1)");
  assertThrows(
    () => tf.dropout(tf.tensor([1], [1], "int32"), 0.5),
    TypeError,
    "Cannot drop out: x has to be a floating point tensor, but got int32",
  );
});

testOnDevices("functions made of several ops leave nothing behind", async () => {
  const x = tf.tensor([[1, 2, 4], [3, 1, 0]]), whole = tf.tensor([1, 0, 2], [3], "int32");
  const run: Record<string, () => unknown> = {
    logSumExp: () => tf.logSumExp(x, 1),
    moments: () => tf.moments(x, 0),
    norm: () => tf.norm(x, 1, [0, 1]),
    "softmax by columns": () => tf.softmax(x, 0),
    crossEntropy: () => tf.softmaxCrossEntropyWithLogits({ labels: x, logits: x, axis: 0 }),
    layerNorm: () => tf.layerNorm(x),
    batchNorm: () => tf.batchNorm(x, [1, 2, 3], [1, 1, 1]),
    "mean of int32": () => tf.mean(whole),
    sort: () => tf.sort(x, 0),
    topk: () => tf.topk(x, 2),
    confusionMatrix: () => tf.math.confusionMatrix(whole, whole, 3),
    stft: () => tf.signal.stft([1, 2, 3, 4, 5], 3, 1),
    dropout: () => tf.dropout(x, 0.5),
    localResponseNormalization: () => tf.localResponseNormalization([[[1, 2]]]),
    inTopK: () => tf.inTopKAsync(x, [0, 1], 2),
  };
  for (const [name, fn] of Object.entries(run)) {
    const before = tf.memory().numTensors;
    tf.dispose(await fn());
    assertEquals(tf.memory().numTensors, before, name);
  }
});
