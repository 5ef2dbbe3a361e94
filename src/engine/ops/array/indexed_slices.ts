/** IndexedSlices: a tensor given by some of its rows, as the gradients of gathers are. Ops accept it as a tensor. */
import { apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { wantList, wrongArgument } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import type { TensorGpuData } from "../../core/gpu_data.ts";
import type { GraphNode } from "../../core/graph_node.ts";
import type { ElementValue, NdArray, Nested } from "../../core/nd_array.ts";
import type { DataType, DataTypeMap, NumericDataType } from "../../core/ranks.ts";
import { lookupOp } from "../../core/op.ts";
import {
  compatible,
  isConcrete,
  mergeShapes,
  type PartialShape,
  shapeText,
  sizeOf,
} from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import {
  asTensor,
  castInput,
  intScalar,
  intVector,
  shapeOfInput,
  toIndexInput,
  toInput,
} from "../input.ts";
import { concat } from "./join.ts";
import { identity, literalInts, reshape } from "./view.ts";

/**
 * Rows of a tensor: `values[i]` is added to row `indices[i]`, which may repeat; all other rows are zero. Gradients of
 * gathers along the first axis have this form, and optimizers update only those rows. As an argument, a value read or a
 * fetch it is the dense tensor of shape `denseShape`. Its two parts live and are disposed with it. Follows TensorFlow
 * `tf.IndexedSlices`. Throws `ValueError` where shapes do not fit, `TypeError` where indices are not whole numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const table = tf.variable([[1, 2], [3, 4], [5, 6]]);
 * using tape = new tf.GradientTape();
 * const y = tf.gather(table, [2, 2]);
 * const g = tape.gradient(y, table) as tf.IndexedSlices;
 * console.log([g.indices.arraySync(), g.values.arraySync()]); // [[2, 2], [[1, 1], [1, 1]]]
 * console.log(g.arraySync()); // [[0, 0], [0, 0], [2, 2]]
 * ```
 */
export class IndexedSlices extends Tensor {
  /** The rows: shape `[n, ...row]`. */
  readonly values: Tensor;
  /** Row indices: a vector of integers. */
  readonly indices: Tensor;
  /** In eager mode a literal, which can be read without waiting. */
  readonly #dims: OpInput | null;
  readonly #shape: PartialShape;
  /** In a graph the dense tensor is added once. */
  #dense: Tensor | null = null;

  /** Takes ownership of the parts. */
  constructor(values: TensorLike, indices: TensorLike, denseShape: TensorLike | null = null) {
    const rows = asTensor(toInput(values, "values", "IndexedSlices"));
    const at = asTensor(toIndexInput(indices, "indices", "IndexedSlices"));
    if (!isInteger(at.dtype)) {
      throw new TypeError(`Cannot make IndexedSlices: wanted whole indices, received ${at.dtype}`);
    }
    const dims = denseShape === null
      ? null
      : toIndexInput(denseShape, "denseShape", "IndexedSlices");
    super(rows.dtype);
    this.values = rows;
    this.indices = at;
    this.#dims = dims instanceof Tensor && !dims.isSymbolic ? dims.ndarraySync() : dims;
    this.#shape = shapeOf(rows.staticShape, at.staticShape, this.#dims);
  }

  /** Shape of the dense tensor as a tensor; null if unknown: then there is no dense tensor. */
  get denseShape(): Tensor | null {
    return this.#dims && asTensor(this.#dims);
  }
  /** Returns the slices with this shape if they have none. */
  shaped(shape: readonly number[] | null): IndexedSlices {
    if (this.#dims !== null || shape === null) return this;
    return new IndexedSlices(this.values, this.indices, shape);
  }
  /** Returns the same rows with other values, and takes ownership of these. */
  withValues(values: Tensor): IndexedSlices {
    return new IndexedSlices(values, own(this.indices), this.#dims);
  }
  /** Joins slices of the same tensor; rows in both are summed when needed. */
  with(other: IndexedSlices): IndexedSlices {
    if (!(other instanceof IndexedSlices)) {
      throw wrongArgument(other, "other", "with", "IndexedSlices");
    }
    const same = this.indices.dtype === other.indices.dtype;
    const at = [this, other].map(({ indices }) => same ? indices : castInput(indices, "int64"));
    const rows = concat([this.values, other.values]);
    return new IndexedSlices(rows, concat(at), this.#dims ?? other.#dims);
  }

  /** The sum of these and a dense tensor. */
  addedTo(t: Tensor): Tensor {
    const def = lookupOp(this.indices.dtype === "int32" ? "TensorScatterAdd" : "AddV2")!;
    if (def.name === "AddV2") return apply1(def, [t, this.toTensor()]);
    return apply1(def, [t, reshape(this.indices, [-1, 1]), this.values]);
  }

  /** Known shape of the dense tensor. */
  override get staticShape(): PartialShape {
    return this.#shape;
  }
  /** Its parts. */
  override get components(): readonly Tensor[] {
    return [this.values, this.indices];
  }
  /** True in a graph. */
  override get isSymbolic(): boolean {
    return this.values.isSymbolic;
  }
  /** The graph of the values. Throws `RuntimeError` in eager mode. */
  override get graph(): GraphNode["graph"] {
    return this.values.graph;
  }
  /** The operation that makes the values. Throws `RuntimeError` in eager mode. */
  override get op(): GraphNode {
    return this.values.op;
  }
  /** Name of the values. Throws `RuntimeError` in eager mode. */
  override get name(): string {
    return this.values.name;
  }
  /** Device of the values. */
  override get device(): string {
    return this.values.device;
  }

  /**
   * Returns the dense tensor: sums where an index repeats. Throws `ValueError` without a shape. TensorFlow op
   * `UnsortedSegmentSum`.
   */
  toTensor(): Tensor {
    const { values } = this;
    if (this.#dims === null) {
      throw new ValueError(
        `Tensor conversion requested for IndexedSlices without a denseShape: ${this}`,
      );
    }
    if (!values.isSymbolic) return this.#sum();
    const current = (currentInterpreter() as { readonly graph?: unknown }).graph;
    return this.#dense ??= current === values.graph
      ? this.#sum()
      : values.graph.asDefault(() => this.#sum());
  }

  #sum(): Tensor {
    const { values, indices } = this;
    const known = this.#shape?.[0];
    const count: OpInput = known == null
      ? apply1(lookupOp("GatherV2")!, [this.#dims!, intScalar(0), intScalar(0)])
      : intScalar(known);
    const dense = apply1(lookupOp("UnsortedSegmentSum")!, [values, indices, count]);
    if (dense.isSymbolic) dense.setShape(this.#shape);
    return dense;
  }

  /** The dense tensor. */
  override readValue(): Tensor {
    return this.toTensor();
  }
  /** The dense tensor. */
  override asOpInput(): Tensor {
    return this.toTensor();
  }

  /** Reads the dense tensor as a host array. */
  override ndarray(): Promise<NdArray> {
    return this.#reading((t) => t.ndarray());
  }
  /** Reads the dense tensor as a host array at once. */
  override ndarraySync(): NdArray {
    return this.#read((t) => t.ndarraySync());
  }
  /** Reads the elements of the dense tensor. */
  override data<D extends DataType = NumericDataType>(): Promise<DataTypeMap[D]> {
    return this.#reading((t) => t.data<D>());
  }
  /** Reads the elements of the dense tensor at once. */
  override dataSync<D extends DataType = NumericDataType>(): DataTypeMap[D] {
    return this.#read((t) => t.dataSync<D>());
  }
  /** Reads the dense tensor as nested arrays. */
  override array<A = Nested>(): Promise<A> {
    return this.#reading((t) => t.array<A>());
  }
  /** Reads the dense tensor as nested arrays at once. */
  override arraySync<A = Nested>(): A {
    return this.#read((t) => t.arraySync());
  }
  /** Reads the only element of the dense tensor. */
  override scalar(): ElementValue {
    return this.#read((t) => t.scalar());
  }
  /** Reads the only element of the dense tensor. */
  override item(): number {
    return this.scalar() as number;
  }
  /** The GPU memory of the dense tensor. */
  override dataToGPU(): TensorGpuData {
    return this.#read((t) => t.dataToGPU());
  }

  #read<R>(how: (dense: Tensor) => R): R {
    using dense = this.toTensor();
    return how(dense);
  }
  async #reading<R>(how: (dense: Tensor) => Promise<R>): Promise<R> {
    using dense = this.toTensor();
    return await how(dense);
  }

  /** True once its parts are disposed. */
  override get isDisposed(): boolean {
    return this.values.isDisposed;
  }
  /** Frees its parts. */
  override dispose(): void {
    for (const part of this.components) part.dispose();
  }
  /** Keeps its parts alive past the scopes in force. */
  override keep(): this {
    for (const part of this.components) part.keep();
    return this;
  }
  /** Checks the shape of the dense tensor. Throws `ValueError` on conflict. */
  override setShape(shape: PartialShape): void {
    if (shape !== null) wantList(shape, "shape", "setShape", "numbers");
    mergeShapes(this.#shape, shape);
  }
  /** Short text. */
  override toString(): string {
    return `IndexedSlices(${this.dtype}${shapeText(this.#shape)}, rows ${
      shapeText(this.values.staticShape)
    })`;
  }
}

function shapeOf(values: PartialShape, indices: PartialShape, dims: OpInput | null): PartialShape {
  const wrong = (what: string): ValueError =>
    new ValueError(
      `Cannot make IndexedSlices of values ${shapeText(values)} at indices ${
        shapeText(indices)
      }: ${what}`,
    );
  if (values?.length === 0) throw wrong("the values must have a row for each index");
  if (!compatible(indices, [null])) throw wrong("the indices must be a vector");
  if (values && indices && !compatible([values[0]], [indices[0]])) {
    throw wrong("there must be as many rows as indices");
  }
  const row = values && [null, ...values.slice(1)];
  const known = dims === null ? undefined : literalInts(dims);
  if (known === undefined) return row;
  if (!compatible(row, known)) throw wrong(`the dense shape is ${shapeText(known)}`);
  return known;
}

/** Returns the dense tensor of slices, of this shape if they have none; any other tensor as it is. */
export function dense(t: Tensor, shape: readonly number[] | null = null): Tensor {
  return t instanceof IndexedSlices ? t.shaped(shape).toTensor() : t;
}

/** Returns a handle of its own, since other holders may dispose theirs; graph tensors need none. */
function own(t: OpInput): Tensor {
  return t instanceof Tensor && t.isSymbolic ? t : identity(t);
}

/** Returns the gradient of picking rows of a table: `dy` holds the rows at `indices`, of any rank. */
export function pickedRows(
  dy: Tensor,
  indices: OpInput,
  table: { readonly spec: Spec; readonly shape: TensorLike },
): IndexedSlices {
  const dims = toIndexInput(table.shape, "shape", "gather");
  if (shapeOfInput(indices)?.length === 1) return new IndexedSlices(own(dy), own(indices), dims);
  const shape = rowsShape(shapeOfInput(indices), table.spec.shape?.slice(1) ?? null) ??
    unknownRowsShape(indices, dims);
  return new IndexedSlices(reshape(dy, shape), reshape(indices, [-1]), dims);
}

/** Reshapes to a row for each index, with static shapes. For empty rows -1 would not tell their number. */
function rowsShape(indices: PartialShape, row: PartialShape): readonly number[] | null {
  if (!isConcrete(row)) return null;
  if (isConcrete(indices)) return [sizeOf(indices), ...row];
  return sizeOf(row) > 0 ? [-1, ...row] : null;
}

/** Reshapes to a row for each index, with a table shape known at run time. */
function unknownRowsShape(indices: OpInput, dims: OpInput): Tensor {
  const count = castInput(apply1(lookupOp("Size")!, [indices]), dims.dtype);
  const row = apply1(lookupOp("Slice")!, [dims, intVector([1]), intVector([-1])]);
  return concat([reshape(count, [1]), row]);
}
