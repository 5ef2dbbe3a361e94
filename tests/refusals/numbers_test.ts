/** Refusals of functions of numbers and matrices: invalid calls, and a part of each message. */

import * as tf from "@weft/weft";
import { checkRefusals, i, type Refusal, U, v, z } from "./check.ts";

const REFUSALS: readonly Refusal[] = [
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
    "Argument 'tensors' passed to 'stack' must be a list of tensors, but got a tensor of dtype",
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
  ...[
    [[0, 1], [0]],
    [[0], [2]],
    [[2], [0]],
    [[-3], [0]],
    [[0, 0], [0, 1]],
    [[0, 1], [1, 1]],
    [[0.5], [0]],
    3,
  ].map((axes): Refusal => [
    () => U.tensordot(z(2, 2), z(2, 2), axes),
    `or axes that are not there: received ${JSON.stringify(axes)} for tensors of ranks 2 and 2`,
  ]),
  [() => U.linalg.qr(v(2)), "Shape must be at least rank 2 but is rank 1 for 'input' of Qr"],
  [
    () => U.linalg.gramSchmidt([]),
    "Gram-Schmidt process: wanted at least one vector, received none",
  ],
  [
    () => U.linalg.gramSchmidt([v(2), v(3)]),
    "Gram-Schmidt process: wanted vectors of one length that is known, received shapes [2],[3]",
  ],
  [
    () => U.localResponseNormalization(z(2, 2)),
    "Cannot normalize responses: x must have rank 3 or 4, received shape [2,2]",
  ],
  [
    () => U.dot(z(1, 1, 1), v(1)),
    "Cannot take dot: inputs must be rank 1 or 2, received [1,1,1] and [1]",
  ],
  [() => U.dot(v(2), v(3)), "Cannot take dot: inner dimensions must be equal, received 2 and 3"],
  [() => U.dot(z(2, 3), v(2)), "Cannot take dot: inner dimensions must be equal, received 3 and 2"],
  [
    () => U.outerProduct(z(2, 2), v(2)),
    "Cannot take outerProduct: inputs must be rank 1, received [2,2] and [2]",
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
];

Deno.test("numbers and matrices refuse what cannot be meant, and say what was wrong", async () => {
  await tf.setBackend("cpu");
  await checkRefusals(REFUSALS);
});
