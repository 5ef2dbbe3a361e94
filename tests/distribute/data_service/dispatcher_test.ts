/** Weft's dispatcher: its memory after a restart, dropped workers, refusals. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import {
  type Channel,
  DataServiceDispatcher,
  DataServiceWorker,
  type Listener,
  MemoryTransport,
  type ServiceOptions,
} from "@weft/weft/distribute";
import { call } from "../../../src/cluster/wire/rpc.ts";
import {
  DeploymentMode,
  DispatcherService,
} from "../../../src/tensorflow/proto/data_service_pb.ts";
import { Service } from "./graphs.ts";

const { errors } = tf;
const EACH_ONCE = { processingMode: "distributed_epoch" } as const;
const rising = (a: number, b: number): number => a - b;
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

function numbers(n: number, options: ServiceOptions): AsyncIterable<tf.NdArray> {
  return tf.data.range(n).distribute(options).asNumpyIterator();
}

async function values(elements: AsyncIterable<tf.NdArray>): Promise<number[]> {
  return (await Array.fromAsync(elements, (x) => Number(x.item()))).sort(rising);
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A network whose every step takes more turns of promises: an open port is known later than its first calls come. */
class SlowTransport extends MemoryTransport {
  readonly #turns: () => Promise<void>;

  constructor(turns: () => number) {
    super();
    this.#turns = async () => {
      for (let left = turns(); left > 0; left--) await null;
    };
  }

  override async listen(...args: Parameters<MemoryTransport["listen"]>): Promise<Listener> {
    const listener = await super.listen(...args);
    await this.#turns();
    return {
      ...listener,
      close: async () => {
        await listener.close();
        await this.#turns();
      },
    };
  }

  override connect(...args: Parameters<MemoryTransport["connect"]>): Channel {
    const channel = super.connect(...args);
    return {
      ...channel,
      call: async (...call) => {
        await this.#turns();
        const answer = await channel.call(...call);
        await this.#turns();
        return answer;
      },
    };
  }
}

/** Turns of another number each time, the same in each run. */
function mixedTurns(most: number): () => number {
  let state = 1;
  return () => (state = state * 48271 % 2147483647) % most;
}

const TURNS: readonly (readonly [string, () => number])[] = [
  ["", () => 0],
  ...[1, 2, 3, 8].map((n) => [` and ${n} turns more at each step`, () => n] as const),
  [" and many turns more at each step", mixedTurns(40)],
];
for (const [what, turns] of TURNS) {
  Deno.test(`an epoch goes on with a dispatcher that is started anew again and again${what}`, () =>
    inFolder(async (workDir) => {
      const transport = new SlowTransport(turns), at = { transport, port: 5050, workDir };
      let dispatcher = new DataServiceDispatcher(at);
      await dispatcher.start();
      const workers = [1, 2].map(() =>
        new DataServiceWorker({ dispatcher: "127.0.0.1:5050", transport, heartbeatMs: 5 })
      );
      for (const worker of workers) await worker.start();
      const seen: number[] = [];
      const options = { service: dispatcher.target, transport, heartbeatMs: 5, ...EACH_ONCE };
      for await (const x of numbers(300, options)) {
        if (seen.push(Number(x.item())) % 60 !== 0) continue;
        await dispatcher.stop();
        dispatcher = new DataServiceDispatcher(at);
        await dispatcher.start();
      }
      // What was being given out when it stopped may be lost, and nothing comes twice.
      assertEquals(new Set(seen).size, seen.length);
      assertEquals(seen.length > 300 - 5 * workers.length, true);
      // The next pass, and the one of another reader, are epochs of their own.
      assertEquals(await values(numbers(10, options)), upTo(10));
      for (const worker of workers) await worker.stop();
      await dispatcher.stop();
    }));
}

/** A network in which a call comes as soon as a port is open. */
class EarlyTransport extends MemoryTransport {
  call: ((channel: Channel) => Promise<unknown>) | null = null;
  early: Promise<unknown> = Promise.resolve();

  override listen(...args: Parameters<MemoryTransport["listen"]>): Promise<Listener> {
    const listening = super.listen(...args);
    const target = `${args[0].host}:${args[0].port}`;
    if (this.call !== null) this.early = this.call(this.connect(target));
    return listening;
  }
}

