/**
 * The modules that stand for subpaths of `@tensorflow/tfjs-core`, which packages import: `deno task build` writes a file for each, over
 * this one. Names are those of the files.
 *
 * @module
 */
/** Backends. */
export * as backend from "./backend.ts";
/** Helpers of backends. */
export * as backend_util from "./backend_util/mod.ts";
/** Slices. */
export * as backend_util_slice from "./backend_util/slice.ts";
/** Shapes of noise. */
export * as dropout_util from "./dropout_util.ts";
/** The engine. */
export * as engine from "./engine.ts";
/** Flags and the platform. */
export * as environment from "./environment.ts";
/** Saving and loading models. */
export * as io from "./io/mod.ts";
/** Weights as bytes. */
export * as io_io_utils from "./io/io_utils.ts";
/** Handlers of URLs. */
export * as io_router_registry from "./io/router_registry.ts";
/** Kernels on the host. */
export * as kernel_impls from "./kernel_impls.ts";
/** Classes that can be written as JSON. */
export * as serialization from "./serialization.ts";
/** Tensors in containers. */
export * as tensor_util from "./tensor_util.ts";
/** Values as tensors. */
export * as tensor_util_env from "./tensor_util_env.ts";
/** Comparisons for tests. */
export * as test_util from "./test_util.ts";
/** Arrays, shapes, texts, assertions. */
export * as util from "./util/mod.ts";
/** The base class of optimizers. */
export * as optimizer from "./optimizer.ts";
