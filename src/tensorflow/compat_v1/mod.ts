/** Namespace `tf.compat.v1`: the graph world of TensorFlow 1. */
export { Graph } from "../../engine/graph/graph.ts";
export { placeholder, placeholderWithDefault } from "../../engine/ops/graph_ops.ts";
export { setRandomSeed } from "../../engine/ops/random/state.ts";
export { numpyFunction, pyFunc } from "../../engine/script/numpy_function.ts";
export { pyFunction } from "../../engine/script/py_function.ts";
export {
  addToCollection,
  getCollection,
  getCollectionRef,
  getDefaultGraph,
  GraphKeys,
} from "./collections.ts";
export {
  constantInitializer,
  glorotNormalInitializer,
  glorotUniformInitializer,
  type Initializer,
  onesInitializer,
  randomNormalInitializer,
  randomUniformInitializer,
  truncatedNormalInitializer,
  varianceScalingInitializer,
  type VarianceScalingOptions,
  zerosInitializer,
} from "./initializers.ts";
export { sparsePlaceholder } from "./placeholders.ts";
/** Ragged tensors and their placeholders. */
export * as ragged from "./ragged.ts";
export {
  ConditionalAccumulator,
  type ConditionalAccumulatorOptions,
} from "./conditional_accumulator.ts";
export { getRandomSeed } from "./random_seed.ts";
export {
  type Callable,
  type FeedDict,
  getDefaultSession,
  InteractiveSession,
  type RunArguments,
  Session,
} from "./session.ts";
/** Frozen and pruned graphs. */
export * as graphUtil from "./graph_util.ts";
/** Losses, added to a collection of the graph. */
export * as losses from "./losses.ts";
/** Metrics over several batches. */
export * as metrics from "./metrics.ts";
/** Optimizers, savers and step counts. */
export * as train from "./train.ts";
export {
  assign,
  assignAdd,
  assignSub,
  globalVariables,
  globalVariablesInitializer,
  isVariableInitialized,
  localVariables,
  localVariablesInitializer,
  movingAverageVariables,
  reportUninitializedVariables,
  tablesInitializer,
  trainableVariables,
  variable,
  type VariableOptions,
  variablesInitializer,
} from "./variables.ts";
export {
  AUTO_REUSE,
  getVariable,
  type GetVariableOptions,
  getVariableScope,
  type Regularizer,
  type Reuse,
  VariableScope,
  variableScope,
  type VariableScopeOptions,
} from "./variable_scope.ts";
