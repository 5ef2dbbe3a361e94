/** Types of tensors' ranks and contents, under the names of TensorFlow.js's programs. */
import type { Float16ArrayLike } from "./dtype.ts";
import type { Nested } from "./nd_array.ts";

/** The number of a tensor's axes, as a type. */
export enum Rank {
  /** None. */
  R0 = "R0",
  /** One. */
  R1 = "R1",
  /** Two. */
  R2 = "R2",
  /** Three. */
  R3 = "R3",
  /** Four. */
  R4 = "R4",
  /** Five. */
  R5 = "R5",
  /** Six. */
  R6 = "R6",
}

/** Shapes by rank. */
export interface ShapeMap {
  /** No axis. */
  R0: readonly number[];
  /** One axis. */
  R1: readonly [number];
  /** Two axes. */
  R2: readonly [number, number];
  /** Three axes. */
  R3: readonly [number, number, number];
  /** Four axes. */
  R4: readonly [number, number, number, number];
  /** Five axes. */
  R5: readonly [number, number, number, number, number];
  /** Six axes. */
  R6: readonly [number, number, number, number, number, number];
}

/** Nested elements by rank. */
export interface ArrayMap {
  /** One number. */
  R0: number;
  /** A list. */
  R1: number[];
  /** Rows. */
  R2: number[][];
  /** Lists three deep. */
  R3: number[][][];
  /** Lists four deep. */
  R4: number[][][][];
  /** Lists five deep. */
  R5: number[][][][][];
  /** Lists six deep. */
  R6: number[][][][][][];
}

/** The result of `array()`: by rank where that is known, else any nest. */
export type NestedOf<R extends Rank> = Rank extends R ? Nested : ArrayMap[R];

/** Elements on the host, by dtype. */
export interface DataTypeMap {
  /** 32-bit floats. */
  float32: Float32Array;
  /** 32-bit integers. */
  int32: Int32Array;
  /** 0 and 1. */
  bool: Uint8Array;
  /** Real and imaginary parts in turn. */
  complex64: Float32Array;
  /** Texts where the entry for TensorFlow.js's programs is loaded, else their bytes. */
  string: string[] & Uint8Array[];
  /** 64-bit floats. */
  float64: Float64Array;
  /** 16-bit floats. */
  float16: Float16ArrayLike;
  /** Bits of 16-bit floats. */
  bfloat16: Uint16Array;
  /** 8-bit integers. */
  int8: Int8Array;
  /** 16-bit integers. */
  int16: Int16Array;
  /** 64-bit integers. */
  int64: BigInt64Array;
  /** Bytes. */
  uint8: Uint8Array;
  /** 16-bit integers without sign. */
  uint16: Uint16Array;
  /** 32-bit integers without sign. */
  uint32: Uint32Array;
  /** 64-bit integers without sign. */
  uint64: BigUint64Array;
  /** Real and imaginary parts in turn. */
  complex128: Float64Array;
  /** Handles. */
  resource: unknown[];
  /** Handles. */
  variant: unknown[];
}

/** Name of an element type, as TensorFlow.js's programs spell it. */
export type DataType = keyof DataTypeMap;
/** The element types of TensorFlow.js's numbers. */
export type NumericDataType = "float32" | "int32" | "bool" | "complex64";