Deno.test("a dispatcher answers calls that come before its journal is read as those that come after", () =>
  inFolder(async (workDir) => {
    const transport = new EarlyTransport(), { method } = DispatcherService;
    const start = async (): Promise<DataServiceDispatcher> => {
      const dispatcher = new DataServiceDispatcher({ transport, port: 5050, workDir });
      await dispatcher.start();
      return dispatcher;
    };
    const first = await start(), channel = transport.connect(first.target);
    const dataset = { graph: { node: [{ name: "sink", op: "_Retval" }] } };
    const { datasetId } = await call(channel, method.getOrRegisterDataset, { dataset });
    const { jobId } = await call(channel, method.getOrCreateJob, { datasetId, jobName: "read" });
    const { iterationClientId } = await call(channel, method.getOrCreateIteration, { jobId });
    await first.stop();
    const early: readonly ((channel: Channel) => Promise<unknown>)[] = [
      (c) => call(c, method.clientHeartbeat, { iterationClientId }),
      (c) => call(c, method.getDatasetDef, { datasetId }),
      (c) => call(c, method.getOrCreateIteration, { jobId }),
      async (c) =>
        assertEquals(
          (await call(c, method.getOrCreateJob, { datasetId, jobName: "read" })).jobId,
          jobId,
        ),
      async (c) => {
        const { newTasks } = await call(c, method.workerHeartbeat, { workerAddress: "w:1" });
        assertEquals(newTasks.length, 1);
      },
    ];
    for (transport.call of early) {
      const again = await start();
      await transport.early;
      await again.stop();
    }
    transport.call = (c) =>
      assertRejects(
        () => call(c, method.clientHeartbeat, { iterationClientId }),
        errors.UnavailableError,
      );
    await Deno.writeTextFile(`${workDir}/journal.jsonl`, '{"another":1}\n');
    await assertRejects(start, errors.DataLossError, "no journal");
    await transport.early;
  }));

Deno.test("without a work folder a dispatcher that is started anew knows no readers", async () => {
  const transport = new MemoryTransport(), at = { transport, port: 5050 };
  const first = new DataServiceDispatcher(at);
  await first.start();
  const options = { service: first.target, transport, heartbeatMs: 5, ...EACH_ONCE };
  const pass = tf.data.range(3).distribute(options).asNumpyIterator();
  const next = pass.next();
  const worker = new DataServiceWorker({ dispatcher: first.target, transport, heartbeatMs: 5 });
  await worker.start();
  await next;
  await first.stop();
  const second = new DataServiceDispatcher(at);
  await second.start();
  await assertRejects(async () => {
    while (!(await pass.next()).done);
  }, errors.NotFoundError);
  await worker.stop();
  await second.stop();
});

Deno.test("a journal whose last line is cut off is read up to there, another file is refused", () =>
  inFolder(async (workDir) => {
    const transport = new MemoryTransport();
    const start = async (): Promise<DataServiceDispatcher> => {
      const dispatcher = new DataServiceDispatcher({ transport, workDir });
      await dispatcher.start();
      return dispatcher;
    };
    const first = await start();
    const pass = tf.data.range(3).distribute({ service: first.target, transport })
      .asNumpyIterator();
    const next = pass.next();
    const worker = new DataServiceWorker({ dispatcher: first.target, transport });
    await worker.start();
    await next;
    await pass.return();
    await worker.stop();
    await first.stop();
    const path = `${workDir}/journal.jsonl`, text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, `${text}{"is":"da`);
    await (await start()).stop();
    await Deno.writeTextFile(path, '{"another":1}\n');
    await assertRejects(start, errors.DataLossError, "no journal");
  }));

Deno.test("readers of one job must agree on its mode", async () => {
  await using service = await Service.start();
  const shared = { ...service.options, jobName: "shared" };
  assertEquals(await values(numbers(4, { ...shared, ...EACH_ONCE })), upTo(4));
  await assertRejects(
    () => values(numbers(4, { ...shared, processingMode: "parallel_epochs" })),
    errors.InvalidArgumentError,
    "shared",
  );
});

