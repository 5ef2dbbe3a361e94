/** More problems of random shapes: gradients, images, whole rows, optimizers, and the ops that plans make of others. */

import { NdArray } from "@weft/weft";
import { lookupOp } from "../../src/engine/core/op.ts";
import { argument, type Expr, scalar as s } from "../../src/engine/core/scalar/expr.ts";
import { problemOf, runCpuKernel } from "../../src/library/testing/run_op.ts";
import { filled, number, vector } from "./values.ts";
import { broadcastOf, type Draw, NUMBERS, type RandomProblem, window } from "./random_problems.ts";

const float = (n: number): string[] => new Array<string>(n).fill("float32");
const arg = (n: number): Expr[] => Array.from({ length: n }, (_, i) => argument(i));
const solid = (shape: readonly number[]): number[] => shape.map((n) => Math.max(1, n));

function cast(d: Draw): RandomProblem {
  const from = d.pick([...NUMBERS, "bool"] as const);
  return {
    inputs: [d.values(d.shape(d.whole(0, 4), 5000), from)],
    attrs: { SrcT: from, DstT: d.pick([...NUMBERS, "bool"]) },
  };
}

function fill(d: Draw): RandomProblem {
  return { inputs: [vector(...d.shape(d.whole(0, 4), 5000)), d.values([], d.pick(NUMBERS))] };
}

function oneHot(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 2), 300), depth = d.side(33);
  const axis = d.whole(-1, shape.length);
  const [on, off] = [d.values([]), d.values([])];
  return {
    inputs: [d.ints(shape, -1, depth), number(depth), on, off],
    attrs: { axis, TI: "int32" },
  };
}

function ramp(d: Draw): RandomProblem {
  const step = d.whole(1, 5) * (d.coin() ? 1 : -1), start = d.whole(-50, 50);
  return { inputs: [number(start), number(start + step * d.side(600, 0)), number(step)] };
}

function linearScan(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 4000), axis = d.whole(0, shape.length - 1);
  return {
    inputs: [d.values(shape), d.values(shape), number(axis)],
    attrs: { reverse: d.coin(), shift: d.coin() },
  };
}

function shift(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 4000), axis = d.whole(0, shape.length - 1);
  return { inputs: [d.values(shape), number(axis)], attrs: { by: d.whole(-3, 3) } };
}

function rowsGrad(d: Draw): RandomProblem {
  const shape = [...d.shape(d.whole(1, 2), 40), d.side(600)];
  return { inputs: [d.values(shape), d.values(shape)] };
}

function layerNorm(d: Draw): RandomProblem {
  const n = d.side(600), shape = [...solid(d.shape(d.whole(1, 2), 40)), n];
  return {
    inputs: [d.values(shape), d.values([n]), d.values([n])],
    attrs: { epsilon: 0.01 },
    absolute: 1e-5,
  };
}

function layerNormGrad(d: Draw): RandomProblem {
  const n = d.side(600), shape = [...solid(d.shape(d.whole(1, 2), 40)), n];
  return {
    inputs: [d.values(shape), d.values(shape), d.values([n])],
    attrs: { epsilon: 0.01 },
    absolute: 1e-4,
  };
}

function crossEntropy(d: Draw): RandomProblem {
  const shape = [d.side(40), d.side(600)];
  return { inputs: [d.values(shape), d.values(shape)], absolute: 1e-4 };
}

function sparseCrossEntropy(d: Draw): RandomProblem {
  const rows = d.side(40), classes = d.side(600);
  const labels = d.ints([rows], 0, classes - 1);
  return { inputs: [d.values([rows, classes]), labels], absolute: 1e-5 };
}

function levelsProduct(d: Draw): RandomProblem {
  const bits = d.pick([2, 4, 8]),
    block = d.pick([16, 32, 64]),
    inner = d.side(200),
    // Of many rows an invocation takes four.
    rows = d.pick([d.side(65), 2048 + d.side(3)]);
  const blocks = Math.ceil(inner / block), words = [rows, blocks, block * bits / 32];
  const size = words.reduce((a, b) => a * b, 1);
  const levels = new NdArray(
    "int32",
    words,
    Int32Array.from({ length: size }, () => d.whole(-(2 ** 31), 2 ** 31 - 1)),
  );
  const zeros = d.coin() ? d.values([rows, blocks], "float32") : d.values([], "float32");
  return {
    inputs: [d.values([d.side(12), inner]), levels, d.values([rows, blocks], "float32"), zeros],
    attrs: { bits, block, inner },
    absolute: 0.02,
  };
}

