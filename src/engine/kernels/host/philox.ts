/**
 * Philox4x32 with 10 rounds and TensorFlow's numbers from its words, so that the same key draws the same. After Salmon,
 * Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
 */
import { type DType, DTYPES, isBigInt } from "../../core/dtype.ts";
import type { Distribution } from "../../core/meaning.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";

/** Returns the high half of the product of two words. */
function high(a: number, b: number): number {
  const al = a & 0xffff, ah = a >>> 16, bl = b & 0xffff, bh = b >>> 16;
  const middle = ah * bl + (al * bl >>> 16), other = al * bh + (middle & 0xffff);
  return ah * bh + Math.floor(middle / 65536) + Math.floor(other / 65536) >>> 0;
}

/** A sequence of words: four for each counter, which goes up by one. */
export class Philox {
  readonly #key: readonly [number, number];
  readonly #first: Uint32Array;
  /** The next counter, the lowest word first. */
  readonly #counter: Uint32Array;
  #used = 4;
  readonly #words = new Uint32Array(4);

  /** `counter` has 128 bits, of which the lowest come first. */
  constructor(key: bigint, counter: bigint) {
    this.#key = [Number(key & 0xffffffffn), Number(key >> 32n)];
    this.#first = Uint32Array.from([0n, 32n, 64n, 96n], (n) => Number(counter >> n & 0xffffffffn));
    this.#counter = this.#first.slice();
  }

  /** Moves to so many counters after the first. */
  seek(counters: number): void {
    this.#counter.set(this.#first);
    this.#add(counters >>> 0, 0);
    this.#add(Math.floor(counters / 2 ** 32), 1);
    this.#used = 4;
  }

  /** The next word. */
  next(): number {
    if (this.#used === 4) this.#block();
    return this.#words[this.#used++];
  }

  /** Adds to a word of the counter, and what is carried to those above. */
  #add(value: number, word: number): void {
    const counter = this.#counter;
    for (let carried = value; carried > 0 && word < 4; word++) {
      const sum = counter[word] + carried;
      counter[word] = sum;
      carried = Math.floor(sum / 2 ** 32);
    }
  }

  #block(): void {
    let [c0, c1, c2, c3] = this.#counter, [k0, k1] = this.#key;
    for (let round = 0; round < 10; round++) {
      const l0 = Math.imul(0xd2511f53, c0), h0 = high(0xd2511f53, c0);
      const l1 = Math.imul(0xcd9e8d57, c2), h1 = high(0xcd9e8d57, c2);
      c0 = (h1 ^ c1 ^ k0) >>> 0, c1 = l1 >>> 0;
      c2 = (h0 ^ c3 ^ k1) >>> 0, c3 = l0 >>> 0;
      k0 = k0 + 0x9e3779b9 >>> 0, k1 = k1 + 0xbb67ae85 >>> 0;
    }
    const words = this.#words;
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
    this.#add(1, 0);
    this.#used = 0;
  }
}

/** Joins two words to 64 bits, the lower first. */
const joined = (low: number, top: number): bigint => BigInt(top) << 32n | BigInt(low);

/** Returns the key and the two halves of the counter for a seed. */
export function keyAndCounter(seed: readonly [bigint, bigint]): readonly [bigint, bigint, bigint] {
  const counter = BigInt.asUintN(64, seed[1]) << 64n | BigInt.asUintN(64, seed[0]);
  const mix = new Philox(0x02461e293ec8f720n, counter);
  const key = joined(mix.next(), mix.next());
  return [key, 0n, joined(mix.next(), mix.next())];
}

/** Draws a number of `[0, 1)`, with as many bits as the dtype's fraction has. */
export function uniform(from: Philox, dtype: DType): number {
  const word = from.next();
  if (dtype === "float64") return ((word & 0xfffff) * 2 ** 32 + from.next()) / 2 ** 52;
  const unit = 2 ** DTYPES[dtype].float!.fraction;
  return (word & unit - 1) / unit;
}

/** Draws two normal numbers, by Box and Muller. Halves are computed in single precision. */
export function normalPair(from: Philox, isDouble: boolean): readonly [number, number] {
  const round = isDouble ? (x: number) => x : Math.fround, dtype = isDouble ? "float64" : "float32";
  const size = Math.max(uniform(from, dtype), round(1e-7));
  const angle = round(2 * Math.PI * uniform(from, dtype));
  const radius = round(Math.sqrt(round(-2 * round(Math.log(size)))));
  return [round(round(Math.sin(angle)) * radius), round(round(Math.cos(angle)) * radius)];
}

export function philoxReals(out: NdArray, from: Philox, distribution: Distribution): void {
  const isDouble = out.dtype === "float64", group = isDouble ? 2 : 4;
  if (distribution === "uniform") {
    for (let i = 0; i < out.size; i++) setElement(out, i, uniform(from, out.dtype));
    return;
  }
  const isCut = distribution === "truncated";
  for (let first = 0; first < out.size; first += group) {
    const end = Math.min(out.size, first + group);
    // Each group may reject so many words that those of the next keep their positions.
    if (isCut) from.seek(first * 64);
    for (let i = first; i < end;) {
      for (const x of normalPair(from, isDouble)) {
        if (i < end && (!isCut || Math.abs(x) < 2)) setElement(out, i++, x);
      }
    }
  }
}

/** Fills `out` with integers in `[low, high)`, or of full range without bounds. */
export function philoxInts(out: NdArray, from: Philox, low?: NdArray, high?: NdArray): void {
  const bits = isBigInt(out.dtype) ? 64 : 32;
  const min = low ? BigInt(low.item() as number) : 0n;
  const range = high
    ? BigInt.asUintN(bits, BigInt(high.item() as number) - min)
    : 1n << BigInt(bits);
  for (let i = 0; i < out.size; i++) {
    const word = from.next(), drawn = bits === 64 ? joined(word, from.next()) : BigInt(word);
    const value = min + drawn % range;
    setElement(out, i, bits === 64 ? value : Number(BigInt.asIntN(32, value)));
  }
}