Deno.test("who joins a job that has ended gets nothing of that pass", async () => {
  await using service = await Service.start();
  const options = { ...service.options, ...EACH_ONCE, jobName: "once" };
  assertEquals(await values(numbers(6, options)), upTo(6));
  assertEquals(await values(numbers(6, options)), []);
});

Deno.test("shards need workers to be counted, and stay as they were cut", async () => {
  await using service = await Service.start({ workers: 0 });
  const options = { ...service.options, processingMode: "data" } as const;
  await assertRejects(() => values(numbers(8, options)), errors.FailedPreconditionError);
  await service.join();
  await service.join();
  const pass = numbers(8, options)[Symbol.asyncIterator]();
  const first = await pass.next();
  // It comes too late for this pass.
  await service.join();
  const rest: number[] = [Number(first.value.item())];
  for (let next; !(next = await pass.next()).done;) rest.push(Number(next.value.item()));
  assertEquals(rest.sort(rising), upTo(8));
});

Deno.test("a reader that is not heard of is given up, and its job's tasks with it", async () => {
  const transport = new MemoryTransport();
  let ahead = 0;
  const { now } = Date;
  using _ = stub(Date, "now", () => now() + ahead);
  const dispatcher = new DataServiceDispatcher({ transport, clientTimeoutMs: 60_000 });
  await dispatcher.start();
  const worker = new DataServiceWorker({
    dispatcher: dispatcher.target,
    transport,
    heartbeatMs: 5,
  });
  await worker.start();
  const options = { service: dispatcher.target, transport, heartbeatMs: 60_000 };
  const pass = tf.data.range(1000).distribute(options).asNumpyIterator();
  await pass.next();
  for (; worker.activeTasks > 0; ahead += 1000) await new Promise((resolve) => setTimeout(resolve));
  await pass.return();
  await worker.stop();
  await dispatcher.stop();
});

/** A network in which the first calls of elements do not arrive. */
class LateTransport extends MemoryTransport {
  missing: number;

  constructor(missing: number) {
    super();
    this.missing = missing;
  }

  override connect(...args: Parameters<MemoryTransport["connect"]>): Channel {
    const channel = super.connect(...args);
    return {
      close: () => channel.close(),
      call: (path, ...rest) =>
        path.endsWith("/GetElement") && this.missing-- > 0
          ? Promise.reject(new errors.UnavailableError("Nobody is there"))
          : channel.call(path, ...rest),
    };
  }
}

Deno.test("a worker that the dispatcher hears of is tried until it answers", async () => {
  await using service = await Service.start({ workers: 1, transport: new LateTransport(4) });
  // Much less than it takes.
  assertEquals(await values(numbers(5, { ...service.options, workerTimeoutMs: 1 })), upTo(5));
});

Deno.test("clients are told what was said of a dataset, workers get it with their task", async () => {
  const transport = new MemoryTransport();
  await using dispatcher = new DataServiceDispatcher({ transport });
  await dispatcher.start();
  const channel = transport.connect(dispatcher.target), { method } = DispatcherService;
  const metadata = { elementSpec: new Uint8Array([1, 2]), cardinality: -1n };
  const dataset = { graph: { node: [{ name: "sink", op: "_Retval" }] } };
  const { datasetId } = await call(channel, method.getOrRegisterDataset, { dataset, metadata });
  const told = await call(channel, method.getDataServiceMetadata, { datasetId });
  assertEquals(told.metadata?.elementSpec, metadata.elementSpec);
  assertEquals(told.metadata?.cardinality, -1n);
  const { config } = await call(channel, method.getDataServiceConfig, {});
  assertEquals(config?.deploymentMode, DeploymentMode.REMOTE);
  const compression = { datasetId, disableCompressionAtRuntime: true };
  const answer = await call(channel, method.disableCompressionAtRuntime, compression);
  assertEquals(answer.noCompressionToDisable, true);
  const { jobId } = await call(channel, method.getOrCreateJob, { datasetId });
  await call(channel, method.getOrCreateIteration, { jobId });
  const { newTasks } = await call(channel, method.workerHeartbeat, { workerAddress: "w:1" });
  assertEquals(newTasks.map((t) => t.datasetDef?.graph?.node[0].op), ["_Retval"]);
  channel.close();
});
