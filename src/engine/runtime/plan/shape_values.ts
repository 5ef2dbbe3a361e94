/** Values that follow from shapes and constants alone, as sizes and axes: a layout for concrete specs knows them. */
import type { NdArray } from "../../core/nd_array.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { IrNode } from "../../graph/ir.ts";
import { isPure } from "../../graph/passes/cse.ts";
import { cpuDevice } from "../devices/devices.ts";
import { specOf } from "../eager/launch_cache.ts";
import { computeNow } from "./compute_now.ts";
import type { PlanStep } from "./plan.ts";
import { launchOf } from "./step_launches.ts";

/** Most elements of a value that is worth knowing: dimensions, paddings, and what is computed from them. */
const MOST_ELEMENTS = 64;

/** True for a step whose results follow from shapes, and from inputs that `isKnown` tells. */
export function followsShapes(
  { node, inputs }: PlanStep,
  isKnown: (slot: number) => boolean,
): boolean {
  const { def, outputs } = node;
  if (def.shapeOnly) return true;
  return isPure(node) && !def.host && inputs.every(isKnown) &&
    outputs.every(({ dtype, shape }) =>
      /^(int|float)(32|64)$|^bool$/.test(dtype) && (shape === null || shape.length <= 2)
    );
}

/** The values of one layout that follow from shapes. Each is computed when it is first asked for. */
export class ShapeValues {
  readonly #specs: readonly ConcreteSpec[];
  readonly #constant: (slot: number) => NdArray | undefined;
  readonly #steps = new Map<number, PlanStep>();
  readonly #known = new Map<number, NdArray | null>();

  /** `specs`: by slot, as far as the layout has come. `constant`: the plan's constant in a slot. */
  constructor(
    specs: readonly ConcreteSpec[],
    constant: (slot: number) => NdArray | undefined,
  ) {
    this.#specs = specs;
    this.#constant = constant;
  }

  /** Adds a step; false if its results follow from more than shapes. */
  add(step: PlanStep): boolean {
    const isKnown = (slot: number): boolean => this.has(slot) || this.#constant(slot) !== undefined;
    if (!followsShapes(step, isKnown)) return false;
    for (const slot of step.outputs) this.#steps.set(slot, step);
    return true;
  }

  has(slot: number): boolean {
    return this.#steps.has(slot);
  }

  /** True where the value in a slot was asked for and is known. */
  knows(slot: number): boolean {
    return (this.#known.get(slot) ?? null) !== null;
  }

  /** Returns the value in a slot; null where it does not follow from shapes, is not small, or has an error. */
  value(slot: number): NdArray | null {
    const known = this.#known.get(slot), step = this.#steps.get(slot);
    if (known !== undefined || step === undefined) return known ?? null;
    const values = this.#compute(step);
    step.outputs.forEach((at, i) => this.#known.set(at, values?.[i] ?? null));
    return this.#known.get(slot)!;
  }

  #compute({ node, inputs }: PlanStep): readonly NdArray[] | null {
    if (node.def.shapeOnly) {
      const specs = inputs.map((slot) => this.#specs[slot] ?? specOf(this.#constant(slot)!));
      return queryNow(node, specs);
    }
    const arrays: NdArray[] = [];
    for (const slot of inputs) {
      const array = this.#constant(slot) ?? this.value(slot);
      if (array === null) return null;
      arrays.push(array);
    }
    const values = computeNow(node, arrays);
    return values?.every(({ size }) => size <= MOST_ELEMENTS) ? values : null;
  }
}

/** Computes a query of shapes, which reads no element; null if it fails. */
function queryNow({ def, attrs }: IrNode, specs: readonly ConcreteSpec[]): NdArray[] | null {
  const device = cpuDevice();
  try {
    const { kernel, outputs } = launchOf(def, { specs, hosts: [], attrs, device });
    const reads = kernel!.run(specs.map(() => undefined))
      .map((buffer, i) => ({ buffer, spec: outputs[i] }));
    const values = device.readSync(reads);
    for (const { buffer, spec } of reads) device.free(buffer, spec);
    return values;
  } catch {
    return null;
  }
}
