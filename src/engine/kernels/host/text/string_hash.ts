/**
 * The fast hash of strings, equal to TensorFlow's: FarmHash's 64-bit fingerprint (after the published algorithm, Geoff Pike, FarmHash,
 * variant "na").
 */
import {
  add,
  carry,
  copy,
  half,
  load,
  mix,
  numberOf,
  productHigh,
  put,
  registersOf,
  times,
  turn,
  xor,
} from "./words.ts";
export { sipHash } from "./keyed_hash.ts";

/** Halves of the second multiplier, and of the first for the shortest strings. */
const K2_LOW = 0x2f90404f,
  K2_HIGH = 0x9ae16a3b | 0,
  K0_LOW = 0x97cb3127 | 0,
  K0_HIGH = 0xc3a5c85c | 0;

/** A hash of bytes, whose number of 64 bits lies in two halves, the lower one first. */
export interface Hash {
  readonly of: (bytes: Uint8Array) => void;
  readonly halves: Int32Array;
}

const halves = new Int32Array(2);

/** Mixes two numbers by a multiplier; the result is that of the hash. */
function join(uh: number, ul: number, vh: number, vl: number, kh: number, kl: number): void {
  let low = ul ^ vl, high = uh ^ vh;
  high = productHigh(high, low, kh, kl);
  low = Math.imul(low, kl) ^ high >>> 15;
  low ^= vl;
  high ^= vh;
  high = productHigh(high, low, kh, kl);
  low = Math.imul(low, kl) ^ high >>> 15;
  halves[1] = productHigh(high, low, kh, kl);
  halves[0] = Math.imul(low, kl);
}

function upTo3(bytes: Uint8Array, n: number): void {
  const y = bytes[0] | bytes[n >> 1] << 8, z = n + (bytes[n - 1] << 2);
  let low = Math.imul(y, K2_LOW) ^ Math.imul(z, K0_LOW);
  const high = productHigh(0, y, K2_HIGH, K2_LOW) ^ productHigh(0, z, K0_HIGH, K0_LOW);
  low ^= high >>> 15;
  halves[1] = productHigh(high, low, K2_HIGH, K2_LOW);
  halves[0] = Math.imul(low, K2_LOW);
}

function upTo16(bytes: Uint8Array, n: number): void {
  const kl = K2_LOW + 2 * n, kh = K2_HIGH;
  const al = half(bytes, 0);
  if (n < 8) {
    const low = al << 3, sum = (n + low) | 0;
    return join((al >>> 29) + carry(sum, low), sum, 0, half(bytes, n - 4), kh, kl);
  }
  const bl = half(bytes, n - 8), bh = half(bytes, n - 4);
  const pl = (al + K2_LOW) | 0, ph = (half(bytes, 4) + K2_HIGH + carry(pl, al)) | 0;
  // b turned by 37, times k, plus a.
  const tl = bh >>> 5 | bl << 27, th = bl >>> 5 | bh << 27, ml = Math.imul(tl, kl);
  const cl = (ml + pl) | 0, ch = (productHigh(th, tl, kh, kl) + ph + carry(cl, ml)) | 0;
  // a turned by 25, plus b, times k.
  const sl = pl >>> 25 | ph << 7, dl = (sl + bl) | 0;
  const dh = ((ph >>> 25 | pl << 7) + bh + carry(dl, sl)) | 0;
  join(ch, cl, productHigh(dh, dl, kh, kl), Math.imul(dl, kl), kh, kl);
}

/** Names of registers: multipliers, small numbers, what longer strings carry along, and scratch. */
const K0 = 0,
  K1 = 1,
  K2 = 2,
  NINE = 3,
  SMALL = 4,
  SEED = 5,
  K = 6,
  X = 7,
  Y = 8,
  Z = 9,
  V0 = 10,
  V1 = 11,
  W0 = 12;
const W1 = 13, A = 14, B = 15, C = 16, D = 17, E = 18, F = 19, G = 20, H = 21, T = 22, U = 23;
const r = registersOf(24, 0xc3a5c85c97cb3127n, 0xb492b66fbe98f273n, 0x9ae16a3b2f90404fn, 9n);

/** Mixes registers into `to`; `u` and `v` are lost. */
function joinTo(to: number, u: number, v: number, k: number): void {
  xor(r, u, u, v);
  times(r, u, u, k);
  mix(r, u, u);
  xor(r, v, v, u);
  times(r, v, v, k);
  mix(r, v, v);
  times(r, to, v, k);
}

function finish(i: number): void {
  halves[0] = r[2 * i];
  halves[1] = r[2 * i + 1];
}

/** `to = turn(p + q, by)` */
function turnSum(to: number, p: number, q: number, by: number): void {
  add(r, to, p, q);
  turn(r, to, to, by);
}

