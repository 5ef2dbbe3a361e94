// The functions of tf.sparse: eagerly, compiled and in sessions, on each device. Expected values are TensorFlow 2.21's.

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { plain, sparseOf } from "./values.ts";

const { sparse } = tf;
type Sparse = tf.SparseTensor;

const x = (): Sparse => new tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3]);
const y = (): Sparse => new tf.SparseTensor([[0, 1], [0, 2], [1, 2]], [-5, 1, 2], [2, 3]);
const mixed = (): Sparse => new tf.SparseTensor([[1, 2], [0, 1], [1, 0]], [7, 5, 6], [2, 3]);
const twice = (): Sparse => new tf.SparseTensor([[0, 1], [0, 1]], [1, 2], [2, 3]);
const none = (): Sparse => new tf.SparseTensor([], tf.zeros([0]), [2, 3]);
const deep = (): Sparse =>
  new tf.SparseTensor([[0, 0, 1], [0, 1, 0], [1, 1, 2]], [1, 2, 3], [2, 2, 3]);
/** One element in a tensor of its own shape. */
const one = (at: number[], shape: number[], value = 9): Sparse =>
  new tf.SparseTensor([at], [value], shape);
const ints = (): Sparse => new tf.SparseTensor([[0, 1]], tf.cast([5], "int32"), [2, 3]);
/** The dense shape is a tensor, of which graphs know the rank alone. */
const hidden = (q: Sparse): Sparse =>
  new tf.SparseTensor(q.indices, q.values, tf.add(q.denseShape, 0));

const B = [[1, 2], [3, 4], [5, 6]], C = [[1, 2], [3, 4]], ONES = [[1, 1, 1], [1, 1, 1]];

const CALLS: Record<
  string,
  readonly [
    body: (q: Sparse) => unknown,
    make: () => Sparse,
    unknown,
  ]
