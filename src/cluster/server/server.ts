/** Server: a task of a TensorFlow cluster. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantString } from "../../engine/core/arguments.ts";
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
  /** The host to listen at. Default 127.0.0.1; `"0.0.0.0"` admits other machines. */
  readonly host?: string;
  /** Functions for scripts by their tokens, beside those of `tf.registerScript`. */
  readonly scripts?: ScriptFunctions;
  /** Ops that reach outside of the process and are allowed all the same, such as `ReadFile`. Default none. */
  readonly allowOps?: readonly string[];
  /**
   * The device that runs the nodes that masters place on this task's processor: `"/device:GPU:0"`, or empty for the
   * default device. Default `"/device:CPU:0"`.
   */
  readonly device?: string;
  /** Most bytes of one message. Default 1 GiB. */
  readonly maxMessageBytes?: number;
  /** Text that callers must present. TensorFlow's programs cannot: set it where all callers are Weft's. */
  readonly secret?: string;
  /**
   * Encrypts the connections between Weft's tasks and clients: TensorFlow's tasks know no TLS. Tasks present this
   * certificate to each other.
   */
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

/** Time that waiting callers have to receive the error of a server that stops. */
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
 * A task of a TensorFlow cluster: other tasks and Python's sessions run parts of their graphs in it, on Weft's
 * devices, and script ops among them call the functions that `tf.registerScript` knows under their token; those of
 * sessions in the same process need no name. It is a master as well: a session of Python's,
 * `tf.compat.v1.Session(server.target)`, runs whole graphs here. Follows TensorFlow `tf.distribute.Server`.
 *
 * Nothing that arrives is evaluated as code, and ops that reach files or the like are refused unless `allowOps` names them. Any
 * program that reaches it can run graphs, as TensorFlow's protocol knows no users: it listens on this machine alone unless `host` says otherwise.
 *
 * @example
 * ```ts
 * import { Server } from "@weft/weft/distribute";
 * await using server = await Server.createLocal();
 * console.log(server.target); // grpc://localhost:1
 * ```
 */
export class Server implements AsyncDisposable {
  readonly #options: ServerOptions;
  readonly #config: TaskConfig;
  #running: { readonly listener: Listener; readonly host: TaskHost; stop(): void } | null = null;

  /**
   * Checks the options; `start` opens the port. Throws `TypeError` for unknown options, `ValueError` and
   * `NotFoundError` where they name no task.
   */
  constructor(options: ServerOptions = {}) {
    checkOptions(options);
    this.#options = options;
    this.#config = taskConfig(options);
    hostAndPort(addressOf(this.#config.cluster, this.#config));
  }

  /** Starts the task that the text of `TF_CONFIG` names. Default: the environment's `TF_CONFIG`. */
  static async fromConfig(config?: string, options: ServerOptions = {}): Promise<Server> {
    if (config !== undefined) wantString(config, "config", "Server.fromConfig");
    const { cluster, job, task } = readTaskConfig(config);
    const server = new Server({ ...options, cluster, job, task });
    await server.start();
    return server;
  }

  /** Starts a cluster of one task that no network reaches: its {@linkcode Server.transport} is the only way to it. */
  static async createLocal(options: Omit<ServerOptions, "cluster"> = {}): Promise<Server> {
    checkOptions(options);
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

  /** The network that reaches the task. */
  get transport(): Transport {
    return this.#options.transport ?? grpcTransport;
  }

  /** Finds the devices and opens the port. Rejects with `UnavailableError` where the port is taken. */
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
    // The first calls may come before the port's address does.
    const leave = serveTask(job, task);
    const answer = byService({
      "tensorflow.WorkerService": worker.handler,
      "tensorflow.MasterService": master.handler,
    });
    const { port } = hostAndPort(addressOf(cluster, { job, task }));
    let listener: Listener;
    try {
      listener = await this.transport.listen({ host: at, port }, answer, this.#options);
    } catch (error) {
      leave();
      throw error;
    }
    const stop = (): void => {
      leave();
      master.stop();
      worker.stop();
    };
    this.#running = { listener, host, stop };
  }

  /** Ends all steps with errors and closes the port. Variables are freed. */
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

  /** Formats it for `console.log`. */
  toString(): string {
    const { job, task } = this.#config;
    return `<Server /job:${job}/task:${task} ${this.target || "not started"}>`;
  }
}
showAs(Server);

/** Routes calls by the service that they name. */
function byService(handlers: Readonly<Record<string, Handler>>): Handler {
  return async (path, request, call) => {
    const handler = handlers[path.split("/")[1]];
    if (handler !== undefined) return await handler(path, request, call);
    throw new UnimplementedError(`${path} is not answered here`);
  };
}
