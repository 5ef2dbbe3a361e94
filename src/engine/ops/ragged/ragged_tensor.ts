/** RaggedTensor: rows of different lengths as values and row starts, nested to any depth. */
import { wantList } from "../../core/arguments.ts";
import { CompositeSpec, CompositeTensor, type RowPart } from "../../core/composite.ts";
import { compose } from "../../core/apply.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray, type Nested } from "../../core/nd_array.ts";
import { compatible, type PartialShape, relaxShapes, shapeText } from "../../core/shape.ts";
import { shortText, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { callable, TensorSpec } from "../../core/tensor_spec.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { pad } from "../array/pad.ts";
import { cast } from "../array/cast.ts";
import { expandDims, identity, reshape, shape as shapeOf } from "../array/view.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { less, notEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { upperBound } from "../reduce/topk.ts";
import { asTensor } from "../input.ts";
import { nestRows, RaggedArray } from "./ragged_array.ts";
import { addRules } from "./ragged_rules.ts";
import { withRowBehind } from "./row_behind.ts";
import { at, begins, checkSplits, ends, splitsFromLengths, splitsOf, tensorOf } from "./splits.ts";
import { unstackRows } from "../../core/arrays/rows.ts";
import { raggedOfArray, raggedOfRows, raggedRows } from "../../kernels/host/composite_rows.ts";

/** The values of rows: a tensor, or rows again. */
export type RaggedValues = Tensor | RaggedTensor;

/** Class part of {@linkcode RaggedTensorSpec}; make one by calling `RaggedTensorSpec` or with `new`. */
export class RaggedTensorSpecClass extends CompositeSpec {
  /** Known dimensions. */
  readonly shape: NonNullable<PartialShape>;
  /** Element type. */
  readonly dtype: DType;
  /** Number of ragged dimensions. */
  readonly raggedRank: number;
  /** Specs of the values and the splits. */
  readonly components: readonly TensorSpec[];

  /** Makes a spec. Throws `ValueError` where the rank is too low for the ragged dimensions. */
  constructor(
    shape: NonNullable<PartialShape>,
    dtype: DType = "float32",
    raggedRank: number = shape?.length - 1,
  ) {
    super();
    wantList(shape, "shape", "RaggedTensorSpec", "dimensions");
    this.shape = shape;
    this.dtype = asDType(dtype);
    this.raggedRank = raggedRank;
    if (!(Number.isInteger(raggedRank) && raggedRank >= 0 && raggedRank < shape.length)) {
      throw new ValueError(
        `Argument raggedRank (${raggedRank}) must be from 0 to less than rank (${shape.length})`,
      );
    }
    this.components = raggedRank === 0 ? [TensorSpec(shape, this.dtype)] : [
      TensorSpec([null, ...shape.slice(raggedRank + 1)], this.dtype),
      ...Array.from(
        { length: raggedRank },
        (_, i) => TensorSpec([i === 0 && shape[0] !== null ? shape[0] + 1 : null], "int32"),
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
    return RaggedTensor.fromNestedRowSplits(values as Tensor, splits as Tensor[]);
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
    return other.dtype === this.dtype && other.raggedRank === this.raggedRank &&
      compatible(this.shape, other.shape);
  }

  /** Returns the common spec of both. */
  override relaxed(other: RaggedTensorSpec): RaggedTensorSpec {
    return this.#like(relaxShapes(this.shape, other.shape)!, this.raggedRank);
  }
  /** Returns the spec of a row: of values alone if no further dimension is ragged. */
  override unbatched(): RaggedTensorSpec | TensorSpec {
    const { raggedRank, dtype } = this, shape = this.shape.slice(1);
    return raggedRank === 0 ? TensorSpec(shape, dtype) : this.#like(shape, raggedRank - 1);
  }
  /** Returns the spec of these as rows. */
  override batched(rows: number | null): RaggedTensorSpec {
    return this.#like([rows, ...this.shape], this.raggedRank + 1);
  }
  /** Returns the rows. */
  override unstack(components: readonly NdArray[]): readonly (readonly NdArray[])[] {
    return this.raggedRank === 0
      ? unstackRows(components[0]).map((row) => [row])
      : raggedRows(components);
  }
  /** Returns the number of values, the row lengths of each ragged dimension, and the values. */
  override partsOfRow(value: RaggedValues): readonly RowPart[] {
    const lengths = value instanceof RaggedTensor ? value.nestedRowLengths() : [];
    const flat = value instanceof RaggedTensor ? value.flatValues : value;
    const count = rowCount(value);
    return [
      { tensor: count, by: "stack" },
      ...[...lengths, flat].map((tensor): RowPart => ({ tensor, by: "concat" })),
    ];
  }
  /** Packs the rows as a ragged tensor. */
  override ofRows(joined: readonly Tensor[]): RaggedTensor {
    return joined.slice(0, -1).reduceRight<RaggedValues>(
      (inner, lengths) => RaggedTensor.fromRowLengths(inner, lengths),
      joined.at(-1)!,
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

  #like(shape: NonNullable<PartialShape>, raggedRank: number): RaggedTensorSpec {
    return new RaggedTensorSpecClass(shape, this.dtype, raggedRank);
  }

  /** Text: `ragged float32[?,?]`. */
  override toString(): string {
    return `ragged ${this.dtype}${shapeText(this.shape)}`;
  }
}

/** The spec of a ragged tensor. */
export type RaggedTensorSpec = RaggedTensorSpecClass;

/** The signatures of {@linkcode RaggedTensorSpec}. */
export interface RaggedTensorSpecMaker {
  /** Makes a spec. */
  (shape: NonNullable<PartialShape>, dtype?: DType, raggedRank?: number): RaggedTensorSpec;
  /** Makes a spec. */
  new (shape: NonNullable<PartialShape>, dtype?: DType, raggedRank?: number): RaggedTensorSpec;
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
 * import { assertEquals } from "@std/assert";
 * const rows = tf.pyFunction(() => tf.ragged.constant([[1], [2, 3]], { dtype: "int32" }), [], tf.RaggedTensorSpec([null, null], "int32"));
 * assertEquals(rows.toList(), [[1], [2, 3]]);
 * ```
 */
export const RaggedTensorSpec: RaggedTensorSpecMaker = callable(RaggedTensorSpecClass);

/**
 * Rows of different lengths: row `i` holds the values from `rowSplits[i]` to before `rowSplits[i + 1]`. Values may be
 * ragged themselves. It consists of ordinary tensors; computations on it are differentiable and run in graphs. Scripts
 * take and return it, `tf.data` batches into it. Follows TensorFlow `tf.RaggedTensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const words = tf.RaggedTensor.fromRowSplits(tf.tensor1d([1, 2, 3, 4]), tf.tensor1d([0, 3, 3, 4], "int32"));
 * assertEquals(words.toList(), [[1, 2, 3], [], [4]]);
 * assertEquals(words.toTensor().arraySync(), [[1, 2, 3], [0, 0, 0], [4, 0, 0]]);
 * ```
 */
export class RaggedTensor extends CompositeTensor {
  /** Values of all rows. */
  readonly values: RaggedValues;
  /** Start of each row among the values, and the end of the last; `int32`. */
  readonly rowSplits: Tensor;

  private constructor(values: RaggedValues, rowSplits: Tensor) {
    super();
    this.values = values;
    this.rowSplits = rowSplits;
  }

  /** Makes rows from their starts. Throws `ValueError` for splits that are no vector; reads find other faults. */
  static fromRowSplits(values: RaggedValues | TensorLike, rowSplits: TensorLike): RaggedTensor {
    const splits = splitsOf(rowSplits, "rowSplits", "RaggedTensor.fromRowSplits");
    const own = values instanceof RaggedTensor
      ? values
      : tensorOf(values as TensorLike, "values", "RaggedTensor.fromRowSplits");
    const known = own instanceof RaggedTensor ? own.shape : own.staticShape;
    checkSplits(splits, rowSplits, known?.[0] ?? null);
    if (known?.length !== 0) return new RaggedTensor(own, splits);
    throw new ValueError(
      "Cannot make a ragged tensor: values are a scalar, wanted rank 1 at least",
    );
  }

  /** Makes rows from their lengths. Throws as {@linkcode RaggedTensor.fromRowSplits} does. */
  static fromRowLengths(values: RaggedValues | TensorLike, rowLengths: TensorLike): RaggedTensor {
    return RaggedTensor.fromRowSplits(values, splitsFromLengths(rowLengths));
  }

  /** Makes rows from splits of each ragged dimension, outermost first. */
  static fromNestedRowSplits(
    flatValues: TensorLike,
    nestedRowSplits: readonly TensorLike[],
  ): RaggedTensor {
    if (nestedRowSplits.length === 0) {
      throw new ValueError("Cannot make a ragged tensor: nestedRowSplits are empty");
    }
    const values = tensorOf(flatValues, "flatValues", "fromNestedRowSplits");
    return nestedRowSplits.reduceRight<RaggedValues>(
      (inner, splits) => RaggedTensor.fromRowSplits(inner, splits),
      values,
    ) as RaggedTensor;
  }

  /** Makes the rows of a dense tensor, without trailing `padding` if it is given. */
  static fromTensor(tensor: TensorLike, { padding }: { padding?: number } = {}): RaggedTensor {
    const x = tensorOf(tensor, "tensor", "RaggedTensor.fromTensor");
    const dims = x.staticShape;
    if (dims === null || dims.length < 2) {
      throw new ValueError(
        `Cannot make a ragged tensor of ${shortText(x)}: wanted rank 2 at least`,
      );
    }
    if (padding !== undefined && dims.length > 2) {
      throw new ValueError(`Cannot leave padding out of ${shortText(x)}: wanted rank 2`);
    }
    return compose(() => {
      const shape = shapeOf(x), rows = at(shape, 0), columns = at(shape, 1);
      const whole = RaggedTensor.fromRowSplits(
        reshape(x, [-1, ...dims.slice(2).map((d) => d ?? -1)]),
        mul(range(0, add(rows, 1), 1, "int32"), columns),
      );
      if (padding === undefined) return whole;
      const isOther = notEqual(x, cast(padding, x.dtype));
      const numbers = range(1, add(columns, 1), 1, "int32");
      return pickRows(whole.values, begins(whole.rowSplits), max(where(isOther, numbers, 0), 1));
    });
  }

  /** Element type. */
  get dtype(): DType {
    return this.values.dtype;
  }
  /** The innermost values. */
  get flatValues(): Tensor {
    return this.values instanceof RaggedTensor ? this.values.flatValues : this.values;
  }
  /** Splits of each ragged dimension, outermost first. */
  get nestedRowSplits(): readonly Tensor[] {
    return this.values instanceof RaggedTensor
      ? [this.rowSplits, ...this.values.nestedRowSplits]
      : [this.rowSplits];
  }
  /** Number of ragged dimensions. */
  get raggedRank(): number {
    return this.values instanceof RaggedTensor ? 1 + this.values.raggedRank : 1;
  }
  /** Static shape; null for ragged and unknown dimensions. */
  get shape(): NonNullable<PartialShape> {
    const rows = this.rowSplits.staticShape?.[0] ?? null;
    const inner = this.values instanceof RaggedTensor ? this.values.shape : this.values.staticShape;
    return [rows === null ? null : rows - 1, null, ...inner?.slice(1) ?? []];
  }
  /** The innermost values, then the splits. */
  get components(): readonly Tensor[] {
    return [this.flatValues, ...this.nestedRowSplits];
  }
  /** Its spec: `Tout` of scripts that return such a tensor. */
  get spec(): RaggedTensorSpec {
    return new RaggedTensorSpec(this.shape, this.dtype, this.raggedRank);
  }

  /** Returns the length of each row. */
  rowLengths(): Tensor {
    return compose(() => sub(ends(this.rowSplits), begins(this.rowSplits)));
  }
  /** Returns the row of each value. */
  valueRowIds(): Tensor {
    const numbers = () => range(0, rowCount(this.values), 1, "int32");
    return compose(() => sub(upperBound(this.rowSplits, numbers()), 1));
  }
  /** Returns the row lengths of each ragged dimension, outermost first. */
  nestedRowLengths(): Tensor[] {
    return this.nestedRowSplits.map((s) => compose(() => sub(ends(s), begins(s))));
  }
  /** Returns the numbers of its rows. */
  rowNumbers(): Tensor {
    return compose(() => range(0, this.shape[0] ?? this.nrows(), 1, "int32"));
  }
  /** Returns row `i`: a tensor, or a ragged tensor if its rows are ragged. */
  row(i: TensorLike): RaggedValues {
    return compose(() => {
      const next = add(cast(i, "int32"), 1);
      const places = range(gather(this.rowSplits, i), gather(this.rowSplits, next), 1, "int32");
      return this.values instanceof RaggedTensor
        ? this.values.gather(places)
        : gather(this.values, places);
    });
  }
  /** Returns the number of rows. */
  nrows(): Tensor {
    return compose(() => sub(at(shapeOf(this.rowSplits), 0), 1));
  }

  /** Returns the same rows with other innermost values of the same number. */
  withFlatValues(values: TensorLike): RaggedTensor {
    // Handles of its own: either may be disposed by itself.
    const splits = this.nestedRowSplits.map((s) => (s.isSymbolic ? s : identity(s)));
    return RaggedTensor.fromNestedRowSplits(values, splits);
  }
  /** Returns the same rows with the innermost values mapped by `fn`, an elementwise function. */
  map(fn: (flatValues: Tensor) => TensorLike): RaggedTensor {
    return this.withFlatValues(fn(this.flatValues));
  }

  /** Returns the rows with these indices, which must be in range: as with `tf.gather`, nothing is checked. */
  gather(indices: TensorLike): RaggedTensor {
    return compose(() => {
      const rows = splitsOf(indices, "indices", "RaggedTensor.gather");
      return pickRows(
        this.values,
        gather(begins(this.rowSplits), rows),
        gather(this.rowLengths(), rows),
      );
    });
  }

  /** Returns the dense tensor of all rows, padded with `defaultValue`. */
  toTensor({ defaultValue = 0 }: { defaultValue?: TensorLike } = {}): Tensor {
    return compose(() => {
      const inner = this.values instanceof RaggedTensor
        ? this.values.toTensor({ defaultValue })
        : this.values;
      const lengths = expandDims(this.rowLengths(), 1);
      const columns = range(0, max(pad(this.rowLengths(), [[0, 1]])), 1, "int32");
      // A place after the end of a row takes the value after all others: the default.
      const padded = withRowBehind(inner, defaultValue);
      const places = add(expandDims(begins(this.rowSplits), 1), columns);
      return gather(padded, where(less(columns, lengths), places, at(shapeOf(inner), 0)));
    });
  }

  /** Returns the rows as nested lists, read synchronously. */
  toList(): Nested {
    return nestRows(
      this.flatValues.arraySync() as readonly Nested[],
      this.nestedRowSplits.map((s) => s.arraySync() as number[]),
    );
  }
  /** Returns the rows as nested lists; awaits the device. */
  async array(): Promise<Nested> {
    const values = await this.flatValues.array() as readonly Nested[];
    const splits = await Promise.all(this.nestedRowSplits.map((s) => s.array()));
    return nestRows(values, splits as number[][]);
  }

  /** Text: `RaggedTensor(ragged float32[2,?])`. */
  override toString(): string {
    return `RaggedTensor(${this.spec})`;
  }
}

addRules(RaggedTensor);

function rowCount(values: RaggedValues): Tensor {
  return values instanceof RaggedTensor ? values.nrows() : at(shapeOf(values), 0);
}

/** Returns rows of these lengths at these starts. */
function pickRows(values: RaggedValues, from: Tensor, lengths: Tensor): RaggedTensor {
  const splits = asTensor(splitsFromLengths(lengths));
  const numbers = range(0, max(splits), 1, "int32");
  const rows = sub(upperBound(splits, numbers), 1);
  const places = add(sub(numbers, gather(begins(splits), rows)), gather(from, rows));
  return RaggedTensor.fromRowSplits(
    values instanceof RaggedTensor ? values.gather(places) : gather(values, places),
    splits,
  );
}
