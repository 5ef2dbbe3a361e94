/**
 * Further problems of random shapes: elements that are moved, windows in three dimensions, what is fused, random numbers,
 * recurrences.
 */

import {
  type AttentionForm,
  AttentionGradientOf,
  AttentionOf,
  type GradientPlace,
  type RowPlace,
} from "../../src/engine/core/attention.ts";
import type { DType, NdArray } from "@weft/weft";
import { lookupOp } from "../../src/engine/core/op.ts";
import { argument, castTo, constant, scalar as s } from "../../src/engine/core/scalar/expr.ts";
import { problemOf, runCpuKernel } from "../../src/library/testing/run_op.ts";
import { fusedReduction, withEpilogue } from "../fusions.ts";
// Recurrences are ops of models of ONNX.
import "../../src/onnx/ops/recurrent/recurrence.ts";
import { filled, number, vector } from "./values.ts";
import { type Draw, NUMBERS, RANDOM_PROBLEMS, type RandomProblem } from "./random_problems.ts";

/** A shape without empty sides. */
function solid(d: Draw, rank: number, elements: number): number[] {
  return d.shape(rank, elements).map((n) => Math.max(1, n));
}

function roll(d: Draw): RandomProblem {
  const shape = solid(d, d.whole(1, 3), 4000), axes = d.axes(shape.length);
  const shifts = axes.map(() => d.whole(-300, 300));
  return { inputs: [d.values(shape, d.pick(NUMBERS)), vector(...shifts), vector(...axes)] };
}

function mirrorPad(d: Draw): RandomProblem {
  const shape = solid(d, d.whole(1, 3), 2000), mode = d.pick(["REFLECT", "SYMMETRIC"]);
  const most = shape.map((n) => Math.min(5, mode === "REFLECT" ? n - 1 : n));
  const widths = most.flatMap((n) => [d.whole(0, n), d.whole(0, n)]);
  return {
    inputs: [
      d.values(shape, d.pick(NUMBERS)),
      filled("int32", [shape.length, 2], (i) => widths[i]),
    ],
    attrs: { mode },
  };
}

function stridedSlice(d: Draw): RandomProblem {
  const shape = solid(d, d.whole(1, 4), 6000),
    cuts = shape.map((n) => {
      const begin = d.whole(0, n - 1), step = d.whole(1, 3);
      if (d.coin()) return [begin, d.whole(begin, n), step];
      const end = d.whole(-1, begin);
      // Before the first element: -1 would be the last.
      return [begin, end < 0 ? -n - 1 : end, -step];
    });
  const part = (i: number): NdArray => vector(...cuts.map((cut) => cut[i]));
  return { inputs: [d.values(shape, d.pick(NUMBERS)), part(0), part(1), part(2)] };
}

function stridedSliceGrad(d: Draw): RandomProblem {
  const { inputs } = stridedSlice(d), [x, ...cuts] = inputs;
  const [{ shape }] = problemOf(lookupOp("StridedSlice")!, inputs, {}).outputs;
  return { inputs: [vector(...x.shape), ...cuts, d.values(shape as number[])] };
}

function pack(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(0, 3), 600), dtype = d.pick(NUMBERS);
  return {
    inputs: Array.from({ length: d.whole(1, 9) }, () => d.values(shape, dtype)),
    attrs: { axis: d.whole(-1, shape.length) },
  };
}

function unpack(d: Draw): RandomProblem {
  const shape = d.shape(d.whole(1, 3), 600), axis = d.whole(0, shape.length - 1);
  const num = shape[axis] = d.whole(1, 9);
  return { inputs: [d.values(shape, d.pick(NUMBERS))], attrs: { axis, num } };
}

function splitV(d: Draw): RandomProblem {
  const sizes = Array.from({ length: d.whole(1, 9) }, () => d.side(33, 0));
  const shape = d.shape(d.whole(1, 3), 300), axis = d.whole(0, shape.length - 1);
  shape[axis] = sizes.reduce((a, b) => a + b, 0);
  return {
    inputs: [d.values(shape, d.pick(NUMBERS)), vector(...sizes), number(axis)],
    attrs: { num_split: sizes.length },
  };
}

