import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";

/** Row-major elements 0, 1, 2, … of a shape. */
function counted(shape: readonly number[], dtype: tf.DType = "float32"): tf.Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Array.from({ length: n }, (_, i) => i), [...shape], dtype);
}

/** All indices of a shape, in row-major order. */
function indices(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (list, d) => list.flatMap((at) => Array.from({ length: d }, (_, i) => [...at, i])),
    [[]],
  );
}

/** The flat place of an index. */
function place(shape: readonly number[], at: readonly number[]): number {
  return at.reduce((n, i, d) => n * shape[d] + i, 0);
}

/** Asserts that element `at` of `actual` is element `from(at)` of `counted(shape)`, or `fill` where that is null. */
function assertGathered(
  actual: tf.Tensor,
  shape: readonly number[],
  from: (at: number[]) => number[] | null,
  fill = 0,
): void {
  const wanted = indices(actual.shape).map((at) => {
    const source = from(at);
    return source === null ? fill : place(shape, source);
  });
  assertEquals(Array.from(actual.dataSync() as Float32Array), wanted);
}

testOnDevices("transpose() permutes axes", () => {
  const cases: [number[], number[]][] = [
    [[2, 3], [1, 0]],
    [[2, 3, 4], [2, 0, 1]],
    [[8, 12], [1, 0]],
    [[3, 16, 8], [0, 2, 1]],
    [[33, 40], [1, 0]],
    [[2, 3, 4, 5], [3, 1, 0, 2]],
    [[2, 2, 3, 2, 2], [4, 2, 0, 3, 1]],
  ];
  for (const [shape, perm] of cases) {
    const y = tf.transpose(counted(shape), perm);
    assertEquals(y.shape, perm.map((p) => shape[p]));
    assertGathered(y, shape, (at) => {
      const source: number[] = [];
      perm.forEach((p, i) => source[p] = at[i]);
      return source;
    });
  }
  assertEquals(tf.transpose(counted([2, 3])).shape, [3, 2]);
});

testOnDevices("transpose() takes every dtype, and conjugates where asked", () => {
  for (const dtype of ["int32", "bool", "float64", "int64", "uint8", "bfloat16"] as const) {
    const x = tf.cast(counted([2, 3]), dtype);
    const wanted = tf.cast(tf.tensor([[0, 3], [1, 4], [2, 5]]), dtype).arraySync();
    assertEquals(tf.transpose(x).arraySync(), wanted);
  }
  assertEquals(tf.transpose([["a", "b"], ["c", "d"]]).arraySync(), [["a", "c"], ["b", "d"]]);
  const z = tf.tensor(new Float32Array([1, 2, 3, 4]), [1, 2], "complex64");
  assertEquals([...tf.transpose(z, undefined, true).dataSync() as Float32Array], [1, -2, 3, -4]);
});

testOnDevices("transpose() keeps the bits of NaN", () => {
  const bits = Uint32Array.of(0x7fc00123, 0x3f800000, 0xffc00abc, 0);
  const x = tf.tensor(new Float32Array(bits.buffer), [2, 2]);
  const y = tf.transpose(x).dataSync() as Float32Array;
  assertEquals([...new Uint32Array(y.buffer, y.byteOffset, 4)], [
    bits[0],
    bits[2],
    bits[1],
    bits[3],
  ]);
});

testOnDevices("roll() takes shifts that are known when it runs, as many as axes", () => {
  tf.tidy(() => {
    const x = tf.tensor([[1, 2], [3, 4]]);
    const run = tf.function((x: tf.Tensor, by: tf.Tensor) => tf.roll(x, by, [0, 1]), {
      inputSignature: [tf.TensorSpec([2, 2]), tf.TensorSpec(null, "int32")],
    });
    const shifts = (...list: number[]): tf.Tensor => tf.tensor(list, [list.length], "int32");
    assertEquals(run(x, shifts(1, 1)).arraySync(), [[4, 3], [2, 1]]);
    assertEquals(tf.roll(x, shifts(1, 0), [0, 1]).arraySync(), [[3, 4], [1, 2]]);
    const { InvalidArgumentError } = tf.errors, text = "shift and axis must have the same size";
    assertThrows(() => run(x, shifts(1, 1, 1)), InvalidArgumentError, text);
    assertThrows(() => run(x, shifts(1)), InvalidArgumentError, text);
    assertThrows(() => tf.roll(x, shifts(1, 1), 0), InvalidArgumentError, text);
  });
});

