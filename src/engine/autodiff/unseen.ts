/**
 * Variables that bodies of scripts read unseen: which ones is known when they have run. While a graph is built one handle stands for
 * them all.
 */
import type { Resource } from "../core/graph_node.ts";
import { defineOp, type OpDef } from "../core/op.ts";
import { Tensor } from "../core/tensor.ts";

/**
 * Stands for the variables that bodies of scripts read unseen. As a source of a gradient it gives those that a graph
 * could not know when it was built: its gradient is a value of dtype variant that holds one gradient for each that was read.
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
  /** It is its own handle. */
  get handle(): Tensor {
    return this;
  }
  override setShape(): void {}
}
/** The handle of all variables that were not seen. */
export const UNSEEN: Tensor & { readonly resource: Resource } = new UnseenVariables("resource");

/** Adds two maps of gradients. */
export const MergeGradients: OpDef = defineOp({
  name: "MergeGradients",
  portable: { never: "it reads gradients of variables that scripts used unseen" },
  inputs: ["a: variant", "b: variant"],
  outputs: ["output: variant"],
  infer: () => [[]],
  grad: null,
  host: true,
});

/** The gradient of one variable in a map; zeros where it was not read. */
export const UnseenGradient: OpDef = defineOp({
  name: "UnseenGradient",
  portable: { never: "it reads gradients of variables that scripts used unseen" },
  inputs: ["gradients: variant", "resource: resource"],
  outputs: ["output: dtype"],
  attrs: ["dtype: type", "shape: shape"],
  infer: (_, { shape }) => [shape],
  grad: null,
  host: true,
});