function upTo64(bytes: Uint8Array, n: number): void {
  put(r, K, 2 * n);
  add(r, K, K, K2);
  load(r, A, bytes, 0);
  times(r, A, A, n <= 32 ? K1 : K2);
  load(r, B, bytes, 8);
  load(r, C, bytes, n - 8);
  times(r, C, C, K);
  load(r, D, bytes, n - 16);
  times(r, D, D, K2);
  turnSum(Y, A, B, 43);
  turn(r, T, C, 30);
  add(r, Y, Y, T);
  add(r, Y, Y, D);
  turnSum(Z, B, K2, 18);
  add(r, Z, Z, A);
  add(r, Z, Z, C);
  if (n <= 32) {
    joinTo(X, Y, Z, K);
    return finish(X);
  }
  load(r, E, bytes, 16);
  times(r, E, E, K);
  load(r, F, bytes, 24);
  load(r, G, bytes, n - 32);
  add(r, G, G, Y);
  times(r, G, G, K);
  joinTo(H, Y, Z, K);
  load(r, T, bytes, n - 24);
  add(r, H, H, T);
  times(r, H, H, K);
  turnSum(Y, E, F, 43);
  turn(r, T, G, 30);
  add(r, Y, Y, T);
  add(r, Y, Y, H);
  turnSum(Z, F, A, 18);
  add(r, Z, Z, E);
  add(r, Z, Z, G);
  joinTo(X, Y, Z, K);
  finish(X);
}

/** Mixes 32 bytes into a pair of registers that begins with A and B. */
function pair(first: number, second: number, bytes: Uint8Array, at: number): void {
  load(r, T, bytes, at);
  add(r, A, A, T);
  load(r, U, bytes, at + 24);
  add(r, B, B, A);
  turnSum(B, B, U, 21);
  copy(r, C, A);
  load(r, T, bytes, at + 8);
  add(r, A, A, T);
  load(r, T, bytes, at + 16);
  add(r, A, A, T);
  turn(r, T, A, 44);
  add(r, B, B, T);
  add(r, first, A, U);
  add(r, second, B, C);
}

/** Mixes 64 bytes; `k` multiplies, `by` what it adds from the last ones. */
function block(bytes: Uint8Array, at: number, k: number, isLast: boolean): void {
  add(r, T, X, Y);
  add(r, T, T, V0);
  load(r, U, bytes, at + 8);
  turnSum(T, T, U, 37);
  times(r, X, T, k);
  add(r, T, Y, V1);
  load(r, U, bytes, at + 48);
  turnSum(T, T, U, 42);
  times(r, Y, T, k);
  if (isLast) {
    times(r, T, W1, NINE);
    xor(r, X, X, T);
    times(r, T, V0, NINE);
  } else {
    xor(r, X, X, W1);
    copy(r, T, V0);
  }
  add(r, Y, Y, T);
  load(r, T, bytes, at + 40);
  add(r, Y, Y, T);
  turnSum(T, Z, W0, 33);
  times(r, Z, T, k);
  times(r, A, V1, k);
  add(r, B, X, W0);
  pair(V0, V1, bytes, at);
  add(r, A, Z, W1);
  load(r, B, bytes, at + 16);
  add(r, B, B, Y);
  pair(W0, W1, bytes, at + 32);
  copy(r, T, Z);
  copy(r, Z, X);
  copy(r, X, T);
}

function long(bytes: Uint8Array, n: number): void {
  put(r, SEED, 81);
  put(r, SMALL, 113);
  times(r, Y, SEED, K1);
  add(r, Y, Y, SMALL);
  times(r, Z, Y, K2);
  add(r, Z, Z, SMALL);
  mix(r, Z, Z);
  times(r, Z, Z, K2);
  load(r, T, bytes, 0);
  times(r, X, SEED, K2);
  add(r, X, X, T);
  for (const i of [V0, V1, W0, W1]) put(r, i, 0);
  const end = Math.floor((n - 1) / 64) * 64;
  for (let at = 0; at < end; at += 64) block(bytes, at, K1, false);
  put(r, K, (r[2 * Z] & 0xff) << 1);
  add(r, K, K, K1);
  put(r, T, (n - 1) & 63);
  add(r, W0, W0, T);
  add(r, V0, V0, W0);
  add(r, W0, W0, V0);
  block(bytes, n - 64, K, true);
  joinTo(D, V0, W0, K);
  mix(r, T, Y);
  times(r, T, T, K0);
  add(r, D, D, T);
  add(r, D, D, Z);
  joinTo(E, V1, W1, K);
  add(r, E, E, X);
  joinTo(X, D, E, K);
  finish(X);
}

/** The hash of TensorFlow's fast buckets and of fingerprints. */
export const farmHash: Hash = {
  halves,
  of(bytes: Uint8Array): void {
    const n = bytes.length;
    if (n > 64) long(bytes, n);
    else if (n > 16) upTo64(bytes, n);
    else if (n >= 4) upTo16(bytes, n);
    else if (n > 0) upTo3(bytes, n);
    else {
      halves[0] = K2_LOW;
      halves[1] = K2_HIGH;
    }
  },
};

/** Computes the 64-bit fingerprint of bytes. */
export function fingerprint64(bytes: Uint8Array): bigint {
  farmHash.of(bytes);
  return numberOf(halves, 0);
}
