/** Gradients of script ops: rows G1–G5 and G20–G28, `vjp` and `strictGradients`. What TensorFlow gets wrong is in faults_test.ts. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { fileName, testOnDevices } from "../devices.ts";
import { type Any, assertFlat, errorOf, evaluate, open, plain } from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;

const f32 = (f: (...xs: T[]) => unknown, inp: Any[], tout: Any = "float32", options?: Any): Any =>
  tf.pyFunction(f as Any, inp, tout, options);
/** Values, sync and async: the same gradient either way. */
const STYLES: readonly (readonly [string, <F extends (...a: Any[]) => Any>(f: F) => F])[] = [
  ["sync", (f) => f],
  ["async", (f) =>
    (async (...args: Any[]) => {
      await args[0].data?.();
      return f(...args);
    }) as Any],
];

testOnDevices("G1 G3 G4 G5 gradients in a graph, of sync and async bodies", async () => {
  for (const [style, wrap] of STYLES) {
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const square = f32(wrap((x: T) => tf.square(x)), [x]);
      const branch = f32(wrap((x: T) => x.item() > 0 ? tf.mul(x, 3) : tf.neg(x)), [x]);
      const complex = f32(wrap((c: T) => tf.mul(c, c)), [tf.complex(x, x)], "complex64");
      return [
        tf.gradients(square, [x])[0]!,
        tf.gradients(branch, [x])[0]!,
        tf.gradients(square, [x], { gradYs: [10] })[0]!,
        tf.gradients(complex, [x], { gradYs: [tf.complex(0, 1)] })[0]!,
      ];
    });
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 3 } }), [6, 3, 60, 12], style);
    assertEquals(await g.sess.run(g.parts[1], { feeds: { "x:0": -3 } }), -1, style);
  }
});

testOnDevices("G1 the gradient of a complex square is conjugated", async () => {
  const [graph] = await evaluate(() => {
    const x = tf.complex(3, 3);
    return tf.gradients(f32((x) => tf.mul(x, x), [x], "complex64"), [x], {
      gradYs: [tf.complex(1, 0)],
    });
  });
  assertEquals(graph, [6, -6]);
});

testOnDevices("G2 one of two outputs has a gradient of its own, the other none", async () => {
  for (const [style, wrap] of STYLES) {
    const got = await evaluate(() => {
      const x = tf.constant(3), y = tf.constant(2);
      const [a, b] = f32(wrap((x: T, y: T) => [tf.mul(x, y), tf.div(x, y)]), [x, y], [
        "float32",
        "float32",
      ]);
      return [
        tf.gradients(a, [x, y]),
        tf.gradients([a, b], [x, y]),
        tf.gradients(tf.add(a, b), [x]),
      ];
    });
    assertEquals(got, [[2, 3], [2.5, 2.25], [2.5]], style);
  }
});

testOnDevices("G20 two eager calls under one tape", () => {
  tf.tidy(() => {
    const x = tf.scalar(3);
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = tf.add(f32((x) => tf.square(x), [x]), f32((x) => tf.mul(x, tf.square(x)), [x]));
    assertEquals(tape.gradient(y, x)!.item(), 33);
  });
});

testOnDevices("G22 a gather inside the body has a dense gradient", async () => {
  const got = await evaluate(() => {
    const x = tf.constant([1, 2, 3]);
    return tf.gradients(
      f32((x) => tf.sum(tf.square(tf.gather(x, tf.tensor([0, 2, 2], undefined, "int32")))), [x]),
      [x],
    )[0];
  });
  assertEquals(got, [2, 0, 12]);
});

testOnDevices(
  "G23 an error in the backward pass names the gradient's node, and where the forward op was made",
  async () => {
    const bad = tf.customGrad((x: Any) => ({
      value: tf.square(x),
      gradFunc: (): Any => {
        throw new TypeError("no way back");
      },
    }));
    const error = await errorOf(() =>
      evaluate(() => {
        const x = tf.constant(3);
        return tf.gradients(f32((x) => bad(x) as T, [x], "float32", { name: "forward" }), [x])[0];
      })
    );
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(error.node!, /^gradients\/forward_grad\/TapeGradient/);
    assertMatch(error.message, new RegExp(`no way back[^]*${fileName(import.meta.url)}`));
  },
);

