import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("tensor() takes nested values, flat values with a shape, and typed arrays", () => {
  assertEquals(tf.tensor([[1, 2], [3, 4]]).shape, [2, 2]);
  assertEquals(tf.tensor([1, 2, 3, 4], [2, 2]).arraySync(), [[1, 2], [3, 4]]);
  const cases: [unknown, tf.DType][] = [
    [[1, 2], "float32"],
    [[true], "bool"],
    [["a"], "string"],
    [[1n], "int64"],
    [new Int32Array(2), "int32"],
    [new Float64Array(2), "float64"],
    [new Uint8Array(2), "int32"],
  ];
  for (const [value, dtype] of cases) assertEquals(tf.tensor(value as tf.TensorLike).dtype, dtype);
  assertEquals(tf.tensor(new Uint8Array(2), [2], "uint8").dtype, "uint8");
  assertThrows(() => tf.tensor([1, 2, 3], [2, 2]), tf.ValueError, "provided shape");
  assertThrows(() => tf.tensor([[1, 2], [3]] as tf.TensorLike), tf.ValueError, "ragged");
  assertThrows(() => tf.tensor([[1, 2]], [2, 1]), tf.ValueError, "does not match");
});

testOnDevices("tensor1d() to tensor6d() insist on their rank", () => {
  assertEquals(tf.tensor2d([1, 2], [1, 2]).shape, [1, 2]);
  assertThrows(
    () => tf.tensor1d([[1]]),
    tf.ValueError,
    "Cannot make tensor1d of values of shape [1,1]: wanted 1 dimensions",
  );
  assertThrows(() => tf.tensor2d([1, 2]), tf.ValueError, "shape must be provided");
  assertThrows(() => tf.tensor3d([1, 2], [1, 2]), tf.ValueError, "3 dimensions");
  assertThrows(
    () => tf.scalar([1] as unknown as number),
    TypeError,
    "Cannot make a scalar of an array of 1: wanted a number, boolean,",
  );
});

testOnDevices("constant() repeats one value and names its node", () => {
  assertEquals(tf.constant(3, "int32", [2, 2]).arraySync(), [[3, 3], [3, 3]]);
  assertEquals(tf.constant([1, 2, 3, 4], null, [2, 2]).dtype, "float32");
  const g = new tf.Graph();
  assertEquals(g.asDefault(() => tf.constant(1, "float32", [], "one")).name, "one:0");
});

testOnDevices("fills hold their value in every dtype", () => {
  const cases: [tf.DType, unknown][] = [
    ["float32", 1],
    ["int32", 1],
    ["bool", true],
    ["float64", 1],
    ["int64", 1n],
    ["uint8", 1],
    ["bfloat16", 1],
    ["complex64", [1, 0]],
  ];
  for (const [dtype, one] of cases) {
    for (const n of [1, 5, 8]) {
      assertEquals(tf.ones([n], dtype).arraySync(), new Array(n).fill(one));
      assertEquals(tf.onesLike(tf.zeros([n], dtype)).arraySync(), new Array(n).fill(one));
    }
  }
  assertEquals(tf.fill([2], "x").arraySync(), ["x", "x"]);
  assertEquals(tf.fill([3], -2.5).arraySync(), [-2.5, -2.5, -2.5]);
  assertEquals(Object.is((tf.fill([1], -0).dataSync() as Float32Array)[0], -0), true);
  assertEquals(Number.isNaN(tf.fill([1], NaN).item()), true);
  assertEquals(tf.fill([2], tf.scalar(4, "int32")).arraySync(), [4, 4]);
  assertThrows(
    () => tf.zeros([-1]),
    tf.ValueError,
    "Cannot apply zeros with shape [-1]: dimensions must be non-negative",
  );
  assertThrows(
    () => tf.ones([1.5]),
    tf.ValueError,
    "Cannot apply ones with shape [1.5]: dimensions must be non-negative",
  );
});

