/** `tf.contrib.framework.pyFunc`: rows M1–M8 of the table in this folder's README. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, assertBoth, errorOf, errorOfBoth, evaluate, open, plain } from "./helpers.ts";

type N = tf.NdArray;
const { pyFunc } = tf.contrib.framework;

testOnDevices("M1 M3 pyFunc() calls its body with args and kwargs as they are nested", async () => {
  const body = (a: N, [b, c]: [N, { d: N }], { e, f }: { e: N; f: N[] }) =>
    [a, b, c.d, e, f[1]].reduce((sum, x, i) => sum + (x.item() as number) * 10 ** i, 0);
  const t = (v: number) => tf.scalar(v);
  await assertBoth(() =>
    pyFunc(body, {
      args: [t(1), [t(2), { d: t(3) }]],
      kwargs: { f: [t(9), t(5)], e: t(4) },
      outputTypes: "float32",
    }), 54321);
  await assertBoth(() => pyFunc(() => 1, { outputTypes: "int32" }), 1);
});

Deno.test("M1 pyFunc() adds PyFunc, or PyFuncStateless with stateful: false, under the name it is given", () => {
  new tf.Graph().asDefault(() => {
    const ops = [undefined, false].map((stateful) =>
      (pyFunc(() => 1, {
        outputTypes: "int32",
        name: "p",
        ...(stateful === undefined ? {} : { stateful }),
      }) as Any).op
    );
    assertEquals(ops.map((o) => [o.type, o.name]), [["PyFunc", "p"], ["PyFuncStateless", "p_1"]]);
  });
});

testOnDevices("M2 args must be a list, kwargs an object", async () => {
  for (
    const [options, text] of [
      [{ args: 3, outputTypes: "int32" }, /args must be list and not 3 of type number\. args: 3/],
      [
        { kwargs: [1], outputTypes: "int32" },
        /kwargs must be dict and not an array of 1\. args: an array of 1/,
      ],
    ] as Any[]
  ) {
    const error = await errorOfBoth(() => pyFunc(() => 1, options));
    assert(error instanceof TypeError);
    assertMatch(error.message, text);
  }
});

testOnDevices("M4 types and shapes may be functions of the arguments", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float64", [null, 3], "x");
    return pyFunc((x: N) => x, {
      args: [x],
      outputTypes: (x: tf.Tensor) => x.dtype,
      outputShapes: (x: tf.Tensor) => x.staticShape,
    }) as tf.Tensor;
  });
  assertEquals([g.parts.dtype, g.parts.staticShape], ["float64", [null, 3]]);
  assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [[1, 2, 3]] } })), [[1, 2, 3]]);
});

const nest = { b: ["float32", "int32"], a: "bool" } as const;

testOnDevices("M5 outputs come in the nest of outputTypes", async () => {
  await assertBoth(() => pyFunc(() => ({ a: true, b: [1, 2] }), { outputTypes: nest }), {
    a: true,
    b: [1, 2],
  });
});

testOnDevices("M5 M7 results of another nest, or another dtype inside it, are errors", async () => {
  const rows: [unknown, RegExp][] = [
    [{ a: true }, /The shallow_tree's keys are not a subset of the input_tree's keys/],
    [{ a: true, b: [1, 2], c: 1 }, /The shallow_tree's keys are not a subset/],
    [
      { a: true, b: { x: 1 } },
      /don't have the same sequence type\. Input structure has type Object, while shallow structure has type Array/,
    ],
    [
      { a: true, b: [1, 2, 3] },
      /don't have the same sequence length\. Input structure has length 3, while shallow structure has length 2/,
    ],
    [
      [1, 2],
      /don't have the same type\. Input structure has type Array, while shallow structure has type Object/,
    ],
    // Keys are sorted: a is output 0, the elements of b are 1 and 2.
    [
      { a: true, b: [new Float64Array([1]), 2] },
      /1-th value returned by pyfunc_\d+ \(b\[0\]\) is double, but expects float/,
    ],
  ];
  for (const [result, text] of rows) {
    const error = await errorOfBoth(() => pyFunc(() => result, { outputTypes: nest }));
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(error.message, text);
  }
});

testOnDevices("M6 shapes map onto the nest of types, survive, and are checked", async () => {
  await using g = open(() =>
    pyFunc(() => ({ a: true, b: [[1, 2], 3] }), {
      outputTypes: nest,
      outputShapes: { a: [], b: [[2], null] },
    }) as Any
  );
  assertEquals([g.parts.a.staticShape, g.parts.b[0].staticShape, g.parts.b[1].staticShape], [[], [
    2,
  ], null]);
  assertEquals(plain(await g.sess.run(g.parts)), { a: true, b: [[1, 2], 3] });
  const error = await errorOf(() =>
    evaluate(() => pyFunc(() => [1], { outputTypes: "float32", outputShapes: [2, 3] }))
  );
  assertMatch(
    error.message,
    /0-th value returned by pyfunc_\d+ has shape \[1\], which is not compatible with the declared shape \[2,3\]/,
  );
});

Deno.test("M8 there must be an output", () => {
  for (const outputTypes of [undefined, null, []]) {
    assertThrows(() => pyFunc(() => 1, { outputTypes } as Any), TypeError);
  }
});

testOnDevices("M8 a list of arrays for a single type is a wrong count", async () => {
  const error = await errorOfBoth(() =>
    pyFunc(() => [new Float32Array(1), new Float32Array(1)], { outputTypes: "float32" })
  );
  assertMatch(error.message, /returns 2 values, but expects to see 1 values/);
});

Deno.test("tf.compat.v2 is tf", () => {
  assertEquals(tf.compat.v2 as unknown, tf);
  assertEquals(tf.compat.v2.pyFunction((x: tf.Tensor) => tf.neg(x), [2], "float32").item(), -2);
});

Deno.test("script functions say that their arguments are no record", () => {
  const given = { func: (x: unknown) => x, inp: [tf.scalar(1)], Tout: "float32" };
  for (const name of ["numpyFunction", "pyFunction"] as const) {
    const f = tf[name] as (given: unknown) => unknown;
    const wanted = `received one object with "func", wanted tf.${name}(func, inp, Tout, options)`;
    assertThrows(() => f(given), TypeError, wanted);
  }
});

Deno.test("a tensor that is used as a number says how its value is read", () => {
  const numbers: Readonly<Record<string, (x: tf.Tensor) => unknown>> = {
    "compared": (x) => (tf.abs(x) as unknown as number) <= 3,
    "multiplied": (x) => (x as unknown as number) * 2,
    "as a number": (x) => Number(x),
  };
  for (const [what, use] of Object.entries(numbers)) {
    const places: readonly [() => unknown, string][] = [
      [() => use(tf.scalar(1)), "read its value by item()"],
      [() => tf.pyFunction((x: tf.Tensor) => use(x), [1], "float32"), "read its value by item()"],
      [() => use(tf.tensor([1, 2])), "read its values by dataSync()"],
      [() => tf.function((x: tf.Tensor) => use(x))(tf.scalar(1)), "no value before the graph runs"],
    ];
    for (const [place, wanted] of places) assertThrows(place, Error, wanted, what);
  }
});
