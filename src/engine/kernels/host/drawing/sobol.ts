/** Points of Sobol: sequences that fill a cube evenly, by the direction numbers of Joe and Kuo (2008). */
import type { NdArray } from "../../../core/nd_array.ts";
import { UnimplementedError } from "../../../core/errors.ts";

/** Dimensions that have direction numbers. */
export const MOST_DIMENSIONS = 256;

/**
 * First direction numbers of the dimensions after the first, as many as the degree of its polynomial. All are odd and the i-th is below
 * 2 ** i, so that it takes i - 1 bits.
 */
const FIRST =
  "wE7JQkTsoACuX2HgelTbgcxTsxKfe2fP5jxHHF/QGNTJHWLfHqzR7ETRPAkDpkumY5TawN8t0iEtRJXAZsPeuN5iodoT" +
  "+Zj1v/X2Eqlm+S7WMI/RaC3OPgTwSUHMpKjp3oQsuUuSdH68+xpCvw4A3Vyx3CEkcW/91FLVqFlyF63faINghEFEywVX" +
  "Fhz2fyKqH2i2qjsOdqvNlAd/36aYjcDZ995St52xigdl01cALWvvkk6o3E9ClBqAKC9Y4PvbglQZQKd5hv/nQX7Fp+SC" +
  "fX7snb0vMgrGurfqEBhtFYeHOQYhKdaM6vA7X/4xjvtKswiAXPiUUXBwyeKZdIzhVvfGUPouGTpyxdvkeiVYtGxK+ZYX" +
  "nFyhjxvBPM01gOAEJJF7O9Tg3izLaoOvSUS8NdWjUzsoYqBvCd/nELzUwm5FLZdLS3D5jdQf3ekolnTZX0kHqTOQkuLe" +
  "5Wim//Q3nGg6/jZKzkuHwtT39JhEIJcMp6GUn6kj/xyrPinGmCX+CpHSMBOfxOBfG3Uh+qHqXbLp7k8SwFwi27n1+g6p" +
  "MJGcamBt98jgmqif59Wtonw3IZ3DYQ6Nos1vEpGVnacRu2taEQLlxfIYyXHTYvc1uydUqlTKpyUX3kh45xoCzi9ZKeyw" +
  "dNoZNWVPz0FZu4X0hQPwcsys56mDODeXcxJIDuhW4gZqn9p27SzH+Vgxgvlhk1HxIk3H4e0WC9/cX0HiRbgL4wCz82Iy" +
  "bZfGaWfuImac2QlqACNiIC3ezm9xjQarXhYlSj7rK18mrv9Cewzgf5zeCevO3n0WFRJJzLriB3p4/oUyQfJLpewTb8sp" +
  "MIDNsUWzZ747DXxKvyk/1+rqps9LY/VsntYyMAJdZU0mvTbI+d9cFXKn6Kiee89F/Mu2gzCOxzLPfuOHpwITq9FddQ7e" +
  "IxrmjbksmpcllQZDyYtZkAeh1r3Ym16ICbtY2aOboR1xdsIM7ynhG6XuC2LFbM8AQHYxyHYGvOFhWg45yt7a6/HBf0Xe" +
  "/vAxNsGiLwIcEZxRD0bYuZj3YccYa2bOrCbFG4RLafe91jrU83Su1rvD2LrNpcKMba/ITUgFtV3cJWPknS/lbsAEN61c" +
  "H4FyE3Q3A0on3MiZuKex0WyCfbT78YCK43aYuYsstWHRkUwuUZaM1jagBTO7yRRO/3HuDCFO4wHVyrxr/U79/QRSMe8E" +
  "sbPxBdy7Ebx4r/fISxDA9jKxkqSyX55lSiC5E/7ZslkVA1j/ltWXcGHZw8wqaCl8YmtLQy5KjpcWCgwCkbYaJT8Js2tx" +
  "WYuu6o2lD+AWfEVSVqU+ojIMUKLYoKryEOOKoTKM6xJ7rO2RVOZ/KZZ83u2N5YKr5RmixnfStSzBDqPOF2GGyLAwvF5d" +
  "0FRvQGILmtQZX0zlqNjcEjbxRU2CND2PTW8gMB5/Gk9YyO1Vq2gI0aRCSBy+2K9yUev1MRi7U2tpPCr/ZSQi1JG8mjth" +
  "ot376wxPZL2aw0wvKvO91Ra799H7WgkE/hlpi87+BAW/flfE58zTE59uSwur+c34lKb5vQhWriSJ1Yz9+tomWAslW2C6" +
  "Qy6l0iaASHxk36m7MMGQ5su/pj+rO+Iz9OrfP5vsr3CpSn7BR531bqZTTJSIeoMhEUEAIFUiFoyYgrevIv9mJVJ9MTG0" +
  "BZSgMKU3s+eO2uOufxxpIJFEXhkn9ZILykSGvKeBSuadn8z3IHl3/3GhqWD4zASrmzSbv/czwaGZLgh57QsnpROpCQjs" +
  "fAmmdT1PwSM6psVd64UhahGGves";

