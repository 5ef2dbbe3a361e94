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
 * import { assertEquals } from "@std/assert";
 *
 * const x = tf.tensor([[3, 1], [2, 4]]);
 * assertEquals(await tf.matMul(x, x).array(), [[11, 7], [14, 18]]);
 *
 * const sorted = (x: tf.Tensor) =>
 *   tf.numpyFunction((a: tf.NdArray) => Float32Array.from(a.data as Float32Array).sort(), [x], "float32", {
 *     shapeFn: (spec) => spec,
 *   });
 * const f = tf.function((x: tf.Tensor) => tf.sum(tf.mul(sorted(tf.square(x)), [1, 10, 100])));
 * assertEquals(await (await f.async(tf.tensor([3, -1, 2]))).data(), Float32Array.of(941));
 *
 * assertEquals(await tf.grad((x) => tf.pow(x, 3))(tf.scalar(2)).array(), 12);
 * ```
 *
 * @example A training loop
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assert } from "@std/assert";
 *
 * const w = tf.variable([0]), optimizer = tf.train.sgd(0.1);
 * const step = tf.function(() => optimizer.minimize(() => tf.sum(tf.square(tf.sub(w, 5))), true));
 * for (let i = 0; i < 50; i++) (await step.async() as tf.Tensor).dispose();
 * assert(Math.abs((await w.data())[0] as number - 5) < 1e-3);
 * ```
 *
 * @module
 */
import "./src/modules_generated.ts";
import "./src/runtime/install.ts";
import "./src/script/install.ts";

/** Error classes of TensorFlow: `tf.errors.InvalidArgumentError` and its siblings. */
export * as errors from "./src/core/errors.ts";
export {
  LookupError,
  NotImplementedError,
  OperatorNotAllowedInGraphError,
  RuntimeError,
  StopIteration,
  ValueError,
} from "./src/core/errors.ts";
export type { DType, TypedArray } from "./src/core/dtype.ts";
export { NdArray } from "./src/core/nd_array.ts";
export { TensorSpec } from "./src/core/tensor_spec.ts";
export {
  type Scalar,
  Tensor,
  type Tensor1D,
  type Tensor2D,
  type Tensor3D,
  type Tensor4D,
  type Tensor5D,
  type Tensor6D,
  type TensorLike,
} from "./src/core/tensor.ts";
export {
  type ArrayMap,
  type DataType,
  type DataTypeMap,
  type NestedOf,
  type NumericDataType,
  Rank,
  type ShapeMap,
} from "./src/core/ranks.ts";
export type { GpuData, TensorGpuData } from "./src/core/gpu_data.ts";

// runtime
export { device, getBackend, listDevices, ready, setBackend } from "./src/runtime/devices.ts";
export { type TunedKernels, tunedKernels, tuneKernels } from "./src/runtime/eager/tuning.ts";
export { dispose, keep, scope, tidy } from "./src/runtime/eager/tensor.ts";
export { memory } from "./src/runtime/eager/memory.ts";
export { webgpuDevice } from "./src/runtime/eager/gpu_memory.ts";

export { profile, type ProfileInfo, type RunMetadata } from "./src/runtime/session/metadata.ts";
export { type Trace, trace, type TraceEvent, type TraceInfo } from "./src/runtime/trace.ts";
export { cond } from "./src/runtime/branches/cond.ts";
export { caseOf as case, type CaseOptions, switchCase } from "./src/runtime/branches/case.ts";
export { whileLoop } from "./src/runtime/loops/while_loop.ts";
export { foldl, foldr, mapFn, scan } from "./src/runtime/loops/functional_ops.ts";
export { TensorArray } from "./src/runtime/loops/tensor_array.ts";
export { tfFunction as function } from "./src/runtime/functions/function.ts";
export { importGraphDef } from "./src/runtime/graph_defs/import_graph_def.ts";
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
} from "./src/runtime/session/requests.ts";
export { Session } from "./src/runtime/session/session.ts";
export type { SessionDevice, SessionTarget } from "./src/runtime/session/targets.ts";
export { disposeVariables } from "./src/runtime/variables/known_variables.ts";
export { Variable, variable } from "./src/runtime/variables/variable.ts";

