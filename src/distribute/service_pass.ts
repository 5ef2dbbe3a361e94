/**
 * One pass over the elements that a tf.data service computes: a client of its dispatcher and of all its workers.
 */
import {
  DeadlineExceededError,
  InvalidArgumentError,
  UnavailableError,
  UnimplementedError,
  ValueError,
} from "../core/errors.ts";
import type { TensorSpec } from "../core/tensor_spec.ts";
import type { ProcessingMode, ServiceOptions } from "../data/distributed.ts";
import { checkElement, type Element } from "../data/element.ts";
import { type Elements, Failure, type Item } from "../data/source.ts";
import type { GraphDefJson } from "../graph/graph_def/graph_def.ts";
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
import { type Channel, networkOf, type Transport } from "./transport.ts";

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

/** The policy of a mode. Throws `ValueError` for one that is none. */
export function policyOf(mode: ProcessingMode = "parallel_epochs"): Policy {
  if (Object.hasOwn(POLICIES, mode)) return POLICIES[mode];
  throw new ValueError(
    `Cannot read in mode "${mode}": wanted one of ${Object.keys(POLICIES).join(", ")}`,
  );
}

/** What is read. */
export interface Reading {
  readonly options: ServiceOptions;
  /** The dataset: what it was registered as, or its graph. */
  readonly dataset: () => string | GraphDefJson | Promise<GraphDefJson>;
  readonly specs: readonly TensorSpec[];
  /** Which pass it is: clients of one job share those of the same number. */
  readonly repetition: number;
  /** Whether it ever answered, for all passes. */
  readonly dispatcher: { reached: boolean };
  /** Aborts when the pass is left. */
  readonly signal: AbortSignal;
}

/** As TensorFlow's dispatcher has it. */
const WORKER_TIMEOUT_MS = 60_000;
/** Pauses before a worker is asked again. */
const FIRST_PAUSE_MS = 20, LAST_PAUSE_MS = 300;
/** Time between two heartbeats while there is nothing to read: news is worth more than quiet then. */
const EMPTY_PAUSE_MS = 100;

/** A task as a client sees it. */
interface ClientTask {
  readonly id: bigint;
  readonly channel: Channel;
  /** Since when it is asked; null while nobody asks it. */
  asked: number | null;
  /** Ends what it is asked. */
  readonly stop: AbortController;
  ended: boolean;
  /** True while it cannot be reached. */
  failing: boolean;
  pause: number;
  notBefore: number;
  timer?: ReturnType<typeof setTimeout>;
}

/** Lets one wait for what others do. */
class Bell {
  /** Ends the wait. */
  ring = (): void => {};

