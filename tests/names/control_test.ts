// associativeScan, foriLoop, dynamicSlice and dynamicUpdateSlice beside JAX, and what they refuse.

import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/control.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

type T = tf.Tensor;

const { associativeScan, dynamicSlice, dynamicUpdateSlice, foriLoop } = tf;
const linear = ([a, b]: T[], [c, d]: T[]): T[] => [tf.mul(a, c), tf.add(tf.mul(c, b), d)];
const add = (a: T, b: T): T => tf.add(a, b), mul = (a: T, b: T): T => tf.mul(a, b);
const at = (i: T): T => tf.cast(i, "float32");

const places = Object.fromEntries(
  [-9, -2, 0, 1, 3, 9].flatMap((i): [string, Row["body"]][] => [
    [`slice ${i}`, (x) => dynamicSlice(x, [i], [3])],
    [`slice computed ${i}`, (x, i) => dynamicSlice(x, [i], [3])],
    [`update ${i}`, (x, u) => dynamicUpdateSlice(x, u, [i])],
    [`update computed ${i}`, (x, u, i) => dynamicUpdateSlice(x, u, [i])],
  ]),
);

testTable("control", RECORDED as unknown as Record<string, Recorded>, {
  ...Object.fromEntries([1, 2, 3, 6, 7].map((n) => [
    `scan sum ${n}`,
    (x: T) => associativeScan(add, x),
  ])),
  "scan none": (x) => associativeScan(add, x),
  "scan product": (x) => associativeScan(mul, x),
  "scan maximum": (x) => associativeScan((a, b) => tf.maximum(a, b), x),
  "scan back": (x) => associativeScan(mul, x, { reverse: true }),
  "scan axis": (x) => associativeScan(mul, x, { axis: 1 }),
  "scan last axis back": (x) => associativeScan(add, x, { axis: -1, reverse: true }),
  "scan matrices": (x) => associativeScan((a, b) => tf.matMul(a, b), x),
  "scan matrices back": (x) => associativeScan((a, b) => tf.matMul(a, b), x, { reverse: true }),
  "scan states": (a, b) => associativeScan(linear, [a, b])[1],
  "scan states back": (a, b) => associativeScan(linear, [a, b], { reverse: true, axis: 1 })[1],
  "scan whole numbers": (x) => associativeScan(add, x),
  "scan booleans": (x) => associativeScan((a, b) => tf.logicalXor(a, b), x),
  "scan complex": (x) => associativeScan(mul, x),
  loop: (x) => foriLoop(1, 4, (i, y) => tf.add(tf.mul(y, x), tf.cast(i, x.dtype)), x),
  "loop nest": (x) =>
    foriLoop(0, 3, (_, { a, b }) => ({ a: tf.add(a, b), b: tf.mul(a, 0.5) }), {
      a: x,
      b: tf.mul(x, 2),
    }).a,
  "loop of no turns": (x) => foriLoop(4, 1, (_, y) => tf.mul(y, 2), x),
  "loop of numbers": (n) => foriLoop(tf.sub(n, 2), n, (i, y) => tf.add(y, i), tf.zerosLike(n)),
  "loop of slices": (x) =>
    foriLoop(0, 4, (i, y) => tf.mul(y, dynamicSlice(x, [i, 1], [1, 2])), tf.ones([1, 2], x.dtype)),
  ...places,
  "slice rows": (x, i) => dynamicSlice(x, i, [2, 2]),
  "slice mixed": (x, i) => dynamicSlice(x, [1, i], [2, 3]),
  "slice nothing": (x, i) => dynamicSlice(x, [i, 0], [0, 3]),
  "slice whole numbers": (x, i) => dynamicSlice(x, [i], [2]),
  "update rows": (x, u, i) => dynamicUpdateSlice(x, u, i),
  "update all": (x, u) => dynamicUpdateSlice(x, u, [7, 8]),
  "update nothing": { body: (x, u) => dynamicUpdateSlice(x, u, [1, 0]), unknown: false },
  "update booleans": (x, u) => dynamicUpdateSlice(x, u, [2]),
  "update complex": (x, u) => dynamicUpdateSlice(x, u, [2]),
}, "JAX");

