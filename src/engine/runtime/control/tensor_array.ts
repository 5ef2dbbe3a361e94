/**
 * TensorArray: a list of tensors of one shape that is written element by element, also in loops. In a graph it is one
 * stacked tensor, so that gradients, functions and files need no rules for it; eager code with known indices keeps the
 * elements apart, so that a write copies nothing.
 */
import { showAs } from "../../core/arrays/shown.ts";
import { apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { lookupOp } from "../../core/op.ts";
import { optionCheck, wantList, wantMade } from "../../core/arguments.ts";
import {
  compatible,
  isConcrete,
  type PartialShape,
  shapeText,
  shapeTuple,
} from "../../core/shape.ts";
import { NdArray } from "../../core/nd_array.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { OutOfRangeError, ValueError } from "../../core/errors.ts";
import { PersistentList } from "../../core/collections/persistent_list.ts";
import { concat, stack, unstack } from "../../ops/array/join.ts";
import {
  expandDims,
  identity,
  reshape,
  shape as shapeOp,
  size as sizeOp,
} from "../../ops/array/view.ts";
import { stridedSlice } from "../../ops/array/strided_slice.ts";
import { gather } from "../../ops/array/gather.ts";
import {
  asTensor,
  intScalar,
  intVector,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
} from "../../ops/input.ts";
import { add, sub } from "../../ops/pointwise/arithmetic.ts";
import { maximum } from "../../ops/pointwise/select.ts";
import { prod } from "../../ops/reduce/prod.ts";
import { max } from "../../ops/reduce/reduce.ts";
import { tensorScatterUpdate } from "../../ops/array/scatter.ts";
import { putRow } from "./growing_rows.ts";
import { EagerTensor, tidy } from "../eager/tensor.ts";

const MAX = 2 ** 31 - 1;

/** Indices of elements that are tensors of their own. */
const places = new WeakMap<Tensor, number>();

/** Options of {@linkcode TensorArray}. */
export interface TensorArrayOptions {
  /** Shape of the elements. By default that of the first write; loops need it before. */
  readonly elementShape?: PartialShape;
  /** Grow on writes past the end. Default false. */
  readonly dynamicSize?: boolean;
  /** Accepted for TensorFlow's sake: elements can always be read again. */
  readonly clearAfterRead?: boolean;
}

const checkOptions = optionCheck<TensorArrayOptions>("TensorArray", {
  elementShape: true,
  dynamicSize: true,
  clearAfterRead: true,
});

/**
 * A list of tensors of one dtype and shape. Writing gives a new list and leaves the old one as it is. What was not written yet is zero.
 * It may be a variable of `whileLoop` and a result of `cond`. Reading or writing by a number outside of the list throws
 * `OutOfRangeError`; an index that is a tensor is checked where the CPU does the work. A compiled
 * write changes the list's memory: it copies a list only where the older one is read later; one that grows has room for twice as many
 * elements. An eager write copies it where the index is on a GPU whose reads must be awaited.
 * Follows TensorFlow `tf.TensorArray`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const powers = tf.function((x: tf.Tensor) => {
 *   const [, , list] = tf.whileLoop(
 *     (i) => tf.less(i, 4),
 *     (i, y, list) => [tf.add(i, 1), tf.mul(y, x), list.write(i, y)],
 *     [tf.scalar(0, "int32"), tf.onesLike(x), new tf.TensorArray("float32", 4, { elementShape: [] })],
 *   );
 *   return list.stack();
 * });
 * console.log(powers(tf.scalar(3)).arraySync()); // [1, 3, 9, 27]
 * ```
 */
export class TensorArray {
  /** Dtype of the elements. */
  readonly dtype: DType;
  /** True where writes past the end grow the list. */
  readonly dynamicSize: boolean;
  readonly #elementShape: PartialShape;
  readonly #size: OpInput;
  /** The stacked elements; null if their shape is unknown, or if they are kept apart. */
  #flow: Tensor | null = null;
  /** The elements kept apart in eager code; those not yet written are absent. */
  #rows: PersistentList<Tensor> | null = null;

  /** Makes a list of `size` zeros. Throws `ValueError` for a negative size. */
  constructor(dtype: DType, size: TensorLike = 0, options: TensorArrayOptions = {}) {
    checkOptions(options);
    const { elementShape = null, dynamicSize = false } = options;
    if (typeof size === "number" && !(Number.isInteger(size) && size >= 0)) {
      throw new ValueError(`Cannot make a TensorArray of ${size} elements`);
    }
    this.dtype = asDType(dtype);
    this.dynamicSize = dynamicSize;
    this.#elementShape = elementShape;
    this.#size = toIndexInput(size, "size", "TensorArray");
    if (this.#size instanceof NdArray && !currentInterpreter().symbolic) {
      this.#rows = new PersistentList(Array(Number(this.#size.at(0))).fill(undefined));
    } else if (isConcrete(elementShape)) this.#flow = this.#zeros(this.#size, elementShape);
  }

  /** Makes a list whose elements are the rows of `flow`. */
  static fromFlow(
    flow: Tensor,
    options: Pick<TensorArrayOptions, "dynamicSize"> = {},
  ): TensorArray {
    wantMade(flow, "dtype", { arg: "flow", fn: "TensorArray.fromFlow", wanted: "a tensor" });
    const list = new TensorArray(flow.dtype, 0, { dynamicSize: options?.dynamicSize ?? false });
    list.#rows = null;
    list.#flow = flow;
    return list;
  }

  /** Makes a list of the same options with other elements, each of this shape. */
  #ofRows(rows: PersistentList<Tensor>, elementShape: PartialShape): TensorArray {
    const { dtype, dynamicSize } = this;
    const list = new TensorArray(dtype, 0, { dynamicSize, elementShape });
    list.#rows = rows;
    return list;
  }

  /** Makes a list of zeros of this element shape; unknown dimensions are zero until the first write. */
  ofZeros(elementShape: readonly (number | null)[]): TensorArray {
    wantList(elementShape, "elementShape", "ofZeros", "numbers");
    const { dynamicSize } = this,
      flow = this.#zeros(this.#rowCount(), elementShape.map((d) => d ?? 0));
    return TensorArray.fromFlow(flow, { dynamicSize });
  }

  /** True where the elements can be one tensor: their shape is known, or one was written. */
  get hasFlow(): boolean {
    return this.#flow !== null || (this.#rows !== null && isConcrete(this.#elementShape));
  }
  /** The elements as one tensor; null if there is none. */
  get stacked(): Tensor | null {
    return this.#flow;
  }
  /** True for the stacked tensor, and for an element. */
  holds(t: Tensor): boolean {
    if (t === this.#flow) return true;
    const at = places.get(t);
    return at !== undefined && this.#rows?.items[at] === t;
  }
  /** Known shape of the elements. */
  get elementShape(): PartialShape {
    return this.#flow?.staticShape?.slice(1) ?? this.#elementShape;
  }
  /** Returns the elements as one tensor, as loops carry them. Throws `ValueError` while their shape is unknown. */
  get flow(): Tensor {
    if (this.#flow) return this.#flow;
    const shape = this.#elementShape;
    if (this.#rows && isConcrete(shape)) return this.#stacked(this.#rows, shape);
    throw new ValueError(
      "The shape of the elements of this TensorArray is not known: nothing was written yet, pass { elementShape }",
    );
  }

  /** Returns the number of elements. */
  size(): Tensor {
    if (this.#rows) return asTensor(intScalar(this.#rows.length));
    if (!this.#flow) return asTensor(this.#size);
    const n = this.#flow.staticShape?.[0];
    return typeof n === "number" ? asTensor(intScalar(n)) : gather(shapeOp(this.#flow), 0);
  }

  /** Returns element `index`. */
  read(index: TensorLike): Tensor {
    const at = this.#rows && this.#known(index);
    this.#check(at ?? index, "read from");
    if (at !== null) return tidy(() => this.#row(this.#rows!, at));
    return gather(this.flow, this.#index(index));
  }
  /** Returns the elements at `indices`, stacked. */
  gather(indices: TensorLike): Tensor {
    return gather(this.flow, this.#index(indices));
  }
  /** Returns all elements, stacked. */
  stack(): Tensor {
    return this.#rows ? this.flow : identity(this.flow);
  }
  /** Returns all elements, joined along their first axis. Throws `ValueError` for scalars. */
  concat(): Tensor {
    const shape = this.elementShape;
    if (shape?.length === 0) throw new ValueError("Cannot concat a TensorArray of scalars");
    return tidy(() => {
      const dims = shapeOp(this.flow);
      const rest = isConcrete(shape) ? intVector(shape.slice(1)) : stridedSlice(dims, [2], [MAX]);
      return reshape(this.flow, concat([intVector([-1]), rest]));
    });
  }

  /**
   * Returns a list with `value` as element `index`. Throws `ValueError` for a value of another shape, `TypeError` for
   * another dtype.
   */
  write(index: TensorLike, value: TensorLike): TensorArray {
    const at = this.#known(index);
    this.#check(at ?? index, "write to");
    if (at !== null) {
      const rows = this.#rows ?? this.#apart();
      if (rows !== null) {
        const row = identity(this.#value(value, this.elementShape));
        places.set(row, at);
        return this.#ofRows(rows.with(at, row), row.shape);
      }
    }
    return this.#with(() => {
      const row = this.#value(value, this.elementShape), place = this.#index(index);
      if (this.dynamicSize) {
        const rows = this.hasFlow ? this.flow : this.#zeros(this.#rowCount(), row);
        return ofRows(putRow(rows, reshape(place, []), row), row.staticShape);
      }
      const at = reshape(place, [1, 1]);
      return ofRows(
        tensorScatterUpdate(this.#allRows(row), at, expandDims(row, 0)),
        row.staticShape,
      );
    });
  }
  /** Returns a list with the rows of `values` as the elements at `indices`. Throws as {@linkcode TensorArray.write}. */
  scatter(indices: TensorLike, values: TensorLike): TensorArray {
    return this.#with(() => {
      const rows = this.#value(values, this.#rowsShape());
      const at = this.#index(indices);
      const row = gather(rows, 0);
      const flow = this.#room(add(max(at), 1), row);
      return ofRows(tensorScatterUpdate(flow, expandDims(at, -1), rows), row.staticShape);
    });
  }
  /** Returns a list whose elements are the rows of `values`. Throws as {@linkcode TensorArray.write}. */
  unstack(values: TensorLike): TensorArray {
    return this.#with(() => identity(this.#value(values, this.#rowsShape())));
  }
  /** Frees the elements. */
  close(): void {
    this.#flow?.dispose();
    for (const row of this.#rows?.items ?? []) row?.dispose();
  }

  /** Returns an index that is known, or can be read, without a turn of the event loop; null for others. */
  #known(index: TensorLike): number | null {
    if (currentInterpreter().symbolic) return null;
    const given = toIndexInput(index, "index", "TensorArray");
    // Another dtype is refused where the index is used.
    if (given.dtype !== "int32" && given.dtype !== "int64") return null;
    if (given instanceof NdArray) return given.size === 1 ? Number(given.data[0]) : null;
    const isAtHand = given instanceof EagerTensor && given.size === 1 &&
      given.storage.device.canReadSync;
    return isAtHand ? Number(given.dataSync()[0]) : null;
  }

  /** Splits a stacked list; null if the number of elements is unknown. */
  #apart(): PersistentList<Tensor> | null {
    if (this.#flow === null) {
      const size = this.#known(this.#size);
      return size === null ? null : new PersistentList(Array(size).fill(undefined));
    }
    const rows = unstack(this.#flow);
    rows.forEach((row, i) => places.set(row, i));
    return new PersistentList(rows);
  }

  #row(rows: PersistentList<Tensor>, at: number): Tensor {
    const row = rows.items[at], shape = this.#elementShape;
    if (row !== undefined) return identity(row);
    if (isConcrete(shape)) return this.#zero(shape);
    return this.flow;
  }

  #zero(shape: readonly number[]): Tensor {
    return apply1(lookupOp("Fill")!, [intVector(shape), NdArray.zeros(this.dtype, [])]);
  }

  #stacked(rows: PersistentList<Tensor>, shape: readonly number[]): Tensor {
    const { items } = rows;
    if (items.length === 0) return this.#zeros(intScalar(0), shape);
    return tidy(() => {
      let zero: Tensor | undefined;
      return stack(Array.from(items, (row) => row ?? (zero ??= this.#zero(shape))));
    });
  }

  #with(make: () => Tensor): TensorArray {
    return TensorArray.fromFlow(tidy(make), { dynamicSize: this.dynamicSize });
  }

  #rowsShape(): PartialShape {
    const shape = this.elementShape;
    return shape && [null, ...shape];
  }

  #index(index: TensorLike): Tensor {
    return asTensor(toIndexInput(index, "index", "TensorArray"));
  }

  #value(value: TensorLike, want: PartialShape): Tensor {
    const literal = !(value instanceof Tensor || value instanceof NdArray);
    const given = toDenseInput(value, "value", "TensorArray", literal ? { dtype: this.dtype } : {});
    if (given.dtype !== this.dtype) {
      throw new TypeError(
        `TensorArray dtype is ${this.dtype} but Op is trying to write dtype ${given.dtype}`,
      );
    }
    const have = shapeOfInput(given);
    if (!compatible(have, want)) {
      throw new ValueError(
        `Incompatible shape for value (${shapeTuple(have)}), expected (${shapeTuple(want)})`,
      );
    }
    return asTensor(given);
  }

  /** Returns the elements, zeros of the shape of `row` where none is known. */
  #allRows(row: Tensor): Tensor {
    return this.hasFlow ? filled(this.flow, row) : this.#zeros(this.#rowCount(), row);
  }

  /** Returns the elements, at least `size` of them in a list that may grow. */
  #room(size: Tensor, row: Tensor): Tensor {
    const flow = this.#allRows(row);
    if (!this.dynamicSize) return flow;
    const missing = maximum(sub(size, gather(shapeOp(flow), 0)), 0);
    return concat([flow, this.#zeros(missing, row)]);
  }

  #rowCount(): OpInput {
    return this.#rows ? intScalar(this.#rows.length) : this.#size;
  }

  #zeros(size: OpInput, like: Tensor | readonly number[]): Tensor {
    const shape = like instanceof Tensor ? like.staticShape : like;
    const rest = isConcrete(shape) ? intVector(shape) : shapeOp(like as Tensor);
    const first = size instanceof NdArray ? intVector([Number(size.at(0))]) : reshape(size, [1]);
    const dims = first instanceof NdArray && rest instanceof NdArray
      ? intVector([...first.data as Int32Array, ...rest.data as Int32Array])
      : concat([first, rest]);
    return ofRows(apply1(lookupOp("Fill")!, [dims, NdArray.zeros(this.dtype, [])]), shape);
  }

  /** Checks a write as far as possible before anything runs. */
  #check(index: TensorLike, what: string): void {
    if (typeof index !== "number") return;
    const isWrite = what === "write to";
    if (index < 0) {
      const doing = isWrite ? "Writing to" : "Reading from";
      throw new OutOfRangeError(`${doing} negative indices (index ${index}) is not allowed`);
    }
    const size = this.#rows
      ? this.#rows.length
      : this.#flow
      ? this.#flow.staticShape?.[0]
      : this.#size instanceof NdArray
      ? Number(this.#size.at(0))
      : null;
    if (typeof size !== "number" || index < size || (this.dynamicSize && isWrite)) return;
    const of = isWrite ? "is not resizeable and size" : "size";
    throw new OutOfRangeError(`Tried to ${what} index ${index} but array ${of} is: ${size}`);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    const length = this.#rows === null ? "" : `${this.#rows.length} of `;
    return `<tf.TensorArray ${length}${this.dtype}${shapeText(this.elementShape)}>`;
  }
}
showAs(TensorArray);

/** Gives the elements the known shape of one. */
function ofRows(flow: Tensor, row: PartialShape): Tensor {
  if (flow.isSymbolic && row) flow.setShape([null, ...row]);
  return flow;
}

/** Converts empty elements of unknown shape to zeros of the shape of `row`. */
function filled(flow: Tensor, row: Tensor): Tensor {
  if (!flow.isSymbolic || isConcrete(flow.staticShape?.slice(1) ?? null)) return flow;
  const shape = concat([stridedSlice(shapeOp(flow), [0], [1]), shapeOp(row)]);
  const missing = sub(prod(shape), sizeOp(flow));
  const zeros = apply1(lookupOp("Fill")!, [reshape(missing, [1]), NdArray.zeros(flow.dtype, [])]);
  return reshape(concat([reshape(flow, [-1]), zeros]), shape);
}