Deno.test("range() and randomUniform() refuse numbers that their dtype does not hold", () => {
  const ranges: [start: number, stop: number, step: number, dtype: tf.DType][] = [
    [0, 2 ** 32 + 5, 1, "int32"],
    [0, 2 ** 31, 2 ** 29, "int32"],
    [2 ** 31, 2 ** 31 + 3, 1, "int32"],
    [0, 3, 2 ** 32, "int32"],
    [-(2 ** 31) - 1, 0, 2 ** 30, "int32"],
    [0, 300, 100, "uint8"],
    [-1, 3, 1, "uint8"],
    [100, 140, 20, "int8"],
    [0, 2 ** 33, 2 ** 31, "uint32"],
    [0, 2 ** 64, 2 ** 62, "int64"],
    [0, 70000, 30000, "float16"],
    [0, 1e39, 1e38, "float32"],
    [0, Infinity, 1, "float32"],
    [0, NaN, 1, "float32"],
  ];
  for (const [start, stop, step, dtype] of ranges) {
    assertThrows(() => tf.range(start, stop, step, dtype), tf.ValueError, `in ${dtype}: wanted`);
    if (dtype.startsWith("float")) continue;
    const ends = [Math.min(start, -1e20), stop];
    assertThrows(() => tf.randomUniform([2], ends[0], ends[1], dtype), tf.ValueError, "range");
  }
  assertEquals(
    tf.range(2 ** 31 - 3, 2 ** 31 - 1, 1, "int32").dataSync(),
    Int32Array.of(2147483645, 2147483646),
  );
  assertEquals(tf.range(0, 2 ** 32 + 5, 2 ** 31, "int64").size, 3);
  assertEquals(tf.randomUniform([2], 0, 2 ** 31, "int32").shape, [2]);
  assertEquals(tf.randomUniform([2], 0, 256, "uint8").shape, [2]);
});

testOnDevices("range() and linspace() count", () => {
  assertEquals(tf.range(0, 5).arraySync(), [0, 1, 2, 3, 4]);
  assertEquals(tf.range(5, 0).arraySync(), [5, 4, 3, 2, 1]);
  assertEquals(tf.range(10, 0, -4, "int32").arraySync(), [10, 6, 2]);
  assertEquals(tf.range(0, 1, -1).shape, [0]);
  const tenths = tf.range(0, 1, 0.1).dataSync() as Float32Array;
  assertEquals(tenths.length, 10);
  tenths.forEach((v, i) => assertAlmostEquals(v, i / 10, 1e-6));
  assertEquals(tf.linspace(-1, 1, 5).arraySync(), [-1, -0.5, 0, 0.5, 1]);
  assertEquals(tf.linspace(3, 9, 1).arraySync(), [3]);
  const thirds = tf.linspace(0, 1, 4).dataSync() as Float32Array;
  assertEquals(thirds[3], 1);
  assertThrows(() => tf.range(0, 1, 0), tf.ValueError, "Cannot have a step of zero");
});

testOnDevices("eye(), diag() and meshgrid() make patterns", () => {
  assertEquals(tf.eye(2, 3).arraySync(), [[1, 0, 0], [0, 1, 0]]);
  assertEquals(tf.eye(2, 2, [2], "int32").arraySync(), [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]);
  for (const dtype of ["float32", "int32", "bool", "int64", "float16"] as const) {
    const large = tf.eye(70, 100, null, dtype);
    assertEquals([large.shape, large.dtype], [[70, 100], dtype]);
    const places = tf.argMax(tf.cast(large, "float32"), 1).arraySync();
    assertEquals(places, Array.from({ length: 70 }, (_, i) => i));
    assertEquals(tf.sum(tf.cast(large, "float32")).arraySync(), 70);
  }
  assertThrows(
    () => tf.eye(-100, -100),
    tf.ValueError,
    "Cannot apply eye with shape [-100,-100]: dimensions must be",
  );
  assertThrows(
    () => tf.eye(100, 100.5),
    tf.ValueError,
    "Cannot apply eye with shape [100,100.5]: dimensions must be",
  );
  assertEquals(tf.diag([1, 2, 3]).arraySync(), [[1, 0, 0], [0, 2, 0], [0, 0, 3]]);
  assertEquals(tf.diag(tf.tensor([[1, 2], [3, 4]])).shape, [2, 2, 2, 2]);
  assertEquals(tf.diagPart(tf.diag([1, 2, 3])).arraySync(), [1, 2, 3]);
  const [x, y] = tf.meshgrid([1, 2, 3], [4, 5], { indexing: "ij" });
  assertEquals([x.arraySync(), y.arraySync()], [[[1, 1], [2, 2], [3, 3]], [[4, 5], [4, 5], [
    4,
    5,
  ]]]);
});