testOnDevices(
  "associativeScan() of nests, in loops, branches and scripts is a plain scan",
  async () => {
    using _s = tf.scope();
    const x = tf.randomUniform([4, 37], 0.5, 1.5, "float32", 3);
    const plain = tf.scan((s, v) => tf.mul(s, v), tf.transpose(x));
    const near = async (y: T) =>
      assert(await tf.less(tf.max(tf.abs(tf.sub(y, tf.transpose(plain)))), 1e-3).array());
    await near(
      associativeScan(({ a: [p] }, { a: [q] }) => ({ a: [tf.mul(p, q)] }), { a: [x] }, {
        axis: 1,
      }).a[0],
    );
    await near(tf.vmap((row: T) => associativeScan(mul, row))(x) as T);
    await near(tf.cond(tf.scalar(true), () => associativeScan(mul, x, { axis: 1 }), () => x));
    const scripted = tf.function((x: T) =>
      associativeScan(
        (a, b) => {
          const times = (p: T, q: T): T => tf.mul(p, q);
          return tf.ensureShape(tf.pyFunction(times, [a, b], "float32") as T, a.staticShape!);
        },
        x,
        { axis: 1 },
      )
    );
    await near(await scripted.async(x) as T);
    const [, tangent] = tf.jvp((v: T) => associativeScan(mul, v), [tf.tensor([2, 3, 4])], [
      tf.tensor([1, 0, 0]),
    ]);
    assertEquals(await (tangent as T).array(), [1, 3, 12]);
  },
);

testOnDevices(
  "foriLoop() repeats scripts, stops at numbers that are computed, and leaves no tensors",
  async () => {
    using _s = tf.scope();
    const doubled = (n: T): T =>
      foriLoop(
        0,
        n,
        (_, y) => tf.pyFunction((v: T) => tf.mul(v, 2), [y], tf.TensorSpec([], "float32")) as T,
        tf.scalar(1),
      ) as T;
    const n = tf.scalar(5, "int32");
    assertEquals(await doubled(n).array() as unknown, 32);
    const compiled = tf.function(doubled);
    assertEquals(await (await compiled.async(n) as T).array() as unknown, 32);
    const before = tf.memory().numTensors;
    foriLoop(0, 50, (i, y) => tf.add(y, at(i)), tf.scalar(0)).dispose();
    assertEquals(tf.memory().numTensors, before + 1);
    const rows = tf.vmap((n: T) => foriLoop(0, n, (i, y) => tf.add(y, at(i)), tf.scalar(0)));
    assertEquals(await (rows(tf.tensor([0, 3, 5], [3], "int32")) as T).array(), [0, 3, 10]);
    const slope = tf.grad((x: T) => foriLoop(0, 3, (_, y) => tf.mul(y, x), tf.onesLike(x)));
    assertEquals(await tf.grad(slope)(tf.scalar(2)).array() as unknown, 12);
  },
);

testOnDevices(
  "rows have starts of their own, texts and nests of functions are moved as numbers are",
  async () => {
    using _s = tf.scope();
    const table = tf.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]), i = tf.tensor([1, 9], [2], "int32");
    const part = tf.vmap((x: T, i: T) => dynamicSlice(x, [i], [2]));
    assertEquals(await (part(table, i) as T).array(), [[2, 3], [7, 8]]);
    const put = tf.vmap((x: T, i: T) => dynamicUpdateSlice(x, [0, 0], [i]));
    assertEquals(await (put(table, i) as T).array(), [[1, 0, 0, 4], [5, 6, 0, 0]]);
    const words = tf.tensor(["a", "b", "c"]);
    const texts = dynamicSlice(words, [tf.scalar(5, "int32")], [2]);
    assertEquals(await texts.array() as unknown, ["b", "c"]);
    assertEquals(await dynamicSlice(words, [-1], [1]).array() as unknown, ["c"]);
    const wide = dynamicSlice(table, tf.tensor([1n, 2n], [2], "int64"), [1, 2]);
    assertEquals(await wide.array(), [[7, 8]]);
  },
);

