/**
 * RaggedTensorSpec: what is known of a ragged tensor, and how rows of such are taken apart and put together.
 */
import { wantList, wantMade } from "../../core/arguments.ts";
import { CompositeSpec, CompositeTensor, type RowPart } from "../../core/composite.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { compatible, type PartialShape, relaxShapes, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { callable, TensorSpec } from "../../core/tensor_spec.ts";
import { unstackRows } from "../../core/arrays/rows.ts";
import { raggedOfArray, raggedOfRows, raggedRows } from "../../kernels/host/composite_rows.ts";
import { RaggedArray } from "./ragged_array.ts";
import { isRagged, nestedRows, rowCount, rowsOfLengths } from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";

/** Class part of {@linkcode RaggedTensorSpec}; make one by calling `RaggedTensorSpec` or with `new`. */
export class RaggedTensorSpecClass extends CompositeSpec {
  /** Known dimensions; null if the rank is unknown. */
  readonly shape: PartialShape;
  /** Element type. */
  readonly dtype: DType;
  /** Number of ragged dimensions. */
  readonly raggedRank: number;
  /** Specs of the values and the splits. */
  readonly components: readonly TensorSpec[];

  /** Makes a spec. Throws `ValueError` if the rank is too low for the ragged dimensions, or neither is known. */
  constructor(shape: PartialShape, dtype: DType = "float32", raggedRank?: number) {
    super();
    if (shape !== null) wantList(shape, "shape", "RaggedTensorSpec", "dimensions");
    this.shape = shape;
    this.dtype = asDType(dtype);
    this.raggedRank = raggedRank ??= wantRaggedRank(shape);
    const rank = shape?.length ?? Infinity;
    if (!(Number.isInteger(raggedRank) && raggedRank >= 0 && raggedRank < rank)) {
      throw new ValueError(
        `Argument raggedRank (${raggedRank}) must be from 0 to less than rank (${rank})`,
      );
    }
    const rows = shape?.[0] ?? null;
    this.components = raggedRank === 0 ? [TensorSpec(shape, this.dtype)] : [
      TensorSpec(shape && [null, ...shape.slice(raggedRank + 1)], this.dtype),
      ...Array.from(
        { length: raggedRank },
        (_, i) => TensorSpec([i === 0 && rows !== null ? rows + 1 : null], "int32"),
      ),
    ];
  }

  /** Ragged tensors of one rank have the same components. */
  get kind(): string {
    return `ragged${this.raggedRank}`;
  }

  /** Packs values and splits: of tensors a ragged tensor, of host arrays a ragged array; without splits the values. */
  pack([values, ...splits]: readonly unknown[]): RaggedTensor | RaggedArray {
    if (splits.length === 0) return values as RaggedTensor;
    if (values instanceof NdArray) return new RaggedArray(values, splits as NdArray[]);
    return nestedRows(values as Tensor, splits as Tensor[]);
  }

  /** The innermost values, then the splits. */
  override componentsOf(value: unknown): readonly unknown[] | null {
    if (this.raggedRank === 0) return value instanceof CompositeTensor ? null : [value];
    if (!(value instanceof RaggedArray)) return super.componentsOf(value);
    const { flatValues, nestedRowSplits } = value;
    return nestedRowSplits.length === this.raggedRank ? [flatValues, ...nestedRowSplits] : null;
  }

  /** True where a ragged tensor of the other spec fits. */
  isCompatibleWith(other: RaggedTensorSpec): boolean {
    wantMade(other, "dtype", { arg: "other", fn: "isCompatibleWith", wanted: "a spec" });
    return other.dtype === this.dtype && other.raggedRank === this.raggedRank &&
      compatible(this.shape, other.shape);
  }

  /** Returns the common spec of both. */
  override relaxed(other: RaggedTensorSpec): RaggedTensorSpec {
    return this.#like(relaxShapes(this.shape, other.shape), this.raggedRank);
  }
  /** Returns the spec of a row: of values alone if no further dimension is ragged. */
  override unbatched(): RaggedTensorSpec | TensorSpec {
    const { raggedRank, dtype } = this, shape = this.shape && this.shape.slice(1);
    return raggedRank === 0 ? TensorSpec(shape, dtype) : this.#like(shape, raggedRank - 1);
  }
  /** Returns the spec of these as rows. */
  override batched(rows: number | null): RaggedTensorSpec {
    return this.#like(this.shape && [rows, ...this.shape], this.raggedRank + 1);
  }
  /** Returns the rows. */
  override unstack(components: readonly NdArray[]): readonly (readonly NdArray[])[] {
    return this.raggedRank === 0
      ? unstackRows(components[0]).map((row) => [row])
      : raggedRows(components);
  }
  /** Returns the number of values, the row lengths of each ragged dimension, and the values. */
  override partsOfRow(value: RaggedValues): readonly RowPart[] {
    const lengths = isRagged(value) ? value.nestedRowLengths() : [];
    const flat = isRagged(value) ? value.flatValues : value;
    const count = rowCount(value);
    return [
      { tensor: count, by: "stack" },
      ...[...lengths, flat].map((tensor): RowPart => ({ tensor, by: "concat" })),
    ];
  }
  /** Packs the rows as a ragged tensor. */
  override ofRows(joined: readonly Tensor[]): RaggedTensor {
    const values = joined.at(-1)!;
    return joined.slice(0, -1).reduceRight<RaggedValues>(
      (inner, lengths) => rowsOfLengths(inner, lengths),
      values,
    ) as RaggedTensor;
  }
  /** Returns the components of a tensor of equal rows, as a value of this spec. */
  componentsOfArray(array: NdArray): readonly NdArray[] {
    return raggedOfArray(array, this.raggedRank);
  }
  /** Returns these as rows. */
  override stack(values: readonly (readonly NdArray[])[]): readonly NdArray[] {
    return raggedOfRows(values);
  }

  #like(shape: PartialShape, raggedRank: number): RaggedTensorSpec {
    return new RaggedTensorSpecClass(shape, this.dtype, raggedRank);
  }

  /** Text: `ragged float32[?,?]`. */
  override toString(): string {
    return `ragged ${this.dtype}${shapeText(this.shape)}`;
  }
}

function wantRaggedRank(shape: PartialShape): number {
  if (shape !== null) return shape.length - 1;
  throw new ValueError("Cannot make a RaggedTensorSpec of unknown rank: wanted its raggedRank");
}

/** The spec of a ragged tensor. */
export type RaggedTensorSpec = RaggedTensorSpecClass;

/** The signatures of {@linkcode RaggedTensorSpec}. */
export interface RaggedTensorSpecMaker {
  /** Makes a spec. */
  (shape: PartialShape, dtype?: DType, raggedRank?: number): RaggedTensorSpec;
  /** Makes a spec. */
  new (shape: PartialShape, dtype?: DType, raggedRank?: number): RaggedTensorSpec;
}

/**
 * The spec of a ragged tensor: its shape with null for ragged dimensions, its dtype, and the number of dimensions after
 * the first that are kept as splits: none for a row, which is a tensor and becomes a row of a ragged tensor when it is
 * batched. Used in `inputSignature`, `Tout` and `elementSpec`. Follows TensorFlow `tf.RaggedTensorSpec`; splits are
 * `int32` here. Works with and without `new`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = tf.pyFunction(() => tf.ragged.constant([[1], [2, 3]], { dtype: "int32" }), [], tf.RaggedTensorSpec([null, null], "int32"));
 * console.log(rows.toList()); // [[1], [2, 3]]
 * ```
 */
export const RaggedTensorSpec: RaggedTensorSpecMaker = callable(RaggedTensorSpecClass);
