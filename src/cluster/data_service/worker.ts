/** A worker of TensorFlow's tf.data service, which runs its pipelines in Weft. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { DeadlineExceededError, OpError, UnavailableError } from "../../engine/core/errors.ts";
import { argumentsCheck, wantString } from "../../engine/core/arguments.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { after, type Deferred, deferred } from "../../engine/runtime/run/timers.ts";
import {
  DispatcherService,
  type GetElementRequest,
  type TaskDef,
  WorkerService,
} from "../../tensorflow/proto/data_service_pb.ts";
import { arrayOf } from "../wire/element_wire.ts";
import { grpcTransport } from "../wire/grpc_transport.ts";
import { pause } from "../wire/pause.ts";
import { call, serviceOf } from "../wire/rpc.ts";
import { Task, type TaskHost } from "./task.ts";
import {
  type Channel,
  type Handler,
  type Listener,
  networkOf,
  type Transport,
  type TransportOptions,
} from "../wire/transport.ts";

/** Options of {@linkcode DataServiceWorker}. */
export interface DataServiceWorkerOptions extends TransportOptions {
  /** Address of the dispatcher: `grpc://host:port`, or `grpcs://host:port` with TLS. */
  readonly dispatcher: string;
  /** The host to listen at, which clients call it by. Default 127.0.0.1, which other machines cannot reach. */
  readonly host?: string;
  /** The port to listen at. Default 0, any that is free; a worker that may be restarted needs a fixed one. */
  readonly port?: number;
  /** Functions for scripts by their tokens, beside those of `tf.registerScript`. */
  readonly scripts?: ScriptFunctions;
  /** Ops that touch files and are allowed all the same, such as `ReadFile`. Default none. */
  readonly allowOps?: readonly string[];
  /** Time between two heartbeats. Default 1000. */
  readonly heartbeatMs?: number;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

const checkOptions = argumentsCheck<DataServiceWorkerOptions>("DataServiceWorker", {
  dispatcher: true,
  host: true,
  port: true,
  scripts: true,
  allowOps: true,
  heartbeatMs: true,
  maxMessageBytes: true,
  secret: true,
  tls: true,
  transport: true,
});

/** Number of deleted tasks that are remembered, as they may still be asked for. */
const MOST_DELETED = 10_000;
/** Time without an answer after which the dispatcher is connected anew: the network may have stopped. */
const SILENCE_MS = 30_000;
/** Pauses between retries: they double up to the last. */
const FIRST_PAUSE_MS = 50, LAST_PAUSE_MS = 2000;
/** Pause after a heartbeat that a request called for: requests for tasks that do not exist call for no more. */
const CALLED_PAUSE_MS = 10;

/**
 * A worker that joins a dispatcher of TensorFlow's `tf.data` service (or of ours), and computes the elements of its
 * datasets here: their functions run in Weft, and script ops in them call the functions that `tf.registerScript`
 * knows under their token. Follows TensorFlow `tf.data.experimental.service.WorkerServer`.
 *
 * Nothing that arrives is evaluated as code. Ops that are not known, and those that read or write files unless `allowOps` names them,
 * are refused, all of them in one message, which reaches the client as the errors of bodies do.
 *
 * @example
 * ```ts
 * import { DataServiceDispatcher, DataServiceWorker, MemoryTransport } from "@weft/weft/distribute";
 * const transport = new MemoryTransport();
 * await using dispatcher = new DataServiceDispatcher({ transport });
 * await dispatcher.start();
 * await using worker = new DataServiceWorker({ dispatcher: dispatcher.target, transport });
 * await worker.start();
 * console.log(worker.address.split(":")[0]); // 127.0.0.1
 * ```
 */
export class DataServiceWorker implements AsyncDisposable {
  readonly #options: DataServiceWorkerOptions;
  readonly #tasks = new Map<bigint, Task>();
  readonly #deleted = new Set<bigint>();
  readonly #uid = crypto.getRandomValues(new BigInt64Array(1))[0];
  readonly #stop = new AbortController();
  #listener: Listener | null = null;
  #dispatcher: Channel | null = null;
  #beating: Promise<void> = Promise.resolve();
  /** Completed tasks that the dispatcher has not been told of yet. */
  #news = new Set<bigint>();
  #wake = (): void => {};
  /** Settled after the next heartbeat, where a request awaits it. */
  #next: Deferred<void> | null = null;

  /** Checks the options; `start` joins the dispatcher. Throws `TypeError` for unknown options and a `dispatcher` that is no text. */
  constructor(options: DataServiceWorkerOptions) {
    checkOptions(options);
    wantString(options.dispatcher, "dispatcher", "DataServiceWorker");
    this.#options = options;
  }

