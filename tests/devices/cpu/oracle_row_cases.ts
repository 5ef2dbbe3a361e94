/** Kernels of the CPU device, each with random cases and what they should give: reductions, rows, broadcasts. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { ints } from "./kernel_runs.ts";
import { broadcast, type Case, type Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";
import { eachIndex, type Expected, exponentials, placeOf, rows, Sums } from "./oracles.ts";

const numbers = (x: NdArray): ArrayLike<number> => x.data as Float32Array;

/** NaN is handed on, by both. */
const FOLDS: Readonly<Record<string, (a: number, b: number) => number>> = {
  Max: Math.max,
  Min: Math.min,
  Prod: (a, b) => a * b,
};
const STARTS: Readonly<Record<string, number>> = { Max: -Infinity, Min: Infinity, Prod: 1 };

/** Small extents; now and then one that is longer than runs, strips and blocks of lanes are. */
function reducedShape(dice: Dice): number[] {
  const shape = dice.anyShape(dice.between(0, 4), 60);
  if (shape.length > 2 && dice.chance(0.4)) {
    shape[dice.between(0, shape.length - 1)] = dice.between(7, 70);
  }
  return shape;
}

function reduction(kind: "Sum" | "Mean" | "Prod" | "Max" | "Min", dtype: "float32" | "int32") {
  return (dice: Dice): Case => {
    const shape = reducedShape(dice);
    const axes = shape.map((_, d) => d).filter(() => dice.chance(0.5));
    const x = dtype === "int32"
      ? dice.integers(shape)
      : dice.floats(shape, kind === "Prod" ? 3 : 1);
    const kept = shape.map((n, d) => (axes.includes(d) ? 1 : n));
    const sums = new Sums(sizeOf(kept)), values = sums.values;
    if (kind in STARTS) values.fill(STARTS[kind]);
    eachIndex(shape, (index, at) => {
      const to = placeOf(index, kept), v = numbers(x)[at];
      if (kind === "Sum" || kind === "Mean") sums.add(to, v);
      else if (kind === "Prod" && dtype === "int32") values[to] = Math.imul(values[to], v);
      else values[to] = FOLDS[kind](values[to], v);
    });
    const inputs = [x, ints(...axes)];
    if (dtype === "int32") {
      const nothing = kind === "Max" ? -2147483648 : 2147483647;
      return {
        inputs,
        outputs: [{ values: values.map((v) => (Math.abs(v) === Infinity ? nothing : v | 0)) }],
      };
    }
    const count = sizeOf(shape) / sizeOf(kept);
    if (kind === "Mean") {
      values.forEach((v, i) => values[i] = v / count);
      sums.scale.forEach((v, i) => sums.scale[i] = v / count);
    }
    const scale = kind === "Prod" ? values.map((v) => 4 * Math.abs(v) + 2 ** -125) : sums.scale;
    return { inputs, outputs: [{ values, scale }] };
  };
}

/** Sums are as large as their elements make them on the way; products are in float64. */
function scan(op: "sum" | "prod", dtype: "float32" | "int32") {
  return (dice: Dice): Case => {
    const shape = [...reducedShape(dice)], isSum = op === "sum";
    if (shape.length === 0) shape.push(dice.extent(40));
    const axis = dice.between(0, shape.length - 1), length = shape[axis];
    const exclusive = dice.chance(0.5), reverse = dice.chance(0.5);
    const x = dtype === "int32" ? dice.integers(shape) : dice.floats(shape, isSum ? 1 : 3);
    const inner = sizeOf(shape.slice(axis + 1));
    const values = new Float64Array(x.size), scale = new Float64Array(x.size);
    eachIndex(shape, (index, at) => {
      if (index[axis] > 0) return;
      let a = isSum ? 0 : 1, s = 0;
      for (let l = 0; l < length; l++) {
        const p = at + (reverse ? length - 1 - l : l) * inner, v = numbers(x)[p];
        if (exclusive) [values[p], scale[p]] = [a, s];
        a = dtype === "int32" ? (isSum ? (a + v) | 0 : Math.imul(a, v)) : isSum ? a + v : a * v;
        s = isSum ? s + Math.abs(v) : 4 * Math.abs(a) + 2 ** -125;
        if (!exclusive) [values[p], scale[p]] = [a, s];
      }
    });
    const outputs = [dtype === "int32" ? { values } : { values, scale }];
    return {
      inputs: [x, ints(axis - (dice.chance(0.3) ? shape.length : 0))],
      attrs: { exclusive, reverse },
      outputs,
    };
  };
}

