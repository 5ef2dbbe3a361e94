/**
 * Puts the op methods on tensors: one table, which must hold every method of {@linkcode ChainedOps}.
 */
import type { ChainedOps } from "../core/chained/chained_ops.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { bufferOf } from "./array/tensor_buffer.ts";
import * as ops from "./functions.ts";
import { print } from "./host/print.ts";

/** A method as a function of the tensor it is called on. */
type Method<F extends (...args: never[]) => unknown> = (
  self: Tensor,
  ...args: Parameters<F>
) => ReturnType<F>;

const METHODS: { readonly [K in keyof ChainedOps]: Method<ChainedOps[K]> } = {
  abs: ops.abs,
  acos: ops.acos,
  acosh: ops.acosh,
  add: ops.add,
  all: ops.all,
  any: ops.any,
  argMax: ops.argMax,
  argMin: ops.argMin,
  as1D: (self) => ops.reshape(self, [-1]),
  as2D: (self, ...shape) => ops.reshape(self, shape),
  as3D: (self, ...shape) => ops.reshape(self, shape),
  as4D: (self, ...shape) => ops.reshape(self, shape),
  as5D: (self, ...shape) => ops.reshape(self, shape),
  asin: ops.asin,
  asinh: ops.asinh,
  asScalar: (self) => ops.reshape(self, []),
  asType: (self, dtype) => ops.cast(self, dtype),
  atan: ops.atan,
  atan2: ops.atan2,
  atanh: ops.atanh,
  avgPool: ops.avgPool,
  batchNorm: ops.batchNorm,
  batchToSpaceND: ops.batchToSpaceND,
  broadcastTo: ops.broadcastTo,
  buffer: async (self) => bufferOf(self, (await self.ndarray()).data),
  bufferSync: (self) => bufferOf(self, self.ndarraySync().data),
  bytes: async (self) => {
    const { data } = await self.ndarray();
    return Array.isArray(data)
      ? data as Uint8Array[]
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  },
  cast: ops.cast,
  ceil: ops.ceil,
  clipByValue: ops.clipByValue,
  clone: (self) => ops.identity(self),
  concat: (self, tensors, axis) => ops.concat([self, ...listOf(tensors)], axis),
  conv1d: ops.conv1d,
  conv2d: ops.conv2d,
  conv2dTranspose: ops.conv2dTranspose,
  cos: ops.cos,
  cosh: ops.cosh,
  cumprod: ops.cumprod,
  cumsum: ops.cumsum,
  depthToSpace: ops.depthToSpace,
  depthwiseConv2d: ops.depthwiseConv2d,
  dilation2d: ops.dilation2d,
  div: ops.div,
  divNoNan: ops.divNoNan,
  dot: ops.dot,
  elu: ops.elu,
  equal: ops.equal,
  erf: ops.erf,
  euclideanNorm: ops.euclideanNorm,
  exp: ops.exp,
  expandDims: ops.expandDims,
  expm1: ops.expm1,
  fft: (self) => ops.fft(self),
  flatten: (self) => ops.reshape(self, [-1]),
  floor: ops.floor,
  floorDiv: ops.floorDiv,
  gather: ops.gather,
  greater: ops.greater,
  greaterEqual: ops.greaterEqual,
  ifft: (self) => ops.ifft(self),
  irfft: (self) => ops.irfft(self),
  isFinite: ops.isFinite,
  isInf: ops.isInf,
  isNaN: ops.isNaN,
  leakyRelu: ops.leakyRelu,
  less: ops.less,
  lessEqual: ops.lessEqual,
  localResponseNormalization: ops.localResponseNormalization,
  log: ops.log,
  log1p: ops.log1p,
  logicalAnd: ops.logicalAnd,
  logicalNot: ops.logicalNot,
  logicalOr: ops.logicalOr,
  logicalXor: ops.logicalXor,
  logSigmoid: ops.logSigmoid,
  logSoftmax: ops.logSoftmax,
  logSumExp: ops.logSumExp,
  matMul: ops.matMul,
  max: ops.max,
  maximum: ops.maximum,
  maxPool: ops.maxPool,
  mean: ops.mean,
  min: ops.min,
  minimum: ops.minimum,
  mirrorPad: ops.mirrorPad,
  mod: ops.mod,
  mul: ops.mul,
  neg: ops.neg,
  norm: ops.norm,
  notEqual: ops.notEqual,
  oneHot: ops.oneHot,
  onesLike: ops.onesLike,
  pad: ops.pad,
  pool: ops.pool,
  pow: ops.pow,
  prelu: ops.prelu,
  print,
  prod: ops.prod,
  reciprocal: ops.reciprocal,
  relu: ops.relu,
  relu6: ops.relu6,
  reshape: ops.reshape,
  reshapeAs: (self, x) => ops.reshape(self, x.shape),
  resizeBilinear: ops.image.resizeBilinear,
  resizeNearestNeighbor: ops.image.resizeNearestNeighbor,
  reverse: ops.reverse,
  rfft: (self) => ops.rfft(self),
  round: ops.round,
  rsqrt: ops.rsqrt,
  selu: ops.selu,
  separableConv2d: ops.separableConv2d,
  sigmoid: ops.sigmoid,
  sign: ops.sign,
  sin: ops.sin,
  sinh: ops.sinh,
  slice: ops.slice,
  softmax: ops.softmax,
  softplus: ops.softplus,
  spaceToBatchND: ops.spaceToBatchND,
  split: ops.split,
  sqrt: ops.sqrt,
  square: ops.square,
  squaredDifference: ops.squaredDifference,
  squeeze: ops.squeeze,
  stack: (self, x, axis) => ops.stack([self, ...listOf(x)], axis),
  step: ops.step,
  stridedSlice: ops.stridedSlice,
  sub: ops.sub,
  sum: ops.sum,
  tan: ops.tan,
  tanh: ops.tanh,
  tile: ops.tile,
  toBool: (self) => ops.cast(self, "bool"),
  toFloat: (self) => ops.cast(self, "float32"),
  toInt: (self) => ops.cast(self, "int32"),
  topk: ops.topk,
  transpose: (self, perm) => ops.transpose(self, perm),
  unique: ops.unique,
  unsortedSegmentSum: ops.unsortedSegmentSum,
  unstack: ops.unstack,
  where: (self, condition, x) => ops.where(condition, self, x),
  zerosLike: ops.zerosLike,
};

/** A tensor, or a list of them, as a list. */
function listOf(x: TensorLike | readonly TensorLike[]): readonly TensorLike[] {
  return Array.isArray(x) ? x : [x as TensorLike];
}

/** Puts the methods on `Tensor.prototype`. */
export function installChainedOps(): void {
  for (const [name, fn] of Object.entries(METHODS) as [string, Method<() => unknown>][]) {
    Object.defineProperty(Tensor.prototype, name, {
      value(this: Tensor, ...args: []): unknown {
        return fn(this, ...args);
      },
      writable: true,
      configurable: true,
    });
  }
}
