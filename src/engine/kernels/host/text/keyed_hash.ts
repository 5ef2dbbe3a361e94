/** Other hashes of strings, equal to TensorFlow's: SipHash, which takes a key, and the hash of its first version. */
import type { Hash } from "./string_hash.ts";
import {
  carry,
  half,
  load,
  mix,
  numberOf,
  productHigh,
  put,
  registersOf,
  times,
  xor,
} from "./words.ts";

/** Reads the bytes from an offset on, fewer than eight, and `last` above them all. */
function loadTail(r: Int32Array, to: number, bytes: Uint8Array, at: number, last: number): void {
  put(r, to, 0);
  for (let i = at; i < bytes.length; i++) {
    r[2 * to + (i - at >> 2)] |= bytes[i] << 8 * (i - at & 3);
  }
  r[2 * to + 1] |= last << 24;
}

/** Returns SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) by a key of two numbers of 64 bits. */
export function sipHashBy([k0, k1]: readonly [bigint, bigint]): Hash {
  const halves = new Int32Array(2), word = new Int32Array(2);
  const first = registersOf(
    4,
    k0 ^ 0x736f6d6570736575n,
    k1 ^ 0x646f72616e646f6dn,
    k0 ^ 0x6c7967656e657261n,
    k1 ^ 0x7465646279746573n,
  );
  const of = (bytes: Uint8Array): void => {
    // Halves of the four numbers, in names of their own: elements of arrays take five times as long.
    let al = first[0], ah = first[1], bl = first[2], bh = first[3];
    let cl = first[4], ch = first[5], dl = first[6], dh = first[7];
    const n = bytes.length, words = n >>> 3;
    for (let i = 0; i <= words + 1; i++) {
      const isLast = i > words;
      let low = 0, high = 0;
      if (isLast) cl ^= 0xff;
      else {
        if (i < words) {
          low = half(bytes, 8 * i);
          high = half(bytes, 8 * i + 4);
        } else {
          loadTail(word, 0, bytes, 8 * i, n & 0xff);
          low = word[0];
          high = word[1];
        }
        dl ^= low;
        dh ^= high;
      }
      for (let round = isLast ? 4 : 2; round > 0; round--) {
        let sum = (al + bl) | 0, held = bl;
        ah = (ah + bh + carry(sum, al)) | 0, al = sum;
        sum = (cl + dl) | 0;
        ch = (ch + dh + carry(sum, cl)) | 0, cl = sum;
        bl = (bl << 13 | bh >>> 19) ^ al, bh = (bh << 13 | held >>> 19) ^ ah;
        held = dl;
        dl = (dl << 16 | dh >>> 16) ^ cl, dh = (dh << 16 | held >>> 16) ^ ch;
        held = al;
        sum = (ah + dl) | 0;
        al = sum, ah = (held + dh + carry(sum, dl)) | 0;
        sum = (cl + bl) | 0;
        ch = (ch + bh + carry(sum, cl)) | 0, cl = sum;
        held = bl;
        bl = (bl << 17 | bh >>> 15) ^ cl, bh = (bh << 17 | held >>> 15) ^ ch;
        held = dl;
        dl = (dl << 21 | dh >>> 11) ^ al, dh = (dh << 21 | held >>> 11) ^ ah;
        held = cl, cl = ch, ch = held;
      }
      al ^= low;
      ah ^= high;
    }
    halves[0] = al ^ bl ^ cl ^ dl;
    halves[1] = ah ^ bh ^ ch ^ dh;
  };
  return { of, halves };
}

/** Computes SipHash of bytes. */
export function sipHash(bytes: Uint8Array, key: readonly [bigint, bigint]): bigint {
  const hash = sipHashBy(key);
  hash.of(bytes);
  return numberOf(hash.halves, 0);
}

const M = 0, H = 1, K = 2;
const murmur = registersOf(3, 0xc6a4a7935bd1e995n);
const START_LOW = 0xcafcaffe | 0, START_HIGH = 0xde;
const murmurHalves = new Int32Array(2);

/** TensorFlow's first hash of strings, after MurmurHash64A (Austin Appleby). */
export const murmurHash: Hash = {
  halves: murmurHalves,
  of(bytes: Uint8Array): void {
    const r = murmur, n = bytes.length;
    r[2 * H + 1] = productHigh(0, n, r[1], r[0]) ^ START_HIGH;
    r[2 * H] = Math.imul(n, r[0]) ^ START_LOW;
    let at = 0;
    for (; at + 8 <= n; at += 8) {
      load(r, K, bytes, at);
      times(r, K, K, M);
      mix(r, K, K);
      times(r, K, K, M);
      xor(r, H, H, K);
      times(r, H, H, M);
    }
    if (at < n) {
      loadTail(r, K, bytes, at, 0);
      xor(r, H, H, K);
      times(r, H, H, M);
    }
    mix(r, H, H);
    times(r, H, H, M);
    mix(r, H, H);
    murmurHalves[0] = r[2 * H];
    murmurHalves[1] = r[2 * H + 1];
  },
};
