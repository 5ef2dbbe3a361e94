// More of tf.sparse: eagerly, compiled with known and unknown shapes, and in sessions, on each device, beside TensorFlow 2.21.

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/sparse_more.json" with { type: "json" };
import { plain } from "./values.ts";

const { sparse } = tf;
type Sparse = tf.SparseTensor;

const X: readonly [number[][], number[], number[]] = [[[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3]];
const x = (): Sparse => new tf.SparseTensor(...X);
const y = (): Sparse => new tf.SparseTensor([[0, 1], [0, 2], [1, 2]], [-5, 1, 2], [2, 3]);
const deep = (): Sparse =>
  new tf.SparseTensor([[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 1, 2]], [1, 2, 3, 4], [2, 2, 3]);
const holes = (): Sparse => new tf.SparseTensor([[0, 1], [0, 2]], [-5, -6], [2, 3]);
const int = (values: tf.TensorLike): tf.Tensor => tf.cast(values, "int32");
const ids = (): Sparse => new tf.SparseTensor([[0, 0], [0, 2], [1, 1]], int([2, 0, 2]), [2, 3]);
const counts = (): Sparse =>
  new tf.SparseTensor([[0, 0], [0, 2], [2, 1], [2, 2]], int([1, 1, 3, 3]), [3, 3]);
const words = (): Sparse => new tf.SparseTensor([[0, 0], [1, 0], [1, 2]], ["p", "q", "r"], [2, 3]);
const gaps = (): Sparse => new tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [4, 2]);
const V = (): tf.Tensor => int([[1, 2, 1], [0, 0, 5]]), W = [[.5, 1, 2], [3, 4, .25]];
const A = [["a", "b"], ["c", "d"]], B = [["e"], ["f"]], N = (): tf.Tensor => int([[3, 4], [-5, 6]]);
const D = [[1, 2], [3, 4], [5, 7]];

// deno-lint-ignore no-explicit-any -- each body takes the tensor that stands beside it
type Body = (q: any) => unknown;
type Case = readonly [body: Body, make: () => tf.TensorLike | Sparse];

