/** Dataset graphs that TensorFlow wrote, and what a service of them needs. */

import * as tf from "@weft/weft";
import {
  DataServiceDispatcher,
  DataServiceWorker,
  type DataServiceWorkerOptions,
  type Listener,
  MemoryTransport,
  type Transport,
} from "@weft/weft/distribute";
import { readGraphDef } from "@weft/weft/tf";

type GraphDef = Awaited<ReturnType<typeof readGraphDef>>;

/** A graph of fixtures/. */
export function graph(name: string): Promise<GraphDef> {
  return readGraphDef(new URL(`../fixtures/${name}.pb`, import.meta.url).pathname);
}

/** Squares, which `squares.pb` calls. */
export const square = (x: tf.NdArray): bigint => (x.item() as bigint) ** 2n;

/** A dispatcher with workers, all in this process. */
export class Service implements AsyncDisposable {
  readonly dispatcher: DataServiceDispatcher;
  readonly transport: Transport;
  readonly workers: DataServiceWorker[] = [];

  constructor(dispatcher: DataServiceDispatcher, transport: Transport) {
    this.dispatcher = dispatcher;
    this.transport = transport;
  }

  /** Starts a dispatcher and as many workers. */
  static async start(
    { workers = 2, transport = new MemoryTransport(), workerTimeoutMs = 60_000, ...options }:
      & {
        readonly workers?: number;
        readonly transport?: Transport;
        readonly workerTimeoutMs?: number;
      }
      & Partial<DataServiceWorkerOptions> = {},
  ): Promise<Service> {
    const service = new Service(
      new DataServiceDispatcher({ transport, workerTimeoutMs }),
      transport,
    );
    await service.dispatcher.start();
    for (let i = 0; i < workers; i++) await service.join(options);
    return service;
  }

  /** Starts one more worker. */
  async join(options: Partial<DataServiceWorkerOptions> = {}): Promise<DataServiceWorker> {
    const worker = new DataServiceWorker({
      dispatcher: this.dispatcher.target,
      transport: this.transport,
      scripts: { "test.square@1": square },
      heartbeatMs: 10,
      ...options,
    });
    await worker.start();
    this.workers.push(worker);
    return worker;
  }

  /** Connection options of its clients. */
  get options(): { service: string; transport: Transport; heartbeatMs: number } {
    return { service: this.dispatcher.target, transport: this.transport, heartbeatMs: 20 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.workers) await worker.stop();
    await this.dispatcher.stop();
  }
}

/** A network that can be cut: messages from a cut end are lost without an error. */
export class CutTransport extends MemoryTransport {
  readonly #cut = new Set<string>();
  readonly #listeners = new Map<string, Listener>();

  override async listen(...args: Parameters<MemoryTransport["listen"]>): Promise<Listener> {
    const listener = await super.listen(...args);
    this.#cut.delete(listener.address);
    this.#listeners.set(listener.address, listener);
    return listener;
  }

  /** A network as a program at an address has it. */
  from(address: () => string): Transport {
    return {
      listen: (...args) => this.listen(...args),
      connect: (...args) => {
        const channel = this.connect(...args);
        return {
          close: () => channel.close(),
          call: (...call) =>
            this.#cut.has(address())
              ? Promise.reject(new tf.errors.UnavailableError("The network is cut"))
              : channel.call(...call),
        };
      },
    };
  }

  /** Pulls out an end. */
  async cut(address: string): Promise<void> {
    this.#cut.add(address);
    await this.#listeners.get(address)?.close();
  }
}
