/** Assertions and checks of numbers, in eager code, functions and sessions. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { fileName, testOnDevices } from "../devices.ts";
import {
  type Any,
  assertFlat,
  errorOf,
  errorToldOf,
  open,
  settled,
  testAwaited,
} from "../script/helpers.ts";

const d = tf.debugging;
const I = (...v: number[]) => tf.tensor1d(v, "int32");
const { InvalidArgumentError } = tf.errors;

/** An assertion with what it takes and what it does not, and the error's text in a graph as in eager code. */
const CLAIMS: readonly (readonly [(x: tf.Tensor) => unknown, number[], number[], string])[] = [
  [
    (x) => d.assertEqual(x, I(1, 3)),
    [1, 3],
    [1, 2],
    "[Condition x == y did not hold element-wise:] [x = ] [1 2] [y = ] [1 3]",
  ],
  [
    (x) => d.assertEqual(x, 3, { message: "hm" }),
    [3, 3],
    [1, 3],
    "[hm] [Condition x == y did not hold element-wise:] [x = ] [1 3] [y = ] [3]",
  ],
  [(x) => d.assertNoneEqual(x, I(1, 3)), [2, 2], [1, 2], "[Condition x != y did not"],
  [(x) => d.assertLess(x, I(1, 3)), [0, 2], [1, 2], "[Condition x < y did not"],
  [(x) => d.assertLessEqual(x, I(1, 3)), [1, 3], [2, 3], "[Condition x <= y did not"],
  [(x) => d.assertGreater(x, I(1, 3)), [2, 4], [1, 4], "[Condition x > y did not"],
  [(x) => d.assertGreaterEqual(x, I(1, 3)), [1, 3], [1, 2], "[Condition x >= y did not"],
  [
    (x) => d.assertPositive(x),
    [1, 2],
    [0, 1],
    "[Condition x > 0 did not hold element-wise:] [x = ] [0 1]",
  ],
  [(x) => d.assertNegative(x), [-1, -2], [-1, 0], "[Condition x < 0 did not"],
  [(x) => d.assertNonNegative(x), [0, 1], [-1, 0], "[Condition x >= 0 did not"],
  [(x) => d.assertNonPositive(x), [0, -1], [0, 1], "[Condition x <= 0 did not"],
  [
    (x) => d.assert(tf.all(tf.greater(x, 1)), ["x is", x], { summarize: 1 }),
    [2, 3],
    [1, 2, 3],
    "[x is] [1...]",
  ],
];

