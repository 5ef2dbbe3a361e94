/** Refusals of functions of windows and images: invalid calls, and a part of each message. */

import * as tf from "@weft/weft";
import { apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { checkRefusals, i, type Refusal, U, v, z } from "./check.ts";

const REFUSALS: readonly Refusal[] = [
  [() => apply1(lookupOp("LRN")!, [z(2, 2, 2)]), "Shape must be rank 4 but is rank 3 for 'LRN'"],
  [
    () => U.conv1d(z(1, 4, 2), z(2, 2, 1), 1, "same", "NCW"),
    "Error in conv1d: got dataFormat of NCW but only NWC is supported",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), 0, "same"),
    "Error in conv2d: strides must be 2 integers greater than 0, received [0,0]",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), [1.5, 1], "same"),
    "Error in conv2d: strides must be 2 integers greater than 0, received [1.5,1]",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), 1, "same", "CHWN"),
    "Error in conv2d: got dataFormat of CHWN but wanted NHWC or NCHW",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), 1, 1, "NHWC", 1, "up"),
    "Error in conv2d: unknown dimRoundingMode up, wanted floor, round or ceil",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), 1, "same", "NHWC", 1, "floor"),
    "Error in conv2d: pad must be an integer when using dimRoundingMode floor, received pad",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), 1, 1.5, "NHWC", 1, "floor"),
    "Error in conv2d: pad must be integers of at least 0, received pad 1.5",
  ],
  [
    () => U.conv2d(z(4, 4), z(2, 2, 1, 1), 1, "same"),
    "Error in conv2d: x must be rank 3 or 4, received rank 2",
  ],
  [
    () => U.conv2d(z(1, 4, 4, 1), z(2, 2, 1), 1, "same"),
    "Error in conv2d: filter must be rank 4, received rank 3",
  ],
  [
    () => U.conv2dTranspose(z(1, 4, 4, 1), z(2, 2, 1, 1), [4, 4], 1, "same"),
    "Error in conv2dTranspose: outputShape must have 3 or 4 entries, received [4,4]",
  ],
  [
    () => U.separableConv2d(z(1, 4, 4, 1), z(2, 2, 1, 1), z(1, 1, 1, 1), 1, "same", 1, "NCHW"),
    "Error in separableConv2d: only dataFormat NHWC is supported, received NCHW",
  ],
  [
    () => U.image.nonMaxSuppression(z(2, 4), v(2), 2, 1.5),
    "Error in nonMaxSuppression: iouThreshold must be in [0, 1], but was '1.5'",
  ],
  [
    () => U.image.nonMaxSuppression(z(2, 4), v(2), 2, -0.5),
    "Error in nonMaxSuppression: iouThreshold must be in [0, 1], but was '-0.5'",
  ],
  [
    () => U.image.nonMaxSuppression(z(2, 3), v(2), 2),
    "Error in nonMaxSuppression: boxes must have shape [n, 4], but have [2,3]",
  ],
  [
    () => U.image.nonMaxSuppression(z(2, 4), v(3), 2),
    "Error in nonMaxSuppression: scores has incompatible shape with boxes. Expected 2, but",
  ],
  [
    () => U.image.nonMaxSuppression(z(2, 4), z(2, 1), 2),
    "Error in nonMaxSuppression: scores has incompatible shape with boxes. Expected 2, but",
  ],
  [
    () => U.image.nonMaxSuppressionWithScore(z(2, 4), v(2), 2, 0.5, 0, 1.5),
    "Error in nonMaxSuppressionWithScore: softNmsSigma must be in [0, 1], but was '1.5'",
  ],
  [
    () => U.image.nonMaxSuppressionWithScore(z(2, 4), v(2), 2, 0.5, 0, -0.5),
    "Error in nonMaxSuppressionWithScore: softNmsSigma must be in [0, 1], but was '-0.5'",
  ],
  [
    () => U.image.grayscaleToRGB(v(3)),
    "Error in grayscaleToRGB: wanted images of rank 2 or more with 1 channels last, received",
  ],
  [
    () => U.image.grayscaleToRGB(z(2, 2)),
    "Error in grayscaleToRGB: wanted images of rank 2 or more with 1 channels last, received",
  ],
  [
    () => U.image.rgbToGrayscale(z(2, 2)),
    "Error in rgbToGrayscale: wanted images of rank 2 or more with 3 channels last, received",
  ],
  [
    () => U.image.threshold(z(2, 2)),
    "Error in threshold: image must be rank 3 with 1 or 3 channels, but got shape [2,2]",
  ],
  [
    () => U.image.threshold(z(2, 2, 2)),
    "Error in threshold: image must be rank 3 with 1 or 3 channels, but got shape [2,2,2]",
  ],
  [
    () => U.image.threshold(U.zeros([2, 2, 3], "bool")),
    "Error in threshold: image dtype must be int32 or float32, but got bool",
    TypeError,
  ],
  [() => U.image.threshold(z(2, 2, 1), "mean"), "Method must be binary or otsu, but was mean"],
  [
    () => U.image.cropAndResize(z(1, 4, 4, 1), z(1, 4), i([0]), [0, 2]),
    "Error in cropAndResize: cropSize must be two positive numbers, but got [0,2]",
  ],
  [
    () => U.image.cropAndResize(z(1, 4, 4, 1), z(1, 4), i([0]), [2]),
    "Error in cropAndResize: cropSize must be two positive numbers, but got [2]",
  ],
  [
    () => U.image.cropAndResize(z(1, 4, 4, 1), z(1, 4), i([0]), [2, 2], "cubic"),
    "method must be bilinear or nearest, but was cubic",
  ],
  [
    () => U.image.cropAndResize(z(4, 4, 1), z(1, 4), i([0]), [2, 2]),
    "Error in cropAndResize: image must be rank 4, but got rank 3",
  ],
  [
    () => U.image.cropAndResize(z(1, 4, 4, 1), z(1, 4), i([0, 0]), [2, 2]),
    "Error in cropAndResize: boxInd must be have size [1] but had shape [2]",
  ],
  [
    () => U.image.resizeBilinear(z(4, 4), [2, 2]),
    "Error in resizeBilinear: x must be rank 3 or 4, but got rank 2",
  ],
  [
    () => U.image.resizeBilinear(z(1, 4, 4, 1), [2]),
    "Error in resizeBilinear: new shape must 2D, but got shape 2",
  ],
  [
    () => U.image.flipLeftRight(z(4, 4)),
    "Error in flipLeftRight: wanted images of rank 3 or more, received shape [4,4]",
  ],
  [
    () => U.image.rotateWithOffset(z(4, 4, 1), 1),
    "Error in rotateWithOffset: image must be rank 4, but got shape [4,4,1]",
  ],
  [
    () => U.image.transform(z(2, 4, 4, 1), z(3, 8)),
    "Error in transform: Input transform should be batch x 8 or 1 x 8, received shape [3,8]",
  ],
  [
    () => U.image.transform(z(2, 4, 4, 1), z(1, 7)),
    "Error in transform: Input transform should be batch x 8 or 1 x 8, received shape [1,7]",
  ],
  [
    () => U.image.transform(z(2, 4, 4, 1), z(1, 8), "nearest", "constant", 0, [1]),
    "Error in transform: outputShape must be [height, width] or null, but got 1",
  ],
];

Deno.test("windows and images refuse what cannot be meant, and say what was wrong", async () => {
  await tf.setBackend("cpu");
  await checkRefusals(REFUSALS);
});
