/** `engine().runKernel` gives what TensorFlow.js's kernels give, for each of them. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as tfjs from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@weft/weft/tfjs-core";
import { assertEquals, assertThrows } from "@std/assert";
import { KERNELS } from "../../src/tfjs/core/kernels/mod.ts";
import type { Any } from "../script/helpers.ts";

// Without it TensorFlow.js gives advice about Node on the console.
tfjs.enableProdMode();

interface Sample {
  readonly inputs: Record<string, Any> | Any[];
  readonly attrs?: Record<string, unknown>;
}

/** Positive numbers below 1, which every function takes. */
const f = (...shape: number[]): Any => ({ shape, dtype: "float32" });
const ints = (shape: number[], values: number[]): Any => ({ shape, dtype: "int32", values });
const bools = (...shape: number[]): Any => ({ shape, dtype: "bool" });
const texts = (...values: string[]): Any => ({ shape: [values.length], dtype: "string", values });
const of = (shape: number[], values: number[]): Any => ({ shape, dtype: "float32", values });

const UNARY =
  "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Expm1 Floor Identity IsFinite IsInf IsNan Log Log1p Neg OnesLike Reciprocal Relu Relu6 Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Sqrt Square Tan Tanh ZerosLike";
const BINARY =
  "Add Atan2 Equal Greater GreaterEqual Less LessEqual Maximum Minimum Mod Multiply NotEqual Pow RealDiv SquaredDifference Sub";
const REDUCED = "Mean Min Prod Sum";
const POOL = { filterSize: 2, strides: 1, pad: "same" };
const POOL3 = { ...POOL, dataFormat: "NDHWC" };
const CONV = { strides: 1, pad: "same", dataFormat: "NHWC", dilations: 1 };
const LRN = { depthRadius: 1, bias: 1, alpha: 0.5, beta: 0.5 };
const BOXES = of([3, 4], [0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 2, 1, 3]);
const SUPPRESS = { maxOutputSize: 3, iouThreshold: 0.5, scoreThreshold: 0.1 };
const RESIZE = { size: [4, 4], alignCorners: false, halfPixelCenters: false };

