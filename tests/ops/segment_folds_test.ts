/** Means, products and extremes of segments. Numbers are TensorFlow 2.21's. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { math } = tf;
const DATA = [[1, 5], [3, 2], [4, 4], [0, -1]];
const SORTED = tf.tensor1d([0, 0, 2, 2], "int32"), UNSORTED = tf.tensor1d([0, 0, 2, -1], "int32");
const LARGE = 3.4028234663852886e38;
/** Function, values in float32 and in int32. */
const OF_SORTED = [
  [math.segmentSum, [[4, 7], [0, 0], [4, 3]], [[4, 7], [0, 0], [4, 3]]],
  [math.segmentMean, [[2, 3.5], [0, 0], [2, 1.5]], [[2, 3], [0, 0], [2, 1]]],
  [math.segmentMax, [[3, 5], [0, 0], [4, 4]], [[3, 5], [0, 0], [4, 4]]],
  [math.segmentMin, [[1, 2], [0, 0], [0, -1]], [[1, 2], [0, 0], [0, -1]]],
  [math.segmentProd, [[3, 10], [1, 1], [0, -4]], [[3, 10], [1, 1], [0, -4]]],
] as const;
const OF_UNSORTED = [
  [math.unsortedSegmentSum, [[4, 7], [0, 0], [4, 4], [0, 0]]],
  [math.unsortedSegmentMean, [[2, 3.5], [0, 0], [4, 4], [0, 0]]],
  [math.unsortedSegmentMax, [[3, 5], [-LARGE, -LARGE], [4, 4], [-LARGE, -LARGE]]],
  [math.unsortedSegmentMin, [[1, 2], [LARGE, LARGE], [4, 4], [LARGE, LARGE]]],
  [math.unsortedSegmentProd, [[3, 10], [1, 1], [4, 4], [1, 1]]],
] as const;

testOnDevices("segments are folded as TensorFlow folds them", () => {
  for (const [fn, floats, ints] of OF_SORTED) {
    assertEquals(fn(DATA, SORTED).arraySync(), floats);
    assertEquals(fn(tf.tensor(DATA, [4, 2], "int32"), SORTED).arraySync(), ints);
  }
  for (const [fn, wanted] of OF_UNSORTED) assertEquals(fn(DATA, UNSORTED, 4).arraySync(), wanted);
  const roots = math.unsortedSegmentSqrtN([3, 5, 2, 6, 1], [0, 0, 0, 0, 1], 3).arraySync();
  assertEquals(roots, [8, 1, 0]);
});

testOnDevices(
  "segments hold what every dtype has as its lowest, and products of integers wrap",
  () => {
    const lowest = { int32: -2147483648, int64: -(2n ** 63n), uint8: 0, float16: -65504 } as const;
    for (const [dtype, low] of Object.entries(lowest)) {
      const x = tf.cast([1], dtype as tf.DType);
      assertEquals(math.unsortedSegmentMax(x, [1], 2).slice([0], [1]).arraySync(), [low], dtype);
    }
    const large = tf.tensor([123456789, 987654321, 3], [3], "int32");
    assertEquals(math.segmentProd(large, [0, 0, 0]).arraySync(), [
      Math.imul(Math.imul(123456789, 987654321), 3),
    ]);
    assertEquals(math.segmentMean(tf.tensor([5n, 6n]), [0, 0]).arraySync(), [5n]);
  },
);

testOnDevices("gradients of extremes are shared, those of products pass over zeros", () => {
  const x = tf.tensor([[1, 5], [1, 2], [0, 4], [3, 4]]);
  const slope = (fn: typeof math.segmentMax) =>
    tf.grad((x) => tf.sum(tf.mul(fn(x, SORTED), [[1, 2], [3, 4], [5, 6]])))(x).arraySync();
  assertEquals(slope(math.segmentMax), [[0.5, 2], [0.5, 0], [0, 3], [5, 3]]);
  assertEquals(slope(math.segmentMin), [[0.5, 0], [0.5, 2], [5, 3], [0, 3]]);
  assertEquals(slope(math.segmentProd), [[1, 4], [1, 10], [15, 24], [0, 24]]);
  // Zero is the lowest there is, and what is in no segment is zero as well.
  const none = tf.grad((x) => tf.sum(math.unsortedSegmentMax(x, [-1, 0, -1], 2)))(
    tf.tensor([0, 0, 3]),
  );
  assertEquals(none.arraySync(), [0, 1, 0]);
});

testOnDevices("segments that cannot be are refused", () => {
  const { InvalidArgumentError } = tf.errors;
  const run = (f: () => tf.Tensor) => () => f().dataSync();
  assertThrows(run(() => math.segmentMax([1, 2], [1, 0])), InvalidArgumentError, "not increasing");
  assertThrows(run(() => math.segmentMax([1], [-1])), InvalidArgumentError, "not increasing");
  assertThrows(
    run(() => math.unsortedSegmentProd([1, 2], [0, 4], 4)),
    InvalidArgumentError,
    "segment_ids[1] = 4 is out of range [0, 4)",
  );
  assertThrows(() => math.segmentMean([1, 2, 3], [0, 1]), tf.ValueError);
  assertThrows(() => math.segmentMean([[1]], [[0]]), tf.ValueError);
});
