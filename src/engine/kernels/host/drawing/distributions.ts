/**
 * Numbers of distributions with parameters from Philox's words, in TensorFlow's order. Each sample of a Poisson or binomial distribution
 * begins at counters of its own.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { isInteger } from "../../../core/dtype.ts";
import { type NdArray, setElement } from "../../../core/nd_array.ts";
import { broadcastStrides, sizeOf } from "../../../core/shape.ts";
import { normalPair, type Philox, uniform } from "../philox.ts";
import { logGamma } from "../special/beta.ts";

/** Counters of a sample, and of one that is drawn by inversion. */
const RESERVED = 256, RESERVED_BY_INVERSION = 42;

/** Uniform doubles, of each two that four words give the second first. */
class Doubles {
  readonly #from: Philox;
  #kept = NaN;

  constructor(from: Philox) {
    this.#from = from;
  }

  next(): number {
    const kept = this.#kept;
    if (!Number.isNaN(kept)) {
      this.#kept = NaN;
      return kept;
    }
    this.#kept = uniform(this.#from, "float64");
    return uniform(this.#from, "float64");
  }
}

/**
 * Fills `out`, whose shape ends with that to which the parameters broadcast: `draw` gets these and the number of the sample, which counts
 * the samples of one place together.
 */
function fill(
  out: NdArray,
  parameters: readonly NdArray[],
  shape: readonly number[],
  draw: (values: readonly number[], sample: number) => number,
): void {
  const places = sizeOf(shape), each = places === 0 ? 0 : out.size / places;
  const strides = parameters.map((p) => broadcastStrides(p.shape, shape));
  const isWhole = isInteger(out.dtype), isWide = out.dtype.endsWith("64") && isWhole;
  for (let place = 0; place < places; place++) {
    const values = parameters.map((p, k) => {
      let at = 0;
      for (let d = shape.length - 1, rest = place; d >= 0; d--) {
        at += rest % shape[d] * strides[k][d];
        rest = Math.floor(rest / shape[d]);
      }
      return Number(p.at(at));
    });
    for (let i = 0; i < each; i++) {
      const drawn = draw(values, place * each + i);
      const value = isWhole && !Number.isFinite(drawn) ? 0 : drawn;
      setElement(out, i * places + place, isWide ? BigInt(value) : value);
    }
  }
}

/** Draws from Poisson distributions of these rates. */
export function poissonCpu(out: NdArray, rate: NdArray, from: Philox): void {
  fill(out, [rate], rate.shape, ([mean], sample) => {
    if (!(mean >= 0)) return NaN;
    if (mean === Infinity) return Infinity;
    from.seek(RESERVED * sample);
    return mean < 10 ? countOf(mean, new Doubles(from)) : poisson(mean, new Doubles(from));
  });
}

/** Draws from gamma distributions of these shapes and of rate 1. */
export function gammaOfPhilox(out: NdArray, alpha: NdArray, from: Philox): void {
  fill(out, [alpha], alpha.shape, ([shape], sample) => {
    from.seek(RESERVED * sample);
    return gammaOf(shape, from);
  });
}

/**
 * G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000); shapes below 1 by a power of one more uniform
 * number. Normal and uniform numbers come in twos, of which the second is first.
 */
function gammaOf(shape: number, from: Philox): number {
  const uniforms = new Doubles(from);
  if (shape === 1) return -Math.log1p(-uniforms.next());
  if (!(shape > 0)) return NaN;
  const isSmall = shape < 1, d = shape + (isSmall ? 2 : -1) / 3, c = 1 / 3 / Math.sqrt(d);
  let normals: readonly number[] = [];
  for (;;) {
    if (normals.length === 0) normals = normalPair(from, true);
    const x = normals[normals.length - 1], root = 1 + c * x, v = root ** 3;
    normals = normals.slice(0, -1);
    if (!(root > 0)) continue;
    const u = uniforms.next(), x2 = x * x;
    if (u < 1 - 0.0331 * x2 * x2 || Math.log(u) < 0.5 * x2 + d * (1 - v + Math.log(v))) {
      return d * v * (isSmall ? uniforms.next() ** (1 / shape) : 1);
    }
  }
}

/** Multiplies uniform numbers until they are small enough (D. Knuth, "The Art of Computer Programming", volume 2, 3.4.1). */
function countOf(mean: number, draws: Doubles): number {
  const least = Math.exp(-mean);
  for (let product = 1, count = 0;; count++) {
    product *= draws.next();
    if (product <= least) return count;
  }
}

/** W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993). */
function poisson(mean: number, draws: Doubles): number {
  const b = 0.931 + 2.53 * Math.sqrt(mean), a = -0.059 + 0.02483 * b, log = Math.log(mean);
  const inverse = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const u = draws.next() - 0.5, v = draws.next(), us = 0.5 - Math.abs(u);
    const k = Math.floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || us < 0.013 && v > us) continue;
    const ratio = Math.log(v * inverse / (a / (us * us) + b));
    if (ratio <= -mean + k * log - logGamma(k + 1)) return k;
  }
}