const SAMPLES: Record<string, Sample> = {
  ...Object.fromEntries(
    UNARY.split(" ").map((name) => [name, {
      inputs: { x: name === "Acosh" ? of([2], [1.5, 3]) : f(2, 3) },
    }]),
  ),
  ...Object.fromEntries(
    BINARY.split(" ").map((name) => [name, { inputs: { a: f(2, 3), b: f(3) } }]),
  ),
  ...Object.fromEntries(
    REDUCED.split(" ").map((name) => [name, {
      inputs: { x: f(2, 3) },
      attrs: { axis: 1, keepDims: true },
    }]),
  ),
  AddN: { inputs: [f(2), f(2), f(2)] },
  All: { inputs: { x: bools(2, 3) }, attrs: { axis: 1, keepDims: true } },
  Any: { inputs: { x: bools(2, 3) }, attrs: { axis: 1, keepDims: true } },
  ArgMax: { inputs: { x: f(2, 3) }, attrs: { axis: 1 } },
  ArgMin: { inputs: { x: f(2, 3) }, attrs: { axis: 1 } },
  AvgPool: { inputs: { x: f(1, 3, 3, 2) }, attrs: POOL },
  AvgPool3D: { inputs: { x: f(1, 3, 3, 3, 2) }, attrs: POOL3 },
  AvgPool3DGrad: {
    inputs: { dy: f(1, 2, 2, 2, 2), input: f(1, 3, 3, 3, 2) },
    // With padding TensorFlow.js divides by the whole window, though the mean is over what lies inside.
    attrs: { ...POOL3, pad: "valid" },
  },
  AvgPoolGrad: {
    inputs: { dy: f(1, 2, 2, 2), input: f(1, 3, 3, 2) },
    attrs: { ...POOL, pad: "valid" },
  },
  BatchMatMul: {
    inputs: { a: f(2, 2, 3), b: f(2, 4, 3) },
    attrs: { transposeA: false, transposeB: true },
  },
  BatchToSpaceND: {
    inputs: { x: f(4, 1, 1, 2) },
    attrs: { blockShape: [2, 2], crops: [[0, 0], [0, 1]] },
  },
  Bincount: { inputs: { x: ints([4], [1, 2, 1, 0]), weights: f(4) }, attrs: { size: 4 } },
  BitwiseAnd: { inputs: { a: ints([2], [6, 5]), b: ints([2], [3, 4]) } },
  BroadcastArgs: { inputs: { s0: ints([2], [2, 1]), s1: ints([1], [3]) } },
  Cast: { inputs: { x: of([2], [1.7, -1.7]) }, attrs: { dtype: "int32" } },
  ClipByValue: { inputs: { x: f(4) }, attrs: { clipValueMin: 0.3, clipValueMax: 0.4 } },
  Complex: { inputs: { real: f(2), imag: f(2) } },
  ComplexAbs: { inputs: { x: { complex: [f(2), f(2)] } } },
  Concat: { inputs: [f(2, 1), f(2, 2)], attrs: { axis: 1 } },
  Conv2D: {
    inputs: { x: f(1, 4, 4, 2), filter: f(2, 3, 2, 3) },
    attrs: { ...CONV, strides: [2, 1] },
  },
  Conv2DBackpropFilter: {
    inputs: { x: f(1, 4, 4, 2), dy: f(1, 2, 4, 3) },
    attrs: { ...CONV, strides: [2, 1], filterShape: [2, 3, 2, 3] },
  },
  Conv2DBackpropInput: {
    inputs: { dy: f(1, 2, 4, 3), filter: f(2, 3, 2, 3) },
    attrs: { ...CONV, strides: [2, 1], inputShape: [1, 4, 4, 2] },
  },
  Conv3D: {
    inputs: { x: f(1, 3, 3, 3, 2), filter: f(2, 2, 2, 2, 3) },
    attrs: { ...CONV, dataFormat: "NDHWC" },
  },
  Conv3DBackpropFilterV2: {
    inputs: { x: f(1, 3, 3, 3, 2), dy: f(1, 2, 2, 2, 3) },
    attrs: { strides: 1, pad: "valid", filterShape: [2, 2, 2, 2, 3] },
  },
  Conv3DBackpropInputV2: {
    inputs: { dy: f(1, 2, 2, 2, 3), filter: f(2, 2, 2, 2, 3) },
    attrs: { strides: 1, pad: "valid", inputShape: [1, 3, 3, 3, 2] },
  },
  CropAndResize: {
    inputs: {
      image: f(1, 4, 4, 2),
      boxes: of([2, 4], [0, 0, 1, 1, 0.2, 0.1, 0.5, 1.2]),
      boxInd: ints([2], [0, 0]),
    },
    attrs: { cropSize: [2, 3], method: "bilinear", extrapolationValue: 0.5 },
  },
  Cumprod: { inputs: { x: f(2, 3) }, attrs: { axis: 1, exclusive: true, reverse: true } },
  Cumsum: { inputs: { x: f(2, 3) }, attrs: { axis: 1, exclusive: true, reverse: true } },
  DenseBincount: {
    inputs: { x: ints([2, 2], [1, 2, 1, 0]), weights: f(2, 2) },
    attrs: { size: 4, binaryOutput: false },
  },
  DepthToSpace: { inputs: { x: f(1, 2, 2, 8) }, attrs: { blockSize: 2, dataFormat: "NHWC" } },
  DepthwiseConv2dNative: { inputs: { x: f(1, 4, 4, 2), filter: f(2, 2, 2, 2) }, attrs: CONV },
  DepthwiseConv2dNativeBackpropFilter: {
    inputs: { x: f(1, 4, 4, 2), dy: f(1, 4, 4, 4) },
    attrs: { ...CONV, filterShape: [2, 2, 2, 2] },
  },
  DepthwiseConv2dNativeBackpropInput: {
    inputs: { dy: f(1, 4, 4, 4), filter: f(2, 2, 2, 2) },
    attrs: { ...CONV, inputShape: [1, 4, 4, 2] },
  },
  Diag: { inputs: { x: f(3) } },
  Dilation2D: {
    inputs: { x: f(1, 4, 4, 2), filter: f(2, 2, 2) },
    attrs: { strides: 1, pad: "same", dilations: 1 },
  },
  Einsum: { inputs: [f(2, 3), f(3, 4)], attrs: { equation: "ij,jk->ki" } },
  EluGrad: { inputs: { dy: f(3), y: of([3], [-0.5, 0, 2]) } },
  ExpandDims: { inputs: { input: f(2, 3) }, attrs: { dim: 1 } },
  FFT: { inputs: { input: { complex: [f(1, 4), f(1, 4)] } } },
  FloorDiv: { inputs: { a: ints([3], [7, -7, 8]), b: ints([3], [2, 2, -3]) } },
  Fill: { inputs: {}, attrs: { shape: [2, 2], value: 3, dtype: "int32" } },
  FlipLeftRight: { inputs: { image: f(1, 2, 3, 2) } },
  FusedBatchNorm: {
    inputs: { x: f(1, 2, 2, 3), scale: f(3), offset: f(3), mean: f(3), variance: f(3) },
    attrs: { varianceEpsilon: 0.01 },
  },
  FusedConv2D: {
    inputs: { x: f(1, 3, 3, 2), filter: f(2, 2, 2, 3), bias: f(3) },
    attrs: { ...CONV, activation: "relu6" },
  },
  FusedDepthwiseConv2D: {
    inputs: { x: f(1, 3, 3, 2), filter: f(2, 2, 2, 1), bias: f(2) },
    attrs: { ...CONV, activation: "relu" },
  },
  GatherNd: { inputs: { params: f(3, 4), indices: ints([2, 2], [0, 1, 2, 3]) } },
  GatherV2: {
    inputs: { x: f(3, 4), indices: ints([2], [3, 1]) },
    attrs: { axis: 1, batchDims: 0 },
  },
  IFFT: { inputs: { input: { complex: [f(1, 4), f(1, 4)] } } },
  Imag: { inputs: { input: { complex: [f(3), f(3)] } } },
  LeakyRelu: { inputs: { x: of([2], [-2, 3]) }, attrs: { alpha: 0.3 } },
  LinSpace: { inputs: {}, attrs: { start: 1, stop: 3, num: 5 } },
  LogicalAnd: { inputs: { a: bools(3), b: bools(3) } },
  LogicalNot: { inputs: { x: bools(3) } },
  LogicalOr: { inputs: { a: bools(3), b: bools(3) } },
  LRN: { inputs: { x: f(1, 2, 2, 4) }, attrs: LRN },
  Max: { inputs: { x: f(2, 3) }, attrs: { reductionIndices: 1, keepDims: true } },
  MaxPool: { inputs: { x: f(1, 3, 3, 2) }, attrs: POOL },
  MaxPool3D: { inputs: { x: f(1, 3, 3, 3, 2) }, attrs: POOL3 },
  MaxPool3DGrad: {
    inputs: { dy: f(1, 3, 3, 3, 2), input: f(1, 3, 3, 3, 2), output: f(1, 3, 3, 3, 2) },
    attrs: POOL3,
  },
  MaxPoolGrad: {
    inputs: { dy: f(1, 3, 3, 2), input: f(1, 3, 3, 2), output: f(1, 3, 3, 2) },
    attrs: POOL,
  },
  MaxPoolWithArgmax: {
    inputs: { x: f(1, 4, 4, 2) },
    attrs: { ...POOL, strides: 2, includeBatchInIndex: false },
  },
  MirrorPad: { inputs: { x: f(2, 3) }, attrs: { paddings: [[0, 1], [2, 1]], mode: "reflect" } },
  NonMaxSuppressionV3: { inputs: { boxes: BOXES, scores: f(3) }, attrs: SUPPRESS },
  NonMaxSuppressionV4: {
    inputs: { boxes: BOXES, scores: f(3) },
    attrs: { ...SUPPRESS, padToMaxOutputSize: true },
  },
  NonMaxSuppressionV5: {
    inputs: { boxes: BOXES, scores: f(3) },
    attrs: { ...SUPPRESS, softNmsSigma: 0.5 },
  },
  OneHot: {
    inputs: { indices: ints([2], [1, 0]) },
    attrs: { depth: 3, onValue: 2, offValue: -1, dtype: "float32" },
  },
  Pack: { inputs: [f(2), f(2)], attrs: { axis: 1 } },
  PadV2: { inputs: { x: f(2, 2) }, attrs: { paddings: [[1, 0], [0, 2]], constantValue: 7 } },
  Prelu: { inputs: { x: of([2], [-2, 3]), alpha: f(2) } },
  Range: { inputs: {}, attrs: { start: 1, stop: 7, step: 2, dtype: "int32" } },
  Real: { inputs: { input: { complex: [f(3), f(3)] } } },
  Reshape: { inputs: { x: f(2, 3) }, attrs: { shape: [3, 2] } },
  ResizeBilinear: { inputs: { images: f(1, 2, 3, 2) }, attrs: RESIZE },
  ResizeBilinearGrad: { inputs: { images: f(1, 2, 2, 2), dy: f(1, 4, 4, 2) }, attrs: RESIZE },
  ResizeNearestNeighbor: { inputs: { images: f(1, 2, 3, 2) }, attrs: RESIZE },
  ResizeNearestNeighborGrad: {
    inputs: { images: f(1, 2, 2, 2), dy: f(1, 4, 4, 2) },
    attrs: RESIZE,
  },
  Reverse: { inputs: { x: f(2, 3) }, attrs: { dims: [1] } },
  RotateWithOffset: {
    inputs: { image: f(1, 4, 4, 2) },
    attrs: { radians: 0.5, fillValue: 0.25, center: 0.5 },
  },
  ScatterNd: {
    inputs: { indices: ints([2, 1], [2, 0]), updates: f(2, 3) },
    attrs: { shape: [4, 3] },
  },
  SearchSorted: {
    inputs: { sortedSequence: of([1, 4], [0, 1, 1, 2]), values: of([1, 2], [1, 3]) },
    attrs: { side: "right" },
  },
  Select: { inputs: { condition: bools(2, 2), t: f(2, 2), e: of([2, 2], [5, 6, 7, 8]) } },
  Slice: { inputs: { x: f(3, 4) }, attrs: { begin: [1, 2], size: [2, -1] } },
  Softmax: { inputs: { logits: f(2, 3) }, attrs: { dim: 1 } },
  SpaceToBatchND: {
    inputs: { x: f(1, 2, 4, 1) },
    attrs: { blockShape: [2, 2], paddings: [[0, 0], [0, 2]] },
  },
  SparseFillEmptyRows: {
    inputs: {
      indices: ints([2, 2], [0, 1, 2, 0]),
      values: f(2),
      denseShape: ints([2], [3, 2]),
      defaultValue: of([], [9]),
    },
  },
  SparseReshape: {
    inputs: {
      inputIndices: ints([2, 2], [0, 1, 2, 0]),
      inputShape: ints([2], [3, 2]),
      newShape: ints([2], [2, -1]),
    },
  },
  SparseSegmentMean: {
    inputs: { data: f(3, 2), indices: ints([3], [0, 2, 1]), segmentIds: ints([3], [0, 0, 1]) },
  },
  SparseSegmentSum: {
    inputs: { data: f(3, 2), indices: ints([3], [0, 2, 1]), segmentIds: ints([3], [0, 0, 1]) },
  },
  SparseToDense: {
    inputs: { sparseIndices: ints([2], [3, 1]), sparseValues: f(2), defaultValue: of([], [7]) },
    attrs: { outputShape: [5] },
  },
  SplitV: { inputs: { x: f(2, 5) }, attrs: { numOrSizeSplits: [2, -1], axis: 1 } },
  StaticRegexReplace: {
    inputs: { x: texts("a1b2", "c3") },
    attrs: { pattern: "[0-9]", rewrite: "_", replaceGlobal: true },
  },
  Step: { inputs: { x: of([2], [-2, 3]) }, attrs: { alpha: 0.5 } },
  StridedSlice: {
    inputs: { x: f(4, 5) },
    attrs: {
      ...{ begin: [1, 4], end: [4, 0], strides: [2, -1] },
      ...{ beginMask: 0, endMask: 2, ellipsisMask: 0, newAxisMask: 0, shrinkAxisMask: 0 },
    },
  },
  StringNGrams: {
    inputs: { data: texts("a", "b", "c"), dataSplits: ints([2], [0, 3]) },
    attrs: {
      ...{ separator: "|", nGramWidths: [2], leftPad: "L", rightPad: "R", padWidth: -1 },
      preserveShortSequences: false,
    },
  },
  StringSplit: {
    inputs: { input: texts("a b", " c"), delimiter: { shape: [], dtype: "string", values: [" "] } },
    attrs: { skipEmpty: true },
  },
  StringToHashBucketFast: { inputs: { input: texts("a", "weft") }, attrs: { numBuckets: 10 } },
  TensorScatterUpdate: {
    inputs: { tensor: f(4, 2), indices: ints([2, 1], [3, 0]), updates: of([2, 2], [5, 6, 7, 8]) },
  },
  Tile: { inputs: { x: f(2, 2) }, attrs: { reps: [2, 3] } },
  TopK: { inputs: { x: f(2, 4) }, attrs: { k: 2, sorted: true } },
  Transform: {
    inputs: { image: f(1, 4, 4, 2), transforms: of([1, 8], [1, 0, 1, 0, 1, 0.5, 0, 0]) },
    attrs: { interpolation: "bilinear", fillMode: "constant", fillValue: 0.5, outputShape: [3, 3] },
  },
  Transpose: { inputs: { x: f(2, 3) }, attrs: { perm: [1, 0] } },
  Unique: { inputs: { x: ints([4], [3, 1, 3, 2]) }, attrs: { axis: 0 } },
  Unpack: { inputs: { value: f(2, 3) }, attrs: { axis: 1 } },
  UnsortedSegmentSum: {
    inputs: { x: f(3, 2), segmentIds: ints([3], [1, 0, 1]) },
    attrs: { numSegments: 3 },
  },
  _FusedMatMul: {
    inputs: { a: f(2, 3), b: f(3, 4), bias: f(4) },
    attrs: { transposeA: false, transposeB: false, activation: "sigmoid" },
  },
};