testOnDevices("G24 without differentiable inputs there is no gradient", async () => {
  const got = await evaluate(() => {
    const i = tf.constant(3, "int32"), x = tf.constant(1);
    const a = tf.gradients(f32(() => tf.scalar(1), []), [x]);
    const b = tf.gradients(f32((i) => tf.cast(i, "float32"), [i]), [i]);
    assertEquals([a, b], [[null], [null]]);
    return tf.constant(0);
  });
  assertEquals(got, 0);
});

testOnDevices("G25 numpy-style ops cut gradients: null, or zeros where asked for", async () => {
  assertEquals(
    await evaluate(() => {
      const x = tf.constant([1, 2]);
      const y = tf.numpyFunction((x: N) => x, [x], "float32");
      assertEquals(tf.gradients(y, [x]), [null]);
      return tf.gradients(y, [x], { unconnectedGradients: "zero" });
    }),
    [[0, 0]],
  );
  tf.tidy(() => {
    const x = tf.scalar(1);
    using tape = new tf.GradientTape();
    tape.watch(x);
    assertEquals(tape.gradient(tf.numpyFunction((x: N) => x, [x], "float32"), x), null);
  });
});

testOnDevices("G26 a numpy-style op inside a custom gradient", () => {
  const square = tf.customGrad((x: Any, save: Any) => {
    save([x]);
    return {
      value: tf.numpyFunction((v: N) => v.map((e) => (e as number) ** 2), [x], "float32"),
      gradFunc: (dy: T, [x]: T[]) => tf.mul(dy, tf.mul(2, x)),
    };
  });
  assertEquals(tf.tidy(() => tf.grad((x: T) => square(x) as T)(tf.scalar(3)).item()), 6);
});

testOnDevices(
  "G27 an imported op is differentiated through the body registered under its name",
  async () => {
    const a = new tf.Graph();
    a.asDefault(() =>
      tf.pyFunction(cube, [tf.placeholder("float32", [], "x")], "float32", { name: "y" })
    );
    await using g = open(() => {
      const [x, y] = tf.importGraphDef(JSON.parse(JSON.stringify(a.toGraphDef())), {
        prefix: "",
        returnElements: ["x:0", "y:0"],
      }) as T[];
      const dx = tf.gradients(y, [x])[0]!;
      return [y, dx, tf.gradients(dx, [x])[0]!];
    });
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 2 } }), [8, 12, 12]);
  },
);
const cube = tf.registerScript("weft.tests.gradient.cube@1", (x: T) => tf.mul(x, tf.square(x)));

testOnDevices(
  "second and third derivatives, in graphs and tapes, of sync and async bodies",
  async () => {
    for (const [style, wrap] of STYLES) {
      await using g = open(() => {
        const x = tf.placeholder("float32", [], "x");
        const y = f32(wrap((x: T) => tf.mul(tf.square(x), tf.square(x))), [x]);
        const out = [y];
        for (let i = 0; i < 3; i++) out.push(tf.gradients(out.at(-1), [x])[0]!);
        return out;
      });
      assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 2 } }), [16, 32, 48, 48], style);
    }
    const f = (x: T): T => f32((x) => tf.mul(tf.square(x), tf.square(x)), [x]);
    const orders = tf.tidy(() => {
      const d1 = tf.grad(f), d2 = tf.grad(d1), d3 = tf.grad(d2);
      return [d1, d2, d3].map((d) => d(tf.scalar(2)).item());
    });
    assertEquals(orders, [32, 48, 48]);
  },
);

testOnDevices("mixed second derivatives of several inputs and outputs", async () => {
  const got = await evaluate(() => {
    const x = tf.constant(3), y = tf.constant(2);
    const [a, b] = f32((x, y) => [tf.mul(tf.square(x), y), tf.div(x, y)], [x, y], [
      "float32",
      "float32",
    ]);
    const [dx, dy] = tf.gradients(tf.add(a, tf.square(b)), [x, y]);
    return [[dx, dy], tf.gradients(dx!, [x, y]), tf.gradients(dy!, [x, y])];
  });
  // f = x²y + x²/y²
  const want = [[12 + 1.5, 9 - 2.25], [4 + 0.5, 6 - 1.5], [6 - 1.5, 3.375]];
  got.flat().forEach((v: number, i: number) => assertAlmostEquals(v, want.flat()[i], 1e-4));
});

