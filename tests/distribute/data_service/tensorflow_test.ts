/**
 * TensorFlow's own dispatcher and client with workers of ours, and its workers with a client of ours. They run where
 * WEFT_TENSORFLOW_PYTHON names a Python that has TensorFlow.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  fromService,
  grpcTransport,
} from "@weft/weft/distribute";
import { graph, square } from "./graphs.ts";
import { PYTHON, Python } from "../python.ts";
import { PIPELINES, plain } from "./pipelines.ts";

const PROGRAM = "tensorflow_service.py";

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const rising = (a: number, b: number): number => a - b;
const scripts = {
  "test.square@1": square,
  "test.same@1": (x: tf.NdArray) => x,
  "test.angle@1": (x: tf.NdArray) => `<${x.text()}>`,
  "test.boom@1": (x: tf.NdArray) => {
    if (x.item() === 5n) throw new RangeError("no fives — ever");
    return x;
  },
};

/** Reads a job that counts up to 40 repeatedly with two consumers of Weft's. */
function together(service: string, count: number): Promise<number[][]> {
  return Promise.all([0, 1].map(async (consumerIndex) => {
    const dataset = tf.data.range(40).repeat()
      .distribute({ service, jobName: "ours", consumerIndex, numConsumers: 2, heartbeatMs: 100 });
    const seen: number[] = [];
    for await (const x of dataset.take(count).asNumpyIterator()) seen.push(Number(x.item()));
    return seen;
  }));
}

/** Checks that two consumers have consecutive elements in each round, all of them. */
function assertTogether([first, second]: readonly number[][], count: number): void {
  assertEquals(first.length, count);
  assertEquals(second, first.map((x) => x + 1));
  assertEquals(first.filter((x) => x % 2 !== 0), []);
  assertEquals(new Set(first).size, 20);
}

Deno.test({
  name: "TensorFlow's client reads what workers of ours compute",
  ignore: PYTHON === undefined,
  async fn(t) {
    await using python = new Python(PROGRAM, "dispatcher");
    const { target } = await python.read();
    const workers = [1, 2].map(() =>
      new DataServiceWorker({ dispatcher: target, scripts, heartbeatMs: 200 })
    );
    for (const worker of workers) await worker.start();
    const squares = numbers(1000).map((i) => i * i);
    for (const compression of ["none", "auto"]) {
      await t.step(
        `distributed_epoch gives each element once, compression ${compression}`,
        async () => {
          const { elements } = await python.ask("squares", "distributed_epoch", compression);
          assertEquals(elements.sort(rising), squares);
        },
      );
      await t.step(`strings, compression ${compression}`, async () => {
        const { elements } = await python.ask("strings", "distributed_epoch", compression);
        assertEquals(elements.sort(), ["<>", "<a>", "<bc>", "<gü>"]);
      });
    }
    await t.step("parallel_epochs gives each element once for each worker", async () => {
      const { elements } = await python.ask("squares", "parallel_epochs", "auto");
      assertEquals(elements.sort(rising), squares.flatMap((x) => [x, x]));
    });
    await t.step("repeated passes have splits of their own", async () => {
      const { elements } = await python.ask("repeated", "distributed_epoch", "auto");
      assertEquals(elements.sort(rising), numbers(20).flatMap((i) => [i, i, i]));
    });
    await t.step("large tensors, as many bytes as were made", async () => {
      const { elements } = await python.ask("large", "distributed_epoch", "none");
      assertEquals(elements.sort(rising), [0, 1, 2, 3].map((i) => i * 25_000_000));
    });
    await t.step("consumers that read together have the elements of each round", async () => {
      const { read, errors } = await python.ask("pairs", "together", "2", "60");
      assertEquals(errors, []);
      assertTogether(read, 60);
    });
    await t.step("consumers that read together hear of an end", async () => {
      const { errors } = await python.ask("ends", "together", "2", "5");
      assertEquals(errors.map(([name]: string[]) => name), [
        "FailedPreconditionError",
        "FailedPreconditionError",
      ]);
      assertStringIncludes(errors[0][1], "the dataset must be infinite");
    });
    await t.step("the error of a body has its class and text in Python", async () => {
      const { error, text } = await python.ask("boom", "distributed_epoch", "auto");
      assertEquals(error, "InvalidArgumentError");
      assertStringIncludes(text, "no fives — ever");
    });
    await t.step("a script that is not here is named", async () => {
      const { error, text } = await python.ask("nobody", "distributed_epoch", "auto");
      assertEquals(error, "NotFoundError");
      assertStringIncludes(text, '"test.nobody@1"');
    });
    await t.step("workers outlive a dispatcher and a client that leave in the middle", async () => {
      await python.ask("leave", "distributed_epoch", "none");
      await python.ended;
      // By now the worker knows of it, and goes on asking for its dispatcher.
      const channel = grpcTransport.connect(target);
      await assertRejects(() => channel.call("/", new Uint8Array()), tf.errors.UnavailableError);
      channel.close();
      assertEquals(workers.map((w) => w.address !== ""), [true, true]);
    });
    for (const worker of workers) await worker.stop();
  },
});

