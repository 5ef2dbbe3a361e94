/**
 * A step as stages: each turns the updates of the trained variables, which begin as their gradients, into others, or ends the step
 * with new variables. Pointwise stages that follow each other are one op.
 */
import { apply } from "../../engine/core/apply.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { ApplyTransforms, type PartOptions } from "../../engine/ops/state/transform_parts.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { StepNumbers } from "./optimizer.ts";
import type { SlotInit } from "./slots.ts";

/** The values of one variable when a stage is reached; those of halves are of float32. */
export interface StageValues {
  /** The update so far. */
  readonly update: Tensor;
  /** The variable's value. */
  readonly variable: Tensor;
  /** The stage's slots. */
  readonly slots: readonly Tensor[];
  /** The stage's scalars. */
  readonly scalars: readonly Tensor[];
  /** One over the number of times that each row is there; null where the update is no one of rows. */
  readonly shares: Tensor | null;
}

/** The update of one variable, for a stage that takes all. */
export type SharedUpdate = Pick<StageValues, "update" | "shares">;

/** Result of a stage: the update, or at the end of a step the variable, and the new slots. */
export interface StageResult {
  /** The new update. */
  readonly update?: Tensor;
  /** The new variable. */
  readonly variable?: Tensor;
  /** The new slots, as many as there are. */
  readonly slots?: readonly Tensor[];
}

/** Parts of every stage. */
export interface StageBase {
  /** Its slots. Default none. */
  readonly slots?: readonly SlotInit[];
  /** Its scalars. Default none. */
  readonly scalars?: <N>(numbers: StepNumbers<N>) => readonly N[];
  /** The variables whose updates it takes; those of others pass it by. Default all. */
  readonly only?: (v: Variable) => boolean;
  /** True where a gradient of zero stays zero and changes no slot. */
  readonly leavesUnnamedRows?: boolean;
}

/** A pointwise part of `transform_parts.ts`. */
export interface PartStage extends StageBase {
  /** Name of the part. */
  readonly part: string;
  /** Its settings. */
  readonly options: PartOptions;
  /** True where it changes the variable after the update was added. */
  readonly ofVariable?: boolean;
}

/** Any function of the values of one variable. */
export interface EachStage extends StageBase {
  /** The function. */
  readonly each: (values: StageValues) => StageResult;
}

/** A function of the updates of all variables together. */
export interface AllStage extends StageBase {
  /** The function: of the updates to as many new ones. */
  readonly all: (updates: readonly SharedUpdate[]) => readonly Tensor[];
}

/** A stage of a step. */
export type Stage = PartStage | EachStage | AllStage;

/** The end of a step as one op of its own. */
export function opStage(
  update: OpDef,
  attrs: () => Attrs,
  base: StageBase,
): EachStage {
  return {
    ...base,
    each: (values) => {
      const inputs = [values.variable, ...values.slots, ...values.scalars, values.update];
      const [variable, ...slots] = apply(update, inputs, attrs());
      return { variable, slots };
    },
  };
}

/** A part of `transform_parts.ts` as a stage. */
export function partStage(
  part: string,
  options: PartOptions = {},
  base: StageBase = {},
): PartStage {
  return { ...base, part, options };
}

/** A stage with the places of its slots and scalars among those of all stages. */
export interface PlacedStage {
  readonly stage: Stage;
  readonly slots: readonly [from: number, to: number];
  readonly scalars: readonly [from: number, to: number];
}

/**
 * Places slots and scalars in the order of the stages, which are parted into runs of those that take one variable at a time, and those
 * that take all. The last run is of the former kind.
 */
export function placeStages(stages: readonly Stage[]): readonly (readonly PlacedStage[])[] {
  let slot = 0, scalar = 0;
  const segments: PlacedStage[][] = [[]];
  for (const stage of stages) {
    const one: PlacedStage = {
      stage,
      slots: [slot, slot += stage.slots?.length ?? 0],
      scalars: [scalar, scalar += countOf(stage)],
    };
    if ("all" in stage) segments.push([one], []);
    else segments[segments.length - 1].push(one);
  }
  return segments;
}

/** Number of scalars: a stage makes as many of any numbers. */
function countOf(stage: Stage): number {
  return stage.scalars?.(PROBE).length ?? 0;
}
const PROBE: StepNumbers<null> = {
  step: null,
  rate: null,
  options: {},
  a: new Proxy({}, { get: () => () => null }) as StepNumbers<null>["a"],
};

/** The state of one variable while the stages run. */
export interface StageItem {
  readonly of: Variable;
  update: Tensor;
  variable: Tensor;
  readonly slots: Tensor[];
  readonly scalars: readonly Tensor[];
  /** The variable's value before the step. */
  readonly before: Tensor;
  readonly shares: Tensor | null;
  /** Places of the slots that are new. */
  readonly changed: Set<number>;
}

/** Runs a segment of stages. */
export function runStage(segment: readonly PlacedStage[], items: readonly StageItem[]): void {
  const [first] = segment;
  if (first === undefined || !("all" in first.stage)) {
    for (const item of items) runEach(segment, item);
    return;
  }
  const { only, all } = first.stage, own = items.filter((item) => only?.(item.of) ?? true);
  if (own.length === 0) return;
  all(own).forEach((update, i) => own[i].update = update);
}

/** Runs stages that take one variable at a time. */
function runEach(stages: readonly PlacedStage[], item: StageItem): void {
  const own = stages.filter(({ stage }) => stage.only?.(item.of) ?? true);
  for (let i = 0; i < own.length;) {
    const { stage } = own[i];
    if ("each" in stage) {
      take(item, stage.each(valuesOf(item, [own[i]])), [own[i]]);
      i++;
      continue;
    }
    let end = i;
    while (end < own.length && "part" in own[end].stage) end++;
    runParts(own.slice(i, end), item);
    i = end;
  }
}

function valuesOf(item: StageItem, stages: readonly PlacedStage[]): StageValues {
  const slots: Tensor[] = [], scalars: Tensor[] = [];
  for (const { slots: [from, to], scalars: [first, end] } of stages) {
    for (let i = from; i < to; i++) slots.push(item.slots[i]);
    for (let i = first; i < end; i++) scalars.push(item.scalars[i]);
  }
  return { update: item.update, variable: item.variable, shares: item.shares, slots, scalars };
}

function take(
  item: StageItem,
  { update, variable, slots = [] }: StageResult,
  stages: readonly PlacedStage[],
): void {
  if (update) item.update = update;
  if (variable) item.variable = variable;
  let k = 0;
  for (const { slots: [from, to] } of stages) {
    for (let place = from; place < to && k < slots.length; place++) {
      item.slots[place] = slots[k++];
      item.changed.add(place);
    }
  }
}

function runParts(stages: readonly PlacedStage[], item: StageItem): void {
  const parts = stages.map(({ stage }) => stage as PartStage);
  const { slots, scalars, variable, update } = valuesOf(item, stages);
  const isChanged = variable !== item.before;
  const inputs = [variable, ...slots, ...scalars, isChanged ? item.before : update];
  const [result, ...next] = apply(ApplyTransforms, inputs, {
    n: slots.length + 1,
    m: scalars.length,
    parts: JSON.stringify(parts.map(({ part, options }) => [part, options])),
  });
  const made = parts.some((p) => p.ofVariable) ? { variable: result } : { update: result };
  take(item, { ...made, slots: next }, stages);
}

/** The end of a chain: the update is added to the variable. */
export const ADD: Stage = {
  ...partStage("add", {}, { leavesUnnamedRows: true }),
  ofVariable: true,
};
