/** Results of bodies, strings as text, and the rest of a body's context. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, assertBoth, errorOfBoth, open, plain } from "./helpers.ts";

type N = tf.NdArray;

testOnDevices(
  "what a body is given keeps its structure, keys called shape and data among them",
  async () => {
    const both = { shape: tf.scalar(1), data: tf.scalar(2) };
    const given: [Any, (x: Any) => number[], number[]][] = [
      [{ shape: tf.scalar(1), b: tf.scalar(2) }, ({ shape, b }) => [shape.item(), b.item()], [
        1,
        2,
      ]],
      [{ data: tf.scalar(3), a: [tf.scalar(4)] }, ({ data, a }) => [data.item(), a[0].item()], [
        3,
        4,
      ]],
      [both, ({ shape, data }) => [shape.item(), data.item()], [1, 2]],
      // An array of another library, which has a dtype as well, is one tensor.
      [{ shape: [2], dtype: "float32", data: F(5, 6) }, (x: N) => x.toArray() as number[], [5, 6]],
    ];
    for (const [value, read, wanted] of given) {
      await assertBoth(() => tf.numpyFunction((x: Any) => read(x), [value], "float32"), wanted);
    }
  },
);

const F = (...v: number[]) => Float32Array.from(v);
const I = (...v: number[]) => Int32Array.from(v);
const spec = tf.TensorSpec;

/** The result of a body, its declaration, and the expected value. */
const FORMS: readonly (readonly [string, (ctx: tf.ScriptContext) => unknown, Any, unknown])[] = [
  ["rows as typed arrays", () => [F(1, 2), F(3, 4)], spec([2, 2], "float32"), [[1, 2], [3, 4]]],
  ["rows as typed arrays of any number", () => [I(1), I(2)], spec([null, 1], "int32"), [[1], [2]]],
  ["{ shape, data } of a typed array", () => ({ shape: [2, 1], data: F(1, 2) }), "float32", [
    [1],
    [2],
  ]],
  ["{ shape, data } of numbers", () => ({ shape: [1, 2], data: [1, 2] }), "int32", [[1, 2]]],
  ["{ shape, data } of bigints", () => ({ shape: [1], data: [1n] }), "int64", [1n]],
  ["{ shape, data } of strings", () => ({ shape: [2, 1], data: ["ä", "b"] }), "string", [
    ["ä"],
    ["b"],
  ]],
  ["{ shape, data } of bytes for bool", () => ({ shape: [2], data: Uint8Array.of(1, 0) }), "bool", [
    true,
    false,
  ]],
  ["{ shape, data } of rank 0", () => ({ shape: [], data: F(3) }), "float32", 3],
  ["{ shape, data } in a list", () => [{ shape: [0, 4], data: F() }, I()], ["float32", "int32"], [
    [],
    [],
  ]],
  ["{ shape, data } for a list of one", () => ({ shape: [1], data: F(1) }), ["float32"], [[1]]],
  ["outputs that are named shape and data", () => ({ shape: I(1), data: F(2) }), {
    shape: "int32",
    data: "float32",
  }, { shape: [1], data: [2] }],
  ["a flat typed array", () => F(1, 2, 3, 4), spec([2, 2], "float32"), [[1, 2], [3, 4]]],
  ["a flat typed array of no elements", () => F(), spec([0, 2], "float32"), []],
  ["a flat typed array of rank 0", () => F(7), spec([], "float32"), 7],
  ["an empty list", () => [], spec([null, 4], "float32"), []],
  ["several of unknown length", () => [[[1, 2, 3, 4]], F(9), ["a"]], [
    spec([null, 4], "float32"),
    spec([null], "float32"),
    spec([null], "string"),
  ], [[[1, 2, 3, 4]], [9], ["a"]]],
  ["several of unknown length, empty", () => [[], F(), []], [
    spec([null, 4], "float32"),
    spec([null], "float32"),
    spec([null], "string"),
  ], [[], [], []]],
  ["ctx.array of a typed array", (ctx) => ctx.array([2, 1], I(1, 2)), "int32", [[1], [2]]],
  ["ctx.array of numbers", (ctx) => ctx.array([2, 1], [1, 2]), "int32", [[1], [2]]],
  ["ctx.array of numbers for int64", (ctx) => ctx.array([1], [1]), "int64", [1n]],
  ["ctx.array of numbers for bool", (ctx) => ctx.array([2], [1, 0]), "bool", [true, false]],
  ["ctx.array of bytes for bool", (ctx) => ctx.array([2], Uint8Array.of(1, 0)), "bool", [
    true,
    false,
  ]],
  ["ctx.array of strings", (ctx) => ctx.array([1, 2], ["é", ""]), "string", [["é", ""]]],
  ["ctx.array of another dtype", (ctx) => [ctx.array([1], [1], "int32"), ctx.array([1], [2])], [
    "int32",
    "float32",
  ], [[1], [2]]],
];