testOnDevices("assertions hold or fail with TensorFlow's text, in every mode", async () => {
  for (const [claim, good, bad, text] of CLAIMS) {
    const body = (x: tf.Tensor) => {
      claim(x);
      return tf.add(x, 1);
    };
    const f = tf.function(body);
    await using g = open(() => {
      const x = tf.placeholder("int32", null, "x");
      return tf.controlDependencies([claim(x) as tf.Operation], () => tf.add(x, 1));
    });
    const MODES: Readonly<Record<string, (v: number[]) => unknown>> = {
      eager: (v) => body(I(...v)),
      "function": (v) => f.async(I(...v)),
      session: (v) => g.sess.run(g.parts, { feeds: { "x:0": v } }),
    };
    for (const [mode, run] of Object.entries(MODES)) {
      await run(good);
      const error = await errorOf(() => run(bad));
      assert(error instanceof InvalidArgumentError, `${mode}: ${error}`);
      // In a graph the values have names.
      const name = error.message.replace(/\[([xy]) \([\w/]+:0\) = /g, "[$1 = ");
      assert(name.includes(`assertion failed: ${text}`), `${mode}: ${error.message}`);
    }
  }
});

testOnDevices("a function that need not wait fails at once", () => {
  const f = tf.function((x: tf.Tensor) => {
    d.assertEqual(tf.sum(x), 1, { message: "no distribution" });
    return tf.log(x);
  });
  assertThrows(() => f(tf.tensor([0.5, 1])), InvalidArgumentError, "[no distribution] [Condition");
});

testOnDevices("assertNear() has TensorFlow's tolerances", () => {
  const x = tf.tensor([1, 2]);
  d.assertNear(x, [1, 2 + 1e-6]);
  d.assertNear(x, [1.1, 2], { atol: 0.2 });
  d.assertNear(x, [1, 2.1], { rtol: 0.1, atol: 0 });
  assertThrows(
    () => d.assertNear(x, [1, 2.1]),
    InvalidArgumentError,
    "x and y not equal to tolerance rtol = 0.0000011920928955078125",
  );
});

testOnDevices("a failed assertion names its node and the line that made it", async () => {
  const f = tf.function((x: tf.Tensor) => {
    d.assertLess(x, 1, { name: "small" });
    return x;
  });
  const error = await errorOf(() => f.async(tf.scalar(2)));
  assertEquals([error.node, error.op], ["small", "Assert"]);
  assertStringIncludes(error.message, fileName(import.meta.url));
});

testOnDevices("gradients pass beside assertions, which run in loops and mapFn too", async () => {
  const f = tf.function((x: tf.Tensor) => {
    d.assertPositive(x);
    return tf.square(x);
  });
  assertEquals((tf.grad(f as Any)(tf.scalar(3)) as tf.Tensor).item(), 6);
  const g = tf.function((x: tf.Tensor) => tf.mapFn((v: Any) => f(v) as tf.Tensor, x));
  const y = await g.async(tf.tensor([1, 2])) as tf.Tensor;
  assertEquals(y.arraySync(), [1, 4]);
  assert(await errorOf(() => g.async(tf.tensor([1, -1]))) instanceof InvalidArgumentError);
});

/** Assertions about types and shapes, which need no run. */
const STATIC: readonly (readonly [() => unknown, Any, string])[] = [
  [() => d.assertType(I(1), "float32"), TypeError, "tensor must be of type float32; got int32"],
  [
    () => d.assertType(I(1), "float32", { message: "hm" }),
    TypeError,
    "hm tensor must be of type",
  ],
  [
    () => d.assertInteger(tf.scalar(1)),
    TypeError,
    "to be integer type. Found: tensor of dtype float32",
  ],
  [
    () => d.assertSameFloatDtype([tf.scalar(1), tf.constant(1, "float64")]),
    tf.ValueError,
    "Tensor 1 of dtype float64 must be of the same type (float32)",
  ],
  [() => d.assertSameFloatDtype([I(1)]), tf.ValueError, "Expected floating point type, got int32"],
  [() => d.assertRank(I(1), 2), tf.ValueError, "must have rank 2. Received rank 1, shape [1]"],
  [() => d.assertRankAtLeast(I(1), 2), tf.ValueError, "must have rank at least 2. Received rank 1"],
  [() => d.assertRankIn(I(1), [2, 3]), tf.ValueError, "must have rank in [2,3]. Received rank 1"],
  [() => d.assertScalar(I(1)), tf.ValueError, "must have rank 0. Received rank 1"],
  [
    () => d.assertShapes([[I(1, 2), ["N"]], [I(1, 2, 3), ["N"]]]),
    tf.ValueError,
    'Shape of tensor 1: dimension 0 ("N") must have size 2, as dimension 0 of tensor 0 has. Received size 3, shape [3]',
  ],
  [
    () => d.assertShapes([[tf.zeros([2, 3, 4]), ["...", "C", 4]], [I(1, 2), ["C"]]]),
    tf.ValueError,
    'dimension 0 ("C") must have size 3, as dimension -2 of tensor 0 has',
  ],
  [() => d.assertShapes([[I(1), ["a", "..."]], [I(1), [1, 1]]]), tf.ValueError, "must have rank 2"],
  [() => d.assertShapes([[I(1), ["a", "...", "b"]]]), tf.ValueError, '"..." must stand at'],
];

Deno.test("assertions about types and shapes fail at once", () => {
  for (const [claim, Class, text] of STATIC) {
    assertThrows(claim, Class, text);
    const error = assertThrows(() => new tf.Graph().asDefault(claim), Class) as Error;
    assertStringIncludes(error.message.replace(/ Const\w*:0/, ""), text);
  }
  d.assertType(I(1), "int32");
  d.assertInteger(I(1));
  assertEquals(d.assertSameFloatDtype([tf.scalar(1)]), "float32");
  d.assertRankIn(I(1), [1, 2]);
  d.assertShapes([[tf.zeros([2, 3, 4]), ["N", "..."]], [tf.zeros([4, 2]), [null, "N"]]]);
});

testOnDevices(
  "assertions about shapes that a graph does not know are made at each run",
  async () => {
    const f = tf.function((x: tf.Tensor, y: tf.Tensor) => {
      d.assertShapes([[x, ["N", 3]], [y, ["...", "N"]]]);
      d.assertRankIn(y, [1, 2]);
      return tf.sum(x);
    }, { inputSignature: [tf.TensorSpec(null, "float32"), tf.TensorSpec(null, "float32")] });
    const run = async (x: number[], y: number[]) =>
      (await f.async(tf.ones(x), tf.ones(y)) as tf.Tensor).item();
    assertEquals(await run([2, 3], [2]), 6);
    assertEquals(await run([2, 3], [5, 2]), 6);
    const WRONG: readonly (readonly [number[], number[], RegExp])[] = [
      [[2], [2], /must have rank 2/],
      [[2, 4], [2], /Dimension 1 of tensor 0 must have size\] \[3\]/],
      [[2, 3], [5], /Dimension -1 \("N"\) of tensor 1 must have size\] \[2\]/],
      [[2, 3], [1, 1, 2], /must have rank in \[1,2\]/],
    ];
    for (const [x, y, text] of WRONG) assertMatch((await errorOf(() => run(x, y))).message, text);
  },
);

