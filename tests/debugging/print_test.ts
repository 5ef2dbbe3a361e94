/** print() and tap(): looking in from eager code, functions, sessions, loops and datasets. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { type Any, assertFlat, errorToldOf, open, settled } from "../script/helpers.ts";

/** Returns the console output of `fn`. */
async function printed(
  fn: () => unknown,
  stream: "log" | "error" | "warn" = "log",
): Promise<string[]> {
  using told = stub(console, stream);
  await fn();
  await settled();
  return told.calls.map(({ args }) => args.join(" "));
}

const f32 = (v: Any) => tf.tensor(v);
const as = (v: Any, dtype: Any) => tf.constant(v, dtype);

/** Values and what TensorFlow 2.21 prints for them. */
const TEXTS: readonly (readonly [() => Any[], string])[] = [
  [() => [f32([1, 2, 3])], "[1 2 3]"],
  [() => [f32(1 / 3)], "0.333333343"],
  [() => [f32(1e20)], "1e+20"],
  [() => [f32(1e-7)], "1e-07"],
  [() => [f32(123456789)], "123456792"],
  [() => [f32(1234567), f32(100000), f32(1e6), f32(1e16)], "1234567 100000 1e+06 1e+16"],
  [() => [as(1e15, "float64"), as(1 / 3, "float64")], "1e+15 0.33333333333333331"],
  [() => [as([true, false], "bool")], "[1 0]"],
  [() => [as("abc", "string")], "abc"],
  [() => ["x", as("abc", "string")], 'x "abc"'],
  [() => [{ k: as("abc", "string") }, ""], "{'k': \"abc\"} "],
  [() => [as(["a", "b"], "string")], '["a" "b"]'],
  [() => [as(['a"b', "ü"], "string")], '["a\\"b" "ü"]'],
  [() => [tf.range(0, 10, 1, "int32")], "[0 1 2 ... 7 8 9]"],
  [() => [tf.range(0, 7, 1, "int32")], "[0 1 2 ... 4 5 6]"],
  [() => [tf.range(0, 6, 1, "int32")], "[0 1 2 3 4 5]"],
  [() => [as([[0, 1], [2, 3]], "int32")], "[[0 1]\n [2 3]]"],
  [
    () => [tf.reshape(tf.range(0, 80, 1, "int32"), [8, 10])],
    "[[0 1 2 ... 7 8 9]\n [10 11 12 ... 17 18 19]\n [20 21 22 ... 27 28 29]\n ...\n [50 51 52 ... 57 58 59]\n [60 61 62 ... 67 68 69]\n [70 71 72 ... 77 78 79]]",
  ],
  [
    () => [tf.reshape(tf.range(0, 8, 1, "int32"), [2, 2, 2])],
    "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]",
  ],
  [() => [tf.range(0, 10, 1, "int32"), { summarize: -1 }], "[0 1 2 3 4 5 6 7 8 9]"],
  [() => [tf.range(0, 10, 1, "int32"), { summarize: 1 }], "[0 ... 9]"],
  [() => ["loss:", f32(2.5), as([1, 2], "int32")], "loss: 2.5 [1 2]"],
  [
    () => [{ a: as([1], "int32"), b: [as(2, "int32"), f32(3.5)] }, ""],
    "{'a': [1], 'b': [2, 3.5]} ",
  ],
  [() => [[as(1, "int32"), "x"], { sep: "" }], "[1, 'x']"],
  [() => [f32([]), ""], "[] "],
  [() => [f32([NaN, Infinity, -Infinity, -0])], "[nan inf -inf -0]"],
  [() => ["a", "b", { sep: "-" }], "a-b"],
  [() => [true, null, 3], "true null 3"],
  [() => [as(7n, "int64"), 7n], "7 7"],
  [() => ["{}", as(1, "int32")], "{} 1"],
  [() => ["{{}} {}", as(1, "int32"), "{{{}}}"], "{{}} {} 1 {{{}}}"],
  [() => ["only text"], "only text"],
  [() => [tf.complex(1, 2), ""], "(1,2) "],
  [() => ["no line", { end: "" }], "no line"],
];

