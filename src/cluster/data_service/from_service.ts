/** Datasets that a tf.data service computes: a client of its dispatcher and of all its workers. */
import { optionCheck, wantObject } from "../../engine/core/arguments.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { Dataset } from "../../library/data/dataset.ts";
import { dataService, type ServiceOptions } from "../../library/data/distributed.ts";
import type { ElementType } from "../../library/data/element.ts";
import type { TensorsOfSpec } from "../../library/data/mod.ts";
import { makeSource, type Source } from "../../library/data/source.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { parseTout, type Tout } from "../../engine/script/tout.ts";
import { exportDataset } from "./export_dataset.ts";
import { checkConsumers, policyOf, type Reading } from "./reading.ts";
import { ServicePass } from "./service_pass.ts";

/** Options of {@linkcode fromService}. */
export interface FromServiceOptions<T extends Tout = Tout> extends ServiceOptions {
  /**
   * The dataset: the name it was registered under, or its graph as `readGraphDef` reads it, which is then registered.
   */
  readonly dataset: string | GraphDefJson;
  /** Spec or dtype of an element, or a list or object of them. */
  readonly elementSpec: T;
}

const SERVICE_OPTIONS = {
  service: true,
  processingMode: true,
  jobName: true,
  consumerIndex: true,
  numConsumers: true,
  maxOutstandingRequests: true,
  workerTimeoutMs: true,
  heartbeatMs: true,
  maxMessageBytes: true,
  secret: true,
  tls: true,
  transport: true,
} as const;
const checkServiceOptions = optionCheck<ServiceOptions>("distribute", SERVICE_OPTIONS);
const checkOptions = optionCheck<FromServiceOptions>("fromService", {
  ...SERVICE_OPTIONS,
  dataset: true,
  elementSpec: true,
});

/**
 * The elements of a dataset that a `tf.data` service computes, whose workers may be TensorFlow's or ours. Each pass
 * is an iteration of the job: programs that name the same `jobName` divide its elements among them. Elements come in
 * no particular order.
 *
 * @example
 * ```ts
 * import { fromService, MemoryTransport } from "@weft/weft/distribute";
 * const options = { service: "grpc://nowhere:1", transport: new MemoryTransport(), dataset: "squares", elementSpec: "int64" } as const;
 * const answer = await fromService(options).toArray().catch((error) => error.message);
 * console.log(answer); // …Cannot reach nowhere:1…
 * ```
 */
export function fromService<const T extends Tout>(
  options: FromServiceOptions<T>,
): Dataset<TensorsOfSpec<T>> {
  wantObject(options, "options", "fromService");
  checkOptions(options);
  const { specs, structure } = parseTout(options.elementSpec);
  const type = { specs: specs.map(({ shape, dtype }) => TensorSpec(shape, dtype)), structure };
  return new Dataset(serviceSource(type, { options, dataset: () => options.dataset }));
}

/** Makes the source of elements that a service computes. */
function serviceSource(
  { specs, structure }: ElementType,
  { options, dataset, length = null }: Pick<Reading, "options" | "dataset"> & {
    readonly length?: number | null;
  },
): Source {
  policyOf(options.processingMode);
  checkConsumers(options, length);
  const dispatcher = { reached: false };
  let passes = 0;
  return makeSource({
    kind: "DataService",
    specs,
    structure,
    size: null,
    isFresh: true,
    open: ({ signal }) =>
      new ServicePass({ options, dataset, specs, dispatcher, repetition: passes++, signal }),
  });
}

dataService.provide((source, options) => {
  wantObject(options, "options", "Dataset.distribute");
  checkServiceOptions(options);
  return serviceSource(source, { options, dataset: exportDataset(source), length: source.size });
});
