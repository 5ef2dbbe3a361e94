/** createHandler under load: batches, bounded queues, time limits, draining, and what it counts. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assert, assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";
import { HeldLimit } from "../held_limit.ts";
import { ask, square } from "./models.ts";

const PREDICT = "/v1/models/m:predict";

/** A model whose body waits until it is let go. */
function held(): { f: tf.TracedFunction<[tf.Tensor], { y: tf.Tensor }>; go: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const f = tf.function((x: tf.Tensor) => {
    const y = tf.numpyFunction(
      async (a: tf.NdArray) => {
        await promise;
        if (Number(a.at(0)) < 0) throw new Error("No negative numbers");
        return a;
      },
      [x],
      "float32",
    ) as tf.Tensor;
    y.setShape([null]);
    return { y };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  return { f, go: resolve };
}

testOnDevices("requests that come together share a run and get their own rows", async () => {
  const { f, runs } = square();
  // The batch is full before its time is over, however long requests take to be read.
  const { fetch } = createHandler({ models: { m: f }, batching: { maxRows: 8, maxDelayMs: 1e6 } });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => ask(fetch, PREDICT, { instances: [[i, 1]] })),
  );
  for (const [i, answer] of answers.entries()) {
    assertEquals(await answer.json(), { predictions: [[i * i, 1]] });
  }
  assertEquals(runs, [8]);
});

Deno.test("a batch holds no more rows than it may, and requests keep their order", async () => {
  const { f, runs } = square();
  // Requests are read in one go each, however long that takes.
  using _ = stub(performance, "now", () => 0);
  const { fetch } = createHandler({ models: { m: f }, batching: { maxRows: 4, maxDelayMs: 20 } });
  const sizes = [3, 3, 1, 9];
  const answers = await Promise.all(
    sizes.map((n, i) =>
      ask(fetch, PREDICT, { instances: Array.from({ length: n }, () => [i, i]) })
    ),
  );
  for (const [i, answer] of answers.entries()) {
    assertEquals(await answer.json(), {
      predictions: Array.from({ length: sizes[i] }, () => [i * i, i * i]),
    });
  }
  assertEquals(runs, [4, 3, 9], "the third joined the first");
});

Deno.test("a request that fails in a batch fails alone", async () => {
  const { f, go } = held();
  go();
  const { fetch } = createHandler({ models: { m: f }, batching: { maxDelayMs: 20 } });
  const [bad, good] = await Promise.all([
    ask(fetch, PREDICT, { instances: [-1] }),
    ask(fetch, PREDICT, { instances: [2] }),
  ]);
  assertEquals(await good.json(), { predictions: [2] });
  assertEquals(bad.status, 500);
  assert((await bad.json()).error.includes("No negative numbers"));
});

Deno.test("requests beyond the queue are answered 429, those in it are not lost", async () => {
  const { f, go } = held();
  const { fetch } = createHandler({ models: { m: f }, maxQueued: 2 });
  const asked = Array.from({ length: 6 }, (_, i) => ask(fetch, PREDICT, { instances: [i] }));
  // Bodies are read before requests come into the queue.
  const first = await Promise.race(asked);
  assertEquals([first.status, first.headers.get("retry-after")], [429, "1"]);
  go();
  const answers = await Promise.all(asked);
  assertEquals(answers.map((a) => a.status).sort(), [200, 200, 200, 429, 429, 429]);
});

Deno.test("a request that takes too long is answered 504, and leaves the queue", async () => {
  const { f, go } = held();
  const { fetch } = createHandler({ models: { m: f }, timeoutMs: 10_000 });
  const first = ask(fetch, PREDICT, { instances: [1] });
  const late = await ask(fetch, PREDICT, { instances: [2] }, { "x-timeout-ms": "5" });
  assertEquals(late.status, 504);
  const text = await (await ask(fetch, "/metrics")).text();
  assert(text.includes("weft_queued_requests 0"), text);
  go();
  assertEquals(await (await first).json(), { predictions: [1] });
  assertEquals(
    (await ask(fetch, PREDICT, { instances: [3] }, { "x-timeout-ms": "a" })).status,
    400,
  );
});