const CASES: Record<string, Case> = {
  fromDense: [(q) => sparse.fromDense(q), () => [[0, 5, 0], [6, 0, 7]]],
  "fromDense of strings": [(q) => sparse.fromDense(q), () => [["", "a"], ["b", ""]]],
  "fromDense of int32": [(q) => sparse.fromDense(q), () => int([[0, -2]])],
  eye: [() => sparse.eye(2, 3), x],
  "eye of int32": [() => sparse.eye(2, undefined, "int32"), x],
  ...Object.fromEntries([-1, 0, 1, 2, -3].map((axis): [string, Case] => [
    `expandDims ${axis}`,
    [(q) => sparse.expandDims(q, axis), x],
  ])),
  transpose: [(q) => sparse.transpose(q), x],
  "transpose 201": [(q) => sparse.transpose(q, [2, 0, 1]), deep],
  reshape: [(q) => sparse.reshape(q, [3, -1]), x],
  resetShape: [
    (q) => sparse.resetShape(q),
    () => new tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [4, 4]),
  ],
  "resetShape to": [(q) => sparse.resetShape(q, [4, 5]), x],
  split: [(q) => sparse.split(q, 2, 1), x],
  "split deep": [(q) => sparse.split(q, 2, -1), deep],
  "split rows": [(q) => sparse.split(q, 2), x],
  mapValues: [(q) => sparse.mapValues(tf.mul, q, 10), x],
  "mapValues of two": [(q) => sparse.mapValues(tf.mul, q, q), x],
  fillEmptyRows: [(q) => sparse.fillEmptyRows(q, -1), gaps],
  toIndicator: [(q) => sparse.toIndicator(q, 3), ids],
  "toIndicator deep": [
    (q) => sparse.toIndicator(q, 2),
    () => new tf.SparseTensor([[0, 0, 1], [1, 1, 0]], int([1, 0]), [2, 2, 3]),
  ],
  ...Object.fromEntries(
    Object.entries({ x, deep, holes }).flatMap(([name, make]): [string, Case][] => [
      [`reduceMax ${name} None`, [(q) => sparse.reduceMax(q), make]],
      [`reduceMax ${name} 0`, [(q) => sparse.reduceMax(q, 0), make]],
      [`reduceMax ${name} -1`, [(q) => sparse.reduceMax(q, -1), make]],
      [`reduceMax ${name} kept`, [(q) => sparse.reduceMax(q, -1, true), make]],
    ]),
  ),
  softmax: [(q) => sparse.softmax(q), x],
  "softmax deep": [(q) => sparse.softmax(q), deep],
  maximum: [(q) => sparse.maximum(q, y()), x],
  minimum: [(q) => sparse.minimum(q, y()), x],
  bincount: [(q) => sparse.bincount(q), V],
  "bincount rows": [(q) => sparse.bincount(q, { axis: -1 }), V],
  "bincount binary": [(q) => sparse.bincount(q, { axis: -1, binaryOutput: true }), V],
  "bincount minlength": [(q) => sparse.bincount(q, { minlength: 9 }), V],
  "bincount maxlength": [(q) => sparse.bincount(q, { axis: -1, maxlength: 2 }), V],
  "bincount both": [(q) => sparse.bincount(q, { axis: -1, minlength: 4, maxlength: 7 }), V],
  "bincount weights": [(q) => sparse.bincount(q, { weights: W }), V],
  "bincount weighted rows": [(q) => sparse.bincount(q, { weights: W, axis: -1 }), V],
  "bincount of sparse": [(q) => sparse.bincount(q), counts],
  "bincount of sparse rows": [(q) => sparse.bincount(q, { axis: -1 }), counts],
  "bincount of sparse weights": [
    (q) =>
      sparse.bincount(q, {
        axis: -1,
        weights: new tf.SparseTensor(q.indices, [1, 2, 3, 4], [3, 3]),
      }),
    counts,
  ],
  "bincount of a vector": [(q) => sparse.bincount(q, { axis: -1 }), () => int([3, 3, 1])],
  "bincount of none": [(q) => sparse.bincount(q), () => tf.zeros([0], "int32")],
  cross: [(q) => sparse.cross([q, B]), () => A],
  "cross with numbers": [(q) => sparse.cross([A, q], "-"), N],
  "cross of sparse": [(q) => sparse.cross([B, q, A]), words],
  crossHashed: [(q) => sparse.crossHashed([q, B], { numBuckets: 100 }), () => A],
  "crossHashed of numbers": [(q) => sparse.crossHashed([q, q], { numBuckets: 1000 }), N],
  "crossHashed mixed": [(q) => sparse.crossHashed([A, N(), q], { numBuckets: 1000 }), words],
  "crossHashed with a key": [
    (q) => sparse.crossHashed([q, B], { numBuckets: 100, hashKey: 956888297470 }),
    () => A,
  ],
  segmentSum: [(q) => sparse.segmentSum(q, [0, 2, 1, 0], [0, 0, 2, 2]), () => D],
  "segmentSum of 4": [(q) => sparse.segmentSum(q, [0, 2, 1, 0], [0, 0, 2, 2], 4), () => D],
  segmentMean: [(q) => sparse.segmentMean(q, [0, 2, 1, 0], [0, 0, 2, 2]), () => D],
  "segmentMean of 4": [(q) => sparse.segmentMean(q, [0, 2, 1, 0], [0, 0, 2, 2], 4), () => D],
  segmentSqrtN: [(q) => sparse.segmentSqrtN(q, [0, 2, 1, 0], [0, 0, 2, 2]), () => D],
  "segmentSqrtN of 4": [(q) => sparse.segmentSqrtN(q, [0, 2, 1, 0], [0, 0, 2, 2], 4), () => D],
};

/** Compares nests of numbers nearly, and all else exactly. */
function assertNear(actual: unknown, expected: unknown, path: string): void {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    assertEquals(actual.length, expected.length, path);
    expected.forEach((v, i) => assertNear(actual[i], v, `${path}[${i}]`));
  } else if (typeof expected === "number") {
    assertAlmostEquals(Number(actual), expected, 1e-5 * Math.max(1, Math.abs(expected)), path);
  } else if (typeof expected === "object" && expected !== null) {
    const { at, values, dims } = expected as Record<string, unknown>;
    const own = actual as Record<string, unknown>;
    assertNear([own.indices, own.values, own.denseShape], [at, values, dims], path);
  } else assertEquals(actual, expected, path);
}

