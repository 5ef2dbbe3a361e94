/** `tf.io` of TensorFlow.js: saving and loading models. */
import "./indexed_db.ts";
import "./local_storage.ts";

export { browserFiles } from "./browser_files.ts";
export { CompositeArrayBuffer } from "./composite_array_buffer.ts";
export { fileSystem } from "./file_system.ts";
export { browserHTTPRequest, http, isHTTPScheme } from "./http.ts";
export {
  concatenateArrayBuffers,
  decodeWeights,
  decodeWeightsStream,
  encodeWeights,
  getModelArtifactsForJSON,
  getModelArtifactsForJSONSync,
  getModelArtifactsInfoForJSON,
  getWeightSpecs,
} from "./io_utils.ts";
export { copyModel, listModels, moveModel, removeModel } from "./model_management.ts";
export { fromMemory, fromMemorySync, withSaveHandler, withSaveHandlerSync } from "./passthrough.ts";
export {
  getLoadHandlers,
  getSaveHandlers,
  type IORouter,
  registerLoadRouter,
  registerSaveRouter,
} from "./router_registry.ts";
export { loadWeights, weightsLoaderFactory } from "./weights_loader.ts";
export type * from "./types.ts";
export type { BytesLike } from "./composite_array_buffer.ts";
