/** Types that the signatures of optimizers mention. */
export type { Accumulation } from "./accumulation.ts";
export type { Arithmetic } from "./arithmetic.ts";
export type { NamedGradients, NamedTensor } from "./named_gradients.ts";
export type {
  ConfigValue,
  Cost,
  OptimizerParts,
  OptimizerRule,
  SavedOptimizer,
  SavedPart,
  StepNumbers,
  StepOperation,
} from "./optimizer.ts";
export type { Rate, Schedule } from "./rate.ts";
export type { SlotInit, SlotPlan } from "./slots.ts";
export type {
  AllStage,
  EachStage,
  PartStage,
  SharedUpdate,
  Stage,
  StageBase,
  StageResult,
  StageValues,
} from "./stages.ts";
export type { PartOptions } from "../../engine/ops/state/transform_parts.ts";