> = {
  toDense: [(q) => sparse.toDense(q), x, [[0, 5, 0], [6, 0, 7]]],
  "toDense() of none": [(q) => sparse.toDense(q), none, [[0, 0, 0], [0, 0, 0]]],
  "toDense() with a default": [(q) => sparse.toDense(q, -1), x, [[-1, 5, -1], [6, -1, 7]]],
  "toDense() without order": [(q) => sparse.toDense(q, 0, false), mixed, [[0, 5, 0], [6, 0, 7]]],
  reorder: [
    (q) => sparse.reorder(q),
    mixed,
    sparseOf([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3]),
  ],
  matMul: [(q) => sparse.matMul(q, B), x, [[15, 20], [41, 54]]],
  "matMul() of an adjoint": [(q) => sparse.matMul(q, C, true), x, [[18, 24], [5, 10], [21, 28]]],
  "matMul() with an adjoint": [
    (q) => sparse.matMul(q, [[1, 3, 5], [2, 4, 6]], false, true),
    x,
    [[15, 20], [41, 54]],
  ],
  "matMul() of adjoints": [
    (q) => sparse.matMul(q, C, true, true),
    x,
    [[12, 24], [5, 15], [14, 28]],
  ],
  "matMul() of dense and sparse": [(q) => sparse.matMul(C, q), x, [[12, 5, 14], [24, 15, 28]]],
  "matMul() of a dense adjoint": [
    (q) => sparse.matMul(C, q, true),
    x,
    [[18, 5, 21], [24, 10, 28]],
  ],
  "matMul() with a sparse adjoint": [
    (q) => sparse.matMul([[1, 2, 3]], q, false, true),
    x,
    [[10, 27]],
  ],
  "matMul() of both adjoints": [
    (q) => sparse.matMul(B, q, true, true),
    x,
    [[15, 41], [20, 54]],
  ],
  "matMul() without order": [(q) => sparse.matMul(q, B), mixed, [[15, 20], [41, 54]]],
  "matMul() of repeated places": [(q) => sparse.matMul(q, B), twice, [[9, 12], [0, 0]]],
  "matMul() of none": [(q) => sparse.matMul(q, B), none, [[0, 0], [0, 0]]],
  "matMul() of integers": [(q) => sparse.matMul(q, B), ints, [[15, 20], [0, 0]]],
  add: [
    (q) => sparse.add(q, y()),
    x,
    sparseOf([[0, 1], [0, 2], [1, 0], [1, 2]], [0, 1, 6, 9], [2, 3]),
  ],
  "add() with a threshold": [
    (q) => sparse.add(q, y(), 0.5),
    x,
    sparseOf([[0, 2], [1, 0], [1, 2]], [1, 6, 9], [2, 3]),
  ],
  "add() of dense": [(q) => sparse.add(q, ONES), x, [[1, 6, 1], [7, 1, 8]]],
  "add() to dense": [(q) => sparse.add(ONES, q), x, [[1, 6, 1], [7, 1, 8]]],
  "add() of repeated places": [(q) => sparse.add(q, ONES), twice, [[1, 4, 1], [1, 1, 1]]],
  reduceSum: [(q) => sparse.reduceSum(q), x, 18],
  "reduceSum() of columns": [(q) => sparse.reduceSum(q, 0), x, [6, 5, 7]],
  "reduceSum() of rows": [(q) => sparse.reduceSum(q, 1), x, [5, 13]],
  "reduceSum() of kept rows": [(q) => sparse.reduceSum(q, -1, true), x, [[5], [13]]],
  "reduceSum() of two axes": [(q) => sparse.reduceSum(q, [0, -1]), deep, [1, 5]],
  "reduceSum() of all, kept": [(q) => sparse.reduceSum(q, null, true), x, [[18]]],
  "reduceSum() over no axes": [(q) => sparse.reduceSum(q, []), x, [[0, 5, 0], [6, 0, 7]]],
  slice: [
    (q) => sparse.slice(q, [0, 1], [2, 2]),
    x,
    sparseOf([[0, 0], [1, 1]], [5, 7], [2, 2]),
  ],
  "slice() beyond the end": [
    (q) => sparse.slice(q, [1, 0], [5, 1]),
    x,
    sparseOf([[0, 0]], [6], [1, 1]),
  ],
  "slice() behind the end": [
    (q) => sparse.slice(q, [3, 0], [1, 1]),
    x,
    sparseOf([], [], [0, 1]),
  ],
  retain: [
    (q) => sparse.retain(q, [true, false, true]),
    x,
    sparseOf([[0, 1], [1, 2]], [5, 7], [2, 3]),
  ],
  "retain() of what is large": [
    (q) => sparse.retain(q, tf.greater(q.values, 5)),
    x,
    sparseOf([[1, 0], [1, 2]], [6, 7], [2, 3]),
  ],
  concat: [
    (q) => sparse.concat([q, y()]),
    x,
    sparseOf([[0, 1], [1, 0], [1, 2], [2, 1], [2, 2], [3, 2]], [5, 6, 7, -5, 1, 2], [4, 3]),
  ],
  "concat() of columns": [
    (q) => sparse.concat([q, y()], -1),
    x,
    sparseOf([[0, 1], [0, 4], [0, 5], [1, 0], [1, 2], [1, 5]], [5, -5, 1, 6, 7, 2], [2, 6]),
  ],
  "concat() of one": [
    (q) => sparse.concat([q]),
    mixed,
    sparseOf([[1, 2], [0, 1], [1, 0]], [7, 5, 6], [2, 3]),
  ],
  "concat() along the middle": [
    (q) => sparse.concat([q, q], 1),
    deep,
    sparseOf(
      [[0, 0, 1], [0, 1, 0], [0, 2, 1], [0, 3, 0], [1, 1, 2], [1, 3, 2]],
      [1, 2, 1, 2, 3, 3],
      [2, 4, 3],
    ),
  ],
  "concat() of different widths": [
    (q) => sparse.concat([q, one([0, 3], [1, 4])], 0, true),
    x,
    sparseOf([[0, 1], [1, 0], [1, 2], [2, 3]], [5, 6, 7, 9], [3, 4]),
  ],
  "concat() of different heights": [
    (q) => sparse.concat([q, one([2, 0], [3, 1])], 1, true),
    x,
    sparseOf([[0, 1], [1, 0], [1, 2], [2, 3]], [5, 6, 7, 9], [3, 4]),
  ],
};

for (const [name, [body, make, expected]] of Object.entries(CALLS)) {
  testOnDevices(`sparse: ${name}, eager, compiled and in sessions`, async () => {
    using _s = tf.scope();
    assertEquals(await plain(body(make())), expected);
    assertEquals(await plain(body(hidden(make()))), expected);
    assertEquals(await plain(tf.function(body)(make())), expected);
    const { dtype } = make();
    const unknown = tf.function(body, {
      inputSignature: [tf.SparseTensorSpec([null, null], dtype)],
    });
    if (make !== deep) assertEquals(await plain(unknown(make())), expected);

    const graph = new tf.Graph();
    const fetch = graph.asDefault(() => body(make()));
    const session = new tf.Session({ graph });
    const given = await session.run(fetch as Sparse) as unknown as tf.SparseArray;
    const list = given instanceof tf.SparseArray
      ? sparseOf(
        given.indices.toArray() as number[][],
        given.values.toArray() as number[],
        given.denseShape.toArray() as number[],
      )
      : (given as unknown) instanceof tf.NdArray
      ? (given as tf.NdArray).toArray()
      : given;
    assertEquals(list, expected);
    session.close();
  });
}