  /** Resolves when it rings, or after a time. */
  wait(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.ring = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** One pass of one client. */
export class ServicePass implements Elements {
  readonly #reading: Reading;
  readonly #options: ServiceOptions;
  readonly #transport: Transport;
  readonly #dispatcher: Channel;
  readonly #tasks = new Map<bigint, ClientTask>();
  readonly #channels = new Map<string, Channel>();
  readonly #ready: Element[] = [];
  readonly #failures: Failure[] = [];
  readonly #left = new AbortController();
  /** Since when the dispatcher cannot be reached. */
  #silent: number | null = null;
  #client: bigint | null = null;
  #finished = false;
  /** Why there is no dispatcher any more. */
  #lost: { readonly error: unknown } | null = null;
  /** Rung when there is something to read, and when the dispatcher should be asked. */
  readonly #news = new Bell();
  readonly #beat = new Bell();

  /** Asks nobody yet. */
  constructor(reading: Reading) {
    this.#reading = reading;
    const { service } = reading.options;
    this.#options = networkOf(service, reading.options);
    this.#transport = reading.options.transport ?? grpcTransport;
    this.#dispatcher = this.#transport.connect(service, this.#options);
    reading.signal.addEventListener("abort", this.#leave, { once: true });
  }

  /** The next element of any worker. Fails with the error of a worker's function, after which those of others come. */
  async next(): Promise<Item> {
    if (this.#left.signal.aborted) return null;
    try {
      const item = await this.#next();
      if (item === null) await this.close();
      return item;
    } catch (error) {
      await this.close();
      return new Failure(error);
    }
  }

  /** Rejects with `UnimplementedError`: what workers have given is nowhere written down. */
  save(): Promise<never> {
    return Promise.reject(
      new UnimplementedError("Cannot save a pass over a service: its workers do not go back"),
    );
  }

  /** Leaves. */
  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    this.#leave();
    if (client !== null) {
      const request = { iterationClientId: client };
      await call(this.#dispatcher, DispatcherService.method.releaseIterationClient, request)
        .catch(() => {});
    }
    this.#dispatcher.close();
    for (const channel of this.#channels.values()) channel.close();
  }

  readonly #leave = (): void => {
    this.#reading.signal.removeEventListener("abort", this.#leave);
    this.#left.abort();
    for (const { timer } of this.#tasks.values()) clearTimeout(timer);
    this.#news.ring();
    this.#beat.ring();
  };

  async #next(): Promise<Item> {
    const { signal } = this.#left;
    if (this.#client === null) {
      this.#client = await this.#joined();
      void this.#beats(this.#client);
    }
    while (!signal.aborted) {
      const item = this.#failures.shift() ?? this.#ready.shift();
      if (item !== undefined) {
        this.#ask();
        return item;
      }
      if (this.#lost !== null) throw this.#lost.error;
      if (this.#finished && this.#isEmpty) return null;
      await this.#news.wait();
    }
    return null;
  }

  get #isEmpty(): boolean {
    return [...this.#tasks.values()].every((t) => t.ended);
  }

  /** Asks the dispatcher for news, whether or not somebody reads: else it would take this client for gone. */
  async #beats(client: bigint): Promise<void> {
    const { heartbeatMs = 1000 } = this.#options, { signal } = this.#left;
    while (!signal.aborted && !(this.#finished && this.#isEmpty)) {
      try {
        await this.#heartbeat(client);
      } catch (error) {
        this.#lost = { error };
      }
      this.#ask();
      this.#news.ring();
      if (this.#lost !== null || signal.aborted) return;
      await this.#beat.wait(this.#isEmpty ? Math.min(heartbeatMs, EMPTY_PAUSE_MS) : heartbeatMs);
    }
  }

  async #joined(): Promise<bigint> {
    const { dispatcher } = this.#reading;
    for (;;) {
      try {
        const client = await this.#join();
        this.#silent = null;
        dispatcher.reached = true;
        return client;
      } catch (error) {
        // One that never answered is not waited for: its address may be wrong.
        if (!dispatcher.reached || this.#left.signal.aborted) throw error;
        this.#checkSilence(error);
        await this.#beat.wait(EMPTY_PAUSE_MS);
      }
    }
  }

  async #join(): Promise<bigint> {
    const { processingMode, jobName = "" } = this.#options, { method } = DispatcherService;
    const dataset = await this.#reading.dataset();
    const datasetId = typeof dataset === "string"
      ? dataset
      : (await call(this.#dispatcher, method.getOrRegisterDataset, {
        dataset: { graph: graphDefMessage(dataset) },
        metadata: { compression: Compression.OFF, cardinality: -2n },
      })).datasetId;
    const { jobId } = await call(this.#dispatcher, method.getOrCreateJob, {
      datasetId,
      processingModeDef: { shardingPolicy: policyOf(processingMode) },
      jobName,
      targetWorkers: 1,
    });
    const request = { jobId, repetition: BigInt(this.#reading.repetition) };
    return (await call(this.#dispatcher, method.getOrCreateIteration, request)).iterationClientId;
  }

  async #heartbeat(iterationClientId: bigint): Promise<void> {
    const { workerTimeoutMs = WORKER_TIMEOUT_MS } = this.#options;
    let answer;
    try {
      answer = await call(this.#dispatcher, DispatcherService.method.clientHeartbeat, {
        iterationClientId,
      }, { signal: this.#left.signal, timeoutMs: workerTimeoutMs });
    } catch (error) {
      if (this.#left.signal.aborted) return;
      this.#checkSilence(error);
      return;
    }
    this.#silent = null;
    const listed = new Set(answer.taskInfo.map((t) => t.taskId));
    for (const info of answer.taskInfo) this.#add(info);
    for (const task of this.#tasks.values()) {
      if (listed.has(task.id) || task.ended) continue;
      // What the dispatcher has given up may still have something to say, unless it cannot be reached or says nothing.
      const isSilent = task.asked !== null && Date.now() - task.asked >= workerTimeoutMs;
      if (!task.failing && !isSilent) continue;
      task.ended = true;
      task.stop.abort(new UnavailableError("The worker was given up"));
    }
    this.#finished = answer.iterationFinished;
  }

  /** A dispatcher that is being started anew is waited for: workers go on meanwhile. Throws where it takes too long, and for other errors. */
  #checkSilence(error: unknown): void {
    const { workerTimeoutMs = WORKER_TIMEOUT_MS } = this.#options, now = Date.now();
    this.#silent ??= now;
    const isGone = error instanceof UnavailableError || error instanceof DeadlineExceededError;
    if (!isGone || now - this.#silent >= workerTimeoutMs) throw error;
  }

  #add({ taskId, workerAddress, transferServers }: TaskInfo): void {
    if (this.#tasks.has(taskId)) return;
    const address = transferServers.find((t) => t.protocol === "grpc")?.address ?? workerAddress;
    const channel = this.#channels.get(address) ?? this.#transport.connect(address, this.#options);
    this.#channels.set(address, channel);
    this.#tasks.set(taskId, {
      id: taskId,
      channel,
      asked: null,
      stop: new AbortController(),
      ended: false,
      failing: false,
      pause: FIRST_PAUSE_MS,
      notBefore: 0,
    });
  }

  /** Asks tasks that nobody asks now, as long as there is room for what they send. */
  #ask(): void {
    if (this.#left.signal.aborted) return;
    const open = [...this.#tasks.values()].filter((t) => !t.ended);
    const most = this.#options.maxOutstandingRequests ?? 2 * open.length;
    let room = most - this.#ready.length - open.filter((t) => t.asked !== null).length;
    for (const task of open) {
      if (room <= 0) return;
      if (task.asked !== null || Date.now() < task.notBefore) continue;
      room--;
      task.asked = Date.now();
      void this.#askOne(task).finally(() => {
        task.asked = null;
        // The next is asked for before this one is looked at.
        this.#ask();
        this.#news.ring();
        if (this.#isEmpty) this.#beat.ring();
      });
      // In turn: it is asked last the next time.
      this.#tasks.delete(task.id);
      this.#tasks.set(task.id, task);
    }
  }

  async #askOne(task: ClientTask): Promise<void> {
    const signal = AbortSignal.any([this.#left.signal, task.stop.signal]);
    try {
      const { getElement } = WorkerService.method;
      const answer = await call(task.channel, getElement, { taskId: task.id }, { signal });
      Object.assign(task, { failing: false, pause: FIRST_PAUSE_MS });
      if (answer.endOfSequence) {
        task.ended = true;
        return;
      }
      const element = elementOf(answer);
      this.#check(element);
      this.#ready.push(element);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnavailableError) this.#later(task);
      else this.#failures.push(new Failure(error));
    }
  }

  /** Throws `InvalidArgumentError` for an element that is not of the type it should have. */
  #check(element: Element): void {
    const { specs } = this.#reading;
    if (element.length === specs.length && element.every((x, i) => x.dtype === specs[i].dtype)) {
      return checkElement(element, specs);
    }
    throw new InvalidArgumentError(
      `Cannot read an element of ${element.map((x) => x.dtype).join(", ")}: wanted ${
        specs.map((s) => s.dtype).join(", ")
      }`,
    );
  }

  #later(task: ClientTask): void {
    // It is tried for as long as the dispatcher hears of its worker: it may be started anew again and again.
    task.failing = true;
    task.notBefore = Date.now() + task.pause;
    task.timer = setTimeout(() => this.#ask(), task.pause);
    task.pause = Math.min(2 * task.pause, LAST_PAUSE_MS);
  }
}