testOnDevices("reverse() and roll() move along axes", () => {
  const shape = [2, 3, 4];
  for (const axes of [[0], [1], [2], [0, 2], [0, 1, 2], [-1]]) {
    const set = new Set(axes.map((a) => (a + 3) % 3));
    assertGathered(
      tf.reverse(counted(shape), axes),
      shape,
      (at) => at.map((i, d) => (set.has(d) ? shape[d] - 1 - i : i)),
    );
  }
  for (const [shift, axis] of [[1, 0], [-1, 2], [7, 1], [3, -1]]) {
    const a = (axis + 3) % 3;
    assertGathered(
      tf.roll(counted(shape), shift, axis),
      shape,
      (at) => at.map((i, d) => (d === a ? ((i - shift) % shape[d] + shape[d]) % shape[d] : i)),
    );
  }
});

testOnDevices("slice() cuts a part", () => {
  const cases: [number[], number[], number[]][] = [
    [[4, 5], [1, 2], [2, 3]],
    [[16], [4], [8]],
    [[3, 8], [1, 4], [2, 4]],
    [[2, 3, 4, 5], [1, 0, 2, 1], [1, 3, 2, 4]],
  ];
  for (const [shape, begin, size] of cases) {
    const y = tf.slice(counted(shape), begin, size);
    assertEquals(y.shape, size);
    assertGathered(y, shape, (at) => at.map((i, d) => i + begin[d]));
  }
  assertEquals(tf.slice(counted([3, 2]), 1).shape, [2, 2]);
  assertEquals(tf.slice(counted([3, 2]), [0, 1]).arraySync(), [[1], [3], [5]]);
  assertThrows(
    () => tf.slice(counted([3]), [2], [2]),
    tf.ValueError,
    "Cannot slice 2 elements from 2 along axis 0: it has 3 elements",
  );
  assertThrows(
    () => tf.slice(tf.scalar(1), [0], [1]),
    tf.ValueError,
    "Slicing scalar is not possible",
  );
});

testOnDevices("stridedSlice() follows Python's slices and the masks", () => {
  const x = counted([5, 6]);
  const rows = x.arraySync() as number[][];
  assertEquals(tf.stridedSlice(x, [0, 1], [5, 6], [2, 3]).arraySync(), [[1, 4], [13, 16], [
    25,
    28,
  ]]);
  assertEquals(tf.stridedSlice(x, [-1], [-4], [-2]).arraySync(), [rows[4], rows[2]]);
  assertEquals(tf.stridedSlice(x, [1, 2], [2, 3], [1, 1], 0, 0, 0, 0, 1).arraySync(), [rows[1][2]]);
  assertEquals(
    tf.stridedSlice(x, [0, -1], [0, 0], [1, 1], 0, 0, 1, 0, 2).arraySync(),
    rows.map((r) => r[5]),
  );
  assertEquals(tf.stridedSlice(x, [0, 1], [0, 2], [1, 1], 0, 0, 0, 1, 0).arraySync(), [[rows[1]]]);
  assertEquals(
    tf.stridedSlice(x, [3, 9], [9, 0], [1, -1], 0, 2, 0, 0, 0).arraySync(),
    [3, 4].map((r) => [...rows[r]].reverse()),
  );
  assertThrows(
    () => tf.stridedSlice(x, [5], [6], [1], 0, 0, 0, 0, 1),
    tf.ValueError,
    "out of bounds",
  );
  assertThrows(() => tf.stridedSlice(x, [0], [1], [0]), tf.ValueError, "non-zero");
});

testOnDevices(
  "pad() with the number -0 pads with 0, with a tensor of it with -0, as TensorFlow does",
  async () => {
    const signOf = async (value: tf.TensorLike) =>
      Object.is((await tf.pad(tf.tensor([1]), [[1, 0]], value).data())[0], -0);
    assertEquals([await signOf(-0), await signOf(tf.scalar(-0))], [false, true]);
  },
);