testOnDevices("print() writes what TensorFlow does, at each call of a function", async () => {
  for (const [values, text] of TEXTS) {
    const f = tf.function((x: tf.Tensor) => {
      tf.print(...values());
      return tf.mul(x, 2);
    });
    const run = async () => (await f.async(tf.scalar(1)) as tf.Tensor).dispose();
    assertEquals(await printed(async () => (await run(), await run())), [text, text]);
    // A single tensor in eager code is laid out as TensorFlow.js does.
    if (values().length === 1 && values()[0] instanceof tf.Tensor) continue;
    assertEquals(await printed(() => tf.tidy(() => void tf.print(...values()))), [text]);
  }
});

testOnDevices("print() writes values of a session, a loop, a branch and a dataset", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [2], "x");
    const shown = tf.print("x", tf.square(x))!;
    return { shown, y: tf.controlDependencies([shown], () => tf.add(x, 1)), z: tf.add(x, 2) };
  });
  const { shown, y, z } = g.parts, feeds = { "x:0": [1, 2] };
  assertEquals(await printed(() => g.sess.run(y, { feeds })), ["x [1 4]"]);
  assertEquals(await printed(() => g.sess.run(shown, { feeds })), ["x [1 4]"]);
  assertEquals(await printed(() => g.sess.run(z, { feeds })), []);
  const loop = tf.function((n: tf.Tensor) =>
    tf.whileLoop((i: tf.Tensor) => tf.less(i, n), (i: tf.Tensor) => {
      tf.cond(tf.equal(i, 1), () => (tf.print("one"), i), () => i);
      i.print();
      return [tf.add(i, 1)];
    }, [tf.scalar(0)])
  );
  assertEquals(await printed(() => loop.async(tf.scalar(3))), ["0", "one", "1", "2"]);
  const ds = tf.data.range(2).map((x) => (tf.print("at", x), x));
  assertEquals(await printed(() => Array.fromAsync(ds.asNumpyIterator())), ["at 0", "at 1"]);
});

testOnDevices("print() lays a single eager tensor out as TensorFlow.js does", async () => {
  const x = tf.tensor([[1, 2]]);
  assertEquals(await printed(() => (tf.print(x), x.print(), tf.print(x, false))), [
    ...["Tensor\n    [[1, 2],]", "Tensor\n    [[1, 2],]", "Tensor\n    [[1, 2],]"].map((t) =>
      t.replace(",]", "]")
    ),
  ]);
  const [verbose] = await printed(() => tf.print(x, true));
  assertEquals(verbose.split("\n").slice(0, 4), [
    "Tensor",
    "  dtype: float32",
    "  rank: 2",
    "  shape: [1,2]",
  ]);
  assertEquals(await printed(() => tf.print("e", 1, { outputStream: "stderr" }), "error"), ["e 1"]);
  assertEquals(
    await printed(() => tf.print("w", 1, { outputStream: "log(warning)" }), "warn"),
    ["w 1"],
  );
});

Deno.test("print() says what it cannot write", () => {
  assertThrows(() => tf.print("x", { summarize: -2 }), tf.ValueError, "summarize = -2");
  assertThrows(() => tf.print("x", (() => {}) as Any), TypeError, "Cannot print function");
});

testOnDevices("print() survives a GraphDef, under TensorFlow's ops", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [2], "x");
    return tf.print("x:", x, { name: "shown" })!;
  });
  const def = g.sess.graph.toGraphDef();
  assertEquals(def.node.map((n: Any) => n.op), ["Placeholder", "StringFormat", "PrintV2"]);
  await using h = open(() => tf.importGraphDef(def, { prefix: "" }));
  const lines = await printed(() => h.sess.run("shown" as Any, { feeds: { "x:0": [1, 2] } }));
  assertEquals(lines, ["x: [1 2]"]);
});

