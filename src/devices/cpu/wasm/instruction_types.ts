/**
 * What the instruction tables of `instructions.ts` hold, type by type.
 */
import type { Operand, ScalarType, Value, ValueType, VectorType } from "./value.ts";

/** An instruction of one operand. */
export type Unary<T extends ValueType, R extends ValueType = T> = (a: Operand<T>) => Value<R>;
/** An instruction of two operands. */
export type Binary<T extends ValueType, R extends ValueType = T> = (
  a: Operand<T>,
  b: Operand<T>,
) => Value<R>;
/** A shift of all lanes by one count. */
export type Shift<T extends ValueType> = (a: Operand<T>, count: Operand<"i32">) => Value<T>;
/** A load from `address + offset`. */
export type Load<T extends ValueType> = (address: Operand<"i32">, offset?: number) => Value<T>;

/** Instructions every type has. */
export interface Basic<T extends ValueType> {
  /** The constant; a vector has it in all lanes. */
  readonly const: (value: number) => Value<T>;
}
/** Sum, difference, product. */
export interface Arithmetic<T extends ValueType> extends Basic<T> {
  readonly add: Binary<T>;
  readonly sub: Binary<T>;
  readonly mul: Binary<T>;
}
/** Comparisons; `M` is 0 or 1 for numbers, all ones or all zeros in each lane for vectors. */
export interface Comparisons<T extends ValueType, M extends ValueType> {
  readonly eq: Binary<T, M>;
  readonly ne: Binary<T, M>;
  readonly lt: Binary<T, M>;
  readonly gt: Binary<T, M>;
  readonly le: Binary<T, M>;
  readonly ge: Binary<T, M>;
}
/** Operations on bits; the same for every vector type. */
export interface Bits<T extends VectorType> {
  readonly and: Binary<T>;
  /** `a & ~b`. */
  readonly andNot: Binary<T>;
  readonly or: Binary<T>;
  readonly xor: Binary<T>;
  /** `mask ? yes : no`, bit by bit. */
  readonly select: (yes: Operand<T>, no: Operand<T>, mask: Value<VectorType>) => Value<T>;
  /** The same bits seen as this type: no instruction. */
  readonly ofBits: (a: Value<VectorType>) => Value<T>;
}
/** Reading and writing single lanes. */
export interface Lanes<T extends VectorType, S extends ScalarType> {
  /** The number in all lanes. */
  readonly splat: Unary<S, T>;
  readonly lane: (a: Value<T>, lane: number) => Value<S>;
  readonly withLane: (a: Value<T>, lane: number, x: Operand<S>) => Value<T>;
}
/** Loads of vectors of 32-bit lanes. */
export interface Loads<T extends VectorType> {
  readonly load: Load<T>;
  /** One lane of memory in all lanes. */
  readonly loadSplat: Load<T>;
  /** One lane of memory in lane 0, zeros in the others. */
  readonly loadFirst: Load<T>;
  /** Two lanes of memory in lanes 0 and 1, zeros in the others. */
  readonly loadPair: Load<T>;
  /** Lanes of two vectors, 0–3 from `a` and 4–7 from `b`. */
  readonly shuffle: (
    a: Value<T>,
    b: Value<T>,
    lanes: readonly [number, number, number, number],
  ) => Value<T>;
}
/** Floating point in lanes. */
export interface FloatVector<T extends VectorType, S extends ScalarType, M extends VectorType>
  extends Arithmetic<T>, Comparisons<T, M>, Bits<T>, Lanes<T, S> {
  readonly div: Binary<T>;
  readonly sqrt: Unary<T>;
  readonly abs: Unary<T>;
  readonly neg: Unary<T>;
  readonly ceil: Unary<T>;
  readonly floor: Unary<T>;
  readonly trunc: Unary<T>;
  /** To the nearest integer, ties to even. */
  readonly nearest: Unary<T>;
  /** NaN where either is NaN. */
  readonly min: Binary<T>;
  /** NaN where either is NaN. */
  readonly max: Binary<T>;
  /** `b < a ? b : a`: one machine instruction where `min` is several. */
  readonly pmin: Binary<T>;
  /** `a < b ? b : a`. */
  readonly pmax: Binary<T>;
  /** `a * b + c`, fused or not as the machine likes. Needs relaxed SIMD. */
  readonly relaxedMadd: (a: Operand<T>, b: Operand<T>, c: Operand<T>) => Value<T>;
}
/** Instructions on i32. */
export interface I32 extends Arithmetic<"i32">, Comparisons<"i32", "i32"> {
  readonly load: Load<"i32">;
  readonly load8u: Load<"i32">;
  readonly eqz: Unary<"i32">;
  readonly ltU: Binary<"i32">;
  readonly gtU: Binary<"i32">;
  readonly geU: Binary<"i32">;
  readonly div: Binary<"i32">;
  readonly divU: Binary<"i32">;
  readonly rem: Binary<"i32">;
  readonly remU: Binary<"i32">;
  readonly and: Binary<"i32">;
  readonly or: Binary<"i32">;
  readonly xor: Binary<"i32">;
  readonly shl: Binary<"i32">;
  readonly shr: Binary<"i32">;
  readonly shrU: Binary<"i32">;
  readonly rotl: Binary<"i32">;
  /** Zero bits below the lowest one. */
  readonly ctz: Unary<"i32">;
  readonly ofF32Bits: Unary<"f32", "i32">;
  /** Truncates; traps where the number does not fit. */
  readonly ofF64: Unary<"f64", "i32">;
  /** 1 where any bit is set. */
  readonly anyTrue: Unary<"i32x4", "i32">;
  /** 1 where no lane is 0. */
  readonly allTrue: Unary<"i32x4", "i32">;
  /** 1 where no byte is 0. */
  readonly allBytesTrue: Unary<"i8x16", "i32">;
  /** The top bits of the lanes. */
  readonly bitmask: Unary<"i32x4", "i32">;
}
/** Instructions on f32. */
export interface F32 extends Arithmetic<"f32">, Comparisons<"f32", "i32"> {
  readonly load: Load<"f32">;
  readonly div: Binary<"f32">;
  readonly abs: Unary<"f32">;
  readonly neg: Unary<"f32">;
  readonly floor: Unary<"f32">;
  readonly sqrt: Unary<"f32">;
  readonly min: Binary<"f32">;
  readonly max: Binary<"f32">;
  readonly ofI32: Unary<"i32", "f32">;
  readonly ofF64: Unary<"f64", "f32">;
  readonly ofBits: Unary<"i32", "f32">;
}
/** Instructions on f64. */
export interface F64 extends Arithmetic<"f64">, Comparisons<"f64", "i32"> {
  readonly load: Load<"f64">;
  readonly div: Binary<"f64">;
  readonly floor: Unary<"f64">;
  readonly ofF32: Unary<"f32", "f64">;
  readonly ofI32: Unary<"i32", "f64">;
}
/** Instructions on four f32. */
export interface F32x4 extends FloatVector<"f32x4", "f32", "i32x4">, Loads<"f32x4"> {
  readonly ofI32: Unary<"i32x4", "f32x4">;
  readonly ofU32: Unary<"i32x4", "f32x4">;
  /** Two f64 rounded into the low lanes; the high lanes are 0. */
  readonly ofF64: Unary<"f64x2", "f32x4">;
}
/** Instructions on two f64. */
export interface F64x2 extends FloatVector<"f64x2", "f64", "i64x2"> {
  readonly load: Load<"f64x2">;
  /** The low lanes of four f32. */
  readonly ofF32: Unary<"f32x4", "f64x2">;
  /** The low lanes of four i32. */
  readonly ofI32: Unary<"i32x4", "f64x2">;
  readonly ofU32: Unary<"i32x4", "f64x2">;
}
/** Instructions on four i32. */
export interface I32x4
  extends
    Arithmetic<"i32x4">,
    Comparisons<"i32x4", "i32x4">,
    Bits<"i32x4">,
    Lanes<"i32x4", "i32">,
    Loads<"i32x4"> {
  readonly ltU: Binary<"i32x4">;
  readonly gtU: Binary<"i32x4">;
  readonly leU: Binary<"i32x4">;
  readonly geU: Binary<"i32x4">;
  readonly not: Unary<"i32x4">;
  readonly abs: Unary<"i32x4">;
  readonly neg: Unary<"i32x4">;
  readonly shl: Shift<"i32x4">;
  readonly shr: Shift<"i32x4">;
  readonly shrU: Shift<"i32x4">;
  readonly min: Binary<"i32x4">;
  readonly max: Binary<"i32x4">;
  readonly minU: Binary<"i32x4">;
  readonly maxU: Binary<"i32x4">;
  /** Truncates and saturates; NaN becomes 0. */
  readonly ofF32: Unary<"f32x4", "i32x4">;
  readonly ofF32U: Unary<"f32x4", "i32x4">;
  /** Two f64, truncated and saturated into the low lanes. */
  readonly ofF64: Unary<"f64x2", "i32x4">;
  readonly ofF64U: Unary<"f64x2", "i32x4">;
  /** The low four of eight unsigned i16. */
  readonly ofLowU16: Unary<"i16x8", "i32x4">;
  /** The high four of eight unsigned i16. */
  readonly ofHighU16: Unary<"i16x8", "i32x4">;
}
/** Instructions on two i64. */
export interface I64x2 extends Basic<"i64x2">, Bits<"i64x2"> {
  readonly add: Binary<"i64x2">;
  readonly sub: Binary<"i64x2">;
  readonly shl: Shift<"i64x2">;
  readonly shr: Shift<"i64x2">;
  readonly shrU: Shift<"i64x2">;
  /** Products of the low two lanes of unsigned i32. */
  readonly mulLowU32: Binary<"i32x4", "i64x2">;
  /** Products of the high two lanes of unsigned i32. */
  readonly mulHighU32: Binary<"i32x4", "i64x2">;
}
/** Instructions on eight i16: the step between bytes and words. */
export interface I16x8 extends Bits<"i16x8"> {
  readonly ofLowU8: Unary<"i8x16", "i16x8">;
  readonly ofHighU8: Unary<"i8x16", "i16x8">;
  /** Two vectors of i32 lanes, saturated. */
  readonly narrow: Binary<"i32x4", "i16x8">;
}
/** Instructions on sixteen bytes. */
export interface I8x16 extends Basic<"i8x16">, Bits<"i8x16"> {
  readonly load: Load<"i8x16">;
  readonly loadSplat: Load<"i8x16">;
  /** Four bytes of memory in the low lanes, zeros in the others. */
  readonly loadFour: Load<"i8x16">;
  readonly splat: Unary<"i32", "i8x16">;
  readonly ltU: Binary<"i8x16">;
  readonly minU: Binary<"i8x16">;
  readonly maxU: Binary<"i8x16">;
  /** Two vectors of i16 lanes, saturated. */
  readonly narrow: Binary<"i16x8", "i8x16">;
  /** The lanes of the first that the second names. */
  readonly swizzle: Binary<"i8x16">;
  /** Sixteen lanes of two vectors, 0–15 from `a` and 16–31 from `b`. */
  readonly shuffle: (
    a: Value<"i8x16">,
    b: Value<"i8x16">,
    lanes: readonly number[],
  ) => Value<"i8x16">;
}
