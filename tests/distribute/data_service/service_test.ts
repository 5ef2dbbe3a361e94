/** Workers, a dispatcher and clients of ours, in one process. */

import * as tf from "@weft/weft";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  fromService,
  type FromServiceOptions,
  grpcTransport,
  MemoryTransport,
} from "@weft/weft/distribute";
import { nextTask } from "../../../src/engine/runtime/run/timers.ts";
import { CutTransport, graph, Service, square } from "./graphs.ts";

const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const rising = (a: number, b: number): number => a - b;

/** All numbers in the elements of a graph, as a service gives them. */
async function read(
  service: Service,
  name: string,
  options: Partial<FromServiceOptions<tf.TensorSpec>> = {},
): Promise<number[]> {
  const dataset = fromService({
    ...service.options,
    dataset: await graph(name),
    elementSpec: tf.TensorSpec(null, "int64"),
    ...options,
  });
  const seen: number[] = [];
  for await (const x of dataset.asNumpyIterator()) {
    seen.push(...Array.from((x as tf.NdArray).data as BigInt64Array, Number));
  }
  return seen;
}

for (const [name, transport] of [["memory", undefined], ["gRPC", grpcTransport]] as const) {
  Deno.test(`distributed_epoch gives each element once, over ${name}`, async () => {
    await using service = await Service.start(transport && { transport });
    const seen = await read(service, "squares", { processingMode: "distributed_epoch" });
    assertEquals(seen.sort(rising), numbers(1000).map((i) => i * i));
  });
}

Deno.test("parallel_epochs gives each element once for each worker", async () => {
  await using service = await Service.start({ workers: 3 });
  const seen = await read(service, "squares");
  assertEquals(seen.sort(rising), numbers(1000).flatMap((i) => [i * i, i * i, i * i]));
});

Deno.test("sharding by data gives each element once", async () => {
  await using service = await Service.start({ workers: 3 });
  const seen = await read(service, "shuffled", { processingMode: "data" });
  assertEquals(seen.sort(rising), numbers(50));
});

Deno.test("sharding by files needs files", async () => {
  await using service = await Service.start();
  await assertRejects(
    () => read(service, "shuffled", { processingMode: "file" }),
    tf.errors.NotFoundError,
    "unshardable source dataset",
  );
  const seen = await read(service, "shuffled", { processingMode: "file_or_data" });
  assertEquals(seen.sort(rising), numbers(50));
});

Deno.test("distributed_epoch goes through the splits of each repetition", async () => {
  await using service = await Service.start();
  const seen = await read(service, "repeated", { processingMode: "distributed_epoch" });
  assertEquals(seen.sort(rising), numbers(10).flatMap((i) => [i, i, i]));
});

Deno.test("one worker gives the splits of all repetitions", async () => {
  await using service = await Service.start({ workers: 1 });
  const seen = await read(service, "repeated", { processingMode: "distributed_epoch" });
  assertEquals(seen, [...numbers(10), ...numbers(10), ...numbers(10)]);
});

Deno.test("rows of tensors are given out by their index", async () => {
  await using service = await Service.start();
  const seen: number[] = [];
  const dataset = fromService({
    ...service.options,
    dataset: await graph("slices"),
    elementSpec: "int32",
    processingMode: "distributed_epoch",
  });
  for await (const x of dataset.asNumpyIterator()) seen.push(x.item() as number);
  assertEquals(seen.sort(rising), [11, 21, 31, 41, 51]);
});

Deno.test("each pass is an epoch of its own", async () => {
  await using service = await Service.start();
  const dataset = fromService({
    ...service.options,
    dataset: await graph("slices"),
    elementSpec: "int32",
    processingMode: "distributed_epoch",
  });
  assertEquals((await Array.fromAsync(dataset.asNumpyIterator())).length, 5);
  assertEquals((await Array.fromAsync(dataset.asNumpyIterator())).length, 5);
});

Deno.test("clients of one job divide its elements", async () => {
  await using service = await Service.start();
  const options = { processingMode: "distributed_epoch", jobName: "shared" } as const;
  const parts = await Promise.all([
    read(service, "squares", options),
    read(service, "squares", options),
  ]);
  assertEquals(parts.flat().sort(rising), numbers(1000).map((i) => i * i));
});

Deno.test("compressed elements are read, strings among them", async () => {
  await using service = await Service.start({ workers: 1 });
  const dataset = fromService({
    ...service.options,
    dataset: await graph("compressed"),
    elementSpec: [tf.TensorSpec([2], "float32"), "string"] as const,
  });
  const seen: unknown[] = [];
  for await (const [x, y] of dataset.asNumpyIterator()) seen.push([x.toArray(), y.text()]);
  assertEquals(seen, ["a", "bc", "d", "", "f", "gü"].map((text, i) => [[2 * i, 2 * i + 1], text]));
});

Deno.test("the error of a body reaches the client with its class and text", async () => {
  const boom = (x: tf.NdArray): tf.NdArray => {
    if (x.item() === 5n) throw new RangeError("no fives — ever");
    return x;
  };
  for (const transport of [undefined, grpcTransport]) {
    await using service = await Service.start({
      workers: 1,
      scripts: { "test.script@1": boom },
      ...(transport && { transport }),
    });
    const error = await assertRejects(
      () => read(service, "scripts"),
      tf.errors.InvalidArgumentError,
    );
    assertStringIncludes(error.message, "no fives — ever");
  }
});

Deno.test("what a worker lacks is told to the client, all of it", async () => {
  await using service = await Service.start({ workers: 1 });
  const error = await assertRejects(() => read(service, "unknown"), tf.errors.NotFoundError);
  assertStringIncludes(error.message, "'ReadFile'");
  assertStringIncludes(error.message, "'Fact'");
});

