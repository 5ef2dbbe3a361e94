/** Options of a dispatcher of the tf.data service. */
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Transport, TransportOptions } from "../wire/transport.ts";

/** Options of {@linkcode DataServiceDispatcher}. */
export interface DataServiceDispatcherOptions extends TransportOptions {
  /** The address to listen at. Default 127.0.0.1, which other machines cannot reach. */
  readonly host?: string;
  /** The port to listen at. Default 0, any that is free; a dispatcher that may be restarted needs a fixed one. */
  readonly port?: number;
  /** Folder for the state that a restarted dispatcher needs. Default: the state is kept in memory only. */
  readonly workDir?: string;
  /**
   * Milliseconds without a heartbeat after which a worker and its tasks count as lost. Default 60 000, as TensorFlow's.
   */
  readonly workerTimeoutMs?: number;
  /** Milliseconds without a heartbeat after which a client counts as lost. Default 120 000, as TensorFlow's. */
  readonly clientTimeoutMs?: number;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

/** Throws `TypeError` for unknown options. */
export const checkOptions: (options: DataServiceDispatcherOptions) => void = optionCheck<
  DataServiceDispatcherOptions
>("DataServiceDispatcher", {
  host: true,
  port: true,
  workDir: true,
  workerTimeoutMs: true,
  clientTimeoutMs: true,
  maxMessageBytes: true,
  secret: true,
  tls: true,
  transport: true,
});
