/**
 * TensorFlow's own dispatcher and client with workers of ours, and its workers with a client of ours. They run where
 * WEFT_TENSORFLOW_PYTHON names a Python that has TensorFlow.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { DataServiceWorker, fromService, grpcTransport } from "@weft/weft/distribute";
import { graph, square } from "./graphs.ts";
import { PYTHON, Python } from "./python.ts";
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
      const [first, second] = read as number[][];
      assertEquals(first.length, 60);
      assertEquals(second, first.map((x) => x + 1));
      assertEquals(first.filter((x) => x % 2 !== 0), []);
      // Both workers give all elements, over and over.
      assertEquals(new Set(first).size, 20);
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
  },
});

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
