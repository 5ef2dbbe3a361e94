/** The dispatcher of the tf.data service: registers datasets, workers and clients, and assigns tasks and splits. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FailedPreconditionError,
  InvalidArgumentError,
  NotFoundError,
  UnavailableError,
} from "../../engine/core/errors.ts";
import { showAs } from "../../engine/core/arrays/shown.ts";
import { deferred } from "../../engine/runtime/run/timers.ts";
import { constantToJson } from "../../tensorflow/graph_def/values.ts";
import {
  type ClientHeartbeatRequest,
  DataServiceMetadataSchema,
  DatasetDefSchema,
  DeploymentMode,
  DispatcherService,
  type GetOrCreateJobRequest,
  type GetOrRegisterDatasetRequest,
  type GetSplitRequest,
  ProcessingModeDef_ShardingPolicy as Policy,
  type WorkerHeartbeatRequest,
} from "../../tensorflow/proto/data_service_pb.ts";
import { tensorMessage } from "../../tensorflow/files/to_message.ts";
import { hex, pendingTask, progressed, Removals } from "./coordination.ts";
import {
  DispatcherState,
  type Entry,
  freeShard,
  isCut,
  isFinished,
  type Iteration,
  taskEntry,
} from "./dispatcher_state.ts";
import { checkOptions, type DataServiceDispatcherOptions } from "./dispatcher_options.ts";
import { grpcTransport } from "../wire/grpc_transport.ts";
import { Journal } from "./journal.ts";
import { field } from "../wire/fields.ts";
import { serviceOf } from "../wire/rpc.ts";
import { type Handler, type Listener, targetAt } from "../wire/transport.ts";

/** Version of the protocol, as TensorFlow 2.21 reports it. */
const VERSION = 9n;
/** Number of entries after which the journal is written anew, with the entries that still matter. */
const LONG_JOURNAL = 100_000;

interface Worker {
  uid: bigint;
  seen: number;
}

interface Client {
  seen: number;
  round: number;
}

/**
 * A dispatcher of the `tf.data` service: workers join it, clients read the elements that they compute. It speaks
 * TensorFlow's protocol, so that both may be TensorFlow's or ours. Tasks of a worker without heartbeats for
 * `workerTimeoutMs` are dropped, and an epoch ends without it; the elements that such a worker had not sent are lost.
 * With a `workDir`, a dispatcher that is restarted on its port continues: no split is given out twice. Follows
 * TensorFlow `tf.data.experimental.service.DispatchServer`.
 *
 * @example
 * ```ts
 * import { DataServiceDispatcher, MemoryTransport } from "@weft/weft/distribute";
 * await using dispatcher = new DataServiceDispatcher({ transport: new MemoryTransport() });
 * await dispatcher.start();
 * console.log(dispatcher.target); // grpc://127.0.0.1:1
 * ```
 */
export class DataServiceDispatcher implements AsyncDisposable {
  readonly #options: DataServiceDispatcherOptions;
  readonly #state = new DispatcherState();
  /** Workers by address, with the time of their last heartbeat. */
  readonly #workers = new Map<string, Worker>();
  readonly #clients = new Map<number, Client>();
  /** Jobs without an iteration, with the time at which they were made. */
  readonly #unread = new Map<number, number>();
  readonly #removals = new Removals();
  #journal: Journal<Entry> | null = null;
  #listener: Listener | null = null;

  /** Checks the options; `start` opens the port. Throws `TypeError` for unknown options. */
  constructor(options: DataServiceDispatcherOptions = {}) {
    checkOptions(options);
    this.#options = options;
  }

  /**
   * Begins to answer workers and clients. Rejects with `UnavailableError` where the port is taken, `DataLossError`
   * where the journal in `workDir` cannot be read.
   */
  async start(): Promise<void> {
    const { host = "127.0.0.1", port = 0, workDir, transport = grpcTransport } = this.#options;
    const answer = this.#service(), begun = deferred<void>();
    // The journal belongs to the process that holds the port, so it is read after the first calls may come: these wait.
    const early: Handler = (...call) => begun.promise.then(() => answer(...call));
    this.#listener = await transport.listen({ host, port }, early, this.#options);
    try {
      if (workDir !== undefined) this.#restore(workDir);
      begun.resolve();
    } catch (error) {
      begun.reject(new UnavailableError("The dispatcher could not read its journal"));
      begun.promise.catch(() => {});
      await this.stop();
      throw error;
    }
  }