testOnDevices(
  "gradients flow through several scripts, in front of, between and behind ordinary ops",
  async () => {
    const got = await evaluate(() => {
      const x = tf.constant([1, 2]);
      const a = f32((x) => tf.mul(x, x), [tf.mul(x, 2)]);
      const b = f32((a, x) => tf.add(a, tf.mul(x, 3)), [tf.add(a, 1), x]);
      return tf.gradients(tf.sum(b), [x])[0];
    });
    assertEquals(got, [11, 19]);
  },
);

testOnDevices("scripts are differentiated in functions, loops and branches", () => {
  const cubeOf = (x: T): T =>
    f32((x) => tf.mul(x, tf.square(x)), [x], tf.TensorSpec([], "float32"));
  const cases: [string, (x: T) => T, number][] = [
    ["function", tf.function(cubeOf) as Any, 12],
    [
      "loop",
      tf.function((x: T) =>
        tf.whileLoop((i) => tf.less(i, 2), (i, v) => [tf.add(i, 1), cubeOf(v)], [
          tf.scalar(0),
          x,
        ])[1]
      ) as Any,
      9 * 2 ** 8,
    ],
    [
      "branch",
      tf.function((x: T) => tf.cond(tf.greater(x, 0), () => cubeOf(x), () => x)) as Any,
      12,
    ],
  ];
  for (const [what, f, want] of cases) {
    assertEquals(tf.tidy(() => tf.grad(f)(tf.scalar(2)).item()), want, what);
  }
});

testOnDevices(
  "vjp gives a numpy-style op a gradient, in graphs, tapes, functions and any order",
  async () => {
    const power = (x: N, n: N) => x.map((v) => (v as number) ** (n.item() as number));
    const vjp: tf.ScriptVjp = (
      { inputs: [x, n], outputs: [y] },
      dy,
    ) => [tf.mul(dy, tf.div(tf.mul(n, y), x)), null];
    const call = (x: T): T => tf.numpyFunction(power, [x, tf.scalar(3)], "float32", { vjp });
    const [dx, dxx] = await evaluate(() => {
      const x = tf.constant(2);
      const [dx] = tf.gradients(call(x), [x]);
      return [dx, tf.gradients(dx!, [x])[0]];
    });
    assertAlmostEquals(dx, 12, 1e-4);
    assertAlmostEquals(dxx, 12, 1e-3);
    for (const f of [call, tf.function(call) as Any]) {
      tf.tidy(() => {
        assertAlmostEquals(tf.grad(f)(tf.scalar(2)).item(), 12, 1e-4);
        assertAlmostEquals(tf.grad(tf.grad(f))(tf.scalar(2)).item(), 12, 1e-3);
      });
    }
    using x = tf.scalar(2);
    using tape = new tf.GradientTape();
    tape.watch(x);
    using y = await tf.numpyFunctionAsync(
      async (v: N) => await Promise.resolve(power(v, v)),
      [x],
      "float32",
      {
        vjp: ({ inputs: [x] }, dy) => tf.mul(dy, tf.mul(4, x)),
      },
    ) as T;
    assertEquals((tape.gradient(y, x) as T).item(), 8);
  },
);

testOnDevices("vjp must return one gradient per input", async () => {
  const call = () => {
    const x = tf.constant(1);
    return tf.gradients(
      tf.numpyFunction((a: N, _b: N) => a, [x, x], "float32", { vjp: (_, dy) => [dy] }),
      [x],
    );
  };
  assertMatch(
    (await errorOf(() => evaluate(call))).message,
    /vjp of pyfunc_\d+ returned 1 gradients, wanted one for each of 2 inputs/,
  );
});

