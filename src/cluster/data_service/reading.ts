/** Options of a client of a tf.data service, checked before any call is made. */
import { ValueError } from "../../engine/core/errors.ts";
import type { TensorSpec } from "../../engine/core/tensor_spec.ts";
import type { ProcessingMode, ServiceOptions } from "../../library/data/distributed.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { ProcessingModeDef_ShardingPolicy as Policy } from "../../tensorflow/proto/data_service_pb.ts";

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

/** Returns the policy of a mode. Throws `ValueError` for an unknown mode. */
export function policyOf(mode: ProcessingMode = "parallel_epochs"): Policy {
  if (Object.hasOwn(POLICIES, mode)) return POLICIES[mode];
  throw new ValueError(
    `Cannot read in mode "${mode}": wanted one of ${Object.keys(POLICIES).join(", ")}`,
  );
}

/** Settings of one pass of a client. */
export interface Reading {
  readonly options: ServiceOptions;
  /** The dataset: the name it was registered under, or its graph. */
  readonly dataset: () => string | GraphDefJson | Promise<GraphDefJson>;
  readonly specs: readonly TensorSpec[];
  /** Number of the pass: clients of one job share the passes of the same number. */
  readonly repetition: number;
  /** True once the dispatcher has answered; shared by all passes. */
  readonly dispatcher: { reached: boolean };
  /** Aborts when the pass is left. */
  readonly signal: AbortSignal;
}

/** Throws `ValueError` for consumers that cannot read together. */
export function checkConsumers(
  { consumerIndex, numConsumers, jobName = "" }: ServiceOptions,
  size: number | null,
): void {
  if (consumerIndex === undefined && numConsumers === undefined) return;
  const is = `consumerIndex ${consumerIndex} and numConsumers ${numConsumers}`;
  const [index, count] = [consumerIndex ?? NaN, numConsumers ?? NaN];
  if (!(Number.isInteger(index) && Number.isInteger(count) && index >= 0 && index < count)) {
    throw new ValueError(
      `Cannot read together with ${is}: wanted both, and an index from 0 that is less than the number`,
    );
  }
  if (jobName === "") {
    throw new ValueError(
      `Cannot read together with ${is}: wanted a jobName, which all of them name`,
    );
  }
  // Where the size is unknown, a worker reports an early end.
  if (size !== null && size !== Infinity) {
    throw new ValueError(
      `Cannot read together a dataset of ${size} elements: wanted an endless one, which repeat() makes`,
    );
  }
}
