import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../devices.ts";

const ints = (values: number[], shape?: number[]): tf.Tensor =>
  tf.tensor(values, shape ?? [values.length], "int32");

testOnDevices("gather() picks slices along an axis", () => {
  const x = tf.tensor([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]);
  assertEquals(tf.gather(x, ints([2, 0])).arraySync(), [[9, 10, 11, 12], [1, 2, 3, 4]]);
  assertEquals(tf.gather(x, ints([3, 3, 0]), 1).arraySync(), [[4, 4, 1], [8, 8, 5], [12, 12, 9]]);
  assertEquals(tf.gather(x, ints([1, 0, 2, 2], [2, 2]), -1).shape, [3, 2, 2]);
  assertEquals(tf.gather(x, ints([1, 0, 3], [3, 1]), 1, 1).arraySync(), [[2], [5], [12]]);
  assertEquals(tf.gather(x, tf.scalar(1, "int32")).arraySync(), [5, 6, 7, 8]);
  assertEquals(tf.gather(["a", "b"], ints([1, 1, 0])).arraySync(), ["b", "b", "a"]);
  assertThrows(
    () => tf.gather(x, ints([0]), 2),
    tf.ValueError,
    "Invalid axis 2: it must be in the range [-2, 2)",
  );
  assertThrows(
    () => tf.gather(x, tf.tensor([0.5])),
    TypeError,
    "Cannot apply gather with indices of dtype float32: wanted int32",
  );
});

testOnDevices("an index out of range throws on the CPU and gives zeros on the GPU", (device) => {
  const x = tf.tensor([1, 2, 3]);
  for (const at of [[0, 3], [-1, 1]]) {
    if (device === "cpu") {
      assertThrows(
        () => tf.gather(x, ints(at)),
        tf.errors.InvalidArgumentError,
        "is not in [0, 3)",
      );
      assertThrows(
        () => tf.gatherND(x, ints(at, [2, 1])),
        tf.errors.InvalidArgumentError,
        "is not in [0, 3)",
      );
      assertThrows(
        () => tf.scatterND(ints(at, [2, 1]), [5, 6], [3]),
        tf.errors.InvalidArgumentError,
        "is not in [0, 3)",
      );
    } else {
      assertEquals(tf.gather(x, ints(at)).arraySync(), at.map((i) => (i < 0 || i > 2 ? 0 : i + 1)));
      const sums = tf.scatterND(ints(at, [2, 1]), [5, 6], [3]).arraySync();
      assertEquals(sums, at[0] === 0 ? [5, 0, 0] : [0, 6, 0]);
    }
  }
});

Deno.test("gatherND() takes index vectors no longer than the table has axes", () => {
  const x = tf.tensor([[1, 2], [3, 4]]);
  assertThrows(
    () => tf.gatherND(x, ints([0, 0, 0], [1, 3])),
    tf.ValueError,
    "index innermost dimension length must be <= params rank; saw: 3 vs. 2",
  );
  assertThrows(() => tf.gatherND(x, tf.scalar(0, "int32")), tf.ValueError, "at least a vector");
  assertEquals(tf.gatherND(x, ints([1, 0], [2])).arraySync(), 3);
  assertEquals(tf.gatherND(x, ints([], [3, 0])).shape, [3, 2, 2]);
});

testOnDevices("gatherND() and scatterND() go by index vectors", () => {
  const x = tf.tensor([[1, 2], [3, 4], [5, 6]]);
  const at = ints([2, 1, 0, 0], [2, 2]);
  assertEquals(tf.gatherND(x, at).arraySync(), [6, 1]);
  assertEquals(tf.gatherND(x, ints([2, 0], [2, 1])).arraySync(), [[5, 6], [1, 2]]);
  assertEquals(tf.scatterND(at, [7, 8], [3, 2]).arraySync(), [[8, 0], [0, 0], [0, 7]]);
  const twice = ints([1, 1, 0], [3, 1]);
  assertEquals(tf.scatterND(twice, [[1, 2], [10, 20], [5, 5]], [2, 2]).arraySync(), [[5, 5], [
    11,
    22,
  ]]);
  assertEquals(tf.scatterND(twice, ints([1, 2, 3]), [3]).arraySync(), [3, 3, 0]);
  assertThrows(() => tf.scatterND(at, [1, 2, 3], [3, 2]), tf.ValueError, "must have updates.shape");
});

testOnDevices("scatterND() joins bools and texts that meet, as TensorFlow does", async () => {
  using _s = tf.scope();
  const at = ints([1, 3, 1, 1], [4, 1]), none = ints([], [0, 1]);
  const unknown = (dtype: tf.DType) => ({
    inputSignature: [new tf.TensorSpec(null, "int32"), new tf.TensorSpec(null, dtype)],
  });
  const ways = (dtype: tf.DType) => {
    const scatter = (at: tf.Tensor, x: tf.Tensor) => tf.scatterND(at, x, [5]);
    return [scatter, tf.function(scatter), tf.function(scatter, unknown(dtype))];
  };
  for (const scatter of ways("bool")) {
    const flags = scatter(at, tf.tensor([true, false, true, true]));
    assertEquals(await flags.array(), [false, true, false, false, false]);
    assertEquals(await scatter(none, tf.zeros([0], "bool")).array(), new Array(5).fill(false));
  }
  for (const scatter of ways("string")) {
    const texts = scatter(at, tf.tensor(["a", "b", "c", "d"]));
    assertEquals(await texts.array() as unknown, ["", "acd", "", "b", ""]);
  }
  const rows = tf.scatterND(ints([1, 0], [2, 1]), tf.tensor([["a", "b"], ["c", "d"]]), [3, 2]);
  assertEquals(await rows.array() as unknown, [["c", "d"], ["a", "b"], ["", ""]]);
  // More flags for a place than a byte counts.
  const many = tf.scatterND(tf.zeros([4096, 1], "int32"), tf.ones([4096], "bool"), [40]);
  assertEquals(await tf.sum(tf.cast(many, "int32")).array() as unknown, 1);
  const each = tf.vmap((i: tf.Tensor, x: tf.Tensor) => tf.scatterND(i, x, [2]));
  const flags = each(ints([0, 1], [2, 1, 1]), tf.tensor([[true], [true]])) as tf.Tensor;
  assertEquals(await flags.array(), [[true, false], [false, true]]);
  assertThrows(() => tf.tensorScatterAdd(tf.tensor(["a"]), ints([0], [1, 1]), ["b"]), TypeError);
});

