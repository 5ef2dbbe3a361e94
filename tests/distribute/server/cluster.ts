/** Servers of ours as masters and clients call them, and the partitions that TensorFlow cut for two tasks. */

import * as tf from "@weft/weft";
import {
  type Channel,
  grpcTransport,
  MemoryTransport,
  Server,
  type ServerOptions,
  type Transport,
} from "@weft/weft/distribute";
import { readGraphDef } from "@weft/weft/tf";
import { call } from "../../../src/cluster/wire/rpc.ts";
import { arrayOf } from "../../../src/cluster/wire/element_wire.ts";
import { MasterService, type RunStepResponse } from "../../../src/tensorflow/proto/master_pb.ts";
import { type RunGraphResponse, WorkerService } from "../../../src/tensorflow/proto/worker_pb.ts";
import type { TensorProto } from "../../../src/tensorflow/proto/tensor_pb.ts";
import { graphDefMessage, tensorMessage } from "../../../src/tensorflow/files/to_message.ts";
import { tensorToJson } from "../../../src/tensorflow/graph_def/values.ts";

export type GraphDef = Awaited<ReturnType<typeof readGraphDef>>;
type Value = number | readonly number[] | tf.NdArray;
type Values = Readonly<Record<string, Value>>;

/** A test over gRPC, and one in memory. */
export function onTransports(name: string, fn: (transport: Transport) => Promise<void>): void {
  Deno.test(`${name}, over gRPC`, () => fn(grpcTransport));
  Deno.test(`${name}, in memory`, () => fn(new MemoryTransport()));
}

/** A value as an array: numbers are float32. */
export function array(value: Value): tf.NdArray {
  if (value instanceof tf.NdArray) return value;
  const t = tf.tensor(value), read = t.ndarraySync();
  t.dispose();
  return read;
}

function message(value: Value): TensorProto {
  return tensorMessage(tensorToJson(array(value)));
}

/** A client's results of a step. */
export interface StepResult {
  readonly values: unknown[];
  readonly names: string[];
  readonly response: RunStepResponse;
}

/** A master's results of a partition. */
export interface PartitionResult {
  readonly values: unknown[];
  readonly response: RunGraphResponse;
}

/** A task in this process and a way to it. */
export class TestTask implements AsyncDisposable {
  readonly server: Server;
  readonly channel: Channel;

  private constructor(server: Server) {
    this.server = server;
    this.channel = server.transport.connect(server.target);
  }

  static async start(options: ServerOptions = {}): Promise<TestTask> {
    const server = new Server({ cluster: { worker: ["127.0.0.1:0"] }, ...options });
    await server.start();
    return new TestTask(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.channel.close();
    await this.server.stop();
  }
}

/** A client's session at a task. */
export class TestSession {
  readonly #channel: Channel;
  readonly handle: string;
  version: bigint;

  private constructor(channel: Channel, handle: string, version: bigint) {
    this.#channel = channel;
    this.handle = handle;
    this.version = version;
  }

  static async open(
    { channel }: TestTask,
    def: GraphDef,
    config: { isolateSessionState?: boolean; operationTimeoutInMs?: bigint } = {},
  ): Promise<TestSession> {
    const { sessionHandle, graphVersion } = await call(
      channel,
      MasterService.method.createSession,
      { graphDef: graphDefMessage(def), config: { allowSoftPlacement: true, ...config } },
    );
    return new TestSession(channel, sessionHandle, graphVersion);
  }

  async extend(def: GraphDef): Promise<void> {
    const { newGraphVersion } = await call(this.#channel, MasterService.method.extendSession, {
      sessionHandle: this.handle,
      graphDef: graphDefMessage(def),
      currentGraphVersion: this.version,
    });
    this.version = newGraphVersion;
  }

  /** The values of `fetch`, in their order. */
  async run(
    fetch: readonly string[],
    { feeds = {}, target = [], signal, timeoutMs = 0, inBody = false }: {
      readonly feeds?: Values;
      readonly target?: readonly string[];
      readonly signal?: AbortSignal;
      readonly timeoutMs?: number;
      readonly inBody?: boolean;
    } = {},
  ): Promise<StepResult> {
    const response = await call(this.#channel, MasterService.method.runStep, {
      sessionHandle: this.handle,
      feed: Object.entries(feeds).map(([name, value]) => ({ name, tensor: message(value) })),
      fetch: [...fetch],
      target: [...target],
      options: { timeoutInMs: BigInt(timeoutMs) },
      storeErrorsInResponseBody: inBody,
    }, signal && { signal });
    const values = response.tensor.map(({ tensor }) => arrayOf(tensor!).toArray());
    return { values, names: response.tensor.map((t) => t.name), response };
  }

  async close(): Promise<void> {
    await call(this.#channel, MasterService.method.closeSession, { sessionHandle: this.handle });
  }
}

/** A partition of fixtures/. */
export function fixture(name: string): Promise<GraphDef> {
  return readGraphDef(new URL(`../fixtures/partitions/${name}.pb`, import.meta.url).pathname);
}

