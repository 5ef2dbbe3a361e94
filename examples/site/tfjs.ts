/** TensorFlow.js with the two systems that compute for it, for the page that times them. */

import "@tensorflow/tfjs-backend-webgpu";
import "@tensorflow/tfjs-core/dist/register_all_gradients.js";

export * from "@tensorflow/tfjs-core";
export { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
