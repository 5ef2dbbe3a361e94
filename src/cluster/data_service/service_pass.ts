/** One pass over the elements that a tf.data service computes: a client of its dispatcher and of all its workers. */
import {
  DeadlineExceededError,
  InvalidArgumentError,
  UnavailableError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import { after } from "../../engine/runtime/run/timers.ts";
import type { ServiceOptions } from "../../library/data/distributed.ts";
import { checkElement, type Element } from "../../library/data/element.ts";
import { type Elements, Failure, type Item } from "../../library/data/source.ts";
import {
  DataServiceMetadata_Compression as Compression,
  DispatcherService,
  type TaskInfo,
  WorkerService,
} from "../../tensorflow/proto/data_service_pb.ts";
import { graphDefMessage } from "../../tensorflow/files/to_message.ts";
import {
  type ClientTask,
  clientTask,
  free,
  longer,
  type Place,
  reached,
  type Turn,
} from "./client_task.ts";
import { elementOf } from "../wire/element_wire.ts";
import { grpcTransport } from "../wire/grpc_transport.ts";
import { pause } from "../wire/pause.ts";
import { policyOf, type Reading } from "./reading.ts";
import { call } from "../wire/rpc.ts";
import { type Channel, networkOf, type Transport } from "../wire/transport.ts";
import { Turns } from "./turns.ts";

/** TensorFlow's default for dispatchers. */
const WORKER_TIMEOUT_MS = 60_000;
/** Time between two heartbeats while there is no task: changes should arrive quickly then. */
const EMPTY_PAUSE_MS = 100;

/** An event that one waiter awaits. */
class Bell {
  ring = (): void => {};

  /** Resolves when `ring` is called, or after `ms` milliseconds. */
  wait(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const clear = after(ms ?? Infinity, resolve);
      this.ring = () => {
        clear();
        resolve();
      };
    });
  }
}

export class ServicePass implements Elements {
  readonly #reading: Reading;
  readonly #options: ServiceOptions;
  readonly #transport: Transport;
  readonly #dispatcher: Channel;
  readonly #tasks = new Map<bigint, ClientTask>();
  readonly #channels = new Map<string, Channel>();
  /** Elements that came, in the order of arrival; of coordinated reads, in the order of the requests. */
  readonly #places: Place[] = [];
  /** The turns of coordinated reads, or null. */
  readonly #turns: Turns | null;
  readonly #left = new AbortController();
  /** Time since which the dispatcher cannot be reached. */
  #silent: number | null = null;
  #client: bigint | null = null;
  #finished = false;
  /** The error that ended the dispatcher's heartbeats. */
  #lost: { readonly error: unknown } | null = null;
  /** Rung when there is an element to read, and when the dispatcher should be asked. */
  readonly #news = new Bell();
  readonly #beat = new Bell();