/** Draws how many of `counts` trials succeed, each with a probability of `probs`. */
export function binomialCpu(
  out: NdArray,
  { counts, probs, shape }: {
    readonly counts: NdArray;
    readonly probs: NdArray;
    readonly shape: readonly number[];
  },
  from: Philox,
): void {
  const round = probs.dtype === "float64" ? (x: number) => x : Math.fround;
  fill(out, [counts, probs], shape, ([count, prob], sample) => {
    if (count <= 0 || prob <= 0) return 0;
    if (prob >= 1) return count;
    if (Number.isNaN(prob) || Number.isNaN(count)) return NaN;
    const isFlipped = prob > 0.5, p = isFlipped ? round(1 - prob) : prob;
    const isMany = round(count * p) >= 10;
    from.seek((isMany ? RESERVED : RESERVED_BY_INVERSION) * sample);
    const drawn = (isMany ? binomial : successesOf)(count, p, new Doubles(from));
    return isFlipped ? count - drawn : drawn;
  });
}

/** Adds the trials up to each success (L. Devroye, "Non-Uniform Random Variate Generation", 1986, X.4.3). */
function successesOf(count: number, prob: number, draws: Doubles): number {
  const log = Math.log1p(-prob);
  for (let trials = 0, found = 0;; found++) {
    trials += Math.ceil(Math.log(draws.next()) / log);
    if (trials > count) return found;
  }
}

/** The error of Stirling's formula for the logarithm of k!. */
function tail(k: number): number {
  if (k <= 9) {
    return logGamma(k + 1) - 0.5 * Math.log(2 * Math.PI) - (k + 0.5) * Math.log(k + 1) + (k + 1);
  }
  const square = (k + 1) ** 2;
  return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1);
}

/** W. Hörmann, "The generation of binomial random variates" (1993). */
function binomial(count: number, prob: number, draws: Doubles): number {
  const deviation = Math.sqrt(count * prob * (1 - prob)), b = 1.15 + 2.53 * deviation;
  const a = -0.0873 + 0.0248 * b + 0.01 * prob, c = count * prob + 0.5, r = prob / (1 - prob);
  const alpha = (2.83 + 5.1 / b) * deviation, m = Math.floor((count + 1) * prob);
  for (;;) {
    const u = draws.next() - 0.5, v = draws.next(), us = 0.5 - Math.abs(u);
    const k = Math.floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= 0.92 - 4.2 / b) return k;
    if (k < 0 || k > count) continue;
    const bound = (m + 0.5) * Math.log((m + 1) / (r * (count - m + 1))) +
      (count + 1) * Math.log((count - m + 1) / (count - k + 1)) +
      (k + 0.5) * Math.log(r * (count - k + 1) / (k + 1)) +
      tail(m) + tail(count - m) - tail(k) - tail(count - k);
    if (Math.log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

/** Distances from the mean, in deviations, from which on normal numbers are drawn and those outside left out. */
const WIDE = 1.3;

/**
 * Draws normal numbers between bounds: `parameters` are means, deviations, lower and upper bounds (C. Robert, "Simulation of truncated
 * normal variables", 1995).
 */
export function truncatedBetweenCpu(
  out: NdArray,
  parameters: readonly NdArray[],
  shape: readonly number[],
  from: Philox,
): void {
  const { dtype } = out,
    isDouble = dtype === "float64",
    round = isDouble ? (x: number) => x : Math.fround;
  const size = isDouble ? 2 : 4;
  const uniforms = () => Array.from({ length: size }, () => uniform(from, dtype));
  // Numbers of one group serve samples of one place, and what is left of it is not used.
  let group: number[] = [], place = -1;
  const each = out.size / Math.max(1, sizeOf(shape));
  fill(out, parameters, shape, ([mean, given, low, high], sample) => {
    const isValid = given > 0 && low < high && (Number.isFinite(low) || Number.isFinite(high));
    if (!isValid) {
      throw new InvalidArgumentError(
        `Invalid parameters: wanted a deviation above 0 and rising bounds, not both infinite, received ${given}, ${low} and ${high}`,
      );
    }
    if (Math.floor(sample / each) !== place) [place, group] = [Math.floor(sample / each), []];
    const isTurned = low === -Infinity || high < mean, deviation = isTurned ? -given : given;
    const ends = isTurned ? [high, low] : [low, high];
    const [least, most] = ends.map((end) => round(round(end - mean) / deviation));
    const next = drawsBetween(least, most);
    for (;;) {
      if (group.length === 0) group = next();
      while (group.length > 0) {
        const z = group.shift()!;
        if (!Number.isNaN(z)) return round(round(z * deviation) + mean);
      }
    }
  });

  /** Makes a group of numbers; those that are rejected are NaN. */
  function drawsBetween(least: number, most: number): () => number[] {
    if (least < -WIDE && most >= 0 || most > WIDE && least <= 0) {
      return () =>
        Array.from({ length: size / 2 }, () => normalPair(from, isDouble)).flat()
          .map((z) => z >= least && z <= most ? z : NaN);
    }
    const root = round(Math.sqrt(round(least * least) + 4)), width = round(most - least);
    const limit = 2 * Math.exp(0.5 + least * (least - root) / 4) / (least + root);
    if (width < limit) {
      const plus = least < 0 ? 0 : least * least;
      return () => {
        const all = uniforms().map((u) => round(round(u * width) + least)), tests = uniforms();
        return all.map((z, i) => tests[i] <= Math.exp((plus - z * z) / 2) ? z : NaN);
      };
    }
    const alpha = round((least + root) / 2);
    return () => {
      const all = uniforms(), found: number[] = [];
      for (let i = 0; i < size; i += 2) {
        const z = round(round(round(-Math.log(all[i])) / alpha) + least);
        const x = least < alpha ? alpha - z : least - alpha;
        found.push(all[i + 1] <= Math.exp(-x * x / 2) && z < most ? z : NaN);
      }
      return found;
    };
  }
}