Deno.test("a client that goes away leaves the queue", async () => {
  const { f, go } = held();
  const { fetch } = createHandler({ models: { m: f } });
  const first = ask(fetch, PREDICT, { instances: [1] });
  const gone = new AbortController();
  const second = fetch(
    new Request(`http://localhost${PREDICT}`, {
      method: "POST",
      body: `{"instances":[2]}`,
      signal: gone.signal,
    }),
  );
  gone.abort();
  assertEquals((await second).status, 499);
  go();
  assertEquals((await first).status, 200);
});

Deno.test("draining answers what was asked before and refuses what comes after", async () => {
  const { f, go } = held();
  const { fetch, drain } = createHandler({ models: { m: f } });
  const before = ask(fetch, PREDICT, { instances: [1] });
  const drained = drain();
  assertEquals((await ask(fetch, PREDICT, { instances: [1] })).status, 503);
  assertEquals((await ask(fetch, "/v2/health/ready")).status, 503);
  assertEquals((await ask(fetch, "/v2/health/live")).status, 200);
  go();
  await drained;
  assertEquals((await before).status, 200);
});

Deno.test("metrics count answers by status and rows by run", async () => {
  const { f } = square();
  const { fetch } = createHandler({ models: { m: f } });
  await ask(fetch, PREDICT, { instances: [[1, 2], [3, 4]] });
  await ask(fetch, PREDICT, "{");
  await ask(fetch, "/v1/models/other:predict", "{");
  const text = await (await ask(fetch, "/metrics")).text();
  for (
    const line of [
      'weft_requests_total{model="m",status="200"} 1',
      'weft_requests_total{model="m",status="400"} 1',
      'weft_request_seconds_count{model="m"} 2',
      'weft_batch_rows_bucket{model="m",le="1"} 0',
      'weft_batch_rows_bucket{model="m",le="2"} 1',
      'weft_batch_rows_sum{model="m"} 2',
      "weft_active_requests 0",
    ]
  ) assert(text.split("\n").includes(line), `${line}\n\n${text}`);
  assert(!text.includes("other"), "names of clients' own making do not grow the text");
});

