/** Functions over placeholders of which only the rank, or not even that, is known: they compute what they compute of tensors. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

type T = tf.Tensor;
// deno-lint-ignore no-explicit-any
type Fn = (...xs: any[]) => T | readonly T[] | Readonly<Record<string, T>>;

/** The knowledge of the inputs that is required before a run. */
type Needs = "nothing" | "ranks";

const numbers = (...shape: number[]): T =>
  tf.sub(tf.reshape(tf.range(0, shape.reduce((a, b) => a * b, 1)), shape), 2.5);
const ints = (...values: number[]): T => tf.tensor(values, undefined, "int32");
const bools = (...values: boolean[]): T => tf.tensor(values);

const CASES: Readonly<Record<string, readonly [Fn, () => readonly T[], Needs?]>> = {
  add: [tf.add, () => [numbers(2, 3), numbers(3)]],
  addN: [(a, b) => tf.addN([a, b]), () => [numbers(2, 3), numbers(2, 3)]],
  where: [tf.where, () => [bools(true, false), numbers(2), numbers(2)]],
  matMul: [tf.matMul, () => [numbers(2, 3), numbers(3, 2)]],
  "matMul of batches": [tf.matMul, () => [numbers(2, 2, 3), numbers(2, 3, 2)]],
  dot: [tf.dot, () => [numbers(3), numbers(3)], "ranks"],
  outerProduct: [tf.outerProduct, () => [numbers(2), numbers(3)], "ranks"],
  "fused.matMul": [
    (a, b, bias) => tf.fused.matMul({ a, b, bias, activation: "relu" }),
    () => [numbers(2, 3), numbers(3, 2), numbers(2)],
  ],
  sum: [(x) => tf.sum(x), () => [numbers(2, 3)]],
  "sum along an axis": [(x) => tf.sum(x, 1), () => [numbers(2, 3)]],
  "sum, axes kept": [(x) => tf.sum(x, null, true), () => [numbers(2, 3)]],
  mean: [(x) => tf.mean(x, -1), () => [numbers(2, 3)]],
  max: [(x) => tf.max(x, [0]), () => [numbers(2, 3)]],
  prod: [(x) => tf.prod(x), () => [numbers(2, 3)]],
  any: [(x) => tf.any(x), () => [bools(false, true)]],
  logSumExp: [(x) => tf.logSumExp(x), () => [numbers(2, 3)]],
  moments: [(x) => ({ ...tf.moments(x, 0) }), () => [numbers(2, 3)]],
  norm: [(x) => tf.norm(x), () => [numbers(2, 3)]],
  argMax: [(x) => tf.argMax(x, 1), () => [numbers(2, 3)]],
  argMin: [(x) => tf.argMin(x, 0), () => [numbers(2, 3)]],
  cumsum: [(x) => tf.cumsum(x, 1), () => [numbers(2, 3)]],
  "cumsum from the end": [(x) => tf.cumsum(x, -1), () => [numbers(2, 3)]],
  cumprod: [(x) => tf.cumprod(x, 1, true, true), () => [numbers(2, 3)]],
  "cumsum of bool": [(x) => tf.cumsum(x), () => [bools(true, true)]],
  topk: [(x) => ({ ...tf.topk(x, 2) }), () => [numbers(2, 3)]],
  sort: [(x) => tf.sort(x), () => [numbers(2, 3)]],
  softmax: [(x) => tf.softmax(x), () => [numbers(2, 3)]],
  logSoftmax: [(x) => tf.logSoftmax(x), () => [numbers(2, 3)]],
  sparseSoftmaxCrossEntropyWithLogits: [
    (labels, logits) => tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }),
    () => [ints(2, 0), numbers(2, 3)],
  ],
  "sparseSoftmaxCrossEntropyWithLogits of three axes": [
    (labels, logits) => tf.sparseSoftmaxCrossEntropyWithLogits({ labels, logits }),
    () => [tf.reshape(ints(2, 0), [1, 2]), numbers(1, 2, 3)],
  ],
  softmaxCrossEntropyWithLogits: [
    (labels, logits) => tf.softmaxCrossEntropyWithLogits({ labels, logits }),
    () => [tf.softmax(numbers(1, 2, 3)), numbers(1, 2, 3)],
  ],
  reshape: [(x) => tf.reshape(x, [-1]), () => [numbers(2, 3)]],
  expandDims: [(x) => tf.expandDims(x, 0), () => [numbers(2, 3)]],
  squeeze: [(x) => tf.squeeze(x, [0]), () => [numbers(1, 3)]],
  transpose: [(x) => tf.transpose(x, [1, 0]), () => [numbers(2, 3)]],
  "transpose of all axes": [(x) => tf.transpose(x), () => [numbers(2, 3)]],
  concat: [(a, b) => tf.concat([a, b], 1), () => [numbers(2, 3), numbers(2, 1)]],
  stack: [(a, b) => tf.stack([a, b], 0), () => [numbers(2), numbers(2)]],
  split: [(x) => tf.split(x, 3, 1), () => [numbers(2, 3)]],
  slice: [(x) => tf.slice(x, [0, 1], [1, 2]), () => [numbers(2, 3)]],
  "slice to the end": [(x) => tf.slice(x, [1, 1], [-1, -1]), () => [numbers(3, 3)]],
  stridedSlice: [(x) => tf.stridedSlice(x, [0, 2], [2, 0], [1, -1]), () => [numbers(2, 3)]],
  gather: [(x, i) => tf.gather(x, i), () => [numbers(3, 2), ints(2, 0)]],
  "gather along an axis": [(x, i) => tf.gather(x, i, 1), () => [numbers(2, 3), ints(2, 0)]],
  gatherND: [tf.gatherND, () => [numbers(2, 3), tf.reshape(ints(1, 0, 0, 2), [2, 2])]],
  scatterND: [
    (i, x) => tf.scatterND(i, x, [4]),
    () => [tf.reshape(ints(1, 3), [2, 1]), numbers(2)],
  ],
  tensorScatterUpdate: [
    tf.tensorScatterUpdate,
    () => [numbers(4), tf.reshape(ints(1, 3), [2, 1]), numbers(2)],
  ],
  unsortedSegmentSum: [
    (x, i) => tf.unsortedSegmentSum(x, i, 2),
    () => [numbers(3, 2), ints(1, 0, 1)],
  ],
  tile: [(x) => tf.tile(x, [2, 1]), () => [numbers(2, 3)]],
  pad: [(x) => tf.pad(x, [[1, 0], [0, 1]]), () => [numbers(2, 3)]],
  mirrorPad: [(x) => tf.mirrorPad(x, [[1, 0], [0, 1]], "reflect"), () => [numbers(2, 3)]],
  reverse: [(x) => tf.reverse(x, [1]), () => [numbers(2, 3)]],
  "reverse of all axes": [(x) => tf.reverse(x), () => [numbers(2, 3)]],
  roll: [(x) => tf.roll(x, 1, 1), () => [numbers(2, 3)]],
  broadcastTo: [(x) => tf.broadcastTo(x, [2, 3]), () => [numbers(3)]],
  oneHot: [(i) => tf.oneHot(i, 3), () => [ints(2, 0)]],
  zerosLike: [(x) => tf.zerosLike(x), () => [numbers(2, 3)]],
  onesLike: [(x) => tf.onesLike(x), () => [numbers(2, 3)]],
  cast: [(x) => tf.cast(x, "int32"), () => [numbers(2, 3)]],
  einsum: [(a, b) => tf.einsum("ab,bc->ca", a, b), () => [numbers(2, 3), numbers(3, 2)]],
  "einsum with an ellipsis": [
    (a, b) => tf.einsum("...b,bc->...c", a, b),
    () => [numbers(2, 3), numbers(3, 2)],
  ],
  conv2d: [
    (x, f) => tf.conv2d(x, f, 1, "same"),
    () => [numbers(1, 3, 3, 2), numbers(2, 2, 2, 1)],
  ],
  depthwiseConv2d: [
    (x, f) => tf.depthwiseConv2d(x, f, 1, "same"),
    () => [numbers(1, 3, 3, 2), numbers(2, 2, 2, 2)],
  ],
  "fused.conv2d": [
    (x, filter, bias) =>
      tf.fused.conv2d({ x, filter, bias, strides: 1, pad: "same", activation: "relu" }),
    () => [numbers(1, 3, 3, 2), numbers(2, 2, 2, 1), numbers(1)],
  ],
  "fused.depthwiseConv2d": [
    (x, filter, bias) =>
      tf.fused.depthwiseConv2d({ x, filter, bias, strides: 1, pad: "same", activation: "relu" }),
    () => [numbers(1, 3, 3, 2), numbers(2, 2, 2, 1), numbers(2)],
  ],
  maxPool: [(x) => tf.maxPool(x, 2, 1, "same"), () => [numbers(1, 3, 3, 2)]],
  avgPool: [(x) => tf.avgPool(x, 2, 2, "valid"), () => [numbers(1, 4, 4, 1)]],
  batchNorm: [
    (x, m, v) => tf.batchNorm(x, m, v),
    () => [numbers(2, 3), numbers(3), tf.square(numbers(3))],
  ],
  layerNorm: [(x, s, o) => tf.layerNorm(x, s, o), () => [numbers(2, 3), numbers(3), numbers(3)]],
  l2Normalize: [(x) => tf.div(x, tf.norm(x, 2, -1, true)), () => [numbers(2, 3)]],
  localResponseNormalization: [
    (x) => tf.localResponseNormalization(x, 1),
    () => [numbers(1, 2, 2, 3)],
  ],
  resizeBilinear: [
    (x) => tf.image.resizeBilinear(x, [2, 2]),
    () => [numbers(1, 3, 3, 1)],
  ],
  resizeNearestNeighbor: [
    (x) => tf.image.resizeNearestNeighbor(x, [2, 2]),
    () => [numbers(1, 3, 3, 1)],
  ],
  prelu: [tf.prelu, () => [numbers(2, 3), numbers(3)]],
  clipByValue: [(x) => tf.clipByValue(x, -1, 1), () => [numbers(2, 3)]],
  "losses.meanSquaredError": [
    (a, b) => tf.losses.meanSquaredError(a, b),
    () => [numbers(2, 3), tf.square(numbers(2, 3))],
  ],
  "losses.softmaxCrossEntropy": [
    (a, b) => tf.losses.softmaxCrossEntropy(a, b),
    () => [tf.softmax(numbers(2, 3)), numbers(2, 3)],
  ],
  spaceToBatchND: [
    (x) => tf.spaceToBatchND(x, [2, 2], [[0, 0], [0, 0]]),
    () => [numbers(1, 2, 2, 1)],
  ],
  depthToSpace: [(x) => tf.depthToSpace(x, 2), () => [numbers(1, 1, 1, 4)]],
  "image.flipLeftRight": [(x) => tf.image.flipLeftRight(x), () => [numbers(1, 2, 2, 1)]],
  rgbToGrayscale: [(x) => tf.image.rgbToGrayscale(x), () => [numbers(1, 2, 2, 3)]],
  "linalg.bandPart": [(x) => tf.linalg.bandPart(x, 0, 1), () => [numbers(3, 3)]],
  "range to a tensor": [(n) => tf.range(0, n, 1, "int32"), () => [tf.scalar(3, "int32")]],
  fft: [(x) => tf.real(tf.fft(tf.complex(x, tf.zerosLike(x)))), () => [numbers(4)]],
};

