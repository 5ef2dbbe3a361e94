/** Shapes of what a body would give: a loop without turns has no results that could be asked. */
import { type Attrs, inferOutputs } from "../../core/op.ts";
import { compatible, mergeShapes, type PartialShape } from "../../core/shape.ts";
import { constantValue, type Operation, type SymbolicTensor } from "../../graph/operation.ts";
import type { ConcreteFunction } from "../functions/concrete_function.ts";
import type { Branch } from "./branch.ts";

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
      const attrs = { ...op.attrs, ...functionsOfUncalled(op, specs.map((s) => s.shape)) };
      const inferred = inferOutputs(op.def, specs, attrs).outputs;
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

/** The functions of a scan or a condition, whose results have the shapes that these inputs of the op would give them. */
function functionsOfUncalled(op: Operation, inputs: readonly PartialShape[]): Attrs {
  const { Tin, elems = 0, states = 0 } = op.attrs as {
    Tin?: readonly unknown[];
    elems?: number;
    states?: number;
  };
  const given = inputs.slice(inputs.length - (Tin?.length ?? 0));
  const args = given.slice(0, elems + states).map((s, i) => i < elems ? s && s.slice(1) : s);
  const called = Object.entries(op.attrs).flatMap(([name, value]) => {
    const { f, from } = (value ?? {}) as Partial<Branch>;
    // A loop's state may change in each turn.
    if (f === undefined || from === undefined || f.graph.inputs.length !== args.length) return [];
    const shapes = shapesOfUncalled(f, [...args, ...from.map((i) => given[i])]);
    return [[name, { f: { outputs: shapes.map((staticShape) => ({ staticShape })) } }]];
  });
  return Object.fromEntries(called);
}
