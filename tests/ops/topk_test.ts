import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, number, random } from "./values.ts";

testOnDevices("topk() takes the first of equals, and NaN last", () => {
  const { values, indices } = tf.topk([[1, 3, 3, NaN], [-Infinity, NaN, NaN, 5]], 4);
  assertEquals(values.arraySync(), [[3, 3, 1, NaN], [5, -Infinity, NaN, NaN]]);
  assertEquals(indices.arraySync(), [[1, 2, 0, 3], [3, 0, 1, 2]]);
  assertEquals(tf.topk([-0, 0, -0], 3).indices.arraySync(), [0, 1, 2]);
  assertEquals(tf.topk(tf.tensor([16777216, 16777217], [2], "int32")).indices.arraySync(), [1]);
  assertThrows(() => tf.topk([1, 2], 3), tf.ValueError, "at least k columns");
  assertThrows(() => tf.topk([1, 2], -1), tf.ValueError, "k >= 0");
  assertThrows(() => tf.topk(3), tf.ValueError, "rank 1");
});

testOnDevices("sort() and argsort() go either way along any axis", () => {
  const next = random(5);
  const rows = Array.from(
    { length: 5 },
    () => Array.from({ length: 37 }, () => Math.floor(next() * 9) - 4),
  );
  const order = (row: number[], sign: number) =>
    row.map((_, i) => i).sort((a, b) => sign * (row[a] - row[b]) || a - b);
  for (const dtype of ["float32", "int32"] as const) {
    const x = tf.tensor(rows.flat(), [5, 37], dtype);
    for (const [direction, sign] of [["ASCENDING", 1], ["DESCENDING", -1]] as const) {
      const places = rows.map((r) => order(r, sign));
      assertEquals(tf.argsort(x, 1, direction).arraySync(), places);
      assertEquals(
        tf.sort(x, 1, direction).arraySync(),
        rows.map((r, i) => places[i].map((k) => r[k])),
      );
      assertEquals(tf.transpose(tf.argsort(tf.transpose(x), 0, direction)).arraySync(), places);
    }
  }
  assertEquals(tf.sort([2, NaN, 1]).arraySync(), [1, 2, NaN]);
  assertEquals(tf.sort([2, NaN, 1], 0, "DESCENDING").arraySync(), [2, 1, NaN]);
  const extremes = tf.tensor([5, -2147483648, 2147483647], [3], "int32");
  assertEquals(tf.sort(extremes).arraySync(), [-2147483648, 5, 2147483647]);
});

Deno.test("topk() and sort() have right first and second gradients", () => {
  const x = [[0.3, -1, 2, 0.7], [4, 1, -2, 0.5]];
  gradCheck((t) => tf.topk(t, 2).values, [x]);
  gradCheck((t) => tf.square(tf.sort(t, 0)), [x]);
  gradCheck((t) => {
    const tape = new tf.GradientTape();
    tape.watch(t);
    return tape.gradient(tf.square(tf.topk(t, 3).values), t) as tf.Tensor;
  }, [x]);
});

testOnDevices("searchSorted() finds either side in each row", () => {
  const rows = [[0, 3, 9, 9, 10], [1, 2, 3, 4, 5]], values = [[2, 9, 11], [0, 3, 6]];
  for (const dtype of ["float32", "int32"] as const) {
    const s = tf.tensor(rows.flat(), [2, 5], dtype), v = tf.tensor(values.flat(), [2, 3], dtype);
    assertEquals(tf.lowerBound(s, v).arraySync(), [[1, 2, 5], [0, 2, 5]]);
    assertEquals(tf.upperBound(s, v).arraySync(), [[1, 4, 5], [0, 3, 5]]);
  }
  assertEquals(tf.searchSorted(tf.tensor([], [0]), [1]).arraySync(), [0]);
  assertThrows(
    () => tf.searchSorted([[1, 2]], [1]),
    tf.ValueError,
    "Cannot search values of shape [1] in sequences of shape [1,2]: wanted",
  );
});

testOnGpu("TopKV2: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const cases: [number[], number][] = [
    [[1], 1],
    [[7], 3],
    [[300, 5], 2],
    [[3, 33], 33],
    [[1, 600], 7],
    [[1, 2100], 400],
    [[4, 6], 0],
    [[0, 6], 2],
  ];
  for (const [shape, k] of cases) {
    const next = random(k + 1);
    // Few different values, and some NaN.
    const x = filled("float32", shape, () => (next() < 0.02 ? NaN : Math.floor(next() * 50) - 25));
    for (const v of await compareVariants("TopKV2", [x, number(k)], { sorted: true })) ran.add(v);
    if (shape[shape.length - 1] > 100) continue;
    await compareVariants("TopKV2", [noise("int32", shape), number(k)], { sorted: true });
  }
  assertEquals([...ran].sort(), ["bitonic", "thread", "workgroup"]);
});

testOnGpu("_Pick, _Place, LowerBound, UpperBound: every variant equals the CPU", async () => {
  for (const shape of [[5], [4, 9], [2, 3, 70]]) {
    const x = noise("float32", shape, 1);
    const columns = shape[shape.length - 1], k = Math.ceil(columns / 2);
    // Every second place, from the end.
    const indices = filled("int32", [...shape.slice(0, -1), k], (i) => columns - 1 - 2 * (i % k));
    await compareVariants("_Pick", [x, indices]);
    const updates = noise("float32", indices.shape, 2);
    await compareVariants("_Place", [indices, updates, number(columns)]);
    const sorted = filled("int32", shape, (i) => 3 * (i % columns));
    const values = noise("int32", shape, 4);
    await compareVariants("LowerBound", [sorted, values]);
    await compareVariants("UpperBound", [sorted, values]);
  }
});
