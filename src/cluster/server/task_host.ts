/**
 * What the services of a task share: who it is, what it has, and its ways to other tasks.
 */
import { UnavailableError } from "../../engine/core/errors.ts";
import { GraphResources } from "../../tensorflow/graph/resources.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import { WorkerService } from "../../tensorflow/proto/worker_pb.ts";
import { arrayOf } from "../wire/element_wire.ts";
import { joinParts } from "../wire/fields.ts";
import { call } from "../wire/rpc.ts";
import type { Channel, Handler, Transport, TransportOptions } from "../wire/transport.ts";
import { addressOf, type ClusterSpec, type TaskName, taskOf, taskText } from "./cluster_spec.ts";
import { TaskDevices } from "./devices.ts";
import type { Sent } from "./rendezvous.ts";

/** What a task is made of. */
export interface TaskHostInit {
  readonly task: TaskName;
  readonly cluster: ClusterSpec;
  readonly transport: Transport;
  readonly network: TransportOptions;
  readonly scripts?: ScriptFunctions | undefined;
  readonly allowOps?: readonly string[] | undefined;
  /** What runs what masters place on the task's processor; empty: the default device. */
  readonly device: string;
}

/** A tensor that another task has. */
export interface RemoteTensor {
  readonly key: string;
  readonly stepId: bigint;
  readonly signal: AbortSignal;
  /** The cluster of the session; null for the task's own. */
  readonly cluster: ClusterSpec | null;
}

/** A task. */
export class TaskHost {
  readonly task: TaskName;
  readonly cluster: ClusterSpec;
  readonly devices: TaskDevices;
  readonly resources: GraphResources = new GraphResources();
  readonly scripts: ScriptFunctions | undefined;
  readonly allowOps: readonly string[] | undefined;
  readonly #init: TaskHostInit;
  #answer: Handler | null = null;
  readonly #channels = new Map<string, Channel>();

  /** Connects to nobody yet. */
  constructor(init: TaskHostInit) {
    this.#init = init;
    this.task = init.task;
    this.cluster = init.cluster;
    this.devices = new TaskDevices(init.task);
    this.scripts = init.scripts;
    this.allowOps = init.allowOps;
  }

  /** The device that runs what was placed on one of this task's, which `local` names. */
  deviceFor(local: string): string {
    return local === "" || local === "/device:CPU:0" ? this.#init.device : local;
  }

  /** A way to a task, to this one too. */
  taskChannel(task: string): Channel {
    if (task !== taskText(this.task)) {
      return this.channel(addressOf(this.cluster, taskOf(task, this.task)));
    }
    return {
      call: async (path, request, { signal = new AbortController().signal } = {}) =>
        joinParts(await this.#answer!(path, request, { signal })),
      close: () => {},
    };
  }

  /** Ways to all other tasks. */
  others(): Channel[] {
    const all = Object.entries(this.cluster).flatMap(([job, tasks]) =>
      Object.keys(tasks).map((task) => taskText({ job, task: Number(task) }))
    );
    return all.filter((task) => task !== taskText(this.task)).map((task) => this.taskChannel(task));
  }

  /** Says who answers calls of this task to itself. */
  answerWith(handler: Handler): void {
    this.#answer = handler;
  }

  /** A way to an address. */
  channel(address: string): Channel {
    let channel = this.#channels.get(address);
    if (channel === undefined) {
      const { transport, network } = this.#init;
      this.#channels.set(address, channel = transport.connect(address, network));
    }
    return channel;
  }

  /** Asks another task for a tensor. */
  async receive(from: TaskName, { key, stepId, signal, cluster }: RemoteTensor): Promise<Sent> {
    const address = addressOf(cluster ?? this.cluster, from);
    const { tensor, isDead } = await call(
      this.channel(address),
      WorkerService.method.recvTensor,
      // Tasks of TensorFlow tell calls that are tried again by their numbers.
      { stepId, rendezvousKey: key, requestId: crypto.getRandomValues(new BigInt64Array(1))[0] },
      { signal },
    );
    if (isDead) return null;
    if (tensor !== undefined) return arrayOf(tensor);
    throw new UnavailableError(`${taskText(from)} answered without a tensor for "${key}"`);
  }

  /** Ends all ways to others. */
  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }
}
