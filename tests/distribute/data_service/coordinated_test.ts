/** Coordinated reads: consumers, a dispatcher and workers of ours, whose workers come and go. */

import * as tf from "@weft/weft";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  type Channel,
  DataServiceDispatcher,
  DataServiceWorker,
  grpcTransport,
  MemoryTransport,
  type ServiceOptions,
  type Transport,
} from "@weft/weft/distribute";
import { progressed, Removals } from "../../../src/cluster/data_service/coordination.ts";
import type { TaskState } from "../../../src/cluster/data_service/dispatcher_state.ts";
import { Turns, type TurnTask } from "../../../src/cluster/data_service/turns.ts";
import { SKIP_MS } from "../../../src/cluster/data_service/rounds.ts";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { WorkerService } from "../../../src/tensorflow/proto/data_service_pb.ts";
import { HeldLimit } from "../../held_limit.ts";
import { CutTransport, Service } from "./graphs.ts";

const { errors } = tf;

type Pass = AsyncIterator<tf.NdArray>;

/** Consumers of one job, which count up to 40 over and over. */
function consumers(count: number, options: ServiceOptions): Pass[] {
  return Array.from({ length: count }, (_, consumerIndex) =>
    tf.data.range(40).repeat()
      .distribute({ ...options, jobName: "together", consumerIndex, numConsumers: count })
      .asNumpyIterator()[Symbol.asyncIterator]());
}

/** Returns each consumer's next element. */
async function round(passes: readonly Pass[]): Promise<number[]> {
  // Calls in memory leave no time for heartbeats.
  await new Promise((resolve) => setTimeout(resolve));
  const next = await Promise.all(passes.map((pass) => pass.next()));
  return next.map(({ value }) => Number(value.item()));
}

/** Reads rounds, of which each is consecutive elements; returns the first of each. */
async function rounds(passes: readonly Pass[], count: number): Promise<number[]> {
  const firsts: number[] = [];
  for (let i = 0; i < count; i++) {
    const seen = await round(passes), [first] = seen;
    assertEquals(seen, seen.map((_, k) => first + k));
    assertEquals(first % passes.length, 0);
    firsts.push(first);
  }
  return firsts;
}

/** Reads until elements come from two workers in turn: those of one rise. */
async function untilTwo(passes: readonly Pass[]): Promise<void> {
  for (let [last] = await rounds(passes, 1), next = 0;; last = next) {
    [next] = await rounds(passes, 1);
    if (next !== (last + passes.length) % 40) return;
  }
}

const leave = (passes: readonly Pass[]) => Promise.all(passes.map((pass) => pass.return?.()));

/** Counts the occurrences of each number. */
function counts(numbers: readonly number[]): number[] {
  const by = Map.groupBy(numbers, (n) => n);
  return [...by.values()].map((all) => all.length);
}

for (const [name, transport] of [["memory", undefined], ["gRPC", grpcTransport]] as const) {
  Deno.test(`consumers have consecutive elements of one worker in each round, over ${name}`, async () => {
    // A worker has as long as it takes for the elements of a round: none is left out as late.
    using _ = new HeldLimit(SKIP_MS);
    await using service = await Service.start(transport && { transport });
    const passes = consumers(2, service.options);
    const firsts = await rounds(passes, 40);
    // Two workers give all of it, in turn.
    assertEquals(counts(firsts), Array(20).fill(2));
    await leave(passes);
  });
}

for (
  const [name, numConsumers] of [["one consumer has", 0], ["consumers in rounds have", 2]] as const
) {
  Deno.test(`${name} the elements of workers that have not heard of their task`, async () => {
    // No heartbeat of theirs comes while this runs but those that requests call for.
    await using service = await Service.start({ heartbeatMs: 1e9 });
    if (numConsumers === 0) {
      const all = tf.data.range(6).distribute(service.options).asNumpyIterator();
      assertEquals((await Array.fromAsync(all, (x) => Number(x.item()))).length, 12);
      return;
    }
    using _ = new HeldLimit(SKIP_MS);
    const passes = consumers(numConsumers, service.options);
    assertEquals(counts(await rounds(passes, 20)), Array(10).fill(2));
    await leave(passes);
  });
}

