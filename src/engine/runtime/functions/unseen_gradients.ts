/**
 * Gradients of variables that bodies of scripts read unseen: they flow along an edge of the graph as a map from variables to gradients,
 * the gradient of `UNSEEN`.
 */
import type { OpInput } from "../../core/apply.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Resource, resourceOf } from "../../core/graph_node.ts";
import { Tensor } from "../../core/tensor.ts";
import { MergeGradients, UNSEEN, UnseenGradient } from "../../autodiff/unseen.ts";
import { add } from "../../ops/pointwise/arithmetic.ts";
import { fill } from "../../ops/array/creation.ts";
import { setHostOp } from "../run/run_context.ts";
import { handleIn } from "../run/run_value.ts";
import { Held, type Storage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";
import type { VariableState } from "../variables/variable_state.ts";

/** Gradients by variable: an edge may have several readers. */
class GradientMap extends Held {
  readonly gradients: ReadonlyMap<Resource, EagerTensor>;

  constructor(gradients: ReadonlyMap<Resource, EagerTensor>) {
    super();
    this.gradients = gradients;
  }

  protected override free(): void {
    for (const g of this.gradients.values()) g.dispose();
  }
}

/** True for the handle that stands for all variables that were not seen. */
export function isUnseen(x: OpInput): boolean {
  return x instanceof Tensor && resourceOf(x) === UNSEEN.resource;
}

/** Gradients by variable as a value of a run, which owns them from now on. */
export function gradientMap(gradients: ReadonlyMap<Resource, EagerTensor>): NdArray {
  return new NdArray("variant", [], [new GradientMap(gradients)]);
}

/** The gradients in such a value, which stay its own. */
export function gradientsIn(x: OpInput): ReadonlyMap<Resource, EagerTensor> {
  return (handleIn(x) as GradientMap).gradients;
}

/** Zeros like the value of a variable. */
export function zerosOfVariable(resource: Resource): Tensor {
  const shape = resource.shape?.includes(null) === false
    ? resource.shape as readonly number[]
    : (resource as VariableState).valueShape;
  return fill([...shape], 0, resource.dtype);
}

setHostOp(MergeGradients.name, ({ inputs: [a, b] }) => {
  const sum = new Map<Resource, EagerTensor>();
  for (const [r, g] of gradientsIn(a)) sum.set(r, g.alias());
  for (const [r, g] of gradientsIn(b)) {
    const before = sum.get(r);
    sum.set(r, before === undefined ? g.alias() : add(before, g) as EagerTensor);
    before?.dispose();
  }
  return [gradientMap(sum)];
});
/** The memory of zeros that stand for variables which no script has read. */
const unread = new WeakSet<Storage>();

/** True for the gradient of a variable that no script has read. */
export function isUnread(x: Tensor): boolean {
  return x instanceof EagerTensor && unread.has(x.storage);
}

setHostOp(UnseenGradient.name, ({ inputs: [map, handle] }) => {
  const resource = resourceOf(handle as Tensor)!;
  const found = gradientsIn(map).get(resource);
  if (found) return [found.alias()];
  const zeros = zerosOfVariable(resource) as EagerTensor;
  unread.add(zeros.storage);
  return [zeros];
});
