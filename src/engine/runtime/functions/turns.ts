/**
 * Turns: the calls of a loop's body on a tape. They are one step of it, whose gradient calls the body's compiled gradient turn by turn:
 * a turn keeps the values that this reads, and no step of its own.
 */
import type { OpInput } from "../../core/apply.ts";
import { isTrainable } from "../../core/dtype.ts";
import { lookupOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { Tensor } from "../../core/tensor.ts";
import {
  type GroupWalk,
  makeStep,
  type Step,
  type StepGroup,
  type StepValue,
  stepValue,
} from "../../autodiff/steps.ts";
import { tapeMemory } from "../../autodiff/step_recorder.ts";
import { concat } from "../../ops/array/join.ts";
import { zerosOfSpec } from "../../ops/array/fill_ops.ts";
import { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { executeOn } from "../eager/eager.ts";
import { EagerTensor, outsideScopes } from "../eager/tensor.ts";
import { type Backward, callInputs, callNow, type ConcreteFunction } from "./concrete_function.ts";

type Values = readonly OpInput[];

/** The turns of one loop. */
export class Turns implements StepGroup {
  readonly #f: ConcreteFunction;
  readonly #isLastOnly: boolean;
  readonly #inputs: Values[] = [];
  readonly #outputs: Values[] = [];
  #outside: readonly StepValue[] | null = null;
  #results: readonly StepValue[] | null = null;

  /** `f` is the forward variant that the turns call. `isLastOnly`: results of turns before the last one are read by turns alone. */
  constructor(f: ConcreteFunction, { isLastOnly }: { readonly isLastOnly: boolean }) {
    this.#f = f;
    this.#isLastOnly = isLastOnly;
  }

  get isLastOnly(): boolean {
    return this.#isLastOnly;
  }

  get count(): number {
    return this.#inputs.length;
  }

  /** Adds a turn. The values after the function's own results are the group's from now on. */
  add(inputs: Values, outputs: Values): void {
    const own = this.#f.variantOf!.plain.outputs.length, { variantOf } = this.#f;
    const kept = outputs.slice();
    for (let k = 0; k < own; k++) {
      const v = outputs[k];
      if (v instanceof EagerTensor && variantOf!.reads(k)) kept[k] = v.hold();
    }
    this.#inputs.push(inputs);
    this.#outputs.push(kept);
  }

  /** Takes back the turns after the first `count`: the loop had ended before them. */
  keep(count: number): void {
    for (const outputs of this.#outputs.splice(count)) this.#free(outputs);
    this.#inputs.length = this.#outputs.length;
  }

  /** Returns the step that stands for all turns. */
  step(): Step {
    // deno-lint-ignore no-this-alias
    const group = this;
    return {
      def: this.#f.op,
      attrs: this.#f.callAttrs([]),
      kept: new Map(),
      group,
      get inputs(): readonly StepValue[] {
        return group.#outside ??= group.#valuesFromOutside();
      },
      get outputs(): readonly StepValue[] {
        return group.#results ??= group.#ownResults();
      },
    };
  }

  /** Returns the values with gradients that no turn made. */
  #valuesFromOutside(): StepValue[] {
    const made = new Set<number>(), found = new Map<number, StepValue>();
    // What the first turn gets besides captures, the others get from turns.
    const turns = this.#isLastOnly ? this.#inputs.slice(0, 1) : this.#inputs;
    turns.forEach((inputs, t) => {
      for (const x of inputs) {
        if (x instanceof NdArray || !isTrainable(x.dtype)) continue;
        const value = x.dtype === "resource" ? stepValue(x) : x;
        if (!made.has(value.id) && !found.has(value.id)) found.set(value.id, stepValue(x));
      }
      for (const y of this.#outputs[t]) if (y instanceof Tensor) made.add(y.id);
    });
    return [...found.values()];
  }

  #ownResults(): StepValue[] {
    const own = this.#f.variantOf!.plain.outputs.length;
    const from = this.#isLastOnly ? Math.max(0, this.count - 1) : 0;
    const seen = new Map<number, StepValue>();
    for (const outputs of this.#outputs.slice(from)) {
      for (const y of outputs.slice(0, own)) {
        if (y instanceof Tensor && isTrainable(y.dtype)) seen.set(y.id, stepValue(y));
      }
    }
    return [...seen.values()];
  }

  /** Returns the turns as steps of their own, for gradients of higher orders. */
  steps(): Step[] {
    const { op } = this.#f;
    return this.#inputs.map((inputs, t) =>
      makeStep({
        def: op,
        inputs,
        outputs: this.#outputs[t] as readonly Tensor[],
        attrs: this.#f.callAttrs(inputs),
      }, (x) => x)
    );
  }

  begin(step: Step, dys: readonly (Tensor | null)[], needs: readonly boolean[]): GroupWalk {
    return new TurnsBack(this.#f, { inputs: this.#inputs, outputs: this.#outputs }, {
      step,
      dys,
      needs,
    });
  }

  dispose(): void {
    this.keep(0);
  }

  /** Frees what was kept of a turn. */
  #free(outputs: Values): void {
    const own = this.#f.variantOf!.plain.outputs.length, { variantOf } = this.#f;
    outputs.forEach((y, k) => {
      if (y instanceof Tensor && (k >= own || variantOf!.reads(k))) y.dispose();
    });
  }
}

