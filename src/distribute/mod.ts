/**
 * Several machines: workers and clients of TensorFlow's `tf.data` service.
 *
 * @module
 */
// Graphs that arrive may have any op.
import "../../mod.ts";

export { DataServiceWorker, type DataServiceWorkerOptions } from "./worker.ts";
export { LocalDispatcher, type LocalDispatcherOptions } from "./dispatcher.ts";
export {
  fromService,
  type FromServiceOptions,
  type ProcessingMode,
  type ServiceOptions,
} from "./from_service.ts";
export { grpcTransport } from "./grpc_transport.ts";
export { MemoryTransport } from "./memory_transport.ts";
export type {
  CallOptions,
  Channel,
  Handler,
  Listener,
  Parts,
  Transport,
  TransportOptions,
} from "./transport.ts";