/** The same, for devices with other numbers than those it was cut for. */
async function partition(
  name: string,
  incarnations: ReadonlyMap<string, bigint>,
): Promise<GraphDef> {
  const def = await fixture(name);
  for (const { attr = {} } of def.node) {
    if (attr.send_device === undefined) continue;
    const device = textOf(attr.send_device.s);
    attr.send_device_incarnation = { i: String(BigInt.asIntN(64, incarnations.get(device)!)) };
  }
  return def;
}

function textOf(s: unknown): string {
  return new TextDecoder().decode(s as Uint8Array);
}

/** Two tasks, `worker` and `script`, with the partitions of one graph: what a master does with them. */
export class Cluster implements AsyncDisposable {
  readonly tasks: ReadonlyMap<string, TestTask>;
  readonly defs: Map<string, GraphDef> = new Map();
  readonly handles: Map<string, string> = new Map();
  #steps = 100n;

  private constructor(tasks: ReadonlyMap<string, TestTask>) {
    this.tasks = tasks;
  }

  /** Starts the tasks and registers the partitions of a case. */
  static async start(
    name: string,
    transport: Transport,
    options: ServerOptions = {},
  ): Promise<Cluster> {
    const jobs = ["worker", "script"], cluster: Record<string, string[]> = {};
    for (const job of jobs) cluster[job] = [`127.0.0.1:${await freePort(transport)}`];
    const tasks = new Map<string, TestTask>();
    for (const job of jobs) {
      tasks.set(job, await TestTask.start({ cluster, job, transport, ...options }));
    }
    const made = new Cluster(tasks);
    const incarnations = new Map<string, bigint>();
    for (const job of jobs) {
      const { deviceAttributes } = await call(
        made.channel(job),
        WorkerService.method.getStatus,
        {},
      );
      for (const { name, incarnation } of deviceAttributes) incarnations.set(name, incarnation);
    }
    for (const job of jobs) {
      const def = await partition(`${name}.${job}`, incarnations);
      await call(made.channel(job), WorkerService.method.createWorkerSession, {
        sessionHandle: "s",
      });
      const { graphHandle } = await call(made.channel(job), WorkerService.method.registerGraph, {
        sessionHandle: "s",
        createWorkerSessionCalled: true,
        graphDef: graphDefMessage(def),
      });
      made.defs.set(job, def);
      made.handles.set(job, graphHandle);
    }
    return made;
  }

  /** A way to the task of a job. */
  channel(job: string): Channel {
    return this.tasks.get(job)!.channel;
  }

  /** Runs one partition; the fetches that it has. */
  async runOne(
    job: string,
    stepId: bigint,
    feeds: Values,
    options: {
      readonly signal?: AbortSignal;
      readonly record?: boolean;
      readonly inBody?: boolean;
    } = {},
  ): Promise<PartitionResult> {
    const ends = this.defs.get(job)!.node.filter((n) => n.attr?.client_terminated?.b);
    const key = ({ attr = {} }: GraphDef["node"][number]): string =>
      [
        textOf(attr.send_device.s),
        BigInt.asUintN(64, BigInt(attr.send_device_incarnation.i!)).toString(16).padStart(16, "0"),
        textOf(attr.recv_device.s),
        textOf(attr.tensor_name.s),
        "0:0",
      ].join(";");
    const response = await call(this.channel(job), WorkerService.method.runGraph, {
      sessionHandle: "s",
      createWorkerSessionCalled: true,
      graphHandle: this.handles.get(job)!,
      stepId,
      send: ends.filter((n) => n.op === "_Recv").map((n) => ({
        name: key(n),
        tensor: message(Object.entries(feeds).find(([name]) => key(n).includes(name))![1]),
      })),
      recvKey: ends.filter((n) => n.op === "_Send").map(key),
      storeErrorsInResponseBody: options.inBody ?? false,
      execOpts: { recordPartitionGraphs: options.record ?? false },
    }, options.signal && { signal: options.signal });
    return { values: response.recv.map(({ tensor }) => arrayOf(tensor!).item()), response };
  }

  /** Runs a step on both tasks, as a master does. */
  async run(feeds: Values): Promise<unknown[]> {
    const stepId = this.#steps++, stop = new AbortController();
    const running = [...this.tasks.keys()].map((job) =>
      this.runOne(job, stepId, feeds, { signal: stop.signal })
    );
    try {
      return (await Promise.all(running)).flatMap(({ values }) => values);
    } finally {
      stop.abort();
      await Promise.allSettled(running);
      await this.cleanUp(stepId);
    }
  }

  async cleanUp(stepId: bigint): Promise<void> {
    for (const job of this.tasks.keys()) {
      await call(this.channel(job), WorkerService.method.cleanupGraph, { stepId });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const task of this.tasks.values()) await task[Symbol.asyncDispose]();
  }
}

/**
 * Returns a port without a listener, below those that systems give away by themselves: tests beside this one get those, and so does a client
 * that tries such a port again and again, until it meets itself.
 */
export async function freePort(transport: Transport): Promise<number> {
  for (let tries = 1;; tries++) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      const nobody = await transport.listen({ host: "127.0.0.1", port }, () => Promise.resolve([]));
      await nobody.close();
      return port;
    } catch (error) {
      if (tries === 100) throw error;
    }
  }
}