// graph
export { Graph } from "./src/graph/graph.ts";
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
} from "./src/graph_model/mod.ts";
export type { GraphDefJson, GraphDefOptions } from "./src/graph/graph_def/graph_def.ts";
export { Assert } from "./src/graph/assert.ts";
export * from "./src/graph/groups.ts";
export { portability, type UnportableNode } from "./src/portable/mod.ts";
export * from "./src/display/mod.ts";
export { Operation } from "./src/graph/operation.ts";
export * from "./src/graph/scopes.ts";
export { ensureShape, placeholder, placeholderWithDefault } from "./src/ops/graph_ops.ts";

// scripts
export {
  contribPyFunc,
  type ContribPyFuncOptions,
  numpyFunction,
  numpyFunctionAsync,
  type NumpyFunctionOptions,
  pyFunc,
  type PyFuncOptions,
  type ScriptResult,
} from "./src/script/numpy_function.ts";
export type {
  ArrayBody,
  BodyArguments,
  NdArrayOf,
  ScriptInput,
  TensorBody,
} from "./src/script/body_types.ts";
export { pyFunction, pyFunctionAsync, type PyFunctionOptions } from "./src/script/py_function.ts";
export {
  type RegisteredScript,
  registerScript,
  type ScriptContext,
  type ScriptFunction,
  type ScriptVjp,
  type ShapeFunction,
  unregisterScript,
} from "./src/script/script.ts";
export type { WorkerModule, WorkerOption } from "./src/script/workers/worker_body.ts";
export type { Tout } from "./src/script/tout.ts";
/** TensorFlow 1's spellings, `tf.compat.v1.pyFunc`, and version 2 by its name: `tf.compat.v2` is `tf`. */
export * as compat from "./src/compat_v1/compat.ts";
/** What TensorFlow 1 kept in contrib: `tf.contrib.framework.pyFunc`. */
export * as contrib from "./src/script/contrib.ts";

// autodiff
export { type RegisteredGradient, registerGradient } from "./src/autodiff/gradient_registry.ts";
export { GradientTape } from "./src/autodiff/tape.ts";
export { gradients, hessians } from "./src/autodiff/gradients.ts";
export {
  customGrad,
  type CustomGradArgument,
  type CustomGradResult,
  type SaveFunction,
} from "./src/autodiff/custom_grad.ts";
export {
  grad,
  grads,
  valueAndGrad,
  valueAndGrads,
  variableGrads,
} from "./src/autodiff/grad_functions.ts";
/** Files: npy, npz, safetensors. */
export * as io from "./src/io/mod.ts";

// train
/** Optimizers. */
export * as train from "./src/train/mod.ts";
export { Optimizer, type OptimizerConfig } from "./src/train/optimizer.ts";
export {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  AdamWOptimizer,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
} from "./src/train/optimizers.ts";

// debugging
/** Assertions and checks of numbers. */
export * as debugging from "./src/debugging/mod.ts";
export { print, type Printable, type PrintOptions } from "./src/debugging/print.ts";
export { tap, type TapFunction, type TapOptions } from "./src/debugging/tap.ts";

// ops
export * from "./src/ops/functions.ts";
import "./src/ops/rows/fused_batch_norm.ts";
export { nextFrame } from "./src/runtime/environment.ts";
export type { CompositeSpec, CompositeTensor } from "./src/core/composite.ts";
export type { RowPartition } from "./src/kernels/host/ragged.ts";

// data
/** Input pipelines. */
export * as data from "./src/data/mod.ts";

