/** Early ends of calls and runs: by a body's time limit, and by failures beside a waiting body. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileName, testOnDevices } from "../devices.ts";
import { HeldLimit } from "../held_limit.ts";
import { type Any, assertFlat, deferred, errorOf, evaluate, open } from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;

testOnDevices("L5 timeoutMs of an op tells its body why it must stop", async () => {
  const makers = {
    numpy: [tf.numpyFunction, tf.numpyFunctionAsync],
    eager: [tf.pyFunction, tf.pyFunctionAsync],
  } as Any;
  for (const [style, [inGraph, eagerly]] of Object.entries<Any>(makers)) {
    for (const isGraph of [true, false]) {
      const told = deferred<unknown>();
      const body = (_: unknown, ctx: tf.ScriptContext) => {
        ctx.signal.addEventListener("abort", () => told.resolve(ctx.signal.reason));
        return new Promise(() => {});
      };
      const options = { timeoutMs: 1, name: "slow" };
      const error = await errorOf(() =>
        isGraph
          ? evaluate(() => inGraph(body, [tf.constant(1)], "float32", options))
          : eagerly(body, [1], "float32", options)
      );
      assert(error instanceof tf.errors.DeadlineExceededError, style);
      assertEquals(await told.promise, error, style);
    }
  }
});

testOnDevices(
  "L5 timeoutMs of a run ends it while its body goes on, and tells the body",
  async () => {
    using limit = new HeldLimit();
    const told = deferred<unknown>();
    const body = (_: N, ctx: tf.ScriptContext) => {
      ctx.signal.addEventListener("abort", () => told.resolve(ctx.signal.reason));
      // A body's own code, and the wait for it, come before the end.
      queueMicrotask(() => setTimeout(() => limit.end()));
      return new Promise(() => {});
    };
    await assertFlat(async () => {
      await using g = open(() =>
        tf.add(tf.numpyFunction(body, [tf.placeholder("float32", [2], "x")], "float32"), 1)
      );
      const options = { feeds: { "x:0": [1, 2] }, timeoutMs: limit.ms };
      const error = await errorOf(() => g.sess.run(g.parts, options));
      assert(error instanceof tf.errors.DeadlineExceededError);
      assertMatch(error.message, /Timed out waiting for notification/);
      assert(await told.promise === error);
    });
  },
);

Deno.test("a kernel that fails after an awaited body ends the run, with all that is pending", async () => {
  const gone = deferred();
  const pending = (ctx: tf.ScriptContext) =>
    new Promise((_, reject) =>
      ctx.signal.addEventListener("abort", () => {
        gone.resolve();
        reject(ctx.signal.reason);
      })
    );
  for (const others of [false, true]) {
    await assertFlat(async () => {
      await using g = open(() => {
        const at = tf.numpyFunction(
          async (i: N) => await Promise.resolve(i),
          [tf.placeholder("int32", [1], "i")],
          tf.TensorSpec([1], "int32"),
        );
        // On a GPU such an index gives zeros.
        const y = tf.device("/CPU:0", () => tf.gather(tf.constant([1, 2, 3]), at));
        return others ? [y, tf.numpyFunction(pending, [], "float32")] : [y];
      });
      const error = await errorOf(() => g.sess.run(g.parts, { feeds: { "i:0": [3] } }));
      assert(error instanceof tf.errors.InvalidArgumentError, error.message);
      assertMatch(error.message, /indices\[0\] = 3 is not in \[0, 3\)/);
      assertEquals(error.op, "GatherV2");
    });
  }
  await gone.promise;
});

testOnDevices(
  "H1 calls that wait at the same time own what each makes, whichever ends first",
  async () => {
    using x = tf.tensor([1, 2]);
    for (const order of [[0, 1], [1, 0]]) {
      await assertFlat(async () => {
        const gates = [deferred(), deferred()];
        const calls = gates.map((gate, i) =>
          tf.pyFunctionAsync(
            async (v: T) => {
              await gate.promise;
              // Made of nothing that the call was given.
              tf.mul(tf.tensor([5, 6]), 2);
              await Promise.resolve();
              return tf.add(v, tf.add(tf.tensor([i, i]), 1));
            },
            [x],
            "float32",
          )
        );
        for (const i of order) {
          gates[i].resolve();
          using y = await calls[i];
          assertEquals(y.arraySync(), [2 + i, 3 + i]);
        }
      });
    }
  },
);

testOnDevices(
  "what a body hands back of what it was given or found stays its owner's",
  async () => {
    using x = tf.tensor([1, 2]), found = tf.tensor([3, 4]), kept = tf.keep(tf.tensor([5, 6]));
    const bodies: [(v: T) => T, number[]][] = [
      [(v) => v, [1, 2]],
      [() => x, [1, 2]],
      [() => found, [3, 4]],
      [() => kept, [5, 6]],
      [(v) => tf.keep(tf.add(v, 1)), [2, 3]],
    ];
    for (const [body, wanted] of bodies) {
      for (const isAsync of [false, true]) {
        const y = isAsync
          ? await tf.pyFunctionAsync(async (v: T) => (await v.data(), body(v)), [x], "float32")
          : tf.pyFunction(body, [x], "float32");
        assertEquals(y.arraySync(), wanted);
        assertEquals([x, found, kept].filter((t) => t === y || t.id === y.id), [], String(body));
        y.dispose();
        const alive = [x, found, kept].map((t) => t.arraySync());
        assertEquals(alive, [[1, 2], [3, 4], [5, 6]], String(body));
      }
    }
  },
);

testOnDevices(
  "what an awaited body computes of variables is freed with it, and differentiated",
  async () => {
    using x = tf.tensor([1, 2]), v = tf.variable([3, 4]);
    await assertFlat(async () => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      using y = await tf.pyFunctionAsync(
        async (t: T) => {
          await t.data();
          const doubled = tf.mul(v, 2);
          await Promise.resolve();
          return tf.mul(t, tf.square(doubled));
        },
        [x],
        "float32",
      );
      assertEquals(y.arraySync(), [36, 128]);
      const [dx, dv] = tape.gradient(y, [x, v]) as T[];
      assertEquals([dx.arraySync(), dv.arraySync()], [[36, 64], [24, 64]]);
      dx.dispose();
      dv.dispose();
    });
  },
);

/** Async eager calls that fail after their first await: the calls have left the stack by then. */
const LATE: Readonly<Record<string, (call: Any) => Promise<unknown>>> = {
  "a time limit": (call) => call(() => new Promise(() => {}), [1], "float32", { timeoutMs: 1 }),
  "a result of another dtype": (call) =>
    call(async () => await Promise.resolve("text"), [1], "float32"),
  "a wrong count": (call) => call(async () => await Promise.resolve([1]), [1], ["int32", "int32"]),
  "an error without a stack": (call) => call(() => Promise.reject("gone"), [1], "float32"),
};

for (const [what, fail] of Object.entries(LATE)) {
  testOnDevices(`${what} of an awaited eager call begins at its line`, async () => {
    for (const call of [tf.numpyFunctionAsync, tf.pyFunctionAsync]) {
      const error = await errorOf(() => fail(call));
      const [first] = error.stack!.slice(error.stack!.indexOf(error.message) + error.message.length)
        .trim().split("\n");
      assertMatch(first!, new RegExp(fileName(import.meta.url)));
    }
  });
}
