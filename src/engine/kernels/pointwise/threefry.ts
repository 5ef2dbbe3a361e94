/**
 * Threefry2x32 with 20 rounds: random bits as a pure function of a key and a counter, the same on every device.
 * After Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
 */

export const ROTATIONS = [13, 15, 26, 6, 17, 29, 16, 24] as const;
/** Constant of the third word of the key. */
export const PARITY = 0x1bd11bda;

/** A key or a pair of results: two 32-bit words. */
export type Words = readonly [number, number];

/** Writes the two words for counter (c0, c1) to `out`. */
export function threefry(k0: number, k1: number, c0: number, c1: number, out: Uint32Array): void {
  const k2 = PARITY ^ k0 ^ k1;
  let x = (c0 + k0) | 0, y = (c1 + k1) | 0;
  x = (x + y) | 0, y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0, y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0, y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0, y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + k1) | 0, y = (y + k2 + 1) | 0;
  x = (x + y) | 0, y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0, y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0, y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0, y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + k2) | 0, y = (y + k0 + 2) | 0;
  x = (x + y) | 0, y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0, y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0, y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0, y = ((y << 6) | (y >>> 26)) ^ x;
  x = (x + k0) | 0, y = (y + k1 + 3) | 0;
  x = (x + y) | 0, y = ((y << 17) | (y >>> 15)) ^ x;
  x = (x + y) | 0, y = ((y << 29) | (y >>> 3)) ^ x;
  x = (x + y) | 0, y = ((y << 16) | (y >>> 16)) ^ x;
  x = (x + y) | 0, y = ((y << 24) | (y >>> 8)) ^ x;
  x = (x + k1) | 0, y = (y + k2 + 4) | 0;
  x = (x + y) | 0, y = ((y << 13) | (y >>> 19)) ^ x;
  x = (x + y) | 0, y = ((y << 15) | (y >>> 17)) ^ x;
  x = (x + y) | 0, y = ((y << 26) | (y >>> 6)) ^ x;
  x = (x + y) | 0, y = ((y << 6) | (y >>> 26)) ^ x;
  out[0] = x + k2;
  out[1] = y + k0 + 5;
}

export function threefryWords(key: Words, counter: Words): Words {
  const out = new Uint32Array(2);
  threefry(key[0], key[1], counter[0], counter[1], out);
  return [out[0], out[1]];
}
