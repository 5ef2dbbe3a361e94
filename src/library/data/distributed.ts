/** The `distribute` stage: elements that a tf.data service computes. The entry `./distribute` has the service. */
import { type Seam, seam } from "../../engine/core/contract/seam.ts";
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import type { Transport, TransportOptions } from "../../engine/core/network.ts";
import type { Source } from "./source.ts";

/** TensorFlow's names of the ways to divide elements among workers. */
export type ProcessingMode =
  | "parallel_epochs"
  | "distributed_epoch"
  | "off"
  | "dynamic"
  | "file"
  | "data"
  | "file_or_data"
  | "hint";

/** Address and options of a `tf.data` service. */
export interface ServiceOptions extends TransportOptions {
  /** Address of the dispatcher: `grpc://host:port`, or `grpcs://host:port` with TLS. */
  readonly service: string;
  /** Default `"parallel_epochs"`: each worker passes over the whole dataset. `"distributed_epoch"`: each element comes from one of them. */
  readonly processingMode?: ProcessingMode;
  /** Clients that name the same job share its elements. Default: a job of its own. */
  readonly jobName?: string;
  /** Number of this consumer, from 0, with {@linkcode ServiceOptions.numConsumers}. */
  readonly consumerIndex?: number;
  /**
   * Number of clients of a named job that read it together: in each round, each of them gets one of as many consecutive
   * elements of one worker, so that batches of similar size come at the same time. The dataset must be endless.
   */
  readonly numConsumers?: number;
  /** Most elements that are requested or buffered here. Default two for each worker. */
  readonly maxOutstandingRequests?: number;
  /**
   * Milliseconds after which an unreachable dispatcher fails the read, and a silent worker that the dispatcher has
   * dropped is left. Default 60 000.
   */
  readonly workerTimeoutMs?: number;
  /** Time between two heartbeats. Default 1000. */
  readonly heartbeatMs?: number;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

/** Reader of datasets that are computed elsewhere. */
export const dataService: Seam<(source: Source, options: ServiceOptions) => Source> = seam(
  "the data service",
  (what) =>
    new FailedPreconditionError(
      `Cannot ${what}: the service is not loaded, import "@weft/weft/distribute" first`,
    ),
);