/** A matrix or a stack of them, and the length of its rows. */
function rowShape(dice: Dice): number[] {
  return [...dice.shape(dice.between(0, 2), 4), dice.between(1, dice.chance(0.2) ? 150 : 12)];
}

const softmaxRow = (x: ArrayLike<number>, log: boolean) => (at: number, n: number): number[] => {
  const { shifted, e, sum } = exponentials(x, at, n);
  return log ? shifted.map((v) => v - Math.log(sum)) : e.map((v) => v / sum);
};

function softmax(log: boolean) {
  return (dice: Dice): Case => {
    const x = dice.floats(rowShape(dice), 20);
    return { inputs: [x], outputs: [rows(x.shape, softmaxRow(numbers(x), log))] };
  };
}

function softmaxGrad(log: boolean) {
  return (dice: Dice): Case => {
    const x = dice.plain(rowShape(dice), 6), dy = dice.plain(x.shape), g = numbers(dy);
    const y = new NdArray(
      "float32",
      x.shape,
      Float32Array.from(rows(x.shape, softmaxRow(numbers(x), log)).values),
    );
    const of = numbers(y);
    const expected = rows(x.shape, (at, n) => {
      let total = 0;
      for (let i = at; i < at + n; i++) total += log ? g[i] : g[i] * of[i];
      return Array.from(
        { length: n },
        (_, i) => log ? g[at + i] - Math.exp(of[at + i]) * total : of[at + i] * (g[at + i] - total),
      );
    });
    return { inputs: [y, dy], outputs: [expected] };
  };
}

function crossEntropy(sparse: boolean) {
  return (dice: Dice): Case => {
    const [m, n] = [dice.extent(6), dice.between(1, 30)];
    const x = dice.plain([m, n], 10), labels = dice.plain([m, n]);
    const places = Array.from({ length: m }, () => dice.between(0, n - 1));
    const want = (at: number, i: number): number =>
      sparse ? Number(places[at / n] === i) : numbers(labels)[at + i];
    const loss = new Sums(m);
    const back = rows([m, n], (at, n) => {
      const { shifted, e, sum } = exponentials(numbers(x), at, n);
      shifted.forEach((v, i) => loss.add(at / n, want(at, i) * (Math.log(sum) - v)));
      return e.map((v, i) => v / sum - want(at, i));
    });
    const given = sparse ? new NdArray("int32", [m], Int32Array.from(places)) : labels;
    const scale = loss.scale.map((v) => 4 * v + 1);
    return {
      inputs: [x, given],
      attrs: sparse ? { Tlabels: "int32" } : {},
      outputs: [{ values: loss.values, scale }, back],
    };
  };
}

function layerNorm(gradient: boolean) {
  return (dice: Dice): Case => {
    const shape = rowShape(dice), n = shape[shape.length - 1], epsilon = 1e-3;
    const x = dice.plain(shape, 4),
      scale = dice.plain([n]),
      other = dice.plain(gradient ? shape : [n]);
    const v = numbers(x), s = numbers(scale), o = numbers(other);
    const dscale = new Sums(n), doffset = new Sums(n);
    const expected = rows(shape, (at) => {
      const row = Array.from({ length: n }, (_, i) => v[at + i]);
      const mean = row.reduce((a, b) => a + b, 0) / n;
      const r = 1 / Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / n + epsilon);
      const h = row.map((x) => (x - mean) * r);
      if (!gradient) return h.map((x, i) => x * s[i] + o[i]);
      const g = h.map((_, i) => o[at + i] * s[i]);
      h.forEach((x, i) => {
        dscale.add(i, o[at + i] * x);
        doffset.add(i, o[at + i]);
      });
      const [a, b] = [g, g.map((x, i) => x * h[i])].map((l) => l.reduce((p, q) => p + q, 0) / n);
      return h.map((x, i) => r * (g[i] - a - x * b));
      // A row of equal elements is divided by √ε: errors grow as much.
    }, () => (gradient ? 200 : 20));
    const attrs = { epsilon };
    if (!gradient) return { inputs: [x, scale, other], attrs, outputs: [expected] };
    const wide = ({ values, scale }: Sums): Expected => ({
      values,
      scale: scale.map((t) => 20 * t + 20),
    });
    return { inputs: [other, x, scale], attrs, outputs: [expected, wide(dscale), wide(doffset)] };
  };
}

