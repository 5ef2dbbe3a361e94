/** Refusals of ops in graphs that know too little of a shape. */

import * as tf from "@weft/weft";
import { type Any, checkRefusals, type Refusal, U } from "./check.ts";

const ph = (shape: (number | null)[] | null = null, dtype: Any = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape);

const REFUSALS: readonly Refusal[] = [
  [() => U.unstack(ph([null, 2])), "Cannot infer argument num from shape [?,2] in unstack"],
  [() => U.unstack(ph()), "Cannot infer argument num from shape <unknown> in unstack"],
  [() => U.sort(ph(), 0), "Cannot sort along axis 0 of a tensor whose rank is unknown: wanted -1"],
  [
    () => U.softmaxCrossEntropyWithLogits({ labels: ph(), logits: ph(), axis: 0 }),
    "Cannot find axis 0 of logits whose rank is unknown: wanted -1",
  ],
  [
    () => U.losses.softmaxCrossEntropy(ph([2, null]), ph([2, null]), null, 0.1),
    "Cannot smooth labels in softmaxCrossEntropy: the number of classes is unknown",
  ],
  [
    () => U.booleanMaskAsync(ph(), ph(null, "bool")),
    "Cannot apply booleanMaskAsync: the shape of x and the rank of the mask must be known",
  ],
  [
    () => U.signal.frame(ph(), 2, 1),
    "Cannot frame a signal: its rank must be known, and 1 or more",
  ],
  [
    () => U.rfft(ph([null])),
    "Cannot transform in rfft: the last dimension is unknown, pass fftLength",
  ],
  [() => U.meshgrid(ph(), ph()), "Cannot make a grid of tensors of unknown size"],
  [
    () => U.image.grayscaleToRGB(ph()),
    "Error in grayscaleToRGB: the rank of the images must be known",
  ],
];

Deno.test("ops refuse placeholders of which they must know more", async () => {
  const graph = new tf.Graph();
  await checkRefusals(REFUSALS, (call) => graph.asDefault(call));
});
