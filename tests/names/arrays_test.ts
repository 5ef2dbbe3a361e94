/** Functions of `tf` that move, mark, count and convert elements, beside TensorFlow 2.21. */

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { type GoldenCase, runCases } from "./golden_cases.ts";
import ARRAYS from "./arrays.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const CASES = ARRAYS as unknown as readonly GoldenCase[];

for (const fn of new Set(CASES.map((row) => row.fn))) {
  testOnDevices(`${fn}() is TensorFlow's`, async () => {
    await runCases(CASES.filter((row) => row.fn === fn));
  });
}

testOnDevices("lists of numbers are arguments, too", async () => {
  assertEquals(await tf.sequenceMask([1, 3], null, "int32").array(), [[1, 0, 0], [1, 1, 1]]);
  assertEquals(await tf.repeat([[1, 2], [3, 4]], [1, 2], 1).array(), [[1, 2, 2], [3, 4, 4]]);
  assertEquals(await tf.repeat([1, 2], 2).array(), [1, 1, 2, 2]);
  assertEquals(await tf.reverseSequence([[1, 2, 3]], [2]).array(), [[2, 1, 3]]);
  assertEquals(await tf.dynamicStitch([[3], []], [[7], []]).array(), [0, 0, 0, 7]);
  assertEquals(await tf.dynamicStitch([[]], [[]]).array(), []);
  assertEquals(await tf.tensorScatterMax([1, 5], [[0], [1]], [3, 4]).array(), [3, 5]);
  assertEquals(await tf.saturateCast([1e9, -1e9], "int16").array(), [32767, -32768]);
  const wide = tf.saturateCast([1e19, -1e19], "int64");
  assertEquals(await wide.array(), [9223371487098961920n, -(2n ** 63n)]);
  const long = tf.tensor([-5n, 2n ** 62n, -(2n ** 63n)]);
  assertEquals(await tf.saturateCast(long, "uint64").array(), [0n, 2n ** 62n, 0n]);
  assertEquals(await tf.saturateCast(long, "float16").array(), [-5, 65504, -65504]);
});

testOnDevices("axes of an unknown rank are counted from the end", async () => {
  const f = tf.function((x: tf.Tensor) => [tf.repeat(x, 2, -1), tf.repeat(x, [1, 0, 2], -1)], {
    inputSignature: [tf.TensorSpec(null, "float32")],
  });
  const [all, some] = await f.async(tf.tensor([[1, 2, 3]])) as tf.Tensor[];
  assertEquals(await all.array(), [[1, 1, 2, 2, 3, 3]]);
  assertEquals(await some.array(), [[1, 3, 3]]);
});

testOnDevices("slices along another axis are unique, and counted", async () => {
  const x = [[1, 2, 1], [3, 4, 3]];
  const { values, indices, counts } = tf.uniqueWithCounts(x, 1);
  assertEquals(await values.array(), [[1, 2], [3, 4]]);
  assertEquals([await indices.array(), await counts.array()], [[0, 1, 0], [2, 1]]);
  assertThrows(() => tf.uniqueWithCounts(3), tf.ValueError, "scalar");
});

testOnDevices("gradients pass through functions as through the identity", async () => {
  const round = tf.gradPassThrough((x) => tf.round(x)), x = tf.tensor([1.2, 2.7]);
  const slope = tf.grad((x) => tf.square(round(x)));
  assertEquals(await slope(x).array(), [2, 6]);
  const compiled = tf.function((x: tf.Tensor) => slope(x));
  assertEquals(await (await compiled.async(x) as tf.Tensor).array(), [2, 6]);
  assertThrows(() => tf.gradPassThrough(3 as Any), TypeError, "'f' passed to 'gradPassThrough'");
  assertThrows(() => tf.gradPassThrough(() => 1 as Any)(x), TypeError, "returns a tensor");
  assertThrows(() => tf.gradPassThrough((x) => tf.sum(x))(x), tf.ValueError, "has shape []");
});

