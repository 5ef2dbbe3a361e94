/** Sessions on TensorFlow's own servers. They run where WEFT_TENSORFLOW_PYTHON names a Python that has TensorFlow. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { grpcTransport } from "@weft/weft/distribute";
import { near as nearAll, together } from "./replica.ts";
import { PYTHON, Python } from "../python.ts";

const { errors } = tf, v1 = tf.compat.v1;

function near(actual: unknown, expected: unknown, tolerance = 1e-5): void {
  const flat = (v: unknown): number[] =>
    v instanceof tf.NdArray ? (v.toArray() as number[]).flat(9).map(Number) : [Number(v)];
  const [a, b] = [flat(actual), flat(expected)];
  assertEquals(a.length, b.length);
  a.forEach((x, i) =>
    assert(Math.abs(x - b[i]) <= tolerance * (1 + Math.abs(b[i])), `${a} is not ${b}`)
  );
}

Deno.test({
  name: "graphs of ours run on TensorFlow's servers",
  ignore: PYTHON === undefined,
  async fn(t) {
    await using python = new Python("tensorflow_servers.py", "2");
    const { targets: [target] } = await python.read();
    const both = async (
      graph: tf.Graph,
      fetches: readonly tf.Tensor[],
      feeds: Readonly<Record<string, tf.TensorLike>> = {},
    ): Promise<void> => {
      await using here = new tf.Session({ graph }), there = new tf.Session({ graph, target });
      const [wanted, given] = [
        await here.run(fetches, { feeds }),
        await there.run(fetches, { feeds }),
      ];
      fetches.forEach(({ dtype }, i) => {
        if (dtype.startsWith("float")) near(given[i], wanted[i]);
        else assertEquals(given[i], wanted[i]);
      });
    };

    await t.step("ops, functions, branches, loops, strings and wide integers", async () => {
      const g = new tf.Graph();
      const ys = g.asDefault(() => {
        const x = tf.placeholder("float32", [null, 2], "x"), sum = tf.sum(x);
        const f = tf.function((a: tf.Tensor) => tf.gelu(tf.matMul(a, [[1, 2], [3, 4]])));
        return [
          tf.softmax(tf.mul(x, x)),
          f(x) as tf.Tensor,
          tf.cond(tf.greater(sum, 0), () => tf.relu(x), () => tf.neg(x)) as tf.Tensor,
          ...tf.whileLoop((i) => tf.less(i, 500), (i) => [tf.mul(i, 2)], [sum]) as tf.Tensor[],
          tf.constant(["a", "ü", ""], "string"),
          tf.mul(tf.cast(sum, "int64"), tf.constant([2n ** 40n], "int64")),
          tf.greater(x, 1),
          tf.zeros([3, 0]),
        ];
      });
      await both(g, ys, { "x:0": [[1, 2], [-3, 4]] });
    });

    await t.step("messages of 10 and 100 MB, there and back", async () => {
      const g = new tf.Graph();
      const y = g.asDefault(() => tf.neg(tf.placeholder("float32", [null], "x")));
      await using session = new tf.Session({ graph: g, target });
      for (const megabytes of [10, 100]) {
        const x = new Float32Array(megabytes * 250_000).map((_, i) => i % 1000);
        const { data } = await session.run(y, { feeds: { "x:0": x } }) as tf.NdArray;
        assertEquals(data.length, x.length);
        assert(x.every((v, i) => data[i] === -v));
      }
    });

    await t.step(
      "variables are there when another session comes, on the task they ask for",
      async () => {
        const make = (): { g: tf.Graph; v: tf.Variable; init: tf.Operation; more: tf.Tensor } => {
          const g = new tf.Graph();
          return g.asDefault(() =>
            tf.device("/job:worker/task:1", () => {
              const v = tf.variable([1, 2], true, "shared_by_sessions");
              return {
                g,
                v,
                init: v1.globalVariablesInitializer() as tf.Operation,
                more: v.assignAdd([1, 1])!,
              };
            })
          );
        };
        const one = make(), two = make();
        await using a = new tf.Session({ graph: one.g, target }),
          b = new tf.Session({ graph: two.g, target });
        assertEquals((await a.listDevices()).map((d) => d.name), [
          "/job:worker/replica:0/task:0/device:CPU:0",
          "/job:worker/replica:0/task:1/device:CPU:0",
        ]);
        await assertRejects(
          () => a.run(one.v),
          errors.FailedPreconditionError,
          "shared_by_sessions",
        );
        await a.run(one.init);
        near(await b.run(two.more), await a.run(one.v));
        near(await a.run(one.v), new tf.NdArray("float32", [2], Float32Array.of(2, 3)));
      },
    );

    await t.step("a network is trained there, with gradients that are built here", async () => {
      const g = new tf.Graph();
      const { init, step, loss } = g.asDefault(() => {
        const x = tf.placeholder("float32", [null, 2], "x"),
          y = tf.placeholder("float32", [null, 1], "y");
        const w = tf.variable(tf.zeros([2, 1]), true, "w_trained");
        const loss = tf.mean(tf.square(tf.sub(tf.matMul(x, w), y))) as tf.Tensor;
        const step = new v1.train.GradientDescentOptimizer(0.1).minimize(loss);
        return { loss, step, init: v1.globalVariablesInitializer() as tf.Operation };
      });
      const feeds = { "x:0": [[1, 2], [3, 4]], "y:0": [[5], [11]] };
      const losses = async (session: tf.Session): Promise<unknown[]> => {
        await session.run(init);
        const seen = [];
        for (let i = 0; i < 5; i++) {
          seen.push(await session.run(loss, { feeds }));
          await session.run(step as tf.Operation, { feeds });
        }
        return seen;
      };
      await using here = new tf.Session({ graph: g }), there = new tf.Session({ graph: g, target });
      const wanted = await losses(here);
      (await losses(there)).forEach((l, i) => near(l, wanted[i]));
    });

    await t.step(
      "four replicas train on a task of it as one with four times the batch",
      async () => {
        const options = {
          device: "/job:worker/task:1",
          optimizer: new v1.train.AdamOptimizer(0.01),
        };
        const where = { target, transport: grpcTransport };
        const one = await together(where, 10, { ...options, replicas: 1, name: "one" });
        const four = await together(where, 10, { ...options, replicas: 4, name: "four" });
        nearAll(four.losses, one.losses);
        const loose = await together(where, 10, {
          ...options,
          replicas: 3,
          mode: "async",
          name: "loose",
        });
        const [p] = loose.parameters;
        assert(
          p.every(Number.isFinite) && p.some((v, i) => Math.abs(v - one.parameters[0][i]) < 0.2),
        );
      },
    );

    await t.step("scripts run at home, with gradients and in two waves", async () => {
      const g = new tf.Graph();
      const ys = g.asDefault(() => {
        const x = tf.placeholder("float32", [2], "x"), h = tf.mul(x, x);
        const a = tf.numpyFunction(
          (v: tf.NdArray) => v.map((e) => Math.sin(Number(e))),
          [h],
          tf.TensorSpec([2], "float32"),
        ) as tf.Tensor;
        const b = tf.pyFunction((v: tf.Tensor) => tf.mul(v, tf.square(v)), [
          tf.add(h, tf.stopGradient(a)),
        ], tf.TensorSpec([2], "float32")) as tf.Tensor;
        const loss = tf.sum(tf.mul(b, h)) as tf.Tensor;
        return [a, b, loss, ...tf.gradients(loss, [x])] as tf.Tensor[];
      });
      await both(g, ys, { "x:0": [0.5, -1.5] });
    });

    await t.step("a Python function runs at the task that knows it", async () => {
      const g = new tf.Graph(), sinh = tf.registerScript("test.sinh2@1", (x: tf.NdArray) => x);
      try {
        const y = g.asDefault(() => {
          const x = tf.placeholder("float32", [], "x");
          return tf.device(
            "/job:worker/task:1",
            () => tf.numpyFunction(sinh, [x], "float32"),
          ) as tf.Tensor;
        });
        await using session = new tf.Session({ graph: g, target });
        near(await session.run(y, { feeds: { "x:0": 1 } }), 2 * Math.sinh(1));
      } finally {
        tf.unregisterScript("test.sinh2@1");
      }
    });

    await t.step("errors have TensorFlow's class and text, and our place", async () => {
      const g = new tf.Graph();
      const { x, y, nan } = g.asDefault(() => {
        const x = tf.placeholder("float32", null, "x");
        return {
          x,
          y: tf.matMul(x, [[1], [2]]),
          nan: tf.debugging.checkNumerics(x, "no numbers") as tf.Tensor,
        };
      });
      await using session = new tf.Session({ graph: g, target });
      const run = (fetch: tf.Tensor, value: tf.TensorLike): Promise<unknown> =>
        session.run(fetch, { feeds: new Map([[x, value]]) });
      const e = await assertRejects(() => run(y, [[1, 2, 3]]), errors.InvalidArgumentError);
      assertStringIncludes(e.message, "/job:worker/replica:0/task:0");
      assertStringIncludes(e.message, "target_tensorflow_test.ts");
      await assertRejects(() => run(nan, [NaN]), errors.InvalidArgumentError, "no numbers");
      near(await run(y, [[1, 2]]), new tf.NdArray("float32", [1, 1], Float32Array.of(5)));
    });

    await t.step("a run that takes too long or is cancelled ends", async () => {
      const g = new tf.Graph();
      const [y] = g.asDefault(() => {
        const most = tf.placeholder("float32", [], "most");
        return tf.whileLoop((i) => tf.less(i, most), (i) => [tf.add(i, 1)], [0]);
      }) as tf.Tensor[];
      await using session = new tf.Session({ graph: g, target });
      assertEquals(await session.run(y, { feeds: { "most:0": 3 } }), 3);
      const feeds = { "most:0": 1e30 };
      await assertRejects(
        () => session.run(y, { feeds, timeoutMs: 200 }),
        errors.DeadlineExceededError,
      );
      const stop = new AbortController();
      const cancelled = assertRejects(
        () => session.run(y, { feeds, signal: stop.signal }),
        errors.CancelledError,
      );
      setTimeout(() => stop.abort(), 50);
      await cancelled;
      assertEquals(await session.run(y, { feeds: { "most:0": 5 } }), 5);
    });
  },
});