/** Kernels that TensorFlow.js's CPU backend lacks, or that cannot be compared, with the reason. */
const NOT_COMPARED: Readonly<Record<string, string>> = {
  BroadcastTo: "has no kernel there",
  Dilation2DBackpropFilter: "takes arrays there, not tensors",
  Dilation2DBackpropInput: "takes arrays there, not tensors",
  FromPixels: "needs an image of a page",
  LRNGrad:
    "takes the result too, and needs it to be that of its input; tests/ops checks the gradient",
  LogicalXor: "has no kernel there",
  LogSoftmax: "has no kernel there",
  LowerBound: "has no kernel there",
  MatrixBandPart: "has no kernel there",
  Multinomial: "is random",
  RaggedGather: "takes lists of tensors; tests/ops compares it",
  RaggedRange: "has tests of its own in tests/ops",
  RaggedTensorToTensor: "takes lists of tensors; tests/ops compares it",
  UpperBound: "has no kernel there",
};

let made = 0;
function valuesOf({ shape, dtype, values }: Any): Any {
  if (values !== undefined) return values;
  const size = shape.reduce((a: number, b: number) => a * b, 1);
  const at = (i: number) => Math.abs(Math.sin(12.9898 * (i + 1) + made)) * 0.9 + 0.05;
  return Array.from({ length: size }, (_, i) => dtype === "bool" ? at(i) > 0.5 : at(i));
}

