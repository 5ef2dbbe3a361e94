/**
 * Datasets that a tf.data service computes: a client of its dispatcher and of all its workers.
 */
import { UnavailableError, ValueError } from "../core/errors.ts";
import type { NdArray } from "../core/nd_array.ts";
import { packAs } from "../core/nest.ts";
import { optionCheck } from "../core/options.ts";
import { type Dataset, fromGenerator, type TensorsOfSpec } from "../data/mod.ts";
import type { GraphDefJson } from "../graph/graph_def/graph_def.ts";
import { parseTout, type Tout } from "../script/tout.ts";
import {
  DataServiceMetadata_Compression as Compression,
  DispatcherService,
  ProcessingModeDef_ShardingPolicy as Policy,
  type TaskInfo,
  WorkerService,
} from "../tf/proto/data_service_pb.ts";
import { graphDefMessage } from "../tf/to_message.ts";
import { elementOf } from "./element_wire.ts";
import { grpcTransport } from "./grpc_transport.ts";
import { call } from "./rpc.ts";
import type { Channel, Transport } from "./transport.ts";

/** How a service divides the elements among its workers: TensorFlow's names. */
export type ProcessingMode =
  | "parallel_epochs"
  | "distributed_epoch"
  | "off"
  | "dynamic"
  | "file"
  | "data"
  | "file_or_data"
  | "hint";

const POLICIES: Readonly<Record<ProcessingMode, Policy>> = {
  parallel_epochs: Policy.OFF,
  distributed_epoch: Policy.DYNAMIC,
  off: Policy.OFF,
  dynamic: Policy.DYNAMIC,
  file: Policy.FILE,
  data: Policy.DATA,
  file_or_data: Policy.FILE_OR_DATA,
  hint: Policy.HINT,
};

/** Where a service is and how it is asked. */
export interface ServiceOptions {
  /** Its dispatcher: `grpc://host:port`. */
  readonly service: string;
  /** Default `"parallel_epochs"`: each worker passes over the whole dataset. `"distributed_epoch"`: each element comes from one of them. */
  readonly processingMode?: ProcessingMode;
  /** Clients that name the same job share its elements. Default: a job of its own. */
  readonly jobName?: string;
  /** Elements that are asked for or wait here at most. Default two for each worker. */
  readonly maxOutstandingRequests?: number;
  /** Time after which a worker that cannot be reached is given up; what it was to send is lost, as TensorFlow allows. Default 60 000. */
  readonly workerTimeoutMs?: number;
  /** Time between two heartbeats. Default 1000. */
  readonly heartbeatMs?: number;
  /** Most bytes of one message. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** The secret of a service whose programs are all ours. */
  readonly secret?: string;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

/** Options of {@linkcode fromService}. */
export interface FromServiceOptions<T extends Tout = Tout> extends ServiceOptions {
  /** The dataset: what it was registered as, or its graph, as `readGraphDef` reads it, which is registered then. */
  readonly dataset: string | GraphDefJson;
  /** What an element is: a spec or dtype, or a list or object of them. */
  readonly elementSpec: T;
}

const checkOptions = optionCheck<FromServiceOptions>("fromService", {
  service: true,
  processingMode: true,
  jobName: true,
  maxOutstandingRequests: true,
  workerTimeoutMs: true,
  heartbeatMs: true,
  maxMessageBytes: true,
  secret: true,
  transport: true,
  dataset: true,
  elementSpec: true,
});

/** Pauses before a worker is asked again. */
const FIRST_PAUSE_MS = 20, LAST_PAUSE_MS = 1000;

/**
 * The elements of a dataset that a `tf.data` service computes, whose workers may be TensorFlow's or ours. Each pass is an iteration of the
 * job: several programs that name the same `jobName` divide its elements among them. They come in no particular order.
 * Throws `ValueError` for a mode it does not know; an iteration rejects with the error of a worker's function, with `NotFoundError` for a
 * dataset that nobody registered, and with `UnavailableError` where there is no dispatcher.
 * Follows TensorFlow `tf.data.experimental.service.from_dataset_id`.
 *
 * @example
 * ```ts
 * import { fromService, MemoryTransport } from "@weft/weft/distribute";
 * import { assertRejects } from "@std/assert";
 * const options = { service: "grpc://nobody:1", transport: new MemoryTransport(), dataset: "squares", elementSpec: "int64" } as const;
 * await assertRejects(() => fromService(options).toArray(), Error, "Cannot reach nobody:1");
 * ```
 */
export function fromService<const T extends Tout>(
  options: FromServiceOptions<T>,
): Dataset<TensorsOfSpec<T>> {
  checkOptions(options);
  const { processingMode = "parallel_epochs", elementSpec } = options;
  if (!Object.hasOwn(POLICIES, processingMode)) {
    throw new ValueError(
      `Cannot read in mode "${processingMode}": wanted one of ${Object.keys(POLICIES).join(", ")}`,
    );
  }
  const { structure } = parseTout(elementSpec);
  let passes = 0;
  return fromGenerator(() => new Client(options, BigInt(passes++)).elements(structure), {
    outputSignature: elementSpec,
  });
}

/** A task as a client sees it. */
interface ClientTask {
  readonly id: bigint;
  readonly channel: Channel;
  busy: boolean;
  ended: boolean;
  /** When it could first not be reached, and since then not at all. */
  failing: number | null;
  pause: number;
  notBefore: number;
}

/** One pass of one client. */
class Client {
  readonly #options: FromServiceOptions;
  readonly #repetition: bigint;
  readonly #transport: Transport;
  readonly #dispatcher: Channel;
  readonly #tasks = new Map<bigint, ClientTask>();
  readonly #channels = new Map<string, Channel>();
  readonly #ready: NdArray[][] = [];
  readonly #left = new AbortController();
  #failure: { readonly error: unknown } | null = null;
  #finished = false;
  #wake = (): void => {};

