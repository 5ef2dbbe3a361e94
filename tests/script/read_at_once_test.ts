/**
 * Eager-style bodies that read at once, on a GPU that can only be awaited, as in browsers: they get what they read, their effects
 * happen once, and where neither can be the error names the line. Here the GPU is one that says it cannot be read at once.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { assertSpyCalls, stub } from "@std/testing/mock";
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
  "a body that is said not to read, or awaits, stays on the GPU and costs no readback",
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
    tf.registerScript("test.stays@1", stays, { reads: false });
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
    tf.unregisterScript("test.stays@1");
  },
);

testAwaited(
  "a body whose helper reads is begun once, on the host, which is said once",
  async () => {
    using warn = stub(console, "warn");
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
    assertEquals(calls, 1);
    assertEquals(await run(0.25), [-0.5, -2]);
    assertEquals(calls, 2);
    assertSpyCalls(warn, 1);
    assertMatch(warn.calls[0].args[0], /^The body of pyfunc_\d+ runs on the host: .*reads: false/);
  },
);

testAwaited(
  "what a body closes over on the GPU is computed with there, and differentiated",
  async () => {
    const w = tf.variable(tf.scalar(3)), c = tf.mul(tf.scalar(2), tf.scalar(5));
    let calls = 0;
    const body = (x: T): T => {
      calls++;
      return tf.mul(tf.mul(x, w), valueOf(x) > 0 ? c : tf.neg(c));
    };
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const y = tf.pyFunction(body, [tf.identity(x)], scalarSpec);
      return { y, z: tf.add(tf.square(y), 1), dx: tf.gradients(y, [x])[0]! };
    });
    const run = async (x: number) => plain(await g.sess.run(g.parts, { feeds: { "x:0": x } }));
    assertEquals(await run(2), { y: 60, z: 3601, dx: 30 });
    assertEquals(await run(-1), { y: 30, z: 901, dx: -30 });
    w.assign(tf.scalar(4));
    assertEquals(await run(-1), { y: 40, z: 1601, dx: -40 });
    assertEquals(calls, 3);
    await assertFlat(() => run(1));
    tf.dispose([w, c]);
  },
);

testAwaited(
  "a body that reads what it closes over is called again only if it is pure",
  async () => {
    const w = tf.variable(tf.scalar(3)), v = tf.variable(tf.scalar(0));
    let calls = 0;
    const bodies: Record<string, (x: T) => T> = {
      plain: (x) => (calls++, valueOf(tf.mul(x, w)) > 0 ? tf.square(x) : x),
      // Not as pure as it says.
      counts: (x) => (calls++, v.assignAdd(1), valueOf(tf.mul(x, w)) > 0 ? x : tf.neg(x)),
      keeps: (x) => {
        calls++;
        using kept = tf.add(x, 1).keep();
        return valueOf(tf.mul(kept, w)) > 0 ? x : tf.neg(x);
      },
    };
    const run = async (body: (x: T) => T): Promise<unknown> => {
      calls = 0;
      await using g = open(() =>
        tf.pyFunction(body, [tf.exp(tf.placeholder("float32", [], "x"))], "float32")
      );
      return await g.sess.run(g.parts, { feeds: { "x:0": 0 } });
    };
    const error = await assertRejects(() => run(bodies.plain), FailedPreconditionError);
    assertMatch(
      error.message,
      /called twice .*stateful: false.*; pass them as inputs\. Make the body/,
    );
    assertMatch(error.message, /await data\(\) at valueOf .*read_at_once_test/);
    assertMatch(error.message, /{{node EagerPyFunc}}/);
    assertEquals([calls, (error as tf.errors.OpError).op], [1, "EagerPyFunc"]);
    for (const [name, body] of Object.entries(bodies)) {
      tf.registerScript(`test.${name}@1`, body, { stateful: false });
    }
    assertEquals([await run(bodies.plain), calls], [1, 2]);
    for (
      const [name, effect] of [["counts", "AssignAddVariableOp"], ["keeps", "keep()"]] as const
    ) {
      const error = await assertRejects(() => run(bodies[name]), FailedPreconditionError);
      assert(error.message.includes(`an effect (${effect})`), error.message);
      assertEquals(calls, 1);
    }
    assertEquals([...await v.data() as Float32Array], [1]);
    for (const name of Object.keys(bodies)) tf.unregisterScript(`test.${name}@1`);
    tf.dispose([w, v]);
  },
);

testAwaited("a body that makes what it reads on the GPU is told so", async () => {
  let calls = 0;
  const body = (x: T): T => {
    calls++;
    return tf.device("/GPU:0", () => tf.add(x, valueOf(tf.exp(x))));
  };
  tf.registerScript("test.makes@1", body, { stateful: false });
  for (const text of [/made what it reads on a GPU/, /no body is called twice/]) {
    calls = 0;
    await using g = open(() =>
      tf.pyFunction(body, [tf.placeholder("float32", [], "x")], "float32")
    );
    const run = g.sess.run(g.parts, { feeds: { "x:0": 1 } });
    const error = await assertRejects(() => run, FailedPreconditionError);
    assertMatch(error.message, text);
    assertMatch(error.message, /Make the body async, and await data\(\) at /);
    assertEquals(calls, text.source.startsWith("no") ? 1 : calls);
    tf.unregisterScript("test.makes@1");
  }
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
