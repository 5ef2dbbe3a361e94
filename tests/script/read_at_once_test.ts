/**
 * Eager-style bodies that read at once, on a GPU that can only be awaited, as in browsers: they get what they read, their effects
 * happen once, and where neither can be the error names the line. Here the GPU is one that says it cannot be read at once.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { assertFlat, open, plain, testAwaited, totals } from "./helpers.ts";

type T = tf.Tensor;
const { FailedPreconditionError } = tf.errors;
const scalarSpec = tf.TensorSpec([], "float32");

/** Reads where the body's own source does not show it. */
const valueOf = (x: T): number => x.item();

const logHuber = (x: T, m: T): T =>
  tf.abs(x).item() <= m.item()
    ? tf.square(x)
    : tf.mul(tf.square(m), tf.add(tf.sub(1, tf.mul(2, tf.log(m))), tf.log(tf.square(x))));

testAwaited("the README's first program runs as it stands", async () => {
  const { x, m, y, dx } = new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32"), m = tf.placeholder("float32");
    const y = tf.pyFunction(logHuber, [x, m], "float32");
    return { x, m, y, dx: tf.gradients(y, [x])[0]! };
  });
  const session = new tf.Session({ graph: y.graph as tf.Graph });
  const run = (a: number, b: number) => session.run([y, dx], { feeds: new Map([[x, a], [m, b]]) });
  assertEquals(await run(1, 2), [1, 2]);
  const [far, slope] = await run(-8, 2) as number[];
  assert(Math.abs(far - 4 * (1 - 2 * Math.log(2) + Math.log(64))) < 1e-5, `${far}`);
  assert(Math.abs(slope + 1) < 1e-5, `${slope}`);
  await session.close();
});

testAwaited("a body's inputs are read in the boundary's one batch, and it runs once", async () => {
  let calls = 0;
  const seen: string[] = [];
  const look = (a: T, b: T): T => {
    calls++;
    seen.push(a.device.split("/").at(-1)!);
    return tf.add(a, a.item() > b.item() ? 1 : 2);
  };
  await using g = open(() => {
    const x = tf.placeholder("float32", [64, 64], "x");
    const top = (t: T): T => tf.max(tf.matMul(x, t));
    const [a, b, c] = [top(tf.eye(64)), top(tf.mul(x, 0.25)), top(tf.fill([64, 64], -0.125))];
    const [p, q] = [
      tf.pyFunction(look, [a, b], scalarSpec),
      tf.pyFunction(look, [c, b], scalarSpec),
    ];
    return tf.add(tf.square(p), q);
  });
  const metadata: Partial<tf.RunMetadata> = {};
  for (let i = 1; i <= 3; i++) {
    // The largest elements of the products are 2, 64 and -16.
    const y = await g.sess.run(g.parts, { feeds: { "x:0": tf.fill([64, 64], 2) }, metadata });
    assertEquals(y, (2 + 2) ** 2 + (-16 + 2));
    assertEquals(calls, 2 * i);
    assertEquals([metadata.readbacks, metadata.hostCalls], [1, 2]);
  }
  assertEquals(new Set(seen), new Set(["device:CPU:0"]));
});

testAwaited(
  "a body that does not read, or awaits, stays on the GPU and costs no readback",
  async () => {
    const seen: string[] = [];
    const stays = (x: T): T => {
      seen.push(x.device);
      return tf.mul(x, tf.scalar(2));
    };
    const awaits = async (x: T): Promise<T> => {
      seen.push(x.device);
      await x.data();
      return tf.add(x, 1);
    };
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      return {
        y: tf.pyFunction(stays, [tf.exp(x)], "float32"),
        z: tf.pyFunction(awaits, [tf.exp(x)], "float32"),
      };
    });
    const metadata: Partial<tf.RunMetadata> = {};
    const run = (t: T) => g.sess.run(t, { feeds: { "x:0": 0 }, metadata });
    assertEquals([await run(g.parts.y), metadata.readbacks], [2, 1]);
    assertEquals([await run(g.parts.z), metadata.readbacks], [2, 2]);
    for (const device of seen) assertMatch(device, /GPU:0$/);
  },
);