/** Updates are whole numbers, whose sums do not depend on the order. */
function gatherGrad(d: Draw): RandomProblem {
  const shape = solid(d, d.whole(1, 3), 2000), axis = d.whole(0, shape.length - 1);
  const count = d.side(65);
  const dy = filled("float32", shape.with(axis, count), () => d.whole(-9, 9));
  return { inputs: [dy, d.ints([count], 0, shape[axis] - 1), vector(...shape), number(axis)] };
}

function weightedCounts(d: Draw): RandomProblem {
  const size = d.whole(1, 200), shape = d.coin() ? [d.side(300)] : [d.side(9), d.side(65)];
  const weights = filled("float32", d.coin() ? shape : [0], () => d.whole(0, 9));
  return { inputs: [d.ints(shape, 0, size + 5), number(size), weights] };
}

/** Volumes and a window that has at least one place in them. */
function volumes(d: Draw, channels: number): {
  readonly x: number[];
  readonly filter: number[];
  readonly out: number[];
  readonly attrs: { readonly strides: number[]; readonly padding: string };
} {
  const filter = [d.whole(1, 3), d.whole(1, 3), d.whole(1, 3)], step = d.whole(1, 2);
  const sides = filter.map((f) => f - 1 + d.side(5)), padding = d.pick(["SAME", "VALID"]);
  return {
    x: [d.whole(1, 2), ...sides, channels],
    filter,
    out: sides.map((n, i) => Math.ceil((padding === "SAME" ? n : n - filter[i] + 1) / step)),
    attrs: { strides: [1, step, step, step, 1], padding },
  };
}

function conv3dInput(d: Draw): RandomProblem {
  const channels = d.side(9), made = d.side(9), { x, filter, out, attrs } = volumes(d, channels);
  const dy = d.values([x[0], ...out, made]);
  return { inputs: [vector(...x), d.values([...filter, channels, made]), dy], attrs };
}

function conv3dFilter(d: Draw): RandomProblem {
  const channels = d.side(9), made = d.side(9), { x, filter, out, attrs } = volumes(d, channels);
  const dy = d.values([x[0], ...out, made]);
  return { inputs: [d.values(x), vector(...filter, channels, made), dy], attrs };
}

function pool3d(d: Draw): RandomProblem {
  const { x, filter, attrs } = volumes(d, d.side(9));
  return { inputs: [d.values(x)], attrs: { ...attrs, ksize: [1, ...filter, 1] } };
}

function avgPool3dGrad(d: Draw): RandomProblem {
  const { x, filter, out, attrs } = volumes(d, d.side(9));
  return {
    inputs: [vector(...x), d.values([x[0], ...out, x[4]])],
    attrs: { ...attrs, ksize: [1, ...filter, 1] },
  };
}

/** The input and result of a pool whose numbers are distinct, and a gradient of the one or the other. */
function maxPool3dGrad(d: Draw, of: "output" | "input"): RandomProblem {
  const { x: shape, filter, attrs: window } = volumes(d, d.side(9)), start = d.whole(1, 7000);
  const x = filled("float32", shape, (i) => ((i + start) * 4243 % 7919) / 64);
  const attrs = { ...window, ksize: [1, ...filter, 1] }, def = lookupOp("MaxPool3D")!;
  const [y] = runCpuKernel(def, [x], problemOf(def, [x], attrs));
  const dy = filled("float32", of === "output" ? y.shape : shape, () => d.whole(-9, 9));
  return { inputs: [x, y, dy], attrs };
}

/** A product of two arrays, reduced. */
function reductionOfProducts(op: string): (d: Draw) => RandomProblem {
  return (d) => {
    const { inputs: [x, axes], attrs } = RANDOM_PROBLEMS[op](d);
    const operands = [d.values(x.shape), d.values(x.shape)];
    const expr = s.mul(argument(0), argument(1));
    return { ...fusedReduction({ operands, expr, axes }, attrs), absolute: 2e-4 };
  };
}