testOnDevices(
  "checkNumerics() gives finite numbers on and names others, in every mode",
  async () => {
    const CASES: readonly (readonly [number[], string | null])[] = [
      [[1, 2], null],
      [[1, NaN], "NaN"],
      [[Infinity, 2], "Inf"],
      [[-Infinity, NaN], "Inf and NaN"],
    ];
    const f = tf.function((x: tf.Tensor) => tf.add(d.checkNumerics(tf.mul(x, 1), "hm"), 1));
    await using g = open(() => {
      const x = tf.placeholder("float32", [2], "x");
      return tf.add(d.checkNumerics(tf.mul(x, 1), "hm"), 1);
    });
    for (const [values, what] of CASES) {
      const MODES: Readonly<Record<string, () => Any>> = {
        eager: () => tf.add(d.checkNumerics(tf.tensor(values), "hm"), 1).arraySync(),
        "function": async () => (await f.async(tf.tensor(values)) as tf.Tensor).arraySync(),
        session: async () =>
          (await g.sess.run(g.parts, { feeds: { "x:0": values } }) as tf.NdArray).toArray(),
      };
      for (const [mode, run] of Object.entries(MODES)) {
        if (what === null) {
          assertEquals(await run(), values.map((v) => v + 1), mode);
          continue;
        }
        const error = await errorOf(run);
        assert(error instanceof InvalidArgumentError, mode);
        assert(
          error.message.includes(`hm : Tensor had ${what} values`),
          `${mode} ${error.message}`,
        );
      }
    }
  },
);

testOnDevices(
  "checkNumerics() checks its gradient, frees its tensors, and refuses integers",
  async () => {
    const f = (x: tf.Tensor) => tf.sqrt(d.checkNumerics(x, "root"));
    assertEquals((tf.grad(f as Any)(tf.scalar(4)) as tf.Tensor).item(), 0.25);
    const error = await errorOf(() => tf.grad(f as Any)(tf.scalar(0)));
    assertMatch(
      error.message,
      /infinity \(Inf\) values detected in gradient. root : Tensor had Inf/,
    );
    const x = tf.tensor([1, 2]);
    const g = tf.function(f as Any) as Any;
    g(x).dispose();
    await assertFlat(() => d.checkNumerics(x, "a").dispose());
    await assertFlat(() => g(x).dispose());
    assertThrows(() => d.checkNumerics(I(1), "a"), TypeError);
  },
);

testOnDevices("a check on the GPU reads one boolean", async (device) => {
  const f = tf.function((x: tf.Tensor) => tf.add(d.checkNumerics(tf.mul(x, 2), "hm"), 1));
  const x = tf.ones([64, 64]);
  (await f.async(x) as tf.Tensor).dispose();
  const { bytesToHost, readbacks } = await tf.profile(async () =>
    (await f.async(x) as tf.Tensor).dispose()
  ) as Any;
  assert(bytesToHost <= (device === "cpu" ? 0 : 16), `${bytesToHost}`);
  assertEquals(readbacks, device === "cpu" ? 0 : 1);
});

