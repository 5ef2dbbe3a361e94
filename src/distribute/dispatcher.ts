/**
 * A dispatcher in this process: knows datasets, workers and clients, and hands out tasks and splits. It keeps nothing on disk.
 */
import { NotFoundError } from "../core/errors.ts";
import { optionCheck } from "../core/options.ts";
import { constantToJson } from "../graph/graph_def/values.ts";
import { graphDefOf } from "../tf/from_message.ts";
import {
  type DatasetDef,
  DispatcherService,
  ProcessingModeDef_ShardingPolicy as Policy,
  type WorkerHeartbeatRequest,
} from "../tf/proto/data_service_pb.ts";
import { tensorMessage } from "../tf/to_message.ts";
import { grpcTransport } from "./grpc_transport.ts";
import { serviceOf } from "./rpc.ts";
import { type SplitSource, splitSources } from "./split_sources.ts";
import type { Handler, Listener, Transport } from "./transport.ts";

/** Options of {@linkcode LocalDispatcher.start}. */
export interface LocalDispatcherOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0, any that is free. */
  readonly port?: number;
  /** A worker that was not heard of for so long is taken for gone, and its tasks with it. Default 60 000, as TensorFlow's. */
  readonly workerTimeoutMs?: number;
  /** Text that workers and clients must know. */
  readonly secret?: string;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

const checkOptions = optionCheck<LocalDispatcherOptions>("LocalDispatcher.start", {
  host: true,
  port: true,
  workerTimeoutMs: true,
  secret: true,
  transport: true,
});

/** Version of the protocol, as TensorFlow 2.21 says it. */
const VERSION = 9n;

interface Worker {
  readonly address: string;
  uid: bigint;
  seen: number;
}

interface Job {
  readonly id: bigint;
  readonly datasetId: string;
  readonly policy: Policy;
  readonly iterations: Map<bigint, Iteration>;
}

interface TaskState {
  readonly id: bigint;
  readonly worker: Worker;
  done: boolean;
}

/** One pass of a job over its dataset. */
interface Iteration {
  readonly id: bigint;
  readonly job: Job;
  readonly tasks: TaskState[];
  readonly sources: readonly { readonly split: SplitSource; repetition: number; next: number }[];
}

/**
 * A dispatcher of the `tf.data` service for tests, and for programs whose workers and clients are all Weft's: state is kept in memory only.
 * Tasks of a worker that is not heard of for `workerTimeoutMs` are dropped, so that an epoch ends without it; what such a worker was
 * given and had not sent is lost.
 *
 * @example
 * ```ts
 * import { LocalDispatcher, MemoryTransport } from "@weft/weft/distribute";
 * import { assertEquals } from "@std/assert";
 * await using dispatcher = await LocalDispatcher.start({ transport: new MemoryTransport() });
 * assertEquals(dispatcher.target, "grpc://127.0.0.1:1");
 * ```
 */
export class LocalDispatcher implements AsyncDisposable {
  readonly #datasets = new Map<string, DatasetDef>();
  readonly #jobs = new Map<string, Job>();
  readonly #iterations = new Map<bigint, Iteration>();
  readonly #clients = new Map<bigint, Iteration>();
  readonly #workers = new Map<string, Worker>();
  readonly #workerTimeoutMs: number;
  #listener: Listener | null = null;
  #ids = 0n;

  private constructor({ workerTimeoutMs = 60_000 }: LocalDispatcherOptions) {
    this.#workerTimeoutMs = workerTimeoutMs;
  }

  /** Answers workers and clients. Rejects with `UnavailableError` where the port is taken. */
  static async start(options: LocalDispatcherOptions = {}): Promise<LocalDispatcher> {
    checkOptions(options);
    const { host = "127.0.0.1", port = 0, transport = grpcTransport } = options;
    const dispatcher = new LocalDispatcher(options);
    dispatcher.#listener = await transport.listen({ host, port }, dispatcher.#service(), options);
    return dispatcher;
  }