/** A product of few rows that it normalizes. */
function normMatMul(d: Draw): RandomProblem {
  const transpose_b = d.coin(), rows = d.pick([[d.whole(1, 4)], [1, d.whole(1, 2)], [2, 1, 2]]);
  const k = d.pick([d.side(70), 4 * d.side(40)]), n = d.pick([d.side(70), 4 * d.side(40)]);
  const shape = transpose_b ? [n, k] : [k, n];
  return {
    inputs: [[...rows, k], [k], [k], shape].map((s, i) =>
      d.values(s, i === 3 && d.coin() ? "float16" : "float32")
    ),
    attrs: { transpose_b, epsilon: 0.01 },
    absolute: 1e-4,
  };
}

/** A product of float32 and float16. */
function halfMatMul(d: Draw): RandomProblem {
  const { inputs: [a, b], attrs } = floating("BatchMatMulV2", d), { shape, data } = b;
  return { inputs: [a, filled("float16", shape, (i) => Number(data[i]))], attrs, absolute: 1e-4 };
}

/** A problem of `op` in floats, with what its result's shape is. */
function floating(op: string, d: Draw): Required<RandomProblem> & { out: readonly number[] } {
  const make = RANDOM_PROBLEMS[op] ?? MOVED_RANDOM_PROBLEMS[op];
  const { inputs, attrs = {}, absolute = 0 } = make(d);
  const floats = inputs.map((a) =>
    a.dtype === "float32" ? a : filled("float32", a.shape, (i) => Number(a.data[i]) / 50)
  );
  const [{ shape: out }] = problemOf(lookupOp(op)!, floats, attrs).outputs;
  return { inputs: floats, attrs, out, absolute: Math.max(1e-5, absolute) };
}

/** Products with a bias and a residual added, what is below 0 cut off, and a whole number for each column where a mask says so. */
function epilogue(op: string): (d: Draw) => RandomProblem {
  return (d) => {
    const { inputs, attrs, out, absolute } = floating(op, d);
    const [sum, bias, residual, mask, whole] = [0, 1, 2, 3, 4].map(argument);
    const rest = s.max(s.add(s.add(sum, bias), residual), 0);
    const expr = s.select(mask, castTo(whole, "float32"), rest);
    const columns = [out.at(-1)!];
    const further = [
      d.values(columns),
      d.values(out),
      filled("bool", out, () => Number(d.coin())),
      filled("int32", columns, (i) => i % 5 - 2),
    ];
    return {
      inputs: [...inputs, ...further],
      attrs: withEpilogue(
        attrs,
        expr,
        ["column", "element", "element", "column"],
        further.map((x) => x.dtype),
        inputs.length,
      ),
      absolute,
    };
  };
}

/** The same as TensorFlow's fused ops say it. */
function fusedOps(op: string): (d: Draw) => RandomProblem {
  return (d) => {
    const { inputs, attrs, out, absolute } = floating(op, d);
    const fused_ops = ["BiasAdd", ...d.coin() ? [d.pick(["Relu", "Elu", "LeakyRelu"])] : []];
    return {
      inputs: [...inputs, d.values([out.at(-1)!])],
      attrs: { ...attrs, num_args: 1, fused_ops },
      absolute,
    };
  };
}

function drawn(dtype: DType, ...bounds: number[]): (d: Draw) => RandomProblem {
  return (d) => ({
    inputs: [
      vector(...d.shape(d.whole(0, 3), 5000)),
      vector(d.whole(0, 2 ** 31 - 1), d.whole(0, 2 ** 31 - 1)),
      ...bounds.map(number),
    ],
    attrs: { dtype },
    // Normal numbers go through a logarithm and a cosine.
    absolute: 1e-5,
  });
}