testOnDevices("sums over many rows are exact for integers and close for floats", () => {
  const rows = 3000, places = 40;
  const at = Array.from({ length: rows }, (_, i) => (i * 7919) % places);
  const values = Array.from({ length: rows }, (_, i) => (i % 17) - 8);
  const wanted = new Array<number>(places).fill(0);
  at.forEach((p, i) => wanted[p] += values[i]);
  for (const dtype of ["int32", "float32"] as const) {
    const data = tf.tensor(values, [rows], dtype);
    assertEquals(tf.unsortedSegmentSum(data, ints(at), places).arraySync(), wanted);
    assertEquals(tf.scatterND(ints(at, [rows, 1]), data, [places]).arraySync(), wanted);
  }
  // Few places and few rows take another way.
  assertEquals(tf.unsortedSegmentSum(tf.ones([rows]), ints(at.map((p) => p % 2)), 2).arraySync(), [
    1500,
    1500,
  ]);
});

testOnDevices("tensorScatterUpdate() and sparseToDense() write over", () => {
  const at = ints([1, 3], [2, 1]);
  assertEquals(tf.tensorScatterUpdate([9, 9, 9, 9], at, [1, 2]).arraySync(), [9, 1, 9, 2]);
  assertEquals(tf.tensorScatterAdd([9, 9, 9, 9], at, [1, 2]).arraySync(), [9, 10, 9, 11]);
  assertEquals(tf.sparseToDense(ints([0, 1, 1, 0], [2, 2]), [5, 6], [2, 2], -1).arraySync(), [[
    -1,
    5,
  ], [6, -1]]);
  assertEquals(tf.sparseToDense(ints([1, 2]), 7, [4]).arraySync(), [0, 7, 7, 0]);
  const whole = tf.sparseToDense(ints([1]), ints([3]), [2], 9);
  assertEquals([whole.dtype, whole.arraySync()], ["int32", [9, 3]]);
  assertThrows(
    () => tf.sparseToDense(ints([1]), ints([3]), [2], tf.scalar(0.5)),
    TypeError,
    "values are int32, the default value is float32",
  );
  assertEquals(tf.sparseToDense(ints([1]), tf.tensor(["x"]), [2], "-").arraySync(), ["-", "x"]);
  assertThrows(
    () => tf.sparseToDense(ints([1]), tf.tensor(["x"]), [2], 5),
    TypeError,
    "values are string, the default value is float32",
  );
  assertThrows(
    () => tf.sparseToDense(ints([1]), [3], [2.5]),
    tf.ValueError,
    "Cannot apply sparseToDense with shape [2.5]: wanted whole numbers",
  );
});

testOnDevices("segment sums leave out negative ids; segmentSum() wants them in order", () => {
  const x = tf.tensor([[1, 2], [3, 4], [5, 6]]);
  assertEquals(tf.unsortedSegmentSum(x, ints([1, -1, 1]), 3).arraySync(), [[0, 0], [6, 8], [0, 0]]);
  assertEquals(tf.segmentSum(x, ints([0, 0, 2])).arraySync(), [[4, 6], [0, 0], [5, 6]]);
  assertThrows(
    () => tf.segmentSum(x, ints([1, 0, 2])),
    tf.errors.InvalidArgumentError,
    "not increasing",
  );
});

testOnDevices("oneHot() marks indices along any axis", () => {
  assertEquals(tf.oneHot(ints([1, -1, 5]), 3).arraySync(), [[0, 1, 0], [0, 0, 0], [0, 0, 0]]);
  assertEquals(tf.oneHot(ints([1, 0]), 3, 5, -1, "float32", 0).arraySync(), [[-1, 5], [5, -1], [
    -1,
    -1,
  ]]);
  assertEquals(tf.oneHot(ints([1, 0]), 2, 1, 0, "bool").arraySync(), [[false, true], [
    true,
    false,
  ]]);
});

Deno.test("gradients of gathers add up, and go through twice", () => {
  const table = [[1, 2], [3, 4], [5, 6]];
  const square = (t: tf.Tensor) => tf.mul(t, t);
  gradCheck((x) => square(tf.gather(x, ints([2, 0, 2]))), [table]);
  gradCheck((x) => square(tf.gather(x, ints([1, 1, 0]), 1)), [table]);
  gradCheck((x) => square(tf.gatherND(x, ints([2, 1, 2, 1], [2, 2]))), [table]);
  gradCheck((u) => square(tf.scatterND(ints([1, 1], [2, 1]), u, [3])), [[2, 5]]);
  gradCheck((x, u) => square(tf.tensorScatterUpdate(x, ints([1], [1, 1]), u)), [[1, 2, 3], [4]]);
  const dx = tf.grad((x) => tf.sum(square(tf.gather(x, ints([0, 0])))))(tf.tensor([3, 4]));
  assertEquals(dx.arraySync(), [12, 0]);
});
