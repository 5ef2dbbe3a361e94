/**
 * Bodies that randomly throw, return wrong values, never end, or end unobserved: nothing stays in flight, every error
 * has a place.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { effort } from "../effort.ts";
import { type Any, open, settled, totals } from "./helpers.ts";

type T = tf.Tensor;

/** Numbers that are the same in every run of the tests. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

/** Of 50 runs each. */
const BATCHES = effort(30, 200);

const THROWN: readonly (() => unknown)[] = [
  () => new Error("fuzz"),
  () => new TypeError("fuzz"),
  () => new tf.StopIteration("fuzz"),
  () => new tf.errors.DataLossError("fuzz"),
  () => "fuzz",
  () => undefined,
];

testOnDevices(
  "unreliable bodies leave nothing behind, and their errors name their nodes",
  async () => {
    const next = random(20_26);
    const pick = <V>(list: readonly V[]): V => list[Math.floor(next() * list.length)];
    const late: (() => void)[] = [];
    const inFlight = new Set<AbortSignal>();
    const pending = (ctx: tf.ScriptContext, value: () => unknown): Promise<unknown> => {
      inFlight.add(ctx.signal);
      return new Promise((resolve) =>
        late.push(() => {
          // Code of the body that runs when its run is long over.
          try {
            resolve(value());
          } catch {
            resolve(null);
          }
        })
      );
    };
    let reliable = false;
    const misbehave = (
      good: () => unknown,
      make: (v: Any) => unknown,
      ctx: tf.ScriptContext,
    ): unknown => {
      const kind = reliable ? 0 : Math.floor(next() * 24);
      switch (kind) {
        case 0:
          return Promise.resolve().then(good);
        case 1:
          throw pick(THROWN)();
        case 2:
          return Promise.reject(pick(THROWN)());
        case 3:
          return [make([1, 2]), make([1, 2]), make([3])];
        case 4:
          return make([1, 2, 3]);
        case 5:
          return pick([
            new Float64Array(2),
            new Map(),
            () => 1,
            null,
            undefined,
            { a: 1 },
            ["x", "y"],
            [[1], [2, 3]],
            [null, null],
          ]);
        case 6:
        case 7:
          return pending(ctx, () => make([1, 2]));
      }
      return good();
    };
    const numpy = (x: tf.NdArray, ctx: tf.ScriptContext) =>
      misbehave(() => x.map((v) => (v as number) + 1), (v) => new Float32Array(v), ctx);
    const eager = (x: T, ctx: tf.ScriptContext) =>
      misbehave(
        () => tf.mul(tf.add(x, 1), 2),
        (v) => next() < 0.5 ? tf.tensor(v) : tf.add(tf.mul(tf.sum(x), 0), tf.tensor(v)),
        ctx,
      );
    const spec = tf.TensorSpec([2], "float32");
    const g = open(() => {
      const x = tf.placeholder("float32", [2], "x");
      const a = tf.numpyFunction(numpy, [tf.mul(x, 2)], spec, { name: "numpy_a" });
      const b = tf.pyFunction(eager, [a], spec, { name: "eager_b" });
      const c = tf.pyFunction(eager, [tf.add(x, 1)], spec, { name: "eager_c" });
      const d = tf.numpyFunction(numpy, [tf.add(b, c)], spec, { name: "numpy_d" });
      return [d, tf.gradients(tf.add(b, c), [x])[0], b, tf.add(a, d)].map((t) => t ?? c);
    });
    const NODES = ["numpy_a", "eager_b", "eager_c", "numpy_d"];
    reliable = true;
    const good = await g.sess.run(g.parts, { feeds: { "x:0": [1, 2] } });
    const before = totals();
    const counts = { right: 0, failed: 0, cancelled: 0 };
    for (let batch = 0; batch < BATCHES; batch++) {
      // A slow machine's runs may all meet their abort; in a calm batch those left alone end well.
      reliable = batch % 10 === 0;
      const calm = reliable;
      await Promise.all(Array.from({ length: 50 }, async () => {
        const stop = new AbortController();
        const run = g.sess.run(g.parts, { feeds: { "x:0": [1, 2] }, signal: stop.signal });
        for (let i = Math.floor(next() * 40); i > 0; i--) await Promise.resolve();
        if (next() < 0.3) stop.abort();
        else if (!calm) setTimeout(() => stop.abort(), 1);
        try {
          assertEquals(await run, good);
          counts.right++;
        } catch (e) {
          if (e instanceof tf.errors.CancelledError) counts.cancelled++;
          else {
            assert(e instanceof tf.errors.OpError, String(e));
            assert(NODES.includes(e.node!), `${e.node} of ${e.message}`);
            assert(e.message.includes(`{{node ${e.node}}}`), e.message);
            counts.failed++;
          }
        }
      }));
      // Bodies that were left alone end now, when their runs are over.
      for (const end of late.splice(0)) end();
    }
    assert(Object.values(counts).every((n) => n > BATCHES / 2), JSON.stringify(counts));
    assertEquals([...inFlight].filter((signal) => !signal.aborted), []);
    // Reads of runs that were given up may still be under way.
    await settled(() => totals().numTensors <= before.numTensors, 1000);
    assertEquals(totals(), before);
    await g.sess.close();
  },
);

testOnDevices(
  "runs that are in flight when the session closes end, and what comes after leaves nothing",
  async () => {
    const before = totals();
    const next = random(7);
    for (let round = 0; round < 20; round++) {
      const gates: (() => void)[] = [];
      const wait = () => new Promise<void>((r) => gates.push(r));
      const g = open(() => {
        const x = tf.placeholder("float32", [2], "x");
        const a = tf.pyFunction(
          async (x: T) => {
            await wait();
            return tf.mul(x, tf.tensor([1, 2]));
          },
          [tf.mul(x, 2)],
          "float32",
        );
        const b = tf.numpyFunction(
          async (x: tf.NdArray) => {
            await wait();
            return x;
          },
          [tf.mul(x, 3)],
          "float32",
        );
        return [
          a,
          b,
          tf.gradients(a, [x])[0]!,
          tf.pyFunction((a: T, b: T) => tf.add(a, b), [a, b], "float32"),
        ];
      });
      const runs = Array.from(
        { length: 10 },
        () => g.sess.run(g.parts, { feeds: { "x:0": [1, 2] } }).catch((e) => e),
      );
      for (let i = Math.floor(next() * 5); i > 0; i--) {
        gates.splice(0, 4).forEach((open) => open());
        await Promise.resolve();
      }
      await g.sess.close();
      for (const run of runs) {
        assert(await run instanceof tf.errors.CancelledError || Array.isArray(await run));
      }
      gates.splice(0).forEach((open) => open());
      await new Promise((r) => setTimeout(r));
    }
    await settled(() => totals().numTensors <= before.numTensors, 1000);
    assertEquals(totals(), before);
  },
);