testOnDevices("served models leave no tensors behind", async () => {
  const { fetch } = createHandler({ models: { m: square().f } });
  const turn = async (): Promise<void> => {
    await (await ask(fetch, PREDICT, { instances: [[1, 2]] })).text();
    await (await ask(fetch, PREDICT, { instances: [[1]] })).text();
  };
  for (let k = 0; k < 3; k++) await turn();
  const before = tf.memory().numTensors;
  for (let k = 0; k < 50; k++) await turn();
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("a loop without end ends with its request, and others are answered", async () => {
  let begun = Promise.withResolvers<void>();
  const f = tf.function((x: tf.Tensor) => {
    const seen = tf.numpyFunction(
      (a: tf.NdArray) => (begun.resolve(), a),
      [x],
      tf.TensorSpec([null], "float32"),
    ) as tf.Tensor;
    const [y] = tf.whileLoop((v) => tf.greater(tf.min(v), 0), (v) => [tf.add(v, 0)], [seen]);
    return { y };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const before = tf.memory().numTensors;
  for (const batching of [undefined, { maxRows: 8, maxDelayMs: 50 }]) {
    const { fetch } = createHandler({ models: { m: f }, ...batching && { batching } });
    const answered = async (): Promise<void> => {
      const answer = await ask(fetch, PREDICT, { instances: [-1] });
      assertEquals([answer.status, await answer.json()], [200, { predictions: [-1] }]);
    };
    const endless = async (
      status: number,
      headers: Record<string, string>,
      meanwhile: () => Promise<void>,
      signal?: AbortSignal,
    ): Promise<void> => {
      const asked = [1, 2].map((x) => ask(fetch, PREDICT, { instances: [x] }, headers, signal));
      await meanwhile();
      for (const answer of await Promise.all(asked)) {
        assertEquals(answer.status, status);
        await answer.text();
      }
      await answered();
    };
    await endless(504, { "x-timeout-ms": "200" }, async () => {});
    // The loop goes on until the other request has its answer; the time limit is for the case that it has none.
    begun = Promise.withResolvers();
    const gone = new AbortController();
    await endless(499, { "x-timeout-ms": "20000" }, async () => {
      await begun.promise;
      assert((await ask(fetch, "/v2/health/live")).ok);
      gone.abort();
    }, gone.signal);
  }
  assertEquals(tf.memory().numTensors, before);
});

/** A model whose bodies do not end while it hangs, and how often they were called. */
function hanging() {
  const seen = { isHung: false, calls: 0, begun: Promise.withResolvers<void>() };
  const f = tf.function((x: tf.Tensor) => {
    const body = (a: tf.NdArray) => {
      seen.calls++;
      seen.begun.resolve();
      return seen.isHung ? new Promise(() => {}) : a;
    };
    const y = tf.numpyFunction(body, [x], tf.TensorSpec([null], "float32")) as tf.Tensor;
    return { y };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  return { f, seen };
}

/** Asks a model that hangs, and lets its time be over once its body has begun. */
async function askHanging(
  fetch: (request: Request) => Promise<Response>,
  seen: ReturnType<typeof hanging>["seen"],
): Promise<Response> {
  using limit = new HeldLimit();
  seen.begun = Promise.withResolvers();
  const asked = ask(fetch, PREDICT, { instances: [1] }, { "x-timeout-ms": `${limit.ms}` });
  await seen.begun.promise;
  limit.end();
  return await asked;
}

testOnDevices("a body that never ends holds up nobody once its request is given up", async () => {
  const { f, seen } = hanging();
  const { fetch } = createHandler({ models: { m: f }, timeoutMs: Infinity });
  seen.isHung = true;
  const late = await askHanging(fetch, seen);
  assertEquals([late.status, seen.calls], [504, 1]);
  await late.text();
  seen.isHung = false;
  for (const calls of [2, 3]) {
    const answer = await ask(fetch, PREDICT, { instances: [calls] });
    assertEquals([answer.status, seen.calls], [200, calls]);
    await answer.text();
  }
});

testOnDevices(
  "a model whose bodies do not end is not ready after 16 of them, until one ends",
  async () => {
    const { f, seen } = hanging();
    const { fetch } = createHandler({ models: { m: f, other: square().f }, timeoutMs: Infinity });
    const ready = async (model: string): Promise<number> =>
      (await ask(fetch, `/v2/models/${model}/ready`)).status;
    seen.isHung = true;
    for (let k = 0; k < 16; k++) {
      assertEquals(await ready("m"), 200);
      const answer = await askHanging(fetch, seen);
      assertEquals(answer.status, 504);
      await answer.text();
      // The run learns of its end after the answer.
      await nextTask();
    }
    assertEquals([await ready("m"), await ready("other")], [503, 200]);
    seen.isHung = false;
    assertEquals((await ask(fetch, PREDICT, { instances: [1] })).status, 200);
    assertEquals(await ready("m"), 200);
  },
);

testOnDevices("limits that no timer can count are kept", async () => {
  const { f, go } = held();
  const answers = [2 ** 31, 3e9, Infinity].map((timeoutMs) =>
    ask(createHandler({ models: { m: f }, timeoutMs }).fetch, PREDICT, { instances: [1] })
  );
  await new Promise((done) => setTimeout(done, 5));
  go();
  for (const answer of await Promise.all(answers)) {
    assertEquals([answer.status, await answer.json()], [200, { predictions: [1] }]);
  }
});