function conv3d(d: Draw): RandomProblem {
  const [channels, step] = [d.side(5), d.whole(1, 2)];
  const filter = [d.whole(1, 3), d.whole(1, 3), d.whole(1, 3)];
  const x = [1, ...filter.map((f) => f - 1 + d.side(5)), channels];
  return {
    inputs: [d.values(x), d.values([...filter, channels, d.side(9)])],
    attrs: { strides: [1, step, step, step, 1], padding: d.pick(["SAME", "VALID"]) },
  };
}

function depthwiseInput(d: Draw): RandomProblem {
  const channels = d.side(9), per = d.whole(1, 3);
  const { x, filter, out, attrs } = window(d, channels);
  const dy = d.values([x[0], ...out, channels * per]);
  return { inputs: [vector(...x), d.values([...filter, channels, per]), dy], attrs };
}

function depthwiseFilter(d: Draw): RandomProblem {
  const channels = d.side(9), per = d.whole(1, 3);
  const { x, filter, out, attrs } = window(d, channels);
  const dy = d.values([x[0], ...out, channels * per]);
  return { inputs: [d.values(x), vector(...filter, channels, per), dy], attrs };
}

/** Distinct numbers: no maximum is met twice. */
function distinct(shape: readonly number[], d: Draw): NdArray {
  const prime = d.pick([7919, 7907, 7901]), start = d.whole(1, 7000);
  return filled("float32", shape, (i) => ((i + start) * 4243 % prime) / 64);
}

function dilation(d: Draw, gradient = false): RandomProblem {
  const channels = d.side(5), { x, filter, out, attrs } = window(d, channels);
  const { strides, dilations: rates, padding } = attrs;
  const inputs = [distinct(x, d), filled("float32", [...filter, channels], (i) => i % 3 / 999)];
  const dy = filled("float32", [x[0], ...out, channels], () => d.whole(-9, 9));
  return { inputs: gradient ? [...inputs, dy] : inputs, attrs: { strides, rates, padding } };
}

function pooled(d: Draw): { x: NdArray; y: NdArray; attrs: Record<string, unknown> } {
  const { x: shape, filter, attrs: { strides, padding } } = window(d, d.side(9), {
    dilates: false,
  });
  const attrs = { ksize: [1, ...filter, 1], strides, padding }, x = distinct(shape, d);
  const def = lookupOp("MaxPool")!;
  return { x, y: runCpuKernel(def, [x], problemOf(def, [x], attrs))[0], attrs };
}

function maxPoolGrad(d: Draw): RandomProblem {
  const { x, y, attrs } = pooled(d);
  return { inputs: [x, y, filled("float32", y.shape, () => d.whole(-9, 9))], attrs };
}

function maxPoolGradGrad(d: Draw): RandomProblem {
  const { x, y, attrs } = pooled(d);
  return { inputs: [x, y, d.values(x.shape)], attrs };
}

function maxPoolArgmax(d: Draw): RandomProblem {
  const { x, attrs } = pooled(d);
  return { inputs: [x], attrs: { ...attrs, Targmax: "int32", include_batch_in_index: d.coin() } };
}

function resize(d: Draw, back = false): RandomProblem {
  const align = d.coin(), x = [d.whole(1, 2), d.side(17), d.side(17), d.side(9)];
  const size = back ? [d.side(17), d.side(17)] : [d.side(33), d.side(33)];
  return {
    inputs: [d.values(x), vector(...size)],
    attrs: {
      ...back ? { T: "float32" } : {},
      align_corners: align,
      half_pixel_centers: !align && d.coin(),
    },
    absolute: back ? 1e-4 : 1e-5,
  };
}

function windowSum(d: Draw): RandomProblem {
  const shape = [...d.shape(d.whole(1, 2), 40), d.side(300)];
  return { inputs: [d.values(shape)], attrs: { radius: d.whole(0, 7) }, absolute: 1e-5 };
}

