/** Kernels of TensorFlow.js for networks, images and spectra, and those of gradients, as functions of Weft. */
import * as tf from "../../../../mod.ts";
import type { KernelTable } from "./types.ts";

type Tensor = tf.Tensor;

/** Returns the gradient of `f` at `x`, given that of its result. */
function gradient(f: (x: Tensor) => Tensor, x: Tensor, dy: Tensor): Tensor {
  return tf.grad(f)(x, dy);
}

/** Products, convolutions, pools. */
const PRODUCTS: KernelTable = {
  AvgPool: ({ x }, { filterSize, strides, pad, dimRoundingMode }) =>
    tf.avgPool(x, filterSize, strides, pad, dimRoundingMode),
  AvgPool3D: ({ x }, { filterSize, strides, pad, dimRoundingMode, dataFormat }) =>
    tf.avgPool3d(x, filterSize, strides, pad, dimRoundingMode, dataFormat),
  BatchMatMul: ({ a, b }, { transposeA, transposeB }) => tf.matMul(a, b, transposeA, transposeB),
  Conv2D: ({ x, filter }, { strides, pad, dataFormat, dilations, dimRoundingMode }) =>
    tf.conv2d(x, filter, strides, pad, dataFormat, dilations, dimRoundingMode),
  Conv2DBackpropInput: ({ dy, filter }, { inputShape, strides, pad, dataFormat }) =>
    gradient(
      (x) => tf.conv2d(x, filter, strides, pad, dataFormat),
      tf.zeros(inputShape),
      dy,
    ),
  Conv2DBackpropFilter: ({ x, dy }, { filterShape, strides, pad, dataFormat }) =>
    gradient((f) => tf.conv2d(x, f, strides, pad, dataFormat), tf.zeros(filterShape), dy),
  Conv3D: ({ x, filter }, { strides, pad, dataFormat, dilations }) =>
    tf.conv3d(x, filter, strides, pad, dataFormat, dilations),
  Conv3DBackpropFilterV2: ({ x, dy }, { filterShape, strides, pad }) =>
    gradient((f) => tf.conv3d(x, f, strides, pad), tf.zeros(filterShape), dy),
  Conv3DBackpropInputV2: ({ dy, filter }, { inputShape, strides, pad }) =>
    gradient((x) => tf.conv3d(x, filter, strides, pad), tf.zeros(inputShape), dy),
  DepthwiseConv2dNative: (
    { x, filter },
    { strides, pad, dataFormat, dilations, dimRoundingMode },
  ) => tf.depthwiseConv2d(x, filter, strides, pad, dataFormat, dilations, dimRoundingMode),
  DepthwiseConv2dNativeBackpropFilter: ({ x, dy }, { filterShape, strides, pad, dilations }) =>
    gradient(
      (f) => tf.depthwiseConv2d(x, f, strides, pad, "NHWC", dilations),
      tf.zeros(filterShape),
      dy,
    ),
  DepthwiseConv2dNativeBackpropInput: (
    { dy, filter },
    { inputShape, strides, pad, dilations },
  ) =>
    gradient(
      (x) => tf.depthwiseConv2d(x, filter, strides, pad, "NHWC", dilations),
      tf.zeros(inputShape),
      dy,
    ),
  Dilation2D: ({ x, filter }, { strides, pad, dilations }) =>
    tf.dilation2d(x, filter, strides, pad, dilations),
  Dilation2DBackpropFilter: ({ x, filter, dy }, { strides, pad, dilations }) =>
    gradient((f) => tf.dilation2d(x, f, strides, pad, dilations), filter, dy),
  Dilation2DBackpropInput: ({ x, filter, dy }, { strides, pad, dilations }) =>
    gradient((t) => tf.dilation2d(t, filter, strides, pad, dilations), x, dy),
  Einsum: (inputs, { equation }) => tf.einsum(equation, ...Object.values(inputs)),
  MaxPool: ({ x }, { filterSize, strides, pad, dimRoundingMode }) =>
    tf.maxPool(x, filterSize, strides, pad, dimRoundingMode),
  MaxPool3D: ({ x }, { filterSize, strides, pad, dimRoundingMode, dataFormat }) =>
    tf.maxPool3d(x, filterSize, strides, pad, dimRoundingMode, dataFormat),
  MaxPoolWithArgmax({ x }, { filterSize, strides, pad, includeBatchInIndex }) {
    const { result, indexes } = tf.maxPoolWithArgmax(
      x,
      filterSize,
      strides,
      pad,
      includeBatchInIndex,
    );
    return [result, indexes];
  },
  AvgPoolGrad: ({ dy, input }, { filterSize, strides, pad }) =>
    gradient((x) => tf.avgPool(x, filterSize, strides, pad), input, dy),
  AvgPool3DGrad: ({ dy, input }, { filterSize, strides, pad, dimRoundingMode }) =>
    gradient((x) => tf.avgPool3d(x, filterSize, strides, pad, dimRoundingMode), input, dy),
  MaxPoolGrad: ({ dy, input }, { filterSize, strides, pad, dimRoundingMode }) =>
    gradient((x) => tf.maxPool(x, filterSize, strides, pad, dimRoundingMode), input, dy),
  MaxPool3DGrad: ({ dy, input }, { filterSize, strides, pad, dimRoundingMode }) =>
    gradient((x) => tf.maxPool3d(x, filterSize, strides, pad, dimRoundingMode), input, dy),
  _FusedMatMul: ({ a, b, bias, preluActivationWeights }, attrs) =>
    tf.fused.matMul({ ...attrs, a, b, bias, preluActivationWeights } as never),
  FusedConv2D: ({ x, filter, bias, preluActivationWeights }, attrs) =>
    tf.fused.conv2d({ ...attrs, x, filter, bias, preluActivationWeights } as never),
  FusedDepthwiseConv2D: ({ x, filter, bias, preluActivationWeights }, attrs) =>
    tf.fused.depthwiseConv2d({ ...attrs, x, filter, bias, preluActivationWeights } as never),
};