/** A sum of squares as a loss. */
const squares = (t: tf.Tensor): tf.Tensor => tf.sum(tf.square(t));

const GRADIENTS: Record<string, readonly [loss: (q: Sparse) => tf.Tensor, readonly number[]]> = {
  toDense: [(q) => squares(sparse.toDense(q)), [10, 12, 14]],
  reorder: [
    (q) =>
      squares(tf.mul(
        sparse.reorder(new tf.SparseTensor([[1, 2], [0, 1], [1, 0]], q.values, [2, 3])).values,
        [1, 2, 3],
      )),
    [90, 12, 56],
  ],
  matMul: [(q) => squares(sparse.matMul(q, B)), [250, 298, 1058]],
  "matMul() of an adjoint": [(q) => squares(sparse.matMul(q, C, true)), [50, 300, 350]],
  add: [(q) => squares(sparse.add(q, y()).values), [0, 12, 18]],
  "add() of dense": [(q) => squares(sparse.add(q, ONES)), [12, 14, 16]],
  reduceSum: [(q) => squares(sparse.reduceSum(q, 1)), [10, 26, 26]],
  slice: [(q) => squares(sparse.slice(q, [0, 1], [2, 2]).values), [10, 0, 14]],
  retain: [(q) => squares(sparse.retain(q, [true, false, true]).values), [10, 0, 14]],
  // TensorFlow has no gradient of this.
  concat: [(q) => squares(tf.mul(sparse.concat([q, y()], 1).values, [1, 2, 3, 4, 5, 6])), [
    10,
    192,
    350,
  ]],
};

for (const [name, [loss, expected]] of Object.entries(GRADIENTS)) {
  testOnDevices(`gradients of sparse values: ${name}`, async () => {
    using _s = tf.scope();
    const grad = (q: Sparse) => tf.grad(loss)(q).values;
    assertEquals(await grad(x()).array(), expected);
    assertEquals(await tf.function(grad)(x()).array(), expected);
  });
}

testOnDevices("sparse.matMul() gives gradients of the dense matrix", async () => {
  using _s = tf.scope();
  const q = x(), b = tf.tensor([[1, 3, 5], [2, 4, 6]]);
  const grad = tf.grad((b) => squares(sparse.matMul(q, b, false, true)));
  const expected = [[492, 150, 574], [648, 200, 756]];
  assertEquals(await grad(b).array(), expected);
  assertEquals(await (tf.function(grad)(b) as tf.Tensor).array(), expected);
  const plus = tf.grad((b) => squares(sparse.add(b, q)));
  assertEquals(await plus(tf.ones([2, 3])).array(), [[2, 12, 2], [14, 2, 16]]);
});

testOnDevices("sparse.matMul() conjugates adjoints", async () => {
  using _s = tf.scope();
  const q = new tf.SparseTensor([[0, 1], [1, 0]], tf.complex([1, 3], [2, -1]), [2, 2]);
  const b = tf.complex([[0, 2], [1, 1]], [[1, 0], [0, -1]]);
  const parts = async (t: tf.Tensor) => [await tf.real(t).array(), await tf.imag(t).array()];
  assertEquals(await parts(sparse.matMul(q, b)), [[[1, 3], [1, 6]], [[2, 1], [3, -2]]]);
  assertEquals(await parts(sparse.matMul(q, b, true)), [[[3, 4], [2, 2]], [[1, -2], [1, -4]]]);
  assertEquals(await parts(sparse.matMul(q, b, false, true)), [[[2, -1], [-1, 3]], [[4, 3], [
    -3,
    -1,
  ]]]);
  // A dense matrix from the left: the product as it is defined.
  assertEquals(await parts(sparse.matMul(b, q)), [[[6, -2], [2, 1]], [[-2, 1], [-4, 2]]]);
  const grad = tf.grad((v) => {
    const values = tf.mul(tf.cast(v, "complex64"), tf.complex(1, 2));
    const turned = new tf.SparseTensor([[0, 1], [1, 0]], values, [2, 2]);
    return tf.sum(tf.abs(sparse.matMul(turned, b, true)));
  });
  const [first, second] = await grad(tf.tensor([1, 2])).array() as number[];
  assertAlmostEquals(first, 6.7082033, 1e-4);
  assertAlmostEquals(second, 5.3983455, 1e-4);
});