testOnDevices("pad() surrounds with a constant, mirrorPad() with the image", () => {
  const cases: [number[], [number, number][]][] = [
    [[2, 3], [[1, 2], [0, 1]]],
    [[4], [[4, 4]]],
    [[2, 3, 4], [[0, 0], [1, 1], [0, 0]]],
  ];
  for (const [shape, paddings] of cases) {
    for (const fill of [0, -1.5]) {
      assertGathered(tf.pad(counted(shape), paddings, fill), shape, (at) => {
        const source = at.map((i, d) => i - paddings[d][0]);
        return source.every((i, d) => i >= 0 && i < shape[d]) ? source : null;
      }, fill);
    }
  }
  const x = tf.tensor([[1, 2, 3], [4, 5, 6]]);
  assertEquals(tf.mirrorPad(x, [[1, 1], [2, 2]], "reflect").arraySync(), [
    [6, 5, 4, 5, 6, 5, 4],
    [3, 2, 1, 2, 3, 2, 1],
    [6, 5, 4, 5, 6, 5, 4],
    [3, 2, 1, 2, 3, 2, 1],
  ]);
  assertEquals(tf.mirrorPad(x, [[1, 1], [2, 2]], "symmetric").arraySync(), [
    [2, 1, 1, 2, 3, 3, 2],
    [2, 1, 1, 2, 3, 3, 2],
    [5, 4, 4, 5, 6, 6, 5],
    [5, 4, 4, 5, 6, 6, 5],
  ]);
  assertThrows(
    () => tf.mirrorPad(x, [[0, 2], [0, 0]], "reflect"),
    tf.ValueError,
    "Cannot mirror axis 0 of shape [2,3] by [0, 2]: paddings must be no",
  );
  assertThrows(
    () => tf.pad(x, [[-1, 0], [0, 0]]),
    tf.ValueError,
    "Paddings must be non-negative: -1 0",
  );
});

testOnDevices("tile() and broadcastTo() repeat", () => {
  assertGathered(tf.tile(counted([2, 3]), [2, 3]), [2, 3], ([r, c]) => [r % 2, c % 3]);
  assertGathered(tf.tile(counted([4]), [3]), [4], ([i]) => [i % 4]);
  assertGathered(
    tf.broadcastTo(counted([3, 1, 4]), [2, 3, 5, 4]),
    [3, 1, 4],
    ([, r, , c]) => [r, 0, c],
  );
  assertEquals(tf.tile(["a", "b"], [2]).arraySync(), ["a", "b", "a", "b"]);
  assertThrows(
    () => tf.broadcastTo([1, 2], [3]),
    tf.ValueError,
    "Incompatible shapes: [2] vs. [3]",
  );
  assertEquals(tf.broadcastArgs([2, 1], [1, 3]).arraySync(), [2, 3]);
});

testOnDevices("slice() takes all the rest where ranks are known at run time alone", async () => {
  const graph = new tf.Graph(),
    [x, i, y, z, w] = graph.asDefault(() => {
      const x = tf.placeholder("float32"), i = tf.placeholder("int32");
      return [x, i, tf.slice(x, [1]), tf.slice(x, 0), tf.slice(x, i)];
    });
  await using session = new tf.Session({ graph });
  const read = async (part: tf.Tensor, value: unknown, at: number[] = [1]) =>
    ((await session.run(part, { feeds: new Map([[x, value], [i, at]]) as never })) as tf.NdArray)
      .toArray();
  assertEquals(await read(y, [1, 2, 3]), [2, 3]);
  assertEquals(await read(y, [[1, 2], [3, 4]]), [[3, 4]]);
  assertEquals(await read(z, [[1, 2], [3, 4]]), [[1, 2], [3, 4]]);
  assertEquals(await read(w, [[1, 2], [3, 4]], [1, 1]), [[4]]);
  await assertRejects(() => read(y, 5), tf.errors.InvalidArgumentError, "0 elements");
});

