/**
 * RaggedTensor: rows of different lengths as their values and where each row begins, nested to any depth.
 */
import { CompositeSpec, CompositeTensor } from "../../core/composite.ts";
import { compose } from "../../core/apply.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray, type Nested } from "../../core/nd_array.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { shortText, Tensor, type TensorLike } from "../../core/tensor.ts";
import { TensorSpec } from "../../core/tensor_spec.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/numbering.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { cast } from "../array/cast.ts";
import { expandDims, reshape, shape as shapeOf } from "../array/view.ts";
import { asTensor, toIndexInput, toInput } from "../input.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { less, notEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { upperBound } from "../reduce/topk.ts";

/** The values of rows: a tensor, or rows again. */
export type RaggedValues = Tensor | RaggedTensor;

function tensorOf(x: TensorLike, name: string, fn: string): Tensor {
  return asTensor(toInput(x, name, fn));
}
function splitsOf(x: TensorLike, name: string, fn: string): Tensor {
  return asTensor(toIndexInput(x, name, fn));
}

/**
 * What is known of a ragged tensor: its shape with null for what is ragged, its dtype, and how many of its dimensions from the second on are
 * kept as splits. Stands for one in `Tout` and `elementSpec`. Follows TensorFlow `tf.RaggedTensorSpec`; splits are `int32` here.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const rows = tf.pyFunction(() => tf.ragged.constant([[1], [2, 3]], { dtype: "int32" }), [], new tf.RaggedTensorSpec([null, null], "int32"));
 * assertEquals(rows.toList(), [[1], [2, 3]]);
 * ```
 */
export class RaggedTensorSpec extends CompositeSpec {
  /** Known dimensions. */
  readonly shape: NonNullable<PartialShape>;
  /** Element type. */
  readonly dtype: DType;
  /** Number of ragged dimensions. */
  readonly raggedRank: number;
  /** Specs of the values and the splits. */
  readonly components: readonly TensorSpec[];

  /** Makes a spec. Throws `ValueError` where the rank does not hold so many ragged dimensions. */
  constructor(
    shape: NonNullable<PartialShape>,
    dtype: DType = "float32",
    raggedRank: number = shape.length - 1,
  ) {
    super();
    this.shape = shape;
    this.dtype = asDType(dtype);
    this.raggedRank = raggedRank;
    if (!(Number.isInteger(raggedRank) && raggedRank >= 1 && raggedRank < shape.length)) {
      throw new ValueError(
        `Argument raggedRank (${raggedRank}) must be from 1 to less than rank (${shape.length})`,
      );
    }
    const [rows] = shape;
    this.components = [
      TensorSpec([null, ...shape.slice(raggedRank + 1)], this.dtype),
      ...Array.from(
        { length: raggedRank },
        (_, i) => TensorSpec([i === 0 && rows !== null ? rows + 1 : null], "int32"),
      ),
    ];
  }

  /** Puts values and splits together: a ragged tensor of tensors, a ragged array of host arrays. */
  pack([values, ...splits]: readonly unknown[]): RaggedTensor | RaggedArray {
    if (values instanceof NdArray) return new RaggedArray(values, splits as NdArray[]);
    return RaggedTensor.fromNestedRowSplits(values as Tensor, splits as Tensor[]);
  }

  /** The innermost values, then the splits. */
  override componentsOf(value: unknown): readonly unknown[] | null {
    if (!(value instanceof RaggedArray)) return super.componentsOf(value);
    const { flatValues, nestedRowSplits } = value;
    return nestedRowSplits.length === this.raggedRank ? [flatValues, ...nestedRowSplits] : null;
  }

  /** True where a ragged tensor of the other spec fits. */
  isCompatibleWith(other: RaggedTensorSpec): boolean {
    return other.dtype === this.dtype && other.raggedRank === this.raggedRank &&
      compatible(this.shape, other.shape);
  }

  /** `ragged float32[?,?]`. */
  override toString(): string {
    return `ragged ${this.dtype}${shapeText(this.shape)}`;
  }
}