function makeInputs(lib: Any, inputs: Sample["inputs"]): Any {
  made = 0;
  const make = (input: Any): Any => {
    made++;
    if (input.complex) return lib.complex(make(input.complex[0]), make(input.complex[1]));
    return lib.tensor(valuesOf(input), input.shape, input.dtype);
  };
  if (Array.isArray(inputs)) return inputs.map(make);
  return Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, make(input)]));
}

async function results(lib: Any, name: string, { inputs, attrs = {} }: Sample): Promise<Any[]> {
  const out = lib.engine().runKernel(name, makeInputs(lib, inputs), attrs);
  return await Promise.all(
    [out].flat().map(async (t: Any) => ({
      dtype: t.dtype,
      shape: t.shape,
      data: [...await t.data()],
    })),
  );
}

for (const [name, sample] of Object.entries(SAMPLES)) {
  Deno.test(`runKernel("${name}") gives what TensorFlow.js's kernel gives`, async () => {
    await tfjs.setBackend("cpu");
    await tf.setBackend("cpu");
    const wanted = await results(tfjs, name, sample), found = await results(tf, name, sample);
    assertEquals(
      found.map(({ dtype, shape }) => ({ dtype, shape })),
      wanted.map(({ dtype, shape }) => ({ dtype, shape })),
    );
    for (const [i, { data, dtype }] of wanted.entries()) {
      if (dtype === "string") assertEquals(found[i].data, data);
      else tf.test_util.expectArraysClose(found[i].data.map(Number), data.map(Number), 1e-4);
    }
  });
}

