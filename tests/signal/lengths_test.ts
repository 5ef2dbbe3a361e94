/** Fourier transforms of rows of any length beside sums in float64, and their adjoints beside the transforms. */
import { assert, assertEquals } from "@std/assert";
import type { NdArray } from "../../src/engine/core/nd_array.ts";
import {
  fftCpu,
  irfftAdjointCpu,
  irfftCpu,
  rfftAdjointCpu,
  rfftCpu,
} from "../../src/engine/kernels/host/spectral/rows.ts";

const LENGTHS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 30, 31, 60, 64, 97, 128],
  ...[1000, 1009, 1024, 4096],
];

type Data = Float32Array | Float64Array;

/** Rows of `width` real or complex numbers that look random. */
function rows(
  count: number,
  width: number,
  parts: 1 | 2,
  made: Data = new Float64Array(count * width * parts),
): NdArray {
  for (let i = 0; i < made.length; i++) made[i] = Math.sin(i * i * 0.7 + i);
  const wide = made instanceof Float64Array;
  const dtype = parts === 1 ? (wide ? "float64" : "float32") : wide ? "complex128" : "complex64";
  return { dtype, shape: [count, width], data: made } as unknown as NdArray;
}

const sum = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
};
const values = ({ data }: NdArray): Data => data as Data;

/** Distance of a transform from the sums that define it, relative to them, at a few bins of each row. */
function distance(x: NdArray, y: NdArray, sign: 1 | -1, scale: number): number {
  const [count, n] = x.shape, a = values(x), b = values(y);
  let far = 0, all = 0;
  for (let r = 0; r < count; r++) {
    for (let k = 0; k < n; k += Math.max(1, Math.floor(n / 40))) {
      let re = 0, im = 0;
      for (let j = 0; j < n; j++) {
        const angle = sign * 2 * Math.PI * ((j * k) % n) / n,
          c = Math.cos(angle),
          s = Math.sin(angle);
        const p = 2 * (r * n + j);
        re += a[p] * c - a[p + 1] * s;
        im += a[p] * s + a[p + 1] * c;
      }
      const o = 2 * (r * n + k);
      far += (b[o] - re * scale) ** 2 + (b[o + 1] - im * scale) ** 2;
      all += (re * re + im * im) * scale * scale;
    }
  }
  return Math.sqrt(far / all);
}

Deno.test("transforms of complex rows are their sums, in both precisions", () => {
  for (const n of LENGTHS) {
    for (const count of [1, 3]) {
      const x = rows(count, n, 2), y = rows(count, n, 2);
      const narrow = rows(count, n, 2, new Float32Array(2 * count * n)),
        out = rows(count, n, 2, new Float32Array(2 * count * n));
      for (const inverse of [false, true]) {
        const sign = inverse ? 1 : -1, scale = inverse ? 1 / n : 1;
        fftCpu(x, inverse, y);
        const far = distance(x, y, sign, scale);
        assert(far < 6e-15, `complex128 ${n}: ${far}`);
        fftCpu(narrow, inverse, out);
        const farther = distance(narrow, out, sign, scale);
        assert(farther < 6e-8, `complex64 ${n}: ${farther}`);
      }
    }
  }
});

Deno.test("whole angles are exact", () => {
  for (const n of [4, 8, 12, 20, 60, 1024]) {
    const x = rows(1, n, 2), y = rows(1, n, 2);
    values(x).fill(0)[2] = 1;
    fftCpu(x, false, y);
    const at = (k: number) => [...values(y).subarray(2 * k, 2 * k + 2)].map((v) => v + 0);
    assertEquals(
      [at(0), at(n / 4), at(n / 2), at(3 * n / 4)],
      [[1, 0], [0, -1], [-1, 0], [0, 1]],
      `${n}`,
    );
  }
});

Deno.test("transforms of real rows are those of complex ones, cut or padded; adjoints agree", () => {
  for (const n of LENGTHS) {
    const bins = (n >> 1) + 1;
    for (const more of [0, -1, 3]) {
      const width = n + more, given = Math.max(1, bins + more);
      const x = rows(2, width, 1),
        whole = rows(2, n, 2),
        wanted = rows(2, n, 2),
        half = rows(2, bins, 2);
      const g = rows(2, bins, 2), back = rows(2, width, 1);
      for (let i = 0; i < 2 * n; i++) {
        const r = Math.floor(i / n), j = i % n;
        values(whole)[2 * i] = j < width ? values(x)[r * width + j] : 0;
        values(whole)[2 * i + 1] = 0;
      }
      fftCpu(whole, false, wanted);
      rfftCpu(x, n, half);
      for (let r = 0; r < 2; r++) {
        for (let k = 0; k < 2 * bins; k++) {
          const off = Math.abs(values(half)[2 * r * bins + k] - values(wanted)[2 * r * n + k]);
          assert(off < 1e-14 * n + 1e-15, `rfft ${n} of ${width}: ${off}`);
        }
      }
      rfftAdjointCpu(g, n, back);
      const off = Math.abs(sum(values(half), values(g)) - sum(values(x), values(back)));
      assert(off < 1e-12 * n, `adjoint of rfft ${n} of ${width}: ${off}`);

      const spectrum = rows(2, given, 2), real = rows(2, n, 1), dual = rows(2, given, 2);
      const weights = rows(2, n, 1);
      irfftCpu(spectrum, n, real);
      irfftAdjointCpu(weights, n, dual);
      const apart = Math.abs(
        sum(values(real), values(weights)) - sum(values(spectrum), values(dual)),
      );
      assert(apart < 1e-12 * n, `adjoint of irfft ${n} of ${given}: ${apart}`);
      if (more !== 0) continue;
      irfftCpu(half, n, real);
      values(real).forEach((v, i) => assert(Math.abs(v - values(x)[i]) < 1e-13, `irfft ${n}`));
    }
  }
});

Deno.test("rows of no number and batches of no row stay what they are; NaN stays in its row", () => {
  for (const [count, n] of [[0, 8], [3, 0], [0, 0], [0, 1009]]) {
    const bins = n ? (n >> 1) + 1 : 0;
    fftCpu(rows(count, n, 2), false, rows(count, n, 2));
    rfftCpu(rows(count, n, 1), n, rows(count, bins, 2));
    irfftCpu(rows(count, bins, 2), n, rows(count, n, 1));
  }
  for (const n of [5, 12, 13, 1000, 1009, 1024]) {
    const bins = (n >> 1) + 1;
    for (const bad of [NaN, Infinity]) {
      const x = rows(3, n, 2), y = rows(3, n, 2), clean = rows(3, n, 2);
      fftCpu(x, false, clean);
      values(x)[2 * n + 4] = bad;
      fftCpu(x, false, y);
      const r = rows(3, n, 1), half = rows(3, bins, 2), again = rows(3, n, 1);
      values(r)[n + 1] = bad;
      rfftCpu(r, n, half);
      irfftCpu(half, n, again);
      for (const [out, width] of [[y, 2 * n], [half, 2 * bins], [again, n]] as const) {
        const finite = [0, 1, 2].map((i) =>
          values(out).subarray(i * width, (i + 1) * width).every(Number.isFinite)
        );
        assertEquals(finite, [true, false, true], `${n}`);
      }
      for (const i of [0, 2]) {
        const row = (of: NdArray) => values(of).slice(2 * i * n, 2 * (i + 1) * n);
        assertEquals(row(y), row(clean));
      }
    }
  }
});
