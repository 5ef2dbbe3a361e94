import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** Flat values, rounded so that devices agree. */
function flat(t: tf.Tensor): number[] {
  return Array.from(t.dataSync() as Float32Array, (v) => Math.round(v * 1e4) / 1e4);
}

const square = (): tf.Tensor => tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);

Deno.test("resized images of unknown depth have their new height and width", () => {
  for (const resize of [tf.image.resizeBilinear, tf.image.resizeNearestNeighbor]) {
    const f = tf.function((x: tf.Tensor) => resize(x, [4, 5]));
    const { outputs: [spec] } = f.getConcreteFunction(tf.TensorSpec([null, null, null]));
    assertEquals(spec!.shape, [4, 5, null]);
    assertEquals(f(tf.zeros([2, 2, 3])).shape, [4, 5, 3]);
  }
});

testOnDevices("resizeBilinear() follows each of TensorFlow's three conventions", () => {
  assertEquals(flat(tf.image.resizeBilinear(square(), [1, 4])), [1, 1.5, 2, 2]);
  assertEquals(flat(tf.image.resizeBilinear(square(), [2, 3], true)), [1, 1.5, 2, 3, 3.5, 4]);
  assertEquals(flat(tf.image.resizeBilinear(square(), [1, 4], false, true)), [2, 2.25, 2.75, 3]);
  assertEquals(flat(tf.image.resizeBilinear(tf.cast(square(), "int32"), [1, 1], false, true)), [
    2.5,
  ]);
  assertEquals(tf.image.resizeBilinear(tf.zeros([2, 2, 3]), [4, 5]).shape, [4, 5, 3]);
  assertThrows(
    () => tf.image.resizeBilinear(square(), [1, 2], true, true),
    tf.ValueError,
    "alignCorners must be false",
  );
  assertThrows(
    () => tf.image.resizeBilinear(tf.zeros([2, 2]), [1, 2]),
    tf.ValueError,
    "rank 3 or 4",
  );
  assertThrows(() => tf.image.resizeBilinear(square(), [1, 0]), tf.ValueError, "must be positive");
});

testOnDevices("resizeNearestNeighbor() keeps the dtype and takes whole pixels", () => {
  const x = tf.cast(square(), "int32");
  assertEquals(tf.image.resizeNearestNeighbor(x, [3, 3]).dtype, "int32");
  assertEquals(flat(tf.image.resizeNearestNeighbor(x, [3, 3])), [1, 1, 2, 1, 1, 2, 3, 3, 4]);
  assertEquals(flat(tf.image.resizeNearestNeighbor(x, [3, 3], true)), [1, 2, 2, 3, 4, 4, 3, 4, 4]);
  assertEquals(flat(tf.image.resizeNearestNeighbor(x, [3, 3], false, true)), [
    1,
    2,
    2,
    3,
    4,
    4,
    3,
    4,
    4,
  ]);
  assertEquals(flat(tf.image.resize(x, [1, 2], { method: "nearest" })), [3, 4]);
});

testOnDevices("resizing many channels is resizing each", () => {
  const x = tf.randomUniform([1, 5, 7, 8], 0, 1, "float32", 1);
  const whole = tf.image.resizeBilinear(x, [9, 4], false, true);
  const parts = tf.split(x, 8, 3).map((c) => tf.image.resizeBilinear(c, [9, 4], false, true));
  const apart = flat(tf.sub(whole, tf.concat(parts, 3)));
  apart.forEach((v) => assertAlmostEquals(v, 0, 1e-4));
});

testOnDevices("gradients of resizing give back what pixels took", () => {
  const grad = (f: (x: tf.Tensor) => tf.Tensor, dy: tf.Tensor) =>
    flat(tf.grad((x) => tf.sum(tf.mul(f(x), dy)))(square()));
  const ramp = tf.tensor4d([1, 2, 3, 4], [1, 1, 4, 1]);
  assertEquals(grad((x) => tf.image.resizeBilinear(x, [1, 4]), ramp), [2, 8, 0, 0]);
  assertEquals(grad((x) => tf.image.resizeNearestNeighbor(x, [1, 4]), ramp), [3, 7, 0, 0]);
});