// types that signatures mention
export type {
  ValueAndGrad,
  ValueAndGrads,
  ValueAndVariableGrads,
} from "./src/autodiff/grad_functions.ts";
export type { EvalFeeds, SessionLike } from "./src/core/tensor.ts";
export type { Portable } from "./src/core/portable.ts";
export type { AssignedVariable } from "./src/graph/assigned_variable.ts";
export type { Collections } from "./src/graph/collections.ts";
export type { GraphVariables, VariableNode } from "./src/graph/graph_variables.ts";
export type { BytesJson, FuncJson } from "./src/graph/graph_def/types.ts";
export type { NamedSpec } from "./src/runtime/functions/function.ts";
export type { ScriptFunctions } from "./src/runtime/graph_defs/missing.ts";
export type { VariableHandle } from "./src/runtime/variables/variable_state.ts";
export type { Quantization } from "./src/graph_model/mod.ts";
export type { GradientsOptions } from "./src/autodiff/gradients.ts";
export type { TapeGradientOptions, UnconnectedGradients } from "./src/autodiff/tape.ts";
export type { Application, Interpreter, OpInput } from "./src/core/apply.ts";
export type { ChainedAxes, ChainedBuffer, ChainedOps } from "./src/core/chained/chained_ops.ts";
export type {
  ChainedPadding,
  ChainedPerAxis,
  ChainedRounding,
  ChainedWindows,
} from "./src/core/chained/chained_windows.ts";
export type { ArrayLikeObject, ArrayLikeValue } from "./src/core/convert.ts";
export type {
  BufferRead,
  Device,
  DeviceBuffer,
  DeviceCounters,
  HostElements,
  KernelForm,
  PreparedKernel,
  Sequence,
  TransferCost,
} from "./src/core/device.ts";
export type {
  BufferRange,
  BufferRef,
  Candidates,
  Dispatch,
  GpuPlan,
  GpuVariant,
  KernelChooser,
  Profile,
  Program,
} from "./src/core/dispatch.ts";
export type { Float16ArrayLike, HostData } from "./src/core/dtype.ts";
export type { GraphLike, GraphNode, Resource } from "./src/core/graph_node.ts";
export type { ElementValue, Nested } from "./src/core/nd_array.ts";
export type { Nest } from "./src/core/nest.ts";
export type {
  Attrs,
  CpuKernel,
  GradContext,
  GradRule,
  OpDef,
  OpEffects,
  OpInit,
  Problem,
} from "./src/core/op.ts";
export type * from "./src/core/meaning.ts";
export type { ArgDef, AttrDef, Signature } from "./src/core/signature.ts";
export type { Expr, PointwiseExpr, ScalarOp } from "./src/core/scalar/expr.ts";
export type { PartialShape, Shape } from "./src/core/shape.ts";
export type { TensorContext, VariableLike } from "./src/core/tensor.ts";
export type { ConcreteSpec, Spec, TensorSpecMaker } from "./src/core/tensor_spec.ts";
export type { Capture, FuncGraph } from "./src/graph/func_graph.ts";
export type { GraphInterpreter } from "./src/graph/current_graph.ts";
export type {
  ArgDefJson,
  AttrValueJson,
  FunctionDefJson,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "./src/graph/graph_def/graph_def.ts";
export type { SymbolicTensor } from "./src/graph/operation.ts";
export type {
  LoopVariable,
  LoopVariableOf,
  LoopVariables,
  ShapeInvariant,
} from "./src/runtime/loops/loop_variables.ts";
export type { WhileOptions } from "./src/runtime/loops/while_loop.ts";
export type {
  FoldOptions,
  LiteralElems,
  MapOptions,
  ScanOptions,
  TensorsOf,
} from "./src/runtime/loops/functional_ops.ts";
export type { TensorArrayOptions } from "./src/runtime/loops/tensor_array.ts";
export type { DeviceInfo } from "./src/runtime/devices.ts";
export type {
  ConcreteFunctionHandle,
  FunctionOptions,
  TracedFunction,
} from "./src/runtime/functions/function.ts";
export type { ImportOptions } from "./src/runtime/graph_defs/import_graph_def.ts";
export type { MemoryInfo } from "./src/runtime/eager/memory.ts";
export type { Storage } from "./src/runtime/eager/storage.ts";
export type { EagerTensor, Scope } from "./src/runtime/eager/tensor.ts";
export type { VariableState } from "./src/runtime/variables/variable_state.ts";
export type { Decorated, DecoratorOptions } from "./src/script/decorator.ts";
export type { Arithmetic } from "./src/train/arithmetic.ts";
export type {
  Cost,
  NamedGradients,
  NamedTensor,
  OptimizerRule,
  StepNumbers,
  StepOperation,
} from "./src/train/optimizer.ts";
export type { SlotInit, SlotPlan } from "./src/train/slots.ts";
