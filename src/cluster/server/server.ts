/**
 * Server: a task of a TensorFlow cluster.
 */
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck } from "../../engine/core/options.ts";
import type { ScriptFunctions } from "../../tensorflow/graph/scripts.ts";
import { ready, serveTask } from "../../engine/runtime/devices/devices.ts";
import { grpcTransport } from "../wire/grpc_transport.ts";
import { MemoryTransport } from "../wire/memory_transport.ts";
import {
  type Handler,
  type Listener,
  targetAt,
  type TlsOptions,
  type Transport,
} from "../wire/transport.ts";
import {
  addressOf,
  type ClusterSpec,
  hostAndPort,
  readTaskConfig,
  type TaskConfig,
} from "./cluster_spec.ts";
import { Master } from "./master_service.ts";
import { TaskHost } from "./task_host.ts";
import { Worker } from "./worker_service.ts";

/** Options of {@linkcode Server}. */
export interface ServerOptions {
  /** Addresses of all tasks, by job. Default: what `TF_CONFIG` says. */
  readonly cluster?: ClusterSpec;
  /** The job of this task. Default: what `TF_CONFIG` says; with a cluster of one job, that. */
  readonly job?: string;
  /** Its number. Default: what `TF_CONFIG` says; with a cluster, 0. */
  readonly task?: number;
  /** Where it listens. Default 127.0.0.1: others reach it only where this says so, as `"0.0.0.0"` does. */
  readonly host?: string;
  /** Functions for scripts by their tokens, beside those of `tf.registerScript`. */
  readonly scripts?: ScriptFunctions;
  /** Ops that reach outside of the process and may be run all the same, such as `ReadFile`. Default none. */
  readonly allowOps?: readonly string[];
  /** What runs the nodes that masters place on this task's processor: `"/device:GPU:0"`, or empty for the default device. Default `"/device:CPU:0"`. */
  readonly device?: string;
  /** Most bytes of one message. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** Text that callers must know: where all of them are ours, as TensorFlow's know none. */
  readonly secret?: string;
  /** Encrypts what goes between tasks and clients of ours: TensorFlow's tasks know no TLS. Tasks show each other this certificate. */
  readonly tls?: TlsOptions;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

const checkOptions = optionCheck<ServerOptions>("Server", {
  cluster: true,
  job: true,
  task: true,
  host: true,
  scripts: true,
  allowOps: true,
  device: true,
  maxMessageBytes: true,
  secret: true,
  tls: true,
  transport: true,
});

/** Time that those who are told the end of what they waited for have to hear it. */
const GRACE_MS = 1000;

/** The task that options name, or `TF_CONFIG`. */
function taskConfig({ cluster, job, task }: ServerOptions): TaskConfig {
  if (cluster === undefined) {
    const config = readTaskConfig();
    return { ...config, job: job ?? config.job, task: task ?? config.task };
  }
  const jobs = Object.keys(cluster);
  const name = job ?? (jobs.length === 1 ? jobs[0] : undefined);
  if (name === undefined) {
    throw new ValueError(
      `Cannot make a Server: the cluster has jobs ${
        jobs.join(", ")
      }, option job says which is this one's`,
    );
  }
  return { cluster, job: name, task: task ?? 0 };
}

/**
 * A task of a TensorFlow cluster: other tasks and Python's sessions run parts of their graphs in it, on Weft's devices, and script ops among
 * them call what `tf.registerScript` knows under their token; those of sessions in the same process need no name. It is a master as well: a session of Python's, `tf.compat.v1.Session(server.target)`,
 * runs whole graphs here. Follows TensorFlow `tf.distribute.Server`.
 *
 * Nothing that arrives is evaluated as code, and ops that reach files or the like are refused unless `allowOps` names them. Whoever
 * reaches it can run graphs: it listens on this machine alone unless `host` says something else, as TensorFlow's protocol knows no users.
 *
 * @example
 * ```ts
 * import { Server } from "@weft/weft/distribute";
 * import { assertEquals } from "@std/assert";
 * await using server = await Server.createLocal();
 * assertEquals(server.target, "grpc://localhost:1");
 * ```
 */
export class Server implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #config: TaskConfig;
  #running: { readonly listener: Listener; readonly host: TaskHost; stop(): void } | null = null;

  /** Does nothing yet. Throws `TypeError` for options it does not know, `ValueError` and `NotFoundError` where they name no task. */
  constructor(options: ServerOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#config = taskConfig(options);
    hostAndPort(addressOf(this.#config.cluster, this.#config));
  }

  /** A started task of what the text of `TF_CONFIG` says; without one, of the environment's. */
  static async fromConfig(config?: string, options: ServerOptions = {}): Promise<Server> {
    const { cluster, job, task } = readTaskConfig(config);
    const server = new Server({ ...options, cluster, job, task });
    await server.start();
    return server;
  }

  /** A started cluster of one task that no network reaches: who has its {@linkcode Server.transport} does. */
  static async createLocal(options: Omit<ServerOptions, "cluster"> = {}): Promise<Server> {
    const { transport = new MemoryTransport(), job = "localhost" } = options;
    const server = new Server({
      ...options,
      transport,
      host: "localhost",
      cluster: { [job]: ["localhost:0"] },
    });
    await server.start();
    return server;
  }

  /** `grpc://host:port`, or `grpcs://host:port` with TLS, for sessions; empty while it does not run. */
  get target(): string {
    return this.#running === null ? "" : targetAt(this.#running.listener.address, this.#options);
  }

  /** The network that reaches it. */
  get transport(): Transport {
    return this.#options.transport ?? grpcTransport;
  }

  /** Finds the devices, and answers. Rejects with `UnavailableError` where its port is taken. */
  async start(): Promise<void> {
    if (this.#running !== null) return;
    await ready();
    const { cluster, job, task } = this.#config;
    const { host: at = "127.0.0.1", scripts, allowOps, device = "/device:CPU:0" } = this.#options;
    const host = new TaskHost({
      task: { job, task },
      cluster,
      transport: this.transport,
      network: this.#options,
      scripts,
      allowOps,
      device,
    });
    const worker = new Worker(host), master = new Master(host);
    host.answerWith(worker.handler);
    const listener = await this.transport.listen(
      { host: at, port: hostAndPort(addressOf(cluster, { job, task })).port },
      byService({
        "tensorflow.WorkerService": worker.handler,
        "tensorflow.MasterService": master.handler,
      }),
      this.#options,
    );
    const leave = serveTask(job, task);
    const stop = (): void => {
      leave();
      master.stop();
      worker.stop();
    };
    this.#running = { listener, host, stop };
  }

  /** Ends what runs, with errors where it was asked for, and answers no more. Variables are gone. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    running.stop();
    await running.listener.close({ graceMs: GRACE_MS });
    running.host.close();
    running.host.resources.clear();
  }

  /** {@linkcode Server.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Answers calls by the service that they name. */
function byService(handlers: Readonly<Record<string, Handler>>): Handler {
  return async (path, request, call) => {
    const handler = handlers[path.split("/")[1]];
    if (handler !== undefined) return await handler(path, request, call);
    throw new UnimplementedError(`${path} is not answered here`);
  };
}
