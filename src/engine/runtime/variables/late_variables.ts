/** Variables without an initial value: they get it when assigned, or when a session begins. */
import type { DType } from "../../core/dtype.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { named } from "./known_variables.ts";
import { defaultName, listed, valueOf, Variable } from "./variable.ts";
import { VariableState } from "./variable_state.ts";

/**
 * Makes an eager variable without a value or memory; its name is made unique. Reads before the first assignment throw
 * `FailedPreconditionError`.
 */
export function uninitializedVariable(
  { dtype, shape, name, trainable }: {
    readonly dtype: DType;
    readonly shape: PartialShape;
    readonly name: string;
    readonly trainable: boolean;
  },
): Variable {
  let sharedName = name;
  for (let n = 1; named.has(sharedName); n++) sharedName = `${name}_${n}`;
  return listed(new VariableState(null, { dtype, shape, sharedName, trainable }));
}

/**
 * Makes a variable as `tf.variable` does, of which each session has its own with the initial value: an optimizer's slot
 * for variables of graphs.
 */
export function sessionVariable(
  initialValue: TensorLike,
  trainable: boolean,
  name?: string,
  dtype?: DType,
): Variable {
  const value = valueOf(initialValue, dtype), { dtype: given, staticShape: shape } = value;
  const sharedName = name ?? defaultName();
  return new Variable(
    new VariableState(value, { dtype: given, shape, sharedName, trainable, ofGraph: true }),
  );
}
