/**
 * Elements leaf by leaf: a leaf is one tensor, or a composite value by its protocol. All slicing and batching of
 * elements uses these.
 */
import { CompositeSpec, leafSpecs } from "../../../engine/core/composite.ts";
import type { NdArray } from "../../../engine/core/nd_array.ts";
import { packAs } from "../../../engine/core/nest.ts";
import { TensorSpec } from "../../../engine/core/tensor_spec.ts";
import { unstackRows } from "../../../engine/core/arrays/rows.ts";
import { type Element, type ElementType, stackRows } from "../element.ts";

/** Spec of a leaf, and the range of its components in an element. */
export interface Leaf {
  readonly spec: TensorSpec | CompositeSpec;
  readonly from: number;
  readonly to: number;
}

/** The leaves of elements of a type. */
export function leavesOf({ structure, specs }: ElementType): Leaf[] {
  let to = 0;
  return leafSpecs(structure, specs).map((spec) => {
    const from = to;
    to += spec instanceof CompositeSpec ? spec.components.length : 1;
    return { spec, from, to };
  });
}

/** Returns the type with these leaves, in the nest of a structure. */
export function typeOfLeaves(
  structure: unknown,
  leaves: readonly (TensorSpec | CompositeSpec)[],
): ElementType {
  const isOne = (spec: TensorSpec | CompositeSpec) => spec instanceof CompositeSpec;
  return {
    specs: leaves.flatMap((spec) => spec instanceof CompositeSpec ? spec.components : [spec]),
    structure: packAs(structure, leaves.map((spec) => (isOne(spec) ? spec : 0))),
  };
}

/** Returns the type of batches of `rows` elements. Throws `TypeError` for datasets among them. */
export function batchedType(type: ElementType, rows: number | null): ElementType {
  const batch = (spec: TensorSpec | CompositeSpec): TensorSpec | CompositeSpec =>
    spec instanceof CompositeSpec
      ? spec.batched(rows)
      : TensorSpec(spec.shape && [rows, ...spec.shape], spec.dtype);
  return typeOfLeaves(type.structure, leavesOf(type).map(({ spec }) => batch(spec)));
}

/** Joins the elements of a batch, leaf by leaf. Throws `InvalidArgumentError` where shapes differ. */
export function stackElements(type: ElementType): (elements: readonly Element[]) => Element {
  const leaves = leavesOf(type);
  return (elements) =>
    leaves.flatMap(({ spec, from, to }): readonly NdArray[] =>
      spec instanceof CompositeSpec
        ? spec.stack(elements.map((e) => e.slice(from, to)))
        : [stackRows(elements.map((e) => e[from]), from)]
    );
}

/** Returns the type of rows of elements, and the number of rows of each leaf where that is known. */
export function unbatchedType(
  type: ElementType,
): ElementType & { readonly lengths: readonly (number | null)[] } {
  const leaves = leavesOf(type);
  const row = (spec: TensorSpec | CompositeSpec): TensorSpec | CompositeSpec =>
    spec instanceof CompositeSpec
      ? spec.unbatched()
      : TensorSpec(spec.shape && spec.shape.slice(1), spec.dtype);
  return {
    ...typeOfLeaves(type.structure, leaves.map(({ spec }) => row(spec))),
    lengths: leaves.map(({ spec }) => (spec as { shape?: TensorSpec["shape"] }).shape?.[0] ?? null),
  };
}

/** Splits each leaf of an element into rows; null for a scalar. */
export function rowsOfLeaves(
  type: ElementType,
): (element: Element) => (readonly Element[] | null)[] {
  const leaves = leavesOf(type);
  return (element) =>
    leaves.map(({ spec, from, to }) => {
      if (spec instanceof CompositeSpec) return spec.unstack(element.slice(from, to));
      const array = element[from];
      return array.shape.length === 0 ? null : unstackRows(array).map((row) => [row]);
    });
}
