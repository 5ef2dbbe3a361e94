/** A value while a model is written: its name in the file, and what is known of it. */
import { type DType, DTYPES, makeData } from "../../engine/core/dtype.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";

/** A value of the file's graph. */
export class Ref {
  /** Its name in the file. */
  readonly name: string;
  readonly dtype: DType;
  readonly shape: PartialShape;
  /** Its elements, where they are the same at each run. */
  readonly known: NdArray | null;
  /** The same integers as int64, where the file has them. */
  wide: Ref | null = null;
  /** The same image with its channels at axis 1, where the file has it. */
  first: Ref | null = null;
  /** Its real and its imaginary part, where it is complex: the file has these in its place. */
  parts: readonly [Ref, Ref] | null = null;

  constructor(name: string, dtype: DType, shape: PartialShape, known: NdArray | null = null) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.known = known;
  }

  /** Returns the same value with a shape that is known better. */
  withShape(shape: PartialShape): Ref {
    if (shape === null || this.shape !== null && !this.shape.includes(null)) return this;
    const ref = new Ref(this.name, this.dtype, shape, this.known);
    ref.wide = this.wide;
    ref.first = this.first;
    ref.parts = this.parts && [this.parts[0].withShape(shape), this.parts[1].withShape(shape)];
    return ref;
  }
}

/** Makes an array of equal or listed numbers. */
export function numbers(
  dtype: DType,
  values: readonly (number | bigint)[],
  shape: readonly number[] = [values.length],
): NdArray {
  const array = new NdArray(dtype, shape, makeData(dtype, values.length));
  const { kind, bytes } = DTYPES[dtype], isBig = bytes === 8 && kind !== "float";
  values.forEach((v, i) => {
    if (kind === "string") setElement(array, i, new Uint8Array());
    else setElement(array, i, kind === "bool" ? Number(v) !== 0 : isBig ? BigInt(v) : v);
  });
  return array;
}

/** Returns the integers of a known value; null for others. */
export function intsOf({ known }: Ref): number[] | null {
  return known && Array.from(known.data as ArrayLike<number | bigint>, Number);
}
