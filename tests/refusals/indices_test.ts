/** Refusals of functions of indices, blocks and strings: invalid calls, and a part of each message. */

import * as tf from "@weft/weft";
import { checkRefusals, i, type Refusal, t, U, v, z } from "./check.ts";

const REFUSALS: readonly Refusal[] = [
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

Deno.test("indices, blocks and strings refuse what cannot be meant, and say what was wrong", async () => {
  await tf.setBackend("cpu");
  await checkRefusals(REFUSALS);
});
