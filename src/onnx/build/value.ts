/** A value of a graph while it is built: a tensor, known elements, a list of values, or nothing. */
import type { DType } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { TensorData } from "../file/tensor_data.ts";

/** Integers of a vector or a scalar, null for those known only at run time. */
export type Entries = readonly (number | null)[];

/** Additional information on a tensor. */
export interface TensorFacts {
  /** The whole numbers of 8 bits that it is made of, and their scale. */
  readonly whole?: WholeNumbers;
  /** Its dtype in ONNX, where the tensor holds int64 as int32 or float16 as float32. */
  readonly dtype?: DType;
  /** Its known elements, for integers of rank 0 or 1. */
  readonly entries?: Entries;
  /** The elements that a variable was loaded with. */
  readonly initial?: NdArray;
}

/** Whole numbers of 8 bits, as float32, and the scale by which they make a value. */
export interface WholeNumbers {
  readonly numbers: Value;
  readonly scale: Tensor;
}

/** Known elements that are computed when something reads them. */
export interface LaterElements {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Computes the elements. */
  make(): NdArray;
  /** Returns the elements with their axes in another order, where -1 is a new axis of extent 1: the same array for each. */
  turned(order: readonly number[]): NdArray;
  /** True where they are levels of 8 bits, scaled: products with whole numbers of 8 bits are then exact but for the scale. */
  readonly isLevels: boolean;
  /** Multiplies rows by the matrix without its elements; null where these are better. */
  times(x: Tensor): Tensor | null;
}

/** A value of a graph. */
export class Value {
  /** Kind: `none` is an absent optional. */
  readonly kind: "tensor" | "sequence" | "none";
  /** The values of a sequence. */
  readonly items: readonly Value[];
  /** Dtype of the elements in ONNX; for a sequence that of its first item. */
  readonly dtype: DType;
  /** The tensor; null if only its elements are known. It may hold int32 for an int64 `dtype`, float32 for float16. */
  readonly tensor: Tensor | null;
  /** Known elements that are computed when something reads them. */
  readonly later: LaterElements | null;
  /** The elements that a variable was loaded with. */
  readonly initial: NdArray | null;
  /** Partly known elements; null if none is known. */
  readonly entries: Entries | null;
  /** Elements of less than a byte in the file's form. */
  readonly data: TensorData | null;
  /** The whole numbers of 8 bits that it is made of. */
  readonly whole: WholeNumbers | null;
  /** The tensor with its channels, axis 1, moved to the end; null in the usual order. */
  readonly last: Tensor | null;

  #known: NdArray | null;

  private constructor(init: Partial<Value> & Pick<Value, "kind" | "dtype">) {
    this.kind = init.kind;
    this.dtype = init.dtype;
    this.items = init.items ?? [];
    this.tensor = init.tensor ?? null;
    this.#known = init.known ?? null;
    this.later = init.later ?? null;
    this.initial = init.initial ?? null;
    this.entries = init.entries ?? null;
    this.data = init.data ?? null;
    this.whole = init.whole ?? null;
    this.last = init.last ?? null;
  }

  static of(
    tensor: Tensor,
    { dtype = tensor.dtype, entries, initial, whole }: TensorFacts = {},
  ): Value {
    return new Value({
      kind: "tensor",
      tensor,
      dtype,
      ...entries && { entries },
      ...initial && { initial },
      ...whole && { whole },
    });
  }

  static known(known: NdArray, data: TensorData | null = null): Value {
    return new Value({
      kind: "tensor",
      dtype: known.dtype,
      known,
      entries: entriesOf(known),
      data,
    });
  }

  static later(later: LaterElements): Value {
    return new Value({ kind: "tensor", dtype: later.dtype, later });
  }

  /** Makes a value of an image tensor with channels last, where ONNX has them at axis 1. */
  static channelsLast(
    last: Tensor,
    { dtype = last.dtype, whole = null }: {
      readonly dtype?: DType;
      readonly whole?: WholeNumbers | null;
    } = {},
  ): Value {
    return new Value({ kind: "tensor", dtype, last, whole });
  }

  static sequence(items: readonly Value[], dtype: DType = items[0]?.dtype ?? "float32"): Value {
    return new Value({ kind: "sequence", dtype, items });
  }

  /** An optional that is absent. */
  static readonly none: Value = new Value({ kind: "none", dtype: "float32" });

  /** Known elements that never change. */
  get known(): NdArray | null {
    return this.#known ??= this.later?.make() ?? null;
  }

  /** True where {@linkcode known} has elements, or will have them. */
  get isKnown(): boolean {
    return this.#known !== null || this.later !== null;
  }

  /** Known shape. */
  get shape(): PartialShape {
    const shape = (this.#known ?? this.later)?.shape ??
      (this.tensor ?? this.last)?.staticShape ?? null;
    return shape === null || this.last === null
      ? shape
      : [shape[0], shape[shape.length - 1], ...shape.slice(1, -1)];
  }

  /** True where a tensor holds int64 as int32, which its range allows. */
  get isNarrow(): boolean {
    return this.dtype === "int64" && this.tensor !== null && this.tensor.dtype !== "int64";
  }
}

/** Maximum number of integers that are followed one by one. */
const MOST_ENTRIES = 64;

function entriesOf(array: NdArray): Entries | null {
  const { dtype, shape, size } = array;
  if (dtype !== "int64" && dtype !== "int32" || shape.length > 1 || size > MOST_ENTRIES) {
    return null;
  }
  return Array.from(array.data as ArrayLike<number | bigint>, Number);
}