testOnDevices("buffer() is filled element by element", () => {
  const b = tf.buffer([2, 3], "int32");
  b.set(7, 1, 2);
  assertEquals(b.get(1, 2), 7);
  assertEquals(tf.buffer([1], null as unknown as tf.DType).dtype, "float32");
  assertEquals(b.indexToLoc(4), [1, 1]);
  assertEquals(b.locToIndex([1, 1]), 4);
  const t = b.toTensor();
  b.set(9, 0, 0);
  assertEquals(t.arraySync(), [[0, 0, 0], [0, 0, 7]]);
  assertThrows(
    () => b.get(2, 0),
    tf.ValueError,
    "Requested out of range element at 2,0. Buffer shape=2,3",
  );
  assertThrows(
    () => b.set(1, 2),
    tf.ValueError,
    "The number of provided coordinates (1) must match the rank (2)",
  );
});

testOnDevices("buffer() gives tensors of each dtype with the numbers that were set", async () => {
  for (const dtype of ["bfloat16", "float16", "float64", "int16", "uint32"] as const) {
    const b = tf.buffer([2, 1], dtype);
    const first = dtype.includes("float") ? 1.5 : 3;
    b.set(first, 0, 0);
    assertEquals([b.toTensor().dtype, b.get(0, 0)], [dtype, first]);
    assertEquals<unknown>(await b.toTensor().array(), [[first], [0]]);
  }
});

Deno.test("a buffer counts in row-major order, of its first element where no index is given", () => {
  const b = tf.buffer([2, 3, 4], "float32", Float32Array.from({ length: 24 }, (_, i) => i));
  for (const [at, loc] of [[0, [0, 0, 0]], [5, [0, 1, 1]], [23, [1, 2, 3]]] as const) {
    assertEquals([b.locToIndex(loc), b.indexToLoc(at), b.get(...loc)], [at, loc, at]);
  }
  assertEquals(b.get(), 0);
  for (const loc of [[0, 3, 0], [0, 0, -1], [0, 0, 4]]) {
    assertThrows(() => b.get(...loc), tf.ValueError, `Requested out of range element at ${loc}`);
  }
  const single = tf.buffer([]), list = tf.buffer([3]);
  single.set(5);
  list.set(6, 0);
  list.set(7, 2);
  assertEquals([single.get(), single.locToIndex([0]), single.indexToLoc(0)], [5, 0, []]);
  single.set(8, 0);
  assertEquals([single.toTensor().item(), list.toTensor().arraySync()], [8, [6, 0, 7]]);
  list.set(9);
  assertEquals([list.get(0), list.get(2)], [9, 7]);
  assertThrows(() => single.set(1, 0, 0), tf.ValueError, "must match the rank (0)");
  assertThrows(() => single.get(1), tf.ValueError, "Requested out of range element at 1");
  assertThrows(() => tf.buffer([2], "complex64"), tf.ValueError, "use tf.complex(real, imag)");
  assertThrows(
    () => tf.buffer([2], "int32", new Int32Array(3)),
    tf.ValueError,
    "Cannot make a TensorBuffer of shape [2]: length of values '3' does not match the size '2'",
  );
  for (const loc of [3, -1, NaN]) {
    assertThrows(() => list.set(1, loc), tf.ValueError, `Requested out of range element at ${loc}`);
  }
  const texts = tf.buffer([2], "string");
  texts.set("a", 1);
  assertEquals([texts.get(0), texts.toTensor().arraySync()], ["", ["", "a"]]);
});

Deno.test("a buffer refuses what its dtype does not hold, as tensors do", () => {
  const refused: [tf.DType, unknown, new (message: string) => Error, string][] = [
    ["int8", 200, tf.ValueError, "Cannot convert 200 to int8: it is out of range"],
    ["int32", 2 ** 31, tf.ValueError, "Cannot convert 2147483648 to int32: it is out of range"],
    ["uint8", -1, tf.ValueError, "Cannot convert -1 to uint8"],
    ["int64", 2n ** 63n, tf.ValueError, "to int64: it is out of range"],
    ["int32", 1.5, TypeError, "Cannot convert 1.5 of type number to int32"],
    ["int32", NaN, TypeError, "Cannot convert NaN of type number to int32"],
    ["bool", "yes", TypeError, 'Cannot convert "yes" to bool'],
    ["float32", {}, TypeError, "Cannot convert a value of type Object to float32"],
  ];
  for (const [dtype, value, Class, says] of refused) {
    const b = tf.buffer([2], dtype);
    assertThrows(() => b.set(value as number, 0), Class, says);
    assertEquals(Array.from(b.values as ArrayLike<unknown>, Number), [0, 0]);
  }
  const taken: [tf.DType, number | boolean | bigint, unknown][] = [
    ["int64", 7, 7n],
    ["int32", -5n, -5],
    ["bool", true, 1],
    ["bfloat16", 0.1, 0.10009765625],
    ["float32", 3n, 3],
  ];
  for (const [dtype, value, read] of taken) {
    const b = tf.buffer([1], dtype);
    b.set(value, 0);
    assertEquals(b.get(0), read, dtype);
  }
});

