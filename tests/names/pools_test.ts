/** Fractional pooling, patches, elements of products and filled rows beside TensorFlow 2.21. */

import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { arrayOf, type GoldenCase, runCases } from "./golden_cases.ts";
import POOLS from "./pools.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const CASES = POOLS as unknown as readonly GoldenCase[];
const of = (start: string) => CASES.filter(({ fn }) => fn.startsWith(start));

testOnDevices(
  "fractionalMaxPool() and fractionalAvgPool() have TensorFlow's windows",
  () => runCases(of("nn.fractional"), { ulps: 16 }),
);

testOnDevices(
  "extractVolumePatches() and extractPatches() are TensorFlow's, of unknown extents too",
  () => runCases(of("extract")),
);

testOnDevices(
  "sampledAddmm() computes the elements of products that TensorFlow does",
  () => runCases(of("sparse."), { ulps: 64 }),
);

testOnDevices("raggedFillEmptyRows() fills TensorFlow's rows", () => runCases(of("ragged")));

testOnDevices("windows follow the global seed, as TensorFlow's do", async () => {
  using _s = tf.scope();
  for (const row of of("seeded.")) {
    const pool = (tf.nn as Any)[row.fn.slice("seeded.".length)];
    const [x, ...rest] = row.args;
    tf.setRandomSeed(3);
    try {
      const [y, rows, columns] = pool(tf.tensor(arrayOf(x as Any) as Any), ...rest);
      for (const [i, t] of [y, rows, columns].entries()) {
        const want = arrayOf(row.want[i]), got = await t.ndarray();
        assertEquals(
          difference(got, want, want.dtype, { ulps: 4, ulpsOfLargest: 4 }),
          null,
          `${row.fn} ${i}`,
        );
      }
    } finally {
      tf.setRandomSeed(null);
    }
  }
});

testOnDevices("windows without a seed differ from call to call, and fit", async () => {
  using _s = tf.scope();
  const x = tf.reshape(tf.range(0, 40 * 40), [1, 40, 40, 1]), seen = new Set<string>();
  for (let i = 0; i < 4; i++) {
    const [y, rows, columns] = tf.nn.fractionalMaxPool(x, 1.3);
    assertEquals(y.shape, [1, 30, 30, 1]);
    for (const places of [rows, columns]) {
      const at = await tf.cast(places, "int32").array() as number[];
      assertEquals([at[0], at[30], at.length], [0, 40, 31]);
      at.slice(1).forEach((v, k) => assertEquals(v - at[k] === 1 || v - at[k] === 2, true));
      seen.add(String(at));
    }
  }
  assertEquals(seen.size > 2, true);
});

testOnDevices("rows, loops and scripts pool as calls do", async () => {
  using _s = tf.scope();
  const { nn } = tf, images = tf.reshape(tf.range(0, 3 * 36), [3, 1, 6, 6, 1]);
  const one = (x: tf.Tensor) => nn.fractionalMaxPool(x, 1.5, true, false, 4)[0];
  const wanted = await tf.stack(tf.unstack(images).map(one)).array();
  assertEquals(await (tf.vectorizedMap(one, images) as tf.Tensor).array(), wanted);
  assertEquals(await (tf.mapFn(one, images) as tf.Tensor).array(), wanted);
  const slopes = tf.vectorizedMap((x: tf.Tensor) => tf.grad(one)(x), images) as tf.Tensor;
  const each = tf.stack(tf.unstack(images).map((x) => tf.grad(one)(x)));
  assertEquals(await slopes.array(), await each.array());
  const joined = tf.function((x: tf.Tensor) => {
    const y = tf.numpyFunction((a: tf.NdArray) => a.map((v) => -Number(v)), [x], "float32", {
      shapeFn: (spec) => spec,
    });
    const [, z] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, z: tf.Tensor) => [tf.add(i, 1), tf.add(z, one(y))],
      [tf.scalar(0, "int32"), tf.zeros([1, 4, 4, 1])],
    ) as tf.Tensor[];
    return tf.extractPatches(z, [2, 2], [2, 2]);
  });
  const y = await joined.async(images.slice([0], [1]).reshape([1, 6, 6, 1])) as tf.Tensor;
  assertEquals(y.shape, [1, 2, 2, 4]);
  assertEquals((await y.data())[0], 0);
});

testOnDevices("what cannot be pooled, cut or filled is refused", async () => {
  using _s = tf.scope();
  const { ValueError, nn, sparse } = tf, n = tf as Any, x = tf.zeros([1, 4, 4, 1]);
  const { InvalidArgumentError } = tf.errors;
  const one = [1, 1, 1, 1, 1];
  const refusals: [() => unknown, Any, string][] = [
    [() => nn.fractionalMaxPool([[1]], 1.5), ValueError, "rank"],
    [() => nn.fractionalMaxPool(x, 0.5), ValueError, "wanted four ratios from 1 on"],
    [() => nn.fractionalMaxPool(x, NaN), ValueError, "wanted four ratios"],
    [() => nn.fractionalAvgPool(x, [2, 1, 1, 1]), ValueError, "the first and last 1"],
    [() => nn.fractionalAvgPool(x, 5), ValueError, "is above extent 4"],
    [() => n.nn.fractionalAvgPool(x, "2"), TypeError, "poolingRatio"],
    [() => n.nn.fractionalAvgPool(x, 2, 1), TypeError, "pseudoRandom"],
    [() => n.nn.fractionalAvgPool(x, 2, false, false, "a"), TypeError, "seed"],
    [() => nn.fractionalMaxPool(tf.cast(x, "float16"), 2), TypeError, "float16"],
    [() => tf.extractVolumePatches(x, one, one, "SAME"), ValueError, "wanted rank 5"],
    [
      () => tf.extractVolumePatches(tf.zeros(one), [1, 1, 1, 1], one, "SAME"),
      ValueError,
      "ksizes [1,1,1,1]",
    ],
    [() => n.extractVolumePatches(tf.zeros(one), one, one, "same"), ValueError, "VALID or SAME"],
    [
      () => sparse.sampledAddmm([[0, 0]], [1], [2, 2], [[1, 2]], [[1], [2]]),
      ValueError,
      "is not that of a product",
    ],
    [() => sparse.sampledAddmm([0], [1], [1, 1], [[1]], [[1]]), ValueError, "one rank from 2 on"],
    [
      () => sparse.sampledAddmm([[0, 0]], [1], [1, 1], [[1]], [[1]], 1, 1, "int32"),
      TypeError,
      "wanted a float",
    ],
    [() => tf.raggedFillEmptyRows([5], [1], 2, 0), InvalidArgumentError, "5 >= 2"],
    [() => tf.raggedFillEmptyRows([0.5], [1], 2, 0), TypeError, "0.5"],
    [() => tf.raggedFillEmptyRows([0], [1], [2], 0), ValueError, "nrows"],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        for (const t of [await run()].flat()) if (t instanceof tf.Tensor) await t.data();
      },
      error,
      text,
      String(run),
    );
  }
});
