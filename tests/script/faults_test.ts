/**
 * One test for each fault that TensorFlow 2.21 was measured to have and this library must not: gradients G6–G19, leaks H5 and H9,
 * memory I1 and I2, time L5–L7. What TensorFlow does is in each test's first line.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import {
  type Any,
  assertFlat,
  deferred,
  errorOf,
  evaluate,
  open,
  plain,
  totals,
} from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;
const square = (x: T): T => tf.square(x);
const cube = (x: T): T => tf.mul(x, tf.square(x));
const f32 = (f: Any, inp: Any[], tout: Any = "float32", options?: Any): Any =>
  tf.pyFunction(f, inp, tout, options);

testOnDevices("G6 a body that cuts its tape can be found out", async () => {
  // TensorFlow: 0.0, silently. That stays the default (a zero is right for a constant function), strictGradients says so.
  const cut = (x: T) => tf.mul(tf.scalar(x.item()), 2);
  const gradient = (options: Any) =>
    evaluate(() => {
      const x = tf.constant(3);
      return tf.gradients(f32(cut, [x], "float32", options), [x])[0];
    });
  assertEquals(await gradient({}), 0);
  assertMatch(
    (await errorOf(() => gradient({ strictGradients: true }))).message,
    /No gradient reached input 0.*strictGradients/,
  );
});

testOnDevices("G7 an unused input has zeros of its own shape", async () => {
  // TensorFlow: a scalar 0.0 whatever the shape, which fails in the next matMul.
  const got = await evaluate(() => {
    const x = tf.constant([[1, 2], [3, 4]]), unused = tf.constant([[1, 2, 3], [4, 5, 6]]);
    const [dx, du] = tf.gradients(f32(square, [x, unused]), [x, unused]);
    return [du, tf.matMul(dx!, du!)];
  });
  assertEquals(got, [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]);
});

testOnDevices("G8 an integer input is no obstacle", async () => {
  // TensorFlow: TypeError: Cannot convert 0.0 to EagerTensor of dtype int32. Open since 2019.
  const f = (x: T, n: T): T => f32((x: T, n: T) => tf.mul(x, tf.cast(n, "float32")), [x, n]);
  assertEquals(
    await evaluate(() => {
      const x = tf.constant(3), n = tf.constant(5, "int32");
      const [dx, dn] = tf.gradients(f(x, n), [x, n]);
      assertEquals(dn, null);
      return dx;
    }),
    5,
  );
  assertEquals(
    tf.tidy(() => tf.grad((x: T) => f(x, tf.scalar(5, "int32")))(tf.scalar(3)).item()),
    5,
  );
});

testOnDevices("G9 an integer output beside a float one is no obstacle", async () => {
  // TensorFlow: TypeError while building the gradient.
  const got = await evaluate(() => {
    const x = tf.constant(3);
    const [y, n] = f32((x: T) => [tf.square(x), tf.cast(x, "int32")], [x], ["float32", "int32"]);
    return [tf.gradients(y, [x])[0], tf.gradients(tf.add(y, tf.cast(n, "float32")), [x])[0]];
  });
  assertEquals(got, [6, 6]);
});

testOnDevices("G10 the second derivative in a graph is right", async () => {
  // TensorFlow: [None], or KeyError at run time where something is in between.
  const got = await evaluate(() => {
    const x = tf.constant(3);
    const y = f32(cube, [x]);
    const dx = tf.gradients(y, [x])[0]!, dz = tf.gradients(tf.mul(y, y), [x])[0]!;
    return [tf.gradients(dx, [x])[0], tf.gradients(dz, [x])[0]];
  });
  assertEquals(got, [18, 30 * 3 ** 4]);
});

testOnDevices("G11 the second derivative under two tapes is right, also in a function", () => {
  // TensorFlow: None, or 0.0 where the true value is 18.
  const second = (x: T): Any => {
    using outer = new tf.GradientTape();
    outer.watch(x);
    const inner = new tf.GradientTape();
    inner.watch(x);
    const dx = inner.gradient(f32(cube, [x]), x) as T;
    return outer.gradient(dx, x);
  };
  assertEquals(tf.tidy(() => plain(second(tf.scalar(3)))), 18);
  assertEquals(tf.tidy(() => plain((tf.function(second) as Any)(tf.scalar(3)))), 18);
});

testOnDevices("G12 a persistent tape gives its gradient again and again", () => {
  // TensorFlow: KeyError the second time.
  tf.tidy(() => {
    const x = tf.scalar(3);
    using tape = new tf.GradientTape({ persistent: true });
    tape.watch(x);
    const y = f32(square, [x]);
    const again = () => (tape.gradient(y, x) as T).item();
    assertEquals([again(), again(), again()], [6, 6, 6]);
  });
});

testOnDevices("G13 jacobian() works", () => {
  // TensorFlow: KeyError.
  tf.tidy(() => {
    const x = tf.tensor([1, 2, 3]);
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = f32((x: T) => tf.mul(x, tf.sum(x)), [x]);
    assertEquals(plain(tape.jacobian(y, x)), [[7, 1, 1], [2, 8, 2], [3, 3, 9]]);
  });
});

testOnDevices("G14 two gradients of one op in one run", async () => {
  // TensorFlow: KeyError.
  const got = await evaluate(() => {
    const x = tf.constant(3), y = f32(square, [x]);
    return [
      tf.gradients(y, [x])[0],
      tf.gradients(y, [x], { gradYs: [10] })[0],
      tf.gradients(tf.mul(y, 2), [x])[0],
    ];
  });
  assertEquals(got, [6, 60, 12]);
});

testOnDevices("G15 one function called twice under one tape", () => {
  // TensorFlow: KeyError.
  tf.tidy(() => {
    const f = tf.function((x: T) => f32(square, [x])) as Any;
    const x = tf.scalar(3);
    using tape = new tf.GradientTape();
    tape.watch(x);
    assertEquals((tape.gradient(tf.add(f(x), f(tf.mul(x, 2))), x) as T).item(), 30);
  });
});

testOnDevices("G16 inside a loop every iteration has its own tape", () => {
  // TensorFlow: KeyError, since each iteration overwrites the one before.
  const power = tf.function((x: T) =>
    tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, v) => [
        tf.add(i, 1),
        f32((v: T, x: T) => tf.mul(v, x), [v, x], tf.TensorSpec([], "float32")),
      ],
      [
        tf.scalar(0),
        x,
      ],
    )[1]
  ) as Any;
  assertEquals(tf.tidy(() => tf.grad(power)(tf.scalar(2)).item()), 32);
});

testOnDevices("G17 runs of one graph in flight together do not mix", async () => {
  // TensorFlow: of 5000 runs on 4 threads 194 silently wrong gradients and 138 KeyErrors.
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = f32(async (x: T) => {
      const [v] = await x.data();
      for (let i = 0; i < (v as number) % 3; i++) await Promise.resolve();
      return tf.mul(x, v as number);
    }, [x]);
    return tf.gradients(y, [x])[0]!;
  });
  const runs = Array.from({ length: 1000 }, (_, i) => g.sess.run(g.parts, { feeds: { "x:0": i } }));
  assertEquals((await Promise.all(runs)).filter((v, i) => v !== i), []);
});

testOnDevices("G18 the gradient of an op whose output is fed", async () => {
  // TensorFlow: KeyError, since the forward op did not run.
  await using g = open(() => {
    const x = tf.constant(3), y = f32(square, [x]);
    return { y, dx: tf.gradients(y, [x])[0]! };
  });
  assertEquals(await g.sess.run(g.parts, { feeds: new Map([[g.parts.y, 100]]) }), {
    y: 100,
    dx: 6,
  });
});

testOnDevices(
  "G19 a variable that the body captures is differentiated: in graphs, tapes, of any order, also after an await",
  async () => {
    // TensorFlow: None.
    using v = tf.variable(3), unused = tf.variable([1, 2]), frozen = tf.variable(4, false);
    const bodies: Any[] = [
      (x: T) => tf.mul(tf.mul(x, tf.square(v)), frozen),
      async (x: T) => {
        await x.data();
        const w = tf.square(v);
        await Promise.resolve();
        return tf.mul(tf.mul(x, w), frozen);
      },
    ];
    for (const body of bodies) {
      await assertFlat(async () => {
        const got = await evaluate(() => {
          const x = tf.constant(2);
          const y = f32(body, [x]);
          const [dx, dv, du] = tf.gradients(y, [x, v, unused]);
          return [
            dx,
            dv,
            du,
            tf.gradients(dv!, [v])[0],
            tf.gradients(dx!, [v])[0],
            tf.gradients(dv!, [x])[0],
          ];
        });
        assertEquals(got, [36, 48, [0, 0], 16, 24, 24]);
      });
    }
    tf.tidy(() => {
      using tape = new tf.GradientTape();
      const y = f32(bodies[0], [tf.scalar(2)]);
      assertEquals(plain(tape.gradient(y, [v, unused])), [48, null]);
    });
    // Without inputs, and of what no tensor of the body flows into.
    assertEquals(await evaluate(() => tf.gradients(f32(() => tf.square(v), []), [v])), [6]);
    assertEquals(
      await evaluate(() =>
        tf.gradients(f32(async () => (await Promise.resolve(), tf.square(v)), []), [v])
      ),
      [6],
    );
  },
);

testOnDevices(
  "G19 also in functions, branches and loops, called under tapes and in graphs, and of second order",
  async () => {
    using v = tf.variable(3), u = tf.variable(5);
    const script = (x: T): T =>
      f32((x: T) => tf.mul(x, tf.square(v)), [x], tf.TensorSpec([], "float32"));
    const none = () => f32(() => tf.square(v), [], tf.TensorSpec([], "float32"));
    const cases: [string, (x: T) => T, number, number][] = [
      ["function", script, 12, 4],
      ["beside a use that shows", (x) => tf.add(script(x), v), 13, 4],
      ["function in a function", (x) => tf.mul((tf.function(script) as Any)(x), u), 60, 20],
      ["branch", (x) => tf.cond(tf.greater(x, 0), () => script(x), () => x), 12, 4],
      [
        "loop",
        (x) => tf.whileLoop((i) => tf.less(i, 2), (i, x) => [tf.add(i, 1), script(x)], [0, x])[1],
        216,
        216,
      ],
      ["no input", () => tf.mul(none(), u), 30, 10],
    ];
    for (const [what, f, first, second] of cases) {
      const traced = tf.function(f) as (x: T) => T;
      tf.tidy(() => {
        using outer = new tf.GradientTape();
        using tape = new tf.GradientTape();
        const dv = tape.gradient(traced(tf.scalar(2)), v) as T;
        assertEquals([plain(dv), plain(outer.gradient(dv, v))], [first, second], what);
      });
      assertEquals(await evaluate(() => tf.gradients(traced(tf.constant(2)), [v])), [first], what);
    }
  },
);

testOnDevices("H5 eager calls register nothing", async () => {
  // TensorFlow: one entry per call, for ever.
  await assertFlat(() => {
    tf.tidy(() => {
      for (let i = 0; i < 100; i++) f32(square, [tf.scalar(i)]);
    });
  });
});

testOnDevices("H9 tapes that are never asked for a gradient keep nothing", async () => {
  // TensorFlow: one entry per tape, with inputs, outputs and the tape.
  await assertFlat(() => {
    for (let i = 0; i < 1000; i++) {
      tf.tidy(() => {
        using tape = new tf.GradientTape();
        const x = tf.scalar(i);
        tape.watch(x);
        f32(square, [x]);
      });
    }
  });
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x"), y = f32(square, [x]);
    return { y, dx: tf.gradients(y, [x])[0]! };
  });
  await g.sess.run(g.parts, { feeds: { "x:0": 1 } });
  await assertFlat(async () => {
    for (let i = 0; i < 100; i++) await g.sess.run(g.parts.y, { feeds: { "x:0": i } });
  });
});

testOnDevices("I1 writing to an input does not change it for a sibling", async () => {
  // TensorFlow: both siblings see 99.
  const write = (x: N) => ((x.data as Float32Array)[0] = 99, x);
  const got = await evaluate(() => {
    const x = tf.mul(tf.constant([1, 2]), 1);
    return [
      tf.numpyFunction(write, [x], "float32"),
      tf.numpyFunction((x: N) => x, [x], "float32"),
      x,
    ];
  });
  assertEquals(got, [[99, 2], [1, 2], [1, 2]]);
});

testOnDevices("I2 writing to a constant's value does not change the next run", async () => {
  // TensorFlow: 100, 199, 298.
  const write = (x: N) => ((x.data as Float32Array)[0] += 99, x);
  await using g = open(() => {
    const c = tf.constant([1]);
    return [tf.numpyFunction(write, [c], "float32"), c];
  });
  for (let i = 0; i < 3; i++) assertEquals(plain(await g.sess.run(g.parts)), [[100], [1]]);
});

testOnDevices("L5 a time limit ends the run, not the body", async () => {
  // TensorFlow: the error comes when the body has ended, however long that takes.
  const error = await errorOf(() => evaluateWith({ timeoutMs: 1 }));
  assert(error instanceof tf.errors.DeadlineExceededError);
});

testOnDevices("L6 close() does not wait for bodies", async () => {
  // TensorFlow: blocks until the body has ended.
  const before = totals();
  const g = open(() => tf.numpyFunction(() => deferred().promise, [], "float32"));
  const run = errorOf(() => g.sess.run(g.parts));
  await g.sess.close();
  assert(await run instanceof tf.errors.CancelledError);
  assertEquals(totals(), before);
});

testOnDevices("L7 a body is told that its run was cancelled", async () => {
  // TensorFlow: no token reaches it.
  const told = deferred<boolean>();
  const stop = new AbortController();
  const run = errorOf(() =>
    evaluateWith(
      { signal: stop.signal },
      (ctx) => ctx.signal.addEventListener("abort", () => told.resolve(ctx.signal.aborted)),
    )
  );
  stop.abort();
  assert(await run instanceof tf.errors.CancelledError);
  assertEquals(await told.promise, true);
});

/** Runs a body that never ends. */
async function evaluateWith(
  options: tf.RunOptions,
  look: (ctx: tf.ScriptContext) => void = () => {},
): Promise<unknown> {
  await using g = open(() =>
    tf.numpyFunction(
      (ctx: tf.ScriptContext) => {
        look(ctx);
        return deferred().promise;
      },
      [],
      "float32",
    )
  );
  return await g.sess.run(g.parts, options);
}