testOnDevices("shapes, ranks and sizes come from the tensor, in graphs at run time", async () => {
  assertEquals(tf.shape(tf.zeros([2, 3])).arraySync(), [2, 3]);
  assertEquals([tf.rank(tf.zeros([2, 3])).item(), tf.size(tf.zeros([2, 3])).item()], [2, 6]);
  const g = new tf.Graph();
  const { x, out } = g.asDefault(() => {
    const x = tf.placeholder("float32");
    return { x, out: [tf.rank(x), tf.size(x), tf.transpose(x), tf.reverse(x)] };
  });
  const session = new tf.Session({ graph: g });
  const [rank, size, turned, back] = await session.run(out, {
    feeds: new Map([[x, [[1, 2, 3]]]]),
  }) as [
    number,
    number,
    tf.NdArray,
    tf.NdArray,
  ];
  assertEquals([rank, size, turned.toArray(), back.toArray()], [2, 3, [[1], [2], [3]], [[
    3,
    2,
    1,
  ]]]);
  await session.close();
});

testOnDevices("buffer(), bufferSync() and bytes() copy the elements of a tensor", async () => {
  const t = tf.tensor([[1, 2], [3, 4]], undefined, "int32");
  const b = await t.buffer();
  b.set(9, 1, 0);
  assertEquals([b.get(0, 1), b.toTensor().arraySync()], [2, [[1, 2], [9, 4]]]);
  assertEquals([t.bufferSync().get(1, 0), t.bufferSync().dtype], [3, "int32"]);
  assertEquals(await t.bytes(), new Uint8Array(Int32Array.of(1, 2, 3, 4).buffer));
  const s = tf.tensor(["a", "bc"]);
  assertEquals(s.bufferSync().get(1), "bc");
  assertEquals(await s.bytes(), [Uint8Array.of(97), Uint8Array.of(98, 99)]);
});

/** Functions that take a shape or the like, with the extents 3 and 2, of which a tensor may be one. */
const OF_EXTENTS: Readonly<Record<string, (three: number | tf.Tensor) => tf.Tensor>> = {
  fill: (n) => tf.fill([n, 2], 1),
  zeros: (n) => tf.zeros([n, 2]),
  ones: (n) => tf.ones([n, 2]),
  reshape: (n) => tf.reshape(tf.ones([6]), [n, -1]),
  broadcastTo: (n) => tf.broadcastTo(tf.ones([2]), [n, 2]),
  tile: (n) => tf.tile(tf.ones([1, 2]), [n, 1]),
  slice: (n) => tf.slice(tf.ones([4, 2]), [1, 0], [n, 2]),
  randomUniform: (n) => tf.randomUniform([n, 2], 0, 1),
  pad: (n) => tf.pad(tf.ones([0, 2]), [[0, n], [0, 0]]),
};

for (const [name, make] of Object.entries(OF_EXTENTS)) {
  testOnDevices(`${name}() takes extents that are tensors`, () => {
    const before = tf.memory().numTensors;
    using three = tf.scalar(3, "int32");
    using eager = tf.tidy(() => make(three));
    assertEquals(eager.shape, [3, 2]);
    const f = tf.function((x: tf.Tensor) => make(tf.gather(tf.shape(x), 0)), {
      inputSignature: [tf.TensorSpec([null])],
    });
    using x = tf.ones([3]);
    using compiled = f(x);
    assertEquals(compiled.shape, [3, 2]);
    assertThrows(() => tf.tidy(() => make(tf.scalar(1.5))), TypeError, "wanted whole numbers");
    assertEquals(tf.memory().numTensors, before + 4);
  });
}
