/**
 * Variables that bodies of scripts read unseen: which ones is known when they have run. While a graph is built one handle stands for
 * them all. Their gradients flow along an edge as a map from variables to gradients, the gradient of that handle.
 */
import type { OpInput } from "../core/apply.ts";
import { type Resource, resourceOf } from "../core/graph_node.ts";
import { handleIn, Held } from "../core/contract/held.ts";
import { NdArray } from "../core/nd_array.ts";
import { defineOp, type OpDef } from "../core/op.ts";
import { Tensor } from "../core/tensor.ts";
import { fill } from "../ops/array/creation.ts";
import { identity } from "../ops/array/view.ts";
import { add } from "../ops/pointwise/arithmetic.ts";

/**
 * Stands for the variables that bodies of scripts read unseen. As a source of a gradient it covers those that a graph
 * could not know when it was built: its gradient is a value of dtype variant that holds one gradient for each variable
 * read.
 */
class UnseenVariables extends Tensor {
  readonly staticShape: readonly number[] = [];
  readonly resource: Resource & { readonly handle: Tensor } = {
    id: this.id,
    dtype: "variant",
    shape: [],
    sharedName: "unseen_variables",
    trainable: false,
    handle: this,
  };
  get handle(): Tensor {
    return this;
  }
  override setShape(): void {}
}
/** The handle of all unseen variables. */
export const UNSEEN: Tensor & { readonly resource: Resource } = new UnseenVariables("resource");

/** Gradients by variable: an edge may have several readers. */
class GradientMap extends Held {
  readonly gradients: ReadonlyMap<Resource, Tensor>;

  constructor(gradients: ReadonlyMap<Resource, Tensor>) {
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
export function gradientMap(gradients: ReadonlyMap<Resource, Tensor>): NdArray {
  return new NdArray("variant", [], [new GradientMap(gradients)]);
}

/** The gradients in such a value, which stay its own. */
export function gradientsIn(x: OpInput): ReadonlyMap<Resource, Tensor> {
  return (handleIn(x) as GradientMap).gradients;
}

/** Zeros like the value of a variable. */
export function zerosOfVariable(resource: Resource): Tensor {
  const shape = resource.shape?.includes(null) === false
    ? resource.shape as readonly number[]
    : resource.valueShape!;
  return fill([...shape], 0, resource.dtype);
}

/** Adds two maps of gradients. */
export const MergeGradients: OpDef = defineOp({
  name: "MergeGradients",
  portable: { never: "it reads gradients of variables that scripts used unseen" },
  inputs: ["a: variant", "b: variant"],
  outputs: ["output: variant"],
  infer: () => [[]],
  grad: null,
  host: {
    run: ({ inputs: [a, b] }) => {
      const sum = new Map<Resource, Tensor>();
      for (const [r, g] of gradientsIn(a)) sum.set(r, identity(g));
      for (const [r, g] of gradientsIn(b)) {
        const before = sum.get(r);
        sum.set(r, before === undefined ? identity(g) : add(before, g));
        before?.dispose();
      }
      return [gradientMap(sum)];
    },
  },
});

/** The memory of zeros that stand for variables which no script has read. */
const unread = new WeakSet<object>();

/** The memory of an eager tensor, which all handles on its value share. */
function memoryOf(x: Tensor): object | undefined {
  return (x as Tensor & { readonly storage?: object }).storage;
}

/** True for the gradient of a variable that no script has read. */
export function isUnread(x: Tensor): boolean {
  const memory = memoryOf(x);
  return memory !== undefined && unread.has(memory);
}

/** Takes the gradient of one variable out of a map; zeros where it was not read. */
export const UnseenGradient: OpDef = defineOp({
  name: "UnseenGradient",
  portable: { never: "it reads gradients of variables that scripts used unseen" },
  inputs: ["gradients: variant", "resource: resource"],
  outputs: ["output: dtype"],
  attrs: ["dtype: type", "shape: shape"],
  infer: (_, { shape }) => [shape],
  grad: null,
  host: {
    run: ({ inputs: [map, handle] }) => {
      const resource = resourceOf(handle as Tensor)!;
      const found = gradientsIn(map).get(resource);
      if (found) return [identity(found)];
      const zeros = zerosOfVariable(resource);
      unread.add(memoryOf(zeros)!);
      return [zeros];
    },
  },
});