Deno.test({
  name: "a client of ours reads what TensorFlow's workers compute",
  ignore: PYTHON === undefined,
  async fn() {
    await using python = new Python(PROGRAM, "workers");
    const { target } = await python.read();
    const dataset = fromService({
      service: target,
      dataset: await graph("repeated"),
      elementSpec: "int64",
      processingMode: "distributed_epoch",
    });
    const seen: number[] = [];
    for await (const x of dataset.asNumpyIterator()) seen.push(Number(x.item()));
    assertEquals(seen.sort(rising), numbers(10).flatMap((i) => [i, i, i]));
    assert(target.startsWith("grpc://"));
    assertTogether(await together(target, 60), 60);
  },
});

for (const role of ["client", "workers"]) {
  Deno.test({
    name: `TensorFlow's ${
      role === "client" ? role : "client and workers"
    } meet at a dispatcher of ours`,
    ignore: PYTHON === undefined,
    async fn(t) {
      await using dispatcher = new DataServiceDispatcher();
      await dispatcher.start();
      const { target } = dispatcher, isOurs = role === "client";
      const workers = isOurs
        ? [1, 2].map(() => new DataServiceWorker({ dispatcher: target, scripts, heartbeatMs: 200 }))
        : [];
      for (const worker of workers) await worker.start();
      await using python = new Python(PROGRAM, role, target);
      await python.read();
      await t.step("distributed_epoch gives each element once", async () => {
        for (const compression of ["none", "auto"]) {
          const { elements } = await python.ask("repeated", "distributed_epoch", compression);
          assertEquals(elements.sort(rising), numbers(20).flatMap((i) => [i, i, i]));
        }
      });
      await t.step("consumers that read together have the elements of each round", async () => {
        const { read, errors } = await python.ask("endless", "together", "2", "60");
        assertEquals(errors, []);
        assertTogether(read, 60);
        assertTogether(await together(target, 60), 60);
      });
      await t.step("a worker of ours that joins in the middle disturbs no round", async () => {
        const asked = python.ask("endless", "together", "2", "3000");
        const late = new DataServiceWorker({ dispatcher: target, heartbeatMs: 100 });
        await late.start();
        const { read, errors } = await asked;
        assertEquals(errors, []);
        assertTogether(read, 3000);
        await late.stop();
      });
      for (const worker of workers) await worker.stop();
    },
  });
}

Deno.test({
  name: "TensorFlow's workers compute datasets of ours",
  ignore: PYTHON === undefined,
  async fn(t) {
    await using python = new Python(PROGRAM, "workers");
    const { target } = await python.read();
    for (const [name, make] of Object.entries(PIPELINES)) {
      await t.step(name, async () => {
        const dataset = make(),
          sorted = (all: unknown[]) => all.map((e) => JSON.stringify(e)).sort();
        const here = await Array.fromAsync(dataset.asNumpyIterator(), plain);
        const remote = dataset.distribute({ service: target });
        // Each of two workers computes all of it.
        assertEquals(
          sorted(await Array.fromAsync(remote.asNumpyIterator(), plain)),
          sorted([...here, ...here]),
        );
      });
    }
  },
});
