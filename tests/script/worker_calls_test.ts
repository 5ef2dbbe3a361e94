/** Calls of bodies in workers, of whichever kind a platform has: this file runs in pages as well. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endIdleWorkers, workerCount } from "../../src/engine/script/workers/worker_pool.ts";
import { threadOptions } from "../../src/engine/script/workers/worker_thread.ts";
import { pack, unpack } from "../../src/engine/script/workers/worker_wire.ts";
import { testOnDevices } from "../devices.ts";
import { HeldLimit } from "../held_limit.ts";
import { type Any, errorOf, evaluate, open } from "./helpers.ts";

type N = tf.NdArray;
const worker = true;

testOnDevices("what does not fit what was declared is an error, and loses no worker", async () => {
  const call = (body: () => unknown, tout: Any = tf.TensorSpec([2], "float32")) =>
    evaluate(() => tf.numpyFunction(body, [], tout, { worker, name: "n" }));
  endIdleWorkers();
  const rows: [() => unknown, Any, RegExp][] = [
    [() => new Int32Array(2), tf.errors.InvalidArgumentError, /0-th value .* is int32, but/],
    [() => new Float32Array(3), tf.errors.InvalidArgumentError, /has shape \[3\]/],
    [() => ["a", "b"], tf.errors.InvalidArgumentError, /is string, but expects float/],
    [() => [Symbol.iterator], tf.errors.InternalError, /Unsupported object type in the result/],
  ];
  for (const [body, Class, text] of rows) {
    const error = await errorOf(() => call(body));
    assert(error instanceof Class, `${error.name}: ${error.message}`);
    assertMatch(error.message, text);
  }
  assertEquals(workerCount(), 1);
  assertEquals(await call(() => new Float32Array([1, 2])), [1, 2]);
});

testOnDevices("calls in workers are all answered, whatever their order", async () => {
  const body = async (x: N) => {
    const i = Number(x.at(0));
    if (i % 7 === 3) await new Promise((resolve) => setTimeout(resolve));
    if (i % 10 === 9) throw new RangeError(`no ${i}`);
    return x.map((v) => 2 * Number(v));
  };
  const results = await Promise.allSettled(
    Array.from(
      { length: 60 },
      (_, i) => tf.numpyFunctionAsync(body, [tf.fill([2000], i)], "float32", { worker }),
    ),
  );
  for (const [i, r] of results.entries()) {
    if (r.status === "fulfilled") {
      const data = await r.value.data();
      assertEquals([data.length, data[1999]], [2000, 2 * i]);
      r.value.dispose();
    } else assertMatch(String(r.reason), new RegExp(`RangeError: no ${i}\n`));
    assertEquals(r.status === "rejected", i % 10 === 9);
  }
  assert(workerCount() <= navigator.hardwareConcurrency);
});

Deno.test("a Web Worker that closes itself is an error of its op", async () => {
  threadOptions.webWorkers = true;
  try {
    endIdleWorkers();
    const error = await errorOf(() =>
      tf.numpyFunctionAsync(() => self.close(), [], "float32", { worker })
    );
    assert(error instanceof tf.errors.UnknownError);
    assertMatch(error.message, /closed itself before the body returned/);
    using y = await tf.numpyFunctionAsync(() => 1, [], "float32", { worker });
    assertEquals((await y.data())[0], 1);
  } finally {
    threadOptions.webWorkers = false;
    endIdleWorkers();
  }
});

Deno.test("packed arrays are handed over, and no more than themselves", () => {
  type Row = [unknown, number[]];
  const isShared = typeof SharedArrayBuffer !== "undefined";
  const own = new Float32Array(5000), large = new Float32Array(1e6);
  const rows: Row[] = [
    [new tf.NdArray("float32", [50, 100], own), [own.byteLength]],
    [[own, { own }], [own.byteLength]],
    [large.subarray(10, 5010), [own.byteLength]],
    [large.subarray(10, 20), []],
    ...isShared ? [[new Float32Array(new SharedArrayBuffer(40_000)), [40_000]] as Row] : [],
    [new tf.NdArray("string", [2], [new Uint8Array(9000), new Uint8Array(large.buffer, 0, 4)]), [
      9004,
    ]],
    [new Uint8Array(10), []],
  ];
  for (const [value, sizes] of rows) {
    const transfer: ArrayBuffer[] = [];
    const sent = structuredClone(pack(value, transfer));
    assertEquals(transfer.map((b) => b.byteLength), sizes);
    assertEquals(unpack(sent), value);
  }
});

/** Runs a body, which says that it began, and aborts its run; then asks workers for what it left, until one knows. */
async function markAfterAbort(body: (ctx: tf.ScriptContext) => unknown): Promise<unknown> {
  endIdleWorkers();
  await using g = open(() => tf.numpyFunction(body, [], "float32", { worker }));
  const channel = new BroadcastChannel("weft.tests.began");
  const controller = new AbortController();
  const began = new Promise((resolve) => channel.onmessage = resolve);
  const run = errorOf(() => g.sess.run(g.parts, { signal: controller.signal }));
  await began;
  channel.close();
  const ask = async () => {
    using y = await tf.numpyFunctionAsync(() => (globalThis as Any).mark ?? 0, [], "float32", {
      worker,
    });
    return (await y.data())[0];
  };
  // What the worker said of its body has come with the answer of another one at the latest.
  assertEquals(await ask(), 0);
  controller.abort();
  assert(await run instanceof tf.errors.CancelledError);
  for (let i = 0; i < 5000; i++) {
    const mark = await ask();
    if (mark !== 0) return mark;
  }
  return 0;
}

testOnDevices(
  "a body that listens to its signal ends by itself, and keeps its worker",
  async () => {
    const waits = ({ signal }: tf.ScriptContext) => {
      const channel = new BroadcastChannel("weft.tests.began");
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          (globalThis as Any).mark = signal.aborted ? 7 : 1;
          channel.close();
          reject(signal.reason);
        });
        channel.postMessage("began");
      });
    };
    // The time that a body has to end by itself: a slow machine's takes longer.
    using _ = new HeldLimit(500);
    assertEquals(await markAfterAbort(waits), 7);
  },
);

testOnDevices("a body that computes sees its signal where memory is shared", async () => {
  if (typeof SharedArrayBuffer === "undefined" || navigator.hardwareConcurrency < 2) return;
  const computes = async ({ signal }: tf.ScriptContext) => {
    const channel = new BroadcastChannel("weft.tests.began");
    channel.postMessage("began");
    // The message leaves when the body waits.
    await new Promise((resolve) => setTimeout(resolve));
    channel.close();
    while (!signal.aborted);
    (globalThis as Any).mark = signal.reason.name === "AbortError" ? 8 : 1;
    return 1;
  };
  assertEquals(await markAfterAbort(computes), 8);
});
