/**
 * Several machines: workers and clients of TensorFlow's `tf.data` service, and sessions on clusters of TensorFlow's servers, which this
 * module reaches for `new tf.Session({ target: "grpc://host:port" })`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { DataServiceDispatcher, DataServiceWorker, fromService, MemoryTransport } from "@weft/weft/distribute";
 * // Python writes such graphs: `tf.data.Dataset.range(3)`.
 * const int64 = (v: number) => ({ dtype: "DT_INT64", tensorShape: {}, int64Val: [`${v}`] });
 * const dataset = {
 *   versions: { producer: 2000 },
 *   node: [
 *     ...[0, 3, 1].map((v, i) => ({ name: `c${i}`, op: "Const", attr: { dtype: { type: "DT_INT64" }, value: { tensor: int64(v) } } })),
 *     { name: "range", op: "RangeDataset", input: ["c0", "c1", "c2"], attr: { output_types: { list: { type: ["DT_INT64"] } } } },
 *     { name: "sink", op: "_Retval", input: ["range"] },
 *   ],
 * };
 * const transport = new MemoryTransport();
 * await using dispatcher = new DataServiceDispatcher({ transport });
 * await dispatcher.start();
 * await using worker = new DataServiceWorker({ dispatcher: dispatcher.target, transport });
 * await worker.start();
 * const seen = fromService({ service: dispatcher.target, transport, dataset, elementSpec: "int64" });
 * console.log(await Array.fromAsync(seen.asNumpyIterator(), (x) => Number(x.item()))); // [0, 1, 2]
 * ```
 *
 * @module
 */
// Graphs that arrive may have any op.
import "../../mod.ts";

export { DataServiceWorker, type DataServiceWorkerOptions } from "./data_service/worker.ts";
export { DataServiceDispatcher } from "./data_service/dispatcher.ts";
export type { DataServiceDispatcherOptions } from "./data_service/dispatcher_options.ts";
export { fromService, type FromServiceOptions } from "./data_service/from_service.ts";
export { Server, type ServerOptions } from "./server/server.ts";
export type { ClusterSpec } from "./server/cluster_spec.ts";
export { scriptHash } from "./script_hashes.ts";
export { grpcTransport } from "./wire/grpc_transport.ts";
export {
  DataParallel,
  type DataParallelOptions,
  type TrainOptions,
} from "./session/data_parallel.ts";
export type { OptimizerOfStep, ParameterOptimizer } from "./session/parameter_graph.ts";
export { remoteTarget, type RemoteTargetOptions } from "./session/remote_target.ts";
export { MemoryTransport } from "./wire/memory_transport.ts";
export type {
  CallOptions,
  Channel,
  Handler,
  Listener,
  Parts,
  TlsOptions,
  Transport,
  TransportOptions,
} from "./wire/transport.ts";
export type * from "../library/data/mod.ts";
// Two types have each of these names.
export type { Capture, Sequence } from "../library/data/mod.ts";
export type { Capture as BodyCapture, Sequence as DeviceSequence } from "../engine/types.ts";
export type { ScriptFunctions } from "../tensorflow/graph/scripts.ts";
export type * from "../engine/types.ts";