  constructor(options: FromServiceOptions, repetition: bigint) {
    this.#options = options;
    this.#repetition = repetition;
    this.#transport = options.transport ?? grpcTransport;
    this.#dispatcher = this.#transport.connect(options.service, options);
  }

  async *elements(structure: unknown): AsyncGenerator<unknown> {
    const { heartbeatMs = 1000 } = this.#options;
    let client: bigint | null = null;
    try {
      client = await this.#join();
      for (let due = 0;;) {
        if (this.#failure !== null) throw this.#failure.error;
        const element = this.#ready.shift();
        if (element !== undefined) {
          this.#ask();
          yield packAs(structure, element);
          continue;
        }
        const isEmpty = [...this.#tasks.values()].every((t) => t.ended);
        if (this.#finished && isEmpty) return;
        if (Date.now() >= due) {
          await this.#heartbeat(client);
          // Until there is something to read, and when all is read, news is worth more than quiet.
          due = Date.now() + (isEmpty ? Math.min(heartbeatMs, LAST_PAUSE_MS / 10) : heartbeatMs);
          this.#ask();
          continue;
        }
        await this.#sleep(due - Date.now());
        this.#ask();
      }
    } finally {
      this.#left.abort();
      if (client !== null) {
        const request = { iterationClientId: client };
        await call(this.#dispatcher, DispatcherService.method.releaseIterationClient, request)
          .catch(() => {});
      }
      this.#dispatcher.close();
      for (const channel of this.#channels.values()) channel.close();
    }
  }

  async #join(): Promise<bigint> {
    const { dataset, processingMode = "parallel_epochs", jobName = "" } = this.#options;
    const { method } = DispatcherService;
    const datasetId = typeof dataset === "string"
      ? dataset
      : (await call(this.#dispatcher, method.getOrRegisterDataset, {
        dataset: { graph: graphDefMessage(dataset) },
        metadata: { compression: Compression.OFF, cardinality: -2n },
      })).datasetId;
    const { jobId } = await call(this.#dispatcher, method.getOrCreateJob, {
      datasetId,
      processingModeDef: { shardingPolicy: POLICIES[processingMode] },
      jobName,
      targetWorkers: 1,
    });
    const request = { jobId, repetition: this.#repetition };
    return (await call(this.#dispatcher, method.getOrCreateIteration, request)).iterationClientId;
  }

  async #heartbeat(iterationClientId: bigint): Promise<void> {
    let answer;
    try {
      answer = await call(this.#dispatcher, DispatcherService.method.clientHeartbeat, {
        iterationClientId,
      });
    } catch (error) {
      // A dispatcher that is being started anew: workers go on meanwhile.
      if (error instanceof UnavailableError) return;
      throw error;
    }
    const listed = new Set(answer.taskInfo.map((t) => t.taskId));
    for (const info of answer.taskInfo) this.#add(info);
    for (const task of this.#tasks.values()) {
      // What the dispatcher has given up may still have something to say, unless it cannot be reached.
      if (!listed.has(task.id) && task.failing !== null) task.ended = true;
    }
    this.#finished = answer.iterationFinished;
  }

  #add({ taskId, workerAddress, transferServers }: TaskInfo): void {
    if (this.#tasks.has(taskId)) return;
    const address = transferServers.find((t) => t.protocol === "grpc")?.address ?? workerAddress;
    const channel = this.#channels.get(address) ?? this.#transport.connect(address, this.#options);
    this.#channels.set(address, channel);
    this.#tasks.set(taskId, {
      id: taskId,
      channel,
      busy: false,
      ended: false,
      failing: null,
      pause: FIRST_PAUSE_MS,
      notBefore: 0,
    });
  }

  /** Asks tasks that nobody asks now, as long as there is room for what they send. */
  #ask(): void {
    if (this.#left.signal.aborted || this.#failure !== null) return;
    const open = [...this.#tasks.values()].filter((t) => !t.ended);
    const most = this.#options.maxOutstandingRequests ?? 2 * open.length;
    let room = most - this.#ready.length - open.filter((t) => t.busy).length;
    for (const task of open) {
      if (room <= 0) return;
      if (task.busy || Date.now() < task.notBefore) continue;
      room--;
      task.busy = true;
      void this.#askOne(task).finally(() => {
        task.busy = false;
        // The next is asked for before this one is looked at.
        this.#ask();
        this.#wake();
      });
      // In turn: it is asked last the next time.
      this.#tasks.delete(task.id);
      this.#tasks.set(task.id, task);
    }
  }

  async #askOne(task: ClientTask): Promise<void> {
    try {
      const answer = await call(
        task.channel,
        WorkerService.method.getElement,
        { taskId: task.id },
        {
          signal: this.#left.signal,
        },
      );
      Object.assign(task, { failing: null, pause: FIRST_PAUSE_MS });
      if (answer.endOfSequence) task.ended = true;
      else this.#ready.push(elementOf(answer));
    } catch (error) {
      if (this.#left.signal.aborted) return;
      if (error instanceof UnavailableError) this.#later(task);
      else this.#failure ??= { error };
    }
  }

  #later(task: ClientTask): void {
    const { workerTimeoutMs = 60_000 } = this.#options, now = Date.now();
    task.failing ??= now;
    if (now - task.failing >= workerTimeoutMs) task.ended = true;
    task.notBefore = now + task.pause;
    const wake = setTimeout(() => this.#wake(), task.pause);
    this.#left.signal.addEventListener("abort", () => clearTimeout(wake), { once: true });
    task.pause = Math.min(2 * task.pause, LAST_PAUSE_MS);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#ready.length > 0 || this.#failure !== null) this.#wake();
    });
  }
}