function boxes(count: number): NdArray {
  // Corners in eighths: places fall on pixels or well between them.
  return filled("float32", [count, 4], (i) => ((i * 5 + (i >> 2)) % 9) / 8);
}

function crop(d: Draw): RandomProblem {
  const x = [d.whole(1, 3), 1 + 8 * d.whole(1, 2), 1 + 8 * d.whole(1, 2), d.side(9)];
  const count = d.whole(1, 5), which = d.ints([count], 0, x[0] - 1);
  const size = vector(d.pick([1, 2, 3, 5, 9]), d.pick([1, 2, 3, 5, 9]));
  return { inputs: [d.values(x), boxes(count), which, size], absolute: 1e-4 };
}

function cropGrad(d: Draw): RandomProblem {
  const { inputs: [x, places, which, size] } = crop(d);
  const [h, w] = size.toArray() as number[];
  const dy = d.values([places.shape[0], h, w, x.shape[3]]);
  return {
    inputs: [dy, places, which, vector(...x.shape)],
    attrs: { T: "float32" },
    absolute: 1e-4,
  };
}

function rotate(d: Draw): RandomProblem {
  const x = [d.whole(1, 2), d.side(17), d.side(17), d.side(9)];
  // Quarter turns would fall on edges, where roundings decide.
  return {
    inputs: [d.values(x)],
    attrs: { radians: d.pick([0.7, -2, 1.1]), fill_value: [d.whole(0, 4)], center: [0.5, 0.25] },
  };
}

function warp(d: Draw): RandomProblem {
  const n = d.whole(1, 2), x = [n, d.side(17), d.side(17), d.side(5)];
  const numbers = [1, 0.25, d.whole(-3, 3), -0.25, 1, d.whole(-3, 3), 0, 0];
  return {
    inputs: [
      d.values(x),
      filled("float32", [1, 8], (i) => numbers[i]),
      vector(d.side(17), d.side(17)),
      filled("float32", [], () => 0.5),
    ],
    attrs: { interpolation: "BILINEAR" },
    absolute: 1e-4,
  };
}

function bandPart(d: Draw): RandomProblem {
  const [rows, columns] = [d.side(40), d.side(40)];
  const shape = [...d.shape(d.whole(0, 1), 4), rows, columns];
  const [lower, upper] = [d.whole(-1, rows), d.whole(-1, columns)];
  return { inputs: [d.values(shape, d.pick(NUMBERS)), number(lower), number(upper)] };
}

function pick(d: Draw): RandomProblem {
  const rows = d.shape(d.whole(0, 2), 60), n = d.side(129);
  return { inputs: [d.values([...rows, n]), d.ints([...rows, d.side(33)], 0, n - 1)] };
}

function place(d: Draw): RandomProblem {
  const rows = d.side(33), n = d.side(129), k = d.whole(1, n);
  const start = d.whole(0, n - 1);
  // No place twice: what stands there then is anyone's guess.
  const at = filled("int32", [rows, k], (i) => (start + i % k) % n);
  return { inputs: [at, d.values([rows, k]), number(n)] };
}

function write(d: Draw): RandomProblem {
  const rows = d.side(65), columns = d.side(70), count = d.whole(1, rows), start = d.whole(0, rows);
  const at = filled("int32", [count, 1], (i) => (start + i) % rows);
  return { inputs: [d.values([rows, columns]), at, d.values([count, columns])] };
}

/** Slots of an optimizer around `low`, and rates. */
function slot(d: Draw, shape: readonly number[], low: number): NdArray {
  return filled("float32", shape, () => low + d.whole(0, 64) / 64);
}

function rate(value: number): NdArray {
  return filled("float32", [], () => value);
}

function momentum(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 3), 3000);
  return {
    inputs: [slot(d, shape, -1), slot(d, shape, -1), rate(0.01), slot(d, shape, -0.5)],
    attrs: { momentum: 0.9, use_nesterov: d.coin() },
  };
}

function adam(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 3), 3000), make = (low: number) => slot(d, shape, low);
  return {
    inputs: [make(-1), make(-0.5), make(1), rate(0.01), rate(1.5), make(-0.5)],
    attrs: { beta1: 0.9, beta2: 0.99, epsilon: 0.001 },
  };
}