testOnDevices("numpyFunction() takes results in any honest form", async () => {
  for (const [name, body, tout, expected] of FORMS) {
    try {
      await assertBoth(() => tf.numpyFunction((_: N, ctx: Any) => body(ctx), [1], tout), expected);
    } catch (e) {
      throw new Error(name, { cause: e });
    }
  }
});

testOnDevices("pyFunction() takes results in any honest form", async () => {
  for (const [name, body, tout, expected] of FORMS) {
    try {
      await assertBoth(
        () => tf.pyFunction((_: tf.Tensor, ctx: Any) => body(ctx), [1], tout),
        expected,
      );
    } catch (e) {
      throw new Error(name, { cause: e });
    }
  }
});

testOnDevices(
  "of several results the one that does not fit is named by its place and key",
  async () => {
    const Tout = { boxes: spec([null, 4]), more: [{ label: "int32" }, "float32"] } as const;
    const good = { boxes: [], more: [{ label: 1 }, 2] };
    const cases: [unknown, RegExp][] = [
      [{ ...good, boxes: F(1, 2) }, /^0-th value returned by pyfunc_\d+ \(boxes\) has shape \[2\]/],
      [
        { ...good, more: [{ label: F(1) }, 2] },
        /^1-th value returned by pyfunc_\d+ \(more\[0\]\.label\) is float/,
      ],
      [
        { ...good, more: [{ label: 1 }, I(1)] },
        /^2-th value returned by pyfunc_\d+ \(more\[1\]\) is int32/,
      ],
    ];
    for (const [result, message] of cases) {
      const e = await errorOfBoth(() => tf.numpyFunction(() => result, [], Tout).more[1]);
      assertMatch(e.message, message);
    }
  },
);

testOnDevices("results that are no arrays are refused by name", async () => {
  const cases: [() => unknown, RegExp][] = [
    [function* () {
      yield 1;
    }, /Unsupported object type Generator: return a list of what it iterates over/],
    [() => new Set([1]), /Unsupported object type Set: return a list/],
    [() => new Date(0), /Unsupported object type Date$/m],
    [
      () => ({ boxes: 1, scores: 2 }),
      /Unsupported object type Object: its keys are boxes, scores, where Tout wants a list of 2/,
    ],
  ];
  for (const [i, [body, message]] of cases.entries()) {
    const Tout = i < 3 ? "float32" : ["float32", "float32"];
    const e = await errorOfBoth(() => [tf.numpyFunction(body, [1], Tout as "float32")].flat()[0]);
    assert(e instanceof tf.errors.InternalError, `${e}`);
    assertMatch(e.message, message);
  }
});

/** The array, whose elements another thread has now. */
function sent<A extends Float32Array | N>(array: A): A {
  const { buffer } = array instanceof tf.NdArray ? array.data as Float32Array : array;
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  return array;
}

testOnDevices("results whose buffer was transferred are refused", async () => {
  const bodies: Record<string, (x: N) => unknown> = {
    "a typed array": () => sent(F(1, 2)),
    "an array": (x) => sent(x.map((v) => 2 * Number(v))),
    "an input": (x) => sent(x),
    "an output among others": () => [sent(F(1, 2)), 1],
  };
  for (const [name, body] of Object.entries(bodies)) {
    const Tout = name.endsWith("others") ? ["float32", "float32"] : "float32";
    for (const script of [tf.numpyFunction, tf.pyFunction] as Any[]) {
      if (script === tf.pyFunction && name.startsWith("an ") && !name.endsWith("others")) continue;
      const e = await errorOfBoth(() => [script(body, [tf.constant([3, 4])], Tout)].flat()[0]);
      assert(e instanceof tf.errors.InvalidArgumentError, `${name}: ${e}`);
      assertMatch(e.message, /0-th value returned by \w+ is detached: its buffer was transferred/);
    }
  }
});

testOnDevices("errors name the class of a value whose class has no name", async () => {
  const e = await errorOfBoth(() =>
    tf.pyFunction(
      function* () {
        yield 1;
      } as Any,
      [1],
      "float32",
    )
  );
  assertMatch(e.message, /convert a value \(a value of type Generator\)/);
});

