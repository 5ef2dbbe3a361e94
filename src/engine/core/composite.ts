/**
 * Composite values: several tensors that stand as one in nests, such as ragged and sparse tensors and datasets of windows. Readers of
 * nests know them by this protocol alone: a spec, components, and how values are taken apart, put together, sliced and batched.
 */
import { UnimplementedError } from "./errors.ts";
import type { NdArray } from "./nd_array.ts";
import type { Attrs, OpDef } from "./op.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { flatten, isNested, type Nest, packAs, structureText } from "./nest.ts";
import type { DType } from "./dtype.ts";
import type { PartialShape } from "./shape.ts";
import type { TensorSpec } from "./tensor_spec.ts";

/** A tensor of a row's value, and how it is joined with those of other rows. */
export interface RowPart {
  /** The tensor. */
  readonly tensor: unknown;
  /** Under a new first axis, or along the first. */
  readonly by: "stack" | "concat";
}

/** The spec of a composite value. In the structure of a nest it stands in the value's place. */
export abstract class CompositeSpec {
  /** Specs of the tensors that it is made of. */
  abstract readonly components: readonly TensorSpec[];
  /** A text that is equal where values are made of the same components, whatever their shapes. */
  abstract readonly kind: string;
  /** The part of the spec that its components' specs do not hold, as text. */
  get beyond(): string {
    return "";
  }
  /** True where a value of the other spec, of the same class, fits. */
  abstract isCompatibleWith(other: CompositeSpec): boolean;
  /** The value of these tensors, or of host arrays. */
  abstract pack(components: readonly unknown[]): unknown;
  /** What `pack` takes, of a value of this kind, made of tensors or of host arrays; null for any other. */
  componentsOf(value: unknown): readonly unknown[] | null {
    return value instanceof CompositeTensor && value.spec.kind === this.kind
      ? value.components
      : null;
  }
  /** The spec that values of this and of the other, of the same kind, have in common. */
  relaxed(_other: CompositeSpec): CompositeSpec {
    return this;
  }
  /** The spec of rows along the first dimension. Throws `UnimplementedError` where there are none. */
  unbatched(): CompositeSpec | TensorSpec {
    throw this.#without("slice");
  }
  /** The spec of so many of these under a new first dimension; null where the number varies. Throws `UnimplementedError` where it cannot be. */
  batched(_rows: number | null): CompositeSpec {
    throw this.#without("batch");
  }
  /** The components of each row, of host arrays. */
  unstack(_components: readonly NdArray[]): readonly (readonly NdArray[])[] {
    throw this.#without("slice");
  }
  /** The components of a batch of the values that have these components. */
  stack(_values: readonly (readonly NdArray[])[]): readonly NdArray[] {
    throw this.#without("batch");
  }

  /** What of each row's value is joined so that {@linkcode ofRows} gives all of them. Throws `UnimplementedError` where it cannot be. */
  partsOfRow(_value: unknown): readonly RowPart[] {
    throw this.#without("join");
  }
  /** The number of parts that {@linkcode partsOfRow} gives. */
  get rowParts(): number {
    return this.components.length + 1;
  }
  /** All the values whose parts were joined. */
  ofRows(_joined: readonly unknown[]): unknown {
    throw this.#without("join");
  }

  #without(verb: string): UnimplementedError {
    return new UnimplementedError(`Cannot ${verb} values of ${this}: they have no rows`);
  }
}

/** A value made of several tensors. */
export abstract class CompositeTensor implements Disposable {
  /** Tells it from tensors where ops are applied. */
  readonly isComposite = true as const;
  /** The tensors. */
  abstract readonly components: readonly unknown[];
  /** Its spec. */
  abstract readonly spec: CompositeSpec;
  /** Element type. */
  abstract readonly dtype: DType;
  /** Dimensions as far as they are known; null where the rank is not. */
  abstract readonly shape: PartialShape;
  /** The numbers of its rows, as a tensor. */
  abstract rowNumbers(): unknown;
  /** The row of a number, which may be a tensor. */
  abstract row(i: unknown): unknown;

  /**
   * @internal What an op gives of inputs of which this is the first composite one. Rules come with the class: a page without the class
   * loads none of them. Throws `TypeError` for an op without a rule.
   */
  applyOp(def: OpDef, _inputs: readonly unknown[], _attrs: Attrs): readonly unknown[] {
    throw noRule(def, this, "ragged tensors are wanted beside it");
  }

  /** Frees the tensors that it is made of. */
  dispose(): void {
    for (const t of this.components as readonly { dispose(): void }[]) t.dispose();
  }
  /** Frees them at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** The error of an op without a rule for a composite value. */
export function noRule(def: OpDef, value: CompositeTensor, why: string): TypeError {
  return new TypeError(`Cannot apply ${def.name} to ${value}: ${why}`);
}

/** A nest without its composite values. */
export interface TakenApart {
  /** Tensors and other leaves; of composite values their components. */
  readonly leaves: unknown[];
  /** The nest with specs in the places of composite values. */
  readonly structure: unknown;
}

/** Takes the composite values in a nest apart; {@linkcode packComponents} is the opposite. */
export function takeComponents(nest: unknown): TakenApart {
  if (nest instanceof CompositeTensor) {
    return { leaves: [...nest.components], structure: nest.spec };
  }
  const given = isNested(nest) ? flatten<unknown>(nest as Nest<unknown>) : [nest];
  if (!given.some((v) => v instanceof CompositeTensor)) return { leaves: given, structure: nest };
  const leaves = given.flatMap((v): readonly unknown[] =>
    v instanceof CompositeTensor ? v.components : [v]
  );
  const structure = packAs(nest, given.map((v) => (v instanceof CompositeTensor ? v.spec : v)));
  return { leaves, structure };
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

/** The specs of a nest of specs, those of composite ones taken apart. */
export function componentSpecs<S>(nest: Nest<S | CompositeSpec>): (S | TensorSpec)[] {
  return flatten<S | CompositeSpec>(nest).flatMap((s): readonly (S | TensorSpec)[] =>
    s instanceof CompositeSpec ? s.components : [s]
  );
}

/** A text that is equal for structures of equal lists, keys and kinds of composite values. */
export function kindText(structure: unknown): string {
  if (structure instanceof CompositeSpec) return structure.kind;
  if (!isNested(structure)) return structureText(structure);
  const kinds = flatten<unknown>(structure as Nest<unknown>).map((leaf) =>
    leaf instanceof CompositeSpec ? leaf.kind : ""
  );
  return structureText(structure) + (kinds.some((kind) => kind) ? kinds.join() : "");
}
