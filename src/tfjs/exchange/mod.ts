/**
 * Exchange with TensorFlow.js: tensors both ways, without a copy on one GPU device, and its functions as ops of Weft.
 * Import the backends of TensorFlow.js yourself.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { fromTfjs, toTfjs } from "@weft/weft/tfjs";
 * import * as tfjs from "@tensorflow/tfjs-core";
 * import "@tensorflow/tfjs-backend-cpu";
 * const x = toTfjs(tf.tensor([1, 2]));
 * const y = fromTfjs(tfjs.add(x, x));
 * console.log(y.arraySync()); // [2, 4]
 * ```
 *
 * @module
 */
import "../../engine/runtime/install.ts";

import { registerWeftBackend } from "./weft_backend.ts";

export { fromTfjs, fromTfjsAsync, toTfjs, toTfjsAsync } from "./exchange.ts";
export { shareDevice } from "./share_device.ts";
export type { TfjsTensor, WebGpuBackendClass } from "./shared_backend.ts";
export { tfjsFunction } from "./tfjs_function.ts";
export { registerWeftBackend } from "./weft_backend.ts";
export type * from "../../engine/types.ts";

registerWeftBackend();
