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
export {
  type Feeds,
  type FeedValue,
  type Fetch,
  type Fetched,
  type FetchedOf,
  type RunOptions,
  Session,
  type SessionDevice,
  type SessionOptions,
  type SessionTarget,
} from "./src/runtime/session/session.ts";
export { disposeVariables, Variable, variable } from "./src/runtime/variables/variable.ts";

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
  type ScriptInput,
  type ScriptResult,
} from "./src/script/numpy_function.ts";
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
/** TensorFlow 1's spellings: `tf.compat.v1.pyFunc`. */
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
/** Losses. */
export * as losses from "./src/ops/rows/losses.ts";
export { Reduction } from "./src/ops/rows/losses.ts";
export { elu, leakyRelu, prelu, relu, relu6, selu } from "./src/ops/pointwise/activation.ts";
export {
  add,
  addN,
  div,
  divNoNan,
  floorDiv,
  mod,
  mul,
  neg,
  sub,
} from "./src/ops/pointwise/arithmetic.ts";
export {
  equal,
  greater,
  greaterEqual,
  isFinite,
  isInf,
  isNaN,
  less,
  lessEqual,
  notEqual,
} from "./src/ops/pointwise/compare.ts";
export { complex, conj, imag, real } from "./src/ops/pointwise/complex.ts";
export { erf, exp, expm1, log, log1p, xdivy, xlogy } from "./src/ops/pointwise/exponential.ts";
export {
  bitwiseAnd,
  bitwiseInvert,
  bitwiseOr,
  bitwiseXor,
  leftShift,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  rightShift,
} from "./src/ops/pointwise/logical.ts";
export {
  pow,
  reciprocal,
  rsqrt,
  sqrt,
  square,
  squaredDifference,
} from "./src/ops/pointwise/power.ts";
export { abs, ceil, floor, round, sign, step } from "./src/ops/pointwise/rounding.ts";
export { clipByValue, maximum, minimum, where } from "./src/ops/pointwise/select.ts";
export { gelu, logSigmoid, sigmoid, softplus, softsign } from "./src/ops/pointwise/sigmoid.ts";
export {
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  cos,
  cosh,
  sin,
  sinh,
  tan,
  tanh,
} from "./src/ops/pointwise/trigonometric.ts";
export { cast } from "./src/ops/array/cast.ts";
export {
  expandDims,
  identity,
  identity as clone,
  rank,
  reshape,
  shape,
  size,
  squeeze,
  stopGradient,
} from "./src/ops/array/view.ts";
export { all, any, type Axes, max, mean, min, prod, sum } from "./src/ops/reduce/reduce.ts";
export * from "./src/ops/reduce/reduce_derived.ts";
export { argMax, argMin } from "./src/ops/reduce/arg_reduce.ts";
export { dropout } from "./src/ops/rows/dropout.ts";
/** Windows and short-time transforms. */
export * as signal from "./src/ops/signal/signal.ts";
export { inTopKAsync } from "./src/ops/reduce/in_top_k.ts";
export { fft, ifft, irfft, rfft } from "./src/ops/signal/spectral.ts";
/** Fourier transforms. */
export * as spectral from "./src/ops/signal/spectral.ts";
export { bincount, denseBincount } from "./src/ops/array/count.ts";
/** Functions that TensorFlow.js keeps in `tf.math`. */
export * as math from "./src/ops/math.ts";
export {
  argsort,
  lowerBound,
  searchSorted,
  sort,
  type SortDirection,
  topk,
  type TopKResult,
  upperBound,
} from "./src/ops/reduce/topk.ts";
export {
  batchNorm,
  batchNorm2d,
  batchNorm3d,
  batchNorm4d,
  layerNorm,
  movingAverage,
} from "./src/ops/rows/normalize.ts";
export { localResponseNormalization } from "./src/ops/rows/local_response_norm.ts";
import "./src/ops/rows/fused_batch_norm.ts";
export {
  type CrossEntropyArgs,
  logSoftmax,
  softmax,
  softmaxCrossEntropyWithLogits,
  type SparseCrossEntropyArgs,
  sparseSoftmaxCrossEntropyWithLogits,
} from "./src/ops/rows/softmax.ts";
export { cumprod, cumsum } from "./src/ops/reduce/scan.ts";
export {
  constant,
  fill,
  ones,
  onesLike,
  scalar,
  tensor,
  tensor1d,
  tensor2d,
  tensor3d,
  tensor4d,
  tensor5d,
  tensor6d,
  zeros,
  zerosLike,
} from "./src/ops/array/creation.ts";
export {
  concat,
  concat1d,
  concat2d,
  concat3d,
  concat4d,
  split,
  stack,
  unstack,
} from "./src/ops/array/join.ts";
export * from "./src/ops/array/move.ts";
export { mirrorPad, pad, pad1d, pad2d, pad3d, pad4d } from "./src/ops/array/pad.ts";
export { broadcastArgs, broadcastTo, tile } from "./src/ops/array/repeat.ts";
export { slice, slice1d, slice2d, slice3d, slice4d } from "./src/ops/array/slice.ts";
export { stridedSlice } from "./src/ops/array/strided_slice.ts";
export {
  diag,
  diagPart,
  eye,
  linspace,
  meshgrid,
  oneHot,
  range,
} from "./src/ops/array/numbering.ts";
export {
  buffer,
  type BufferElement,
  type BufferValues,
  TensorBuffer,
} from "./src/ops/array/tensor_buffer.ts";
export { gather, gatherND } from "./src/ops/array/gather.ts";
export { IndexedSlices } from "./src/ops/array/indexed_slices.ts";
export {
  scatterND,
  sparseToDense,
  tensorScatterAdd,
  tensorScatterUpdate,
} from "./src/ops/array/scatter.ts";
export { segmentSum, unsortedSegmentSum } from "./src/ops/array/segment.ts";
export {
  multinomial,
  rand,
  randomGamma,
  randomNormal,
  randomStandardNormal,
  randomUniform,
  randomUniformInt,
  truncatedNormal,
} from "./src/ops/random/random.ts";
export { type Seed, setRandomSeed } from "./src/ops/random/state.ts";
/** Random seeds and numbers. */
export * as random from "./src/ops/random/namespace.ts";
export { nextFrame } from "./src/runtime/environment.ts";
/** Images of pages as tensors, and back. */
export * as browser from "./src/ops/image/browser_namespace.ts";
/** Images: resizing, crops, transforms, suppression. */
export * as image from "./src/ops/image/namespace.ts";
/** Sparse tensors as their indices, values and shape. */
export * as sparse from "./src/ops/host/sparse.ts";
/** Strings. */
export * as string from "./src/ops/host/string.ts";
export * from "./src/ops/host/ragged.ts";
/** Ragged tensors: rows of different lengths. */
export * as ragged from "./src/ops/ragged/namespace.ts";
export {
  RaggedArray,
  RaggedTensor,
  RaggedTensorSpec,
  type RaggedValues,
} from "./src/ops/ragged/ragged_tensor.ts";
export {
  type SparseArray,
  SparseTensor,
  SparseTensorSpec,
} from "./src/ops/ragged/sparse_tensor.ts";
export type { CompositeSpec, CompositeTensor } from "./src/core/composite.ts";
export type { RowPartition } from "./src/kernels/host/ragged.ts";
export {
  booleanMaskAsync,
  setdiff1dAsync,
  unique,
  type UniqueResult,
  whereAsync,
} from "./src/ops/array/set_ops.ts";
export {
  batchToSpaceND,
  depthToSpace,
  spaceToBatchND,
  spaceToDepth,
} from "./src/ops/array/space_batch.ts";
export { basicLSTMCell, type LSTMCellFunc, multiRNNCell } from "./src/ops/rows/rnn_cell.ts";
export { dot, matMul, outerProduct } from "./src/ops/linalg/matmul.ts";
export { conv1d, conv2d, conv2dTranspose } from "./src/ops/conv/conv.ts";
export { conv3d, conv3dTranspose } from "./src/ops/conv/conv_3d.ts";
export { depthwiseConv2d, separableConv2d } from "./src/ops/conv/conv_depthwise.ts";
export { dilation2d } from "./src/ops/conv/dilation.ts";
export { einsum } from "./src/ops/linalg/einsum.ts";
/** Products and convolutions with bias and activation in one op. */
export * as fused from "./src/ops/fused/namespace.ts";
export { tensordot } from "./src/ops/linalg/linalg.ts";
/** Linear algebra. */
export * as linalg from "./src/ops/linalg/linalg.ts";
export {
  avgPool,
  avgPool3d,
  maxPool,
  maxPool3d,
  maxPoolWithArgmax,
  pool,
} from "./src/ops/conv/pool_functions.ts";

