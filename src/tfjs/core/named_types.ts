/** The types of ours that signatures of TensorFlow.js's functions name. */

export type {
  Axes,
  BufferElement,
  BufferValues,
  LSTMCellFunc,
  Moments,
  Padding,
  Paddings,
  Pairs,
  PerAxis,
  PooledWithArgmax,
  RaggedRanges,
  RaggedRows,
  RoundingMode,
  Seed,
  TopKResult,
  UniqueResult,
} from "../../engine/ops/functions.ts";
export type { Printable, PrintOptions } from "../../library/debugging/print.ts";
export type { Accumulation } from "../../library/train/accumulation.ts";
export type { Arithmetic } from "../../library/train/arithmetic.ts";
export type {
  NamedGradients,
  NamedTensor as NamedGradient,
} from "../../library/train/named_gradients.ts";
export type {
  ConfigValue,
  Cost,
  Optimizer as WeftOptimizer,
  OptimizerConfig,
  OptimizerParts,
  OptimizerRule,
  SavedOptimizer,
  SavedPart,
  StepNumbers,
} from "../../library/train/optimizer.ts";
export type { Rate, Schedule } from "../../library/train/rate.ts";
export type { SlotInit, SlotPlan } from "../../library/train/slots.ts";
export type {
  AllStage,
  EachStage,
  PartStage,
  SharedUpdate,
  Stage,
  StageBase,
  StageResult,
  StageValues,
} from "../../library/train/stages.ts";
export type { StepOperation } from "../../library/train/step_graph.ts";
export type { TypedArray as WeftTypedArray } from "../../engine/types.ts";
export type * from "../../engine/types.ts";