testOnDevices("cropAndResize() cuts boxes, flips them, and fills what lies outside", () => {
  const x = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 3, 1]);
  const crop = (
    box: number[],
    size: [number, number],
    method?: "bilinear" | "nearest",
    outside?: number,
  ) => flat(tf.image.cropAndResize(x, [box], tf.tensor1d([0], "int32"), size, method, outside));
  assertEquals(crop([0, 0, 1, 1], [2, 2]), [1, 3, 7, 9]);
  assertEquals(crop([0, 0, 0.5, 0.5], [3, 3]), [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]);
  assertEquals(crop([1, 1, 0, 0], [2, 2]), [9, 7, 3, 1]);
  assertEquals(crop([0, 0, 2, 1], [2, 1], "bilinear", -7), [2, -7]);
  assertEquals(crop([0, 0, 0.3, 1], [2, 2], "nearest"), [1, 3, 4, 6]);
  assertThrows(
    () => tf.image.cropAndResize(x, [[0, 0, 1]], [0], [1, 1]),
    tf.ValueError,
    "Error in cropAndResize: boxes must be have size [n,4] but had shape",
  );
});

testOnDevices("cropAndResize() of whole images has their last rows and columns", () => {
  const whole = [[0, 0, 1, 1]];
  for (const size of [7, 61, 192, 247]) {
    for (const method of ["bilinear", "nearest"] as const) {
      const found = tf.image.cropAndResize(
        tf.ones([1, 60, 90, 1]),
        whole,
        [0],
        [size, 192],
        method,
      );
      assertEquals(tf.min(found).item(), 1, `${size} ${method}`);
    }
    const grad = tf.grad((x) => tf.image.cropAndResize(x, whole, [0], [size, 192]));
    assertAlmostEquals(tf.sum(grad(tf.ones([1, 60, 90, 1]))).item() as number, size * 192, 0.1);
  }
});

testOnDevices(
  "cropAndResize() in a graph refuses as many owners as there are no boxes",
  async () => {
    const graph = new tf.Graph();
    await using session = new tf.Session({ graph });
    const crops = graph.asDefault(() => {
      const boxes = tf.placeholder("float32", [null, 4], "boxes");
      const owners = tf.placeholder("int32", [null], "owners");
      return tf.image.cropAndResize(tf.ones([1, 4, 4, 1]), boxes, owners, [1, 1]);
    });
    const run = (boxes: number[][], owners: number[]) =>
      session.run(crops, { feeds: { "boxes:0": boxes, "owners:0": owners } });
    assertEquals((await run([[0, 0, 1, 1]], [0]) as tf.NdArray).toArray(), [[[[1]]]]);
    for (const owners of [[], [0, 0]]) {
      await assertRejects(
        () => run([[0, 0, 1, 1]], owners),
        tf.errors.InvalidArgumentError,
        `boxInd must be have size [1] but had shape [${owners.length}]`,
      );
    }
  },
);

testOnDevices("transform() moves, mirrors and wraps", () => {
  const x = tf.tensor4d([1, 2, 3, 4], [1, 1, 4, 1]);
  const shift = (by: number, fill: "constant" | "reflect" | "wrap" | "nearest") =>
    flat(tf.image.transform(x, [[1, 0, by, 0, 1, 0, 0, 0]], "nearest", fill, 9));
  assertEquals(shift(2, "constant"), [3, 4, 9, 9]);
  assertEquals(shift(2, "reflect"), [3, 4, 4, 3]);
  assertEquals(shift(2, "wrap"), [3, 4, 1, 2]);
  assertEquals(shift(-2, "nearest"), [1, 1, 1, 2]);
  const half = tf.image.transform(x, [[1, 0, 0.5, 0, 1, 0, 0, 0]], "bilinear", "constant", 0);
  assertEquals(flat(half), [1.5, 2.5, 3.5, 2]);
});

testOnDevices("flips and rotations turn images", () => {
  assertEquals(flat(tf.image.flipLeftRight(square())), [2, 1, 4, 3]);
  assertEquals(flat(tf.image.flipUpDown(square())), [3, 4, 1, 2]);
  assertEquals(flat(tf.image.rotateWithOffset(square(), 0)), [1, 2, 3, 4]);
  const x = tf.tensor4d([1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 3, 3, 1]);
  const turned = tf.image.rotateWithOffset(x, Math.PI / 2, -1, [1 / 3, 1 / 3]);
  assertEquals(flat(turned), [3, 6, 9, 2, 5, 8, 1, 4, 7]);
});