/** The mean of squares stays far above the square of the mean. */
function centered(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 3), 3000), make = (low: number) => slot(d, shape, low);
  return {
    inputs: [make(-1), make(0), make(4), make(-1), rate(0.01), make(-0.5)],
    attrs: { rho: 0.9, momentum: 0.5, epsilon: 0.001 },
  };
}

function fusedPointwise(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 4), 5000), [a, b, c] = arg(3);
  const exprs = [s.select(s.gt(c, 0), s.mul(a, b), s.sub(a, b))];
  if (d.coin()) exprs.push(s.max(a, c));
  const broadcast = (): NdArray => d.values(exprs.length > 1 ? shape : broadcastOf(shape, d));
  return {
    inputs: [d.values(shape), broadcast(), broadcast()],
    attrs: { exprs, Tin: float(3), Tout: float(exprs.length) },
  };
}

function groupedUpdate(d: Draw): RandomProblem {
  const [rate, v, m, g] = arg(4), next = s.add(s.mul(m, 0.5), g);
  const sizes = Array.from({ length: d.whole(1, 9) }, () => d.side(257));
  const arrays = sizes.flatMap((n) => [0, 1, 2].map(() => d.values([n])));
  return {
    inputs: [d.values([]), ...arrays],
    attrs: {
      exprs: [s.sub(v, s.mul(rate, next)), next],
      scalars: 1,
      arrays: 3,
      Tin: float(1 + arrays.length),
      Tout: float(2 * sizes.length),
    },
  };
}

function groupedSum(d: Draw): RandomProblem {
  const shapes = Array.from({ length: d.whole(1, 6) }, () => [d.side(300), d.side(65)]);
  return {
    inputs: shapes.map((shape) => d.values(shape)),
    attrs: { shapes: shapes.map((shape) => shape.slice(1)), scales: shapes.map(() => 0.5) },
    absolute: 1e-5,
  };
}

/** By op, and perhaps what is fused to it. */
export const MORE_RANDOM_PROBLEMS: Readonly<Record<string, (d: Draw) => RandomProblem>> = {
  Cast: cast,
  Fill: fill,
  OneHot: oneHot,
  Range: ramp,
  _LinearScan: linearScan,
  _Shift: shift,
  _SoftmaxGrad: rowsGrad,
  _LogSoftmaxGrad: rowsGrad,
  _LayerNorm: layerNorm,
  _LayerNormGrad: layerNormGrad,
  SoftmaxCrossEntropyWithLogits: crossEntropy,
  SparseSoftmaxCrossEntropyWithLogits: sparseCrossEntropy,
  _QuantizedMatMul: levelsProduct,
  Conv3D: conv3d,
  DepthwiseConv2dNativeBackpropInput: depthwiseInput,
  DepthwiseConv2dNativeBackpropFilter: depthwiseFilter,
  Dilation2D: (d) => dilation(d),
  Dilation2DBackpropInput: (d) => dilation(d, true),
  Dilation2DBackpropFilter: (d) => dilation(d, true),
  MaxPoolGrad: maxPoolGrad,
  MaxPoolGradGrad: maxPoolGradGrad,
  MaxPoolWithArgmax: maxPoolArgmax,
  ResizeBilinear: (d) => resize(d),
  ResizeNearestNeighbor: (d) => resize(d),
  ResizeBilinearBack: (d) => resize(d, true),
  ResizeNearestNeighborGrad: (d) => resize(d, true),
  _WindowSum: windowSum,
  CropAndResize: crop,
  CropAndResizeGradImage: cropGrad,
  RotateWithOffset: rotate,
  ImageProjectiveTransformV3: warp,
  MatrixBandPart: bandPart,
  _Pick: pick,
  _Place: place,
  TensorScatterUpdate: write,
  _ApplyMomentum: momentum,
  _ApplyAdam: adam,
  _ApplyCenteredRMSProp: centered,
  _FusedPointwise: fusedPointwise,
  _GroupedUpdate: groupedUpdate,
  _GroupedColumnSum: groupedSum,
};

/** Variants that no problem of random shape is for, each with the reason. */
export const WITHOUT_RANDOM_PROBLEMS: Readonly<Record<string, string>> = {
  onto: "changes rows where they are: tests/train/embedding_test.ts holds every dtype to the host",
  scan: "random choices, which a rounding may change: tests/ops/random_test.ts draws them",
};
