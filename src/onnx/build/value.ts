/**
 * A value of a graph while it is built: a tensor of ours, elements that are known already, a list of values, or nothing.
 */
import type { DType } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { TensorData } from "../file/tensor_data.ts";

/** Whole numbers of a vector or a scalar, null for those that are known only at run time. */
export type Entries = readonly (number | null)[];

/** What may be told of a tensor beside itself. */
export interface TensorFacts {
  /** The dtype that ONNX gives it, where the tensor holds int64 as int32. */
  readonly dtype?: DType;
  /** Its elements as far as they are known, for whole numbers of rank 0 or 1. */
  readonly entries?: Entries;
  /** The elements that a variable was loaded with. */
  readonly initial?: NdArray;
}

/** A value of a graph. */
export class Value {
  /** What it is: `none` is an absent optional. */
  readonly kind: "tensor" | "sequence" | "none";
  /** The values of a sequence. */
  readonly items: readonly Value[];
  /** Dtype of the elements, by ONNX; of a sequence that of its first item. */
  readonly dtype: DType;
  /** The tensor; null where only its elements are known. It may hold int32 where `dtype` is int64. */
  readonly tensor: Tensor | null;
  /** The elements where they are known and never change. */
  readonly known: NdArray | null;
  /** The elements that a variable was loaded with. */
  readonly initial: NdArray | null;
  /** Elements as far as they are known; null where that says nothing. */
  readonly entries: Entries | null;
  /** Elements of less than a byte as the file has them. */
  readonly data: TensorData | null;
  /** The tensor with its channels, which are axis 1, last; null where it is held as it is. */
  readonly last: Tensor | null;

  private constructor(init: Partial<Value> & Pick<Value, "kind" | "dtype">) {
    this.kind = init.kind;
    this.dtype = init.dtype;
    this.items = init.items ?? [];
    this.tensor = init.tensor ?? null;
    this.known = init.known ?? null;
    this.initial = init.initial ?? null;
    this.entries = init.entries ?? null;
    this.data = init.data ?? null;
    this.last = init.last ?? null;
  }

  /** A tensor. */
  static of(tensor: Tensor, { dtype = tensor.dtype, entries, initial }: TensorFacts = {}): Value {
    return new Value({
      kind: "tensor",
      tensor,
      dtype,
      ...entries && { entries },
      ...initial && { initial },
    });
  }

  /** Elements that are known. */
  static known(known: NdArray, data: TensorData | null = null): Value {
    return new Value({
      kind: "tensor",
      dtype: known.dtype,
      known,
      entries: entriesOf(known),
      data,
    });
  }

  /** A tensor of images whose channels stand last, where ONNX has them at axis 1. */
  static channelsLast(last: Tensor): Value {
    return new Value({ kind: "tensor", dtype: last.dtype, last });
  }

  /** A list of values. */
  static sequence(items: readonly Value[], dtype: DType = items[0]?.dtype ?? "float32"): Value {
    return new Value({ kind: "sequence", dtype, items });
  }

  /** An optional that is absent. */
  static readonly none: Value = new Value({ kind: "none", dtype: "float32" });

  /** The shape as far as it is known. */
  get shape(): PartialShape {
    const shape = this.known?.shape ?? (this.tensor ?? this.last)?.staticShape ?? null;
    return shape === null || this.last === null
      ? shape
      : [shape[0], shape[shape.length - 1], ...shape.slice(1, -1)];
  }

  /** True where a tensor holds int64 as int32, which what it counts allows. */
  get isNarrow(): boolean {
    return this.tensor !== null && this.tensor.dtype !== this.dtype;
  }
}

/** The most whole numbers that are followed one by one. */
const MOST_ENTRIES = 64;

function entriesOf({ dtype, shape, size, data }: NdArray): Entries | null {
  if (dtype !== "int64" && dtype !== "int32" || shape.length > 1 || size > MOST_ENTRIES) {
    return null;
  }
  return Array.from(data as ArrayLike<number | bigint>, Number);
}