testOnDevices("a copy of more than 65 535 workgroups is whole", () => {
  const n = 65536 * 256 + 2;
  const x = tf.tile(tf.range(0, 3), [n / 3]);
  assertEquals(tf.slice(x, [n - 4], [4]).arraySync(), [2, 0, 1, 2]);
  assertEquals(tf.slice(tf.reverse(x), [n - 3], [3]).arraySync(), [2, 1, 0]);
});

Deno.test("gradients of moves are the moves back", () => {
  const x = [[0.3, -1, 2], [4, 0.5, -6]];
  const square = (t: tf.Tensor) => tf.mul(t, t);
  const moves: Record<string, (t: tf.Tensor) => tf.Tensor> = {
    transpose: (t) => tf.transpose(t),
    reverse: (t) => tf.reverse(t, 1),
    roll: (t) => tf.roll(t, [1, 2], [0, 1]),
    slice: (t) => tf.slice(t, [0, 1], [2, 2]),
    stridedSlice: (t) => tf.stridedSlice(t, [1, 2], [-3, -4], [-1, -2]),
    pad: (t) => tf.pad(t, [[1, 0], [2, 1]], 3),
    mirrorPad: (t) => tf.mirrorPad(t, [[1, 1], [2, 2]], "reflect"),
    tile: (t) => tf.tile(t, [2, 3]),
    broadcastTo: (t) => tf.broadcastTo(t, [2, 2, 3]),
    concat: (t) => tf.concat([t, square(t)], 1),
    stack: (t) => tf.stack([t, square(t)], 1),
    split: (t) => tf.mul(tf.split(t, 3, 1)[2], tf.split(t, 3, 1)[0]),
    unstack: (t) => tf.mul(tf.unstack(t)[0], tf.unstack(t)[1]),
  };
  for (const move of Object.values(moves)) gradCheck((t) => square(move(t)), [x]);
});

Deno.test({
  name: "moves take one dispatch each, and views none [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const x = counted([8, 12]);
    x.dataSync();
    const { gpuDevice } = await import("../../src/engine/runtime/devices/devices.ts");
    const counters = gpuDevice()!.counters;
    const cases: [number, () => unknown][] = [
      [1, () => tf.transpose(x)],
      [1, () => tf.slice(x, [1, 2], [3, 4])],
      [1, () => tf.pad(x, [[1, 1], [0, 2]])],
      [1, () => tf.tile(x, [2, 3])],
      [1, () => tf.reverse(x)],
      [1, () => tf.concat([x, x, x], 1)],
      [1, () => tf.stack([x, x], 2)],
      [1, () => tf.split(x, 4, 1)],
      [1, () => tf.stridedSlice(x, [0, 1], [8, 12], [2, 5])],
      [1, () => tf.zeros([3, 5])],
      [0, () => tf.reshape(x, [12, 8])],
    ];
    for (const [wanted, fn] of cases) {
      const before = counters.dispatches;
      fn();
      assertEquals(counters.dispatches - before, wanted, String(fn));
    }
  },
});

/** Shapes, and what TensorFlow's kernel makes of them. */
const BESIDE_ZERO: readonly (readonly [number[], number[], number[]])[] = [
  [[2, 3, 0], [-1, 0], [6, 0]],
  [[0], [-1, 0], [1, 0]],
  [[2, 3, 0], [-1, 3, 0], [2, 3, 0]],
  [[2, 3, 0], [0, -1], [0, 6]],
  [[2, 3, 0], [4, -1, 0], [4, 1, 0]],
  [[2, 3, 0], [5, -1], [5, 0]],
  [[2, 3, 0], [-1], [0]],
];

testOnDevices("reshape() finds the missing dimension beside one of 0", () => {
  for (const [from, to, wanted] of BESIDE_ZERO) {
    const x = tf.zeros(from), unknown = tf.TensorSpec(from.map(() => null), "float32");
    const compiled = tf.function((x: tf.Tensor) => tf.reshape(x, to), {
      inputSignature: [unknown],
    });
    assertEquals([tf.reshape(x, to), compiled(x)].map((y) => y.shape), [wanted, wanted]);
  }
});
