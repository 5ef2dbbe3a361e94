/** RaggedTensor: rows of different lengths as values and row starts, nested to any depth. */
import { wantFunction, wantList, wantMade, wantObject } from "../../core/arguments.ts";
import { CompositeTensor } from "../../core/composite.ts";
import { compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import type { Nested } from "../../core/nd_array.ts";
import { isConcrete, type PartialShape } from "../../core/shape.ts";
import { shortText, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";
import { cast } from "../array/cast.ts";
import { expandDims, identity, reshape, shape as shapeOf } from "../array/view.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { less, notEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { upperBound } from "../reduce/topk.ts";
import { asTensor } from "../input.ts";
import { nestRows } from "./ragged_array.ts";
import { RaggedTensorSpec } from "./ragged_spec.ts";
import { rowCount } from "./ragged_class.ts";
import { addRules } from "./ragged_rules.ts";
import { withRowBehind } from "./row_behind.ts";
import { at, begins, checkSplits, ends, splitsFromLengths, splitsOf, tensorOf } from "./splits.ts";

export {
  RaggedTensorSpec,
  type RaggedTensorSpecClass,
  type RaggedTensorSpecMaker,
} from "./ragged_spec.ts";

/** The values of rows: a tensor, or rows again. */
export type RaggedValues = Tensor | RaggedTensor;

/**
 * Rows of different lengths: row `i` holds the values from `rowSplits[i]` to before `rowSplits[i + 1]`. Values may be
 * ragged themselves. It consists of ordinary tensors; computations on it are differentiable and run in graphs. Scripts
 * take and return it, `tf.data` batches into it. Follows TensorFlow `tf.RaggedTensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const words = tf.RaggedTensor.fromRowSplits(tf.tensor1d([1, 2, 3, 4]), tf.tensor1d([0, 3, 3, 4], "int32"));
 * console.log(words.toList()); // [[1, 2, 3], [], [4]]
 * console.log(words.toTensor().arraySync()); // [[1, 2, 3], [0, 0, 0], [4, 0, 0]]
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
    wantMade(values, "dtype", {
      arg: "values",
      fn: "new RaggedTensor()",
      wanted: "a tensor; RaggedTensor.fromRowSplits() and its kin make these",
    });
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
    wantList(nestedRowSplits, "nestedRowSplits", "RaggedTensor.fromNestedRowSplits", "splits");
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
  static fromTensor(tensor: TensorLike, options: { padding?: number } = {}): RaggedTensor {
    wantObject(options, "options", "RaggedTensor.fromTensor");
    const { padding } = options;
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
    const tail = dims.slice(2);
    return compose(() => {
      const shape = shapeOf(x), rows = at(shape, 0), columns = at(shape, 1);
      const whole = RaggedTensor.fromRowSplits(
        reshape(x, isConcrete(tail) ? [-1, ...tail] : concat([[-1], slice(shape, [2])])),
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
  /** Static shape; null for ragged and unknown dimensions, and as a whole if the rank of the values is unknown. */
  get shape(): PartialShape {
    const inner = this.values instanceof RaggedTensor ? this.values.shape : this.values.staticShape;
    return inner && [this.#rows, null, ...inner.slice(1)];
  }
  /** Static number of rows; null if unknown. */
  get #rows(): number | null {
    const splits = this.rowSplits.staticShape?.[0] ?? null;
    return splits === null ? null : splits - 1;
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
    return compose(() => range(0, this.#rows ?? this.nrows(), 1, "int32"));
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
    wantFunction(fn, "fn", "map");
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
  toTensor(options: { defaultValue?: TensorLike } = {}): Tensor {
    wantObject(options, "options", "toTensor");
    const { defaultValue = 0 } = options;
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