testOnDevices("loops count beyond int32, and places beyond it lie at the ends", async () => {
  using _s = tf.scope();
  const wide = (v: bigint, dtype: tf.DType = "int64"): T => tf.scalar(v, dtype);
  const bounds: [tf.TensorLike, tf.TensorLike, tf.DType][] = [
    [0, 4, "int32"],
    [tf.scalar(3, "int8"), tf.scalar(7, "uint8"), "int32"],
    [0, wide(4n), "int64"],
    [wide(2n ** 40n), wide(2n ** 40n + 4n), "int64"],
    [wide(2n ** 60n), wide(2n ** 60n + 4n), "int64"],
    [tf.scalar(3, "int32"), wide(7n), "int64"],
    [tf.scalar(3e9, "uint32"), tf.scalar(3e9 + 4, "uint32"), "uint32"],
    [-2, tf.scalar(2, "uint32"), "int64"],
    [wide(2n ** 63n, "uint64"), wide(2n ** 63n + 4n, "uint64"), "uint64"],
  ];
  for (const [from, to, dtype] of bounds) {
    const sums = (): T =>
      foriLoop(from, to, (i, sum) => {
        assertEquals(i.dtype, dtype);
        return tf.add(sum, tf.cast(tf.sub(i, tf.cast(from as T, dtype)), "int32"));
      }, tf.scalar(0, "int32")) as T;
    for (const y of [sums(), tf.function(sums)()]) assertEquals(await y.array() as unknown, 6);
  }
  const table = tf.tensor([1, 2, 3]);
  const places: [T, number][] = [
    [wide(2n ** 40n), 3],
    [wide(-(2n ** 40n)), 1],
    [wide(2n ** 63n, "uint64"), 3],
    [wide(1n, "uint64"), 2],
    [tf.scalar(3e9, "uint32"), 3],
  ];
  for (const [start, wanted] of places) {
    assertEquals(await dynamicSlice(table, [start], [1]).array(), [wanted]);
    const put = dynamicUpdateSlice(table, [7], [start]);
    assertEquals(await put.array(), [1, 2, 3].with(wanted - 1, 7));
  }
});

testOnDevices("an empty update changes nothing and has a gradient, as all updates", async () => {
  using _s = tf.scope();
  const x = tf.tensor([1, 0, 3]), put = (x: T, u: T): T => dynamicUpdateSlice(x, u, [1]);
  const loss = (x: T, u: T): T => tf.sum(tf.mul(put(x, u), [1, 2, 3]));
  const slopes = (x: T, u: T): T[] => tf.grads(loss)([x, u]);
  const signature = (dtype: tf.DType) => [0, 1].map(() => new tf.TensorSpec([null], dtype));
  const ways = [slopes, tf.function(slopes)];
  ways.push(tf.function(slopes, { inputSignature: signature("float32") }));
  for (const way of ways) {
    const [none, one, two] = [[], [9], [7, 8]].map((u) => way(x, tf.tensor(u, [u.length])));
    assertEquals([await none[0].array(), await none[1].array()], [[1, 2, 3], []]);
    assertEquals([await one[0].array(), await one[1].array()], [[1, 0, 3], [2]]);
    assertEquals([await two[0].array(), await two[1].array()], [[1, 0, 0], [2, 3]]);
  }
  const [, tangent] = tf.jvp(put, [x, tf.zeros([0])], [tf.tensor([4, 5, 6]), tf.zeros([0])]);
  assertEquals(await (tangent as T).array(), [4, 5, 6]);
  for (const dtype of ["string", "bool", "int32", "float16", "complex64"] as const) {
    const value = (...v: number[]): T =>
      dtype === "string"
        ? tf.tensor(v.map(String), [v.length], "string")
        : tf.cast(i32(v, v.length), dtype);
    const open = tf.function(put, { inputSignature: signature(dtype) });
    for (const way of [put, open]) {
      const same = (y: T, wanted: T): Promise<void> =>
        Promise.all([y.array(), wanted.array()]).then(([a, b]) => assertEquals(a, b, dtype));
      await same(way(value(1, 0, 1), value()), value(1, 0, 1));
      await same(way(value(1, 0, 1), value(1)), value(1, 1, 1));
    }
  }
});

