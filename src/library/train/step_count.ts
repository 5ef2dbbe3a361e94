/** The number of steps that an optimizer has applied: a number until compiled steps read it as a variable. */
import { withInterpreter } from "../../engine/core/apply.ts";
import { device } from "../../engine/runtime/devices/devices.ts";
import { sessionVariable } from "../../engine/runtime/variables/late_variables.ts";
import { type Variable, variable } from "../../engine/runtime/variables/variable.ts";
import type { StepOperation } from "./step_graph.ts";

/** Makes a variable outside of any graph, on the host. */
export function onHost(make: () => Variable): Variable {
  return withInterpreter(null, () => device("/CPU:0", make));
}

/** The count of one optimizer. Sessions count the steps on variables of a graph. */
export class StepCount {
  #number = 0;
  #shared: Variable | null = null;
  #ofGraphs: Variable | null = null;

  /** The count as eager code's variable; null where it is a number. */
  get #now(): Variable | null {
    return this.#ofGraphs?.isInSession ? this.#ofGraphs : this.#shared;
  }
  get value(): number {
    const now = this.#now;
    return now ? Number(now.dataSync()[0]) : this.#number;
  }
  set value(count: number) {
    const now = this.#now;
    if (now) now.assign(count);
    else this.#number = count;
  }

  /** Returns the count for compiled steps that change these variables. */
  variableFor(changed: readonly Variable[]): Variable {
    const initial = [this.#number, false, undefined, "int32"] as const;
    return changed.some((v) => v.resource.ofGraph)
      ? this.#ofGraphs ??= onHost(() => sessionVariable(...initial))
      : this.#shared ??= onHost(() => variable(...initial));
  }

  /** Counts a step; `given`: in this variable of the graph that is being built. */
  add(given: Variable | null): StepOperation | null {
    const count = given ?? this.#now;
    if (count) return device("/CPU:0", () => count.assignAdd(1)?.operation ?? null);
    this.#number++;
    return null;
  }

  /** Frees the variables. */
  dispose(): void {
    this.#number = this.value;
    this.#shared?.dispose();
    this.#ofGraphs?.dispose();
    this.#shared = this.#ofGraphs = null;
  }
}