/** Runs with all ops watched. */
async function watched<R>(fn: () => R | Promise<R>): Promise<R> {
  d.enableCheckNumerics();
  try {
    return await fn();
  } finally {
    d.disableCheckNumerics();
  }
}

testOnDevices("enableCheckNumerics() names the op and the line, in every mode", async () => {
  const body = (x: tf.Tensor) => tf.mul(tf.add(tf.sqrt(x), 1), 2);
  const f = tf.function(body);
  const nested = tf.function((x: tf.Tensor) =>
    tf.cond(tf.less(x, 9), () => f(x) as tf.Tensor, () => x)
  );
  await using g = open(() => body(tf.placeholder("float32", [], "x")));
  const MODES: Readonly<Record<string, (v: number) => unknown>> = {
    eager: (v) => body(tf.scalar(v)),
    "function": (v) => f.async(tf.scalar(v)),
    "nested function": (v) => nested.async(tf.scalar(v)),
    session: (v) => g.sess.run(g.parts, { feeds: { "x:0": v } }),
    "script": (v) => tf.pyFunction(body, [tf.scalar(v)], "float32"),
  };
  for (const [mode, run] of Object.entries(MODES)) {
    // Made before, and fused: it is made anew.
    await run(-1);
    const error = await watched(async () => (await run(4), await errorToldOf(() => run(-1))));
    assert(error instanceof InvalidArgumentError, mode);
    assertMatch(
      error.message,
      /Detected NaN in output 0 of (graph|eagerly-executed) op "Sqrt", float32\[\]/,
    );
    assertMatch(error.message, /input 0: float32\[\]/);
    assertStringIncludes(error.message, fileName(import.meta.url), mode);
    await run(-1);
  }
});

testOnDevices(
  "enableCheckNumerics() lets infinities be handed on, and finds those that are made",
  async () => {
    await watched(async () => {
      const mask = tf.tensor([0, -Infinity]);
      assertEquals((tf.softmax(tf.add(tf.tensor([1, 1]), mask)) as tf.Tensor).arraySync(), [1, 0]);
      const inf = await errorToldOf(() => tf.log(tf.scalar(0)));
      assertMatch(inf.message, /Detected Inf in output 0 of eagerly-executed op "Log"/);
      const nan = await errorToldOf(() => tf.sub(mask, mask));
      assertMatch(nan.message, /Detected NaN[^]*input 0: float32\[2\], which has Inf values/);
      const script = await errorToldOf(() => tf.numpyFunction(() => NaN, [], "float32"));
      assertMatch(script.message, /Detected NaN in output 0 of eagerly-executed op "PyFunc"/);
    });
  },
);

testOnDevices("enableCheckNumerics() finds what gradients make", async () => {
  const f = tf.function((x: tf.Tensor) => tf.grad((v: Any) => tf.sqrt(v))(x));
  (await f.async(tf.scalar(0)) as tf.Tensor).dispose();
  const error = await watched(() => errorOf(() => f.async(tf.scalar(0))));
  assertMatch(error.message, /Detected Inf/);
});

testAwaited("enableCheckNumerics() looks at what was freed before a GPU was read", async () => {
  const x = tf.scalar(-1);
  await assertFlat(() =>
    watched(async () => {
      const error = await errorToldOf(() => tf.tidy(() => void tf.sqrt(tf.add(x, 0))));
      assertMatch(error.message, /Detected NaN in output 0 of eagerly-executed op "Sqrt"/);
      await settled();
    })
  );
});

testOnDevices("enableCheckNumerics() frees what it makes, and may be called twice", async () => {
  const f = tf.function((x: tf.Tensor) => tf.sqrt(tf.add(x, 1)));
  const x = tf.scalar(1);
  await watched(async () => {
    d.enableCheckNumerics();
    (await f.async(x) as tf.Tensor).dispose();
    await settled();
    await assertFlat(async () => {
      (await f.async(x) as tf.Tensor).dispose();
      tf.add(x, 1).dispose();
      await settled();
    });
  });
  await assertFlat(async () => (await f.async(x) as tf.Tensor).dispose());
});