  #restore(workDir: string): void {
    this.#journal = new Journal(workDir);
    this.#journal.read((entry) => this.#state.take(entry));
    this.#journal.rewrite([...this.#state.entries()]);
    // Workers and clients of before the restart have the whole timeout to report.
    const seen = Date.now();
    for (const { worker, ended } of this.#state.tasks()) {
      if (ended === null) this.#workers.set(worker, { uid: 0n, seen });
    }
    for (const id of this.#state.clients.keys()) this.#clients.set(id, { seen, round: 0 });
    const read = new Set([...this.#state.iterations.values()].map((i) => i.job.id));
    for (const id of this.#state.jobs.keys()) if (!read.has(id)) this.#unread.set(id, seen);
  }

  /** The address of the dispatcher: `grpc://host:port`, or `grpcs://host:port` with TLS. */
  get target(): string {
    return targetAt(this.#listener?.address ?? "", this.#options);
  }

  /** Closes the port and ends all calls. */
  async stop(): Promise<void> {
    await this.#listener?.close();
    this.#journal?.close();
    this.#journal = null;
  }
  /** {@linkcode DataServiceDispatcher.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * Checks an event, records it in the journal and changes the state, so that neither has one that the other has not. Others that the
   * first makes possible happen with it or not at all.
   */
  #happened(entry: Entry, ...others: readonly Entry[]): void {
    const change = this.#state.prepare(entry);
    this.#journal?.append([entry, ...others]);
    change();
    for (const other of others) this.#state.take(other);
    if (this.#journal !== null && this.#journal.written >= LONG_JOURNAL) {
      this.#journal.rewrite([...this.#state.entries()]);
    }
  }

  #service(): Handler {
    const state = this.#state;
    return serviceOf(DispatcherService, {
      getVersion: () => ({ version: VERSION }),
      workerHeartbeat: (request) => this.#heartbeat(request),
      workerUpdate: ({ updates }) => {
        const open = new Set(state.tasks().filter((t) => t.ended !== "done").map((t) => t.id));
        for (const { taskId, completed } of updates) {
          const task = Number(taskId);
          if (completed && open.has(task)) this.#happened({ is: "ended", task, how: "done" });
        }
        return {};
      },
      getDatasetDef: ({ datasetId }) => field(1, [state.dataset(datasetId).def]),
      getSplit: (request) => this.#split(request),
      getOrRegisterDataset: (request) => this.#register(request),
      getDataServiceMetadata: ({ datasetId }) => field(1, [state.dataset(datasetId).metadata]),
      getDataServiceConfig: () => ({ config: { deploymentMode: DeploymentMode.REMOTE } }),
      // The dataset itself says whether its elements are compressed.
      disableCompressionAtRuntime: () => ({ noCompressionToDisable: true }),
      getOrCreateJob: (request) => ({ jobId: BigInt(this.#job(request)) }),
      getOrCreateIteration: ({ jobId, repetition }) => {
        const iteration = this.#open(Number(jobId), Number(repetition));
        const id = state.newId;
        this.#happened({ is: "client", id, iteration });
        this.#clients.set(id, { seen: Date.now(), round: 0 });
        return { iterationClientId: BigInt(id) };
      },
      releaseIterationClient: ({ iterationClientId }) => {
        this.#left(Number(iterationClientId));
        return {};
      },
      maybeRemoveTask: async ({ taskId, consumerIndex }, { signal }) => {
        const task = Number(taskId), consumers = state.consumers(task);
        if (consumers === 0) return { removed: true };
        const call = { consumers, signal };
        const removed = await this.#removals.agreed(task, Number(consumerIndex), call);
        if (removed && state.consumers(task) > 0) {
          this.#happened({ is: "ended", task, how: "lost" });
        }
        return { removed };
      },
      clientHeartbeat: (request) => this.#clientHeartbeat(request),
    });
  }

  #clientHeartbeat({ iterationClientId, currentRound, blockedRound }: ClientHeartbeatRequest) {
    const client = Number(iterationClientId), iteration = this.#state.read(client);
    const round = Number(currentRound ?? 0n);
    const blocked = blockedRound === undefined ? undefined : Number(blockedRound);
    this.#clients.set(client, { seen: Date.now(), round });
    this.#sweep();
    const pending = pendingTask(iteration);
    const news = pending && progressed(pending, { client, round, blocked });
    if (news) this.#happened(news);
    const next = pendingTask(iteration);
    return {
      iterationFinished: isFinished(iteration),
      ...(next && { blockRound: BigInt(next.round) }),
      taskInfo: iteration.tasks.filter((t) => t.ended === null && t.ready === null).map((
        { id, worker, round },
      ) => ({
        taskId: BigInt(id),
        iterationId: BigInt(iteration.id),
        workerAddress: worker,
        workerUid: this.#workers.get(worker)?.uid ?? 0n,
        startingRound: BigInt(round),
        transferServers: [{ protocol: "grpc", address: worker }],
      })),
    };
  }

  async #register({ dataset, metadata, datasetId }: GetOrRegisterDatasetRequest) {
    if (dataset === undefined) {
      if (datasetId !== "") this.#state.dataset(datasetId);
      return { datasetId };
    }
    const def = toBinary(DatasetDefSchema, dataset);
    // The same graph gets the same name, however often it is registered.
    const id = datasetId || hex(new Uint8Array(await crypto.subtle.digest("SHA-256", def)));
    if (!this.#state.datasets.has(id)) {
      const told = toBinary(
        DataServiceMetadataSchema,
        metadata ?? create(DataServiceMetadataSchema),
      );
      this.#happened({ is: "dataset", id, def, metadata: told });
    }
    return { datasetId: id };
  }

  #job(
    { datasetId, processingModeDef, jobName: name, numConsumers }: GetOrCreateJobRequest,
  ): number {
    this.#state.dataset(datasetId);
    const policy = processingModeDef?.shardingPolicy ?? Policy.OFF;
    // Clients of TensorFlow that do not read together say -1.
    const consumers = Math.max(0, Number(numConsumers));
    const known = [...this.#state.jobs.values()].find((j) => name !== "" && j.name === name);
    if (known !== undefined) {
      if (known.policy === policy && known.consumers === consumers) return known.id;
      throw new InvalidArgumentError(
        `Tried to create job with name ${name}, but found an existing job with different parameters: its processing mode is ${
          Policy[known.policy]
        } for ${known.consumers} consumers, not ${Policy[policy]} for ${consumers}`,
      );
    }
    const id = this.#state.newId;
    this.#happened({ is: "job", id, name, datasetId, policy, consumers });
    this.#unread.set(id, Date.now());
    return id;
  }

  #open(job: number, repetition: number): number {
    const { policy } = this.#state.job(job);
    for (const iteration of this.#state.iterations.values()) {
      if (iteration.job.id === job && iteration.repetition === repetition) return iteration.id;
    }
    const workers = [...this.#workers.keys()], count = workers.length;
    if (isCut(policy) && count === 0) {
      throw new FailedPreconditionError(
        "Cannot cut a dataset into shards: no worker has joined, so their number is unknown",
      );
    }
    const id = this.#state.newId;
    const tasks = workers.map((worker, index) =>
      taskEntry(id + 1 + index, id, worker, { shard: { index, count } })
    );
    this.#happened({ is: "iteration", id, job, repetition }, ...tasks);
    this.#unread.delete(job);
    return id;
  }

  #split({ iterationId, repetition, splitProviderIndex }: GetSplitRequest) {
    const { id, sources } = this.#state.iteration(Number(iterationId));
    const at = Number(splitProviderIndex), source = sources[at], wanted = Number(repetition);
    if (source === undefined) throw new NotFoundError(`There is no source ${at}`);
    if (wanted < source.repetition) return { endOfSplits: true };
    const given = wanted > source.repetition ? 0 : source.given;
    const split = source.split(given);
    if (split === null) return { endOfSplits: true };
    this.#happened({
      is: "splits",
      iteration: id,
      source: at,
      repetition: wanted,
      given: given + 1,
    });
    return { split: tensorMessage(constantToJson(split)) };
  }