  /** Where it answers: `grpc://host:port`. */
  get target(): string {
    return `grpc://${this.#listener?.address ?? ""}`;
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.#listener?.close();
  }
  /** {@linkcode LocalDispatcher.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #service(): Handler {
    return serviceOf(DispatcherService, {
      getVersion: () => ({ version: VERSION }),
      workerHeartbeat: (request) => this.#heartbeat(request),
      workerUpdate: ({ updates }) => {
        const done = new Set(updates.filter((u) => u.completed).map((u) => u.taskId));
        for (const { tasks } of this.#iterations.values()) {
          for (const task of tasks) if (done.has(task.id)) task.done = true;
        }
        return {};
      },
      getDatasetDef: ({ datasetId }) => ({ datasetDef: this.#dataset(datasetId) }),
      getSplit: ({ iterationId, repetition, splitProviderIndex }) => {
        const source = this.#iteration(iterationId).sources[Number(splitProviderIndex)];
        const wanted = Number(repetition);
        if (source === undefined) {
          throw new NotFoundError(`There is no source ${splitProviderIndex}`);
        }
        if (wanted > source.repetition) Object.assign(source, { repetition: wanted, next: 0 });
        const split = wanted < source.repetition ? null : source.split(source.next);
        if (split === null) return { endOfSplits: true };
        source.next++;
        return { split: tensorMessage(constantToJson(split)) };
      },
      getOrRegisterDataset: ({ dataset, datasetId }) => {
        const id = datasetId || String(++this.#ids);
        if (dataset !== undefined && !this.#datasets.has(id)) this.#datasets.set(id, dataset);
        return { datasetId: id };
      },
      getDataServiceMetadata: ({ datasetId }) => {
        this.#dataset(datasetId);
        return { metadata: {} };
      },
      getOrCreateJob: ({ datasetId, processingModeDef, jobName }) => {
        this.#dataset(datasetId);
        const id = ++this.#ids, name = jobName || `job ${id}`;
        const policy = processingModeDef?.shardingPolicy ?? Policy.OFF;
        const job = this.#jobs.get(name) ?? { id, datasetId, policy, iterations: new Map() };
        this.#jobs.set(name, job);
        return { jobId: job.id };
      },
      getOrCreateIteration: ({ jobId, repetition }) => {
        const client = ++this.#ids;
        this.#clients.set(client, this.#open(jobId, repetition));
        return { iterationClientId: client };
      },
      releaseIterationClient: ({ iterationClientId }) => {
        const iteration = this.#clients.get(iterationClientId);
        this.#clients.delete(iterationClientId);
        // Without a client nobody wants the rest: workers hear of that by their next heartbeat.
        if (iteration && ![...this.#clients.values()].includes(iteration)) this.#forget(iteration);
        return {};
      },
      clientHeartbeat: ({ iterationClientId }) => {
        this.#dropLost();
        const iteration = this.#clients.get(iterationClientId);
        if (iteration === undefined) {
          throw new NotFoundError(`There is no client ${iterationClientId}`);
        }
        const open = iteration.tasks.filter((t) => !t.done);
        return {
          iterationFinished: iteration.tasks.length > 0 && open.length === 0,
          taskInfo: open.map(({ id, worker }) => ({
            taskId: id,
            iterationId: iteration.id,
            workerAddress: worker.address,
            workerUid: worker.uid,
            transferServers: [{ protocol: "grpc", address: worker.address }],
          })),
        };
      },
    });
  }

  #dataset(id: string): DatasetDef {
    const found = this.#datasets.get(id);
    if (found !== undefined) return found;
    throw new NotFoundError(`Dataset id ${id} not found. It may not have been registered`);
  }
  #iteration(id: bigint): Iteration {
    const found = this.#iterations.get(id);
    if (found !== undefined) return found;
    throw new NotFoundError(`There is no iteration ${id}`);
  }

  #open(jobId: bigint, repetition: bigint): Iteration {
    const job = [...this.#jobs.values()].find((j) => j.id === jobId);
    if (job === undefined) throw new NotFoundError(`There is no job ${jobId}`);
    const known = job.iterations.get(repetition);
    if (known !== undefined) return known;
    const { graph } = this.#dataset(job.datasetId);
    const isDynamic = job.policy === Policy.DYNAMIC && graph !== undefined;
    const sources = isDynamic ? splitSources(graphDefOf(graph)) : [];
    const iteration: Iteration = {
      id: ++this.#ids,
      job,
      tasks: [],
      sources: sources.map((split) => ({ split, repetition: 0, next: 0 })),
    };
    job.iterations.set(repetition, iteration);
    this.#iterations.set(iteration.id, iteration);
    for (const worker of this.#workers.values()) this.#task(iteration, worker);
    return iteration;
  }

  #task(iteration: Iteration, worker: Worker): void {
    iteration.tasks.push({ id: ++this.#ids, worker, done: false });
  }

  #heartbeat({ workerAddress, workerUid, currentTasks }: WorkerHeartbeatRequest) {
    this.#dropLost();
    let worker = this.#workers.get(workerAddress);
    if (worker === undefined) {
      worker = { address: workerAddress, uid: workerUid, seen: 0 };
      this.#workers.set(workerAddress, worker);
      for (const iteration of this.#iterations.values()) {
        // One that has ended begins no more.
        if (iteration.tasks.every((t) => t.done) && iteration.tasks.length > 0) continue;
        this.#task(iteration, worker);
      }
    }
    Object.assign(worker, { uid: workerUid, seen: Date.now() });
    const own = [...this.#iterations.values()].flatMap((iteration) =>
      iteration.tasks.filter((t) => t.worker === worker && !t.done).map((task) => ({
        task,
        iteration,
      }))
    );
    const current = new Set(currentTasks), wanted = new Set(own.map(({ task }) => task.id));
    const all = [...this.#workers.keys()];
    return {
      tasksToDelete: currentTasks.filter((id) => !wanted.has(id)),
      newTasks: own.filter(({ task }) => !current.has(task.id)).map(({ task, iteration }) => ({
        taskId: task.id,
        datasetId: iteration.job.datasetId,
        iterationId: iteration.id,
        workerAddress,
        processingModeDef: { shardingPolicy: iteration.job.policy },
        numSplitProviders: BigInt(iteration.sources.length),
        numWorkers: BigInt(all.length),
        workerIndex: BigInt(all.indexOf(workerAddress)),
      })),
    };
  }

  #forget(iteration: Iteration): void {
    this.#iterations.delete(iteration.id);
    for (const [repetition, known] of iteration.job.iterations) {
      if (known === iteration) iteration.job.iterations.delete(repetition);
    }
  }

  #dropLost(): void {
    const oldest = Date.now() - this.#workerTimeoutMs;
    for (const worker of this.#workers.values()) {
      if (worker.seen >= oldest) continue;
      this.#workers.delete(worker.address);
      for (const { tasks } of this.#iterations.values()) {
        for (const task of tasks) if (task.worker === worker) task.done = true;
      }
    }
  }
}
