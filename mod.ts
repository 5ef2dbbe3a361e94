/**
 * Weft: TensorFlow's graph runtime and script ops on WebGPU, in TypeScript.
 *
 * Ops have TensorFlow.js's names and run at once, on the GPU where there is one, else in WebAssembly. {@linkcode function} compiles what
 * they do into a graph; {@linkcode Graph} and {@linkcode Session} build and run graphs by hand; {@linkcode grad}, {@linkcode GradientTape}
 * and {@linkcode gradients} differentiate all of them.
 *
 * A function of yours is an op too. {@linkcode numpyFunction} gives it arrays of the host, read back in one copy;
 * {@linkcode pyFunction} gives it tensors and differentiates what it does.
 *
 * Reading is asynchronous, as a GPU's memory must be in browsers: `await t.data()`, `await t.array()`. Tensors are freed by
 * {@linkcode tidy}, by `using _scope = tf.scope()`, or one by one.
 *
 * @example Tensors, a script in a compiled function, a gradient
 * ```ts
 * import * as tf from "@weft/weft";
 *
 * const x = tf.tensor([[3, 1], [2, 4]]);
 * console.log(await tf.matMul(x, x).array()); // [[11, 7], [14, 18]]
 *
 * const sorted = (x: tf.Tensor) =>
 *   tf.numpyFunction((a: tf.NdArray) => Float32Array.from(a.data as Float32Array).sort(), [x], "float32", {
 *     shapeFn: (spec) => spec,
 *   });
 * const f = tf.function((x: tf.Tensor) => tf.sum(tf.mul(sorted(tf.square(x)), [1, 10, 100])));
 * console.log(await (await f.async(tf.tensor([3, -1, 2]))).data()); // Float32Array(1) [941]
 *
 * console.log(await tf.grad((x) => tf.pow(x, 3))(tf.scalar(2)).array()); // 12
 * ```
 *
 * @example A training loop
 * ```ts
 * import * as tf from "@weft/weft";
 *
 * const w = tf.variable([0]), optimizer = tf.train.sgd(0.1);
 * const step = tf.function(() => optimizer.minimize(() => tf.sum(tf.square(tf.sub(w, 5))), true));
 * for (let i = 0; i < 50; i++) (await step.async() as tf.Tensor).dispose();
 * console.log(await tf.round(w).array()); // [5]
 * ```
 *
 * @module
 */
import "./src/modules_generated.ts";
import "./src/engine/runtime/install.ts";
import "./src/library/display/inspect.ts";
import "./src/library/display/inspect_graphs.ts";

/** Error classes of TensorFlow: `tf.errors.InvalidArgumentError` and its siblings. */
export * as errors from "./src/engine/core/errors.ts";
export {
  LookupError,
  NotImplementedError,
  OperatorNotAllowedInGraphError,
  RuntimeError,
  StopIteration,
  ValueError,
} from "./src/engine/core/errors.ts";
export { NdArray } from "./src/engine/core/nd_array.ts";
export { TensorSpec } from "./src/engine/core/tensor_spec.ts";
export { Tensor } from "./src/engine/core/tensor.ts";
export { Rank, type ShapeMap } from "./src/engine/core/ranks.ts";

// runtime
export {
  device,
  getBackend,
  listDevices,
  ready,
  setBackend,
} from "./src/engine/runtime/devices/devices.ts";
export {
  type TunedKernels,
  tunedKernels,
  tuneKernels,
} from "./src/engine/runtime/devices/tuning.ts";
export { dispose, keep, scope, tidy } from "./src/engine/runtime/eager/tensor.ts";
export { memory } from "./src/engine/runtime/eager/memory.ts";
export { webgpuDevice } from "./src/engine/runtime/eager/gpu_memory.ts";

export { profile, type ProfileInfo, type RunMetadata } from "./src/engine/runtime/run/metadata.ts";
export { type Trace, trace, type TraceEvent, type TraceInfo } from "./src/engine/runtime/trace.ts";
export { cond } from "./src/engine/runtime/control/cond.ts";
export { caseOf as case, type CaseOptions, switchCase } from "./src/engine/runtime/control/case.ts";
export { whileLoop, type WhileOptions } from "./src/engine/runtime/control/while_loop.ts";
export { foriLoop, type ForiLoopOptions } from "./src/engine/runtime/control/fori_loop.ts";
export { associativeScan } from "./src/engine/runtime/control/associative_scan.ts";
export type { AssociativeScanOptions } from "./src/engine/runtime/control/associative_scan.ts";
export { foldl, foldr, mapFn, scan } from "./src/engine/runtime/control/functional_ops.ts";
export { type RowAxis, vectorizedMap, vmap, type VmapOptions } from "./src/engine/batching/vmap.ts";
export { TensorArray, type TensorArrayOptions } from "./src/engine/runtime/control/tensor_array.ts";
export { tfFunction as function } from "./src/engine/runtime/functions/function.ts";
export { importGraphDef, type ImportOptions } from "./src/tensorflow/graph/import_graph_def.ts";
export type {
  Feeds,
  FeedValue,
  Fetch,
  Fetched,
  FetchedOf,
  FetchedValue,
  RunOptions,
  SessionOptions,
  TensorName,
} from "./src/engine/runtime/run/requests.ts";
export { Session } from "./src/engine/runtime/session/session.ts";
export type { SessionDevice } from "./src/engine/runtime/run/targets.ts";
export { disposeVariables } from "./src/engine/runtime/variables/known_variables.ts";
export { Module } from "./src/engine/runtime/variables/module.ts";
export { Variable, variable } from "./src/engine/runtime/variables/variable.ts";
/** Random seeds, numbers and generators. */
export * as random from "./src/engine/runtime/variables/random_namespace.ts";
// graph
export { Graph } from "./src/engine/graph/graph.ts";
export {
  type GraphModel,
  loadGraphModel,
  type ModelArtifacts,
  type ModelHandler,
  type ModelInputs,
  type ModelOptions,
  type ModelOutputs,
  type ModelSignature,
  type ModelSource,
  type ModelTensor,
  type SignatureInfo,
  type WeightSpec,
} from "./src/tfjs/graph_model/mod.ts";
export { Assert } from "./src/engine/graph/assert.ts";
export * from "./src/engine/graph/groups.ts";
export { portability } from "./src/tensorflow/graph_def/graph_def.ts";
export type { UnportableNode } from "./src/tensorflow/graph_def/portable.ts";
export * from "./src/library/display/mod.ts";
export { Operation } from "./src/engine/graph/operation.ts";
export * from "./src/engine/graph/scopes.ts";
export { ensureShape, placeholder, placeholderWithDefault } from "./src/engine/ops/graph_ops.ts";

