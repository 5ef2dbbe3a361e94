/**
 * Models of Keras as models of `@tensorflow/tfjs-layers` that run over `@weft/weft/tfjs-core`: `.keras` archives, `.h5` files, and
 * configurations of Keras 3.
 *
 * @example
 * ```ts
 * import { layersTopology } from "@weft/weft/keras";
 * const layer = { class_name: "InputLayer", config: { batch_shape: [null, 4], name: "x" } };
 * const topology = { class_name: "Sequential", registered_name: null, config: { name: "m", layers: [layer] } };
 * const text = JSON.stringify(layersTopology(topology));
 * console.log([text.includes("batch_input_shape"), text.includes("batch_shape")]); // [true, false]
 * ```
 *
 * @module
 */
import "../../engine/runtime/install.ts";

export { type LayersPackage, loadKeras } from "./load.ts";
export {
  type HashingConfig,
  type KerasLayerConfig,
  type KerasLayers,
  kerasLayers,
  type KerasOutputMode,
  type LookupConfig,
  type TextVectorizationConfig,
} from "./factories.ts";
export { registerKerasLayers } from "./register.ts";
export type { AdaptData, VocabularyLayer } from "./vocabulary_class.ts";
export { layersTopology } from "../layers/keras_config.ts";
export type { FileSource } from "../../library/io/source.ts";
export type * from "../../engine/types.ts";
