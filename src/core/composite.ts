/**
 * Composite values: several tensors that stand as one in nests, such as ragged and sparse tensors and datasets of windows.
 */
import { flatten, type Nest, packAs } from "./nest.ts";
import type { TensorSpec } from "./tensor_spec.ts";

/** What is known of a composite value. In the structure of a nest it stands in the value's place. */
export abstract class CompositeSpec {
  /** Specs of the tensors that it is made of. */
  abstract readonly components: readonly TensorSpec[];
  /** True where a value of the other spec, of the same class, fits. */
  abstract isCompatibleWith(other: CompositeSpec): boolean;
  /** The value of these tensors, or of host arrays. */
  abstract pack(components: readonly unknown[]): unknown;
  /** What `pack` takes, of a value of this kind, made of tensors or of host arrays; null for any other. */
  componentsOf(value: unknown): readonly unknown[] | null {
    const isOne = value instanceof CompositeTensor && value.spec.constructor === this.constructor &&
      value.components.length === this.components.length;
    return isOne ? value.components : null;
  }
}

/** A value made of several tensors. */
export abstract class CompositeTensor {
  /** The tensors. */
  abstract readonly components: readonly unknown[];
  /** What is known of it. */
  abstract readonly spec: CompositeSpec;
}

/** The nest of a structure: one component for each of its leaves, and for a composite spec what it packs. */
export function packComponents<T>(structure: unknown, components: readonly T[]): Nest<T> {
  const leaves = flatten(structure as Nest<unknown>);
  if (!leaves.some((leaf) => leaf instanceof CompositeSpec)) return packAs(structure, components);
  let at = 0;
  const values = leaves.map((leaf) => {
    if (!(leaf instanceof CompositeSpec)) return components[at++];
    const from = at;
    return leaf.pack(components.slice(from, at += leaf.components.length)) as T;
  });
  return packAs(structure, values);
}

/** Specs of the components of a leaf of a structure: those of a composite one, else the next of `specs`. */
export function leafSpecs<S>(structure: unknown, specs: readonly S[]): (S | CompositeSpec)[] {
  let at = 0;
  return flatten(structure as Nest<unknown>).map((leaf) => {
    if (!(leaf instanceof CompositeSpec)) return specs[at++];
    at += leaf.components.length;
    return leaf;
  });
}