testAwaited("a body that reads unforeseen is called again, once", async () => {
  let calls = 0;
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const body = (x: T): T => {
      calls++;
      return valueOf(tf.abs(x)) > 1 ? tf.square(x) : tf.neg(x);
    };
    const y = tf.pyFunction(body, [tf.mul(x, 2)], scalarSpec);
    return [y, tf.gradients(y, [x])[0]!];
  });
  const run = (x: number) => g.sess.run(g.parts, { feeds: { "x:0": x } });
  assertEquals(await run(3), [36, 24]);
  assertEquals(calls, 2);
  assertEquals(await run(0.25), [-0.5, -2]);
  assertEquals(calls, 3);
});

testAwaited("what a body closes over is read for it, and is differentiated", async () => {
  const w = tf.variable(tf.scalar(3)), c = tf.mul(tf.scalar(2), tf.scalar(5));
  for (const read of [(t: T): number => t.item(), valueOf]) {
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const body = (x: T): T => {
        const y = tf.mul(tf.mul(x, w), c);
        return read(y) > 0 ? tf.square(y) : y;
      };
      return tf.pyFunction(body, [tf.identity(x)], scalarSpec);
    });
    const run = (x: number) => g.sess.run(g.parts, { feeds: { "x:0": x } });
    assertEquals([await run(2), await run(-1)], [3600, -30]);
    w.assign(tf.scalar(4));
    assertEquals(await run(-1), -40);
    w.assign(tf.scalar(3));
  }
  tf.dispose([w, c]);
});

testAwaited(
  "a body that has had an effect is not called again, and the error names its line",
  async () => {
    const v = tf.variable(tf.scalar(0));
    let calls = 0;
    const counts = (x: T): T => {
      calls++;
      v.assignAdd(1);
      return valueOf(x) > 0 ? x : tf.neg(x);
    };
    const keeps = (x: T): T => {
      calls++;
      const kept = tf.add(x, 1).keep();
      try {
        return valueOf(kept) > 0 ? x : tf.neg(x);
      } finally {
        kept.dispose();
      }
    };
    for (const [body, effect] of [[counts, "AssignAddVariableOp"], [keeps, "keep()"]] as const) {
      await using g = open(() =>
        tf.pyFunction(body, [tf.placeholder("float32", [], "x")], "float32")
      );
      calls = 0;
      const run = g.sess.run(g.parts, { feeds: { "x:0": tf.exp(tf.scalar(1)) } });
      const error = await assertRejects(() => run, FailedPreconditionError) as tf.errors.OpError;
      assertMatch(
        error.message,
        /Cannot read in the body of pyfunc_\d+ synchronously: .* effect \((\w|\(|\))+\)\. /,
      );
      assert(error.message.includes(`an effect (${effect})`), error.message);
      assertMatch(
        error.message,
        /Make the body async, and await data\(\) at valueOf .*read_at_once_test/,
      );
      assertMatch(error.message, /{{node EagerPyFunc}}/);
      assertEquals([calls, error.op], [1, "EagerPyFunc"]);
    }
    assertEquals([...await v.data() as Float32Array], [1]);
    v.dispose();
  },
);

testAwaited("a body that makes what it reads on the GPU is told so", async () => {
  await using g = open(() =>
    tf.pyFunction(
      (x: T) => tf.device("/GPU:0", () => tf.add(x, valueOf(tf.exp(x)))),
      [tf.placeholder("float32", [], "x")],
      "float32",
    )
  );
  const run = g.sess.run(g.parts, { feeds: { "x:0": 1 } });
  const error = await assertRejects(() => run, FailedPreconditionError);
  assertMatch(
    error.message,
    /made what it reads on a GPU .* Make the body async, and await data\(\) at /,
  );
});