/** A result as it is known of one that a session gives. */
function read(value: unknown): unknown {
  if (value instanceof tf.NdArray) {
    return value.dtype === "string" ? value.strings() : value.toArray();
  }
  if (!(value instanceof tf.SparseArray)) return value;
  const [indices, values, denseShape] = [value.indices, value.values, value.denseShape].map(read);
  return { indices, values, denseShape };
}

const given = (v: tf.TensorLike | Sparse): Sparse | tf.Tensor =>
  v instanceof tf.SparseTensor || v instanceof tf.Tensor ? v : tf.tensor(v as number[]);

/** The same, of which graphs know the dtype and the rank alone. */
function hidden(q: Sparse | tf.Tensor): tf.SparseTensorSpec | tf.TensorSpec {
  const shape = q.shape!.map(() => null);
  return q instanceof tf.SparseTensor
    ? tf.SparseTensorSpec(shape, q.dtype)
    : new tf.TensorSpec(shape, q.dtype);
}

for (const [name, [body, make]] of Object.entries(CASES)) {
  testOnDevices(`sparse.${name}`, async () => {
    using _s = tf.scope();
    const expected = (RECORDED as Record<string, unknown>)[name];
    assertNear(await plain(body(make())), expected, "eager");
    const q = given(make());
    assertNear(await plain(tf.function(body)(q)), expected, "compiled");
    const bySpec = tf.function(body, { inputSignature: [hidden(q)] });
    assertNear(await plain(bySpec(q)), expected, "unknown shapes");
    const graph = new tf.Graph();
    const fetched = graph.asDefault(() => body(make()));
    const session = new tf.Session({ graph });
    const list = Array.isArray(fetched) ? fetched : [fetched];
    const results = await session.run(list as tf.Tensor[]) as unknown[];
    assertNear(results.map(read), Array.isArray(fetched) ? expected : [expected], "session");
    session.close();
  });
}

testOnDevices("sparse.mask", async () => {
  using _s = tf.scope();
  const rows = () => new tf.IndexedSlices([[1, 2], [3, 4], [5, 6]], [0, 5, 7], [9, 2]);
  const parts = async (q: tf.IndexedSlices) => ({
    rows: await q.indices.array(),
    values: await q.values.array(),
  });
  assertEquals(await parts(sparse.mask(rows(), [5, 0])), RECORDED.mask);
  const dense = tf.function(() => tf.add(sparse.mask(rows(), [5, 0]), 0))() as tf.Tensor;
  assertEquals((await dense.array() as number[][])[7], [5, 6]);
});

/** The weighted squares of a result, as the recorder sums them. */
function loss(result: unknown): tf.Tensor {
  const first = Array.isArray(result) ? result[0] : result;
  const r = (first instanceof tf.SparseTensor ? first.values : first) as tf.Tensor;
  const w = tf.cast(tf.reshape(tf.range(1, tf.add(tf.size(r), 1)), tf.shape(r)), r.dtype);
  return tf.sum(tf.mul(tf.square(r), w));
}

const ofValues = (body: Body) => (v: tf.Tensor) =>
  body(new tf.SparseTensor([[0, 1], [1, 0], [1, 2]], v, [2, 3]));
const segments = (fn: typeof sparse.segmentSum, n?: number) => (v: tf.Tensor) =>
  fn(v, [0, 2, 1, 0], [0, 0, 2, 2], n);

