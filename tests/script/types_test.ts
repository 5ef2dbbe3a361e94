/** Types: what bodies get for their inputs, and what fetches give. */

import * as tf from "@weft/weft";
import { type NDArray, numpyFunction as numpyTsFunction } from "@weft/weft/numpy";
import { assertType, type IsAny, type IsExact } from "@std/testing/types";
import { assertEquals } from "@std/assert";

type Is<T, U> = IsExact<T, U> extends true ? IsAny<T> extends false ? true : false : false;
type Ctx = tf.ScriptContext;

Deno.test("bodies of arrays get arrays of their inputs' dtypes, and the context", () => {
  const t = tf.scalar(2), a = tf.NdArray.zeros("float64", []);
  tf.numpyFunction((x) => (assertType<Is<typeof x, tf.NdArray>>(true), x), [t], "float32");
  tf.numpyFunction(
    (x, ctx) => {
      assertType<Is<typeof x, tf.NdArrayOf<"float32", 1>>>(true);
      assertType<Is<typeof ctx, Ctx>>(true);
      assertType<Is<typeof x.data, tf.NdArrayOf<"float32">["data"]>>(true);
      return x.data[0] * 2 + x[0] * 2 + x.at(0).valueOf().toString().length;
    },
    [[1, 2]],
    "float32",
  );
  tf.numpyFunction(
    (b, i, s, n, u) => {
      assertType<Is<typeof b, tf.NdArrayOf<"bool">>>(true);
      assertType<Is<typeof i, tf.NdArrayOf<"int64">>>(true);
      assertType<Is<typeof s, tf.NdArrayOf<"string">>>(true);
      assertType<Is<typeof n, tf.NdArray>>(true);
      assertType<Is<typeof u, tf.NdArrayOf<"uint8", 1>>>(true);
      return u.data[0];
    },
    [true, 1n, "text", a, Uint8Array.of(1)],
    "uint8",
  );
  tf.numpyFunction(
    (pair, { k }) => {
      assertType<Is<typeof pair, [tf.NdArray, tf.NdArrayOf<"float32">]>>(true);
      assertType<Is<typeof k, tf.NdArray>>(true);
      return k;
    },
    [[t, 1], { k: t }],
    "float32",
  );
  const [p, q] = tf.pyFunc((x, y) => [x, y], [t, t], ["float32", "float32"]);
  assertEquals([p.item(), q.item()], [2, 2]);
  const many: tf.Tensor[] = [t, t];
  tf.numpyFunction((...xs: tf.NdArray[]) => xs[0], many, "float32");
  tf.numpyFunction(
    (_: tf.NdArray, y: tf.NdArray, ctx: Ctx) => (ctx.run === 0 ? y : 0),
    many,
    "float32",
  );
  tf.numpyFunction((x) => (assertType<IsAny<typeof x>>(false), x), many, "float32");
  tf.numpyFunction({ Tout: "float32" })((x) => (assertType<IsAny<typeof x>>(false), x.at(0)))(t);
  tf.pyFunction({ Tout: "float32" })((
    x: tf.Tensor,
    { node }: Ctx,
  ) => (assertEquals(typeof node, "string"), x))(t);
  tf.contrib.framework.pyFunc((x, { by }, ctx) => {
    assertType<Is<typeof x, tf.NdArray>>(true);
    assertType<Is<typeof by, tf.NdArrayOf<"float32">>>(true);
    assertType<Is<typeof ctx, Ctx>>(true);
    return by.data[0];
  }, { args: [t], kwargs: { by: 2 }, outputTypes: "float32" });
  tf.contrib.framework.pyFunc((x) => (assertType<Is<typeof x, tf.NdArray>>(true), x), {
    args: [t],
    outputTypes: "float32",
  });
  numpyTsFunction((x) => (assertType<Is<typeof x, NDArray>>(true), x), [t], "float32");
});

Deno.test("x[i] is an element of a vector and a row of a matrix, where the type of an input tells its rank", () => {
  const double = (x: tf.NdArrayOf<"float32", 1>): number => x[0] * 2;
  const values = [
    tf.numpyFunction(double, [[1, 2]], "float32"),
    tf.numpyFunction((x) => x[0] * 2, [Float32Array.of(1)], "float32"),
    tf.numpyFunction((x) => x[0][1], [[[1, 2], [3, 4]]], "float32"),
    tf.numpyFunction((x) => (x[0] = x[0] + 1n, x[0]), [[1n]], "int64"),
  ];
  assertEquals(values.map((y) => y.item()), [2, 2, 2, 2n]);
  // The type of a tensor tells no dtype.
  assertType<Is<tf.NdArray[0], tf.ElementValue | tf.NdArray>>(true);
});

Deno.test("bodies of tensors get tensors, in functions too", () => {
  const t = tf.scalar(2), ragged = tf.ragged.constant([[1], []]);
  tf.pyFunction((x) => (assertType<Is<typeof x, tf.Tensor>>(true), x), [t], "float32");
  tf.pyFunction(
    (x, ctx) => {
      assertType<Is<typeof x, tf.Tensor>>(true);
      assertType<Is<typeof ctx, Ctx>>(true);
      return tf.square(x);
    },
    [3],
    "float32",
  );
  tf.pyFunction(
    (r) => {
      assertType<Is<typeof r, tf.RaggedTensor>>(true);
      return r.flatValues;
    },
    [ragged],
    "float32",
  );
  const f = tf.function((x, y) => {
    assertType<Is<typeof x, tf.Tensor>>(true);
    return tf.add(x, y);
  });
  assertEquals(f(t, t).item(), 4);
  const g = tf.function((x: tf.Tensor, by: number) => tf.mul(x, by));
  assertType<Is<Parameters<typeof g>, [x: tf.Tensor, by: number]>>(true);
  assertEquals(g(t, 3).item(), 6);
});

Deno.test("fetches of tensors are never null", async () => {
  const graph = new tf.Graph();
  const x = graph.asDefault(() => tf.constant(2, "float32", [], "x"));
  const session = new tf.Session({ graph });
  const one = await session.run(x), named = await session.run("x:0"), op = await session.run("x");
  assertType<Is<typeof one, tf.NdArray | tf.ElementValue>>(true);
  assertType<Is<typeof named, tf.NdArray | tf.ElementValue>>(true);
  assertType<Is<typeof op, tf.NdArray | tf.ElementValue | null>>(true);
  const list = await session.run([x, x]),
    record = await session.run({ x, op: x.op as tf.Operation });
  assertType<Is<typeof list, (tf.NdArray | tf.ElementValue)[]>>(true);
  assertType<Is<typeof record.x, tf.NdArray | tf.ElementValue>>(true);
  const value = await x.eval(undefined, session);
  assertType<Is<typeof value, tf.NdArray | tf.ElementValue>>(true);
  assertEquals([one, named, op, list, record.x, value], [2, 2, null, [2, 2], 2, 2]);
  await session.close();
});
