/** State that the services of a task share: its name, devices and resources, and its channels to other tasks. */
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

export interface TaskHostInit {
  readonly task: TaskName;
  readonly cluster: ClusterSpec;
  readonly transport: Transport;
  readonly network: TransportOptions;
  readonly scripts?: ScriptFunctions | undefined;
  readonly allowOps?: readonly string[] | undefined;
  /** The device that runs the nodes that masters place on the task's processor; empty: the default device. */
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

  /** Creates the state; channels connect when they are first used. */
  constructor(init: TaskHostInit) {
    this.#init = init;
    this.task = init.task;
    this.cluster = init.cluster;
    this.devices = new TaskDevices(init.task);
    this.scripts = init.scripts;
    this.allowOps = init.allowOps;
  }

  /** Returns the device that runs the nodes placed on this task's device `local`. */
  deviceFor(local: string): string {
    return local === "" || local === "/device:CPU:0" ? this.#init.device : local;
  }

  /** Returns a channel to a task, which may be this one. */
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

  /** Returns channels to all other tasks. */
  others(): Channel[] {
    const all = Object.entries(this.cluster).flatMap(([job, tasks]) =>
      Object.keys(tasks).map((task) => taskText({ job, task: Number(task) }))
    );
    return all.filter((task) => task !== taskText(this.task)).map((task) => this.taskChannel(task));
  }

  /** Sets the handler of this task's calls to itself. */
  answerWith(handler: Handler): void {
    this.#answer = handler;
  }

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
      // Tasks of TensorFlow recognize a repeated call by its number.
      { stepId, rendezvousKey: key, requestId: crypto.getRandomValues(new BigInt64Array(1))[0] },
      { signal },
    );
    if (isDead) return null;
    if (tensor !== undefined) return arrayOf(tensor);
    throw new UnavailableError(`${taskText(from)} answered without a tensor for "${key}"`);
  }

  /** Closes all channels. */
  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }
}
