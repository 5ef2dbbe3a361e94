/**
 * Composite values: several tensors that count as one in nests, such as ragged and sparse tensors and datasets of
 * windows. Code that reads nests uses this protocol alone: a spec, components, and how values are split, packed, sliced
 * and batched.
 */
import { showAs } from "./arrays/shown.ts";
import { UnimplementedError } from "./errors.ts";
import type { NdArray } from "./nd_array.ts";
import type { Attrs, OpDef } from "./op.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { flatten, isNested, type Nest, packAs, structureText } from "./nest.ts";
import type { DType } from "./dtype.ts";
import type { PartialShape } from "./shape.ts";
import type { Tensor, TensorLike } from "./tensor.ts";
import type { TensorSpec } from "./tensor_spec.ts";

/** A tensor of a row's value, and the way it is joined with those of other rows. */
export interface RowPart {
  /** The tensor. */
  readonly tensor: unknown;
  /** `stack` under a new first axis, or `concat` along the first. */
  readonly by: "stack" | "concat";
}

/** The spec of a composite value, which takes the value's place in the structure of a nest. */
export abstract class CompositeSpec {
  /** Specs of the components. */
  abstract readonly components: readonly TensorSpec[];
  /** A text that is equal for values with the same components, whatever their shapes. */
  abstract readonly kind: string;
  /** The part of the spec that its components' specs do not hold, as text. */
  get beyond(): string {
    return "";
  }
  /** True where a value of the other spec, of the same class, fits. */
  abstract isCompatibleWith(other: CompositeSpec): boolean;
  /** Makes a value of tensors, or of host arrays. */
  abstract pack(components: readonly unknown[]): unknown;
  /**
   * Returns the arguments of `pack` for a value of this kind, made of tensors or of host arrays; null for any other.
   */
  componentsOf(value: unknown): readonly unknown[] | null {
    return value instanceof CompositeTensor && value.spec.kind === this.kind
      ? value.components
      : null;
  }
  /** Returns the common spec of values of this and of the other spec, of the same kind. */
  relaxed(_other: CompositeSpec): CompositeSpec {
    return this;
  }
  /** Returns the spec of rows along the first dimension. Throws `UnimplementedError` where there are none. */
  unbatched(): CompositeSpec | TensorSpec {
    throw this.#without("slice");
  }
  /**
   * Returns the spec of `rows` of these under a new first dimension; null where the number varies. Throws
   * `UnimplementedError` where that is unsupported.
   */
  batched(_rows: number | null): CompositeSpec {
    throw this.#without("batch");
  }
  /** Returns the components of each row, as host arrays. */
  unstack(_components: readonly NdArray[]): readonly (readonly NdArray[])[] {
    throw this.#without("slice");
  }
  /** Batches values by their components. */
  stack(_values: readonly (readonly NdArray[])[]): readonly NdArray[] {
    throw this.#without("batch");
  }

  /**
   * Returns the tensors of a row's value that are joined for {@linkcode ofRows}. Throws `UnimplementedError` where that
   * is unsupported.
   */
  partsOfRow(_value: unknown): readonly RowPart[] {
    throw this.#without("join");
  }
  /** Number of parts of {@linkcode partsOfRow}. */
  get rowParts(): number {
    return this.components.length + 1;
  }
  /** Makes the value of all rows from their joined parts. */
  ofRows(_joined: readonly unknown[]): unknown {
    throw this.#without("join");
  }

  #without(verb: string): UnimplementedError {
    return new UnimplementedError(`Cannot ${verb} values of ${this}: they have no rows`);
  }
}
showAs(CompositeSpec);

/** A value made of several tensors. */
export abstract class CompositeTensor implements Disposable {
  /** Distinguishes composite values from tensors where ops are applied. */
  readonly isComposite = true as const;
  /** Its tensors. */
  abstract readonly components: readonly unknown[];
  /** Its spec. */
  abstract readonly spec: CompositeSpec;
  /** Element type. */
  abstract readonly dtype: DType;
  /** Known dimensions; null where the rank is unknown. */
  abstract readonly shape: PartialShape;
  /** Returns the numbers of its rows, as a tensor. */
  abstract rowNumbers(): unknown;
  /** Returns a row by its number, which may be a tensor. */
  abstract row(i: unknown): unknown;

  /**
   * @internal Applies an op to inputs of which this is the first composite one. Rules come with the class: a page
   * without the class loads none of them. Throws `TypeError` for an op without a rule.
   */
  applyOp(def: OpDef, _inputs: readonly unknown[], _attrs: Attrs): readonly unknown[] {
    throw noRule(def, this, "ragged tensors are wanted beside it");
  }

  /** Frees its tensors. */
  dispose(): void {
    for (const t of this.components as readonly { dispose(): void }[]) t.dispose();
  }
  /** Frees them at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** An argument of an op that has rules for composite values, such as ragged tensors. */
export type Operand = TensorLike | CompositeTensor;

/** The composite types of a union; none of `any`, and of a type that may be anything. */
export type CompositeOf<X> = 0 extends 1 & X ? never
  : Operand extends X ? never
  : Extract<X, CompositeTensor>;

/** The result of an op on these operands: of the type of the first composite one, else a tensor. */
export type Like<X, Y = unknown, Z = unknown> = [X] extends [CompositeOf<X>] ? X
  : [Y] extends [CompositeOf<Y>] ? Y
  : [Z] extends [CompositeOf<Z>] ? Z
  : Tensor | CompositeOf<X> | CompositeOf<Y> | CompositeOf<Z>;

/** The type that an operand counts as: quantized values count as plain numbers. */
export type Dequantized<X> = X extends { readonly dequantize: unknown } ? Tensor : X;

/** The result of an op that removes axes: a tensor where it removes all, as with no axis (`A`) given. */
export type Reduced<X, A = number> = [A] extends [null | undefined] ? Tensor
  : Tensor | CompositeOf<X>;

/** The result of joining values of a list: composite where one of them is. */
export type Joined<X> = [CompositeOf<X>] extends [never] ? Tensor : CompositeOf<X>;

/** The result of taking values by indices; one index removes an axis. Quantized tables give plain numbers. */
export type Picked<X, I> = [X] extends [{ readonly dequantize: unknown }] ? Tensor
  : [I] extends [number] ? Reduced<X>
  : Like<X, I>;

/** Makes the error of an op without a rule for a composite value. */
export function noRule(def: OpDef, value: CompositeTensor, why: string): TypeError {
  return new TypeError(`Cannot apply ${def.name} to ${value}: ${why}`);
}

/** A nest with its composite values split. */
export interface TakenApart {
  /** Tensors and other leaves, with the components of composite values. */
  readonly leaves: unknown[];
  /** The nest with specs in the places of composite values. */
  readonly structure: unknown;
}

/** Splits the composite values of a nest; {@linkcode packComponents} is the inverse. */
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

/** Packs one component for each leaf of a structure, and for each of a composite spec. */
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

/** Returns the specs of a structure's leaves: a composite leaf itself, else the next of `specs`. */
export function leafSpecs<S>(structure: unknown, specs: readonly S[]): (S | CompositeSpec)[] {
  let at = 0;
  return flatten(structure as Nest<unknown>).map((leaf) => {
    if (!(leaf instanceof CompositeSpec)) return specs[at++];
    at += leaf.components.length;
    return leaf;
  });
}

/** Returns the specs of a nest of specs, with composite ones split. */
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
