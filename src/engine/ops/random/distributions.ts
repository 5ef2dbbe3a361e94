/** Ops that draw from distributions with parameters, with TensorFlow's numbers where they have seeds. On the host. */
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, type GradContext, type OpDef } from "../../core/op.ts";
import {
  broadcastShapes,
  compatible,
  type PartialShape,
  type Shape,
  shapeText,
} from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import {
  binomialCpu,
  poissonCpu,
  truncatedBetweenCpu,
} from "../../kernels/host/drawing/distributions.ts";
import type { Philox } from "../../kernels/host/philox.ts";
import { wantedShape } from "../array/fill_ops.ts";
import { refuse } from "../host/arrays.ts";
import { add, div, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { erf, exp, log, log1p } from "../pointwise/exponential.ts";
import { square } from "../pointwise/power.ts";
import { clipByValue } from "../pointwise/select.ts";
import { drawnShape } from "./ops.ts";
import { philoxOf, philoxOfSeed } from "./philox.ts";
import { nextSeed } from "./state.ts";

const NUMBERS = "{float16, float32, float64, int32, int64}";

/** Returns the shape to which parameters broadcast. Throws `ValueError` where that of the draws does not end with it. */
export function placesIn(drawn: PartialShape, parameters: readonly PartialShape[]): PartialShape {
  const places = parameters.reduce(broadcastShapes, []);
  if (drawn === null || places === null) return places;
  const end = places.length === 0 ? [] : drawn.slice(-places.length);
  if (places.length <= drawn.length && compatible(end, places)) return places;
  throw new ValueError(
    `Cannot draw shape ${shapeText(drawn)}: it must end with ${
      shapeText(places)
    }, the shape of the parameters`,
  );
}

const shapesOf = (parameters: readonly NdArray[], drawn: Shape): Shape =>
  placesIn(drawn, parameters.map((p) => p.shape)) as Shape;

/** Defines an op of a shape, a seed and parameters. */
function defineSeeded(
  name: string,
  parameters: readonly string[],
  { attrs, grad = null, cpu }: {
    readonly attrs: readonly string[];
    readonly grad?: OpDef["grad"];
    readonly cpu: (out: NdArray, parameters: readonly NdArray[], from: Philox) => void;
  },
): OpDef {
  return defineOp({
    name,
    inputs: ["shape: S", "seed: Tseed", ...parameters],
    outputs: ["output: dtype"],
    attrs: ["S: index", "Tseed: index = int64", ...attrs],
    hostInputs: ["shape"],
    infer: ([shape, seed, ...rest]) => {
      const drawn = drawnShape(shape, seed);
      placesIn(drawn, rest.map((p) => p.shape));
      return [drawn];
    },
    grad: grad!,
    cpu: ([, seed, ...rest], [out]) => cpu(out, rest, philoxOfSeed(seed)),
  });
}

export const StatelessPoisson: OpDef = defineSeeded("StatelessRandomPoisson", ["lam: Rtype"], {
  attrs: [`Rtype: ${NUMBERS}`, `dtype: ${NUMBERS}`],
  cpu: (out, [rate], from) => {
    shapesOf([rate], out.shape);
    poissonCpu(out, rate, from);
  },
});

/** The op with a sequence; it appends the shape of the rates to the given one. */
export const RandomPoisson: OpDef = defineOp({
  name: "RandomPoissonV2",
  inputs: ["shape: S", "rate: R"],
  outputs: ["output: dtype"],
  attrs: [
    "seed: int64 = 0",
    "seed2: int64 = 0",
    "S: index",
    `R: ${NUMBERS} = float64`,
    `dtype: ${NUMBERS} = int64`,
  ],
  hostInputs: ["shape"],
  infer: ([shape, rate]) => {
    const front = wantedShape(shape);
    return [front && rate.shape && [...front, ...rate.shape]];
  },
  grad: null,
  stateful: true,
  cpu: ([, rate], [out], { attrs }) => poissonCpu(out, rate, philoxOfSeed(nextSeed(attrs))),
});

export const StatelessBinomial: OpDef = defineSeeded(
  "StatelessRandomBinomial",
  ["counts: T", "probs: T"],
  {
    attrs: [`T: ${NUMBERS} = float64`, `dtype: ${NUMBERS} = int64`],
    cpu: (out, [counts, probs], from) =>
      binomialCpu(out, { counts, probs, shape: shapesOf([counts, probs], out.shape) }, from),
  },
);

/** The same with the words of a generator's state. */
export const BinomialOfKey: OpDef = defineOp({
  name: "_BinomialOfKey",
  portable: { never: "TensorFlow draws it from variables alone" },
  inputs: ["shape: S", "key: uint64", "counter: uint64", "alg: int32", "counts: T", "probs: T"],
  outputs: ["output: dtype"],
  attrs: ["S: index", "T: {float32, float64}", `dtype: ${NUMBERS}`],
  hostInputs: ["shape"],
  infer: ([shape, , , , counts, probs]) => {
    const drawn = wantedShape(shape);
    placesIn(drawn, [counts.shape, probs.shape]);
    return [drawn];
  },
  grad: null,
  cpu: ([, key, counter, alg, counts, probs], [out]) =>
    binomialCpu(
      out,
      { counts, probs, shape: shapesOf([counts, probs], out.shape) },
      philoxOf([key, counter, alg]),
    ),
});

/**
 * The slopes of drawn numbers: in the bounds at the same part of the distribution below them (M. Figurnov et al., "Implicit reparameterization
 * gradients", 2018), in mean and deviation, as in TensorFlow, at the same distance from the mean.
 */
function slopes(
  [mean, deviation, low, high, drawn]: readonly Tensor[],
  dy: Tensor,
  { sumLike }: GradContext,
): (Tensor | null)[] {
  const [tiny, epsilon] = ACCURACY[drawn.dtype];
  const [z, a, b] = [drawn, low, high].map((x) => div(sub(x, mean), deviation));
  const below = (x: Tensor): Tensor => mul(add(erf(mul(x, Math.SQRT1_2)), 1), 0.5);
  const share = div(sub(below(z), below(a)), sub(below(b), below(a)));
  const part = clipByValue(share, tiny, 1 - epsilon);
  const half = (x: Tensor): Tensor => mul(sub(square(z), square(x)), 0.5);
  const ofHigh = exp(add(half(b), log(part))), ofLow = exp(add(half(a), log1p(neg(part))));
  return [null, null, dy, ...[z, ofLow, ofHigh].map((x) => mul(dy, x))]
    .map((slope, i) => slope && sumLike(slope, i));
}

/** The least number above 0 of full accuracy, and the accuracy beside 1. */
const ACCURACY: Readonly<Record<string, readonly [number, number]>> = {
  float16: [2 ** -14, 2 ** -10],
  float32: [2 ** -126, 2 ** -23],
  float64: [2 ** -1022, 2 ** -52],
};

export const StatelessTruncatedBetween: OpDef = defineSeeded(
  "StatelessParameterizedTruncatedNormal",
  ["means: dtype", "stddevs: dtype", "minvals: dtype", "maxvals: dtype"],
  {
    attrs: ["dtype: {float16, float32, float64}"],
    grad: {
      saves: ["means", "stddevs", "minvals", "maxvals", "output"],
      vjp: (saved, [dy], context) =>
        slopes(
          [saved.means, saved.stddevs, saved.minvals, saved.maxvals, saved.output],
          dy,
          context,
        ),
    },
    cpu: (out, parameters, from) =>
      truncatedBetweenCpu(out, parameters, shapesOf(parameters, out.shape), from),
  },
);

/** Mixes words as the cipher SIMON does (R. Beaulieu et al., "The SIMON and SPECK families of lightweight block ciphers", 2013), in blocks of any even size. */
function mixed(value: bigint, keys: readonly bigint[], width: bigint): bigint {
  const mask = (1n << width) - 1n;
  const left = (x: bigint, by: bigint): bigint => (x << by | x >> width - by) & mask;
  const f = (x: bigint): bigint => left(x, 1n) & left(x, 8n) ^ left(x, 2n);
  let high = value >> width & mask, low = value & mask;
  for (let i = 0; i < keys.length; i += 2) {
    high ^= f(low) ^ keys[i];
    low ^= f(high) ^ keys[i + 1];
  }
  return high << width | low;
}

/** Returns the place of an index among those up to `most` in an order that three words tell. */
function placeOf(index: bigint, words: readonly bigint[], most: bigint, rounds: number): bigint {
  if (most === 0n) return 0n;
  const bits = Math.ceil(Math.log2(Number(most)));
  const width = BigInt(Math.min(64, Math.max(16, bits + bits % 2)) / 2), mask = (1n << width) - 1n;
  const right = (x: bigint, by: bigint): bigint => (x >> by | x << width - by) & mask;
  const keys = words.map((word) => word & mask);
  // The constants of the cipher's key schedule.
  for (let i = 3, z = 0x7369f885192c0ef5n; i < rounds; i++, z >>= 1n) {
    const last = keys[i - 1];
    keys.push((0xfffffffcn ^ z & 1n ^ keys[i - 3] ^ right(last, 3n) ^ right(last, 4n)) & mask);
  }
  let place = index;
  // Places outside of the range are walked on (J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", 2002).
  do place = mixed(place, keys, width); while (place > most);
  return place;
}

const WHOLE = "{int32, uint32, int64, uint64}";

export const RandomIndexShuffle: OpDef = defineOp({
  name: "RandomIndexShuffle",
  inputs: ["index: dtype", "seed: Tseed", "max_index: dtype"],
  outputs: ["output: dtype"],
  attrs: ["rounds: int = 4", `dtype: ${WHOLE}`, `Tseed: ${WHOLE}`],
  infer: ([index, seed, most]) => {
    const seeds = seed.shape === null ? null : seed.shape.slice(0, -1);
    if (seed.shape?.length === 0 || (seed.shape?.at(-1) ?? 3) !== 3) {
      throw new ValueError(`Seed must be [3] or [n, 3], received ${shapeText(seed.shape)}`);
    }
    return [[index.shape, seeds, most.shape].reduce(broadcastShapes)];
  },
  grad: null,
  cpu: ([index, seed, most], [out], { attrs: { rounds } }) => {
    if (!(rounds >= 4 && rounds % 2 === 0)) refuse(`rounds must be even, from 4 on: ${rounds}`);
    const to = out.data as { [i: number]: number | bigint }, isWide = out.dtype.endsWith("64");
    for (let i = 0; i < out.size; i++) {
      const of = (x: NdArray): bigint => BigInt(x.at(x.size === 1 ? 0 : i) as number);
      const row = seed.size === 3 ? 0 : 3 * i, value = of(index), end = of(most);
      if (value < 0n || value > end) refuse(`index ${value} is not in [0, ${end}]`);
      const words = [0, 1, 2].map((k) => BigInt.asUintN(32, BigInt(seed.at(row + k) as number)));
      const place = placeOf(value, words, end, rounds);
      to[i] = isWide ? place : Number(place);
    }
  },
});

/** The ops of this file that files may have. */
export const DISTRIBUTION_OPS: readonly OpDef[] = [
  ...[StatelessPoisson, RandomPoisson, StatelessBinomial, BinomialOfKey],
  ...[StatelessTruncatedBetween, RandomIndexShuffle],
];