function recurrence(d: Draw): RandomProblem {
  const cell = d.pick(["lstm", "gru", "gru after", "tanh", "relu", "sigmoid"]);
  const gates = cell === "lstm" ? 4 : cell.startsWith("gru") ? 3 : 1, units = d.side(33);
  const states = cell === "lstm" ? 2 : 1, biases = cell === "gru after" ? 1 : 0;
  const batch = d.whole(1, 5), width = gates * units;
  return {
    inputs: [
      d.values([d.whole(1, 4), batch, width]),
      d.values([width, units]),
      ...Array.from({ length: states }, () => d.values([batch, units])),
      ...biases > 0 ? [d.values([units])] : [],
    ],
    attrs: { cell, states, biases, reverse: d.coin() },
    absolute: 1e-5,
  };
}

function attention(d: Draw): RandomProblem {
  const causal = d.coin(), m = d.side(65), n = causal ? Math.min(m, d.side(65)) : d.side(65);
  const batch = d.whole(1, 2), heads = d.whole(1, 2), depth = d.side(65);
  const of = (time: number): NdArray => d.values([batch, time, heads, depth]);
  return { inputs: [of(n), of(m), of(m)], attrs: { scale: 0.5, causal }, absolute: 1e-5 };
}

/** Queries, keys and values that are parts of one array, with a mask to add and one to choose by. */
function fusedAttention(d: Draw): RandomProblem {
  const [batch, heads, n, m] = [d.whole(1, 2), d.whole(1, 3), d.side(40), d.side(65)];
  const depth = 4 * d.whole(1, 8), step = heads * depth, time = Math.max(n, m), row = 3 * step;
  const part = (i: number): RowPlace => ({ base: i * step, outer: [0, time * row, depth], row });
  const chosen = s.select(argument(2), s.add(argument(0), argument(1)), constant(-1e9));
  const form: AttentionForm = {
    ...{ outer: [1, batch, heads], queries: n, keys: m, depth, scale: 0.5, causal: false },
    ...{ query: part(0), key: part(1), value: part(2) },
    result: { base: 0, outer: [0, heads * n * depth, n * depth], row: depth },
    masks: [
      { base: 0, outer: [0, 0, 0], row: m, column: 1 },
      { base: 0, outer: [0, m, 0], row: 0, column: 1 },
    ],
    scores: d.coin() ? chosen : s.add(argument(0), s.tanh(argument(1))),
    weights: d.coin() ? null : s.mul(argument(0), constant(1.5)),
  };
  const x = d.values([batch, time, row]), keeps = d.coin();
  return {
    inputs: [x, x, x, d.values([n, m]), d.values([batch, 1, 1, m], "bool")],
    attrs: {
      Tmasks: ["float32", "bool"],
      Tsums: keeps ? ["float32"] : [],
      form: new AttentionOf(form, [batch, heads, n, depth], keeps),
    },
    absolute: 1e-5,
  };
}