testOnDevices("vmap() of functions of lengths and places is a loop over the rows", async () => {
  const x = tf.tensor([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 1, 2]]]);
  const lengths = tf.tensor([[1, 3], [2, 0]], [2, 2], "int32");
  const pairs: [string, (x: tf.Tensor, n: tf.Tensor) => tf.Tensor][] = [
    ["sequenceMask", (_, n) => tf.sequenceMask(n, 3)],
    ["reverseSequence", (x, n) => tf.reverseSequence(x, n)],
    ["repeat", (x) => tf.repeat(x, [2, 1], 0)],
    [
      "tensorScatterMax",
      (x, n) =>
        tf.tensorScatterMax(x, [[1]], tf.cast(tf.expandDims(tf.concat([n, [4]]), 0), "float32")),
    ],
    ["tensorScatterSub", (x) => tf.tensorScatterSub(x, [[1]], [[1, 1, 1]])],
    ["histogramFixedWidthBins", (x) => tf.histogramFixedWidthBins(x, [0, 9], 3)],
    ["saturateCast", (x) => tf.saturateCast(tf.mul(x, 100), "uint8")],
    ["bitcast", (x) => tf.bitcast(x, "int32")],
    [
      "truncateMod",
      (x, n) => tf.truncateMod(x, tf.cast(tf.add(tf.expandDims(n, 1), 1), "float32")),
    ],
  ];
  for (const [name, f] of pairs) {
    const all = await (tf.vmap(f as Any)(x, lengths) as tf.Tensor).array();
    const rows = await Promise.all(
      [0, 1].map((i) => f(tf.gather(x, i), tf.gather(lengths, i)).array()),
    );
    assertEquals(all, rows as Any, name);
  }
});

testOnDevices("what functions of elements cannot use is refused", async () => {
  const { ValueError } = tf, { InvalidArgumentError } = tf.errors;
  const refusals: [() => tf.Tensor | tf.Tensor[], Any, string][] = [
    [() => tf.sequenceMask([1.5]), TypeError, "whole number"],
    [() => tf.sequenceMask(tf.tensor([1.5]), 3), TypeError, "as lengths of sequenceMask"],
    [() => tf.sequenceMask([1], [2]), ValueError, "maxlen must be a scalar"],
    [() => tf.sequenceMask([1], -1), ValueError, "maxlen must be >= 0"],
    [() => tf.repeat([1, 2], [1, 2, 3]), ValueError, "wanted one, or one for each"],
    [() => tf.repeat([1, 2], -1), InvalidArgumentError, "repeats must be >= 0"],
    [() => tf.repeat([1, 2], [[1]]), ValueError, "a scalar or a vector"],
    [() => tf.repeat([1, 2], 1, 1), RangeError, "axis"],
    [() => tf.repeat([1], 1, "x" as Any), TypeError, "'axis' passed to 'repeat'"],
    [() => tf.reverseSequence([[1]], [1], 0, 0), ValueError, "must differ"],
    [() => tf.reverseSequence([[1]], [2]), ValueError, "from 0 to 1, received 2"],
    [() => tf.reverseSequence([[1]], [1, 1]), ValueError, "each of 1 rows"],
    [() => tf.dynamicPartition([1], [0], 0), ValueError, "numPartitions must be"],
    [() => tf.dynamicPartition([1], [0], 2 ** 31 - 1), ValueError, "must be from 0 to 1048576"],
    [() => tf.split([1, 2], 2 ** 40), ValueError, "must be from 0 to 1048576"],
    [() => tf.dynamicPartition([1], [1], 1), InvalidArgumentError, "is not in [0, 1)"],
    [() => tf.dynamicPartition([1, 2], [1], 2), ValueError, ""],
    [() => tf.dynamicStitch([], []), ValueError, "as many tensors of data as of indices"],
    [() => tf.dynamicStitch([[0, 1]], [[1]]), ValueError, "must begin with the shape"],
    [() => tf.dynamicStitch([[0, -1]], [[1, 2]]), InvalidArgumentError, ""],
    [() => tf.histogramFixedWidth([1], [1, 1]), ValueError, "valueRange must rise"],
    [() => tf.histogramFixedWidth([1], [1]), ValueError, "two numbers"],
    [() => tf.histogramFixedWidth([1], [0, 1], 0), ValueError, "nbins"],
    [() => tf.histogramFixedWidth(["a"] as Any, [0, 1]), TypeError, "wanted real numbers"],
    [() => tf.histogramFixedWidthBins([1], [0, 1], 3, "float32"), TypeError, "whole numbers"],
    [
      () => tf.bitcast(tf.tensor([1], [1], "uint8"), "int32"),
      InvalidArgumentError,
      "last axis of 4",
    ],
    [() => tf.bitcast([true], "int32"), TypeError, "bool"],
    [() => tf.saturateCast([1], "decimal" as Any), TypeError, "decimal"],
    [() => tf.truncateDiv([1.5], 2), TypeError, "whole numbers"],
    [() => tf.tensorScatterMin([1], [[0]], [1, 2]), ValueError, "updates"],
    [() => tf.tensorScatterMax([1], [[3]], [1]), InvalidArgumentError, ""],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        for (const t of [run()].flat()) await t.data();
      },
      error,
      text,
      String(run),
    );
  }
});