/** Normalisation, images, spectra. */
const OTHERS: KernelTable = {
  CropAndResize: ({ image, boxes, boxInd }, { cropSize, method, extrapolationValue }) =>
    tf.image.cropAndResize(image, boxes, boxInd, cropSize, method, extrapolationValue),
  FFT: ({ input }) => tf.fft(input),
  FlipLeftRight: ({ image }) => tf.image.flipLeftRight(image),
  FusedBatchNorm: ({ x, scale, offset, mean, variance }, { varianceEpsilon }) =>
    tf.batchNorm(x, mean, variance, offset, scale, varianceEpsilon),
  IFFT: ({ input }) => tf.ifft(input),
  LogSoftmax: ({ logits }, { axis }) => tf.logSoftmax(logits, axis),
  LRN: ({ x }, { depthRadius, bias, alpha, beta }) =>
    tf.localResponseNormalization(x, depthRadius, bias, alpha, beta),
  LRNGrad: ({ x, dy }, { depthRadius, bias, alpha, beta }) =>
    gradient((t) => tf.localResponseNormalization(t, depthRadius, bias, alpha, beta), x, dy),
  NonMaxSuppressionV3: (
    { boxes, scores },
    { maxOutputSize, iouThreshold, scoreThreshold },
  ) => tf.image.nonMaxSuppression(boxes, scores, maxOutputSize, iouThreshold, scoreThreshold),
  NonMaxSuppressionV4({ boxes, scores }, a) {
    const { selectedIndices, validOutputs } = tf.image.nonMaxSuppressionPadded(
      boxes,
      scores,
      a.maxOutputSize,
      a.iouThreshold,
      a.scoreThreshold,
      a.padToMaxOutputSize,
    );
    return [selectedIndices, validOutputs];
  },
  NonMaxSuppressionV5({ boxes, scores }, a) {
    const { selectedIndices, selectedScores } = tf.image.nonMaxSuppressionWithScore(
      boxes,
      scores,
      a.maxOutputSize,
      a.iouThreshold,
      a.scoreThreshold,
      a.softNmsSigma,
    );
    return [selectedIndices, selectedScores];
  },
  ResizeBilinear: ({ images }, { size, alignCorners, halfPixelCenters }) =>
    tf.image.resizeBilinear(images, size, alignCorners, halfPixelCenters),
  ResizeBilinearGrad: ({ images, dy }, { alignCorners }) =>
    gradient(
      (x) => tf.image.resizeBilinear(x, [dy.shape[1], dy.shape[2]], alignCorners),
      images,
      dy,
    ),
  ResizeNearestNeighbor: ({ images }, { size, alignCorners, halfPixelCenters }) =>
    tf.image.resizeNearestNeighbor(images, size, alignCorners, halfPixelCenters),
  ResizeNearestNeighborGrad: ({ images, dy }, { alignCorners }) =>
    gradient(
      (x) => tf.image.resizeNearestNeighbor(x, [dy.shape[1], dy.shape[2]], alignCorners),
      images,
      dy,
    ),
  RotateWithOffset: ({ image }, { radians, fillValue, center }) =>
    tf.image.rotateWithOffset(image, radians, fillValue, center),
  Softmax: ({ logits }, { dim }) => tf.softmax(logits, dim),
  Transform: ({ image, transforms }, { interpolation, fillMode, fillValue, outputShape }) =>
    tf.image.transform(image, transforms, interpolation, fillMode, fillValue, outputShape),
  FromPixels: ({ pixels }, { numChannels }) => tf.browser.fromPixels(pixels as never, numChannels),
};

/** Kernels for networks, images and spectra. */
export const NEURAL: KernelTable = { ...PRODUCTS, ...OTHERS };
