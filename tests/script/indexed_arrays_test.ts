/** Bodies that index their arrays, as NumPy's do. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { assertBoth, evaluate } from "./helpers.ts";

type N = tf.NdArray;

testOnDevices("a body indexes its arrays, reading, writing and iterating", async () => {
  const cases: [(x: N) => unknown, unknown, tf.DType, unknown][] = [
    [(x) => (x[0] = 0, x), [1, 2], "float32", [0, 2]],
    [(x) => Number(x[0]) * 2, [1, 2], "float32", 2],
    [(x) => [...x].map((v) => Number(v) + x.length), [1, 2], "float32", [3, 4]],
    [(x) => ((x[1] as N)[0] = 9, x), [[1, 2], [3, 4]], "float32", [[1, 2], [9, 4]]],
    [(x) => x[1], [[1, 2], [3, 4]], "float32", [3, 4]],
    [(x) => (x[0] = x[1], x), [[1, 2], [3, 4]], "float32", [[3, 4], [3, 4]]],
    [(x) => (x[0] = !x[0], x), [true, true], "bool", [false, true]],
    [(x) => ((x[0] as N)[1] = (x[1] as N)[0], x), [["a", "b"], ["c", "d"]], "string", [
      ["a", "c"],
      ["c", "d"],
    ]],
  ];
  for (const [body, input, dtype, wanted] of cases) {
    const build = (): tf.Tensor => tf.numpyFunction(body, [tf.tensor(input as number[])], dtype);
    await assertBoth(build, wanted);
    const inWorker = (): tf.Tensor =>
      tf.numpyFunction(body, [tf.tensor(input as number[])], dtype, { worker: true });
    assertEquals(await evaluate(inWorker), wanted, String(body));
  }
});

testOnDevices("what a body writes by index is its own, in loops and of constants", async () => {
  const first = (x: tf.Tensor): tf.Tensor =>
    tf.numpyFunction((x: N) => (x[0] = Number(x[0]) + 1, x), [x], tf.TensorSpec([2], "float32"));
  const values = await evaluate(() => {
    const c = tf.constant([1, 2]), m = tf.constant([[1, 2], [3, 4]]);
    const turns = tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), first(y)], [
      tf.scalar(0, "int32"),
      c,
    ]);
    return [first(c), first(c), c, tf.mapFn(first, m), m, turns[1]];
  });
  const m = [[1, 2], [3, 4]];
  assertEquals(values, [[2, 2], [2, 2], [1, 2], [[2, 2], [4, 4]], m, [4, 2]]);
});

testOnDevices("a body that indexes past the end fails with the index", async () => {
  const past = (): Promise<unknown> =>
    evaluate(() => tf.numpyFunction((x: N) => x[2], [tf.constant([1, 2])], "float32"));
  await assertRejects(past, tf.errors.InvalidArgumentError, "its first axis has 2 places");
});