Deno.test("scans, loops and slices refuse what does not fit", () => {
  // deno-lint-ignore no-explicit-any
  const n = tf as any, v = tf.tensor([1, 2, 3]), m = tf.tensor([[1, 2], [3, 4]]);
  const refusals: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => n.associativeScan(1, v), TypeError, "'fn' passed to 'associativeScan'"],
    [() => n.associativeScan(add, v, { axes: 1 }), TypeError, 'did you mean "axis"'],
    [() => associativeScan(add, v, { axis: 1 }), tf.ValueError, "1"],
    [() => associativeScan(add, 3), tf.ValueError, "axis"],
    [() => associativeScan(linear, [v, m]), tf.ValueError, "shapes [3], [2,2]: wanted one extent"],
    [() => associativeScan((a) => tf.sum(a), v), tf.ValueError, "float32 [1] to float32 []"],
    [() => associativeScan((a) => tf.cast(a, "int32"), v), TypeError, "float32 [1] to int32 [1]"],
    [() => associativeScan((a) => [a, a], v), tf.ValueError, "wanted ., received [.,.]"],
    [() => associativeScan(([a]) => [a], [v, v]), tf.ValueError, "wanted [.,.], received [.]"],
    [() => n.foriLoop(0, 3, 5, v), TypeError, "'body' passed to 'foriLoop'"],
    [() => foriLoop(0.5, 3, (_, y) => y, v), TypeError, "0.5"],
    [() => foriLoop(0, tf.scalar(3), (_, y) => y, v), TypeError, "upper of dtype float32"],
    [() => foriLoop([0, 1], 3, (_, y) => y, v), TypeError, "lower of dtype float32"],
    [() => foriLoop(0, i32([1, 2]), (_, y) => y, v), tf.ValueError, "upper of shape [2]"],
    [() => n.foriLoop(0, 3, add, v, { limit: 1 }), TypeError, "limit"],
    [
      () => foriLoop(-1, tf.scalar(2n, "uint64"), (_, y) => y, v),
      TypeError,
      "from int32 to uint64: wanted bounds of one dtype",
    ],
    [() => foriLoop(0, 2 ** 40, (_, y) => y, v), tf.ValueError, "1099511627776 to int32"],
    [
      () => dynamicSlice(v, [0, 1], [1]),
      tf.ValueError,
      "startIndices has 2 numbers for a rank of 1",
    ],
    [() => dynamicSlice(v, [0], [1, 1]), tf.ValueError, "sliceSizes has 2 numbers"],
    [() => dynamicSlice(v, [0], [4]), tf.ValueError, "sliceSizes[0] is 4"],
    [() => dynamicSlice(v, [0], [-1]), tf.ValueError, "sliceSizes[0] is -1"],
    [() => dynamicSlice(v, [0.5], [1]), TypeError, "'startIndices[0]'"],
    [() => dynamicSlice(v, [tf.scalar(1)], [1]), TypeError, "startIndices[0] of dtype float32"],
    [() => dynamicSlice(v, [i32([1])], [1]), tf.ValueError, "startIndices[0] of shape [1]"],
    [() => dynamicSlice(v, i32([1, 2]), [1]), tf.ValueError, "shape [2]: wanted [1]"],
    [() => n.dynamicSlice(v, 1, [1]), TypeError, "'startIndices'"],
    [() => n.dynamicSlice(v, [1]), TypeError, "'sliceSizes'"],
    [() => dynamicUpdateSlice(v, [[1]], [0]), tf.ValueError, "update of shape [1,1]"],
    [() => dynamicUpdateSlice(v, [1, 2, 3, 4], [0]), tf.ValueError, "no greater extents"],
    [() => dynamicUpdateSlice(v, i32([1]), [0]), TypeError, "update of dtype int32"],
    [() => dynamicUpdateSlice(v, [1], [0, 0]), tf.ValueError, "2 numbers for a rank of 1"],
  ];
  for (const [run, kind, text] of refusals) assertThrows(run, kind, text);
});

const i32 = (values: number[], n = values.length): T => tf.tensor(values, [n], "int32");
