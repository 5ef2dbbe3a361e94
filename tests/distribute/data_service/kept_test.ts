/** Passes that ended and clients that never read leave nothing in a data service. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { stub } from "@std/testing/mock";
import { DataServiceDispatcher, MemoryTransport } from "@weft/weft/distribute";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { DispatcherService, WorkerService } from "../../../src/tensorflow/proto/data_service_pb.ts";
import { Service } from "./graphs.ts";

const m = DispatcherService.method;
const MODES = ["parallel_epochs", "distributed_epoch", "data"] as const;

for (const processingMode of MODES) {
  for (const left of ["at their end", "before it", "by errors"] as const) {
    Deno.test(`workers keep no task of passes that are left ${left}, ${processingMode}`, async () => {
      await using service = await Service.start({ workers: 2 });
      const before = tf.memory().numTensors;
      for (let k = 0; k < 20; k++) {
        const squares = tf.data.range(6)
          .map((x) =>
            left === "by errors"
              ? tf.debugging.checkNumerics(tf.div(1, tf.cast(x, "float32")), "bad")
              : tf.square(x)
          )
          .distribute({ ...service.options, processingMode });
        try {
          for await (using _ of squares) if (left === "before it") break;
          assert(left !== "by errors");
        } catch (error) {
          assert(left === "by errors" && error instanceof tf.errors.InvalidArgumentError);
        }
      }
      for (const { address } of service.workers) {
        const channel = service.transport.connect(address);
        const kept = async (): Promise<number> =>
          (await call(channel, WorkerService.method.getWorkerTasks, {})).tasks.length;
        // The next heartbeats tell the workers what to give up.
        while (await kept() > 0) await new Promise((resolve) => setTimeout(resolve));
        channel.close();
      }
      assertEquals(service.workers.map((w) => w.activeTasks), [0, 0]);
      assertEquals(tf.memory().numTensors, before);
    });
  }
}

Deno.test("a dispatcher drops jobs that nobody begins to read, after a start anew too", async () => {
  const workDir = await Deno.makeTempDir();
  const transport = new MemoryTransport(), port = 5050, clientTimeoutMs = 1000;
  const clock = { now: 0 };
  using _ = stub(Date, "now", () => clock.now);
  const start = async (): Promise<DataServiceDispatcher> => {
    const dispatcher = new DataServiceDispatcher({ transport, port, workDir, clientTimeoutMs });
    await dispatcher.start();
    return dispatcher;
  };
  let dispatcher = await start();
  const channel = transport.connect(dispatcher.target);
  const sweep = () => call(channel, m.workerHeartbeat, { workerAddress: "w:1" });
  const dataset = { graph: { node: [{ name: "sink", op: "_Retval" }] } };
  const { datasetId } = await call(channel, m.getOrRegisterDataset, { dataset });
  const job = async (jobName = ""): Promise<bigint> =>
    (await call(channel, m.getOrCreateJob, { datasetId, jobName })).jobId;
  const open = (jobId: bigint) => call(channel, m.getOrCreateIteration, { jobId });
  const [read, ...unread] = [await job(), await job(), await job("named"), await job()];
  await open(read!);
  clock.now = 900;
  await sweep();
  // A client begins in time.
  await open(unread.pop()!);
  await dispatcher.stop();
  dispatcher = await start();
  clock.now = 1800;
  await sweep();
  const late = await job();
  clock.now = 1901;
  await sweep();
  for (const jobId of unread) await assertRejects(() => open(jobId), tf.errors.NotFoundError);
  await open(await job("named"));
  await open(late);
  await dispatcher.stop();
  const kept = (await Deno.readTextFile(`${workDir}/journal.jsonl`)).split("\n");
  assertEquals(kept.filter((line) => line.includes('"dropped"')).length, unread.length);
  await Deno.remove(workDir, { recursive: true });
  channel.close();
});
