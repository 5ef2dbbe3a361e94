/** Numbers that an integer dtype does not hold: refused where they become tensors of it, and widened beside tensors of it. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, U } from "./check.ts";

/** A number and a dtype that does not hold it. */
const UNFIT: readonly (readonly [number, tf.DType])[] = [
  [300, "uint8"],
  [-1, "uint32"],
  [2 ** 32 + 5, "int32"],
  [2 ** 63, "int64"],
  [1.5, "int32"],
  [NaN, "int8"],
  [-Infinity, "int64"],
];

const zero = (dtype: tf.DType, shape: number[] = []): tf.Tensor => tf.zeros(shape, dtype);

/** Ways from a number to a tensor of a dtype. */
const WAYS: Readonly<Record<string, (v: number, dtype: tf.DType) => unknown>> = {
  scalar: (v, dtype) => tf.scalar(v, dtype),
  tensor: (v, dtype) => tf.tensor([0, v], [2], dtype),
  tensor2d: (v, dtype) => tf.tensor2d([[0, v]], [1, 2], dtype),
  constant: (v, dtype) => tf.constant(v, dtype, [2]),
  fill: (v, dtype) => tf.fill([2], v, dtype),
  variable: (v, dtype) => tf.variable(v, true, undefined, dtype),
  assign: (v, dtype) => tf.variable(zero(dtype)).assign(v),
  pad: (v, dtype) => tf.pad(zero(dtype, [1]), [[1, 1]], v),
  oneHot: (v, dtype) => tf.oneHot([0], 2, v, 0, dtype),
  "ragged.constant": (v, dtype) => tf.ragged.constant([[0], [v]], { dtype }),
  TensorArray: (v, dtype) => new U.TensorArray(dtype, 2).write(0, v),
  "a function": (v, dtype) => tf.function(() => tf.fill([2], v, dtype))(),
  "a signature": (v, dtype) =>
    tf.function((x: tf.Tensor) => x, { inputSignature: [tf.TensorSpec([], dtype)] })(v as Any),
  "a graph": (v, dtype) => new tf.Graph().asDefault(() => tf.constant(v, dtype)),
  "a feed": async (v, dtype) => {
    const graph = new tf.Graph(), x = graph.asDefault(() => tf.placeholder(dtype, []));
    await using session = new tf.Session({ graph });
    await session.run(x, { feeds: new Map([[x, v]]) });
  },
  "a dataset": async (v, dtype) => {
    const outputSignature = tf.TensorSpec([], dtype);
    const yields = function* (): Generator<number> {
      yield v;
    };
    await tf.data.fromGenerator(yields, { outputSignature }).toArray();
  },
  "a script": (v, dtype) => tf.numpyFunction((() => v) as Any, [], dtype),
};

testOnDevices(
  "numbers that an integer dtype does not hold never become tensors of it",
  async () => {
    for (const [name, way] of Object.entries(WAYS)) {
      for (const [v, dtype] of UNFIT) {
        const what = `${name} of ${v} in ${dtype}`;
        const e = await Promise.resolve().then(() => way(v, dtype)).then(
          () => null,
          (e: Error) => e,
        );
        assert(e instanceof Error, `Nothing was thrown by ${what}`);
        assert(e instanceof TypeError || e instanceof tf.ValueError, `${what}: ${e}`);
        if (name !== "a dataset") {
          assertStringIncludes(e.message, `Cannot convert ${v}`.slice(0, 25));
        }
        assertStringIncludes(e.message, dtype, what);
      }
    }
  },
);

testOnDevices("beside tensors of integers they widen, as fractions do", () => {
  tf.tidy(() => {
    for (const [v, dtype] of UNFIT) {
      const x = tf.tensor([0, 1], [2], dtype), joined = [0, 1, v].map(Math.fround);
      for (const [name, other] of [["number", v], ["list", [v, v]]] as const) {
        const what = `${name} ${v} beside ${dtype}`;
        assertEquals(tf.add(x, other).arraySync(), [v, 1 + v].map(Math.fround), what);
        assertEquals(tf.equal(x, other).arraySync(), [false, false], what);
        assertEquals(tf.where([true, false], x, other).arraySync(), [0, Math.fround(v)], what);
      }
      assertEquals(tf.concat([x, [v]]).arraySync(), joined, dtype);
      const compiled = tf.function((x: tf.Tensor) => tf.equal(x, v));
      assertEquals(compiled(x).arraySync(), [false, false], `compiled, ${v} beside ${dtype}`);
    }
    const x = tf.tensor([0, 200], [2], "uint8");
    assertEquals([tf.add(x, 5).dtype, tf.add(x, [5, 255]).dtype], ["uint8", "uint8"]);
  });
});

testOnDevices("bounds of integers beyond their range bound nothing", () => {
  const x = tf.tensor([-5, 0, 7], [3], "int32");
  const clipped = (low: number, high: number): unknown => tf.clipByValue(x, low, high).arraySync();
  assertEquals(clipped(-Infinity, Infinity), [-5, 0, 7]);
  assertEquals(clipped(-(2 ** 40), 3), [-5, 0, 3]);
  assertEquals(clipped(0.5, 2 ** 33), [0, 0, 7]);
  assertEquals(tf.clipByValue(tf.tensor([0, 200], [2], "uint8"), -1, 300).arraySync(), [0, 200]);
});

testOnDevices("typed arrays and casts convert as ever", () => {
  assertEquals(tf.tensor(Float32Array.of(1.9, -1.9), [2], "int32").arraySync(), [1, -1]);
  assertEquals(tf.tensor(Int32Array.of(300, -1), [2], "uint8").arraySync(), [44, 255]);
  assertEquals(tf.cast([1.9, -1.9], "int32").arraySync(), [1, -1]);
});