Deno.test("every kernel is compared, or there is a reason", () => {
  const all = [...Object.keys(SAMPLES), ...Object.keys(NOT_COMPARED)].sort();
  assertEquals(all, Object.keys(KERNELS).sort());
});

Deno.test("runKernel() runs kernels that a program registers, with their gradients", () => {
  tf.registerKernel({
    kernelName: "Twice",
    backendName: tf.getBackend(),
    kernelFunc: ({ inputs, backend }: Any) => {
      const { x } = inputs;
      const values = backend.readSync(x.dataId).map((v: number) => 2 * v);
      return backend.makeTensorInfo(x.shape, x.dtype, values);
    },
  });
  tf.registerGradient({
    kernelName: "Twice",
    inputsToSave: ["x"],
    gradFunc: (dy: Any, [x]: Any) => ({ x: () => tf.mul(dy, tf.add(x, 10)) }),
  });
  const twice = (x: tf.Tensor) => tf.engine().runKernel("Twice", { x }) as tf.Tensor;
  assertEquals(twice(tf.tensor1d([1, 2])).arraySync(), [2, 4]);
  assertEquals(tf.grad((x: tf.Tensor) => tf.sum(twice(x)))(tf.tensor1d([1, 2])).arraySync(), [
    11,
    12,
  ]);
  tf.unregisterKernel("Twice", tf.getBackend());
  tf.unregisterGradient("Twice");
  assertThrows(() => twice(tf.tensor1d([1])), Error, "not registered");
});