  /** `host:port`, as clients reach it; empty before {@linkcode DataServiceWorker.start} and after the end. */
  get address(): string {
    return this.#listener?.address ?? "";
  }
  /** Number of tasks that have not sent all their elements. */
  get activeTasks(): number {
    return [...this.#tasks.values()].filter((t) => !t.done).length;
  }

  /**
   * Opens the port and joins the dispatcher. Rejects with `UnavailableError` where the port is taken or there is no
   * dispatcher.
   */
  async start(): Promise<void> {
    const { host = "127.0.0.1", port = 0, dispatcher, transport = grpcTransport } = this.#options;
    const network = networkOf(dispatcher, this.#options);
    // Tasks may come as soon as the port is open, and ask the dispatcher for splits.
    this.#dispatcher = transport.connect(dispatcher, network);
    try {
      this.#listener = await transport.listen({ host, port }, this.#service(), network);
      await this.#heartbeat();
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#beating = this.#beat();
  }

  /** Ends its tasks and closes the port. Elements that were computed and not sent are lost, as TensorFlow allows. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#beating;
    this.#next?.resolve();
    this.#dispatcher?.close();
    await Promise.all([...this.#tasks.values()].map((t) => t.stop()));
    this.#tasks.clear();
    await this.#listener?.close();
    this.#listener = null;
  }

  /** {@linkcode DataServiceWorker.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #service(): Handler {
    return serviceOf(WorkerService, {
      processTask: ({ task }) => {
        if (task !== undefined) this.#add(task);
        return {};
      },
      getElement: (request) =>
        this.#tasks.get(request.taskId)?.next(request) ?? this.#later(request),
      getWorkerTasks: () => ({
        tasks: [...this.#tasks.values()].map(({ def }) => ({
          workerAddress: this.address,
          taskId: def.taskId,
          iterationId: def.iterationId,
          workerUid: this.#uid,
        })),
      }),
      getSnapshotTaskProgresses: () => ({}),
    });
  }

  /**
   * Answers a request for a task that is not here. A client may hear of a task before its worker does, which asks the
   * dispatcher then: consumers of coordinated reads give up a worker that they find unavailable twice.
   */
  async #later(request: GetElementRequest): ReturnType<Task["next"]> {
    const { taskId } = request;
    if (!this.#deleted.has(taskId) && !this.#stop.signal.aborted) {
      this.#next ??= deferred();
      this.#wake();
      await this.#next.promise;
    }
    const task = this.#tasks.get(taskId);
    if (task !== undefined) return task.next(request);
    if (this.#deleted.has(taskId)) return { endOfSequence: true };
    throw new UnavailableError(`Task ${taskId} is not here yet`);
  }

  #add(def: TaskDef): void {
    if (this.#tasks.has(def.taskId) || this.#deleted.has(def.taskId)) return;
    const host: TaskHost = {
      split: (task, provider, repetition) => this.#split(task, provider, repetition),
      datasetDef: async (datasetId) =>
        (await call(this.#dispatcher!, DispatcherService.method.getDatasetDef, { datasetId }))
          .datasetDef,
      completed: (taskId) => {
        this.#news.add(taskId);
        this.#wake();
      },
      scripts: this.#options.scripts,
      allowOps: this.#options.allowOps,
    };
    this.#tasks.set(def.taskId, new Task(def, host));
  }

  async #delete(taskId: bigint): Promise<void> {
    const task = this.#tasks.get(taskId);
    this.#tasks.delete(taskId);
    this.#deleted.add(taskId);
    if (this.#deleted.size > MOST_DELETED) {
      this.#deleted.delete(this.#deleted.values().next().value!);
    }
    await task?.stop();
  }

  async #split(task: TaskDef, provider: number, repetition: number): Promise<NdArray | null> {
    const { split, endOfSplits } = await this.#again(() =>
      call(this.#dispatcher!, DispatcherService.method.getSplit, {
        iterationId: task.iterationId,
        repetition: BigInt(repetition),
        splitProviderIndex: BigInt(provider),
      }, { signal: this.#stop.signal, timeoutMs: SILENCE_MS })
    );
    return endOfSplits || split === undefined ? null : arrayOf(split);
  }

  /** Repeats `work` until the dispatcher can be reached. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let ms = FIRST_PAUSE_MS;; ms = Math.min(2 * ms, LAST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        const isGone = error instanceof UnavailableError || error instanceof DeadlineExceededError;
        if (!isGone || this.#stop.signal.aborted) throw error;
        await pause(ms, this.#stop.signal);
      }
    }
  }

  /** Sends a heartbeat. A restarted dispatcher learns this worker and its tasks by that. */
  async #heartbeat(): Promise<void> {
    const { newTasks, tasksToDelete } = await call(
      this.#dispatcher!,
      DispatcherService.method.workerHeartbeat,
      {
        workerAddress: this.address,
        workerUid: this.#uid,
        transferServers: [{ protocol: "grpc", address: this.address }],
        currentTasks: [...this.#tasks.keys()],
        activeTasks: [...this.#tasks.values()].filter((t) => !t.done).map((t) => ({
          taskId: t.id,
        })),
      },
      { signal: this.#stop.signal, timeoutMs: SILENCE_MS },
    );
    for (const task of newTasks) this.#add(task);
    await Promise.all(tasksToDelete.map((id) => this.#delete(id)));
  }

  async #tell(): Promise<void> {
    if (this.#news.size === 0) return;
    const told = [...this.#news];
    await call(this.#dispatcher!, DispatcherService.method.workerUpdate, {
      workerAddress: this.address,
      updates: told.map((taskId) => ({ taskId, completed: true })),
    }, { signal: this.#stop.signal });
    for (const id of told) this.#news.delete(id);
  }

  async #beat(): Promise<void> {
    const { heartbeatMs = 1000 } = this.#options;
    for (;;) {
      await new Promise<void>((resolve) => {
        const clear = after(heartbeatMs, resolve);
        this.#wake = () => {
          clear();
          resolve();
        };
        const isDue = this.#news.size > 0 || this.#next !== null;
        if (isDue || this.#stop.signal.aborted) this.#wake();
      });
      if (this.#stop.signal.aborted) return;
      const called = this.#next;
      this.#next = null;
      try {
        await this.#tell();
        await this.#heartbeat();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        // A dispatcher that is gone for now is asked again; the next heartbeat tells it of this worker.
        if (!(error instanceof OpError)) throw error;
        await pause(Math.min(heartbeatMs, LAST_PAUSE_MS), this.#stop.signal);
      } finally {
        called?.resolve();
      }
      if (called !== null) await pause(CALLED_PAUSE_MS, this.#stop.signal);
    }
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<DataServiceWorker ${this.address || "not started"}: ${
      counted(this.activeTasks, "task")
    }>`;
  }
}
showAs(DataServiceWorker);
