/** What the functions of ops refuse, and how they say it: a call that cannot be meant, and a part of the answer. */

import * as tf from "@weft/weft";
import { assert, assertStringIncludes } from "@std/assert";

// Much of this is what types forbid.
// deno-lint-ignore no-explicit-any
const U = tf as any;
const t = U.tensor;
const v = (n: number): tf.Tensor => tf.ones([n]);
const z = (...shape: number[]): tf.Tensor => tf.zeros(shape);
const i = (x: number[], shape: number[] = [x.length]): tf.Tensor => tf.tensor(x, shape, "int32");
// deno-lint-ignore no-explicit-any
const ph = (shape: (number | null)[] | null = null, dtype: any = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape);

type Refusal = readonly [call: () => unknown, says: string, kind?: new (message: string) => Error];

const EAGER: readonly Refusal[] = [
  [() => U.concat2d([v(2), v(2)], 0), "Cannot apply concat2d to shape [2]: wanted rank 2"],
  [() => U.stack([]), "Cannot stack: pass at least one tensor"],
  [
    () => U.transpose(z(2, 3), [0]),
    "Cannot transpose shape [2,3] by perm [0]: dim 1 differs from the rank 2",
  ],
  [() => U.transpose(z(2, 3), [1, 1]), "Cannot permute axes by [1,1]: it is not a permutation"],
  [() => U.reverse2d(v(2), 0), "Cannot apply reverse2d to shape [2]: wanted rank 2"],
  [
    () => U.roll(z(2, 3), [1, 2], [0]),
    "Cannot roll by 2 shifts along 1 axes: wanted as many of each",
  ],
  [() => U.pad(U.scalar(1), []), "pad(scalar) is not defined. Pass non-scalar to pad"],
  [() => U.pad1d(v(2), [1]), "Cannot apply pad1d with 1 paddings: wanted two"],
  [() => U.pad2d(z(2, 2), [[1, 1]]), "Cannot apply pad2d: wanted 2 pairs of paddings, received 1"],
  [
    () => U.mirrorPad(v(3), [[1, 1]], "mirror"),
    'Cannot mirrorPad in mode mirror: wanted "reflect" or "symmetric"',
  ],
  [
    () => U.mirrorPad(U.scalar(1), [], "reflect"),
    "mirrorPad(scalar) is not defined. Pass non-scalar to mirrorPad",
  ],
  [() => U.broadcastTo(z(2, 3), [3]), "Cannot broadcast shape [2,3] to [3]"],
  [() => U.broadcastTo(v(2), [-1, 2]), "broadcastTo(): Invalid broadcast shape [-1,2]"],
  [
    () => U.broadcastArgs(z(2, 2), i([1])),
    "Cannot apply broadcastArgs to shape [2,2]: shapes must be vectors (rank=1)",
  ],
  [
    () => U.slice(z(2, 2), [0, 0, 0], [1, 1, 1]),
    "Cannot slice shape [2,2] from [0,0,0] by [1,1,1]: wanted 2 numbers in each",
  ],
  [() => U.slice(v(3), [-1], [1]), "Cannot slice from -1 along axis 0: begin must not be negative"],
  [() => U.slice(v(3), [4], [0]), "Cannot slice 0 elements from 4 along axis 0: it has 3 elements"],
  [
    () => U.slice2d(v(3), [0, 0], [1, 1]),
    "slice2d expects a rank-2 tensor, but got a rank-1 tensor",
  ],
  [
    () => U.stridedSlice(z(2, 2), [0, 0], [1, 1], [1, 1], 0, 0, 3),
    "Multiple ellipses in slice spec not allowed",
  ],
  [
    () => U.stridedSlice(v(2), [0, 0], [1, 1], [1, 1]),
    "Index out of range using input dim 1; input has only 1 dims",
  ],
  [
    () => U.stridedSlice(v(2), [0], [1, 1], [1]),
    "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2]",
  ],
  [
    () => U.reshape(v(4), [-1, -1]),
    "Cannot reshape to [-1,-1]: only one dimension may be -1, and none smaller",
  ],
  [
    () => U.reshape(v(4), [-2, 2]),
    "Cannot reshape to [-2,2]: only one dimension may be -1, and none smaller",
  ],
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
    () => U.bincount(i([0, 1]), [1, 2, 3], 2),
    "Weights must have the shape of the values [2] or no elements, received [3]",
  ],
  [() => U.bincount(i([0, 1]), [], -1), "size must be non-negative, received -1"],
  [
    () => U.denseBincount(i([0, 1, 1, 0, 0, 0, 0, 0], [2, 2, 2]), [], 2),
    "Shape must be rank 1 or 2 but is [2,2,2] for 'DenseBincount'",
  ],
  [
    () => U.math.confusionMatrix(i([0, 1, 1, 0], [2, 2]), i([0, 1, 1, 0], [2, 2]), 2),
    "Cannot count: labels must be a vector, received shape [2,2]",
  ],
  [
    () => U.tensor(U.scalar(1)),
    "Cannot make a tensor of Tensor(float32[]): it is one already",
    TypeError,
  ],
  [
    () => U.tensor([1, 2], [1.5]),
    "Cannot make a tensor of shape [1.5]: dimensions must be non-negative integers",
  ],
  [
    () => U.tensor([1, 2], [-1, 2]),
    "Cannot make a tensor of shape [-1,2]: dimensions must be non-negative integers",
  ],
  [
    () => U.dilation2d(z(1, 4, 4, 2), z(2, 2, 3), 1, "same"),
    "Error in dilation2d: input and filter must have the same depth, received 2 and 3",
  ],
  [
    () => U.dilation2d(z(1, 4, 4, 2), z(2, 2, 2), 1, 1),
    'Error in dilation2d: pad must be "same" or "valid", received 1',
  ],
  [
    () => U.dilation2d(z(1, 4, 4, 2), z(2, 2, 2), 1, "same", 1, "NCHW"),
    "Error in dilation2d: only NHWC is supported, received NCHW",
  ],
  [
    () => U.einsum("ij->jj", z(2, 2)),
    'Cannot read einsum equation "ij->jj": the output has the label j twice',
  ],
  [
    () => U.einsum("i1->i", z(2, 2)),
    'Cannot read einsum equation "i1->i": wanted letters, and at most one ellipsis an',
  ],
  [
    () => U.einsum("...i...->i", z(2, 2)),
    'Cannot read einsum equation "...i...->i": wanted letters, and at most one ellipsis an',
  ],
  [() => (U.zeros)(), "Cannot apply zeros: no shape was given", TypeError],
  [
    () => U.fused.matMul({ a: z(2, 2), b: z(2, 2), activation: "prelu" }),
    "Cannot apply prelu: preluActivationWeights are missing",
  ],
  [
    () => U.fused.matMul({ a: z(2, 2), b: z(2, 2), activation: "tanhh" }),
    "Unknown fused activation tanhh, wanted one of linear, relu, relu6, elu, prelu,",
  ],
  [
    () =>
      U.fused.conv2d({
        x: z(1, 4, 4, 1),
        filter: z(2, 2, 1, 3),
        strides: 1,
        pad: "same",
        bias: v(2),
      }),
    "Error in fused conv2d: bias must have 1 or 3 elements, received 2",
  ],
  [
    () =>
      U.fused.conv2d({
        x: z(1, 4, 4, 1),
        filter: z(2, 2, 1, 3),
        strides: 1,
        pad: "same",
        activation: "prelu",
        preluActivationWeights: v(2),
      }),
    "Error in fused conv2d: preluActivationWeights must have 1 or 3 elements, received 2",
  ],
  [() => U.gather(z(2, 3), i([0]), 0, 2), "Cannot gather with batchDims 2: indices have rank 1"],
  [
    () => U.gather(z(2, 3), i([0, 1, 1, 0], [2, 2]), 0, 1),
    "Cannot gather along axis 0 with batchDims 1: it must not be greater",
  ],
  [() => U.gather(U.scalar(1), i([0])), "Cannot gather from a scalar: x must be at least a vector"],
  [
    () => U.gatherND(U.scalar(1), i([0])),
    "Cannot gatherND from shape []: input must be at least a vector",
  ],
  [
    () => U.placeholder("float32"),
    "tf.placeholder() is not compatible with eager execution: call it inside",
    tf.RuntimeError,
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
    () => U.image.flipLeftRight(z(4, 4, 1)),
    "Error in flipLeftRight: image must be rank 4, but got shape [4,4,1]",
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
  [
    () => U.inTopKAsync(v(3), i([0]), 1),
    "inTopK() expects the predictions to be of rank 2 or higher, but got 1",
  ],
  [
    () => U.inTopKAsync(z(2, 3), i([0, 1], [2, 1]), 1),
    "predictions rank should be 1 larger than targets rank, but got predictions rank 2 and",
  ],
  [
    () => U.inTopKAsync(z(2, 3), i([0, 1, 2]), 1),
    "predictions's shape should be align with the targets' shape, except the last dimension:",
  ],
  [
    () => U.inTopKAsync(z(2, 3), i([0, 1]), 4),
    "'k' passed to inTopK() must be > 0 && <= the predictions last dimension (3), but got 4",
  ],
  [
    () => U.inTopKAsync(z(2, 3), i([0, 1]), 0),
    "'k' passed to inTopK() must be > 0 && <= the predictions last dimension (3), but got 0",
  ],
  [
    () => U.stack(v(2)),
    "Argument 'tensors' passed to 'stack' must be a list of tensors, but got a value of type",
    TypeError,
  ],
  [
    () => U.reshape(v(2), [2 ** 32 + 2]),
    "Cannot use 4294967298 as an extent or an index: wanted a number that fits in int32",
  ],
  [
    () => U.linalg.bandPart(v(2), 0, 0),
    "Shape must be at least rank 2 but is rank 1 for 'input' of MatrixBandPart",
  ],
  [
    () => U.linalg.bandPart(z(2, 2), 0.5, 0),
    "bandPart(): numLower must be an integer, received 0.5",
  ],
  [
    () => U.linalg.triangularSolve(z(2, 3), z(2, 1)),
    "Cannot solve a triangular system: wanted square matrices and right-hand sides of rank 2",
  ],
  [
    () => U.linalg.triangularSolve(z(2, 2), z(3, 1)),
    "Cannot solve a triangular system: dimensions must be equal, but are 2 and 3",
  ],
  [() => U.linalg.qr(v(2)), "Shape must be at least rank 2 but is rank 1 for 'input' of Qr"],
  [
    () => U.linalg.gramSchmidt([]),
    "Gram-Schmidt process: wanted at least one vector, received none",
  ],
  [
    () => U.linalg.gramSchmidt([v(2), v(3)]),
    "Gram-Schmidt process: wanted vectors of one length, received [2],[3]",
  ],
  [
    () => U.localResponseNormalization(z(2, 2)),
    "Cannot normalize responses: x must have rank 3 or 4, received shape [2,2]",
  ],
  [
    () => U.dot(z(1, 1, 1), v(1)),
    "Cannot take dot: inputs must be rank 1 or 2, received ranks 3 and 1",
  ],
  [() => U.dot(v(2), v(3)), "Cannot take dot: inner dimensions must be equal, received 2 and 3"],
  [() => U.dot(z(2, 3), v(2)), "Cannot take dot: inner dimensions must be equal, received 3 and 2"],
  [
    () => U.outerProduct(z(2, 2), v(2)),
    "Cannot take outerProduct: inputs must be rank 1, received ranks 2 and 1",
  ],
  [() => U.layerNorm(U.scalar(1)), "Cannot slice from -1 along axis 0: begin must not be negative"],
  [
    () => U.layerNorm(z(2, 2), U.scalar(1)),
    "Cannot normalize: the shape of scale must be known and not [], received []",
  ],
  [
    () => U.batchNorm(z(2, 1), v(2), v(2)),
    "Cannot normalize: statistics of shape [2] do not fit x of shape [2,1]",
  ],
  [
    () => U.linspace(0, 1, 0),
    "Cannot make 0 evenly spaced numbers: the number of values should be positive",
  ],
  [
    () => U.range(0, 2.5, 1, "int32"),
    "Cannot count from 0 to 2.5 by 1 in int32: wanted whole numbers",
  ],
  [
    () => U.meshgrid(v(2), v(2), { indexing: "yx" }),
    'Cannot make a grid with indexing yx: wanted "xy" or "ij"',
    TypeError,
  ],
  [() => U.oneHot(i([0]), 1), "Error in oneHot: depth must be >=2, but it is 1"],
  [() => U.addN(v(2)), "The argument passed to tf.addN() must be a list of tensors", TypeError],
  [() => U.addN([]), "Must pass at least one tensor to tf.addN(), but got 0"],
  [
    () => U.avgPool(z(1, 4, 4, 1), 0, 1, "valid"),
    "Error in avgPool: filterSize must be 2 integers greater than 0, received [0,0]",
  ],
  [
    () => U.maxPoolWithArgmax(z(4, 4), 2, 1, "same"),
    "Error in maxPoolWithArgmax: x must be rank 4, received rank 2",
  ],
  [
    () => U.pool(z(1, 4, 4, 1), 2, "min", "same"),
    "Error in pool: unknown poolingType min, wanted avg or max",
  ],
  [() => U.randomGamma([2], 1, 1, "bool"), "Unsupported data type bool in randomGamma", TypeError],
  [() => U.multinomial(z(1, 2, 2), 1), "Rank of probabilities must be 1 or 2, but is 3"],
  [() => U.multinomial(v(1), 1), "Error in multinomial: you need at least 2 outcomes, but got 1"],
  [
    () => U.randomUniform([-1]),
    "Cannot apply random with shape [-1]: dimensions must be non-negative integers",
  ],
  [
    () => U.randomNormal([1.5]),
    "Cannot apply random with shape [1.5]: dimensions must be non-negative integers",
  ],
  [
    () => U.norm(z(2, 2, 2), 2, [0, 1, 2]),
    "Cannot take the norm over 3 axes: wanted one, two or null",
  ],
  [
    () => U.norm(v(2), 3),
    'Cannot take the norm of a vector: received ord 3, wanted 1, 2, ±Infinity or "euclidean"',
  ],
  [
    () => U.norm(z(2, 2), 2, [0, 1]),
    'Cannot take the norm of a matrix: received ord 2, wanted 1, ±Infinity, "euclidean" or',
  ],
  [
    () => U.scatterND(U.scalar(0, "int32"), tf.scalar(1), [1]),
    "Cannot apply scatterND: indices must be at least a vector",
  ],
  [
    () => U.scatterND(i([0, 0], [1, 2]), v(1), [2]),
    "Cannot scatter: index vectors of 2 elements do not fit into shape [2]",
  ],
  [
    () => U.scatterND(i([0], [1, 1]), v(1), []),
    "Cannot scatterND into a scalar: output rank must be greater or equal to 1",
  ],
  [
    () => U.scatterND(i([0], [1, 1]), U.scalar(1), [2]),
    "Cannot apply scatterND: updates must be at least a vector",
  ],
  [
    () => U.tensorScatterUpdate(v(2), U.scalar(0, "int32"), v(1)),
    "Cannot apply tensorScatterUpdate: indices must be at least a vector",
  ],
  [
    () => U.sparseToDense(i([0]), v(1), [1.5]),
    "Cannot apply sparseToDense with shape [1.5]: wanted whole numbers",
  ],
  [
    () => U.sparseToDense(i([0], [1, 1, 1]), v(1), [2]),
    "Cannot apply sparseToDense: sparseIndices should be a scalar, vector, or matrix, got",
  ],
  [
    () => U.sparseToDense(i([0]), v(1), [2], [0]),
    "Cannot apply sparseToDense: defaultValue must be a scalar",
  ],
  [
    () => U.sparseToDense(i([0, 0], [1, 2]), v(1), [2]),
    "Cannot apply sparseToDense: outputShape has incorrect number of elements: 1, should be:",
  ],
  [
    () => U.sparseToDense(i([0, 1]), v(3), [2]),
    "Cannot apply sparseToDense: sparseValues has incorrect shape [3], should be [] or [2]",
  ],
  [
    () => U.unsortedSegmentSum(v(2), i([0, 1]), 1.5),
    "Cannot sum 1.5 segments: numSegments must be of dtype int",
  ],
  [
    () => U.unsortedSegmentSum(v(2), i([0, 1]), -1),
    "Cannot sum -1 segments: numSegments must be of dtype int",
  ],
  [
    () => U.segmentSum(v(2), i([0, 1, 0, 1], [2, 2])),
    "Cannot sum segments with ids of shape [2,2]: wanted a vector",
  ],
  [() => U.booleanMaskAsync(v(2), U.scalar(true)), "mask cannot be scalar"],
  [() => U.unique(U.scalar(1)), "Cannot take the unique elements of a scalar"],
  [() => U.setdiff1dAsync(z(2, 2), v(2)), "x should be 1D tensor, but got x (2,2)."],
  [() => U.setdiff1dAsync(v(2), z(2, 2)), "y should be 1D tensor, but got y (2,2)."],
  [
    () => U.setdiff1dAsync(v(2), i([1])),
    "x and y should have the same dtype, but got x (float32) and y (int32).",
    TypeError,
  ],
  [() => U.softmax(U.scalar(1)), "Shape must be at least rank 1 but is rank 0 for 'Softmax'"],
  [() => U.logSoftmax(U.scalar(1)), "Shape must be at least rank 1 but is rank 0 for 'LogSoftmax'"],
  [
    () => U.softmaxCrossEntropyWithLogits({ labels: U.scalar(1), logits: U.scalar(1) }),
    "Cannot take cross entropy of a scalar: logits need an axis of classes",
  ],
  [
    () => U.softmaxCrossEntropyWithLogits({ labels: z(2, 0), logits: z(2, 0) }),
    "Must have at least one class for 'SoftmaxCrossEntropyWithLogits', received logits of",
  ],
  [
    () => U.spaceToBatchND(v(2), [2, 2], [[0, 0], [0, 0]]),
    "Error in spaceToBatchND: input rank 1 should be > than [blockShape] 2",
  ],
  [
    () => U.spaceToBatchND(z(1, 2, 2, 1), [2, 2], [[0, 0]]),
    "Error in spaceToBatchND: 1 pairs must be equal to [blockShape] 2",
  ],
  [
    () => U.spaceToBatchND(z(1, 3, 2, 1), [2, 2], [[0, 0], [0, 0]]),
    "Cannot apply spaceToBatchND to shape [1,3,2,1]: 3 is not divisible by 2",
  ],
  [
    () => U.batchToSpaceND(z(3, 1, 1, 1), [2, 2], [[0, 0], [0, 0]]),
    "Cannot apply batchToSpaceND to shape [3,1,1,1]: 3 is not divisible by 4",
  ],
  [
    () => U.batchToSpaceND(z(4, 1, 1, 1), [2, 2], [[2, 1], [0, 0]]),
    "Cannot apply batchToSpaceND to shape [4,1,1,1]: 2 and 1 of 2 cannot be cropped",
  ],
  [
    () => U.batchToSpaceND(z(4, 1, 1, 1), [2, 2], [[0, 0], [-1, 0]]),
    "Cannot apply batchToSpaceND to shape [4,1,1,1]: pairs must not be negative, received [-1,0]",
  ],
  [
    () => U.spaceToBatchND(z(1, 2, 2, 1), [2, 2], [[0, 0], [3, -1]]),
    "pairs must not be negative, received [3,-1]",
  ],
  [() => U.depthToSpace(z(2, 2), 2), "Cannot move depth and space of shape [2,2]: wanted rank 4"],
  [() => U.depthToSpace(z(1, 2, 2, 4), 1), "blockSize should be > 1 for depthToSpace, but was: 1"],
  [
    () => U.depthToSpace(z(1, 2, 2, 4), 2, "CHWN"),
    "Cannot apply depthToSpace with data format CHWN: wanted NHWC or NCHW",
  ],
  [
    () => U.sparse.sparseFillEmptyRows(i([0, 0], [1, 2]), v(1), i([0, 2]), 0),
    "Received SparseTensor with denseShape[0] = 0 but indices.shape[0] = 1",
  ],
  [
    () => U.sparse.sparseFillEmptyRows(i([-1, 0], [1, 2]), v(1), i([2, 2]), 0),
    "indices(0, 0) is invalid: -1 < 0",
  ],
  [
    () => U.sparse.sparseFillEmptyRows(i([2, 0], [1, 2]), v(1), i([2, 2]), 0),
    "indices(0, 0) is invalid: 2 >= 2",
  ],
  [
    () => U.sparse.sparseReshape(i([0, 0], [1, 2]), i([2, 2]), i([-1, -1])),
    "only one output dimension may be -1, not both 0 and 1",
  ],
  [
    () => U.sparse.sparseReshape(i([0, 0], [1, 2]), i([2, 2]), i([-2, 2])),
    "size 0 must be non-negative, not -2",
  ],
  [
    () => U.sparse.sparseReshape(i([0, 0], [1, 2]), i([2, 2]), i([3])),
    "Input to reshape is a SparseTensor with 4 dense values, but the requested shape",
  ],
  [
    () => U.sparse.sparseReshape(i([0, 0], [1, 2]), i([2, 2]), i([3, -1])),
    "Input to reshape is a SparseTensor with 4 dense values, but the requested shape",
  ],
  [
    () => U.sparse.sparseReshape(i([], [0, 2]), i([0, 2]), i([0, -1])),
    "reshape cannot infer the missing input size for an empty tensor unless all specified",
  ],
  [
    () => U.sparse.sparseReshape(i([0, 0]), i([2, 2]), i([4])),
    "Cannot apply sparseReshape: inputIndices should be of rank 2 but received shape [2]",
  ],
  [() => U.sparse.sparseSegmentMean(z(2, 2), i([0, 1]), i([0, -1])), "segment ids must be >= 0"],
  [() => U.sparse.sparseSegmentMean(z(2, 2), i([0, 1]), i([-1, 0])), "segment ids must be >= 0"],
  [
    () => U.sparse.sparseSegmentMean(z(2, 2), i([0, 1]), i([1, 0])),
    "segment ids are not increasing",
  ],
  [
    () => U.sparse.sparseSegmentSum(z(2, 2), i([0, 2]), i([0, 1])),
    "Bad: indices[1] == 2 out of range [0, 2)",
  ],
  [
    () => U.sparse.sparseSegmentSum(z(2, 2), i([0, 1]), i([0])),
    "Cannot apply sparseSegmentSum: segmentIds and indices should have same size, received 1",
  ],
  [
    () => U.sparse.sparseSegmentSum(U.scalar(1), i([0]), i([0])),
    "Cannot apply sparseSegmentSum: data should be at least 1 dimensional",
  ],
  [
    () => U.fft(U.complex(U.scalar(1), U.scalar(1))),
    "Shape must be at least rank 1 but is rank 0 for 'FFT'",
  ],
  [
    () => U.string.stringNGrams(t(["a"]), i([]), "|", [1], "", "", 0, false),
    "Data tensor must be empty if splits are: no splits were given",
  ],
  [
    () => U.string.stringNGrams(t(["a"]), i([1, 1]), "|", [1], "", "", 0, false),
    "First split value must be 0, got 1",
  ],
  [
    () => U.string.stringNGrams(t(["a"]), i([0, 2]), "|", [1], "", "", 0, false),
    "Invalid split value 2, must be in [0, 1]",
  ],
  [
    () => U.string.stringNGrams(t(["a", "b"]), i([0, 1]), "|", [1], "", "", 0, false),
    "Last split value must be data size. Expected 2, got 1",
  ],
  [
    () => U.string.stringNGrams(t([["a"]]), i([0, 1]), "|", [1], "", "", 0, false),
    "Cannot apply stringNGrams: data should be of rank 1 but received shape [1,1]",
  ],
  [
    () => U.string.stringSplit(t([["a"]]), " "),
    "Cannot apply stringSplit: input should be of rank 1 but received shape [1,1]",
  ],
  [
    () => U.string.stringToHashBucketFast(["a"], 0),
    "Cannot hash into 0 buckets: Number of buckets must be at least 1",
  ],
  [
    () => U.buffer([1.5]),
    "Cannot make a TensorBuffer of shape [1.5]: dimensions must be non-negative integers",
  ],
  [
    () => U.buffer([2], "complex64"),
    "Cannot make a TensorBuffer of complex64: use tf.complex(real, imag) with two buffers",
  ],
  [
    () => U.buffer([2], "float32", Float32Array.of(1)),
    "Cannot make a TensorBuffer of shape [2]: length of values '1' does not match the size",
  ],
  [() => U.sort(v(2), -1, "UP"), 'Cannot sort UP: wanted "ASCENDING" or "DESCENDING"'],
  [() => U.sort(U.scalar(1)), "Cannot sort a scalar: wanted at least rank 1"],
  [
    () => U.searchSorted(v(2), v(1), "middle"),
    'Cannot search: side must be "left" or "right", received middle',
  ],
];

/** These want to know more of a shape than a graph may. */
const SYMBOLIC: readonly Refusal[] = [
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
    () => U.signal.frame(ph([null]), 2, 1),
    "Cannot frame a signal: its last dimension must be known",
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

async function check([call, says, kind = tf.ValueError]: Refusal): Promise<void> {
  try {
    await call();
  } catch (error) {
    assert(error instanceof kind, `${call}: ${error}`);
    assertStringIncludes((error as Error).message, says, String(call));
    return;
  }
  throw new Error(`${call} was not refused`);
}

Deno.test("ops refuse what cannot be meant, and say what was wrong", async () => {
  await tf.setBackend("cpu");
  for (const refusal of EAGER) await check(refusal);
});

Deno.test("ops refuse placeholders of which they must know more", async () => {
  const graph = new tf.Graph();
  for (const [call, ...rest] of SYMBOLIC) await check([() => graph.asDefault(call), ...rest]);
});