Deno.test("a worker asked for tasks that do not exist says so, and ends while it is asked", async () => {
  const service = await Service.start({ workers: 1, heartbeatMs: 1e9 });
  const channel = service.transport.connect(service.workers[0].address);
  const asked = (taskId: bigint): Promise<unknown> =>
    call(channel, WorkerService.method.getElement, { taskId });
  await assertRejects(() => asked(999n), errors.UnavailableError, "Task 999 is not here yet");
  const last = assertRejects(() => asked(998n), errors.UnavailableError);
  await service[Symbol.asyncDispose]();
  await last;
});

Deno.test("consumers that come early have the elements of their round when the last one asks", async () => {
  await using service = await Service.start({ workers: 1 });
  const passes = consumers(4, service.options);
  const early = passes.slice(0, 3).map((pass) => pass.next());
  const last = await passes[3].next();
  const values = [...await Promise.all(early), last].map(({ value }) => Number(value.item()));
  assertEquals(values, [0, 1, 2, 3]);
  await leave(passes);
});

Deno.test("a worker that joins later takes part from one round on for all", async () => {
  await using service = await Service.start({ workers: 1 });
  const passes = consumers(2, service.options);
  await rounds(passes, 10);
  const late = await service.join();
  // It is read once all consumers have agreed.
  await untilTwo(passes);
  assertEquals(late.activeTasks, 1);
  await leave(passes);
});

Deno.test("consumers leave a worker that none of them can reach, and go on with the others", async () => {
  const transport = new CutTransport();
  await using service = await Service.start({ workers: 1, transport });
  const doomed = new DataServiceWorker({
    dispatcher: service.dispatcher.target,
    transport: transport.from(() => "127.0.0.1:9"),
    port: 9,
    heartbeatMs: 10,
  });
  await doomed.start();
  const passes = consumers(2, service.options);
  await rounds(passes, 10);
  await transport.cut("127.0.0.1:9");
  await rounds(passes, 60);
  await leave(passes);
  await doomed.stop();
});

/** A network that says when a consumer gives up a worker. */
class WatchedTransport extends CutTransport {
  readonly removal = Promise.withResolvers<void>();

  override connect(...args: Parameters<CutTransport["connect"]>): Channel {
    const channel = super.connect(...args);
    return {
      close: () => channel.close(),
      call: (path, ...rest) => {
        if (path.endsWith("/MaybeRemoveTask")) this.removal.resolve();
        return channel.call(path, ...rest);
      },
    };
  }
}

Deno.test("a consumer that waits for others to give up a worker may leave", async () => {
  const transport = new WatchedTransport();
  await using service = await Service.start({ workers: 1, transport });
  const passes = consumers(2, service.options);
  await rounds(passes, 3);
  await passes[1].return?.();
  // What both have asked for is here; for more the first waits alone.
  await passes[0].next();
  await transport.cut(service.workers[0].address);
  await transport.removal.promise;
  await passes[0].return?.();
});

Deno.test("consumers go on with a dispatcher that is started anew", async () => {
  const workDir = await Deno.makeTempDir();
  try {
    const transport: Transport = new MemoryTransport(), at = { transport, port: 5050, workDir };
    let dispatcher = new DataServiceDispatcher(at);
    await dispatcher.start();
    const join = async (): Promise<DataServiceWorker> => {
      const worker = new DataServiceWorker({
        dispatcher: dispatcher.target,
        transport,
        heartbeatMs: 5,
      });
      await worker.start();
      return worker;
    };
    const workers = [await join()];
    const passes = consumers(2, { service: dispatcher.target, transport, heartbeatMs: 5 });
    await rounds(passes, 10);
    workers.push(await join());
    await dispatcher.stop();
    dispatcher = new DataServiceDispatcher(at);
    await dispatcher.start();
    await untilTwo(passes);
    await leave(passes);
    for (const worker of workers) await worker.stop();
    await dispatcher.stop();
  } finally {
    await Deno.remove(workDir, { recursive: true });
  }
});

Deno.test("each consumer hears of an end that no size told of", async () => {
  await using service = await Service.start({ workers: 1 });
  const passes = [0, 1].map((consumerIndex) =>
    tf.data.range(3).filter((x) => tf.less(x, 10n))
      .distribute({ ...service.options, jobName: "ends", consumerIndex, numConsumers: 2 })
      .asNumpyIterator()[Symbol.asyncIterator]()
  );
  assertEquals(await round(passes), [0, 1]);
  for (const next of passes.map((pass) => pass.next())) {
    await assertRejects(() => next, errors.FailedPreconditionError, "must be infinite");
  }
});

