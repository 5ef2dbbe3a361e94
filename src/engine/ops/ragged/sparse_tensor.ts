/** SparseTensor: the non-zero elements as indices, values and the dense shape. */
import { wantMade } from "../../core/arguments.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { CompositeSpec, CompositeTensor, noRule, type RowPart } from "../../core/composite.ts";
import { apply, compose, type OpInput } from "../../core/apply.ts";
import { asDType, type DType, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isPlainObject } from "../../core/nest.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import {
  compatible,
  mergeShapes,
  type PartialShape,
  relaxShapes,
  shapeText,
} from "../../core/shape.ts";
import { sparseOfRows, sparseRows } from "../../kernels/host/composite_rows.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { callable, TensorSpec } from "../../core/tensor_spec.ts";
import { sparseToDense } from "../array/scatter.ts";
import { SparseArray } from "./ragged_array.ts";
import { checkedIndices } from "./sparse_check.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, identity, literalInts, reshape, size } from "../array/view.ts";
import { equal } from "../pointwise/compare.ts";
import { maximum, where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { upperBound } from "../reduce/topk.ts";
import { asTensor, castInput, shapeOfInput, toIndexInput, toInput, wantRank } from "../input.ts";

/** Class part of {@linkcode SparseTensorSpec}; make one by calling `SparseTensorSpec(shape, dtype)` or with `new`. */
export class SparseTensorSpecClass extends CompositeSpec {
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

  /** All sparse tensors have the same components. */
  get kind(): string {
    return "sparse";
  }

  /** The dense shape. */
  override get beyond(): string {
    return String(this.shape);
  }

  /** Packs the three parts. */
  pack([indices, values, denseShape]: readonly unknown[]): SparseTensor | SparseArray {
    if (indices instanceof NdArray) {
      return new SparseArray(indices, values as NdArray, denseShape as NdArray);
    }
    return SparseTensor.ofSpec([indices, values, denseShape] as Tensor[], this);
  }

  /** Indices, values and dense shape. */
  override componentsOf(value: unknown): readonly unknown[] | null {
    if (value instanceof CompositeTensor) return super.componentsOf(value);
    if (!(value instanceof SparseArray || isPlainObject(value))) return null;
    const { indices, values, denseShape } = value;
    const parts = [indices, values, denseShape];
    return parts.includes(undefined) ? null : parts;
  }

  /** True where a sparse tensor of the other spec fits. */
  isCompatibleWith(other: SparseTensorSpec): boolean {
    wantMade(other, "dtype", { arg: "other", fn: "isCompatibleWith", wanted: "a spec" });
    return other.dtype === this.dtype && compatible(this.shape, other.shape);
  }

  /** Returns the common spec of both. */
  override relaxed(other: SparseTensorSpec): SparseTensorSpec {
    return new SparseTensorSpecClass(relaxShapes(this.shape, other.shape), this.dtype);
  }
  /** Returns the spec of a row. Throws `ValueError` for vectors, whose rows are scalars. */
  override unbatched(): SparseTensorSpec {
    const { shape } = this;
    if (shape !== null && shape.length < 2) {
      throw new ValueError(
        `Cannot slice values of ${this}: rank of input SparseTensor should be > 1, but saw rank: ${shape.length}`,
      );
    }
    return new SparseTensorSpecClass(shape && shape.slice(1), this.dtype);
  }
  /** Returns the spec of these as rows. Their shapes may be larger in a batch than alone. */
  override batched(rows: number | null): SparseTensorSpec {
    return new SparseTensorSpecClass(this.shape && [rows, ...this.shape], this.dtype);
  }
  /** Returns its elements, their number, and its shape. */
  override partsOfRow({ indices, values, denseShape }: SparseTensor): readonly RowPart[] {
    return [
      { tensor: indices, by: "concat" },
      { tensor: values, by: "concat" },
      { tensor: size(values), by: "stack" },
      { tensor: denseShape, by: "stack" },
    ];
  }
  /** Packs the rows as a sparse tensor, as large as the largest of them. */
  override ofRows([indices, values, counts, shapes]: readonly Tensor[]): SparseTensor {
    const parts = compose(() => {
      const rows = upperBound(cumsum(counts), range(0, size(values), 1, "int32"));
      const largest = maximum(max(shapes, 0), 0);
      return [
        concat([expandDims(rows, 1), indices], 1),
        concat([reshape(size(counts), [1]), largest]),
      ];
    });
    return new SparseTensor(parts[0], values, parts[1]);
  }
  /** Returns the rows. */
  override unstack(components: readonly NdArray[]): readonly (readonly NdArray[])[] {
    return sparseRows(components);
  }
  /** Returns these as rows. */
  override stack(values: readonly (readonly NdArray[])[]): readonly NdArray[] {
    return sparseOfRows(values);
  }

  /** Text: `sparse float32[2,?]`. */
  override toString(): string {
    return `sparse ${this.dtype}${this.shape === null ? "<unknown>" : shapeText(this.shape)}`;
  }
}

/** The spec of a sparse tensor. */
export type SparseTensorSpec = SparseTensorSpecClass;

/** The signatures of {@linkcode SparseTensorSpec}. */
export interface SparseTensorSpecMaker {
  /** Makes a spec. */
  (shape?: PartialShape, dtype?: DType): SparseTensorSpec;
  /** Makes a spec. */
  new (shape?: PartialShape, dtype?: DType): SparseTensorSpec;
}

/**
 * The spec of a sparse tensor: the shape of the dense tensor, with null for unknown dimensions, and the dtype. Used in
 * `inputSignature`, `Tout` and `elementSpec`. Follows TensorFlow `tf.SparseTensorSpec`; indices are `int32` here. Works
 * with and without `new`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const total = tf.function((x: tf.SparseTensor) => tf.sum(x.values), { inputSignature: [tf.SparseTensorSpec([null, 2])] });
 * console.log(total(new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])).item()); // 11
 * ```
 */
export const SparseTensorSpec: SparseTensorSpecMaker = callable(SparseTensorSpecClass);

/** Ops that TensorFlow applies to the values of sparse tensors. */
const OF_VALUES = /^(Abs|Neg|Sign|Square|Sqrt|Erf|Tanh|Cast|Identity|StopGradient)$/;

/**
 * A tensor given by some of its elements and their indices in rows. Scripts take and return it. Follows TensorFlow
 * `tf.SparseTensor`; indices are `int32` here.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * const dense = tf.pyFunction((x: tf.SparseTensor) => x.toDense(), [x], "float32");
 * console.log(dense.arraySync()); // [[0, 5], [6, 0]]
 * ```
 */
export class SparseTensor extends CompositeTensor {
  /** Index of each element, of shape `[elements, rank]`. */
  readonly indices: Tensor;
  /** The elements. */
  readonly values: Tensor;
  /** Shape of the dense tensor. */
  readonly denseShape: Tensor;

  /** Known dimensions of the dense tensor; null for an unknown rank. */
  readonly shape: PartialShape;

  /**
   * Takes the three parts. Throws `TypeError` for values that are no tensor or no integers, `ValueError` for ranks and
   * sizes that do not fit.
   */
  constructor(indices: TensorLike, values: TensorLike, denseShape: TensorLike) {
    super();
    const dims = indexOf(denseShape, "denseShape");
    const known = shapeOfInput(dims), rank = known?.length === 1 ? known[0] : null;
    const isEmpty = Array.isArray(indices) && indices.length === 0 && rank !== null;
    this.indices = asTensor(
      isEmpty ? new NdArray("int32", [0, rank], new Int32Array(0)) : indexOf(indices, "indices"),
    );
    this.values = asTensor(toInput(values, "values", "SparseTensor"));
    this.denseShape = asTensor(dims);
    this.shape = shapeOf(this.indices, this.values, dims);
  }

  /** @internal A tensor of which a spec knows more than its parts say. */
  static ofSpec(
    [indices, values, denseShape]: readonly Tensor[],
    spec: SparseTensorSpec,
  ): SparseTensor {
    const made = new SparseTensor(indices, values, denseShape);
    if (spec.shape === null) return made;
    return Object.defineProperty(made, "shape", { value: mergeShapes(made.shape, spec.shape) });
  }

  /** Element type. */
  get dtype(): DType {
    return this.values.dtype;
  }
  /** Indices, values and dense shape. */
  get components(): readonly Tensor[] {
    return [this.indices, this.values, this.denseShape];
  }
  /** Its spec: `Tout` of scripts that return such a tensor. */
  get spec(): SparseTensorSpec {
    return new SparseTensorSpecClass(this.shape, this.dtype);
  }

  /** Returns the dense tensor, with `defaultValue` elsewhere. */
  toDense(defaultValue: TensorLike = 0): Tensor {
    const dense = sparseToDense(
      checkedIndices(this),
      this.values,
      this.denseShape as unknown as number[],
      defaultValue,
    );
    if (dense.isSymbolic) dense.setShape(this.shape);
    return dense;
  }

  /** Returns the numbers of its rows. */
  rowNumbers(): Tensor {
    const rows = this.shape?.[0] ?? null;
    return compose(() => range(0, rows ?? gather(this.denseShape, 0), 1, "int32"));
  }
  /** Returns row `i`, with one dimension less. */
  row(i: TensorLike): SparseTensor {
    const { indices, values, denseShape } = this;
    return compose(() => {
      const kept = reshape(where(equal(gather(indices, 0, 1), i)), [-1]);
      return new SparseTensor(
        gather(slice(indices, [0, 1]), kept),
        gather(values, kept),
        slice(denseShape, [1]),
      );
    });
  }

  /** @internal The op of the values, where it keeps zeros. */
  override applyOp(def: OpDef, [, ...others]: readonly OpInput[], attrs: Attrs): [SparseTensor] {
    if (!OF_VALUES.test(def.name)) {
      throw noRule(def, this, "the op takes no sparse tensors, use toDense() or tf.sparse");
    }
    const [values] = apply(def, [this.values, ...others], attrs);
    // Handles of its own: either may be disposed by itself.
    const own = (t: Tensor): Tensor => t.isSymbolic ? t : identity(t);
    return [SparseTensor.ofSpec([own(this.indices), values, own(this.denseShape)], this.spec)];
  }

  /** Text: `SparseTensor(sparse float32[?,?])`. */
  override toString(): string {
    return `SparseTensor(${this.spec})`;
  }
}

/** Converts an argument to int32. Throws `TypeError` for numbers of another kind. */
function indexOf(x: TensorLike, arg: string): OpInput {
  const input = toIndexInput(x, arg, "SparseTensor");
  if (isInteger(input.dtype)) return castInput(input, "int32");
  throw new TypeError(
    `Cannot make a sparse tensor: ${arg} must be whole numbers, received ${input.dtype}`,
  );
}

/** Returns the shape of the dense tensor. Throws `ValueError` where ranks or sizes do not fit. */
function shapeOf(indices: Tensor, values: Tensor, dims: OpInput): PartialShape {
  const wanted = [["indices", indices, 2], ["values", values, 1], ["denseShape", dims, 1]] as const;
  for (const [name, x, rank] of wanted) {
    wantRank(
      x,
      rank,
      (shape) =>
        `Cannot make a sparse tensor: ${name} must have rank ${rank}, received shape ${shape}`,
    );
  }
  const at = indices.staticShape, count = values.staticShape?.[0] ?? null;
  const rank = shapeOfInput(dims)?.[0] ?? at?.[1] ?? null;
  if (!compatible(at, [count, rank])) {
    throw new ValueError(
      `Cannot make a sparse tensor: ${shapeText([count])} values and a dense shape of ${
        rank ?? "?"
      } dimensions want indices ${shapeText([count, rank])}, received shape ${shapeText(at)}`,
    );
  }
  if (dims instanceof NdArray || dims.isSymbolic) {
    const known = literalInts(dims);
    if (known !== undefined) return known;
  }
  return rank === null ? null : new Array(rank).fill(null);
}
