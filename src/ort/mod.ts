/**
 * onnxruntime's JavaScript API (`onnxruntime-common`, `-web` and `-node` 1.30) over Weft. Put in their place by an import
 * map, npm's `overrides` or a bundler's alias, packages that run models by onnxruntime, such as `@huggingface/transformers`,
 * run unmodified.
 *
 * @example
 * ```ts
 * import * as ort from "@weft/weft/ort";
 * // y = MatMul(x, w), as a file of ONNX has it
 * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
 * const session = await ort.InferenceSession.create(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
 * const { y } = await session.run({ x: new ort.Tensor("float32", [1, 1], [1, 2]) });
 * console.log(await y.getData()); // Float32Array(1) [5]
 * ```
 *
 * @module
 */
import "../engine/runtime/install.ts";
import { registerBackend } from "./backends.ts";
import { env } from "./env.ts";
import { InferenceSession } from "./session.ts";
import { listSupportedBackends } from "./supported.ts";
import { Tensor } from "./tensor.ts";
import {
  TRACE,
  TRACE_EVENT_BEGIN,
  TRACE_EVENT_END,
  TRACE_FUNC_BEGIN,
  TRACE_FUNC_END,
} from "./trace.ts";

export { env, InferenceSession, listSupportedBackends, registerBackend, Tensor };
export { TRACE, TRACE_EVENT_BEGIN, TRACE_EVENT_END, TRACE_FUNC_BEGIN, TRACE_FUNC_END };
export type { Env, LogLevel, WasmFlags, WebGpuFlags } from "./env.ts";
export type {
  Backend,
  ExternalDataFile,
  FeedsType,
  FetchesType,
  InferenceSessionHandler,
  ProviderOptions,
  ReturnType,
  RunOptions,
  SessionOptions,
  ValueMetadata,
} from "./session_types.ts";
export type {
  ChannelValues,
  DataLocation,
  DataTypeMap,
  DrawableImage,
  ElementType,
  ElementTypeMap,
  ImageFormat,
  ImageTensorLayout,
  LocatedData,
  ResourceFunctions,
  TensorConstructor,
  TensorData,
  TensorFromBufferOptions,
  TensorFromImageOptions,
  TensorFromTextureOptions,
  TensorToImageOptions,
  TypedTensor,
} from "./tensor_types.ts";

/** All of it as one object, which some packages import. */
const ort: {
  readonly InferenceSession: typeof InferenceSession;
  readonly Tensor: typeof Tensor;
  readonly env: typeof env;
  readonly listSupportedBackends: typeof listSupportedBackends;
  readonly registerBackend: typeof registerBackend;
} = { InferenceSession, Tensor, env, listSupportedBackends, registerBackend };
export default ort;
