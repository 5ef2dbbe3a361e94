/** Pooling over windows whose places are drawn, in the namespace `tf.nn`. On the host. */
import { apply, apply1 } from "../../core/apply.ts";
import { wantBoolean, wantNumber } from "../../core/arguments.ts";
import { InvalidArgumentError, LookupError, ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import {
  type Attrs,
  defineOp,
  type GradContext,
  type GradRule,
  type OpDef,
} from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { checkRank } from "../../kernels/conv/geometry.ts";
import {
  drawPlaces,
  fractionalMaxCpu,
  fractionalMaxGradCpu,
  fractionalMeanCpu,
  fractionalMeanGradCpu,
  type FractionalWindows,
  fractionalWinnersCpu,
} from "../../kernels/host/drawing/fractional_pool.ts";
import { Philox } from "../../kernels/host/philox.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { hostInts, setInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { castInput, toIndexInput, toInput, wantArgument } from "../input.ts";
import { nextSeed, seedsOf } from "../random/state.ts";

const NUMBERS = "{float32, float64, int32, int64}";
const PLACES = ["row_pooling_sequence: int64", "col_pooling_sequence: int64"];
const DRAWN = ["row_pooling_sequence", "col_pooling_sequence"];
const ATTRS = [
  "pooling_ratio: list(float)",
  "pseudo_random: bool = false",
  "overlapping: bool = false",
  "deterministic: bool = false",
  "seed: int64 = 0",
  "seed2: int64 = 0",
  `T: ${NUMBERS}`,
];

/** Returns the extents of a result. Throws `ValueError` for ratios that no windows have. */
function extentsOf(shape: PartialShape, attrs: Attrs, op: string): (number | null)[] {
  checkRank(shape, 4, op, "value");
  const ratios = attrs.pooling_ratio as readonly number[];
  if (ratios.length !== 4 || ratios[0] !== 1 || ratios[3] !== 1 || !ratios.every((r) => r >= 1)) {
    throw new ValueError(
      `Cannot apply ${op} with pooling_ratio [${ratios}]: wanted four ratios from 1 on, the first and last 1`,
    );
  }
  // Ratios are float32, as files have them.
  return (shape ?? [null, null, null, null]).map((n, i) => {
    const extent = n === null ? null : Math.floor(Math.fround(n / Math.fround(ratios[i])));
    if (extent === 0 && n! > 0 || n === 0 && i % 3 > 0) {
      throw new ValueError(`Cannot apply ${op}: pooling_ratio ${ratios[i]} is above extent ${n}`);
    }
    return extent;
  });
}

/** The words from which places are drawn: those of the seeds, or each time others. */
function wordsOf(attrs: Attrs): Philox {
  const { deterministic, seed, seed2 } = attrs;
  const isSeeded = BigInt(seed) !== 0n || BigInt(seed2) !== 0n;
  if (isSeeded && !deterministic) {
    throw new InvalidArgumentError("Both seed and seed2 should be 0 if deterministic is false");
  }
  const [first, second] = isSeeded
    ? [BigInt(seed), BigInt(seed2)]
    : hostInts(nextSeed(attrs)).map(BigInt);
  return new Philox(BigInt.asUintN(64, first), BigInt.asUintN(64, second) << 64n);
}

/** Reads windows that a pooling has drawn, of images `[batch, height, width, depth]`. */
function windowsOf(
  [rows, columns]: readonly NdArray[],
  [, height, width]: readonly number[],
  { overlapping }: Attrs,
): FractionalWindows {
  const [y, x] = [rows, columns].map(hostInts);
  for (const [places, extent] of [[y, height], [x, width]] as const) {
    if (
      places.length > 1 && places[0] >= 0 && places.every((p, i) => i === 0 || p > places[i - 1])
    ) {
      if (places[places.length - 1] <= extent) continue;
    }
    refuse(`A pooling sequence must rise from 0 to ${extent}, received [${places}]`);
  }
  return { rows: y, columns: x, overlapping };
}

/** Parts of a pooling: what it computes of each window, and its gradient. */
interface Parts {
  readonly pool: (x: NdArray, out: NdArray, windows: FractionalWindows) => void;
  readonly saves: readonly string[];
  readonly slope: (
    saved: Readonly<Record<string, Tensor>>,
    dy: Tensor,
    context: GradContext,
  ) => Tensor;
}

/** The windows that a pooling has drawn, inputs of its gradient. */
const drawn = (saved: Readonly<Record<string, Tensor>>): Tensor[] => [
  saved.row_pooling_sequence,
  saved.col_pooling_sequence,
];

function definePool(name: string, { pool, saves, slope }: Parts): OpDef {
  return defineOp({
    name,
    inputs: ["value: T"],
    outputs: ["output: T", ...PLACES],
    attrs: ATTRS,
    infer: ([x], attrs) => {
      const extents = extentsOf(x.shape, attrs, name);
      return [extents, ...[extents[1], extents[2]].map((n) => [n === null ? null : n + 1])];
    },
    stateful: true,
    grad: {
      saves: [...saves, ...DRAWN],
      vjp: (saved, [dy], context) => [slope(saved, dy, context)],
    },
    cpu: ([x], [out, rows, columns], { attrs }) => {
      const from = wordsOf(attrs), pseudo = attrs.pseudo_random as boolean;
      const [, height, width] = x.shape, [, down, across] = out.shape;
      const y = drawPlaces(height, down, { from, pseudo });
      // The words of the columns begin behind all that the rows may take.
      from.seek(pseudo ? 1 : Math.ceil(down / 4));
      const z = drawPlaces(width, across, { from, pseudo });
      setInts(rows, y);
      setInts(columns, z);
      pool(x, out, { rows: y, columns: z, overlapping: attrs.overlapping });
    },
  });
}

/** The windows of a pooling that was drawn, of other images: `values` are pooled, or taken where `value` is greatest. */
function defineDrawn(
  name: string,
  values: readonly string[],
  kernel: (inputs: readonly NdArray[], out: NdArray, windows: FractionalWindows) => void,
  grad: GradRule,
): OpDef {
  return defineOp({
    name,
    portable: { never: "TensorFlow has no pooling with windows that are given" },
    inputs: [...values, ...PLACES],
    outputs: ["output: T"],
    attrs: ["overlapping: bool = false", `T: ${NUMBERS}`],
    infer: ([x, ...more]) => {
      checkRank(x.shape, 4, name, "value");
      const [batch, , , depth] = x.shape ?? [null, null, null, null];
      const [down, across] = more.slice(-2).map(({ shape }) => {
        const count = shape?.[0] ?? null;
        return count === null ? null : count - 1;
      });
      return [[batch, down, across, depth]];
    },
    grad,
    cpu: (inputs, [out], { attrs }) => {
      const images = inputs.slice(0, values.length);
      kernel(images, out, windowsOf(inputs.slice(values.length), images[0].shape, attrs));
    },
  });
}

/** TensorFlow has no second derivative either, but by what comes from above, in which the gradients are linear. */
function noSecond(name: string): void {
  throw new LookupError(`No gradient defined for the gradients of ${name}`);
}

const FractionalWinners = defineDrawn(
  "_FractionalWinners",
  ["value: T", "values: T"],
  fractionalWinnersCpu,
  {
    saves: ["value", ...DRAWN],
    vjp: (saved, [dy], { attrs: { overlapping } }) => {
      const inputs = [saved.value, dy, dy, ...drawn(saved)];
      return [null, apply1(FractionalMaxPoolGrad, inputs, { overlapping }), null, null];
    },
  },
);

function slopeOfMeans(
  saved: Readonly<Record<string, Tensor>>,
  dy: Tensor,
  { attrs: { overlapping }, shapeOf }: GradContext,
): Tensor {
  const dims = castInput(toIndexInput(shapeOf(0), "shape", "FractionalAvgPoolGrad"), "int64");
  return apply1(FractionalAvgPoolGrad, [dims, dy, ...drawn(saved)], { overlapping });
}

const FractionalMeans = defineDrawn(
  "_FractionalMeans",
  ["value: T"],
  ([x], out, windows) => fractionalMeanCpu(x, out, windows),
  { saves: DRAWN, vjp: (saved, [dy], context) => [slopeOfMeans(saved, dy, context), null, null] },
);

const FractionalMaxPoolGrad: OpDef = defineOp({
  name: "FractionalMaxPoolGrad",
  inputs: ["orig_input: T", "orig_output: T", "out_backprop: T", ...PLACES],
  outputs: ["output: T"],
  attrs: ["overlapping: bool = false", `T: ${NUMBERS}`],
  infer: ([x]) => [x.shape],
  grad: {
    saves: ["orig_input", ...DRAWN],
    vjp: (saved, [values], { attrs: { overlapping }, needs }) => {
      if (needs[0] || needs[1]) noSecond("FractionalMaxPool");
      const inputs = [saved.orig_input, values, ...drawn(saved)];
      return [null, null, apply1(FractionalWinners, inputs, { overlapping }), null, null];
    },
  },
  cpu: ([x, , dy, ...places], [out], { attrs }) =>
    fractionalMaxGradCpu([x, dy], out, windowsOf(places, x.shape, attrs)),
});

const FractionalAvgPoolGrad: OpDef = defineOp({
  name: "FractionalAvgPoolGrad",
  inputs: ["orig_input_tensor_shape: int64", "out_backprop: T", ...PLACES],
  outputs: ["output: T"],
  attrs: ["overlapping: bool = false", `T: ${NUMBERS}`],
  hostInputs: ["orig_input_tensor_shape"],
  infer: ([shape, dy]) => {
    checkRank(dy.shape, 4, "FractionalAvgPoolGrad", "out_backprop");
    return [shapeFromHost(shape) ?? [null, null, null, null]];
  },
  grad: {
    saves: DRAWN,
    vjp: (saved, [values], { attrs: { overlapping } }) => {
      const means = apply1(FractionalMeans, [values, ...drawn(saved)], { overlapping });
      return [null, means, null, null];
    },
  },
  cpu: ([, dy, ...places], [out], { attrs }) =>
    fractionalMeanGradCpu(dy, out, windowsOf(places, out.shape, attrs)),
});

const FractionalMaxPool = definePool("FractionalMaxPool", {
  pool: fractionalMaxCpu,
  saves: ["value", "output"],
  slope: (saved, dy, { attrs: { overlapping } }) =>
    apply1(FractionalMaxPoolGrad, [saved.value, saved.output, dy, ...drawn(saved)], {
      overlapping,
    }),
});

const FractionalAvgPool = definePool("FractionalAvgPool", {
  pool: fractionalMeanCpu,
  saves: [],
  slope: slopeOfMeans,
});

/** The ops of this file that files may have. */
export const FRACTIONAL_POOLS: readonly OpDef[] = [
  FractionalMaxPool,
  FractionalMaxPoolGrad,
  FractionalAvgPool,
  FractionalAvgPoolGrad,
];

/** Pooled images, and where windows begin along rows and columns, int64. */
export type FractionallyPooled = [
  output: Tensor,
  rowPoolingSequence: Tensor,
  colPoolingSequence: Tensor,
];

/** One ratio for rows and columns, or `[1, rows, columns, 1]`. */
export type PoolingRatio = number | readonly [number, number, number, number];

const MOST = 2 ** 31 - 1;

/** Arguments of {@linkcode fractionalMaxPool} after the images. */
interface Given {
  readonly poolingRatio: PoolingRatio;
  readonly pseudoRandom: boolean;
  readonly overlapping: boolean;
  readonly seed: number;
}

function pooled(def: OpDef, value: TensorLike, given: Given, fn: string): FractionallyPooled {
  const { poolingRatio: ratio, pseudoRandom, overlapping, seed } = given;
  wantBoolean(pseudoRandom, "pseudoRandom", fn);
  wantBoolean(overlapping, "overlapping", fn);
  wantNumber(seed, "seed", fn);
  if (!Array.isArray(ratio)) wantNumber(ratio, "poolingRatio", fn);
  const ratios = Array.isArray(ratio) ? [...ratio] : [1, ratio as number, ratio as number, 1];
  const x = toInput(value, "value", fn);
  wantArgument(x, 4, fn, "value");
  // TensorFlow's seeds are whole numbers of 31 bits.
  const [first, second] = seed === 0
    ? [0, 0]
    : seedsOf(seed).map((n) => n! - MOST * Math.floor(n! / MOST));
  const out = apply(def, [x], {
    pooling_ratio: ratios,
    pseudo_random: pseudoRandom,
    overlapping,
    deterministic: seed !== 0,
    seed: first,
    seed2: second,
  });
  return [out[0], out[1], out[2]];
}

/**
 * Greatest elements of windows over images `[batch, height, width, depth]` that make an image smaller by a ratio that is no whole number, from 1
 * on: windows are of two neighbouring sizes, at random places, which are returned too. They are in any order, or with `pseudoRandom` follow from
 * one number; `overlapping` ones have the first row and column of the next. A seed other than 0 gives the same places each time: TensorFlow's.
 * float32, float64, int32 or int64. Differentiable. Throws `ValueError` for another rank and for a ratio below 1 or above an extent, `TypeError`
 * for other dtypes and arguments. TensorFlow op `FractionalMaxPool`; B. Graham, "Fractional max-pooling" (2015).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 25), [1, 5, 5, 1]);
 * const [y, rows] = tf.nn.fractionalMaxPool(x, 1.5, false, false, 7);
 * console.log(await tf.squeeze(y).array()); // [[6, 7, 9], [11, 12, 14], [21, 22, 24]]
 * console.log(await tf.cast(rows, "int32").array()); // [0, 2, 3, 5]
 * ```
 */
export function fractionalMaxPool(
  value: TensorLike,
  poolingRatio: PoolingRatio,
  pseudoRandom = false,
  overlapping = false,
  seed = 0,
): FractionallyPooled {
  const given = { poolingRatio, pseudoRandom, overlapping, seed };
  return pooled(FractionalMaxPool, value, given, "fractionalMaxPool");
}

/**
 * Means of such windows as {@linkcode fractionalMaxPool} has, with its arguments; those of whole numbers are rounded towards zero.
 * Differentiable. Throws as that does. TensorFlow op `FractionalAvgPool`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 25), [1, 5, 5, 1]);
 * const [y] = tf.nn.fractionalAvgPool(x, 1.5, false, false, 7);
 * console.log(await tf.squeeze(y).array()); // [[3, 4.5, 6], [10.5, 12, 13.5], [18, 19.5, 21]]
 * ```
 */
export function fractionalAvgPool(
  value: TensorLike,
  poolingRatio: PoolingRatio,
  pseudoRandom = false,
  overlapping = false,
  seed = 0,
): FractionallyPooled {
  const given = { poolingRatio, pseudoRandom, overlapping, seed };
  return pooled(FractionalAvgPool, value, given, "fractionalAvgPool");
}
