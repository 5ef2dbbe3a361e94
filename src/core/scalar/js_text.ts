/**
 * JavaScript texts of the scalar primitives, by arithmetic.
 */
import type { ScalarOp } from "./expr.ts";

/** Prints an operation of one or two operands (`b` is empty for one). */
export type Text = (a: string, b: string) => string;
export type Texts = Partial<Record<ScalarOp, Text>>;

const call = (fn: string): Text => (a, b) => (b === "" ? `${fn}(${a})` : `${fn}(${a}, ${b})`);
const infix = (sign: string): Text => (a, b) => `${a} ${sign} ${b}`;
const same: Text = (a) => a;
const constant = (text: string): Text => () => text;

/** Comparisons, the same for whatever JavaScript compares. */
export const COMPARISONS: Texts = {
  lt: infix("<"),
  le: infix("<="),
  gt: infix(">"),
  ge: infix(">="),
  eq: infix("==="),
  ne: infix("!=="),
};
const EXACT_TESTS: Texts = {
  isnan: constant("false"),
  isinf: constant("false"),
  isfinite: constant("true"),
};

export const BOOL: Texts = {
  ...COMPARISONS,
  ...EXACT_TESTS,
  and: infix("&&"),
  or: infix("||"),
  xor: infix("!=="),
  not: (a) => `!${a}`,
  add: infix("||"),
  max: infix("||"),
  mul: infix("&&"),
  min: infix("&&"),
};

/** Integers of whatever width. */
const WHOLE: Texts = {
  ...COMPARISONS,
  ...EXACT_TESTS,
  add: infix("+"),
  sub: infix("-"),
  neg: (a) => `-${a}`,
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
  bitand: infix("&"),
  bitor: infix("|"),
  bitxor: infix("^"),
  bitnot: (a) => `~${a}`,
  real: same,
  conj: same,
};

/** Integers of at most 32 bits; results still have to be wrapped. */
export const INT: Texts = {
  ...WHOLE,
  mul: call("Math.imul"),
  div: (a, b) => `${b} === 0 ? H.dividedByZero() : Math.trunc(${a} / ${b})`,
  floordiv: (a, b) => `${b} === 0 ? H.dividedByZero() : Math.floor(${a} / ${b})`,
  truncmod: (a, b) => `${b} === 0 ? H.dividedByZero() : ${a} % ${b}`,
  floormod: (a, b) => `${b} === 0 ? H.dividedByZero() : H.floorMod(${a}, ${b})`,
  pow: call("H.ipow"),
  min: call("Math.min"),
  max: call("Math.max"),
  abs: call("Math.abs"),
  sign: call("Math.sign"),
  imag: constant("0"),
};

/** 64-bit integers; results still have to be wrapped. */
export const BIG: Texts = {
  ...WHOLE,
  mul: infix("*"),
  div: call("H.bdiv"),
  floordiv: call("H.bfloorDiv"),
  truncmod: call("H.bmod"),
  floormod: call("H.bfloorMod"),
  pow: call("H.bpow"),
  min: (a, b) => `${a} < ${b} ? ${a} : ${b}`,
  max: (a, b) => `${a} > ${b} ? ${a} : ${b}`,
  abs: (a) => `${a} < 0n ? -${a} : ${a}`,
  sign: (a) => `${a} < 0n ? -1n : ${a} > 0n ? 1n : 0n`,
  shl: (a, b) => `${a} << (${b} & 63n)`,
  shr: (a, b) => `${a} >> (${b} & 63n)`,
  imag: constant("0n"),
};

export const FLOAT: Texts = {
  ...COMPARISONS,
  add: infix("+"),
  sub: infix("-"),
  mul: infix("*"),
  div: infix("/"),
  floordiv: (a, b) => `Math.floor(${a} / ${b})`,
  truncmod: infix("%"),
  floormod: call("H.floorMod"),
  pow: call("H.pow"),
  atan2: call("Math.atan2"),
  min: call("Math.min"),
  max: call("Math.max"),
  neg: (a) => `-${a}`,
  round: call("H.roundEven"),
  rsqrt: (a) => `1 / Math.sqrt(${a})`,
  erf: call("H.erf"),
  isnan: (a) => `${a} !== ${a}`,
  isinf: (a) => `${a} === Infinity || ${a} === -Infinity`,
  isfinite: call("Number.isFinite"),
  real: same,
  conj: same,
  imag: constant("0"),
};

/** Real and imaginary parts of one or two operands. */
export type ComplexParts = [a: string, ai: string, b: string, bi: string];
/** Complex numbers, part by part; what is not here is a function of `complex.ts`. */
export const COMPLEX: Partial<Record<ScalarOp, (...parts: ComplexParts) => readonly string[]>> = {
  add: (a, ai, b, bi) => [`${a} + ${b}`, `${ai} + ${bi}`],
  sub: (a, ai, b, bi) => [`${a} - ${b}`, `${ai} - ${bi}`],
  mul: (a, ai, b, bi) => [`${a} * ${b} - ${ai} * ${bi}`, `${a} * ${bi} + ${ai} * ${b}`],
  neg: (a, ai) => [`-${a}`, `-${ai}`],
  conj: (a, ai) => [a, `-${ai}`],
  real: (a) => [a],
  imag: (_, ai) => [ai],
  abs: (a, ai) => [`Math.hypot(${a}, ${ai})`],
  eq: (a, ai, b, bi) => [`${a} === ${b} && ${ai} === ${bi}`],
  ne: (a, ai, b, bi) => [`${a} !== ${b} || ${ai} !== ${bi}`],
};
/** Primitives that `Math` has under the same name. */
export const OF_MATH = [
  ...["abs", "sign", "floor", "ceil", "trunc", "sqrt", "exp", "expm1", "log", "log1p"],
  ...["sin", "cos", "tan", "asin", "acos", "atan"],
  ...["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"],
] as readonly (ScalarOp & keyof Math)[];
for (const op of OF_MATH) FLOAT[op] = call(`Math.${op}`);
