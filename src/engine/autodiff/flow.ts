/**
 * Decides which dtypes have gradients: floats, as in TensorFlow. The entry `tfjs-core` puts another rule in force, by which integers have
 * gradients too.
 */
import { type DType, isTrainable } from "../core/dtype.ts";
import type { OpDef } from "../core/op.ts";
import { Dynamic } from "../core/scope_context.ts";
import type { Tensor } from "../core/tensor.ts";
import { isDifferentiable, type Step } from "./steps.ts";

/** Gradients of a step's inputs, null where none flows. */
export type InputGradients = readonly (Tensor | null)[];

/** A rule of what gradients flow through. A tape keeps that in force where it is made. */
export interface GradientFlow {
  /** The dtype of the gradient of a value; null where values of its dtype have none. */
  gradientOf(dtype: DType): DType | null;
  /** The op whose gradient stands for that of an op. */
  standIn(def: OpDef): OpDef;
  /** True where a gradient flows through an op. */
  passes(op: Pick<Step, "def" | "attrs">): boolean;
  /** The gradients of a step's inputs, of those that `needs` names; `own` gives them by the rule of a step's op. */
  through(
    step: Step,
    needs: readonly boolean[],
    own: (step: Step) => InputGradients,
  ): InputGradients;
}

/** TensorFlow's. */
export const FLOATS: GradientFlow = {
  gradientOf: (dtype) => isTrainable(dtype) ? dtype : null,
  standIn: (def) => def,
  passes: isDifferentiable,
  through: (step, _, own) => own(step),
};

/** The rule that new tapes take. */
export const gradientFlow: Dynamic<GradientFlow> = new Dynamic(FLOATS);