/** Results as values, in a list. */
function listOf(result: ReturnType<Fn>): T[] {
  return result instanceof tf.Tensor ? [result] : Object.values(result);
}

for (const [name, [fn, make, needs = "nothing"]] of Object.entries(CASES)) {
  Deno.test(`shapes that are not known: ${name}`, async () => {
    const inputs = make();
    const wanted = listOf(fn(...inputs)).map((t) => [t.dtype, t.arraySync()]);
    const shapes = { none: () => null, rank: (x: T) => x.shape.map(() => null) };
    for (const [known, shapeOf] of Object.entries(shapes)) {
      const graph = new tf.Graph();
      const build = () =>
        graph.asDefault(() => {
          const fed = inputs.map((x) => tf.placeholder(x.dtype, shapeOf(x)));
          return { fed, results: listOf(fn(...fed)) };
        });
      if (known === "none" && needs === "ranks") {
        assertThrows(build, Error);
        continue;
      }
      const { fed, results } = build();
      await using session = new tf.Session({ graph });
      const feeds = new Map(fed.map((x, i) => [x, inputs[i].ndarraySync()]));
      const arrays = await session.run(results, { feeds }) as unknown[];
      const received = arrays.map((a, i) => [
        results[i].dtype,
        a instanceof tf.NdArray ? a.toArray() : a,
      ]);
      assertEquals(received, wanted, known);
    }
  });
}
