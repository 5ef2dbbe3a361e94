/** createHandler under load: batches, bounded queues, time limits, draining, and what it counts. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
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
  const { fetch } = createHandler({ models: { m: f }, batching: { maxRows: 8, maxDelayMs: 50 } });
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
  const f = tf.function((x: tf.Tensor) => {
    const [y] = tf.whileLoop((v) => tf.greater(tf.min(v), 0), (v) => [tf.add(v, 0)], [x]);
    return { y };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const before = tf.memory().numTensors;
  for (const batching of [undefined, { maxRows: 8, maxDelayMs: 50 }]) {
    const { fetch } = createHandler({
      models: { m: f },
      timeoutMs: 200,
      ...batching && { batching },
    });
    const endless = [1, 2].map((x) => ask(fetch, PREDICT, { instances: [x] }));
    let isLive = false;
    setTimeout(async () => isLive = (await ask(fetch, "/v2/health/live")).ok, 60);
    for (const answer of await Promise.all(endless)) {
      assertEquals(answer.status, 504);
      await answer.text();
    }
    assert(isLive);
    const answer = await ask(fetch, PREDICT, { instances: [-1] });
    assertEquals([answer.status, await answer.json()], [200, { predictions: [-1] }]);
  }
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("a body that never ends holds up nobody once its request is given up", async () => {
  let calls = 0;
  const f = tf.function((x: tf.Tensor) => {
    const body = (a: tf.NdArray) => calls++ === 0 ? new Promise(() => {}) : a;
    const y = tf.numpyFunction(body, [x], tf.TensorSpec([null], "float32")) as tf.Tensor;
    return { y };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const { fetch } = createHandler({ models: { m: f }, timeoutMs: 100 });
  for (const [i, status] of [504, 200, 200].entries()) {
    const answer = await ask(fetch, PREDICT, { instances: [i] });
    assertEquals([answer.status, calls], [status, i + 1]);
    await answer.text();
  }
});

testOnDevices(
  "a model whose bodies do not end is not ready after 16 of them, until one ends",
  async () => {
    let isHung = true;
    const f = tf.function((x: tf.Tensor) => {
      const body = (a: tf.NdArray) => isHung ? new Promise(() => {}) : a;
      const y = tf.numpyFunction(body, [x], tf.TensorSpec([null], "float32")) as tf.Tensor;
      return { y };
    }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
    const { fetch } = createHandler({ models: { m: f, other: square().f }, timeoutMs: 10 });
    const ready = async (model: string): Promise<number> =>
      (await ask(fetch, `/v2/models/${model}/ready`)).status;
    for (let k = 0; k < 16; k++) {
      assertEquals(await ready("m"), 200);
      const answer = await ask(fetch, PREDICT, { instances: [1] });
      assertEquals(answer.status, 504);
      await answer.text();
      // The run learns of its end after the answer.
      await new Promise((done) => setTimeout(done, 0));
    }
    assertEquals([await ready("m"), await ready("other")], [503, 200]);
    isHung = false;
    const patient = { "x-timeout-ms": "10" };
    for (let k = 0; k < 100; k++) {
      const { status } = await ask(fetch, PREDICT, { instances: [1] }, patient);
      if (status === 200) break;
    }
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
