/**
 * SparseTensor: the elements that are not zero as their indices, values and the dense shape.
 */
import { CompositeSpec, CompositeTensor } from "../../core/composite.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isPlainObject } from "../../core/nest.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TensorSpec } from "../../core/tensor_spec.ts";
import { sparseToDense } from "../array/scatter.ts";
import { asTensor, toIndexInput, toInput } from "../input.ts";

/** A sparse tensor's three arrays on the host: what `asNumpyIterator()` gives in its place. */
export interface SparseArray {
  /** Index of each element, of shape `[elements, rank]`. */
  readonly indices: NdArray;
  /** The elements. */
  readonly values: NdArray;
  /** Shape of the dense tensor. */
  readonly denseShape: NdArray;
}

/** What is known of a sparse tensor. Follows TensorFlow `tf.SparseTensorSpec`; indices are `int32` here. */
export class SparseTensorSpec extends CompositeSpec {
  /** Known dimensions of the dense tensor. */
  readonly shape: PartialShape;
  /** Element type. */
  readonly dtype: DType;
  /** Specs of indices, values and dense shape. */
  readonly components: readonly TensorSpec[];

  /** Makes a spec. */
  constructor(shape: PartialShape = null, dtype: DType = "float32") {
    super();
    this.shape = shape;
    this.dtype = asDType(dtype);
    const rank = shape === null ? null : shape.length;
    this.components = [
      TensorSpec([null, rank], "int32"),
      TensorSpec([null], this.dtype),
      TensorSpec([rank], "int32"),
    ];
  }

  /** Puts the three together. */
  pack([indices, values, denseShape]: readonly unknown[]): SparseTensor | SparseArray {
    if (indices instanceof NdArray) {
      return { indices, values: values as NdArray, denseShape: denseShape as NdArray };
    }
    return new SparseTensor(indices as Tensor, values as Tensor, denseShape as Tensor);
  }

  /** Indices, values and dense shape. */
  override componentsOf(value: unknown): readonly unknown[] | null {
    if (!isPlainObject(value)) return super.componentsOf(value);
    const { indices, values, denseShape } = value;
    const parts = [indices, values, denseShape];
    return parts.includes(undefined) ? null : parts;
  }

  /** True where a sparse tensor of the other spec fits. */
  isCompatibleWith(other: SparseTensorSpec): boolean {
    return other.dtype === this.dtype &&
      (this.shape === null || other.shape === null || this.shape.length === other.shape.length);
  }

  /** `sparse float32[2,?]`. */
  override toString(): string {
    return `sparse ${this.dtype}${this.shape === null ? "<unknown>" : shapeText(this.shape)}`;
  }
}

/**
 * A tensor of which only some elements are kept, with the index of each in rows. Scripts take and give it. Follows TensorFlow
 * `tf.SparseTensor`; indices are `int32` here.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * const dense = tf.pyFunction((x: tf.SparseTensor) => x.toDense(), [x], "float32");
 * assertEquals(dense.arraySync(), [[0, 5], [6, 0]]);
 * ```
 */
export class SparseTensor extends CompositeTensor implements Disposable {
  /** Index of each element, of shape `[elements, rank]`. */
  readonly indices: Tensor;
  /** The elements. */
  readonly values: Tensor;
  /** Shape of the dense tensor. */
  readonly denseShape: Tensor;

  /** Keeps the three. Throws `TypeError` for what is no tensor. */
  constructor(indices: TensorLike, values: TensorLike, denseShape: TensorLike) {
    super();
    this.indices = asTensor(toIndexInput(indices, "indices", "SparseTensor"));
    this.values = asTensor(toInput(values, "values", "SparseTensor"));
    this.denseShape = asTensor(toIndexInput(denseShape, "denseShape", "SparseTensor"));
  }

  /** Element type. */
  get dtype(): DType {
    return this.values.dtype;
  }
  /** Indices, values and dense shape. */
  get components(): readonly Tensor[] {
    return [this.indices, this.values, this.denseShape];
  }
  /** What is known of it: `Tout` of scripts that return such. */
  get spec(): SparseTensorSpec {
    const rank = this.denseShape.staticShape?.[0] ?? null;
    return new SparseTensorSpec(rank === null ? null : new Array(rank).fill(null), this.dtype);
  }

  /** The dense tensor; what is not kept is `defaultValue`. */
  toDense(defaultValue: TensorLike = 0): Tensor {
    return sparseToDense(
      this.indices,
      this.values,
      this.denseShape as unknown as number[],
      defaultValue,
    );
  }

  /** Frees the tensors that it is made of. */
  dispose(): void {
    for (const t of this.components) t.dispose();
  }
  /** Frees them at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** `SparseTensor(sparse float32[?,?])`. */
  override toString(): string {
    return `SparseTensor(${this.spec})`;
  }
}