// scripts
export {
  contribPyFunc,
  type ContribPyFuncOptions,
  numpyFunction,
  numpyFunctionAsync,
  pyFunc,
} from "./src/engine/script/numpy_function.ts";
export type { ArrayBody, TensorBody } from "./src/engine/script/body_types.ts";
export { pyFunction, pyFunctionAsync } from "./src/engine/script/py_function.ts";
export { registerScript, unregisterScript } from "./src/engine/script/script.ts";
/** TensorFlow 1's spellings, `tf.compat.v1.pyFunc`, and version 2 by its name: `tf.compat.v2` is `tf`. */
export * as compat from "./src/tensorflow/compat_v1/compat.ts";
/** The part of TensorFlow 1's contrib that there is: `tf.contrib.framework.pyFunc`. */
export * as contrib from "./src/engine/script/contrib.ts";

// autodiff
export {
  type RegisteredGradient,
  registerGradient,
} from "./src/engine/autodiff/gradient_registry.ts";
export { gradPassThrough } from "./src/engine/autodiff/grad_pass_through.ts";
export { recomputeGrad } from "./src/engine/autodiff/recompute.ts";
export { GradientTape } from "./src/engine/autodiff/tape.ts";
export {
  ForwardAccumulator,
  jvp,
  type JvpOptions,
  linearize,
} from "./src/engine/autodiff/forward.ts";
export { gradients, type GradientsOptions, hessians } from "./src/engine/autodiff/gradients.ts";
export { customGrad } from "./src/engine/autodiff/custom_grad.ts";
export {
  grad,
  grads,
  valueAndGrad,
  valueAndGrads,
  variableGrads,
} from "./src/engine/autodiff/grad_functions.ts";
/** Files: npy, npz, safetensors. */
export * as io from "./src/library/io/mod.ts";
/** Tables from strings or numbers to others. */
export * as lookup from "./src/library/io/lookup.ts";

// train
/** Optimizers. */
export * as train from "./src/library/train/mod.ts";
/** Metrics that accumulate on the device. */
export * as metrics from "./src/library/metrics/mod.ts";
export { Optimizer, type OptimizerConfig } from "./src/library/train/optimizer.ts";
export {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  AdamWOptimizer,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
} from "./src/library/train/optimizers.ts";

// debugging
/** Assertions and checks of numbers. */
export * as debugging from "./src/library/debugging/mod.ts";
export { print, type Printable, type PrintOptions } from "./src/library/debugging/print.ts";
export { tap, type TapFunction, type TapOptions } from "./src/library/debugging/tap.ts";

// ops
export * from "./src/engine/ops/functions.ts";
import "./src/engine/ops/rows/fused_batch_norm.ts";
export { nextFrame } from "./src/engine/runtime/devices/environment.ts";
export type { Joined, Picked, Reduced } from "./src/engine/core/composite.ts";

// data
/** Input pipelines. */
export * as data from "./src/library/data/mod.ts";

// types that signatures mention
export type * from "./src/engine/types.ts";
export type { VariableNode } from "./src/engine/graph/graph_variables.ts";
export type { ScriptFunctions } from "./src/tensorflow/graph/scripts.ts";
export type { VariableHandle } from "./src/engine/runtime/variables/variable_state.ts";
export type { Quantization } from "./src/tfjs/graph_model/mod.ts";
export type { NamedTensorMap } from "./src/tfjs/core/types.ts";
export type { PointwiseExpr, ScalarOp } from "./src/engine/core/scalar/expr.ts";
export type {
  LoopVariable,
  LoopVariableOf,
  LoopVariables,
  ShapeInvariant,
} from "./src/engine/runtime/control/loop_variables.ts";
export type {
  FoldOptions,
  LiteralElems,
  MapOptions,
  ScanOptions,
  TensorsOf,
} from "./src/engine/runtime/control/functional_ops.ts";
export type { FunctionOptions } from "./src/engine/runtime/functions/function.ts";
export type { SignatureSpec } from "./src/engine/runtime/functions/function_binding.ts";
export type { RowSignature } from "./src/engine/runtime/control/elems.ts";
export type * from "./src/library/train/types.ts";
