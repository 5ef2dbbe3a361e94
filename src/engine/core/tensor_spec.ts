/** TensorSpec: the dtype and the known shape of a tensor. */
import { asDType, type DType } from "./dtype.ts";
import { compatible, isConcrete, type PartialShape, type Shape, shapeText } from "./shape.ts";
import type { NdArray } from "./nd_array.ts";
import { wantMade, wrongArgument } from "./arguments.ts";

/** Dtype and (partial) shape, and the value where it is known. */
export interface Spec {
  /** Element type. */
  readonly dtype: DType;
  /** Known dimensions; `null` for unknown ones. */
  readonly shape: PartialShape;
  /** The value of a constant. */
  readonly value?: NdArray | undefined;
}

/** A spec with every dimension known. */
export interface ConcreteSpec {
  /** Element type. */
  readonly dtype: DType;
  /** Dimensions. */
  readonly shape: Shape;
}

/** Class part of {@linkcode TensorSpec}; make one by calling `TensorSpec(shape, dtype)` or with `new`. */
export class TensorSpecClass implements Spec {
  /** Known dimensions; `null` for unknown ones. */
  readonly shape: PartialShape;
  /** Element type. */
  readonly dtype: DType;
  /** Name used by concrete functions. */
  readonly name: string | undefined;

  /** Makes a spec. Throws `TypeError` for a bad dtype or shape. */
  constructor(shape: PartialShape, dtype: DType = "float32", name?: string) {
    const isShape = shape === null ||
      Array.isArray(shape) && shape.every((n) => n === null || Number.isInteger(n) && n >= 0);
    if (!isShape) {
      const wanted = "a list of integers of at least 0 and null for unknown extents, or null";
      throw wrongArgument(shape, "shape", "TensorSpec", wanted);
    }
    this.shape = shape;
    this.dtype = asDType(dtype);
    this.name = name;
  }

  /** True where a tensor of this dtype and shape fits. */
  isCompatibleWith(other: Spec): boolean {
    wantMade(other, "dtype", { arg: "other", fn: "isCompatibleWith", wanted: "a spec" });
    return other.dtype === this.dtype && compatible(this.shape, other.shape);
  }

  /** Formats a spec: `float32[2,?]`. */
  toString(): string {
    return specText(this);
  }
}

/** A tensor's dtype and partial shape. Follows TensorFlow `tf.TensorSpec`. */
export type TensorSpec = TensorSpecClass;

/** The constructor of {@linkcode TensorSpec}. */
export interface TensorSpecMaker {
  /** Makes a spec. */
  (shape: PartialShape, dtype?: DType, name?: string): TensorSpec;
  /** Makes a spec. */
  new (shape: PartialShape, dtype?: DType, name?: string): TensorSpec;
}

/** Makes a function that creates instances of a class, with and without `new`; `instanceof` accepts it. */
export function callable<A extends readonly unknown[], T extends object>(
  Class: new (...args: A) => T,
): { (...args: A): T; new (...args: A): T } {
  const make = function (...args: A): T {
    return new Class(...args);
  };
  make.prototype = Class.prototype;
  return make as unknown as { (...args: A): T; new (...args: A): T };
}

/**
 * Makes a spec: `shape` has `null` for unknown dimensions, or is `null` for unknown rank. Works with and without `new`.
 *
 * @example
 * ```ts
 * import { TensorSpec } from "@weft/weft";
 * console.log(String(TensorSpec([null, 3], "float32"))); // float32[?,3]
 * ```
 */
export const TensorSpec: TensorSpecMaker = callable(TensorSpecClass);

/** Formats a spec: `float32[2,?]`. */
export function specText(spec: Spec): string {
  return `${spec.dtype}${spec.shape === null ? "<unknown>" : shapeText(spec.shape)}`;
}

export function isConcreteSpec(spec: Spec): spec is ConcreteSpec {
  return isConcrete(spec.shape);
}

/** Formats the specs of a problem, inputs and outputs. */
export function problemText(
  { inputs, outputs }: { readonly inputs: readonly Spec[]; readonly outputs: readonly Spec[] },
): string {
  return `${inputs.map(specText).join(", ")} -> ${outputs.map(specText).join(", ")}`;
}