// data
/** Input pipelines. */
export * as data from "./src/data/mod.ts";

export { type AttentionOptions, scaledDotProductAttention } from "./src/ops/rows/attention.ts";

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
export type { GraphVariables, OwnVariable, VariableNode } from "./src/graph/graph_variables.ts";
export type { BytesJson, FuncJson } from "./src/graph/graph_def/types.ts";
export type { NamedSpec } from "./src/runtime/functions/function.ts";
export type { ScriptFunctions } from "./src/runtime/graph_defs/missing.ts";
export type { VariableHandle } from "./src/runtime/variables/variable_state.ts";
export type { Quantization } from "./src/graph_model/mod.ts";
export type { GradientsOptions } from "./src/autodiff/gradients.ts";
export type { TapeGradientOptions, UnconnectedGradients } from "./src/autodiff/tape.ts";
export type { Application, Interpreter, OpInput } from "./src/core/apply.ts";
export type {
  ChainedBuffer,
  ChainedOps,
  ChainedPadding,
  ChainedPerAxis,
  ChainedRounding,
} from "./src/core/chained_ops.ts";
export type { ArrayLikeObject, ArrayLikeValue } from "./src/core/convert.ts";
export type {
  BufferRead,
  Device,
  DeviceBuffer,
  DeviceCounters,
  HostElements,
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
  ArgDef,
  AttrDef,
  Attrs,
  CpuKernel,
  GradContext,
  GradRule,
  OpDef,
  OpEffects,
  OpInit,
  Problem,
  Signature,
} from "./src/core/op.ts";
export type * from "./src/core/meaning.ts";
export type { Expr, PointwiseExpr, ScalarOp } from "./src/core/scalar/expr.ts";
export type { PartialShape, Shape } from "./src/core/shape.ts";
export type { TensorContext, VariableLike } from "./src/core/tensor.ts";
export type { ConcreteSpec, Spec, TensorSpecMaker } from "./src/core/tensor_spec.ts";
export type { Capture, FuncGraph } from "./src/graph/func_graph.ts";
export type { GraphInterpreter } from "./src/graph/graph.ts";
export type {
  ArgDefJson,
  AttrValueJson,
  FunctionDefJson,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "./src/graph/graph_def/graph_def.ts";
export type { SymbolicTensor } from "./src/graph/operation.ts";
export type { Paddings } from "./src/ops/array/pad.ts";
export type { Padding, PerAxis, RoundingMode } from "./src/ops/conv/conv_arguments.ts";
export type { PooledWithArgmax } from "./src/ops/conv/pool_functions.ts";
export type { Pairs } from "./src/ops/array/space_batch.ts";
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
  SlotInit,
  StepOperation,
} from "./src/train/optimizer.ts";