const GRADIENTS: Record<string, readonly [body: (v: tf.Tensor) => unknown, at: tf.TensorLike]> = {
  fromDense: [(v) => sparse.fromDense(v), [[0, 5, 0], [6, 0, 7]]],
  ...Object.fromEntries(
    Object.entries<Body>({
      expandDims: (q) => sparse.expandDims(q, 1),
      transpose: (q) => sparse.transpose(q),
      reshape: (q) => sparse.reshape(q, [3, 2]),
      resetShape: (q) => sparse.resetShape(q, [4, 4]),
      mapValues: (q) => sparse.mapValues(tf.square, q),
      fillEmptyRows: (q) => sparse.fillEmptyRows(q, -1),
      softmax: (q) => sparse.softmax(q),
    }).map(([name, body]) => [name, [ofValues(body), [5 / 4, 6 / 4, 7 / 4]] as const]),
  ),
  segmentSum: [segments(sparse.segmentSum), D],
  segmentMean: [segments(sparse.segmentMean), D],
  segmentSqrtN: [segments(sparse.segmentSqrtN), D],
  "segmentSum of 4": [segments(sparse.segmentSum, 4), D],
  "segmentMean of 4": [segments(sparse.segmentMean, 4), D],
  "segmentSqrtN of 4": [segments(sparse.segmentSqrtN, 4), D],
};

for (const [name, [body, at]] of Object.entries(GRADIENTS)) {
  testOnDevices(`the gradient of sparse.${name}`, async () => {
    using _s = tf.scope();
    const expected = (RECORDED as Record<string, unknown>)[`gradient of ${name}`];
    const grad = tf.grad((v) => loss(body(v)));
    const v = tf.tensor(at as number[]);
    assertNear(await grad(v).array(), expected, "eager");
    assertNear(await (tf.function(grad)(v) as tf.Tensor).array(), expected, "compiled");
  });
}

testOnDevices("sparse.split gives gradients, which TensorFlow refuses", async () => {
  using _s = tf.scope();
  const grad = tf.grad((v) =>
    loss(sparse.split(new tf.SparseTensor([[0, 1], [1, 0], [1, 2]], v, [2, 3]), 2, 1))
  );
  assertEquals(await grad(tf.tensor([5, 6, 7])).array(), [10, 24, 0]);
});

testOnDevices("sparse tensors without elements", async () => {
  using _s = tf.scope();
  const none = () => new tf.SparseTensor([], tf.zeros([0]), [2, 3]);
  for (
    const f of [
      sparse.transpose,
      sparse.softmax,
      (q: Sparse) => sparse.expandDims(q, 1),
      (q: Sparse) => sparse.maximum(q, q),
      (q: Sparse) => sparse.mapValues(tf.neg, q),
      (q: Sparse) => sparse.split(q, 3, 1)[2],
    ]
  ) {
    assertEquals(await f(none()).values.array(), []);
    assertEquals(await (tf.function(f)(none()) as Sparse).values.array(), []);
  }
  assertEquals(await sparse.reduceMax(none(), 0).array(), [0, 0, 0]);
  assertEquals(await sparse.fillEmptyRows(none(), 4)[0].values.array(), [4, 4]);
  assertEquals(await sparse.fromDense(tf.zeros([2, 0])).denseShape.array(), [2, 0]);
});

testOnDevices("sparse: functions of this file leave no tensor but their results", () => {
  for (const [body, make] of Object.values(CASES)) {
    if (/y\(\)|N\(\)|new tf/.test(`${body}`)) continue;
    using _s = tf.scope();
    const q = given(make()), before = tf.memory().numTensors;
    const result = body(q), list = (Array.isArray(result) ? result : [result]) as Sparse[];
    const parts = list.map((r) => r instanceof tf.SparseTensor ? 3 : 1);
    const extra = tf.memory().numTensors - before;
    assertEquals(extra, parts.reduce((a: number, b) => a + b, 0), `${body}`);
  }
});

