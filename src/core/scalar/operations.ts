/**
 * The scalar primitives in JavaScript, by arithmetic: their texts, and what they compute where nothing may be compiled.
 */
import type { ScalarOp } from "./expr.ts";
import * as helpers from "./math.ts";
import type { Pair } from "./math.ts";

/** A value in the arithmetic of its dtype. */
export type ScalarValue = number | bigint | boolean | Uint8Array | Pair;
/** A function of values of one arithmetic. */
export type Run = (a: never, b: never) => ScalarValue;

/** An operation of one or two operands. */
interface Operation {
  /** Its text; `b` is empty where there is one operand. */
  readonly text: (a: string, b: string) => string;
  readonly run: Run;
}
/** The operations of an arithmetic. */
export type Operations = Partial<Record<ScalarOp, Operation>>;

/** What numbers do here, booleans and 64-bit integers do as well. */
const INFIX = {
  "<": (a: number, b: number) => a < b,
  "<=": (a: number, b: number) => a <= b,
  ">": (a: number, b: number) => a > b,
  ">=": (a: number, b: number) => a >= b,
  "===": (a: number, b: number) => a === b,
  "!==": (a: number, b: number) => a !== b,
  "&&": (a: boolean, b: boolean) => a && b,
  "||": (a: boolean, b: boolean) => a || b,
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
  "/": (a: number, b: number) => a / b,
  "%": (a: number, b: number) => a % b,
  "&": (a: number, b: number) => a & b,
  "|": (a: number, b: number) => a | b,
  "^": (a: number, b: number) => a ^ b,
};
/** Where functions that are called by name are. */
const HOMES = { Math, Number, H: helpers };

const op = (text: Operation["text"], run: Run): Operation => ({ text, run });
const infix = (sign: keyof typeof INFIX): Operation =>
  op((a, b) => `${a} ${sign} ${b}`, INFIX[sign]);
const call = (name: `${keyof typeof HOMES}.${string}`): Operation => {
  const [home, fn] = name.split(".") as [keyof typeof HOMES, string];
  return op(
    (a, b) => (b === "" ? `${name}(${a})` : `${name}(${a}, ${b})`),
    Reflect.get(HOMES[home], fn) as Run,
  );
};
const same = op((a) => a, (a: ScalarValue) => a);
const negative = op((a) => `-${a}`, (a: number) => -a);
const constant = (value: number | bigint | boolean): Operation => {
  const text = typeof value === "bigint" ? `${value}n` : String(value);
  return op(() => text, () => value);
};
/** A quotient or a remainder, which whole numbers have not of 0. */
const unlessZero = ({ text, run }: Operation): Operation =>
  op(
    (a, b) => `${b} === 0 ? H.dividedByZero() : ${text(a, b)}`,
    (a, b) => (b === 0 ? helpers.dividedByZero() : run(a, b)),
  );
const quotientDown = op(
  (a, b) => `Math.floor(${a} / ${b})`,
  (a: number, b: number) => Math.floor(a / b),
);

/** Comparisons, the same for whatever JavaScript compares. */
export const COMPARISONS: Operations = {
  lt: infix("<"),
  le: infix("<="),
  gt: infix(">"),
  ge: infix(">="),
  eq: infix("==="),
  ne: infix("!=="),
};
const EXACT_TESTS: Operations = {
  isnan: constant(false),
  isinf: constant(false),
  isfinite: constant(true),
};

export const BOOL: Operations = {
  ...COMPARISONS,
  ...EXACT_TESTS,
  and: infix("&&"),
  or: infix("||"),
  xor: infix("!=="),
  not: op((a) => `!${a}`, (a: boolean) => !a),
  add: infix("||"),
  max: infix("||"),
  mul: infix("&&"),
  min: infix("&&"),
};

/** Integers of whatever width. */
const WHOLE: Operations = {
  ...COMPARISONS,
  ...EXACT_TESTS,
  add: infix("+"),
  sub: infix("-"),
  neg: negative,
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
  bitand: infix("&"),
  bitor: infix("|"),
  bitxor: infix("^"),
  bitnot: op((a) => `~${a}`, (a: number) => ~a),
  real: same,
  conj: same,
};

/** Integers of at most 32 bits; results still have to be wrapped. */
export const INT: Operations = {
  ...WHOLE,
  mul: call("Math.imul"),
  div: unlessZero(
    op((a, b) => `Math.trunc(${a} / ${b})`, (a: number, b: number) => Math.trunc(a / b)),
  ),
  floordiv: unlessZero(quotientDown),
  truncmod: unlessZero(infix("%")),
  floormod: unlessZero(call("H.floorMod")),
  pow: call("H.ipow"),
  min: call("Math.min"),
  max: call("Math.max"),
  abs: call("Math.abs"),
  sign: call("Math.sign"),
  imag: constant(0),
};

/** 64-bit integers; results still have to be wrapped. */
export const BIG: Operations = {
  ...WHOLE,
  mul: infix("*"),
  div: call("H.bdiv"),
  floordiv: call("H.bfloorDiv"),
  truncmod: call("H.bmod"),
  floormod: call("H.bfloorMod"),
  pow: call("H.bpow"),
  min: op((a, b) => `${a} < ${b} ? ${a} : ${b}`, (a: bigint, b: bigint) => a < b ? a : b),
  max: op((a, b) => `${a} > ${b} ? ${a} : ${b}`, (a: bigint, b: bigint) => a > b ? a : b),
  abs: op((a) => `${a} < 0n ? -${a} : ${a}`, (a: bigint) => a < 0n ? -a : a),
  sign: op(
    (a) => `${a} < 0n ? -1n : ${a} > 0n ? 1n : 0n`,
    (a: bigint) => a < 0n ? -1n : a > 0n ? 1n : 0n,
  ),
  shl: op((a, b) => `${a} << (${b} & 63n)`, (a: bigint, b: bigint) => a << (b & 63n)),
  shr: op((a, b) => `${a} >> (${b} & 63n)`, (a: bigint, b: bigint) => a >> (b & 63n)),
  imag: constant(0n),
};

export const FLOAT: Operations = {
  ...COMPARISONS,
  add: infix("+"),
  sub: infix("-"),
  mul: infix("*"),
  div: infix("/"),
  floordiv: quotientDown,
  truncmod: infix("%"),
  floormod: call("H.floorMod"),
  pow: call("H.pow"),
  atan2: call("Math.atan2"),
  min: call("Math.min"),
  max: call("Math.max"),
  neg: negative,
  round: call("H.roundEven"),
  rsqrt: op((a) => `1 / Math.sqrt(${a})`, (a: number) => 1 / Math.sqrt(a)),
  erf: call("H.erf"),
  isnan: op((a) => `${a} !== ${a}`, (a: number) => a !== a),
  isinf: op(
    (a) => `${a} === Infinity || ${a} === -Infinity`,
    (a: number) => a === Infinity || a === -Infinity,
  ),
  isfinite: call("Number.isFinite"),
  real: same,
  conj: same,
  imag: constant(0),
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
// Primitives that `Math` has under the same name.
const OF_MATH = [
  ...["abs", "sign", "floor", "ceil", "trunc", "sqrt", "exp", "expm1", "log", "log1p"],
  ...["sin", "cos", "tan", "asin", "acos", "atan"],
  ...["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"],
] as readonly (ScalarOp & keyof Math)[];
for (const op of OF_MATH) FLOAT[op] = call(`Math.${op}`);