Deno.test("a dataset that nobody registered is not found", async () => {
  await using service = await Service.start({ workers: 1 });
  await assertRejects(
    () => read(service, "squares", { dataset: "nothing" }),
    tf.errors.NotFoundError,
    "Dataset id nothing not found",
  );
});

Deno.test("arrays of a service are handed out without a copy", async () => {
  await using service = await Service.start({ workers: 1 });
  const dataset = fromService({
    ...service.options,
    dataset: await graph("slices"),
    elementSpec: "int32",
  });
  const { copy } = tf.NdArray.prototype;
  let copies = 0;
  tf.NdArray.prototype.copy = function () {
    copies++;
    return copy.call(this);
  };
  const copiesOf = async (read: tf.data.Dataset<tf.Tensor>): Promise<number> => {
    copies = 0;
    assertEquals((await Array.fromAsync(read.asNumpyIterator())).length, 5);
    return copies;
  };
  try {
    // What others hold is copied; the worker has copies of its own.
    assertEquals(await copiesOf(dataset.cache()) - await copiesOf(dataset), 5);
  } finally {
    tf.NdArray.prototype.copy = copy;
  }
});

Deno.test("a client that leaves ends the work of its job", async () => {
  await using service = await Service.start({ workers: 1 });
  const dataset = fromService({
    ...service.options,
    dataset: await graph("squares"),
    elementSpec: tf.TensorSpec(null, "int64"),
  });
  for await (const _ of dataset.take(2).asNumpyIterator());
  await until(() => service.workers[0].activeTasks === 0);
});

Deno.test("a worker computes no more than what is asked for, and a little ahead", async () => {
  let calls = 0;
  const counted = (x: tf.NdArray): bigint => {
    calls++;
    return square(x);
  };
  await using service = await Service.start({ workers: 1, scripts: { "test.script@1": counted } });
  const dataset = fromService({
    ...service.options,
    dataset: await graph("scripts"),
    elementSpec: "int64",
    maxOutstandingRequests: 1,
  });
  const pass = dataset.asNumpyIterator();
  await pass.next();
  await new Promise((resolve) => setTimeout(resolve));
  // One read, one asked for, one on its way to be asked for, and the three that a task has ahead.
  assert(calls <= 6, `${calls} calls`);
  await pass.return!();
});

Deno.test("an epoch ends without a worker that is gone, and doubles nothing", async () => {
  const transport = new CutTransport();
  await using service = await Service.start({ workers: 0, transport, workerTimeoutMs: 200 });
  const from = transport.from(() => service.workers[0]?.address ?? "");
  const { address } = await service.join({ transport: from });
  await service.join();
  const dataset = fromService({
    ...service.options,
    dataset: await graph("squares"),
    elementSpec: tf.TensorSpec(null, "int64"),
    processingMode: "distributed_epoch",
  });
  // Time passes a millisecond with each turn of the event loop: a slow machine silences no other worker.
  let isOver = false;
  const clock = { now: 0 };
  using _ = stub(Date, "now", () => clock.now);
  const pass = async (): Promise<void> => {
    for (; !isOver; clock.now++) await nextTask();
  };
  void pass();
  const seen: number[] = [];
  for await (const x of dataset.asNumpyIterator()) {
    seen.push(...Array.from(x.data as BigInt64Array, Number));
    if (seen.length >= 200 && seen.length < 210) await transport.cut(address);
  }
  isOver = true;
  assertEquals(new Set(seen).size, seen.length);
  // What is lost are the batches it was filling and had ready: three ahead, one on its way, one asked for.
  assert(seen.length < 1000 && seen.length >= 1000 - 60, `${seen.length} elements`);
});

Deno.test("a worker that joins later takes part", async () => {
  await using service = await Service.start({ workers: 0 });
  const reading = read(service, "squares", { processingMode: "distributed_epoch" });
  await service.join();
  assertEquals((await reading).sort(rising), numbers(1000).map((i) => i * i));
});

Deno.test("a worker joins a dispatcher that was started anew", async () => {
  const transport = new MemoryTransport(), at = { transport, port: 5050 };
  const first = new DataServiceDispatcher(at);
  await first.start();
  const worker = new DataServiceWorker({
    dispatcher: first.target,
    transport,
    heartbeatMs: 10,
    scripts: { "test.square@1": square },
  });
  await worker.start();
  await first.stop();
  const second = new Service(new DataServiceDispatcher(at), transport);
  await second.dispatcher.start();
  const seen = await read(second, "squares", { processingMode: "distributed_epoch" });
  assertEquals(seen, numbers(1000).map((i) => i * i));
  await worker.stop();
  await second.dispatcher.stop();
});

Deno.test("workers refuse options they do not know, and a dispatcher that is not there", async () => {
  await using service = await Service.start({ workers: 0 });
  await assertRejects(() => service.join({ heartbeat: 3 } as object), TypeError, "heartbeat");
  await assertRejects(
    () => service.join({ dispatcher: "grpc://nobody:9" }),
    tf.errors.UnavailableError,
    "nobody:9",
  );
});

/** Lets others work until something holds. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve));
}

Deno.test("a worker refuses a dispatcher that is no address, when it is made", () => {
  for (const wrong of [{ dispatcher: 3 }, {}, { dispatcher: null }]) {
    const make = (): DataServiceWorker => new DataServiceWorker(wrong as never);
    assertThrows(
      make,
      TypeError,
      "Argument 'dispatcher' passed to 'DataServiceWorker' must be a string",
    );
  }
  assertThrows(() => new DataServiceWorker(undefined as never), TypeError, "Missing arguments");
});
