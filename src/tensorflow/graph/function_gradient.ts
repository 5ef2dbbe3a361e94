/** Gradients of a file's functions: the op `SymbolicGradient`. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import { gradients } from "../../engine/autodiff/gradients.ts";
import type { FunctionDefJson } from "../../engine/graph/graph_def/graph_def.ts";
import type { SymbolicTensor } from "../../engine/graph/operation.ts";
import { dense } from "../../engine/ops/array/indexed_slices.ts";
import {
  callFunction,
  type ConcreteFunction,
} from "../../engine/runtime/functions/concrete_function.ts";
import { put1 } from "./rule.ts";

interface Functions {
  def(name: string): FunctionDefJson;
  get(name: string, given: readonly Spec[]): ConcreteFunction;
  gradientOf(name: string): string | undefined;
}

/** Returns gradients of a function with respect to its arguments, from those and the gradients of its results. */
export function functionGradient(
  functions: Functions,
  name: string,
  inputs: readonly SymbolicTensor[],
): readonly Tensor[] {
  const specs = (given: readonly SymbolicTensor[]): Spec[] =>
    given.map(({ dtype, staticShape }) => ({ dtype, shape: staticShape }));
  const own = functions.gradientOf(name);
  if (own !== undefined) return callFunction(functions.get(own, specs(inputs)), inputs);
  const count = functions.def(name).signature.inputArg.length;
  // One tensor may be several arguments, each with a gradient of its own.
  const xs = inputs.slice(0, count).map((x) => put1("Identity", [x]) as SymbolicTensor);
  const ys = callFunction(functions.get(name, specs(xs)), xs);
  const gradYs = inputs.slice(count);
  return gradients(ys, xs, { gradYs, unconnectedGradients: "zero" }).map((g) => dense(g!));
}