/**
 * Rows of different lengths: row `i` holds the values from `rowSplits[i]` to before `rowSplits[i + 1]`. Values may be ragged themselves. It is
 * made of ordinary tensors, and all that is computed of it is differentiable and runs in graphs. Scripts take and give it, `tf.data` batches into it.
 * Follows TensorFlow `tf.RaggedTensor`.
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
export class RaggedTensor extends CompositeTensor implements Disposable {
  /** What the rows hold, one after the other. */
  readonly values: RaggedValues;
  /** Where each row begins among the values, and at last where the last ends; `int32`. */
  readonly rowSplits: Tensor;

  private constructor(values: RaggedValues, rowSplits: Tensor) {
    super();
    this.values = values;
    this.rowSplits = rowSplits;
  }

  /** Rows from where they begin. Throws `ValueError` for splits that are no vector; what is wrong in them shows when rows are read. */
  static fromRowSplits(values: RaggedValues | TensorLike, rowSplits: TensorLike): RaggedTensor {
    const splits = splitsOf(rowSplits, "rowSplits", "RaggedTensor.fromRowSplits");
    const { staticShape } = splits;
    if (staticShape !== null && (staticShape.length !== 1 || staticShape[0] === 0)) {
      throw new ValueError(
        `Cannot make a ragged tensor: rowSplits must be a vector of at least one element, received shape ${
          shapeText(staticShape)
        }`,
      );
    }
    if (!(rowSplits instanceof Tensor)) checkSplits(rowSplits);
    const own = values instanceof RaggedTensor
      ? values
      : tensorOf(values as TensorLike, "values", "RaggedTensor.fromRowSplits");
    if (own instanceof Tensor && own.staticShape?.length === 0) {
      throw new ValueError(
        "Cannot make a ragged tensor: values are a scalar, wanted rank 1 at least",
      );
    }
    return new RaggedTensor(own, splits);
  }

  /** Rows from how long they are. */
  static fromRowLengths(values: RaggedValues | TensorLike, rowLengths: TensorLike): RaggedTensor {
    const lengths = splitsOf(rowLengths, "rowLengths", "RaggedTensor.fromRowLengths");
    return RaggedTensor.fromRowSplits(values, splitsFromLengths(lengths));
  }

  /** Rows from splits of each ragged dimension, outermost first. */
  static fromNestedRowSplits(
    flatValues: TensorLike,
    nestedRowSplits: readonly TensorLike[],
  ): RaggedTensor {
    if (nestedRowSplits.length === 0) {
      throw new ValueError("Cannot make a ragged tensor: nestedRowSplits are empty");
    }
    let values: RaggedValues = tensorOf(flatValues, "flatValues", "fromNestedRowSplits");
    for (const splits of nestedRowSplits.toReversed()) {
      values = RaggedTensor.fromRowSplits(values, splits);
    }
    return values as RaggedTensor;
  }

  /** The rows of a dense tensor; those of `padding` alone at their ends are left out where it is given. */
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
    return composed(() => {
      const shape = shapeOf(x);
      const rows = at(shape, 0), columns = at(shape, 1);
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
  /** Dimensions as far as they are known before it is computed; null for ragged ones. */
  get shape(): NonNullable<PartialShape> {
    const rows = this.rowSplits.staticShape?.[0] ?? null;
    const inner = this.values instanceof RaggedTensor ? this.values.shape : this.values.staticShape;
    return [rows === null ? null : rows - 1, null, ...inner?.slice(1) ?? []];
  }
  /** The innermost values, then the splits. */
  get components(): readonly Tensor[] {
    return [this.flatValues, ...this.nestedRowSplits];
  }
  /** What is known of it: `Tout` of scripts that return such. */
  get spec(): RaggedTensorSpec {
    return new RaggedTensorSpec(this.shape, this.dtype, this.raggedRank);
  }

  /** How long each row is. */
  rowLengths(): Tensor {
    return compose(() => sub(ends(this.rowSplits), begins(this.rowSplits)));
  }
  /** Which row each value is in. */
  valueRowIds(): Tensor {
    return compose(() => {
      const { values } = this;
      const count = values instanceof RaggedTensor ? values.nrows() : at(shapeOf(values), 0);
      return sub(upperBound(this.rowSplits, range(0, count, 1, "int32")), 1);
    });
  }
  /** Number of rows. */
  nrows(): Tensor {
    return compose(() => sub(at(shapeOf(this.rowSplits), 0), 1));
  }

  /** The same rows of other innermost values, as many. */
  withFlatValues(values: TensorLike): RaggedTensor {
    return RaggedTensor.fromNestedRowSplits(values, this.nestedRowSplits);
  }
  /** The same rows of what `fn` makes of the innermost values: any function element by element. */
  map(fn: (flatValues: Tensor) => TensorLike): RaggedTensor {
    return this.withFlatValues(fn(this.flatValues));
  }

  /** The rows that a vector of indices names, which must be rows there are: as with `tf.gather`, nothing is checked. */
  gather(indices: TensorLike): RaggedTensor {
    return composed(() => {
      const rows = splitsOf(indices, "indices", "RaggedTensor.gather");
      return pickRows(
        this.values,
        gather(begins(this.rowSplits), rows),
        gather(this.rowLengths(), rows),
      );
    });
  }

  /** The dense tensor that holds all rows, filled up with `defaultValue`. */
  toTensor({ defaultValue = 0 }: { defaultValue?: TensorLike } = {}): Tensor {
    return compose(() => {
      const inner = this.values instanceof RaggedTensor
        ? this.values.toTensor({ defaultValue })
        : this.values;
      const lengths = expandDims(this.rowLengths(), 1);
      const columns = range(0, max(pad(this.rowLengths(), [[0, 1]])), 1, "int32");
      // What is behind the end of a row is the value behind all others: the default.
      const edges = inner.staticShape!.map((_, axis) => [0, axis === 0 ? 1 : 0] as const);
      const padded = pad(inner, edges as unknown as TensorLike, defaultValue);
      const places = add(expandDims(begins(this.rowSplits), 1), columns);
      return gather(padded, where(less(columns, lengths), places, at(shapeOf(inner), 0)));
    });
  }

  /** The rows as nested lists, read at once. */
  toList(): Nested {
    return nestRows(
      this.flatValues.arraySync() as readonly Nested[],
      this.nestedRowSplits.map((s) => s.arraySync() as number[]),
    );
  }
  /** The rows as nested lists, awaiting the device. */
  async array(): Promise<Nested> {
    const values = await this.flatValues.array() as readonly Nested[];
    const splits = await Promise.all(this.nestedRowSplits.map((s) => s.array()));
    return nestRows(values, splits as number[][]);
  }

  /** Frees the tensors that it is made of. */
  dispose(): void {
    for (const t of this.components) t.dispose();
  }
  /** Frees them at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** `RaggedTensor(ragged float32[2,?])`. */
  override toString(): string {
    return `RaggedTensor(${this.spec})`;
  }
}

/** A ragged tensor on the host: what `asNumpyIterator()` gives in its place. */
export class RaggedArray {
  /** The innermost values. */
  readonly flatValues: NdArray;
  /** Splits of each ragged dimension, outermost first. */
  readonly nestedRowSplits: readonly NdArray[];

  /** Keeps the arrays. */
  constructor(flatValues: NdArray, nestedRowSplits: readonly NdArray[]) {
    this.flatValues = flatValues;
    this.nestedRowSplits = nestedRowSplits;
  }

  /** The rows as nested lists. */
  toList(): Nested {
    return nestRows(
      this.flatValues.toArray() as readonly Nested[],
      this.nestedRowSplits.map((s) => s.toArray() as number[]),
    );
  }
}

function nestRows(values: readonly Nested[], splits: readonly (readonly number[])[]): Nested {
  return splits.reduceRight<readonly Nested[]>(
    (rows, ends) => ends.slice(1).map((end, i) => rows.slice(ends[i], end)),
    values,
  );
}

/** A ragged tensor that several ops make: what they make on the way is disposed. */
export function composed(fn: () => RaggedTensor): RaggedTensor {
  const [values, ...splits] = compose(() => [...fn().components]);
  return RaggedTensor.fromNestedRowSplits(values, splits);
}

/** Rows of so many values each, that begin at these places. */
function pickRows(values: RaggedValues, from: Tensor, lengths: Tensor): RaggedTensor {
  const splits = splitsFromLengths(lengths);
  const numbers = range(0, max(splits), 1, "int32");
  const rows = sub(upperBound(splits, numbers), 1);
  const places = add(sub(numbers, gather(begins(splits), rows)), gather(from, rows));
  return RaggedTensor.fromRowSplits(
    values instanceof RaggedTensor ? values.gather(places) : gather(values, places),
    splits,
  );
}

/** Throws `ValueError` with TensorFlow's phrase for splits that are known now and do not rise from 0. */
function checkSplits(splits: TensorLike): void {
  const list = Array.from(
    splits instanceof NdArray ? splits.data as ArrayLike<number> : splits as ArrayLike<number>,
    Number,
  );
  const wrong = list[0] !== 0 ? 0 : list.findIndex((end, i) => i > 0 && end < list[i - 1]);
  if (wrong < 0) return;
  throw new ValueError(
    `Arguments to fromRowSplits do not form a valid RaggedTensor: split ${wrong} is ${
      list[wrong]
    }, splits must begin with 0 and never fall`,
  );
}

/** An element of a vector. */
function at(x: Tensor, i: number): Tensor {
  return reshape(slice(x, [i], [1]), []);
}

/** Where rows of these lengths begin, and the last ends. */
function splitsFromLengths(lengths: Tensor): Tensor {
  return pad(cumsum(lengths), [[1, 0]]);
}

function begins(splits: Tensor): Tensor {
  return stridedSlice(splits, [0], [-1]);
}
function ends(splits: Tensor): Tensor {
  return slice(splits, [1]);
}