testAwaited("pyFunctionAsync() works, pyFunction() names it and the line", async () => {
  const body = (x: T): T => (x.item() > 0 ? tf.square(x) : x);
  const unforeseen = (x: T): T => (valueOf(tf.neg(x)) < 0 ? tf.square(x) : x);
  for (const f of [body, unforeseen]) {
    const x = tf.add(tf.scalar(2), 1);
    const error = assertThrows(() => tf.pyFunction(f, [x], "float32"), FailedPreconditionError);
    assertMatch(
      error.message,
      /asynchronously, at .*read_at_once_test.*; await pyFunctionAsync instead/,
    );
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = await tf.pyFunctionAsync(f, [x], "float32") as T;
    const dx = tape.gradient(y, x)!;
    assertEquals([...await y.data() as Float32Array, ...await dx.data() as Float32Array], [9, 6]);
    assertMatch(y.device, /GPU:0$/);
    tf.dispose([x, y, dx]);
  }
});

testAwaited(
  "functions that are awaited work, others do nothing behind the caller's back",
  async () => {
    let calls = 0;
    const f = tf.function((x: T) =>
      tf.pyFunction(
        (x: T) => {
          calls++;
          return x.item() > 0 ? tf.square(x) : x;
        },
        [tf.mul(x, 2)],
        scalarSpec,
      )
    );
    const x = tf.add(tf.scalar(1), 1);
    assertThrows(() => f(x), FailedPreconditionError, "use await f.async(...)");
    await tf.nextFrame();
    assertEquals(calls, 0);
    const y = await f.async(x) as T;
    assertEquals([...await y.data() as Float32Array], [16]);
    assertEquals(calls, 1);
    tf.dispose([x, y]);
  },
);

const PLACES: Readonly<Record<string, (body: (x: T) => T, x: T) => T>> = {
  "a loop": (body, x) =>
    tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), body(y)], [
      tf.constant(0, "int32"),
      x,
    ])[1],
  "a branch": (body, x) => tf.cond(tf.greater(x, 0), () => body(body(body(x))), () => x),
  "mapFn": (body, x) => tf.sum(tf.mapFn((r: T) => body(body(body(r))), tf.stack([x]))),
  "a function": (body, x) => tf.function((x: T) => body(body(body(x))))(x),
  "a device asked for": (body, x) => tf.device("/GPU:0", () => body(body(body(x)))),
};

for (const [place, build] of Object.entries(PLACES)) {
  testAwaited(
    `bodies read at once in ${place}, with gradients, and leave nothing behind`,
    async () => {
      for (const read of [(x: T): number => x.item(), valueOf]) {
        const grow = (x: T): T => (read(x) > 0 ? tf.mul(x, 2) : x);
        const body = (x: T): T => tf.pyFunction(grow, [x], scalarSpec);
        await using g = open(() => {
          const x = tf.placeholder("float32", [], "x");
          const y = build(body, x);
          return { y, dx: tf.gradients(y, [x])[0]! };
        });
        const run = async () =>
          assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": 1 } })), { y: 8, dx: 8 });
        await run();
        await assertFlat(run);
      }
    },
  );
}

testAwaited("a run that ends while a body's inputs are read does not call it", async () => {
  let calls = 0;
  const before = totals();
  {
    const g = open(() =>
      tf.device("/GPU:0", () =>
        tf.pyFunction(
          (x: T) => {
            calls++;
            return tf.add(x, x.item());
          },
          [tf.exp(tf.placeholder("float32", [], "x"))],
          "float32",
        ))
    );
    const run = g.sess.run(g.parts, { feeds: { "x:0": 1 } });
    const failed = assertRejects(() => run, tf.errors.CancelledError);
    await g.sess.close();
    await failed;
  }
  await tf.nextFrame();
  assertEquals(calls, 0);
  assertEquals(totals(), before);
});
