/**
 * Element types of ONNX's ops: those that its standard has and onnxruntime's CPU has kernels for, since 2022. Operands
 * of others are computed in a wider type.
 */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";

const FLOATS = "float32 float64 float16";
const NUMBERS = `${FLOATS} int32 int64`;
const COMPARED = `${NUMBERS} int8 uint8 uint32 uint64`;

/** Element types by op; ops that are not here take all. */
const ACCEPTED: Readonly<Record<string, string>> = {
  Abs: `${NUMBERS} int8 int16 uint8 uint16 uint32 uint64`,
  Acos: "float32 float16",
  Acosh: "float32 float16",
  Add: NUMBERS,
  And: "bool",
  ArgMax: "float32 float64 float16 int32 int64 int8 uint8",
  ArgMin: "float32 float64 float16 int32 int64 int8 uint8",
  Asin: "float32 float16",
  Asinh: "float32 float16",
  Atan: "float32 float16",
  Atanh: "float32 float16",
  AveragePool: "float32 float16",
  BitShift: "uint8 uint32 uint64",
  Ceil: FLOATS,
  Clip: COMPARED,
  Compress: `${FLOATS} int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string`,
  Conv: "float32 float16",
  ConvTranspose: "float32 float16",
  Cos: FLOATS,
  Cosh: "float32 float16",
  CumSum: NUMBERS,
  DepthToSpace: FLOATS,
  Det: "float32 float16",
  DFT: "float32 float64",
  Div: NUMBERS,
  Einsum: NUMBERS,
  Elu: "float32 float16",
  Equal: `${NUMBERS} bool`,
  Erf: "float32 float16",
  Exp: FLOATS,
  Expand: `${FLOATS} int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string`,
  Floor: FLOATS,
  Gelu: "float32 float16",
  Gemm: FLOATS,
  Greater: NUMBERS,
  GreaterOrEqual: NUMBERS,
  GridSample: "float32",
  IsInf: "float32 float64",
  IsNaN: FLOATS,
  LayerNormalization: FLOATS,
  LeakyRelu: "float32 float16",
  Less: NUMBERS,
  LessOrEqual: NUMBERS,
  Log: FLOATS,
  LogSoftmax: FLOATS,
  LRN: "float32 float16",
  MatMul: NUMBERS,
  Max: COMPARED,
  MaxPool: "float32 float64 float16 int8 uint8",
  Min: COMPARED,
  Mod: `${NUMBERS} int8 int16 uint8 uint16 uint32 uint64`,
  Mul: NUMBERS,
  Neg: `${NUMBERS} int8`,
  NonZero: "float32 int32 int64 bool uint8",
  Not: "bool",
  Or: "bool",
  Pad: `${FLOATS} int32 int64 int8 uint8 uint32 uint64 bool`,
  Pow: "float32 float64 float16 int32 int64",
  Range: "float32 float64 int32 int64",
  Reciprocal: FLOATS,
  ReduceMax: `${NUMBERS} int8 uint8`,
  ReduceMean: NUMBERS,
  ReduceMin: `${NUMBERS} int8 uint8`,
  ReduceProd: NUMBERS,
  ReduceSum: NUMBERS,
  Relu: FLOATS,
  Resize: "float32 float16 int32 int8 uint8",
  Round: FLOATS,
  Selu: "float32 float16",
  Sigmoid: FLOATS,
  Sign: `${NUMBERS} int8 int16 uint8 uint16 uint32 uint64`,
  Sin: FLOATS,
  Sinh: "float32 float16",
  Softmax: FLOATS,
  Softplus: "float32 float16",
  Softsign: "float32 float16",
  SpaceToDepth: FLOATS,
  Sqrt: FLOATS,
  Sub: NUMBERS,
  Sum: FLOATS,
  Tan: "float32 float16",
  Tanh: FLOATS,
  Tile: `${FLOATS} int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string`,
  TopK: "float32 float64 float16 int32 int64",
  Trilu: `${FLOATS} int64 bool`,
  Unique: "float32 float64 int64 string",
  Where: `${FLOATS} int32 int64 uint8 string`,
  Xor: "bool",
};

const TABLE = new Map(
  Object.entries(ACCEPTED).map(([op, types]) => [op, types.split(" ") as DType[]]),
);

/** The types to try instead, nearest first. */
const WIDER: Partial<Record<DType, readonly DType[]>> = {
  bool: ["uint8", "int32", "int64"],
  int8: ["int32", "int64", "float32"],
  int16: ["int32", "int64", "float32"],
  int32: ["int64", "float64", "float32"],
  int64: ["float64", "float32"],
  uint8: ["int32", "uint32", "int64", "float32"],
  uint16: ["int32", "uint32", "int64", "float32"],
  uint32: ["int64", "uint64", "float64", "float32"],
  uint64: ["int64", "float64", "float32"],
  float16: ["float32"],
  bfloat16: ["float32"],
  float32: ["float64"],
  float64: ["float32"],
};

/** Returns the type in which an op computes operands of a type; null if in none. */
export function typeFor(op: string, dtype: DType, opset: number): DType | null {
  const accepted = TABLE.get(op);
  if (op === "Equal" && dtype === "string" && opset >= 19) return dtype;
  if (accepted === undefined) return DTYPES[dtype].kind === "handle" ? null : dtype;
  if (accepted.includes(dtype)) return dtype;
  return WIDER[dtype]?.find((d) => accepted.includes(d)) ?? null;
}
