/**
 * distribute: elements that a tf.data service computes. The entry `./distribute` has the service.
 */
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import type { Transport, TransportOptions } from "../../engine/core/network.ts";
import type { Source } from "./source.ts";

/** How a service divides the elements among its workers: TensorFlow's names. */
export type ProcessingMode =
  | "parallel_epochs"
  | "distributed_epoch"
  | "off"
  | "dynamic"
  | "file"
  | "data"
  | "file_or_data"
  | "hint";

/** Where a `tf.data` service is and how it is asked. */
export interface ServiceOptions extends TransportOptions {
  /** Its dispatcher: `grpc://host:port`, or `grpcs://host:port` with TLS. */
  readonly service: string;
  /** Default `"parallel_epochs"`: each worker passes over the whole dataset. `"distributed_epoch"`: each element comes from one of them. */
  readonly processingMode?: ProcessingMode;
  /** Clients that name the same job share its elements. Default: a job of its own. */
  readonly jobName?: string;
  /**
   * With {@linkcode ServiceOptions.numConsumers}: which of the consumers this is, counted from 0.
   */
  readonly consumerIndex?: number;
  /**
   * How many clients of a named job read it together: in each round, each of them gets one of as many consecutive elements of one worker, so
   * that batches of similar size come at the same time. The dataset must be endless.
   */
  readonly numConsumers?: number;
  /** Elements that are asked for or wait here at most. Default two for each worker. */
  readonly maxOutstandingRequests?: number;
  /**
   * Time after which a dispatcher that cannot be reached is given up, and a worker that says nothing and that the dispatcher has given up. Default
   * 60 000.
   */
  readonly workerTimeoutMs?: number;
  /** Time between two heartbeats. Default 1000. */
  readonly heartbeatMs?: number;
  /** The network. Default gRPC. */
  readonly transport?: Transport;
}

/** Who has datasets computed elsewhere; the entry `./distribute` says it. */
export const dataService: { read: (source: Source, options: ServiceOptions) => Source } = {
  read: ({ name }) => {
    throw new FailedPreconditionError(
      `Cannot distribute ${name}: the service is not loaded, import "@weft/weft/distribute" first`,
    );
  },
};
