/** Elementwise kernels of TensorFlow.js, as functions of Weft. */
import * as tf from "../../../../mod.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { Kernel, KernelTable } from "./types.ts";

const unary = (fn: (x: Tensor) => Tensor): Kernel => ({ x }) => fn(x);
const binary = (fn: (a: Tensor, b: Tensor) => Tensor): Kernel => ({ a, b }) => fn(a, b);

/** Kernels of one input and no attributes. */
const UNARY: KernelTable = {
  Abs: unary(tf.abs),
  Acos: unary(tf.acos),
  Acosh: unary(tf.acosh),
  Asin: unary(tf.asin),
  Asinh: unary(tf.asinh),
  Atan: unary(tf.atan),
  Atanh: unary(tf.atanh),
  Ceil: unary(tf.ceil),
  ComplexAbs: unary(tf.abs),
  Cos: unary(tf.cos),
  Cosh: unary(tf.cosh),
  Elu: unary(tf.elu),
  Erf: unary(tf.erf),
  Exp: unary(tf.exp),
  Expm1: unary(tf.expm1),
  Floor: unary(tf.floor),
  Identity: unary(tf.identity),
  IsFinite: unary(tf.isFinite),
  IsInf: unary(tf.isInf),
  IsNan: unary(tf.isNaN),
  Log: unary(tf.log),
  Log1p: unary(tf.log1p),
  LogicalNot: unary(tf.logicalNot),
  Neg: unary(tf.neg),
  OnesLike: unary(tf.onesLike),
  Reciprocal: unary(tf.reciprocal),
  Relu: unary(tf.relu),
  Relu6: unary(tf.relu6),
  Round: unary(tf.round),
  Rsqrt: unary(tf.rsqrt),
  Selu: unary(tf.selu),
  Sigmoid: unary(tf.sigmoid),
  Sign: unary(tf.sign),
  Sin: unary(tf.sin),
  Sinh: unary(tf.sinh),
  Softplus: unary(tf.softplus),
  Sqrt: unary(tf.sqrt),
  Square: unary(tf.square),
  Tan: unary(tf.tan),
  Tanh: unary(tf.tanh),
  ZerosLike: unary(tf.zerosLike),
};

/** Kernels of two inputs and no attributes. */
const BINARY: KernelTable = {
  Add: binary(tf.add),
  Atan2: binary(tf.atan2),
  BitwiseAnd: binary(tf.bitwiseAnd),
  Equal: binary(tf.equal),
  FloorDiv: binary(tf.floorDiv),
  Greater: binary(tf.greater),
  GreaterEqual: binary(tf.greaterEqual),
  Less: binary(tf.less),
  LessEqual: binary(tf.lessEqual),
  LogicalAnd: binary(tf.logicalAnd),
  LogicalOr: binary(tf.logicalOr),
  LogicalXor: binary(tf.logicalXor),
  Maximum: binary(tf.maximum),
  Minimum: binary(tf.minimum),
  Mod: binary(tf.mod),
  Multiply: binary(tf.mul),
  NotEqual: binary(tf.notEqual),
  Pow: binary(tf.pow),
  RealDiv: binary(tf.div),
  SquaredDifference: binary(tf.squaredDifference),
  Sub: binary(tf.sub),
};

/** Elementwise kernels. */
export const POINTWISE: KernelTable = {
  ...UNARY,
  ...BINARY,
  AddN: (inputs) => tf.addN(Object.values(inputs)),
  Cast: ({ x }, { dtype }) => tf.cast(x, dtype),
  ClipByValue: ({ x }, { clipValueMin, clipValueMax }) =>
    tf.clipByValue(x, clipValueMin, clipValueMax),
  Complex: ({ real, imag }) => tf.complex(real, imag),
  EluGrad: ({ dy, y }) => tf.mul(dy, tf.where(tf.greaterEqual(y, 0), 1, tf.add(y, 1))),
  Imag: ({ input }) => tf.imag(input),
  LeakyRelu: ({ x }, { alpha }) => tf.leakyRelu(x, alpha),
  Prelu: ({ x, alpha }) => tf.prelu(x, alpha),
  Real: ({ input }) => tf.real(input),
  Select: ({ condition, t, e }) => tf.where(condition, t, e),
  Step: ({ x }, { alpha }) => tf.step(x, alpha),
};
