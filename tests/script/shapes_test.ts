/** Static shapes of script ops: rows E1–E9. They survive, reach later ops, and are checked. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, errorOf, errorOfBoth, evaluate, open, plain } from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;
const CALLS: readonly (readonly [string, (f: Any, inp: Any, tout: Any, options?: Any) => T])[] = [
  ["numpyFunction", tf.numpyFunction as Any],
  ["pyFunction", tf.pyFunction as Any],
];

testOnDevices(
  "E1 without a declared shape an output has unknown rank, and still computes",
  async () => {
    for (const [, call] of CALLS) {
      await using g = open(() => {
        const y = call((x: Any) => x, [tf.placeholder("float32", [2], "x")], "float32");
        return { y, double: tf.mul(y, 2), flat: tf.reshape(y, [-1]) };
      });
      const { y, double, flat } = g.parts;
      assertEquals([y.staticShape, double.staticShape, flat.staticShape], [null, null, [null]]);
      assertThrows(
        () => y.shape,
        tf.ValueError,
        "as_list() is not defined on an unknown TensorShape",
      );
      assertThrows(
        () => y.rank,
        tf.ValueError,
        "Cannot take the length of shape with unknown rank",
      );
      assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [1, 2] } })), {
        y: [1, 2],
        double: [2, 4],
        flat: [1, 2],
      });
    }
  },
);

Deno.test("E2 setShape() merges, and refuses what conflicts", () => {
  new tf.Graph().asDefault(() => {
    const y = tf.numpyFunction((x: N) => x, [1], "float32");
    y.setShape([null]);
    assertEquals(y.staticShape, [null]);
    y.setShape([3]);
    y.setShape(null);
    assertEquals(y.staticShape, [3]);
    assertThrows(
      () => y.setShape([4]),
      tf.ValueError,
      "Dimension 0 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4]",
    );
    assertThrows(
      () => y.setShape([3, 1]),
      tf.ValueError,
      "Shapes must be equal rank, but are 1 and 2",
    );
  });
  using x = tf.tensor([1, 2]);
  assertThrows(
    () => x.setShape([3]),
    tf.ValueError,
    "Tensor's shape (2,) is not compatible with supplied shape (3,)",
  );
});

testOnDevices(
  "E3 a promise made with setShape() is checked, also where only the shape is asked for",
  async () => {
    for (const [, call] of CALLS) {
      await using g = open(() => {
        const y = call((x: Any) => x, [tf.placeholder("float32", null, "x")], "float32", {
          name: "script",
        });
        y.setShape([3]);
        return { y, shape: tf.shape(y), double: tf.mul(y, 2) };
      });
      assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [1, 2, 3] } })), {
        y: [1, 2, 3],
        shape: [3],
        double: [2, 4, 6],
      });
      for (const part of Object.values(g.parts)) {
        const error = await errorOf(() => g.sess.run(part, { feeds: { "x:0": [1, 2] } }));
        assert(error instanceof tf.errors.InvalidArgumentError);
        assertMatch(
          error.message,
          /Shape of output 0 of script is \[2\], which is not compatible with the declared shape \[3\]/,
        );
        assertEquals(error.node, "script");
      }
    }
  },
);

testOnDevices("E3 a promise made after a run is checked by the next", async () => {
  await using g = open(() =>
    tf.numpyFunction((x: N) => x, [tf.placeholder("float32", null, "x")], "float32")
  );
  const feeds = { "x:0": [1, 2] };
  assertEquals(plain(await g.sess.run(g.parts, { feeds })), [1, 2]);
  g.parts.setShape([3]);
  assertMatch(
    (await errorOf(() => g.sess.run(g.parts, { feeds }))).message,
    /not compatible with the declared shape \[3\]/,
  );
});

testOnDevices("E4 ensureShape() checks and names what it got", async () => {
  const error = await errorOf(() =>
    evaluate(() => tf.ensureShape(tf.numpyFunction(() => [1, 2], [], "float32"), [3]))
  );
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /Shape of tensor \[2\] is not compatible with expected shape \[3\]/);
});

Deno.test("E6 static shapes are written to the GraphDef and come back", () => {
  const body = tf.registerScript("weft.tests.shapes.e6@1", (x: N) => x);
  const a = new tf.Graph();
  a.asDefault(() =>
    tf.numpyFunction(body, [1], tf.TensorSpec([null, 3], "float32"), { name: "s" })
  );
  const b = new tf.Graph();
  b.asDefault(() => tf.importGraphDef(JSON.parse(JSON.stringify(a.toGraphDef())), { prefix: "" }));
  assertEquals(b.getTensorByName("s:0").staticShape, [null, 3]);
});

testOnDevices("E7 declared shapes reach later ops", async () => {
  for (const [, call] of CALLS) {
    await using g = open(() => {
      const y = call(
        (x: Any) => x,
        [tf.placeholder("float32", null, "x")],
        tf.TensorSpec([2, 3], "float32"),
      );
      const m = tf.matMul(y, tf.ones([3, 4]));
      const parts = tf.unstack(y);
      const [, v] = tf.whileLoop((i: T) => tf.less(i, 2), (i: T, v: T) => [
        tf.add(i, 1),
        call((x: Any) => x, [v], tf.TensorSpec([2, 3], "float32")),
      ], [tf.constant(0), y]);
      return { y, m, first: parts[0], v };
    });
    const shapes = Object.fromEntries(Object.entries(g.parts).map(([k, t]) => [k, t.staticShape]));
    assertEquals(shapes, { y: [2, 3], m: [2, 4], first: [3], v: [2, 3] });
    const x = [[1, 2, 3], [4, 5, 6]];
    assertEquals(plain(await g.sess.run(g.parts.v, { feeds: { "x:0": x } })), x);
  }
});

testOnDevices("E8 a TensorSpec in Tout is kept, and checked in graphs and eagerly", async () => {
  for (const [, call] of CALLS) {
    const error = await errorOfBoth(() => call(() => [1, 2], [], tf.TensorSpec([3], "float32")));
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(
      error.message,
      /0-th value returned by pyfunc_\d+ has shape \[2\], which is not compatible with the declared shape \[3\]/,
    );
    const rank = await errorOfBoth(() =>
      call(() => [1, 1], [], [tf.TensorSpec([null, null], "float32"), "float32"])
    );
    assertMatch(
      rank.message,
      /0-th value returned by .* has shape \[\], which is not compatible with the declared shape \[\?,\?\]/,
    );
  }
});

testOnDevices(
  "E8 shapeFn computes shapes from input specs, and is checked with the actual ones",
  async () => {
    for (const [, call] of CALLS) {
      const pairs = (shape: tf.TensorSpec["shape"]) => shape && [...shape, 2];
      const shapeFn = (x: tf.TensorSpec) => pairs(x.shape);
      const twice = (x: Any) => {
        const a = x instanceof tf.Tensor ? x.ndarraySync() : x;
        return new tf.NdArray(
          "float32",
          [...a.shape, 2],
          Float32Array.from({ length: a.size * 2 }, (_, i) => a.data[i >> 1]),
        );
      };
      await using g = open(() => {
        const x = tf.placeholder("float32", [null], "x");
        return {
          good: call(twice, [x], "float32", { shapeFn }),
          bad: call(() => [[1, 2]], [x], "float32", { shapeFn, name: "bad" }),
        };
      });
      assertEquals(g.parts.good.staticShape, [null, 2]);
      assertEquals(plain(await g.sess.run(g.parts.good, { feeds: { "x:0": [1, 2] } })), [[1, 1], [
        2,
        2,
      ]]);
      assertEquals(plain(await g.sess.run(g.parts.bad, { feeds: { "x:0": [7] } })), [[1, 2]]);
      const error = await errorOf(() => g.sess.run(g.parts.bad, { feeds: { "x:0": [1, 2] } }));
      assertMatch(
        error.message,
        /has shape \[1,2\], which is not compatible with the declared shape \[2,2\]/,
      );
      assertMatch(
        (await errorOf(() => call(() => [[1, 2]], [[1, 2, 3]], "float32", { shapeFn }))).message,
        /declared shape \[3,2\]/,
      );
    }
  },
);

Deno.test("E8 shapeFn may return specs, and is held to what Tout declares", () => {
  new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [null, 4]);
    const make = (shapeFn: Any, tout: Any = ["float32", "int32"]) =>
      tf.numpyFunction(() => [1, 1], [x], tout, { shapeFn }) as Any;
    const [a, b] = make((s: tf.TensorSpec) => [tf.TensorSpec(s.shape, "float32"), null]);
    assertEquals([a.staticShape, b.staticShape], [[null, 4], null]);
    assertThrows(() => make(() => [[1]]), tf.ValueError, "returned 1 shapes, wanted 2");
    assertThrows(
      () => make(() => [tf.TensorSpec([1], "int32"), null]),
      tf.ValueError,
      "returned dtype int32 for output 0, which Tout declares float32",
    );
    assertThrows(
      () => make(() => [[3], [3]], [tf.TensorSpec([2], "float32"), "int32"]),
      tf.ValueError,
      "Dimension 0 in both shapes must be equal",
    );
  });
});

testOnDevices("E9 gradients have the static shape of their inputs, and keep to it", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [2, 2], "x"),
      unused = tf.placeholder("float32", [2, 3], "u");
    const y = tf.pyFunction((x: T) => tf.square(x), [x, unused], "float32");
    const [dx, du] = tf.gradients(y, [x, unused]);
    return { dx: dx!, du: du!, product: tf.matMul(dx!, du!) };
  });
  assertEquals([g.parts.dx.staticShape, g.parts.du.staticShape, g.parts.product.staticShape], [
    [2, 2],
    [2, 3],
    [2, 3],
  ]);
  assertEquals(
    plain(
      await g.sess.run(g.parts, {
        feeds: { "x:0": [[1, 2], [3, 4]], "u:0": [[1, 1, 1], [1, 1, 1]] },
      }),
    ),
    { dx: [[2, 4], [6, 8]], du: [[0, 0, 0], [0, 0, 0]], product: [[0, 0, 0], [0, 0, 0]] },
  );
});

testOnDevices("E8 what shapeFn returns beside shapes and specs is refused by name", async () => {
  const odd = [
    undefined,
    3,
    "2",
    {},
    [1.5],
    [-1],
    () => [1],
    Promise.resolve([1]),
    Symbol("shape"),
  ];
  for (const given of odd) {
    const shapeFn = () => given;
    for (const [, call] of CALLS) {
      const build = () => call((x: Any) => x, [tf.constant([1])], "float32", { shapeFn });
      for (const run of [() => evaluate(build), () => tf.tidy(() => void build())]) {
        assertMatch((await errorOf(run)).message, /shapeFn of pyfunc_\d+ returned .* wanted/);
      }
    }
  }
  for (const options of [{ shapeFn: 3 }, { vjp: "x" }] as Any[]) {
    const error = await errorOfBoth(() => tf.numpyFunction((x: Any) => x, [1], "float32", options));
    assertMatch(error.message, /Argument '(shapeFn|vjp)' passed to .* must be a function/);
  }
});
