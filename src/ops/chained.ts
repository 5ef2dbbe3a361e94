/**
 * Puts the op methods on tensors: one table, which must hold every method of {@linkcode ChainedOps}.
 */
import type { ChainedOps } from "../core/chained/chained_ops.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { argMax, argMin } from "./reduce/arg_reduce.ts";
import { concat, split, stack, unstack } from "./array/join.ts";
import { reverse, transpose } from "./array/move.ts";
import { mirrorPad, pad } from "./array/pad.ts";
import { broadcastTo, tile } from "./array/repeat.ts";
import { slice } from "./array/slice.ts";
import { stridedSlice } from "./array/strided_slice.ts";
import { expandDims, identity, reshape, squeeze } from "./array/view.ts";
import { cast } from "./array/cast.ts";
import { conv1d, conv2d, conv2dTranspose } from "./conv/conv.ts";
import { depthwiseConv2d, separableConv2d } from "./conv/conv_depthwise.ts";
import { dilation2d } from "./conv/dilation.ts";
import { onesLike, zerosLike } from "./array/creation.ts";
import { gather } from "./array/gather.ts";
import { resizeBilinear, resizeNearestNeighbor } from "./image/resize.ts";
import { localResponseNormalization } from "./rows/local_response_norm.ts";
import { dot, matMul } from "./linalg/matmul.ts";
import { batchNorm } from "./rows/normalize.ts";
import { oneHot } from "./array/numbering.ts";
import { elu, leakyRelu, prelu, relu, relu6, selu } from "./pointwise/activation.ts";
import { add, div, divNoNan, floorDiv, mod, mul, neg, sub } from "./pointwise/arithmetic.ts";
import {
  equal,
  greater,
  greaterEqual,
  isFinite,
  isInf,
  isNaN,
  less,
  lessEqual,
  notEqual,
} from "./pointwise/compare.ts";
import { erf, exp, expm1, log, log1p } from "./pointwise/exponential.ts";
import { logicalAnd, logicalNot, logicalOr, logicalXor } from "./pointwise/logical.ts";
import { pow, reciprocal, rsqrt, sqrt, square, squaredDifference } from "./pointwise/power.ts";
import { abs, ceil, floor, round, sign, step } from "./pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "./pointwise/select.ts";
import { logSigmoid, sigmoid, softplus } from "./pointwise/sigmoid.ts";
import {
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  cos,
  cosh,
  sin,
  sinh,
  tan,
  tanh,
} from "./pointwise/trigonometric.ts";
import { avgPool, maxPool, pool } from "./conv/pool_functions.ts";
import { print } from "./host/print.ts";
import { all, any, max, mean, min, prod, sum } from "./reduce/reduce.ts";
import { euclideanNorm, logSumExp, norm } from "./reduce/reduce_derived.ts";
import { cumprod, cumsum } from "./reduce/scan.ts";
import { unsortedSegmentSum } from "./array/segment.ts";
import { unique } from "./array/set_ops.ts";
import { logSoftmax, softmax } from "./rows/softmax.ts";
import { batchToSpaceND, depthToSpace, spaceToBatchND } from "./array/space_batch.ts";
import { fft, ifft, irfft, rfft } from "./signal/spectral.ts";
import { bufferOf } from "./array/tensor_buffer.ts";
import { topk } from "./reduce/topk.ts";

/** A method as a function of the tensor it is called on. */
type Method<F extends (...args: never[]) => unknown> = (
  self: Tensor,
  ...args: Parameters<F>
) => ReturnType<F>;

const METHODS: { readonly [K in keyof ChainedOps]: Method<ChainedOps[K]> } = {
  abs,
  acos,
  acosh,
  add,
  all,
  any,
  argMax,
  argMin,
  as1D: (self) => reshape(self, [-1]),
  as2D: (self, ...shape) => reshape(self, shape),
  as3D: (self, ...shape) => reshape(self, shape),
  as4D: (self, ...shape) => reshape(self, shape),
  as5D: (self, ...shape) => reshape(self, shape),
  asin,
  asinh,
  asScalar: (self) => reshape(self, []),
  asType: (self, dtype) => cast(self, dtype),
  atan,
  atan2,
  atanh,
  avgPool,
  batchNorm,
  batchToSpaceND,
  broadcastTo,
  buffer: async (self) => bufferOf(self, (await self.ndarray()).data),
  bufferSync: (self) => bufferOf(self, self.ndarraySync().data),
  bytes: async (self) => {
    const { data } = await self.ndarray();
    return Array.isArray(data)
      ? data as Uint8Array[]
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  },
  cast,
  ceil,
  clipByValue,
  clone: (self) => identity(self),
  concat: (self, tensors, axis) => concat([self, ...listOf(tensors)], axis),
  conv1d,
  conv2d,
  conv2dTranspose,
  cos,
  cosh,
  cumprod,
  cumsum,
  depthToSpace,
  depthwiseConv2d,
  dilation2d,
  div,
  divNoNan,
  dot,
  elu,
  equal,
  erf,
  euclideanNorm,
  exp,
  expandDims,
  expm1,
  fft: (self) => fft(self),
  flatten: (self) => reshape(self, [-1]),
  floor,
  floorDiv,
  gather,
  greater,
  greaterEqual,
  ifft: (self) => ifft(self),
  irfft: (self) => irfft(self),
  isFinite,
  isInf,
  isNaN,
  leakyRelu,
  less,
  lessEqual,
  localResponseNormalization,
  log,
  log1p,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  logSigmoid,
  logSoftmax,
  logSumExp,
  matMul,
  max,
  maximum,
  maxPool,
  mean,
  min,
  minimum,
  mirrorPad,
  mod,
  mul,
  neg,
  norm,
  notEqual,
  oneHot,
  onesLike,
  pad,
  pool,
  pow,
  prelu,
  print,
  prod,
  reciprocal,
  relu,
  relu6,
  reshape,
  reshapeAs: (self, x) => reshape(self, x.shape),
  resizeBilinear,
  resizeNearestNeighbor,
  reverse,
  rfft: (self) => rfft(self),
  round,
  rsqrt,
  selu,
  separableConv2d,
  sigmoid,
  sign,
  sin,
  sinh,
  slice,
  softmax,
  softplus,
  spaceToBatchND,
  split,
  sqrt,
  square,
  squaredDifference,
  squeeze,
  stack: (self, x, axis) => stack([self, ...listOf(x)], axis),
  step,
  stridedSlice,
  sub,
  sum,
  tan,
  tanh,
  tile,
  toBool: (self) => cast(self, "bool"),
  toFloat: (self) => cast(self, "float32"),
  toInt: (self) => cast(self, "int32"),
  topk,
  transpose: (self, perm) => transpose(self, perm),
  unique,
  unsortedSegmentSum,
  unstack,
  where: (self, condition, x) => where(condition, self, x),
  zerosLike,
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
