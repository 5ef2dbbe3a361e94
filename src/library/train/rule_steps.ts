/** A rule's step on variables: their values, slots and gradients go through its stages and are written back. */
import type { DType } from "../../engine/core/dtype.ts";
import type { Attrs } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { dense, IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { ApplyGradientDescent } from "../../engine/ops/state/optimizer_updates.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { LearningRate, MakeScalars, RateNumbers } from "./learning_rate.ts";
import type { OptimizerConfig, OptimizerRule } from "./optimizer.ts";
import { descendRows, gradientOfRows, rowsOf, sharesOfRows, writeRows } from "./row_updates.ts";
import { type SlotPlan, stateDType } from "./slots.ts";
import {
  opStage,
  type PlacedStage,
  placeStages,
  runStage,
  type Stage,
  type StageItem,
} from "./stages.ts";
import { after, type StepOperation } from "./step_graph.ts";

/** A variable with its slots and its gradient. */
export interface Trained {
  readonly of: Variable;
  readonly slots: readonly Variable[];
  readonly gradient: Tensor;
}

type Scalars = (dtype: DType) => readonly Tensor[];

export class RuleSteps {
  readonly #rule: OptimizerRule;
  readonly #options: () => OptimizerConfig;
  readonly #stages: readonly Stage[];
  /** Runs of stages that take one variable at a time, and between them stages that take all. */
  readonly #segments: readonly (readonly PlacedStage[])[];
  readonly #leavesUnnamedRows: boolean;

  /** `options` are the optimizer's, which may change. */
  constructor(rule: OptimizerRule, options: () => OptimizerConfig) {
    this.#rule = rule;
    this.#options = options;
    const { before = [], after = [] } = rule;
    this.#stages = [...before, ...(rule.update ? [this.#ownStage()] : []), ...after];
    this.#segments = placeStages(this.#stages);
    this.#leavesUnnamedRows = this.#stages.every((s) => s.leavesUnnamedRows && !s.only);
  }

  #ownStage(): Stage {
    const { update, attrs, slots, leavesUnnamedRows, scalars } = this.#rule;
    return opStage(update!, (): Attrs => attrs?.(this.#options()) ?? {}, {
      slots: slots ?? [],
      leavesUnnamedRows: leavesUnnamedRows ?? false,
      scalars: scalars ?? (({ rate }) => [rate]),
    });
  }

  /** Number of steps of which one changes the variables, by the mean of their gradients. */
  get #period(): number {
    return this.#rule.accumulates?.period ?? 1;
  }

  /** The slots of all stages; names that repeat are numbered. */
  get slotPlan(): SlotPlan {
    const { before = [], slots: own = [], savedOrder = [...own.keys()] } = this.#rule;
    const sums: Stage[] = this.#period > 1 ? [{ slots: [{ name: "sum" }], each: () => ({}) }] : [];
    const first = [...sums, ...before].flatMap((s) => s.slots ?? []).length;
    const known = new Map<string, number>();
    const slots = [...sums, ...this.#stages].flatMap(({ slots = [], only }) =>
      slots.map(({ name, shape, ...slot }) => {
        const times = known.get(name) ?? 0;
        known.set(name, times + 1);
        return {
          ...slot,
          name: times === 0 ? name : `${name}_${times}`,
          shape: (v: Variable) => only && !only(v) ? [] : shape?.(v) ?? v.shape,
        };
      })
    );
    const order = [...slots.keys()];
    order.splice(first, own.length, ...savedOrder.map((k) => first + k));
    return { slots, savedOrder: order };
  }

  /** The scalars of all stages. */
  readonly #scalars: MakeScalars = <N>(numbers: RateNumbers<N>): readonly N[] => {
    const all: N[] = [], options = this.#options();
    for (const { scalars } of this.#stages) {
      if (scalars) all.push(...scalars({ ...numbers, options }));
    }
    return all;
  };

  /**
   * Updates variables. `done` are the steps before, as a number or in a graph as the variable that counts them. Returns the operations
   * of a graph.
   */
  run(
    trained: readonly Trained[],
    done: Variable | number,
    rate: LearningRate,
  ): (StepOperation | null)[] {
    const period = this.#period;
    const scalars = rate.scalars({ done, period, make: this.#scalars });
    const accumulation = this.#rule.accumulates;
    if (!accumulation || period === 1) return this.#update(trained, scalars);
    const { addPart, clearSums, inLastStep } = accumulation;
    const sums = trained.map(({ slots: [sum] }) => sum);
    const added = trained.map(({ gradient }, i) => addPart(sums[i], gradient, period));
    const update = (): (StepOperation | null)[] => {
      const whole = trained.map(({ of, slots: [sum, ...slots] }) => ({
        ...{ of, slots, gradient: sum.readValue() },
      }));
      return clearSums(sums, this.#update(whole, scalars));
    };
    if (typeof done !== "number") return [after(added, () => inLastStep(done, period, update))];
    return (done + 1) % period === 0 ? update() : [];
  }

  #update(trained: readonly Trained[], scalars: Scalars): (StepOperation | null)[] {
    if (this.#segments.length > 1) return this.#together(trained, scalars);
    const done: (StepOperation | null)[] = [];
    // One by one, so that what the last one made need not be kept.
    for (const one of trained) done.push(...this.#together([one], scalars));
    return done;
  }

  #together(trained: readonly Trained[], scalars: Scalars): (StepOperation | null)[] {
    if (trained.length === 0) return [];
    const [only] = trained;
    // Steps add up, so the table need not be read.
    if (
      this.#stages.length === 1 && this.#rule.update === ApplyGradientDescent &&
      only.gradient instanceof IndexedSlices
    ) return [descendRows(only.of, only.gradient, scalars(only.of.dtype)[0])];
    const items = trained.map((one) => this.#begin(one, scalars));
    const last = this.#segments.length - 1;
    for (const segment of this.#segments.slice(0, last)) runStage(segment, items);
    return items.flatMap((item, i) => {
      runStage(this.#segments[last], [item]);
      return this.#end(item, trained[i]);
    });
  }

  #rows({ gradient }: Trained): IndexedSlices | null {
    return gradient instanceof IndexedSlices && this.#leavesUnnamedRows ? gradient : null;
  }

  /** Reads the values of a variable, those of halves as float32 where there is more than one op. */
  #begin(one: Trained, scalars: Scalars): StageItem {
    const { of, slots, gradient } = one, rows = this.#rows(one);
    const read = (v: Variable): Tensor => rows ? rowsOf(v, rows) : v.readValue();
    const isOneOp = this.#stages.length === 1 && slots.length === 0;
    const dtype = isOneOp ? of.dtype : stateDType(of.dtype);
    const before = inDType(read(of), dtype);
    return {
      ...{ of, before, variable: before },
      shares: rows && this.#segments.length > 1 ? inDType(sharesOfRows(rows), dtype) : null,
      update: inDType(rows ? gradientOfRows(rows) : dense(gradient, of.shape), dtype),
      slots: slots.map(read),
      scalars: scalars(dtype),
      changed: new Set(),
    };
  }

  /** Writes what is new. */
  #end(item: StageItem, one: Trained): (StepOperation | null)[] {
    const rows = this.#rows(one);
    const write = (v: Variable, value: Tensor): StepOperation | null =>
      rows ? writeRows(v, value, rows) : v.assign(value)?.operation ?? null;
    const done = [write(one.of, inDType(item.variable, one.of.dtype))];
    for (const k of item.changed) done.push(write(one.slots[k], item.slots[k]));
    return done;
  }
}

/** Casts; unlike `cast` it makes no handle where the dtype is that already, since a step disposes none by itself. */
function inDType(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : cast(x, dtype);
}
