/** Functions of `tf.math` that are made of others. Numbers are TensorFlow 2.21's, in float64. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const { math } = tf;
const f64 = (values: unknown): tf.Tensor => tf.tensor(values as number[], undefined, "float64");
const X = [[0, 1.5, -2, 4], [3, 0, 0, -1]];

/** A function, its inputs and its values. */
type Row = readonly [
  name: string,
  fn: (...x: tf.Tensor[]) => tf.Tensor,
  inputs: readonly unknown[],
  wanted: readonly number[],
];

const ROWS: readonly Row[] = [
  ["countNonzero() of rows", (x) => math.countNonzero(x, 1), [X], [3, 2]],
  ["countNonzero() of all", (x) => math.countNonzero(x), [X], [5]],
  ["zeroFraction()", math.zeroFraction, [X], [0.375]],
  ["zeroFraction() of nothing", math.zeroFraction, [[]], [NaN]],
  ["l2Normalize() of rows", (x) => math.l2Normalize(x, 1), [X], [
    ...[0, 0.317999364001908, -0.423999152002544, 0.847998304005088, 0.9486832980505138, 0, 0],
    -0.31622776601683794,
  ]],
  ["l2Normalize() of all", (x) => math.l2Normalize(x), [X], [
    ...[0, 0.26413527189768715, -0.35218036253024954, 0.7043607250604991, 0.5282705437953743, 0, 0],
    -0.17609018126512477,
  ]],
  ["l2Normalize() of zeros", (x) => math.l2Normalize(x), [[0, 0]], [0, 0]],
  ["reduceVariance()", (x) => math.reduceVariance(x, 1), [X], [4.796875, 2.25]],
  ["reduceStd()", (x) => math.reduceStd(x, 0), [X], [1.5, 0.75, 1, 2.5]],
  ["lbeta()", math.lbeta, [[[0.5, 1.5, 2], [3, 4, 5]]], [-1.3401767639386, -11.83934736573794]],
  ["lbeta() of nothing", math.lbeta, [[[], []]], [-Infinity, -Infinity]],
  ["multiplyNoNan()", math.multiplyNoNan, [[2, Infinity, NaN, 3, -Infinity], [3, 0, 0, 0, 2]], [
    ...[6, 0, 0, 0, -Infinity],
  ]],
  ["reciprocalNoNan()", math.reciprocalNoNan, [[2, 0, -4, Infinity]], [0.5, 0, -0.25, 0]],
  ["erfcinv()", math.erfcinv, [[0, 0.1, 0.5, 1, 1.7, 2]], [
    ...[Infinity, 1.1630871536766743, 0.4769362762044699, 0, -0.7328690779592171, -Infinity],
  ]],
  ["polyval()", (x, c) => math.polyval([2, c, 1], x), [[[1, 3], [2, -1]], [0, 1]], [3, 22, 9, 2]],
  ["polyval() without coefficients", (x) => math.polyval([], x), [[1, 2]], [0, 0]],
];

function assertNear(received: readonly number[], wanted: readonly number[], what: string): void {
  assertEquals(received.length, wanted.length, what);
  wanted.forEach((w, i) => {
    const near = Math.abs(received[i] - w) <= 2e-6 * Math.max(Math.abs(w), 1);
    assert(Object.is(received[i] + 0, w + 0) || near, `${what}[${i}] is ${received[i]}, not ${w}`);
  });
}

testOnDevices(
  "functions made of others have TensorFlow's values: eagerly, compiled, of unknown shapes and in sessions",
  async () => {
    for (const [name, fn, inputs, wanted] of ROWS) {
      for (const dtype of ["float32", "float64"] as const) {
        const x = inputs.map((v) => tf.cast(f64(v), dtype));
        const unknown = tf.function(
          fn as (...x: tf.Tensor[]) => tf.Tensor,
          { inputSignature: x.map(() => new tf.TensorSpec(null, dtype)) },
        );
        for (const f of [fn, tf.function(fn as (...x: tf.Tensor[]) => tf.Tensor), unknown]) {
          assertNear([...f(...x).dataSync() as Float32Array], wanted, `${name} of ${dtype}`);
        }
        const graph = new tf.Graph();
        const fetched = graph.asDefault(() => fn(...x.map((v) => tf.constant(v.ndarraySync()))));
        const value = await new tf.Session({ graph }).run(fetched);
        const data = value instanceof tf.NdArray
          ? [...value.data as Float32Array]
          : [Number(value)];
        assertNear(data, wanted, `${name} of ${dtype} in a session`);
      }
    }
  },
);

testOnDevices(
  "isNonDecreasing() and isStrictlyIncreasing() compare neighbours in the order of rows",
  () => {
    const cases: readonly (readonly [unknown, number, number])[] = [
      [[], 1, 1],
      [[1], 1, 1],
      [5, 1, 1],
      [[1, 1, 3], 1, 0],
      [[1, 2, 3], 1, 1],
      [[2, 1], 0, 0],
      [[[1, 2], [3, 4]], 1, 1],
      [[[1, 2], [2, 4]], 1, 0],
      [[1, NaN], 0, 0],
    ];
    for (const [x, notLess, greater] of cases) {
      for (const f of [(g: typeof math.isNonDecreasing) => g, tf.function]) {
        const of = (g: typeof math.isNonDecreasing): number =>
          Number((f(g as never) as unknown as typeof g)(f64(x)).item());
        assertEquals([of(math.isNonDecreasing), of(math.isStrictlyIncreasing)], [notLess, greater]);
      }
    }
  },
);