const REFUSED: readonly (readonly [(ctx: tf.ScriptContext) => unknown, Any, RegExp])[] = [
  [() => ({ shape: [3], data: F(1) }), "float32", /has shape \[3\] and 1 elements: its shape must/],
  [() => ({ shape: [-1], data: F(1) }), "float32", /has shape \[-1\] and 1 elements/],
  [() => ({ shape: [1], data: F(1) }), "int32", /is float, but expects int32/],
  [() => ({ shape: [1], data: Uint8Array.of(1) }), "int32", /is uint8, but expects int32/],
  [() => ({ shape: [1], data: [0.5] }), "int32", /must fit int32/],
  [
    () => ({ shape: [1], data: F(1) }),
    spec([2], "float32"),
    /not compatible with the declared shape/,
  ],
  [() => [{ shape: [1], data: F(1) }, { shape: [1], data: F(1) }], "float32", /returns 2 values/],
  [() => F(1, 2, 3), spec([2, 2], "float32"), /has shape \[3\]/],
  [() => F(1, 2, 3, 4), spec([null, 2], "float32"), /has shape \[4\]/],
  [() => [1, 2, 3, 4], spec([2, 2], "float32"), /has shape \[4\]/],
  [() => [], spec([2], "float32"), /has shape \[0\]/],
  [(ctx) => ctx.array([3], [1]), "float32", /Cannot make an array of shape \[3\]/],
  [(ctx) => ctx.array([3], undefined as Any), "float32", /Cannot make an array of undefined/],
  [(ctx) => ctx.array([3], 5 as Any), "float32", /array of 5 of type number: wanted its elements/],
  [(ctx) => ctx.array([1], [1], "f32" as Any), "float32", /"f32" to a TensorFlow DType/],
  [() => [F(1, 2), F(3)], spec([2, 2], "float32"), /ragged nested array/],
  [() => [F(1), F(2)], spec([2], "float32"), /returns 2 values/],
  [() => [F(1), F(2)], "float32", /returns 2 values/],
  [(ctx) => ctx.array([0.5], []), "float32", /wanted non-negative integers/],
];

testOnDevices("numpyFunction() refuses results whose shape, size or dtype differs", async () => {
  for (const [body, tout, message] of REFUSED) {
    const e = await errorOfBoth(() => tf.numpyFunction((_: N, ctx: Any) => body(ctx), [1], tout));
    assert(e instanceof tf.errors.InvalidArgumentError, `${e}`);
    assertMatch(e.message, message);
  }
});

testOnDevices("results in memory of the body are copied in a graph", async () => {
  const mine = F(1, 2);
  await using g = open(() => [
    tf.numpyFunction(() => ({ shape: [2], data: mine }), [], "float32"),
    tf.numpyFunction(() => mine, [], spec([2, 1], "float32")),
  ]);
  const [a, b] = await g.sess.run(g.parts) as N[];
  mine.fill(0);
  assertEquals([plain(a), plain(b)], [[1, 2], [[1], [2]]]);
});

testOnDevices("text() and strings() read string arrays, and strings go back as UTF-8", async () => {
  const words = [["tea", "süß"], ["", "日本"]];
  await assertBoth(
    () => tf.numpyFunction((x: N) => x.strings().map((s) => s.length), [words], "int32"),
    [3, 3, 0, 2],
  );
  await assertBoth(
    () => tf.numpyFunction((x: N) => x.text().toUpperCase(), ["süß"], "string"),
    "SÜSS",
  );
  await assertBoth(
    () =>
      tf.numpyFunction(
        (x: N) => ({ shape: [4], data: x.strings().map((s) => `${s}!`) }),
        [words],
        "string",
      ),
    ["tea!", "süß!", "!", "日本!"],
  );
});

Deno.test("text() and strings() say what they cannot read", () => {
  const two = new tf.NdArray("string", [2], [Uint8Array.of(0xff), new Uint8Array()]);
  assertEquals(two.strings(), ["\ufffd", ""]);
  assertThrows(
    () => two.text(),
    tf.ValueError,
    "Cannot take text() of an array of shape [2]: it must hold exactly one string, take strings()",
  );
  assertThrows(
    () => tf.NdArray.zeros("uint8", []).text(),
    TypeError,
    "Cannot take text() of an array of dtype uint8: it must hold strings",
  );
  assertThrows(() => tf.NdArray.zeros("float32", [1]).strings(), TypeError, "strings()");
});

Deno.test("String(elementSpec) writes records and lists", () => {
  const x = tf.zeros([4, 2]), y = tf.zeros([4], "int32");
  const specs = (slices: Any): Any => tf.data.fromTensorSlices(slices).elementSpec;
  const CASES: readonly (readonly [unknown, string])[] = [
    [x, "float32[2]"],
    [{ x, y }, "{x: float32[2], y: int32[]}"],
    [[x, y], "[float32[2], int32[]]"],
    [{ deep: [x, { y }] }, "{deep: [float32[2], {y: int32[]}]}"],
  ];
  for (const [slices, text] of CASES) assertEquals(`${specs(slices)}`, text);
  assertEquals(Object.keys(specs({ x, y })), ["x", "y"]);
  assertEquals(`${specs({ x, y }).x}`, "float32[2]");
});

testOnDevices("numbers that are too large for a dtype are refused, infinity is not", async () => {
  const most: Record<string, number> = { float32: 1e39, bfloat16: 1e39, float16: 70_000 };
  for (const [dtype, large] of Object.entries(most)) {
    const of = (values: number[]) => () =>
      tf.cast(tf.numpyFunction(() => values, [], dtype as "float32") as tf.Tensor, "float32");
    const error = await errorOfBoth(of([1, large]));
    assertMatch(
      error.message,
      new RegExp(`Cannot convert ${large}.* to ${dtype}: it is out of range`.replace("+", ".")),
    );
    await assertBoth(of([Infinity, 5, -Infinity]), [Infinity, 5, -Infinity]);
    await assertBoth(of([5, -6]), [5, -6]);
  }
});