Deno.test("consumers that cannot read together are refused", async () => {
  const endless = tf.data.range(3).repeat(), service = "grpc://nobody:1", jobName = "j";
  for (
    const [options, why] of [
      [{ jobName, consumerIndex: 0 }, "numConsumers undefined: wanted both"],
      [{ jobName, numConsumers: 2 }, "consumerIndex undefined"],
      [{ jobName, consumerIndex: 2, numConsumers: 2 }, "less than the number"],
      [{ jobName, consumerIndex: -1, numConsumers: 2 }, "from 0"],
      [{ jobName, consumerIndex: 0.5, numConsumers: 2 }, "consumerIndex 0.5"],
      [{ consumerIndex: 0, numConsumers: 2 }, "wanted a jobName"],
    ] as const
  ) {
    assertThrows(() => endless.distribute({ service, ...options }), tf.ValueError, why);
  }
  const options = { service, jobName, consumerIndex: 0, numConsumers: 2 };
  assertThrows(() => tf.data.range(3).distribute(options), tf.ValueError, "of 3 elements");
  await using running = await Service.start();
  const first = consumers(2, running.options);
  await round(first);
  const [third] = consumers(3, running.options);
  const error = await assertRejects(
    () => third.next() as Promise<unknown>,
    errors.InvalidArgumentError,
  );
  assertStringIncludes(error.message, "for 2 consumers");
  await leave(first);
});

/** Tasks by their number and first round. */
const tasks = (...rounds: number[]): TurnTask[] =>
  rounds.map((startingRound, i) => ({ id: BigInt(i), startingRound, asked: null }));

Deno.test("tasks have their turns in the order of their numbers, from their first round on", () => {
  const turns = new Turns(), all = tasks(0, 2, 0).toReversed();
  const asked = Array.from({ length: 9 }, () => [Number(turns.next(all)!.id), turns.round]);
  assertEquals(asked, [[0, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2], [2, 2], [0, 3], [1, 3]]);
  assertEquals(turns.next([]), null);
});

Deno.test("a task that is awaited holds up those after it", () => {
  const turns = new Turns(), [first, second] = tasks(0, 0);
  assertEquals(turns.next([{ ...first, asked: 1 }, second]), null);
  assertEquals(turns.next([first, second])?.id, 0n);
});

Deno.test("a round that is held is not begun, one that has begun goes on", () => {
  const turns = new Turns(), all = tasks(0, 0);
  turns.hold(1n);
  assertEquals(Array.from({ length: 3 }, () => turns.next(all)?.id), [0n, 1n, undefined]);
  assertEquals(turns.progress, { currentRound: 1n, blockedRound: 1n });
  turns.hold(undefined);
  assertEquals([turns.next(all)?.id, turns.isHeld], [0n, false]);
  turns.hold(1n);
  assertEquals([turns.next(all)?.id, turns.isHeld], [1n, false]);
  assertEquals(turns.progress, { currentRound: 1n });
});

Deno.test("a task is agreed upon by consumers before its round, and deferred by those past it", () => {
  const task: TaskState = {
    ...{ id: 7, worker: "w", shard: { index: 0, count: 1 }, round: 5, failures: 2, ended: null },
    ready: new Set([1]),
  };
  const says = (round: number, blocked?: number, client = 2) =>
    progressed(task, { client, round, blocked });
  assertEquals(says(4), null);
  assertEquals(says(5), { is: "deferred", task: 7, round: 13 });
  assertEquals(says(5, 5), { is: "agreed", task: 7, client: 2 });
  assertEquals(says(2, 3), { is: "agreed", task: 7, client: 2 });
  assertEquals(says(5, 5, 1), null);
  // It holds at a later one.
  assertEquals(says(4, 6), null);
  assertEquals(says(6, 5), { is: "deferred", task: 7, round: 14 });
});

Deno.test("a task is removed when all consumers ask for it at once", async () => {
  const removals = new Removals(),
    { signal } = new AbortController(),
    call = { consumers: 2, signal };
  const gone = new AbortController();
  const left = removals.agreed(1, 0, { consumers: 2, signal: gone.signal });
  gone.abort();
  assertEquals(await left, false);
  const both = [removals.agreed(1, 0, call), removals.agreed(2, 1, call)];
  assertEquals(await removals.agreed(1, 1, call), true);
  assertEquals(await both[0], true);
  // The other consumer of task 2 can reach it.
  assert(!await both[1]);
});