/** Sums over windows along the last axis, and what local response normalization makes of them. */
function windowSum(normalizes: boolean) {
  return (dice: Dice): Case => {
    const shape = [...dice.shape(3, 4), dice.extent(dice.chance(0.2) ? 80 : 12)];
    const radius = dice.between(0, dice.chance(0.2) ? 90 : 6), x = dice.floats(shape, 4);
    const n = shape[3], sums = new Sums(x.size);
    const bias = dice.pick(1, 2, 0.5),
      alpha = dice.pick(1, 0.1),
      beta = dice.pick(0.5, 0.75, 1, 0.3);
    for (let i = 0; i < x.size; i++) {
      const row = i - i % n, at = i % n;
      for (let k = Math.max(0, at - radius); k <= Math.min(n - 1, at + radius); k++) {
        const v = numbers(x)[row + k];
        sums.add(i, normalizes ? v * v : v);
      }
    }
    if (!normalizes) return { inputs: [x], attrs: { radius }, outputs: [sums] };
    const values = sums.values.map((v, i) => numbers(x)[i] * (bias + alpha * v) ** -beta);
    const scale = values.map((v) => 2 * Math.abs(v) + 2 ** -125);
    return {
      inputs: [x],
      attrs: { depth_radius: radius, bias, alpha, beta },
      outputs: [{ values, scale }],
    };
  };
}

/** Pointwise ops of two arguments: float32 is rounded once, int32 wraps. */
const BINARY: Readonly<
  Record<
    string,
    readonly [float: (a: number, b: number) => number, int: (a: number, b: number) => number]
  >
> = {
  AddV2: [(a, b) => a + b, (a, b) => (a + b) | 0],
  Sub: [(a, b) => a - b, (a, b) => (a - b) | 0],
  Mul: [(a, b) => a * b, Math.imul],
  Maximum: [Math.max, Math.max],
  Minimum: [Math.min, Math.min],
  Less: [(a, b) => Number(a < b), (a, b) => Number(a < b)],
  Equal: [(a, b) => Number(a === b), (a, b) => Number(a === b)],
  SquaredDifference: [(a, b) => Math.fround(a - b) ** 2, (a, b) => Math.imul(a - b, a - b)],
};

function binary(name: string) {
  return (dice: Dice): Case => {
    const shape = dice.chance(0.1)
      ? [dice.between(256, 300), dice.between(2, 16)]
      : dice.anyShape(dice.between(0, 6), 40);
    const isInt = dice.chance(0.4);
    const own = (): number[] =>
      shape.map((n) => (dice.chance(0.25) ? 1 : n)).slice(
        dice.chance(0.3) ? dice.between(0, shape.length) : 0,
      );
    const [a, b] = [own(), own()].map((s) => (isInt ? dice.integers(s) : dice.floats(s)));
    const both = broadcast(a.shape, b.shape), values = new Float64Array(sizeOf(both));
    const compute = BINARY[name][isInt ? 1 : 0];
    eachIndex(both, (index, at) => {
      const v = compute(numbers(a)[placeOf(index, a.shape)], numbers(b)[placeOf(index, b.shape)]);
      values[at] = isInt ? v : Math.fround(v);
    });
    return { inputs: [a, b], outputs: [{ values }] };
  };
}

/** Kernels over rows, axes and single elements. */
export const ROW_KERNELS: readonly Kernel[] = [
  ...(["Sum", "Mean", "Prod", "Max", "Min"] as const).map((
    kind,
  ): Kernel => [kind, reduction(kind, "float32")]),
  ...(["Sum", "Prod", "Max", "Min"] as const).map((
    kind,
  ): Kernel => [kind, reduction(kind, "int32")]),
  ...(["float32", "int32"] as const).flatMap((dtype): Kernel[] => [
    ["Cumsum", scan("sum", dtype)],
    ["Cumprod", scan("prod", dtype)],
  ]),
  ["Softmax", softmax(false)],
  ["LogSoftmax", softmax(true)],
  ["_SoftmaxGrad", softmaxGrad(false)],
  ["_LogSoftmaxGrad", softmaxGrad(true)],
  ["SoftmaxCrossEntropyWithLogits", crossEntropy(false)],
  ["SparseSoftmaxCrossEntropyWithLogits", crossEntropy(true)],
  ["_LayerNorm", layerNorm(false)],
  ["_LayerNormGrad", layerNorm(true)],
  ["_WindowSum", windowSum(false)],
  ["LRN", windowSum(true)],
  ...Object.keys(BINARY).map((name): Kernel => [name, binary(name)]),
];