  /** Creates the pass; the first read makes the first call. */
  constructor(reading: Reading) {
    this.#reading = reading;
    const { service } = reading.options;
    this.#options = networkOf(service, reading.options);
    this.#turns = reading.options.numConsumers === undefined ? null : new Turns();
    this.#transport = reading.options.transport ?? grpcTransport;
    this.#dispatcher = this.#transport.connect(service, this.#options);
    reading.signal.addEventListener("abort", this.#leave, { once: true });
  }

  /**
   * Resolves with the next element of any worker. Fails with the error of a worker's function, after which other
   * elements follow.
   */
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

  /** Rejects with `UnimplementedError`: a service does not record which elements were read. */
  save(): Promise<never> {
    return Promise.reject(
      new UnimplementedError("Cannot save a pass over a service: its workers do not go back"),
    );
  }

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
    for (const { timer, stop } of this.#tasks.values()) {
      clearTimeout(timer);
      stop.abort();
    }
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
      while (this.#places[0]?.item === null) this.#places.shift();
      const item = this.#places[0]?.item;
      if (item) {
        this.#places.shift();
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

  /** Sends heartbeats even while there is no read: else the dispatcher would drop this client. */
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
      const isUrgent = this.#isEmpty || this.#turns?.isHeld === true;
      await this.#beat.wait(isUrgent ? Math.min(heartbeatMs, EMPTY_PAUSE_MS) : heartbeatMs);
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
        // A dispatcher that never answered is not retried: its address may be wrong.
        if (!dispatcher.reached || this.#left.signal.aborted) throw error;
        this.#checkSilence(error);
        await this.#beat.wait(EMPTY_PAUSE_MS);
      }
    }
  }

  async #join(): Promise<bigint> {
    const { processingMode, jobName = "", numConsumers = 0 } = this.#options;
    const { method } = DispatcherService;
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
      numConsumers: BigInt(numConsumers),
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
        ...this.#turns?.progress,
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
      // A task that the dispatcher has dropped may still have elements, unless its worker is unreachable or silent.
      const isSilent = task.asked !== null && Date.now() - task.asked >= workerTimeoutMs;
      if (!task.failing && !isSilent) continue;
      task.ended = true;
      task.stop.abort(new UnavailableError("The worker was given up"));
    }
    this.#finished = answer.iterationFinished;
    this.#turns?.hold(answer.blockRound);
  }

  /**
   * Waits for a dispatcher that restarts, while workers continue. Throws where that takes too long, and for other
   * errors.
   */
  #checkSilence(error: unknown): void {
    const { workerTimeoutMs = WORKER_TIMEOUT_MS } = this.#options, now = Date.now();
    this.#silent ??= now;
    const isGone = error instanceof UnavailableError || error instanceof DeadlineExceededError;
    if (!isGone || now - this.#silent >= workerTimeoutMs) throw error;
  }

  #add(info: TaskInfo): void {
    const { taskId, workerAddress, transferServers } = info;
    if (this.#tasks.has(taskId)) return;
    const address = transferServers.find((t) => t.protocol === "grpc")?.address ?? workerAddress;
    const channel = this.#channels.get(address) ?? this.#transport.connect(address, this.#options);
    this.#channels.set(address, channel);
    this.#tasks.set(taskId, clientTask(info, channel));
  }

  /** Asks all idle tasks, as long as there is room for their elements. */
  #ask(): void {
    if (this.#left.signal.aborted) return;
    const open = [...this.#tasks.values()].filter((t) => !t.ended);
    const most = this.#options.maxOutstandingRequests ?? 2 * open.length;
    const isHere = (p: Place): boolean => p.item !== undefined;
    let room = most - this.#places.filter(isHere).length -
      open.filter((t) => t.asked !== null).length;
    for (; room > 0; room--) {
      const task = this.#turns === null ? free(open) : this.#turns.next(open);
      if (task === null) return;
      task.asked = Date.now();
      const asking = this.#turns === null ? this.#askOne(task) : this.#askInTurn(task, this.#turns);
      void asking.finally(() => {
        task.asked = null;
        // The next element is requested before this one is examined.
        this.#ask();
        this.#news.ring();
        if (this.#isEmpty) this.#beat.ring();
      });
      // Moves the task to the end of the order.
      this.#tasks.delete(task.id);
      this.#tasks.set(task.id, task);
    }
  }

  async #askOne(task: ClientTask): Promise<void> {
    const { signal } = task.stop;
    try {
      const item = await this.#element(task, { signal });
      if (item !== null) this.#places.push({ item });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof UnavailableError) this.#later(task);
      else this.#places.push({ item: new Failure(error) });
    }
  }

  /** Asks for the element of a round until it arrives, or all consumers give its worker up. */
  async #askInTurn(task: ClientTask, turns: Turns): Promise<void> {
    const { signal } = task.stop;
    const place: Place = {};
    this.#places.push(place);
    const request = {
      consumerIndex: BigInt(this.#options.consumerIndex!),
      roundIndex: BigInt(turns.round),
      skippedPreviousRound: task.skipped,
      allowSkip: true,
    };
    while (place.item === undefined) {
      try {
        place.item = await this.#element(task, { request, signal });
        task.skipped = place.item === null;
      } catch (error) {
        if (signal.aborted) place.item = null;
        else if (!(error instanceof UnavailableError)) place.item = new Failure(error);
        else if (task.failing && await this.#isRemoved(task, request, signal)) task.ended = true;
        else await pause(longer(task), signal);
        task.failing = true;
        if (task.ended) place.item = null;
      }
    }
  }

  /** Requests a task's next element; null where there is none now or ever. */
  async #element(
    task: ClientTask,
    { request, signal }: { readonly request?: Turn; readonly signal: AbortSignal },
  ): Promise<Element | null> {
    const { getElement } = WorkerService.method;
    const answer = await call(task.channel, getElement, { ...request, taskId: task.id }, {
      signal,
    });
    reached(task);
    if (answer.endOfSequence) task.ended = true;
    if (answer.endOfSequence || answer.skipTask) return null;
    const element = elementOf(answer);
    this.#check(element);
    return element;
  }

  /**
   * Reports an unreachable worker to the dispatcher. Resolves with true when no consumer reaches it: all leave its
   * task then.
   */
  async #isRemoved({ id: taskId }: ClientTask, turn: Turn, signal: AbortSignal): Promise<boolean> {
    const request = { taskId, consumerIndex: turn.consumerIndex, round: turn.roundIndex };
    const { maybeRemoveTask } = DispatcherService.method;
    // Where the dispatcher does not answer either, the worker is asked again; heartbeats tell its fate.
    const answer = call(this.#dispatcher, maybeRemoveTask, request, { signal }).catch(() => null);
    return (await answer)?.removed === true;
  }

  /** Throws `InvalidArgumentError` for an element of another type than declared. */
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
    // The task is retried for as long as the dispatcher hears of its worker, which may restart repeatedly.
    task.failing = true;
    const ms = longer(task);
    task.notBefore = Date.now() + ms;
    task.timer = setTimeout(() => this.#ask(), ms);
  }
}
