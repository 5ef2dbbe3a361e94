/**
 * The inputs of a run of a program, and its results.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { type Value, valuesOf } from "./compare.ts";
import { changesVariables, inputArrays, type Program } from "./program.ts";

/** The results of a program, or gradients with respect to its float32 inputs, and the last values of variables where it changes any. */
export type Results = readonly (Value | null)[];

/** New inputs: tensors, and variables, which a run may change. */
function inputsOf(program: Program, relative = 0): tf.Tensor[] {
  return inputArrays(program, relative).map((a, i) =>
    program.inputs[i]!.variable ? tf.variable(tf.tensor(a)) as unknown as tf.Tensor : tf.tensor(a)
  );
}

/** Runs with new inputs, and frees what the run leaves. */
export async function withInputs(
  program: Program,
  run: (inputs: tf.Tensor[]) => Results | Promise<Results>,
  relative = 0,
): Promise<Results> {
  using _scope = tf.scope();
  const inputs = inputsOf(program, relative);
  try {
    const results = await run(inputs);
    if (!changesVariables(program)) return results;
    return [...results, ...await valuesOf(inputs.filter((x) => x instanceof tf.Variable))];
  } finally {
    inputs.forEach((x) => x.dispose());
  }
}
