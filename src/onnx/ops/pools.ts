/** Pools: the maximum, the mean, or a norm of windows, and of whole images. */
import { DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { stridesOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { isFloat, like, to } from "./raw.ts";
import { counted } from "./shapes.ts";
import { ceiledPads, type Sliding, slidingOf } from "./window_shape.ts";
import * as tf from "../build/tf.ts";

type Pairs = readonly (readonly [number, number])[];

function windows(n: NodeCall): { readonly sliding: Sliding; readonly pads: Pairs } {
  const sliding = slidingOf(
    n,
    n.attributes.ints("kernel_shape") ?? n.fail("it has no kernel_shape"),
  );
  return { sliding, pads: ceiledPads(sliding, n.dims(0).slice(2), n) };
}

/** Pools over one or two axes of images with channels last. */
function pool2d(
  x: Tensor,
  type: "max" | "avg",
  { kernel, strides, dilations }: Sliding,
  pads: Pairs,
): Tensor {
  const isRow = kernel.length === 1,
    wide = <T>(list: readonly T[], one: T) => isRow ? [one, ...list] : [...list];
  const pairs = [[0, 0], ...wide(pads, [0, 0]), [0, 0]] as [number, number][];
  const y = tf.pool(
    isRow ? tf.expandDims(x, 1) : x,
    wide(kernel, 1),
    type,
    pads.every(([a, b]) => a === 0 && b === 0) ? "valid" : pairs,
    wide(dilations, 1),
    wide(strides, 1),
  );
  return isRow ? tf.squeeze(y, 1) : y;
}

/** The least value of a dtype. */
function least(x: Tensor): number {
  if (isFloat(x.dtype)) return -Infinity;
  const { kind, bytes } = DTYPES[x.dtype];
  return kind === "int" ? -(2 ** (8 * bytes - 1)) : 0;
}

/**
 * Returns each tap of the windows over padded images with channels first, strided: first the windows' first elements,
 * and so on.
 */
function* taps(
  x: Tensor,
  { kernel, strides, dilations }: Sliding,
  extents: readonly number[],
): Generator<Tensor> {
  const count = kernel.reduce((a, b) => a * b, 1), steps = stridesOf(kernel);
  const out = extents.map((d, i) =>
    Math.floor((d - (kernel[i] - 1) * dilations[i] - 1) / strides[i]) + 1
  );
  for (let k = 0; k < count; k++) {
    const at = steps.map((s, i) => Math.floor(k / s) % kernel[i] * dilations[i]);
    const end = at.map((a, i) => a + (out[i] - 1) * strides[i] + 1);
    // All images and channels.
    yield tf.stridedSlice(
      x,
      [0, 0, ...at],
      [0, 0, ...end],
      [1, 1, ...strides],
      3,
      3,
    );
  }
}

/** Returns images with channels first, padded with a value, and their extents. */
function padded(n: NodeCall, x: Tensor, pads: Pairs, value: number): [Tensor, number[]] {
  const extents = n.concrete(0).slice(2).map((d, i) => d + pads[i][0] + pads[i][1]);
  const pairs = [[0, 0], [0, 0], ...pads] as [number, number][];
  return [
    tf.pad(x, pairs, to(tf.scalar(value, isFloat(x.dtype) ? "float32" : "int32"), x.dtype)),
    extents,
  ];
}

/** Pools by the maximum. */
export function maxPool(n: NodeCall): RuleOutput | RuleOutput[] {
  const { sliding, pads } = windows(n);
  if (n.wants(1)) return maxPoolWithPlaces(n, sliding, pads);
  const isDilated = sliding.dilations.some((d) => d !== 1);
  if (sliding.kernel.length < 3) return Value.channelsLast(pool2d(n.last(0), "max", sliding, pads));
  if (!isDilated && sliding.kernel.length === 3 && isFloat(n.dtype(0))) {
    const x = n.last(0), pairs = [[0, 0], ...pads, [0, 0]] as [number, number][];
    const wide = pads.some(([a, b]) => a + b > 0) ? tf.pad(x, pairs, like(x, -Infinity)) : x;
    return Value.channelsLast(
      tf.maxPool3d(wide, [...sliding.kernel], [...sliding.strides], "valid"),
    );
  }
  const [x, extents] = padded(n, n.x(0), pads, least(n.x(0)));
  return [...taps(x, sliding, extents)].reduce((a, b) => tf.maximum(a, b));
}

/** Returns the maximum of each window, and its place in the whole tensor. */
function maxPoolWithPlaces(n: NodeCall, sliding: Sliding, pads: Pairs): RuleOutput[] {
  const dims = n.concrete(0),
    size = dims.reduce((a, b) => a * b, 1),
    numbers = new Int32Array(size);
  const isByColumn = n.attributes.flag("storage_order"), spatial = dims.slice(2);
  const image = spatial.reduce((a, b) => a * b, 1), steps = stridesOf(spatial);
  for (let i = 0; i < size; i++) {
    if (!isByColumn) numbers[i] = i;
    else {
      const within = i % image;
      let at = 0;
      for (let a = spatial.length - 1; a >= 0; a--) {
        at = at * spatial[a] + Math.floor(within / steps[a]) % spatial[a];
      }
      numbers[i] = i - within + at;
    }
  }
  const source = n.x(0);
  const [x, extents] = padded(n, source, pads, least(source));
  const [at] = padded(n, tf.tensor(new NdArray("int32", dims, numbers)), pads, 0);
  const values = [...taps(x, sliding, extents)], places = [...taps(at, sliding, extents)];
  let [best, place] = [values[0], places[0]];
  for (let k = 1; k < values.length; k++) {
    const isMore = tf.greater(values[k], best);
    place = tf.where(isMore, places[k], place);
    best = tf.where(isMore, values[k], best);
  }
  return [best, counted(place)];
}

function averagePool(n: NodeCall): RuleOutput {
  const { sliding, pads } = windows(n), axes = sliding.kernel.length;
  const countsPads = n.attributes.flag("count_include_pad");
  const isPlain = axes < 3;
  if (isPlain && !countsPads) {
    return Value.channelsLast(pool2d(n.last(0), "avg", sliding, pads));
  }
  if (isPlain) {
    const x = tf.pad(n.last(0), [[0, 0], ...sliding.pads, [0, 0]] as [number, number][]);
    const rest = pads.map(([, after], i): [number, number] => [0, after - sliding.pads[i][1]]);
    return Value.channelsLast(pool2d(x, "avg", sliding, rest));
  }
  const dims = n.concrete(0), x = n.x(0);
  // One where an element counts: its sums are the divisors of the other sums.
  const inside = dims.slice(2).map((d, i) =>
    countsPads ? d + sliding.pads[i][0] + sliding.pads[i][1] : d
  );
  const rest = pads.map(([before, after], i): [number, number] =>
    countsPads ? [0, after - sliding.pads[i][1]] : [before, after]
  );
  const ones = tf.pad(
    tf.fill([1, 1, ...inside], 1, x.dtype),
    [[0, 0], [0, 0], ...rest],
  );
  const [wide, extents] = padded(n, x, pads, 0);
  const sum = (t: Tensor) => [...taps(t, sliding, extents)].reduce((a, b) => tf.add(a, b));
  return tf.div(sum(wide), sum(ones));
}

function lpPool(n: NodeCall): RuleOutput {
  const { sliding, pads } = windows(n), p = n.attributes.int("p", 2), x = n.x(0);
  const terms = p === 1 ? tf.abs(x) : p === 2 ? tf.square(x) : tf.pow(tf.abs(x), like(x, p));
  const [wide, extents] = padded(n, terms, pads, 0);
  const sum = [...taps(wide, sliding, extents)].reduce((a, b) => tf.add(a, b));
  return p === 1 ? sum : p === 2 ? tf.sqrt(sum) : tf.pow(sum, like(x, 1 / p));
}

/** Makes the rule of a pool over whole images. */
function global(reduce: (x: Tensor, axes: number[], keepDims: boolean) => Tensor) {
  return (n: NodeCall): RuleOutput => {
    const axes = Array.from({ length: n.rank(0) - 2 }, (_, i) => i);
    if (n.value(0).last === null) return reduce(n.x(0), axes.map((a) => a + 2), true);
    return Value.channelsLast(reduce(n.last(0), axes.map((a) => a + 1), true));
  };
}

function globalLpPool(n: NodeCall): RuleOutput {
  const p = n.attributes.int("p", 2);
  return global((x, axes, keep) =>
    tf.pow(tf.sum(tf.pow(tf.abs(x), like(x, p)), axes, keep), like(x, 1 / p))
  )(n);
}

/** Places maxima where a pool found them, and zeros elsewhere. */
function maxUnpool(n: NodeCall): Tensor {
  const sliding = slidingOf(
    n,
    n.attributes.ints("kernel_shape") ?? n.fail("it has no kernel_shape"),
  );
  const dims = n.concrete(0), { kernel, strides, pads } = sliding;
  const own = [
    ...dims.slice(0, 2),
    ...dims.slice(2).map((d, i) => (d - 1) * strides[i] + kernel[i] - pads[i][0] - pads[i][1]),
  ];
  const size = own.reduce((a, b) => a * b, 1);
  const at = tf.reshape(n.index(1), [-1, 1]), values = tf.reshape(n.x(0), [-1]);
  const y = tf.reshape(tf.scatterND(at, values, [size]), own);
  if (!n.has(2)) return y;
  const wanted = n.wantInts(2);
  return tf.pad(y, wanted.map((d, i): [number, number] => [0, Math.max(0, d - own[i])]));
}

export const POOLS: readonly OpEntry[] = [
  op("AveragePool", 1, averagePool, { halves: "computed" }),
  op("GlobalAveragePool", 1, global(tf.mean), { halves: "computed" }),
  op("GlobalLpPool", 1, globalLpPool),
  op("GlobalMaxPool", 1, global(tf.max)),
  op("LpPool", 1, lpPool),
  op("MaxPool", 1, maxPool),
  op("MaxUnpool", 9, maxUnpool, { known: [2] }),
];
