/**
 * Hashes of strings, equal to TensorFlow's. Its fast one is FarmHash's 64-bit fingerprint (after the published
 * algorithm, Geoff Pike, FarmHash, variant "na").
 */
import { viewOf } from "../../../core/text.ts";

const MASK = (1n << 64n) - 1n;
const K0 = 0xc3a5c85c97cb3127n;
const K1 = 0xb492b66fbe98f273n;
const K2 = 0x9ae16a3b2f90404fn;

const wrap = (x: bigint): bigint => x & MASK;
const mul = (a: bigint, b: bigint): bigint => (a * b) & MASK;
const rotate = (
  x: bigint,
  by: bigint,
): bigint => (by === 0n ? x : ((x >> by) | (x << (64n - by))) & MASK);
const shiftMix = (x: bigint): bigint => x ^ (x >> 47n);

/** Computes the 64-bit fingerprint of bytes. */
export function fingerprint64(bytes: Uint8Array): bigint {
  const view = viewOf(bytes);
  const f64 = (at: number): bigint => view.getBigUint64(at, true);
  const f32 = (at: number): bigint => BigInt(view.getUint32(at, true));
  const n = bytes.length, length = BigInt(n);
  if (n <= 16) return upTo16(bytes, f64, f32, n, length);
  const k = wrap(K2 + length * 2n);
  if (n > 64) return long(f64, n);
  const a = mul(f64(0), n <= 32 ? K1 : K2), b = f64(8);
  const c = mul(f64(n - 8), k), d = mul(f64(n - 16), K2);
  const y = wrap(rotate(wrap(a + b), 43n) + rotate(c, 30n) + d);
  const z = wrap(a + rotate(wrap(b + K2), 18n) + c);
  if (n <= 32) return join(y, z, k);
  const e = mul(f64(16), k), f = f64(24), g = mul(wrap(y + f64(n - 32)), k);
  const h = mul(wrap(join(y, z, k) + f64(n - 24)), k);
  return join(
    wrap(rotate(wrap(e + f), 43n) + rotate(g, 30n) + h),
    wrap(e + rotate(wrap(f + a), 18n) + g),
    k,
  );
}

function join(u: bigint, v: bigint, k: bigint): bigint {
  const a = shiftMix(mul(u ^ v, k));
  return mul(shiftMix(mul(v ^ a, k)), k);
}

type Fetch = (at: number) => bigint;

function upTo16(bytes: Uint8Array, f64: Fetch, f32: Fetch, n: number, length: bigint): bigint {
  if (n >= 8) {
    const k = wrap(K2 + length * 2n);
    const a = wrap(f64(0) + K2), b = f64(n - 8);
    return join(wrap(mul(rotate(b, 37n), k) + a), mul(wrap(rotate(a, 25n) + b), k), k);
  }
  if (n >= 4) return join(wrap(length + (f32(0) << 3n)), f32(n - 4), wrap(K2 + length * 2n));
  if (n > 0) {
    const y = BigInt(bytes[0]) + (BigInt(bytes[n >> 1]) << 8n),
      z = length + (BigInt(bytes[n - 1]) << 2n);
    return mul(shiftMix(mul(y, K2) ^ mul(z, K0)), K2);
  }
  return K2;
}

