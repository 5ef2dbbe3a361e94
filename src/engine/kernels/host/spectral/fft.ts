/**
 * Discrete Fourier transforms of vectors on the host, in float64: stages of radix 5, 3, 4 and 2 that sort on their way (Stockham), and
 * Bluestein's convolution for lengths with other factors.
 */

/** Real and imaginary parts. */
export interface Parts {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** A transform of vectors of one length: reads its own buffers, and returns those with the result, which the next run overwrites. */
export interface Plan extends Parts {
  readonly run: () => Parts;
}

const plans = new Map<number, Plan>();
/** Most elements of the plans that are kept, and most plans. */
const PLAN_ELEMENTS = 2 ** 22, PLAN_LIMIT = 64;

/** Makes the transform of vectors of `n` elements. */
export function fftPlan(n: number): Plan {
  const kept = plans.get(n);
  if (kept) return kept;
  const stages = stagesOf(n), plan = stages ? stockham(n, stages) : bluestein(n);
  if (n > PLAN_ELEMENTS) return plan;
  const held = [...plans.keys()].reduce((sum, length) => sum + length, n);
  if (plans.size >= PLAN_LIMIT || held > PLAN_ELEMENTS) plans.clear();
  plans.set(n, plan);
  return plan;
}

/** Returns roots of unity `exp(-2πi j / n)`, exact where they are whole: angles are below an eighth of a turn. */
export function root(j: number, n: number): [number, number] {
  const quarter = Math.floor(4 * j / n), rest = 4 * j - quarter * n;
  const near = 2 * rest > n, angle = Math.PI / 2 * (near ? n - rest : rest) / n;
  let c = near ? Math.sin(angle) : Math.cos(angle), s = near ? Math.cos(angle) : Math.sin(angle);
  for (let i = 0; i < quarter % 4; i++) [c, s] = [-s, c];
  return [c, -s];
}

/** Combines parts `apart` elements from each other, for each of `count` twiddles and `step` neighbours. */
type Butterfly = (x: Parts, y: Parts, twiddles: Float64Array, count: number, step: number) => void;

interface Stage {
  readonly butterfly: Butterfly;
  readonly twiddles: Float64Array;
  readonly count: number;
  readonly step: number;
}

/** Returns the stages of a length; null where it has other factors than 2, 3 and 5. */
function stagesOf(n: number): Stage[] | null {
  const stages: Stage[] = [];
  let left = n, step = 1;
  // Radix 2 comes at most once and last, where all twiddles are 1.
  for (const [radix, butterfly] of [[5, radix5], [3, radix3], [4, radix4], [2, radix2]] as const) {
    while (left > 1 && left % radix === 0) {
      const count = left / radix, twiddles = new Float64Array(2 * (radix - 1) * count);
      for (let p = 0, at = 0; p < count; p++) {
        for (let k = 1; k < radix; k++) {
          const [c, s] = root(k * p, left);
          twiddles[at++] = c;
          twiddles[at++] = s;
        }
      }
      stages.push({ butterfly, twiddles, count, step });
      left = count;
      step *= radix;
    }
  }
  return left > 1 ? null : stages;
}

function partsOf(n: number): Parts {
  return { re: new Float64Array(n), im: new Float64Array(n) };
}

function stockham(n: number, stages: readonly Stage[]): Plan {
  const first = partsOf(n), second = partsOf(n);
  return {
    ...first,
    run: () => {
      let from = first, to = second;
      for (const { butterfly, twiddles, count, step } of stages) {
        butterfly(from, to, twiddles, count, step);
        [from, to] = [to, from];
      }
      return from;
    },
  };
}

/** Transforms any length as a convolution with a chirp, of a length with small factors. */
function bluestein(n: number): Plan {
  const m = Math.min(
    ...[1, 3, 5].map((factor) => factor * 2 ** Math.ceil(Math.log2((2 * n - 1) / factor))),
  );
  const inner = fftPlan(m), own = partsOf(n), cos = new Float64Array(n), sin = new Float64Array(n);
  const { re: a, im: b } = inner;
  a.fill(0);
  b.fill(0);
  for (let i = 0; i < n; i++) {
    // i² modulo 2n keeps the angle exact for long vectors.
    [cos[i], sin[i]] = root((i * i) % (2 * n), 2 * n);
    a[i] = a[(m - i) % m] = cos[i];
    b[i] = b[(m - i) % m] = -sin[i];
  }
  const chirp = inner.run(), chirpRe = chirp.re.slice(), chirpIm = chirp.im.slice();
  return {
    ...own,
    run: () => {
      const { re, im } = own;
      a.fill(0, n);
      b.fill(0, n);
      for (let i = 0; i < n; i++) {
        a[i] = re[i] * cos[i] - im[i] * sin[i];
        b[i] = im[i] * cos[i] + re[i] * sin[i];
      }
      const { re: c, im: d } = inner.run();
      for (let i = 0; i < m; i++) {
        const r = c[i] * chirpRe[i] - d[i] * chirpIm[i];
        // Conjugated, so that a second forward transform inverts.
        b[i] = -(c[i] * chirpIm[i] + d[i] * chirpRe[i]);
        a[i] = r;
      }
      const { re: e, im: f } = inner.run();
      for (let i = 0; i < n; i++) {
        const r = e[i] / m, s = -f[i] / m;
        re[i] = r * cos[i] - s * sin[i];
        im[i] = s * cos[i] + r * sin[i];
      }
      return own;
    },
  };
}

function radix2(
  { re: x, im: u }: Parts,
  { re: y, im: v }: Parts,
  _: Float64Array,
  count: number,
  step: number,
): void {
  for (let a = 0, b = count * step; a < step; a++, b++) {
    const ar = x[a], ai = u[a], br = x[b], bi = u[b];
    y[a] = ar + br;
    v[a] = ai + bi;
    y[b] = ar - br;
    v[b] = ai - bi;
  }
}

function radix3(
  { re: x, im: u }: Parts,
  { re: y, im: v }: Parts,
  t: Float64Array,
  count: number,
  step: number,
): void {
  const apart = count * step, sine = Math.sqrt(3) / 2;
  for (let p = 0, i = 0; p < count; p++) {
    const c1 = t[4 * p], s1 = t[4 * p + 1], c2 = t[4 * p + 2], s2 = t[4 * p + 3];
    for (let q = 0, o = 3 * p * step; q < step; q++, i++, o++) {
      const j = i + apart, k = j + apart;
      const sr = x[j] + x[k], si = u[j] + u[k];
      const dr = sine * (x[j] - x[k]), di = sine * (u[j] - u[k]);
      const mr = x[i] - 0.5 * sr, mi = u[i] - 0.5 * si;
      y[o] = x[i] + sr;
      v[o] = u[i] + si;
      const r1 = mr + di, i1 = mi - dr, r2 = mr - di, i2 = mi + dr;
      y[o + step] = r1 * c1 - i1 * s1;
      v[o + step] = r1 * s1 + i1 * c1;
      y[o + 2 * step] = r2 * c2 - i2 * s2;
      v[o + 2 * step] = r2 * s2 + i2 * c2;
    }
  }
}

function radix4(
  { re: x, im: u }: Parts,
  { re: y, im: v }: Parts,
  t: Float64Array,
  count: number,
  step: number,
): void {
  const apart = count * step;
  if (count === 1) return lastRadix4({ re: x, im: u }, { re: y, im: v }, step);
  for (let p = 0, i = 0; p < count; p++) {
    const at = 6 * p;
    const c1 = t[at],
      s1 = t[at + 1],
      c2 = t[at + 2],
      s2 = t[at + 3],
      c3 = t[at + 4],
      s3 = t[at + 5];
    for (let q = 0, o = 4 * p * step; q < step; q++, i++, o++) {
      const j = i + apart,
        k = j + apart,
        l = k + apart,
        o1 = o + step,
        o2 = o1 + step,
        o3 = o2 + step;
      const ar = x[i], ai = u[i], br = x[j], bi = u[j], cr = x[k], ci = u[k], dr = x[l], di = u[l];
      const er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
      const gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di;
      y[o] = er + gr;
      v[o] = ei + gi;
      const r1 = fr + hi, i1 = fi - hr, r2 = er - gr, i2 = ei - gi, r3 = fr - hi, i3 = fi + hr;
      y[o1] = r1 * c1 - i1 * s1;
      v[o1] = r1 * s1 + i1 * c1;
      y[o2] = r2 * c2 - i2 * s2;
      v[o2] = r2 * s2 + i2 * c2;
      y[o3] = r3 * c3 - i3 * s3;
      v[o3] = r3 * s3 + i3 * c3;
    }
  }
}

/** Combines parts where all twiddles are 1. */
function lastRadix4({ re: x, im: u }: Parts, { re: y, im: v }: Parts, step: number): void {
  for (let i = 0, j = step, k = 2 * step, l = 3 * step; i < step; i++, j++, k++, l++) {
    const ar = x[i], ai = u[i], br = x[j], bi = u[j], cr = x[k], ci = u[k], dr = x[l], di = u[l];
    const er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;
    const gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di;
    y[i] = er + gr;
    v[i] = ei + gi;
    y[j] = fr + hi;
    v[j] = fi - hr;
    y[k] = er - gr;
    v[k] = ei - gi;
    y[l] = fr - hi;
    v[l] = fi + hr;
  }
}

const [COS1, SIN1] = /* @__PURE__ */ root(4, 5), [COS2, SIN2] = /* @__PURE__ */ root(3, 5);

function radix5(
  { re: x, im: u }: Parts,
  { re: y, im: v }: Parts,
  t: Float64Array,
  count: number,
  step: number,
): void {
  const apart = count * step;
  for (let p = 0, i = 0; p < count; p++) {
    const at = 8 * p;
    for (let q = 0, o = 5 * p * step; q < step; q++, i++, o++) {
      const j = i + apart, k = j + apart, l = k + apart, m = l + apart;
      const ar = x[i], ai = u[i];
      const er = x[j] + x[m], ei = u[j] + u[m], fr = x[j] - x[m], fi = u[j] - u[m];
      const gr = x[k] + x[l], gi = u[k] + u[l], hr = x[k] - x[l], hi = u[k] - u[l];
      y[o] = ar + er + gr;
      v[o] = ai + ei + gi;
      const mr = ar + COS1 * er + COS2 * gr, mi = ai + COS1 * ei + COS2 * gi;
      const nr = ar + COS2 * er + COS1 * gr, ni = ai + COS2 * ei + COS1 * gi;
      const wr = SIN1 * fr + SIN2 * hr, wi = SIN1 * fi + SIN2 * hi;
      const zr = SIN2 * fr - SIN1 * hr, zi = SIN2 * fi - SIN1 * hi;
      turn(y, v, o + step, mr + wi, mi - wr, t, at);
      turn(y, v, o + 2 * step, nr + zi, ni - zr, t, at + 2);
      turn(y, v, o + 3 * step, nr - zi, ni + zr, t, at + 4);
      turn(y, v, o + 4 * step, mr - wi, mi + wr, t, at + 6);
    }
  }
}

/** Stores a product with a twiddle. */
function turn(
  y: Float64Array,
  v: Float64Array,
  o: number,
  r: number,
  i: number,
  t: Float64Array,
  at: number,
): void {
  const c = t[at], s = t[at + 1];
  y[o] = r * c - i * s;
  v[o] = r * s + i * c;
}
