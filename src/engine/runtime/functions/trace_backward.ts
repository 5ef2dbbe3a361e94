/** Traces the gradient of a traced body as a body of its own. */
import { type DType, isTrainable } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { withRecorders } from "../../core/apply.ts";
import { isConcrete } from "../../core/shape.ts";
import { backprop, type Seed } from "../../autodiff/backprop.ts";
import { stepsTo } from "../../autodiff/gradients.ts";
import { stepValue } from "../../autodiff/steps.ts";
import { IndexedSlices } from "../../ops/array/indexed_slices.ts";
import { FuncGraph } from "../../graph/func_graph.ts";
import { type Operation, SymbolicTensor } from "../../graph/operation.ts";
import { lookupOp } from "../../core/op.ts";
import { withScope } from "../../core/scope_context.ts";
import type { ConcreteFunction } from "./concrete_function.ts";

/** A gradient as a body: it takes gradients of outputs, then values of the function's body. */
export interface TracedBackward {
  readonly graph: FuncGraph;
  /** Outputs of the function whose gradients it takes. */
  readonly dyFor: readonly number[];
  /** For each input of the function, its gradient's place among the results; null if it has none. */
  readonly dxAt: readonly (ResultPlace | null)[];
  /** Values of the body that it reads. */
  readonly reads: readonly SymbolicTensor[];
}

/** A gradient among the results: itself, or its rows, their indices and the dense shape. */
export type ResultPlace =
  | number
  | { readonly values: number; readonly indices: number; readonly shape: readonly number[] };

const shapes = new WeakMap<SymbolicTensor, SymbolicTensor>();

/** Returns the shape of a tensor, computed in the tensor's own graph. */
function shapeIn(graph: FuncGraph, x: SymbolicTensor): SymbolicTensor {
  const known = shapes.get(x);
  if (known !== undefined) return known;
  const make = (): Operation => graph.addOp(lookupOp("Shape")!, [x], {});
  const [made] = graph.atRoot(() => withScope({ opName: null, device: null }, make)).outputs;
  shapes.set(x, made);
  return made;
}

/** The body of a gradient. Where it asks only for the shape of a value of the function's body, it gets the shape and no copy of the value. */
class GradientGraph extends FuncGraph {
  readonly #of: FuncGraph;

  constructor(of: FuncGraph) {
    super(`${of.name}_grad`, of);
    this.#of = of;
  }

  override addOp(...args: Parameters<FuncGraph["addOp"]>): Operation {
    const [{ name }, [x], attrs] = args;
    const isItsShape = name === "Shape" && x instanceof SymbolicTensor && x.graph === this.#of &&
      !isConcrete(x.staticShape) && Object.keys(attrs).length === 0;
    return isItsShape ? this.capture(shapeIn(this.#of, x)).op : super.addOp(...args);
  }
}

/**
 * Traces the gradient of `ys` with respect to the function's inputs and the `unseen` variables that its ops may read.
 */
export function traceBackward(
  f: ConcreteFunction,
  { ys, unseen = [], needs }: {
    readonly ys: readonly SymbolicTensor[];
    readonly unseen?: readonly Tensor[];
    readonly needs?: readonly boolean[];
  },
): TracedBackward {
  const graph = new GradientGraph(f.graph);
  const dyFor: number[] = [];
  const seeds: Seed[] = [];
  ys.forEach((y, i) => {
    if (!hasGradient(y.dtype)) return;
    dyFor.push(i);
    seeds.push({ id: y.id, grad: graph.addInput(y.dtype, y.staticShape, "grad") });
  });
  const inputs = [
    ...f.graph.inputs,
    ...f.graph.captures.map((c) => c.inner),
    ...f.graph.resources,
    ...unseen,
  ];
  const sources = inputs.map((t, i) =>
    (hasGradient(t.dtype) || t.dtype === "resource") && needs?.[i] !== false ? stepValue(t).id : -1
  );
  const variables = inputs.filter((t) => t.dtype === "resource");
  const steps = stepsTo(ys, variables).map((s) => s.step);
  // A tape outside must not record the body: calls in it would be differentiated again at every level of calls.
  const grads = withRecorders(
    [],
    () => graph.asDefault(() => backprop(steps, seeds, { sources, slices: true })),
  );
  // A gradient may be a tensor of the body (that of 2x is a constant there): bring it in.
  const add = (g: Tensor): number => graph.outputs.push(graph.inside(g)) - 1;
  const dxAt = grads.map((g): ResultPlace | null => {
    if (!(g instanceof IndexedSlices)) return g && add(g);
    const shape = g.staticShape;
    if (!isConcrete(shape)) {
      return add(graph.asDefault(() => withRecorders([], () => g.toTensor())));
    }
    return { values: add(g.values), indices: add(g.indices), shape };
  });
  // Captures from the body become inputs; captures from around it stay.
  const reads: SymbolicTensor[] = [];
  for (const c of graph.captures.splice(0)) {
    if (c.outer.isSymbolic && c.outer.graph === f.graph) {
      graph.inputs.push(c.inner);
      reads.push(c.outer as SymbolicTensor);
    } else graph.captures.push(c);
  }
  return { graph, dyFor, dxAt, reads };
}

function hasGradient(dtype: DType): boolean {
  return isTrainable(dtype) && dtype !== "resource" && dtype !== "variant";
}