testOnDevices("colours turn to grey and back, and to black and white", () => {
  assertEquals(tf.image.grayscaleToRGB(square()).shape, [1, 2, 2, 3]);
  assertEquals(
    tf.image.rgbToGrayscale(tf.tensor([[[100, 0, 0], [0, 100, 0]]], [1, 2, 3], "int32"))
      .arraySync(),
    [[[29], [58]]],
  );
  const image = tf.tensor3d([10, 20, 200, 210], [2, 2, 1], "int32");
  assertEquals(flat(tf.image.threshold(image)), [0, 0, 255, 255]);
  assertEquals(flat(tf.image.threshold(image, "binary", true)), [255, 255, 0, 0]);
  assertEquals(flat(tf.image.threshold(image, "otsu")), [0, 0, 255, 255]);
  // Two levels are two classes, however few have them; one is none.
  const two = tf.tensor([[[10], [200]]], undefined, "int32");
  assertEquals(tf.image.threshold(two as tf.Tensor, "otsu").arraySync(), [[[0], [255]]]);
  const one = tf.fill([1, 2, 1], 7, "int32");
  assertEquals(tf.image.threshold(one, "otsu").arraySync(), [[[255], [255]]]);
  // Of colours their brightness: 0.2989 red, 0.587 green, 0.114 blue, beside half of 255.
  const colours = [[255, 90, 0], [255, 80, 0], [0, 255, 0], [0, 200, 90], [0, 200, 80], [
    255,
    0,
    255,
  ]];
  for (const dtype of ["int32", "float32"] as const) {
    const coloured = tf.tensor([colours], undefined, dtype) as tf.Tensor;
    assertEquals(tf.image.threshold(coloured).arraySync(), [[[255], [0], [255], [255], [0], [0]]]);
  }
});

testOnDevices("nonMaxSuppression() keeps the best of overlapping boxes", async () => {
  const boxes = tf.tensor2d([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [
    0,
    10.1,
    1,
    11.1,
  ], [0, 100, 1, 101]]);
  const scores = tf.tensor1d([0.9, 0.75, 0.6, 0.95, 0.5, 0.3]);
  assertEquals(tf.image.nonMaxSuppression(boxes, scores, 3, 0.5, 0).arraySync(), [3, 0, 5]);
  assertEquals((await tf.image.nonMaxSuppressionAsync(boxes, scores, 2)).arraySync(), [3, 0]);
  assertEquals(tf.image.nonMaxSuppression(boxes, scores, 6, 0.5, 0.4).arraySync(), [3, 0]);
  const soft = tf.image.nonMaxSuppressionWithScore(boxes, scores, 6, 1, 0, 0.5);
  assertEquals(soft.selectedIndices.arraySync(), [3, 0, 1, 5, 4, 2]);
  const padded = tf.image.nonMaxSuppressionPadded(boxes, scores, 5, 0.5, 0, true);
  assertEquals([padded.selectedIndices.arraySync(), padded.validOutputs.item()], [
    [3, 0, 5, 0, 0],
    3,
  ]);
});

testOnDevices("blocks of space move into batch and depth, and back", () => {
  const x = tf.range(0, 16).reshape([1, 4, 4, 1]);
  const blocks = tf.spaceToBatchND(x, [2, 2], [[0, 0], [0, 0]]);
  assertEquals(flat(blocks), [0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15]);
  assertEquals(flat(tf.batchToSpaceND(blocks, [2, 2], [[0, 0], [0, 0]])), flat(x));
  const pairs = [[1, 1], [0, 2]] as [number, number][];
  const padded = tf.spaceToBatchND(x, [2, 2], pairs);
  assertEquals(padded.shape, [4, 3, 3, 1]);
  assertEquals(flat(tf.batchToSpaceND(padded, [2, 2], pairs)), flat(x));
  assertEquals(tf.batchToSpaceND(blocks, [2, 2], [[0, 1], [2, 1]]).shape, [1, 3, 1, 1]);
  const deep = tf.spaceToDepth(x, 2);
  assertEquals(flat(deep), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
  assertEquals(flat(tf.depthToSpace(deep, 2)), flat(x));
  assertThrows(
    () => tf.spaceToBatchND(x, [3, 3], [[0, 0], [0, 0]]),
    tf.ValueError,
    "not divisible",
  );
});