testOnDevices("more of sparse: arguments are checked", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any
  const s = sparse as any;
  const invalid = tf.errors.InvalidArgumentError, value = tf.ValueError;
  const hide = (q: Sparse) => new tf.SparseTensor(q.indices, q.values, tf.add(q.denseShape, 0));
  for (
    const [call, type, text] of [
      [() => s.fromDense(x()), TypeError, "wanted a dense tensor"],
      [() => s.eye(-1), value, "numRows must be a whole number from 0 on"],
      [() => s.eye(2, 1.5), value, "numColumns"],
      [() => s.expandDims(x(), 3), value, "axis must be a whole number in [-3, 2], received 3"],
      [() => s.expandDims(D), TypeError, "'sparse.expandDims'"],
      [() => s.transpose(x(), [0, 0]), value, "perm must be a permutation"],
      [() => s.transpose(x(), [0]), value, "perm must be a permutation"],
      [() => s.reshape(x(), [5]), invalid, "6 dense values"],
      [() => s.reshape(x(), [0.5]), TypeError, "newShape"],
      [() => s.resetShape(x(), [1, 3]), value, "as large in each dimension, received [1,3]"],
      [() => s.resetShape(x(), [4]), value, "newShape"],
      [() => s.resetShape(hide(x()), [1, 3]), invalid, "wanted one as large, received [1,3]"],
      [() => s.split(x(), 4, 1), value, "numSplit must be in [1, 3], received 4"],
      [() => s.split(x(), 0, 1), value, "numSplit must be a whole number from 1 on"],
      [() => s.split(x(), 2, 2), value, "axis 2 is out of range"],
      [() => s.mapValues(tf.add, D), value, "no argument is a SparseTensor"],
      [() => s.mapValues(3, x()), TypeError, "'fn' passed to 'sparse.mapValues'"],
      [() => s.mapValues(tf.add, x(), deep()), value, "shapes must be equal"],
      [() => s.mapValues(tf.add, x(), y()), invalid, "Mismatched indices!"],
      [() => s.mask(D, [0]), TypeError, "must be IndexedSlices"],
      [() => s.fillEmptyRows(x(), [1, 2]), value, "defaultValue"],
      [() => s.toIndicator(x(), 3), TypeError, "whole numbers"],
      [() => s.toIndicator(ids(), 0), value, "vocabSize"],
      [() => s.toIndicator(ids(), 2), invalid, "does not index into shape [2,2]"],
      [() => s.reduceMax(x(), 2), value, "axis"],
      [() => s.softmax(new tf.SparseTensor([[0]], [1], [2])), value, "at least 2 dimensions"],
      [() => s.softmax(ids()), TypeError, ""],
      [() => s.maximum(x(), deep()), value, "shapes must be equal"],
      [() => s.minimum(x(), ids()), TypeError, ""],
      [() => s.maximum(hide(x()), gaps()), invalid, "shapes do not match"],
      [() => s.bincount([0.5]), TypeError, "Cannot convert 0.5"],
      [() => s.bincount(x()), TypeError, "must be whole numbers, received float32"],
      [() => s.bincount(int([-1])), invalid, "must all be non-negative"],
      [() => s.bincount(V(), { axis: 1 }), value, "axis 1"],
      [() => s.bincount(V(), { weights: [1, 2] }), value, "weights must have the shape"],
      [() => s.bincount(V(), { weights: W, binaryOutput: true }), value, "takes no weights"],
      [() => s.bincount(V(), { weights: x() }), TypeError, "must be dense"],
      [() => s.bincount(V(), { minlength: -2 }), value, "minlength"],
      [() => s.bincount(V(), { length: 2 }), TypeError, "length"],
      [() => s.bincount(tf.zeros([1, 1, 1], "int32"), { axis: -1 }), value, "1 or 2-dimensional"],
      [() => s.cross([]), value, "no tensors"],
      [() => s.cross(A), value, "inputs[0] must be a matrix"],
      [() => s.cross([A, [["e"]]]), invalid, "Expected batch size 2, received 1"],
      [() => s.cross([[[0.5]]]), TypeError, "strings or whole numbers"],
      [() => s.cross([deep()]), TypeError, ""],
      [() => s.cross([A], 3), TypeError, "separator"],
      [() => s.crossHashed([A], { numBuckets: -1 }), value, "numBuckets"],
      [() => s.crossHashed([A], { hashKey: "a" }), TypeError, "hashKey"],
      [() => s.segmentSum(D, [0, 5], [0, 0]), invalid, "indices[1] == 5 out of range [0, 3)"],
      [() => s.segmentSum(D, [0, 1], [0, 5], 2), invalid, "Segment id 5 out of range [0, 2)"],
      [() => s.segmentMean(D, [0, 1], [1, 0]), invalid, "not increasing"],
      [() => s.segmentMean(D, [0, 1, 0], [0, 1, 0], 2), invalid, "not increasing"],
      [() => s.segmentSqrtN(D, [0, 1], [0]), value, "same size"],
      [() => s.segmentSqrtN(D, [0], [0], -1), value, "numSegments"],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