/** Where values are tapped: what is seen in all, and the result. */
const TAPS: Readonly<Record<string, (look: tf.TapFunction) => Any>> = {
  "eager mode": (look) => {
    for (let i = 0; i < 2; i++) tf.tap(tf.square(tf.tensor([1, 2])), look);
  },
  "a function": async (look) => {
    const f = tf.function((x: tf.Tensor) => tf.sum(tf.tap(tf.square(x), look)));
    for (let i = 0; i < 2; i++) await f.async(tf.tensor([1, 2]));
  },
  "a session": async (look) => {
    await using g = open(() => {
      const x = tf.placeholder("float32", [2], "x");
      return { y: tf.sum(tf.tap(tf.square(x), look)), other: tf.sum(x) };
    });
    const feeds = { "x:0": [1, 2] };
    for (let i = 0; i < 2; i++) await g.sess.run(g.parts.y, { feeds });
    await g.sess.run(g.parts.other, { feeds });
  },
  "a loop": async (look) => {
    const f = tf.function((x: tf.Tensor) =>
      tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 2),
        (i: tf.Tensor) => [tf.add(tf.add(i, 1), tf.mul(0, tf.sum(tf.tap(tf.square(x), look))))],
        [tf.scalar(0)],
      )
    );
    await f.async(tf.tensor([1, 2]));
  },
};

testOnDevices("print() writes ragged and sparse tensors, eagerly and at each run", async () => {
  const show = (n: Any) => {
    const rows = tf.RaggedTensor.fromRowSplits(tf.stack([n, 2, 3]), [0, 1, 3]);
    tf.print({ rows }, new tf.SparseTensor([[0, 1]], tf.stack([n]), [2, 2]));
    return n;
  };
  const text = (n: number) =>
    `{'rows': RaggedTensor(values=[${n} 2 3], rowSplits=[0 1 3])} SparseTensor(indices=[[0 1]], values=[${n}], shape=[2 2])`;
  const f = tf.function(show);
  assertEquals(await printed(() => show(f32(1))), [text(1)]);
  assertEquals(await printed(() => (f(f32(4)), f(f32(5)))), [text(4), text(5)]);
});

testOnDevices("tap() calls its function at each run, and gives the value on", async () => {
  for (const [place, run] of Object.entries(TAPS)) {
    const seen: unknown[] = [];
    await run((v, ctx) => void seen.push(v.toArray(), typeof ctx.node));
    await settled();
    assertEquals(seen, [[1, 4], "string", [1, 4], "string"], place);
    const error = await errorToldOf(() =>
      run(() => {
        throw new RangeError("too much");
      })
    );
    assertEquals([error.constructor, error.message.includes("too much")], [
      tf.errors.InvalidArgumentError,
      true,
    ], place);
  }
});

testOnDevices("gradients of any order pass through tap()", async () => {
  const seen: number[] = [];
  const look = (v: tf.NdArray) => seen.push(Number(v));
  const f = (x: tf.Tensor) => tf.mul(tf.tap(tf.square(x), look), x);
  const third = (g: (x: tf.Tensor) => tf.Tensor) => tf.grad(tf.grad(g as Any) as Any)(tf.scalar(2));
  assertEquals((third(f) as tf.Tensor).item(), 12);
  assertEquals((third(tf.function(f as Any) as Any) as tf.Tensor).item(), 12);
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    return tf.gradients(f(x), [x])[0]!;
  });
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 2 } }), 12);
  assertEquals(new Set(seen), new Set([4]));
});

testOnDevices("tap() leaves the value where it is, and frees what it makes", async () => {
  const f = tf.function((x: tf.Tensor) => tf.sum(tf.tap(x, (v) => (v.data as Any).fill(9))));
  const x = tf.tensor([1, 2]);
  assertEquals((await f.async(x) as tf.Tensor).item(), 3);
  assertEquals(x.arraySync(), [1, 2]);
  await assertFlat(() => tf.tap(x, (v) => (v.data as Any).fill(9)).dispose());
  assertEquals(x.arraySync(), [1, 2]);
  assertThrows(() => tf.tap(x, 3 as Any), tf.ValueError, "Expected fn of tap to be callable");
});
