// tf.math.sobolSample beside TensorFlow 2.21, bit by bit, and what it refuses.

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/sobol.json" with { type: "json" };

const { sobolSample } = tf.math;
const int = (v: number): tf.Tensor => tf.scalar(v, "int32");

testOnDevices("sobolSample() gives TensorFlow's points", async () => {
  using _s = tf.scope();
  for (const { dim, count, skip, dtype, points } of RECORDED) {
    const draw = (): tf.Tensor => sobolSample(dim, count, skip, dtype as tf.DType);
    const open = tf.function((d: tf.Tensor, n: tf.Tensor, s: tf.Tensor) =>
      sobolSample(d, n, s, dtype as tf.DType)
    );
    for (const y of [draw(), tf.function(draw)(), open(int(dim), int(count), int(skip))]) {
      assertEquals([y.shape, y.dtype], [[count, dim], dtype as tf.DType]);
      assertEquals(await y.array() as unknown, points);
    }
    const graph = new tf.Graph(), y = graph.asDefault(draw);
    await using session = new tf.Session({ graph });
    assertEquals((await session.run(y) as tf.NdArray).toArray() as unknown, points);
  }
  // TensorFlow's points are negative from the 2 ** 30th on.
  const late = await sobolSample(3, 4, 2 ** 31 - 10, "float64").data() as unknown as Float64Array;
  assertEquals([...late].every((v) => v >= 0 && v < 1), true);
  const inside = tf.grad((x: tf.Tensor) => tf.sum(tf.mul(x, sobolSample(2, 3))))(tf.ones([3, 2]));
  assertEquals(await inside.array(), [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]);
  const rows = tf.vmap((x: tf.Tensor) => tf.add(sobolSample(1, 2), x))(tf.tensor([0, 1]));
  assertEquals(await (rows as tf.Tensor).array(), [[[0.5], [0.75]], [[1.5], [1.75]]]);
});

testOnDevices("graphs of TensorFlow have SobolSample", async () => {
  const graph = new tf.Graph(),
    value = (n: number) => ({
      dtype: { type: "DT_INT32" },
      value: { tensor: { dtype: "DT_INT32", tensorShape: {}, intVal: [n] } },
    });
  const [y] = graph.asDefault(() =>
    tf.importGraphDef({
      node: [
        { name: "d", op: "Const", attr: value(2) },
        { name: "n", op: "Const", attr: value(2) },
        { name: "s", op: "Const", attr: value(1) },
        {
          name: "y",
          op: "SobolSample",
          input: ["d", "n", "s"],
          attr: { dtype: { type: "DT_DOUBLE" } },
        },
      ],
      versions: { producer: 1 },
    }, { prefix: "", returnElements: ["y:0"] })
  ) as tf.Tensor[];
  await using session = new tf.Session({ graph });
  const points = await session.run(y) as tf.NdArray;
  assertEquals([points.dtype, points.toArray()], ["float64", [[0.75, 0.25], [0.25, 0.75]]]);
});

testOnDevices("sobolSample() refuses what TensorFlow refuses, known or not", async () => {
  const { InvalidArgumentError, UnimplementedError } = tf.errors;
  const cases: [number, number, number, new (...args: never[]) => Error, string][] = [
    [0, 5, 0, InvalidArgumentError, "dim must be at least one"],
    [3, 0, 0, InvalidArgumentError, "num_results must be at least one"],
    [3, 5, -1, InvalidArgumentError, "skip must be non-negative"],
    [3, 5, 2147483642, InvalidArgumentError, "must be less than 2147483647"],
    [257, 1, 0, UnimplementedError, "257 dimensions: wanted at most 256"],
  ];
  const open = tf.function((d: tf.Tensor, n: tf.Tensor, s: tf.Tensor) => sobolSample(d, n, s));
  for (const [dim, count, skip, kind, words] of cases) {
    assertThrows(() => sobolSample(dim, count, skip), kind, words);
    await assertRejects(() => open.async(int(dim), int(count), int(skip)), kind, words);
  }
  assertThrows(() => sobolSample([3], 5), InvalidArgumentError, "dim must be a scalar");
  assertThrows(() => sobolSample(3, 5, 0, "float16"), TypeError, "float16");
  assertThrows(() => sobolSample(2.5, 5), TypeError, "2.5");
});
