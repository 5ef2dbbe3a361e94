/**
 * Random numbers on the host. Elements 2b and 2b+1 come from the two words of counter b, so that both devices draw the
 * same bits; the functions applied to them differ by rounding only.
 */
import { type DType, DTYPES, isBigInt } from "../../core/dtype.ts";
import type { Distribution } from "../../core/meaning.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";
import { type Num, numbersOf, setWhole, writerOf } from "./numbers.ts";
import { threefry } from "../pointwise/threefry.ts";

const TWO_32 = 2 ** 32;
/** Width of the truncated normal, in probability: erf(sqrt(2)). */
export const TRUNCATED_MASS = 0.9544997361036416;

/** Returns the bits of a uniform number that the dtype holds exactly below 1. */
export function uniformBits(dtype: DType): number {
  return Math.min(24, (DTYPES[dtype].float?.fraction ?? 23) + 1);
}

export function drawCpu(out: NdArray, seed: NdArray, distribution: Distribution): void {
  const [k0, k1] = keyOf(seed);
  const words = new Uint32Array(2);
  const n = out.size;
  const store = writerOf(out.dtype), data = out.data as Num[];
  if (distribution === "uniform" && out.dtype === "float64") {
    for (let i = 0; i < n; i++) {
      threefry(k0, k1, i, 0, words);
      store(data, i, ((words[0] >>> 5) * 2 ** 26 + (words[1] >>> 6)) / 2 ** 53 as Num);
    }
    return;
  }
  const shift = 32 - uniformBits(out.dtype), unit = 2 ** -uniformBits(out.dtype);
  for (let i = 0, block = 0; i < n; i += 2, block++) {
    threefry(k0, k1, block, 0, words);
    let a: number, b: number;
    if (distribution === "uniform") {
      a = (words[0] >>> shift) * unit;
      b = (words[1] >>> shift) * unit;
    } else if (distribution === "normal") {
      const radius = Math.sqrt(-2 * logUniform(words[0])),
        angle = words[1] * (2 * Math.PI / TWO_32);
      a = radius * Math.cos(angle);
      b = radius * Math.sin(angle);
    } else {
      a = truncated(words[0]);
      b = truncated(words[1]);
    }
    store(data, i, a as Num);
    if (i + 1 < n) store(data, i + 1, b as Num);
  }
}

export function keyOf(seed: NdArray): [number, number] {
  if (!isBigInt(seed.dtype)) {
    const d = seed.data as Int32Array;
    return [d[0] | 0, d[1] | 0];
  }
  const d = seed.data as BigInt64Array;
  return [Number(BigInt.asIntN(32, d[0])), Number(BigInt.asIntN(32, d[1]))];
}

/** Returns the logarithm of the word as a number between 0 and 1, both excluded. */
export function logUniform(word: number): number {
  return Math.log1p(-(TWO_32 - 1 - word + 0.5) / TWO_32);
}

function truncated(word: number): number {
  return Math.SQRT2 * inverseErf(((word - 2 ** 31) + 0.5) * 2 ** -31 * TRUNCATED_MASS);
}

/** Coefficients of Giles' approximation of the inverse error function where |x| < 0.9966, highest power first. */
export const INVERSE_ERF = [
  2.81022636e-08,
  3.43273939e-07,
  -3.5233877e-06,
  -4.39150654e-06,
  0.00021858087,
  -0.00125372503,
  -0.00417768164,
  0.246640727,
  1.50140941,
] as const;

function inverseErf(x: number): number {
  const w = -Math.log((1 - x) * (1 + x)) - 2.5;
  let p = 0;
  for (const c of INVERSE_ERF) p = p * w + c;
  return p * x;
}

/** Fills with integers in `[low, high)`, or of full range without bounds. */
export function drawIntsCpu(out: NdArray, seed: NdArray, low?: NdArray, high?: NdArray): void {
  const [k0, k1] = keyOf(seed);
  const words = new Uint32Array(2);
  const n = out.size;
  if (isBigInt(out.dtype)) {
    const data = out.data as BigInt64Array;
    const min = low ? low.item() as bigint : 0n,
      range = high ? (high.item() as bigint) - min : 1n << 64n;
    const fit = out.dtype === "int64" ? BigInt.asIntN : BigInt.asUintN;
    for (let i = 0; i < n; i++) {
      threefry(k0, k1, i, 0, words);
      const bits = (BigInt(words[0]) << 32n) | BigInt(words[1]);
      data[i] = fit(64, min + bits % range);
    }
    return;
  }
  const data = out.data as Int32Array;
  const min = low ? Number(low.item()) : 0;
  const range = high ? (Number(high.item()) - min) >>> 0 : 0;
  for (let i = 0; i < n; i += 2) {
    threefry(k0, k1, i >>> 1, 0, words);
    data[i] = range === 0 ? words[0] : min + words[0] % range;
    if (i + 1 < n) data[i + 1] = range === 0 ? words[1] : min + words[1] % range;
  }
}

/** Draws `samples` indices for each row of logits, with the probabilities of a softmax. */
export function multinomialCpu(logits: NdArray, seed: NdArray, out: NdArray): void {
  const [k0, k1] = keyOf(seed);
  const words = new Uint32Array(2);
  const [batch, classes] = logits.shape, samples = out.shape[1];
  const x = numbersOf(logits), sums = new Float64Array(classes);
  for (let b = 0, i = 0; b < batch; b++) {
    const first = b * classes;
    let most = -Infinity, total = 0;
    for (let c = 0; c < classes; c++) if (x[first + c] > most) most = x[first + c];
    for (let c = 0; c < classes; c++) sums[c] = total += Math.exp(x[first + c] - most);
    for (const end = i + samples; i < end; i++) {
      // Two draws share a counter.
      if ((i & 1) === 0 || i + samples === end) threefry(k0, k1, i >>> 1, 0, words);
      const target = (words[i & 1] >>> 8) * 2 ** -24 * total;
      let low = 0, high = classes - 1;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (sums[middle] > target) high = middle;
        else low = middle + 1;
      }
      setWhole(out, i, low);
    }
  }
}

/**
 * Draws numbers with the gamma distribution of shape `alpha` (broadcast along the end) and rate 1, after Marsaglia and
 * Tsang.
 */
export function gammaCpu(alpha: NdArray, seed: NdArray, out: NdArray): void {
  const [k0, k1] = keyOf(seed);
  const words = new Uint32Array(2);
  for (let i = 0, n = out.size; i < n; i++) {
    const a = Number(alpha.at(i % alpha.size));
    // Below 1 a number for alpha + 1 is scaled by a power of a uniform one.
    const d = (a < 1 ? a + 1 : a) - 1 / 3, c = 1 / Math.sqrt(9 * d);
    let value = 0;
    for (let attempt = 1;; attempt += 2) {
      threefry(k0, k1, i, attempt, words);
      const radius = Math.sqrt(-2 * logUniform(words[0]));
      const x = radius * Math.cos(words[1] * (2 * Math.PI / TWO_32));
      const v = (1 + c * x) ** 3;
      threefry(k0, k1, i, attempt + 1, words);
      if (v > 0 && logUniform(words[0]) < 0.5 * x * x + d * (1 - v + Math.log(v))) {
        value = d * v * (a < 1 ? Math.exp(logUniform(words[1]) / a) : 1);
        break;
      }
    }
    setElement(out, i, value);
  }
}