const BITS = 32;

/** Returns the degrees of the first primitive polynomials over two elements, and their bits. */
function polynomials(count: number): [degree: number, bits: number][] {
  const found: [number, number][] = [];
  for (let degree = 1; found.length < count; degree++) {
    for (let bits = (1 << degree) | 1; bits < 2 << degree; bits += 2) {
      let power = 1, order = 0;
      do {
        power <<= 1;
        if (power >> degree) power ^= bits;
        order++;
      } while (power > 1 && order < 1 << degree);
      if (power === 1 && order === (1 << degree) - 1) found.push([degree, bits]);
    }
  }
  return found.slice(0, count);
}

/** Returns the directions of each dimension, as parts of 2 ** 32. */
function directions(dims: number): Uint32Array[] {
  const packed = atob(FIRST), all = [new Uint32Array(BITS).map((_, k) => 2 ** (BITS - 1 - k))];
  let at = 0;
  const read = (count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++, at++) {
      value = 2 * value + ((packed.charCodeAt(at >> 3) >> (7 - (at & 7))) & 1);
    }
    return value;
  };
  for (const [degree, bits] of polynomials(dims - 1)) {
    const own = new Uint32Array(BITS);
    for (let k = 0; k < degree; k++) own[k] = (2 * read(k) + 1) * 2 ** (BITS - 1 - k);
    for (let k = degree; k < BITS; k++) {
      own[k] = own[k - degree] ^ (own[k - degree] >>> degree);
      for (let i = 1; i < degree; i++) if ((bits >> (degree - i)) & 1) own[k] ^= own[k - i];
    }
    all.push(own);
  }
  return all;
}

/** Writes points in the order of Gray's code, from the one after `skip` on. */
export function sobolPoints(out: NdArray, skip: number): void {
  const [count, dims] = out.shape, data = out.data as Float32Array;
  if (dims > MOST_DIMENSIONS) {
    throw new UnimplementedError(
      `Cannot draw points of ${dims} dimensions: wanted at most ${MOST_DIMENSIONS}`,
    );
  }
  const steps = directions(dims), point = new Uint32Array(dims);
  for (let k = 0, gray = skip ^ (skip >>> 1); gray !== 0; k++, gray >>>= 1) {
    if (gray & 1) { for (let d = 0; d < dims; d++) point[d] ^= steps[d][k]; }
  }
  for (let i = 0; i < count; i++) {
    // The lowest bit of the number before that is 0.
    const bit = 31 - Math.clz32(~(skip + i) & (skip + i + 1));
    for (let d = 0; d < dims; d++) {
      data[i * dims + d] = ((point[d] ^= steps[d][bit]) >>> 0) / 2 ** BITS;
    }
  }
}
