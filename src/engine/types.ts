/**
 * The types of the engine that signatures of several entries name. Each of these entries exports all of them, so that its documentation
 * is whole by itself, and programs over it need no other import for their types.
 *
 * @module
 */

export type { Differentiable } from "./autodiff/composites.ts";
export type { CustomGradArgument, CustomGradResult, SaveFunction } from "./autodiff/custom_grad.ts";
export type {
  ValueAndGrad,
  ValueAndGrads,
  ValueAndVariableGrads,
} from "./autodiff/grad_functions.ts";
export type { GradientsOf, TapeGradientOptions, UnconnectedGradients } from "./autodiff/tape.ts";
export type { Application, OpInput } from "./core/apply.ts";
export type { ChainedBinary } from "./core/chained/chained_binary.ts";
export type { ChainedAxes, ChainedBuffer, ChainedOps } from "./core/chained/chained_ops.ts";
export type {
  ChainedPadding,
  ChainedPerAxis,
  ChainedRounding,
  ChainedWindows,
} from "./core/chained/chained_windows.ts";
export type {
  CompositeOf,
  CompositeSpec,
  CompositeTensor,
  Dequantized,
  Like,
  Operand,
  RowPart,
} from "./core/composite.ts";
export type {
  HostCall,
  HostOp,
  HostResults,
  NodeState,
  Owner,
  RunScope,
  TapeOnlyCall,
} from "./core/contract/host_op.ts";
export type { ArrayLikeObject, ArrayLikeValue } from "./core/convert.ts";
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
} from "./core/device.ts";
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
} from "./core/dispatch.ts";
export type { DType, Float16ArrayLike, HostData, TypedArray } from "./core/dtype.ts";
export type { GpuData, TensorGpuData } from "./core/gpu_data.ts";
export type { GraphLike, GraphNode, Resource } from "./core/graph_node.ts";
export type * from "./core/meaning.ts";
export type { ElementValue, NdArray, Nested } from "./core/nd_array.ts";
export type { Nest } from "./core/nest.ts";
export type {
  Attrs,
  CpuKernel,
  GradContext,
  GradRule,
  OpDef,
  OpEffects,
  OpInit,
  Problem,
} from "./core/op.ts";
export type { Portable } from "./core/portable.ts";
export type {
  ArrayMap,
  DataType,
  DataTypeMap,
  NestedOf,
  NumericDataType,
  Rank,
} from "./core/ranks.ts";
export type { Expr } from "./core/scalar/expr.ts";
export type { PartialShape, Shape } from "./core/shape.ts";
export type { ArgDef, AttrDef, Signature } from "./core/signature.ts";
export type {
  EvalFeeds,
  Scalar,
  SessionLike,
  Tensor,
  Tensor1D,
  Tensor2D,
  Tensor3D,
  Tensor4D,
  Tensor5D,
  Tensor6D,
  TensorContext,
  TensorLike,
  VariableLike,
} from "./core/tensor.ts";
export type { ConcreteSpec, Spec, TensorSpec, TensorSpecMaker } from "./core/tensor_spec.ts";
export type { AssignedVariable } from "./graph/assigned_variable.ts";
export type { Collections } from "./graph/collections.ts";
export type { Capture, FuncGraph } from "./graph/func_graph.ts";
export type { Graph } from "./graph/graph.ts";
export type {
  ArgDefJson,
  AttrValueJson,
  BytesJson,
  FuncJson,
  FunctionDefJson,
  GraphDefJson,
  GraphDefOptions,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "./graph/graph_def_json.ts";
export type { GraphVariables } from "./graph/graph_variables.ts";
export type { Operation, SymbolicTensor } from "./graph/operation.ts";
export type { RowPartition } from "./kernels/host/ragged.ts";
export type { IndexedSlices } from "./ops/array/indexed_slices.ts";
export type { RaggedTensorSpec, RaggedTensorSpecMaker } from "./ops/ragged/ragged_spec.ts";
export type { RaggedTensor, RaggedValues } from "./ops/ragged/ragged_tensor.ts";
export type { PartOptions } from "./ops/state/transform_parts.ts";
export type { DeviceInfo, ReadyInfo } from "./runtime/devices/devices.ts";
export type { MemoryInfo } from "./runtime/eager/memory.ts";
export type { Scope } from "./runtime/eager/scopes.ts";
export type { EagerTensor } from "./runtime/eager/tensor.ts";
export type {
  ConcreteFunctionHandle,
  NamedSpec,
  TracedFunction,
} from "./runtime/functions/function.ts";
export type { SessionTarget } from "./runtime/run/targets.ts";
export type { Variable } from "./runtime/variables/variable.ts";
export type {
  BodyArgument,
  BodyArguments,
  BodyValue,
  DTypeOf,
  DTypeOfTyped,
  ElementOf,
  EntryOf,
  IsBodyLeaf,
  IsPlainLeaf,
  NdArrayOf,
  RankOf,
  ScriptInput,
} from "./script/body_types.ts";
export type { Decorated, DecoratorOptions } from "./script/decorator.ts";
export type {
  NumpyFunctionOptions,
  PyFuncForms,
  PyFuncOptions,
  ScriptResult,
} from "./script/numpy_function.ts";
export type { PyFunctionOptions } from "./script/py_function.ts";
export type {
  RegisteredScript,
  ScriptContext,
  ScriptFunction,
  ScriptVjp,
  ShapeFunction,
} from "./script/script.ts";
export type { Tout } from "./script/tout.ts";
export type { WorkerModule, WorkerOption } from "./script/workers/worker_body.ts";
