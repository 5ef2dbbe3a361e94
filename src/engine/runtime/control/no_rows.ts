/** Shapes of what a body would give: a loop without turns has no results that could be asked. */
import { inferOutputs } from "../../core/op.ts";
import { compatible, mergeShapes, type PartialShape } from "../../core/shape.ts";
import { constantValue, type SymbolicTensor } from "../../graph/operation.ts";
import type { ConcreteFunction } from "../functions/concrete_function.ts";

/**
 * Infers the shapes of a body's results from those of its inputs, arguments first, then captures. What the ops of the body cannot tell
 * stays as it was traced.
 */
export function shapesOfUncalled(
  { graph, outputs }: ConcreteFunction,
  inputs: readonly PartialShape[],
): PartialShape[] {
  const shapes = new Map<SymbolicTensor, PartialShape>();
  const feeds = [...graph.inputs, ...graph.captures.map(({ inner }) => inner)];
  feeds.forEach((t, i) => shapes.set(t, inputs[i] ?? t.staticShape));
  const shapeOf = (t: SymbolicTensor): PartialShape => shapes.get(t) ?? t.staticShape;
  for (const op of graph.operations) {
    if (op.inputs.length === 0) continue;
    const specs = op.inputs.map((t) => ({
      dtype: t.dtype,
      shape: shapeOf(t),
      value: constantValue(t),
    }));
    try {
      const inferred = inferOutputs(op.def, specs, op.attrs).outputs;
      op.outputs.forEach((t, i) => {
        const { shape } = inferred[i];
        if (compatible(shape, t.staticShape)) shapes.set(t, mergeShapes(shape, t.staticShape));
      });
    } catch {
      // The op would refuse these shapes if it ran.
    }
  }
  return outputs.map(shapeOf);
}