  #heartbeat({ workerAddress: address, workerUid, currentTasks }: WorkerHeartbeatRequest) {
    this.#workers.set(address, { uid: workerUid, seen: Date.now() });
    this.#sweep();
    const own = [...this.#state.iterations.values()].flatMap((iteration) => {
      if (isFinished(iteration)) return [];
      const mine = (): Iteration["tasks"] =>
        iteration.tasks.filter((t) => t.worker === address && t.ended !== "lost");
      if (mine().length === 0) this.#join(iteration, address);
      return mine().filter((t) => t.ended === null).map((task) => ({ task, iteration }));
    });
    const current = new Set(currentTasks.map(Number)), wanted = new Set(own.map((o) => o.task.id));
    return {
      tasksToDelete: currentTasks.filter((id) => !wanted.has(Number(id))),
      newTasks: own.filter(({ task }) => !current.has(task.id)).map(({ task, iteration }) => ({
        taskId: BigInt(task.id),
        datasetId: iteration.job.datasetId,
        // Workers of TensorFlow do not ask for one that is not there.
        datasetDef: fromBinary(DatasetDefSchema, this.#state.dataset(iteration.job.datasetId).def),
        iterationId: BigInt(iteration.id),
        workerAddress: address,
        processingModeDef: { shardingPolicy: iteration.job.policy },
        numSplitProviders: BigInt(iteration.sources.length),
        numConsumers: BigInt(iteration.job.consumers),
        numWorkers: BigInt(task.shard.count),
        workerIndex: BigInt(task.shard.index),
      })),
    };
  }

  /** Gives a worker a task of an iteration that began without it. */
  #join(iteration: Iteration, worker: string): void {
    const shard = freeShard(iteration), { id, job } = iteration;
    if (shard === undefined) return;
    const task = this.#state.newId;
    if (job.consumers === 0) return this.#happened(taskEntry(task, id, worker, { shard }));
    // Consumers that read together must begin with the task in the same round.
    const rounds = [...this.#clients].filter(([client]) =>
      this.#state.clients.get(client) === iteration
    ).map(([, { round }]) => round);
    const how = { shard, round: Math.max(0, ...rounds) + 1, isPending: true };
    this.#happened(taskEntry(task, id, worker, how));
  }

  #left(client: number): void {
    const iteration = this.#state.clients.get(client);
    if (iteration === undefined) return;
    this.#clients.delete(client);
    this.#happened({ is: "left", client });
    if ([...this.#state.clients.values()].includes(iteration)) return;
    // The other tasks are not needed: workers learn that by their next heartbeat. A finished job stays finished for
    // late clients.
    const isOver = isFinished(iteration) && iteration.job.name !== "";
    if (!isOver) this.#happened({ is: "forgotten", iteration: iteration.id });
  }

  /** Drops workers and clients whose heartbeats stopped, and jobs whose clients never began. */
  #sweep(): void {
    const { workerTimeoutMs = 60_000, clientTimeoutMs = 120_000 } = this.#options;
    const now = Date.now();
    for (const [address, { seen }] of this.#workers) {
      if (seen >= now - workerTimeoutMs) continue;
      this.#workers.delete(address);
      for (const { id, worker, ended } of this.#state.tasks()) {
        if (worker === address && ended === null) {
          this.#happened({ is: "ended", task: id, how: "lost" });
        }
      }
    }
    for (const [client, { seen }] of this.#clients) {
      if (seen < now - clientTimeoutMs) this.#left(client);
    }
    for (const [job, made] of this.#unread) {
      if (made >= now - clientTimeoutMs) continue;
      this.#unread.delete(job);
      this.#happened({ is: "dropped", job });
    }
  }
}
showAs(DataServiceDispatcher, ({ target }) => {
  return `<DataServiceDispatcher ${target.endsWith("//") ? "not started" : target}>`;
});