/** The gradient of an attention whose heads share keys, with a mask to add and one to choose by. */
function fusedAttentionGradient(d: Draw): RandomProblem {
  const causal = d.coin(), [batch, groups, each] = [d.whole(1, 2), d.whole(1, 2), d.whole(1, 3)];
  const m = d.side(40),
    n = causal ? Math.min(m, d.side(40)) : d.side(40),
    depth = 4 * d.whole(1, 8);
  const heads = groups * each, step = heads * depth, few = groups * depth;
  const place = (outer: number[], row: number): RowPlace => ({ base: 0, outer, row });
  const chosen = s.select(argument(2), s.add(argument(0), argument(1)), constant(-1e9));
  const cap = s.tanh(argument(0)), sloped = s.mul(argument(3), s.sub(1, s.mul(cap, cap)));
  const isCapped = d.coin(), factor = constant(1.5), isWeighted = d.coin();
  const query = place([n * step, each * depth, depth], step), key = place([m * few, depth, 0], few);
  const attention: AttentionForm = {
    ...{ outer: [batch, groups, each], queries: n, keys: m, depth, scale: 0.5, causal },
    ...{ query, key, value: key, result: query },
    masks: [
      { base: 0, outer: [0, 0, 0], row: m, column: 1 },
      { base: 0, outer: [m, 0, 0], row: 0, column: 1 },
    ],
    scores: isCapped ? s.add(cap, argument(1)) : chosen,
    weights: isWeighted ? s.mul(argument(0), factor) : null,
  };
  const ofQuery: GradientPlace = { of: "query", place: query, shape: [batch, n, heads, depth] };
  const ofKey: GradientPlace = { of: "key", place: key, shape: [batch, m, groups, depth] };
  const own = place([heads * m * depth, each * m * depth, m * depth], depth);
  const ofValue: GradientPlace = d.coin()
    ? { ...ofKey, of: "value" }
    : { of: "value", place: own, shape: [batch, heads, m, depth] };
  const wanted = d.pick([[ofQuery, ofKey, ofValue], [ofKey, ofValue], [ofQuery], [ofValue], [
    ofKey,
  ]]);
  const q = d.values([batch, n, heads, depth]), kv = d.values([batch, m, groups, depth]);
  const masks = [d.values([n, m]), d.values([batch, 1, 1, m], "bool")],
    Tmasks = ["float32", "bool"];
  // The forward op makes what the gradient reads.
  const forward = lookupOp("_FusedAttention")!, inputs = [q, kv, kv, ...masks];
  const form = new AttentionOf(attention, q.shape, true);
  const kept = runCpuKernel(
    forward,
    inputs,
    problemOf(forward, inputs, { T: "float32", Tmasks, Tsums: ["float32"], form }),
  );
  return {
    inputs: [q, kv, kv, d.values(q.shape), ...kept, ...masks],
    attrs: {
      Tmasks,
      Tout: wanted.map(() => "float32"),
      form: new AttentionGradientOf({
        ...{ attention, gradient: query, wanted, factors: { query: 0.5, key: 0.5 } },
        spread: isWeighted ? s.mul(argument(0), factor) : null,
        slope: isCapped ? sloped : s.select(argument(2), argument(3), constant(0)),
      }),
    },
    absolute: 1e-5,
  };
}

/** By op. */
export const MOVED_RANDOM_PROBLEMS: Readonly<Record<string, (d: Draw) => RandomProblem>> = {
  _Recurrence: recurrence,
  _Attention: attention,
  _FusedAttention: fusedAttention,
  _FusedAttentionGrad: fusedAttentionGradient,
  Roll: roll,
  MirrorPad: mirrorPad,
  StridedSlice: stridedSlice,
  StridedSliceGrad: stridedSliceGrad,
  Pack: pack,
  Unpack: unpack,
  SplitV: splitV,
  GatherGrad: gatherGrad,
  DenseBincount: weightedCounts,
  Conv3DBackpropInputV2: conv3dInput,
  Conv3DBackpropFilterV2: conv3dFilter,
  MaxPool3D: pool3d,
  AvgPool3D: pool3d,
  AvgPool3DGrad: avgPool3dGrad,
  MaxPool3DGrad: (d) => maxPool3dGrad(d, "output"),
  MaxPool3DGradGrad: (d) => maxPool3dGrad(d, "input"),
  "Sum of products": reductionOfProducts("Sum"),
  "Max of products": reductionOfProducts("Max"),
  StatelessRandomUniform: drawn("float32"),
  StatelessRandomNormal: drawn("float32"),
  StatelessTruncatedNormal: drawn("float32"),
  StatelessRandomUniformFullInt: drawn("int32"),
  StatelessRandomUniformInt: drawn("int32", -5, 70000),
  _HalfMatMul: halfMatMul,
  _NormMatMul: normMatMul,
  "_NormMatMul with an epilogue": epilogue("_NormMatMul"),
  "MatMul with an epilogue": epilogue("MatMul"),
  "BatchMatMulV2 with an epilogue": epilogue("BatchMatMulV2"),
  "Conv2D with an epilogue": epilogue("Conv2D"),
  "DepthwiseConv2dNative with an epilogue": epilogue("DepthwiseConv2dNative"),
  _FusedMatMul: fusedOps("MatMul"),
  _FusedConv2D: fusedOps("Conv2D"),
  _FusedDepthwiseConv2dNative: fusedOps("DepthwiseConv2dNative"),
};
