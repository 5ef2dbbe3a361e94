/** Adds the op methods to tensors: one table, which must have every method of {@linkcode ChainedOps}. */
import { wantObject } from "../core/arguments.ts";
import type { Operand } from "../core/composite.ts";
import type { ChainedOps } from "../core/chained/chained_ops.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { bufferOf } from "./array/tensor_buffer.ts";
import * as ops from "./functions.ts";
import { print } from "./host/print.ts";
import * as resize from "./image/resize.ts";
import * as activation from "./pointwise/activation.ts";
import * as compare from "./pointwise/compare.ts";
import * as power from "./pointwise/power.ts";
import * as rounding from "./pointwise/rounding.ts";
import * as trigonometric from "./pointwise/trigonometric.ts";

/** A method as a function of the tensor it is called on. */
type Method<F extends (...args: never[]) => unknown> = (
  self: Tensor,
  ...args: Parameters<F>
) => ReturnType<F>;

/** Modules whose functions are all methods. */
const FAMILIES = { ...activation, ...compare, ...power, ...rounding, ...trigonometric };

const METHODS: {
  readonly [K in keyof ChainedOps | keyof typeof FAMILIES]: K extends keyof ChainedOps
    ? Method<ChainedOps[K]>
    : never;
} = {
  ...FAMILIES,
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
  asScalar: (self) => ops.reshape(self, []),
  asType: (self, dtype) => ops.cast(self, dtype),
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
  clipByValue: ops.clipByValue,
  clone: (self) => ops.identity(self),
  concat: (self, tensors: Operand | readonly Operand[], axis?: number) =>
    ops.concat([self, ...listOf(tensors)] as TensorLike[], axis) as never,
  conv1d: ops.conv1d,
  conv2d: ops.conv2d,
  conv2dTranspose: ops.conv2dTranspose,
  cumprod: ops.cumprod,
  cumsum: ops.cumsum,
  depthToSpace: ops.depthToSpace,
  depthwiseConv2d: ops.depthwiseConv2d,
  dilation2d: ops.dilation2d,
  div: ops.div,
  divNoNan: ops.divNoNan,
  dot: ops.dot,
  erf: ops.erf,
  euclideanNorm: ops.euclideanNorm,
  exp: ops.exp,
  expandDims: ops.expandDims,
  expm1: ops.expm1,
  fft: (self) => ops.fft(self),
  flatten: (self) => ops.reshape(self, [-1]),
  floorDiv: ops.floorDiv,
  gather: ops.gather,
  ifft: (self) => ops.ifft(self),
  irfft: (self) => ops.irfft(self),
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
  oneHot: ops.oneHot,
  onesLike: ops.onesLike,
  pad: ops.pad,
  pool: ops.pool,
  print,
  prod: ops.prod,
  reshape: ops.reshape,
  reshapeAs: (self, x) => {
    wantObject(x, "x", "reshapeAs", "a tensor");
    return ops.reshape(self, x.shape);
  },
  resizeBilinear: resize.resizeBilinear,
  resizeNearestNeighbor: resize.resizeNearestNeighbor,
  reverse: ops.reverse,
  rfft: (self) => ops.rfft(self),
  separableConv2d: ops.separableConv2d,
  sigmoid: ops.sigmoid,
  slice: ops.slice,
  softmax: ops.softmax,
  softplus: ops.softplus,
  spaceToBatchND: ops.spaceToBatchND,
  split: ops.split,
  squeeze: ops.squeeze,
  stack: (self, x: Operand | readonly Operand[], axis?: number) =>
    ops.stack([self, ...listOf(x)] as TensorLike[], axis) as never,
  stridedSlice: ops.stridedSlice,
  sub: ops.sub,
  sum: ops.sum,
  tile: ops.tile,
  toBool: (self) => ops.cast(self, "bool"),
  toFloat: (self) => ops.cast(self, "float32"),
  toInt: (self) => ops.cast(self, "int32"),
  topk: ops.topk,
  transpose: (self, perm) => ops.transpose(self, perm),
  unique: ops.unique,
  unsortedSegmentSum: ops.unsortedSegmentSum,
  unstack: ops.unstack,
  where: (self, condition, x) => ops.where(condition, self, x) as never,
  zerosLike: ops.zerosLike,
};

/** Returns a tensor, or a list of them, as a list. */
function listOf(x: Operand | readonly Operand[]): readonly Operand[] {
  return Array.isArray(x) ? x : [x as Operand];
}

for (const [name, fn] of Object.entries(METHODS) as [string, Method<() => unknown>][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: []): unknown {
      return fn(this, ...args);
    },
    writable: true,
    configurable: true,
  });
}