/** The turns' values. */
interface Taken {
  readonly inputs: readonly Values[];
  readonly outputs: readonly Values[];
}

/** The beginning of a walk. */
interface Wanted {
  readonly step: Step;
  readonly dys: readonly (Tensor | null)[];
  readonly needs: readonly boolean[];
}

/** The way back through the turns. */
class TurnsBack implements GroupWalk {
  readonly #f: ConcreteFunction;
  readonly #turns: Taken;
  readonly #step: Step;
  readonly #backward: Backward;
  /** Gradients under way, by the values' ids. */
  readonly #grads = new Map<number, Tensor>();
  /** Gradients of rows, by the ids of what is picked from. */
  readonly #rows = new Map<number, IndexedSlices[]>();
  /** Gradients that the caller owns. */
  readonly #given: ReadonlySet<Tensor>;
  #at: number;

  constructor(
    f: ConcreteFunction,
    turns: Taken,
    { step, dys, needs }: Wanted,
  ) {
    this.#f = f;
    this.#turns = turns;
    this.#step = step;
    this.#at = turns.inputs.length;
    step.outputs.forEach(({ id }, i) => {
      if (dys[i] !== null) this.#grads.set(id, dys[i]!);
    });
    this.#given = new Set(this.#grads.values());
    const wanted = new Set(step.inputs.filter((_, i) => needs[i]).map((v) => v.id));
    const args = f.graph.inputs.length;
    const first = turns.inputs[0] ?? [];
    this.#backward = f.variantOf!.backward({
      order: "first",
      unseen: [],
      // Variables of the loop may depend on what is wanted from the second turn on.
      needs: first.map((x, i) =>
        x instanceof Tensor && isTrainable(x.dtype) &&
        (i < args && x.dtype !== "resource" || wanted.has(stepValue(x).id))
      ),
    });
  }

  goOn(): boolean {
    const { f, dyFor, dxAt, reads } = this.#backward;
    if (f === null || --this.#at < 0) return false;
    const inputs = this.#turns.inputs[this.#at], outputs = this.#turns.outputs[this.#at];
    const grads = this.#grads, ys = dyFor.map((k) => outputs[k]);
    const dys = ys.map((y) => y instanceof Tensor ? grads.get(y.id) ?? null : null);
    if (dys.every((dy) => dy === null)) return true;
    for (const y of ys) if (y instanceof Tensor) grads.delete(y.id);
    const feeds: OpInput[] = dys.map((dy, i) => dy ?? this.#zeros(ys[i]));
    // The function may have the memory of what nothing else reads.
    dys.forEach((dy) => {
      if (dy !== null && !this.#given.has(dy) && dys.indexOf(dy) === dys.lastIndexOf(dy)) {
        tapeMemory().give(dy);
      }
    });
    for (const k of reads) feeds.push(outputs[k]);
    const made = outsideScopes(() => callNow(f.op.name, callInputs(f, feeds), f));
    dxAt.forEach((at, i) => {
      const x = inputs[i];
      if (at === null || x instanceof NdArray) return;
      const id = x.dtype === "resource" ? stepValue(x).id : x.id;
      if (typeof at === "number") return this.#give(id, made[at]);
      const rows = new IndexedSlices(made[at.values], made[at.indices], at.shape);
      this.#rows.set(id, [...this.#rows.get(id) ?? [], rows]);
    });
    for (let i = 0; i < dys.length; i++) {
      const dy = feeds[i] as Tensor;
      if (!this.#given.has(dy) && !made.includes(dy)) dy.dispose();
    }
    return true;
  }

  #zeros(y: OpInput): Tensor {
    const { dtype, shape } = stepValue(y);
    return outsideScopes(() => zerosOfSpec({ dtype, shape }));
  }

  #give(id: number, g: Tensor): void {
    const before = this.#grads.get(id);
    if (before === undefined) {
      this.#grads.set(id, g);
      return;
    }
    const { device } = (g as EagerTensor).storage;
    const [sum] = outsideScopes(() => executeOn(lookupOp("AddV2")!, [before, g], {}, { device }));
    if (!this.#given.has(before)) before.dispose();
    g.dispose();
    this.#grads.set(id, sum);
  }

  gradients(): (Tensor | null)[] {
    const found = this.#step.inputs.map(({ id }): Tensor | null => {
      const rows = this.#rows.get(id);
      if (rows !== undefined) return joinedRows(rows);
      // A handle that belongs to the scope in force.
      const g = this.#grads.get(id) as EagerTensor | undefined;
      return g?.alias() ?? null;
    });
    this.dispose();
    return found;
  }

  dispose(): void {
    for (const g of this.#grads.values()) if (!this.#given.has(g)) g.dispose();
    this.#grads.clear();
  }
}

function joinedRows(list: readonly IndexedSlices[]): IndexedSlices {
  const [{ shape }] = list;
  const joined = new IndexedSlices(
    concat(list.map((s) => s.values), 0),
    concat(list.map((s) => s.indices), 0),
    shape,
  );
  for (const s of list) [s.values, s.indices].forEach((t) => t.dispose());
  return joined;
}