testOnDevices(
  "countNonzero() counts texts and truths, keeps axes and gives the dtype it is asked for",
  () => {
    assertEquals(math.countNonzero(["a", "", "b"]).item(), 2);
    assertEquals(math.countNonzero(tf.tensor([true, false, true])).item(), 2);
    assertEquals(math.zeroFraction(tf.tensor([1, 0], [2], "int32")).item(), 0.5);
    const kept = math.countNonzero([[1, 0], [1, 1]], 0, true, "float32");
    assertEquals([kept.dtype, kept.shape, kept.arraySync()], ["float32", [1, 2], [[2, 1]]]);
    assertThrows(() => math.countNonzero([1], 1), tf.ValueError, "axis");
  },
);

testOnDevices("gradients of functions made of others are those of their parts", () => {
  const [dx, dy] = tf.grads((x: tf.Tensor, y: tf.Tensor) => tf.sum(math.multiplyNoNan(x, y)))(
    [tf.tensor([2, Infinity, 3]), tf.tensor([3, 0, 0])],
  );
  assertEquals([dx.arraySync(), dy.arraySync()], [[3, 0, 0], [2, 0, 3]]);
  const reciprocal = tf.grad((x: tf.Tensor) => tf.sum(math.reciprocalNoNan(x)));
  assertEquals(reciprocal(tf.tensor([2, 0])).arraySync(), [-0.25, 0]);
  const smooth: readonly (readonly [string, (x: tf.Tensor) => tf.Tensor])[] = [
    ["l2Normalize", (x) => tf.sum(tf.mul(math.l2Normalize(x), [1, 2, 3]))],
    ["reduceVariance", (x) => math.reduceVariance(x)],
    ["reduceStd", (x) => math.reduceStd(x)],
    ["lbeta", math.lbeta],
    ["erfcinv", (x) => tf.sum(math.erfcinv(x))],
    ["polyval", (x) => tf.sum(math.polyval([1, x, 2], x))],
  ];
  for (const [name, f] of smooth) {
    const at = [0.5, 1.25, 0.75], h = 1e-5;
    const received = tf.grad(f)(f64(at)).arraySync() as number[];
    const wanted = at.map((_, i) => {
      const moved = (by: number): number =>
        f(f64(at.map((v, j) => i === j ? v + by : v))).item() as number;
      return (moved(h) - moved(-h)) / (2 * h);
    });
    assertNear(received.map((v) => v / 10), wanted.map((v) => v / 10), name);
  }
});

testOnDevices(
  "functions made of others have TensorFlow's values of complex numbers, and broadcast",
  () => {
    const z = tf.complex([3, 0], [4, 1]), { mean, variance } = tf.moments(z);
    const numbers = (x: tf.Tensor): number[] => [...x.dataSync() as Float32Array];
    assertNear(numbers(mean), [1.5, 2.5], "mean");
    assertNear(numbers(variance), [4.5, 0], "variance of moments()");
    for (const f of [(g: unknown) => g, tf.function]) {
      const of = (g: unknown, x: tf.Tensor): tf.Tensor =>
        (f(g as never) as unknown as (x: tf.Tensor) => tf.Tensor)(x);
      const squares = of(math.reduceVariance, z), root = of(math.reduceStd, z);
      assertEquals([squares.dtype, root.dtype], ["float32", "float32"]);
      assertNear([...numbers(squares), ...numbers(root)], [4.5, 2.1213202], "variance");
      const unit = of(math.l2Normalize, z);
      assertNear(numbers(unit), [0.5883484, 0.78446454, 0, 0.19611613], "l2Normalize()");
      assertNear(
        numbers(of((x: tf.Tensor) => math.multiplyNoNan(x, x), z)),
        [-7, 24, -1, 0],
        "square",
      );
    }
    const lost = math.multiplyNoNan(
      tf.complex([NaN, 1], [1, Infinity]),
      tf.complex([0, 0], [0, 0]),
    );
    assertEquals(numbers(lost).map((v) => v + 0), [0, 0, 0, 0]);
    const table = math.multiplyNoNan([[NaN], [2]], [0, 3]);
    assertEquals([table.shape, numbers(table)], [[2, 2], [0, NaN, 0, 6]]);
    const deviation = tf.grad((x: tf.Tensor) => math.reduceVariance(tf.complex(x, tf.mul(x, 2))));
    assertNear(numbers(deviation(tf.tensor([1, 3]))), [-5, 5], "gradient by real parts");
  },
);

Deno.test("functions made of others refuse values that are not dense, and name their operand", () => {
  const ragged = tf.ragged.constant([[1, 0], [2]]) as unknown as tf.Tensor;
  const sparse = new tf.SparseTensor([[0, 0]], [3], [1, 2]) as unknown as tf.Tensor;
  for (const [name, fn] of Object.entries(math)) {
    if (!ROWS.some(([row]) => row.startsWith(`${name}(`))) continue;
    const call = fn as unknown as (...x: unknown[]) => tf.Tensor;
    for (const value of [ragged, sparse]) {
      const args = name === "polyval" ? [[1], value] : [value, value];
      assertThrows(() => call(...args), TypeError, "wanted a dense one");
    }
  }
  assertThrows(() => math.polyval(5 as never, 1), TypeError, "Argument 'coeffs'");
});