testOnDevices("vjp must return tensors of the inputs' shapes and dtypes, or null", async () => {
  const { score } = { score: (a: N) => a };
  const slope = (vjp: Any) =>
    errorOf(() =>
      evaluate(() => {
        const x = tf.constant([1, 2]);
        return tf.gradients(tf.numpyFunction(score, [x], tf.TensorSpec([2]), { vjp }), [x]);
      })
    );
  const cases: [(dy: T) => unknown, RegExp][] = [
    [
      () => 5,
      /vjp of score returned 5 of type number, wanted a tensor or null for each of 1 inputs/,
    ],
    [() => undefined, /vjp of score returned undefined, wanted a tensor or null/],
    [
      () => [5],
      /vjp of score returned 5 of type number as the gradient of input 0, which is float32\[2\]/,
    ],
    [
      (dy) => [tf.sum(dy)],
      /returned float32\[\] as the gradient of input 0, which is float32\[2\]/,
    ],
    [(dy) => [tf.cast(dy, "int32")], /returned int32\[2\] as the gradient of input 0/],
  ];
  for (const [vjp, message] of cases) {
    assertMatch((await slope((_: unknown, dy: T) => vjp(dy))).message, message);
  }
});

testOnDevices("strictGradients makes an input without a gradient an error", async () => {
  const cut = (x: T) => tf.mul(tf.stopGradient(x), 2);
  const error = await errorOf(() =>
    evaluate(() => {
      const x = tf.constant(3);
      return tf.gradients(f32(cut, [x], "float32", { strictGradients: true }), [x])[0];
    })
  );
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /No gradient reached input 0/);
  using dx = tf.tidy(() => {
    const x = tf.scalar(3);
    using tape = new tf.GradientTape();
    tape.watch(x);
    assertThrows(
      () => f32(cut, [x], "float32", { strictGradients: true }),
      tf.errors.InvalidArgumentError,
      "No gradient can reach input 0",
    );
    const y = f32((x) => tf.square(x), [x], "float32", { strictGradients: true });
    return tape.gradient(y, x)!;
  });
  // Without a tape there is no gradient.
  using y = tf.tidy(() => f32(cut, [tf.scalar(3)], "float32", { strictGradients: true }));
  assertEquals([(await dx.data())[0], (await y.data())[0]], [6, 6]);
});

testOnDevices(
  "pyFunctionAsync() is differentiated by the tape that was active at the call",
  async () => {
    await assertFlat(async () => {
      using x = tf.scalar(3);
      using tape = new tf.GradientTape();
      tape.watch(x);
      using y = await tf.pyFunctionAsync(
        async (x: T) => {
          const [v] = await x.data();
          const a = tf.mul(x, v as number);
          await Promise.resolve();
          return tf.mul(a, x);
        },
        [x],
        "float32",
      );
      assertEquals(y.item(), 27);
      using dx = tape.gradient(y, x) as T;
      assertEquals(dx.item(), 18);
    });
  },
);

testOnDevices("an eager-style body inside another is differentiated through both", async () => {
  const outer = (x: T): T => tf.add(f32((x) => tf.mul(x, tf.square(x)), [x]), x);
  assertEquals(
    await evaluate(() => {
      const x = tf.constant(2);
      return tf.gradients(f32(outer, [x]), [x])[0];
    }),
    13,
  );
  const asyncOuter = async (x: T) => {
    await x.data();
    return tf.add(
      await tf.pyFunctionAsync(
        async (x: T) => {
          await x.data();
          return tf.mul(x, tf.square(x));
        },
        [x],
        "float32",
      ),
      x,
    );
  };
  await assertFlat(async () => {
    assertEquals(
      await evaluate(() => {
        const x = tf.constant(2);
        return tf.gradients(f32(asyncOuter as Any, [x]), [x])[0];
      }),
      13,
    );
  });
});

testOnDevices("a loop of runs with gradients leaves nothing behind", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [2], "x");
    const y = f32(async (x) => {
      await x.data();
      return tf.mul(x, tf.square(x));
    }, [x]);
    const dx = tf.gradients(y, [x])[0]!;
    return [y, dx, tf.gradients(dx, [x])[0]!];
  });
  const feeds = { "x:0": [1, 2] };
  assertEquals(plain(await g.sess.run(g.parts, { feeds })), [[1, 8], [3, 12], [6, 12]]);
  await assertFlat(async () => {
    for (let i = 0; i < 100; i++) await g.sess.run(g.parts, { feeds });
  });
});
