import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("concat() joins along any axis, empty parts and all", () => {
  const a = tf.tensor([[1, 2], [3, 4]]), b = tf.tensor([[5], [6]]);
  assertEquals(tf.concat([a, b], 1).arraySync(), [[1, 2, 5], [3, 4, 6]]);
  assertEquals(tf.concat([a, b], -1).shape, [2, 3]);
  assertEquals(tf.concat([a, tf.zeros([0, 2]), a]).shape, [4, 2]);
  assertEquals(tf.concat([a]).arraySync(), a.arraySync());
  assertEquals(tf.concat([["a"], ["b", "c"]]).arraySync(), ["a", "b", "c"]);
  assertEquals(tf.concat([tf.tensor([1], [1], "int32"), tf.tensor([1.5])]).dtype, "float32");
  assertThrows(() => tf.concat([a, b]), tf.ValueError, "must be equal elsewhere");
  assertThrows(() => tf.concat([a, tf.tensor([1])]), tf.ValueError, "must be equal elsewhere");
  assertThrows(() => tf.concat([]), tf.ValueError, "pass at least one tensor");
});

testOnDevices("concat() joins more parts than one dispatch can bind", () => {
  const parts = Array.from({ length: 20 }, (_, i) => tf.fill([2, i % 3 + 1], i));
  const row = parts.flatMap((_, i) => new Array(i % 3 + 1).fill(i));
  assertEquals(tf.concat(parts, 1).arraySync(), [row, row]);
  const back = tf.split(tf.concat(parts, 1), parts.map((_, i) => i % 3 + 1), 1);
  back.forEach((t, i) => assertEquals(t.arraySync(), parts[i].arraySync()));
});

testOnDevices("concat() parts its gradient where extents are known only when it runs", async () => {
  for (const [shape, axis] of [[[2, null], 1], [null, 1], [null, -1]] as const) {
    const graph = new tf.Graph();
    const gradients = graph.asDefault(() => {
      const xs = ["x", "y"].map((name) => tf.placeholder("float32", shape, name));
      return tf.gradients(tf.sum(tf.square(tf.concat(xs, axis))), xs) as tf.Tensor[];
    });
    const feeds = { "x:0": [[1, 2], [3, 4]], "y:0": [[5], [6]] };
    const found = await new tf.Session({ graph }).run(gradients, { feeds }) as tf.NdArray[];
    assertEquals(found.map((g) => g.toArray()), [[[2, 4], [6, 8]], [[10], [12]]], `axis ${axis}`);
  }
});

testOnDevices("stack() and unstack() undo each other along every axis", () => {
  const parts = [0, 1, 2].map((k) =>
    tf.tensor([[1, 2, 3, 4], [5, 6, 7, 8]].map((r) => r.map((v) => v + 10 * k)))
  );
  for (const axis of [0, 1, 2, -1, -3]) {
    const whole = tf.stack(parts, axis);
    assertEquals(whole.shape[axis < 0 ? axis + 3 : axis], 3);
    tf.unstack(whole, axis).forEach((t, k) => assertEquals(t.arraySync(), parts[k].arraySync()));
  }
  assertThrows(
    () => tf.stack([tf.zeros([2]), tf.zeros([3])]),
    tf.ValueError,
    "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are",
  );
  assertThrows(
    () => tf.unstack(tf.zeros([2]), 1),
    tf.ValueError,
    "Invalid axis 1: it must be in the range [-1, 1)",
  );
});

testOnDevices("split() cuts into equal or given parts", () => {
  const x = tf.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]);
  assertEquals(tf.split(x, 2, 1).map((t) => t.arraySync()), [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]);
  assertEquals(tf.split(x, [1, -1, 1], 1).map((t) => t.shape), [[2, 1], [2, 2], [2, 1]]);
  assertEquals(tf.split(x, [-1, 1], 1).map((t) => t.shape), [[2, 3], [2, 1]]);
  assertEquals(tf.split(x, 2).map((t) => t.arraySync()), [[[1, 2, 3, 4]], [[5, 6, 7, 8]]]);
  assertThrows(() => tf.split(x, 3, 1), tf.ValueError, "evenly divide");
  assertThrows(() => tf.split(x, [1, 2], 1), tf.ValueError, "sum of sizes");
  assertThrows(() => tf.split(x, [-1, -1], 1), tf.ValueError, "only one negative");
});

testOnDevices(
  "lists of numbers take the dtype of the tensor beside them where that holds them",
  () => {
    const ints = tf.tensor([3, 4], [2], "int32"), bytes = tf.tensor([3, 4], [2], "uint8");
    const halves = tf.tensor([3, 4], [2], "float16"), doubles = tf.tensor([3, 4], [2], "float64");
    const take: Readonly<Record<string, (list: number[], x: tf.Tensor) => tf.Tensor>> = {
      concat: (list, x) => tf.concat([list, x]),
      stack: (list, x) => tf.stack([x, list]),
      addN: (list, x) => tf.addN([list, x]),
      add: (list, x) => tf.add(x, list),
      where: (list, x) => tf.where([true, false], list, x),
      clipByValue: (list, x) => tf.clipByValue(x, list, 9),
      einsum: (list, x) => tf.einsum("i,i->i", x, list),
      tensordot: (list, x) => tf.tensordot(x, list, 1),
      tensorScatterUpdate: (list, x) => tf.tensorScatterUpdate(x, [[0], [1]], list),
      tensorScatterAdd: (list, x) => tf.tensorScatterAdd(x, [[0], [1]], list),
    };
    for (const [name, fn] of Object.entries(take)) {
      for (const x of [ints, bytes, halves, doubles]) {
        if (name === "einsum" && x === bytes) continue;
        assertEquals(fn([1, 0], x).dtype, x.dtype, `${name} beside ${x.dtype}`);
      }
    }
    assertEquals(tf.concat([[1, 0], ints]).arraySync(), [1, 0, 3, 4]);
    assertEquals(tf.concat([[2 ** 53], tf.tensor([1n])]).arraySync(), [2n ** 53n, 1n]);
    assertEquals(tf.stack([1, tf.scalar(2, "int32")]).dtype, "int32");
    assertEquals(tf.add(doubles, [0.1, 0.2]).arraySync(), [3.1, 4.2]);
    // What it does not hold widens, and so does what has a dtype of its own.
    for (const list of [[1.5, 0], [300, 0], [-1, 0], [NaN, 0]]) {
      assertEquals(tf.concat([list, bytes]).dtype, "float32", String(list));
    }
    assertEquals(tf.concat([new Float32Array([1]), ints]).dtype, "float32");
    assertEquals(
      tf.concat([[new Float32Array([1])], tf.fill([1, 1], 1, "int32")]).dtype,
      "float32",
    );
    assertEquals(tf.concat([[true], ints]).dtype, "int32");
    assertThrows(() => tf.stack([[1.5, 0], ints]), TypeError, "int32");
    assertThrows(() => tf.addN([[1.5, 0], ints]), tf.ValueError, "same dtype");
  },
);
