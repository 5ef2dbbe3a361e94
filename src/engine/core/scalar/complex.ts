/** Functions of complex numbers, given and returned as real and imaginary parts. Branch cuts as in C and NumPy. */
import type { Pair } from "./math.ts";

/** `a + bi` as a pair. */
type Complex1 = (a: number, b: number) => Pair;
/** Two operands: `a + bi` and `c + di`. */
type Complex2 = (a: number, b: number, c: number, d: number) => Pair;

/** Quotient, scaled so that it neither overflows nor underflows early. */
export const cdiv: Complex2 = (a, b, c, d) => {
  if (c === 0 && d === 0) return [a / c, b / c];
  if (Math.abs(c) >= Math.abs(d)) {
    const r = d / c, n = c + d * r;
    return [(a + b * r) / n, (b - a * r) / n];
  }
  const r = c / d, n = c * r + d;
  return [(a * r + b) / n, (b * r - a) / n];
};

const cmul: Complex2 = (a, b, c, d) => [a * c - b * d, a * d + b * c];

export const cexp: Complex1 = (a, b) => {
  const e = Math.exp(a);
  return b === 0 || e === 0 ? [e, b === 0 ? b : 0] : [e * Math.cos(b), e * Math.sin(b)];
};
export const cexpm1: Complex1 = (a, b) => {
  const h = Math.sin(b / 2);
  return [Math.expm1(a) * Math.cos(b) - 2 * h * h, Math.exp(a) * Math.sin(b)];
};
export const clog: Complex1 = (a, b) => [Math.log(Math.hypot(a, b)), Math.atan2(b, a)];
export const clog1p: Complex1 = (a, b) => {
  if (Math.abs(a) > 0.5 || Math.abs(b) > 0.5) return clog(1 + a, b);
  return [Math.log1p(a * (2 + a) + b * b) / 2, Math.atan2(b, 1 + a)];
};
export const csqrt: Complex1 = (a, b) => {
  if (b === Infinity || b === -Infinity) return [Infinity, b];
  const s = Math.sqrt((Math.hypot(a, b) + Math.abs(a)) / 2);
  if (s === 0) return [0, b];
  if (a >= 0) return [s, b / (2 * s)];
  return [Math.abs(b) / (2 * s), b < 0 || Object.is(b, -0) ? -s : s];
};
export const crsqrt: Complex1 = (a, b) => cdiv(1, 0, ...csqrt(a, b));
/** `z / |z|`, 0 at 0. */
export const csign: Complex1 = (a, b) => {
  const m = Math.hypot(a, b);
  return m === 0 ? [0, 0] : [a / m, b / m];
};
export const cpow: Complex2 = (a, b, c, d) => {
  if (a === 0 && b === 0) {
    if (c > 0) return [0, 0];
    return c < 0 ? [Infinity, NaN] : c === 0 && d === 0 ? [1, 0] : [NaN, NaN];
  }
  const [r, t] = clog(a, b);
  return cexp(...cmul(r, t, c, d));
};

// On the real axis results are real, where they overflow as well.
export const csinh: Complex1 = (a, b) => [
  Math.sinh(a) * Math.cos(b),
  b === 0 ? b : Math.cosh(a) * Math.sin(b),
];
export const ccosh: Complex1 = (a, b) => [
  Math.cosh(a) * Math.cos(b),
  b === 0 ? b * Math.sign(a) : Math.sinh(a) * Math.sin(b),
];
export const ctanh: Complex1 = (a, b) => {
  if (Math.abs(a) > 20) return [Math.sign(a), 0];
  const n = Math.cosh(2 * a) + Math.cos(2 * b);
  return [Math.sinh(2 * a) / n, Math.sin(2 * b) / n];
};
// These inverse functions neither overflow nor cancel (W. Kahan, "Branch cuts for complex elementary functions", 1987).
export const cacosh: Complex1 = (a, b) => {
  const [p, q] = csqrt(a - 1, b), [r, t] = csqrt(a + 1, b);
  return [Math.asinh(p * r + q * t), 2 * Math.atan2(q, r)];
};
export const catanh: Complex1 = (a, b) => {
  const [p, q] = clog1p(a, b), [r, t] = clog1p(-a, -b);
  return [(p - r) / 2, (q - t) / 2];
};

// f(iz) = i g(z) relates the circular to the hyperbolic functions.
const turned = (g: Complex1): Complex1 => (a, b) => {
  const [re, im] = g(-b, a);
  return [im, -re];
};
export const csin: Complex1 = turned(csinh);
export const ccos: Complex1 = (a, b) => ccosh(-b, a);
export const ctan: Complex1 = turned(ctanh);
export const casin: Complex1 = (a, b) => {
  const [p, q] = csqrt(1 - a, -b), [r, t] = csqrt(1 + a, b);
  return [Math.atan2(a, p * r - q * t), Math.asinh(p * t - q * r)];
};
export const casinh: Complex1 = (a, b) => {
  const [re, im] = casin(b, -a);
  return [-im, re];
};
export const cacos: Complex1 = (a, b) => {
  const [p, q] = csqrt(1 - a, -b), [r, t] = csqrt(1 + a, b);
  return [2 * Math.atan2(p, r), Math.asinh(r * q - t * p)];
};
export const catan: Complex1 = turned(catanh);
