/**
 * Typed WebAssembly expressions: `Value<"f32x4">` is code that leaves one f32x4 on the stack. An expression used twice
 * is computed twice: name it with `FunctionBuilder.let`.
 */
import { littleEndian, signed } from "./bytes.ts";

export type ScalarType = "i32" | "f32" | "f64";
/** Types of 128 bits, seen as lanes. */
export type VectorType = "i8x16" | "i16x8" | "i32x4" | "i64x2" | "f32x4" | "f64x2";
/** Types of a value. WebAssembly has one vector type; the lanes are ours. */
export type ValueType = ScalarType | VectorType;

/** Bytes, nested so that joining expressions copies nothing. */
export type Code = readonly (number | Code)[];

/** Flattens code. The engine does that faster than code of ours that runs for the first time. */
export function bytesOf(code: Code): number[] {
  return (code as readonly unknown[]).flat(Infinity) as number[];
}

export class Value<T extends ValueType = ValueType> {
  readonly type: T;
  /** The instructions, operands first. */
  readonly code: Code;
  /** The number, where the value is constant. */
  readonly constant: number | undefined;

  constructor(type: T, code: Code, constant?: number) {
    this.type = type;
    this.code = code;
    this.constant = constant;
  }
}

/** A value, or a number that stands for a constant of its type (all lanes of a vector). */
export type Operand<T extends ValueType> = Value<T> | number;

const SCALAR_BYTES: Readonly<Record<ScalarType, number>> = { i32: 0x7f, f32: 0x7d, f64: 0x7c };

/** Returns the byte that names a type in the binary format. */
export function typeByte(type: ValueType): number {
  return SCALAR_BYTES[type as ScalarType] ?? 0x7b;
}

/** Makes the constant of this type; a vector has it in all lanes. */
export function constant<T extends ValueType>(type: T, value: number): Value<T> {
  const vector = (lanes: ArrayBufferView): Value<T> =>
    new Value(type, [0xfd, 0x0c, littleEndian(lanes)], value);
  switch (type) {
    case "i32":
      return new Value(type, [0x41, signed(value)], value | 0);
    case "f32":
      return new Value(type, [0x43, littleEndian(Float32Array.of(value))], value);
    case "f64":
      return new Value(type, [0x44, littleEndian(Float64Array.of(value))], value);
    case "f32x4":
      return vector(new Float32Array(4).fill(value));
    case "f64x2":
      return vector(new Float64Array(2).fill(value));
    case "i64x2":
      return vector(new BigInt64Array(2).fill(BigInt(value)));
    case "i32x4":
      return vector(new Int32Array(4).fill(value));
    case "i16x8":
      return vector(new Int16Array(8).fill(value));
    default:
      return vector(new Int8Array(16).fill(value));
  }
}

/** Makes the constant vector of these numbers. */
export function constantLanes<T extends ValueType>(type: T, numbers: readonly number[]): Value<T> {
  const lanes = type === "f32x4"
    ? Float32Array.from(numbers)
    : type === "f64x2"
    ? Float64Array.from(numbers)
    : Int32Array.from(numbers);
  return new Value(type, [0xfd, 0x0c, littleEndian(lanes)]);
}

export function lift<T extends ValueType>(type: T, x: Operand<T>): Value<T> {
  return typeof x === "number" ? constant(type, x) : x;
}