testOnDevices("sparse: strings and booleans become dense, and join", async () => {
  using _s = tf.scope();
  const texts = new tf.SparseTensor([[0, 1]], ["a"], [1, 3]);
  assertEquals(await sparse.toDense(texts).array(), [["", "a", ""]]);
  const both = sparse.concat([texts, texts]);
  assertEquals(await sparse.toDense(both, "-").array(), [["-", "a", "-"], ["-", "a", "-"]]);
  const flags = new tf.SparseTensor([[0, 1]], [true], [1, 3]);
  assertEquals(await tf.cast(sparse.toDense(flags), "int32").array(), [[0, 1, 0]]);
  const host = new tf.SparseArray(
    new tf.NdArray("int32", [1, 2], Int32Array.of(1, 0)),
    new tf.NdArray("float32", [1], Float32Array.of(4)),
    new tf.NdArray("int32", [2], Int32Array.of(2, 1)),
  );
  assertEquals(await sparse.reduceSum(host, 1).array(), [0, 4]);
});

testOnDevices("sparse: sums and products of every dtype of numbers", async () => {
  using _s = tf.scope();
  for (const dtype of ["float16", "bfloat16", "float64", "uint8", "int16", "int64"] as const) {
    const q = tf.cast(x(), dtype);
    const read = async (t: tf.Tensor) => await tf.cast(t, "float32").array();
    assertEquals(await read(sparse.reduceSum(q, 1)), [5, 13], dtype);
    assertEquals(await read(sparse.matMul(q, B)), [[15, 20], [41, 54]], dtype);
    assertEquals(await read(sparse.add(q, ONES)), [[1, 6, 1], [7, 1, 8]], dtype);
    assertEquals(await read(sparse.add(q, q).values), [10, 12, 14], dtype);
  }
  const q = new tf.SparseTensor([[0, 1], [1, 0], [1, 1]], tf.complex([1, 3, 2], [2, -1, 1]), [
    2,
    2,
  ]);
  const sums = sparse.reduceSum(q, 1);
  assertEquals([await tf.real(sums).array(), await tf.imag(sums).array()], [[1, 5], [2, 0]]);
});

testOnDevices("sparse: shapes of results are known where those of arguments are", () => {
  using _s = tf.scope();
  assertEquals(sparse.slice(x(), [1, 1], [4, 1]).shape, [1, 1]);
  assertEquals(sparse.concat([x(), y()], 1).shape, [2, 6]);
  assertEquals(sparse.add(x(), y()).shape, [2, 3]);
  tf.function((q: Sparse) => {
    assertEquals(sparse.reduceSum(q, 1).shape, [2]);
    assertEquals(sparse.matMul(q, B).shape, [2, 2]);
    return q.values;
  })(x());
});