function long(f64: Fetch, n: number): bigint {
  const seed = 81n;
  let x = seed;
  let y = wrap(seed * K1 + 113n);
  let z = mul(shiftMix(wrap(y * K2 + 113n)), K2);
  let v: [bigint, bigint] = [0n, 0n], w: [bigint, bigint] = [0n, 0n];
  x = wrap(x * K2 + f64(0));
  const pair = (at: number, a: bigint, b: bigint): [bigint, bigint] => {
    const [p, q, r, s] = [f64(at), f64(at + 8), f64(at + 16), f64(at + 24)];
    let aa = wrap(a + p);
    let bb = rotate(wrap(b + aa + s), 21n);
    const c = aa;
    aa = wrap(aa + q + r);
    bb = wrap(bb + rotate(aa, 44n));
    return [wrap(aa + s), wrap(bb + c)];
  };
  const end = Math.floor((n - 1) / 64) * 64;
  for (let at = 0; at < end; at += 64) {
    x = mul(rotate(wrap(x + y + v[0] + f64(at + 8)), 37n), K1);
    y = mul(rotate(wrap(y + v[1] + f64(at + 48)), 42n), K1);
    x ^= w[1];
    y = wrap(y + v[0] + f64(at + 40));
    z = mul(rotate(wrap(z + w[0]), 33n), K1);
    v = pair(at, mul(v[1], K1), wrap(x + w[0]));
    w = pair(at + 32, wrap(z + w[1]), wrap(y + f64(at + 16)));
    [z, x] = [x, z];
  }
  const k = wrap(K1 + ((z & 0xffn) << 1n));
  const at = n - 64;
  w[0] = wrap(w[0] + BigInt((n - 1) & 63));
  v[0] = wrap(v[0] + w[0]);
  w[0] = wrap(w[0] + v[0]);
  x = mul(rotate(wrap(x + y + v[0] + f64(at + 8)), 37n), k);
  y = mul(rotate(wrap(y + v[1] + f64(at + 48)), 42n), k);
  x ^= mul(w[1], 9n);
  y = wrap(y + mul(v[0], 9n) + f64(at + 40));
  z = mul(rotate(wrap(z + w[0]), 33n), k);
  v = pair(at, mul(v[1], k), wrap(x + w[0]));
  w = pair(at + 32, wrap(z + w[1]), wrap(y + f64(at + 16)));
  [z, x] = [x, z];
  return join(
    wrap(join(v[0], w[0], k) + mul(shiftMix(y), K0) + z),
    wrap(join(v[1], w[1], k) + x),
    k,
  );
}

/** Computes TensorFlow's first hash of strings, after MurmurHash64A (Austin Appleby). */
export function hash64(bytes: Uint8Array): bigint {
  const m = 0xc6a4a7935bd1e995n, view = viewOf(bytes);
  let h = 0xdecafcaffen ^ mul(BigInt(bytes.length), m), at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const k = shiftMix(mul(view.getBigUint64(at, true), m));
    h = mul(h ^ mul(k, m), m);
  }
  if (at < bytes.length) h = mul(h ^ tailOf(bytes, at), m);
  return shiftMix(mul(shiftMix(h), m));
}

/** Computes SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012). */
export function sipHash(bytes: Uint8Array, [k0, k1]: readonly [bigint, bigint]): bigint {
  const view = viewOf(bytes);
  let a = k0 ^ 0x736f6d6570736575n, b = k1 ^ 0x646f72616e646f6dn;
  let c = k0 ^ 0x6c7967656e657261n, d = k1 ^ 0x7465646279746573n;
  const left = (x: bigint, by: bigint): bigint => rotate(x, 64n - by);
  const rounds = (count: number): void => {
    for (; count > 0; count--) {
      a = wrap(a + b), c = wrap(c + d);
      b = left(b, 13n) ^ a, d = left(d, 16n) ^ c;
      a = wrap(left(a, 32n) + d), c = wrap(c + b);
      b = left(b, 17n) ^ c, d = left(d, 21n) ^ a;
      c = left(c, 32n);
    }
  };
  const take = (word: bigint): void => {
    d ^= word;
    rounds(2);
    a ^= word;
  };
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) take(view.getBigUint64(at, true));
  take(tailOf(bytes, at) | BigInt(bytes.length & 0xff) << 56n);
  c ^= 0xffn;
  rounds(4);
  return a ^ b ^ c ^ d;
}

/** Reads the bytes from an offset on as one little-endian number. */
function tailOf(bytes: Uint8Array, at: number): bigint {
  let word = 0n;
  for (let i = bytes.length - 1; i >= at; i--) word = word << 8n | BigInt(bytes[i]);
  return word;
}
