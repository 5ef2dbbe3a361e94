/**
 * Rules for ops that call functions of a file: their gradients, and one of several.
 */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { Spec } from "../../../engine/core/tensor_spec.ts";
import { gradients } from "../../../engine/autodiff/gradients.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import type { SymbolicTensor } from "../../../engine/graph/operation.ts";
import { dense } from "../../../engine/ops/array/indexed_slices.ts";
import { callFunction } from "../../../engine/runtime/functions/concrete_function.ts";
import { switchCase } from "../../../engine/runtime/control/case.ts";
import { type ImportedNode, put1 } from "../rule.ts";

function specsOf(given: readonly Tensor[]): Spec[] {
  return given.map(({ dtype, staticShape }) => ({ dtype, shape: staticShape }));
}

/** Gradients of a function with respect to its arguments, from these and gradients of its results: `SymbolicGradient`. */
export function functionGradient(
  { inputs: given, attr, functions }: ImportedNode,
): readonly Tensor[] {
  const name = attr.f?.func?.name ?? "", inputs = given as readonly SymbolicTensor[];
  const own = functions.gradientOf(name);
  if (own !== undefined) return callFunction(functions.get(own, specsOf(inputs)), inputs);
  const count = functions.def(name).signature.inputArg.length;
  // One tensor may be several arguments, each with a gradient of its own.
  const xs = inputs.slice(0, count).map((x) => put1("Identity", [x]) as SymbolicTensor);
  const ys = callFunction(functions.get(name, specsOf(xs)), xs);
  const gradYs = inputs.slice(count);
  return gradients(ys, xs, { gradYs, unconnectedGradients: "zero" }).map((g) => dense(g!));
}

/** One of several functions, as nested conditions: `Case` and `StatelessCase`. */
export function oneOf(
  { inputs, attr, functions, name }: ImportedNode,
): readonly Tensor[] {
  const names = (attr.branches?.list?.func ?? []).map((f) => f.name);
  if (names.length === 0) {
    throw new ValueError(`Cannot import: node "${name}" has no branches`);
  }
  const [index, ...args] = inputs as readonly SymbolicTensor[], specs = specsOf(args);
  return switchCase(
    index,
    names.map((name) => (): Tensor[] => callFunction(functions.get(name, specs), args)),
  );
}