testOnDevices("sparse: functions leave no tensor but their results", () => {
  for (const [body, make] of Object.values(CALLS)) {
    using _s = tf.scope();
    const q = make(), before = tf.memory().numTensors;
    const result = body(q) as Sparse;
    const extra = tf.memory().numTensors - before;
    const others = body.toString().match(/y\(\)|one\(|tf\.greater/g)?.length ?? 0;
    if (others === 0) assertEquals(extra, result instanceof tf.SparseTensor ? 3 : 1, `${body}`);
    result.dispose();
    assertEquals(q.values.isDisposed, false, `${body}`);
  }
});

const GPU_UNCHECKED = /toDense\((mixed|twice|one)|matMul\(one|add\(one/;

testOnDevices("sparse: arguments are checked", (device) => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any
  const s = sparse as any;
  const invalid = tf.errors.InvalidArgumentError, value = tf.ValueError;
  for (
    const [call, type, text] of [
      [() => s.toDense(ONES), TypeError, "Argument 'x' passed to 'sparse.toDense'"],
      [() => s.toDense(mixed()), invalid, "out of order"],
      [() => s.toDense(twice()), invalid, "repeated"],
      [() => s.toDense(one([0, 3], [2, 3])), invalid, ""],
      [() => s.toDense(x(), [1, 2]), value, "defaultValue"],
      [() => s.reorder(tf.ragged.constant([[1]])), TypeError, "'sparse.reorder'"],
      [() => s.matMul(B, C), TypeError, "one sparse and one dense"],
      [() => s.matMul(x(), x()), TypeError, "one sparse and one dense"],
      [() => s.matMul(x(), C), value, "inner dimension does not match: 3 vs. 2"],
      [() => s.matMul(deep(), B), value, "rank 2"],
      [() => s.matMul(x(), [1, 2, 3]), value, "rank 2"],
      [() => s.matMul(x(), tf.cast(B, "int32")), TypeError, ""],
      [() => s.matMul(x(), tf.ragged.constant([[1]])), TypeError, "RaggedTensor"],
      [() => s.matMul(one([0, 3], [2, 3]), B), invalid, ""],
      [() => s.matMul(one([2, 0], [2, 3]), B), invalid, ""],
      [() => s.matMul(one([-1, 0], [2, 3]), B), invalid, ""],
      [() => s.add(B, B), TypeError, "at least one"],
      [() => s.add(x(), C), value, "[2,3] and [2,2]"],
      [() => s.add(x(), [[1, 1, 1]]), value, "no broadcasting"],
      [() => s.add(x(), deep()), value, "shapes must be equal"],
      [() => s.add(x(), ints()), TypeError, ""],
      [() => s.add(x(), y(), [1]), value, "threshold"],
      [() => s.add(one([0, 3], [2, 3]), ONES), invalid, ""],
      [() => s.reduceSum(x(), 2), value, "axis"],
      [() => s.reduceSum(B), TypeError, "'sparse.reduceSum'"],
      [() => s.slice(x(), [0], [1, 1]), value, "start to be a vector of length 2"],
      [() => s.slice(x(), [0, 0], [1]), value, "size to be a vector of length 2"],
      [() => s.slice(x(), [0, 0], [-1, 1]), invalid, "non-negative size"],
      [
        () => s.slice(x(), [0, 0.5], [1, 1]),
        TypeError,
        "whole number (argument 'start' of 'sparse.slice')",
      ],
      [() => s.retain(x(), [true]), value, "toRetain must have shape [3]"],
      [() => s.retain(x(), [1, 0, 1]), TypeError, "toRetain must be bool"],
      [() => s.concat([]), value, "no tensors"],
      [() => s.concat(x()), TypeError, "'tensors'"],
      [() => s.concat([x(), B]), TypeError, "'tensors[1]'"],
      [() => s.concat([x(), y()], 2), value, "axis"],
      [() => s.concat([x(), deep()]), value, "ranks"],
      [() => s.concat([x(), ints()]), TypeError, "dtypes"],
      [() => s.concat([x(), one([0, 0], [1, 2])]), value, "dimension 1"],
      [() => s.concat([hidden(x()), one([0, 0], [1, 2])]), invalid, "shapes must be equal"],
      [() => s.add(hidden(x()), one([0, 0], [1, 2])), invalid, "shapes do not match"],
      [() => s.matMul(hidden(x()), C), Error, "inner dimension does not match: 3 vs. 2"],
      [() => s.add(hidden(x()), C), Error, "[2,3] and [2,2]"],
    ] as const
  ) {
    // Kernels of the GPU check no indices.
    if (device === "webgpu" && GPU_UNCHECKED.test(`${call}`)) continue;
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});

testOnDevices("an index out of range is an error on each device, eagerly and compiled", () => {
  const far = (): Sparse => new tf.SparseTensor([[0, 0], [5, 1]], [1, 2], [2, 3]);
  const below = (): Sparse => new tf.SparseTensor([[0, 0], [1, -1]], [1, 2], [2, 3]);
  const calls: ((q: Sparse) => tf.Tensor)[] = [
    (q) => q.toDense(),
    (q) => sparse.toDense(q),
    (q) => sparse.matMul(q, B) as tf.Tensor,
    (q) => sparse.add(q, ONES) as tf.Tensor,
  ];
  for (const [make, at] of [[far, "[5, 1]"], [below, "[1, -1]"]] as const) {
    for (const call of calls) {
      using _s = tf.scope();
      const says = `indices[1] = ${at} does not index into shape [2,3]`,
        Class = tf.errors.InvalidArgumentError;
      assertThrows(() => call(make()).dataSync(), Class, says);
      const compiled = tf.function((q: Sparse) => tf.sum(call(q)));
      assertThrows(() => (compiled(make()) as tf.Tensor).dataSync(), Class, says);
    }
  }
});
