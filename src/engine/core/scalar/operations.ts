/**
 * The scalar primitives in JavaScript, by arithmetic: their texts, and their functions where compiling is forbidden.
 */
import { codeOf, type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../dtype.ts";
import { UnimplementedError } from "../errors.ts";
import { PREDICATES, type ScalarOp } from "./expr.ts";
import * as helpers from "./math.ts";
import type { Pair } from "./math.ts";

/** A value in the representation of its dtype. */
export type ScalarValue = number | bigint | boolean | Uint8Array | Pair;
/** A function of values of one representation. */
export type Run = (a: never, b: never) => ScalarValue;

/** An operation of one or two operands. */
interface Operation {
  /** Its text; `b` is empty where there is one operand. */
  readonly text: (a: string, b: string) => string;
  readonly run: Run;
}
/** The operations of an arithmetic. */
type Operations = Partial<Record<ScalarOp, Operation>>;

/** Operators that numbers share with booleans and 64-bit integers. */
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
/** Objects of the functions that are called by name. */
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
/** A quotient or a remainder of integers, which fails for 0. */
const unlessZero = ({ text, run }: Operation): Operation =>
  op(
    (a, b) => `${b} === 0 ? H.dividedByZero() : ${text(a, b)}`,
    (a, b) => (b === 0 ? helpers.dividedByZero() : run(a, b)),
  );
/** Composes two operations: the second applies to the result of the first. */
const then = (first: Operation, last: Operation): Operation =>
  op((a, b) => last.text(first.text(a, b), ""), (a, b) => last.run(first.run(a, b) as never, b));
const quotientDown = op(
  (a, b) => `Math.floor(${a} / ${b})`,
  (a: number, b: number) => Math.floor(a / b),
);

/** Comparisons, the same for all of JavaScript's values. */
const COMPARISONS: Operations = {
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

const BOOL: Operations = {
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

/** Integers of any width. */
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
const INT: Operations = {
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
const BIG: Operations = {
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

const FLOAT: Operations = {
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
/** Complex numbers, part by part; the other primitives are functions of `complex.ts`. */
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

/** Primitives whose results are exact in floats of any width. */
const EXACT_IN_FLOAT: ReadonlySet<ScalarOp> = new Set([
  "neg",
  "abs",
  "sign",
  "floor",
  "ceil",
  "round",
  "trunc",
  "min",
  "max",
  "real",
  "conj",
  "imag",
]);
/** Primitives whose results may leave the range of integers. */
const WRAPPING: ReadonlySet<ScalarOp> = new Set([
  "add",
  "sub",
  "mul",
  "div",
  "floordiv",
  "pow",
  "neg",
  "abs",
  "bitand",
  "bitor",
  "bitxor",
  "bitnot",
  "shl",
]);
const toFloat32 = call("Math.fround");

/** Wraps an integer result to its dtype's range. */
function wrapTo(type: DType): Operation {
  const isSigned = DTYPES[type].kind === "int", bits = 8 * DTYPES[type].bytes;
  if (isBigInt(type)) {
    const name = isSigned ? "asIntN" : "asUintN";
    return op((a) => `BigInt.${name}(64, ${a})`, (a: bigint) => BigInt[name](64, a));
  }
  if (bits === 32 && isSigned) return op((a) => `(${a}) | 0`, (a: number) => a | 0);
  if (bits === 32) return op((a) => `(${a}) >>> 0`, (a: number) => a >>> 0);
  const unused = 32 - bits, mask = 2 ** bits - 1;
  return isSigned
    ? op((a) => `(${a}) << ${unused} >> ${unused}`, (a: number) => a << unused >> unused)
    : op((a) => `(${a}) & ${mask}`, (a: number) => a & mask);
}

function shift(name: "shl" | "shr", type: DType): Operation {
  const bits = 8 * DTYPES[type].bytes - 1;
  if (name === "shl") {
    return op((a, b) => `${a} << (${b} & ${bits})`, (a: number, b: number) => a << (b & bits));
  }
  return type === "uint32"
    ? op((a, b) => `${a} >>> (${b} & ${bits})`, (a: number, b: number) => a >>> (b & bits))
    : op((a, b) => `${a} >> (${b} & ${bits})`, (a: number, b: number) => a >> (b & bits));
}

/**
 * Returns a primitive's operation on real numbers, booleans or strings of a dtype. Throws `UnimplementedError` where
 * there is none.
 */
export function operationOf(name: ScalarOp, type: DType): Operation {
  const made = isBigInt(type) ? wholeNumbers(name, BIG[name], type) : realOperation(name, type);
  if (made === undefined) throw new UnimplementedError(`Cannot compute ${name} of ${type}`);
  return made;
}

function realOperation(name: ScalarOp, type: DType): Operation | undefined {
  switch (DTYPES[type].kind) {
    case "bool":
      return BOOL[name];
    case "string": {
      const test = COMPARISONS[name];
      return test &&
        then(call("H.compareBytes"), op((a) => test.text(a, "0"), (a) => test.run(a, 0 as never)));
    }
    case "float": {
      const own = FLOAT[name];
      if (type === "float64" || own === undefined) return own;
      // The quotient is rounded before its floor is taken, as in TensorFlow.
      if (name === "floordiv") return then(then(infix("/"), toFloat32), call("Math.floor"));
      return EXACT_IN_FLOAT.has(name) || PREDICATES.has(name) ? own : then(own, toFloat32);
    }
    case "int":
    case "uint": {
      if (name === "shl" || name === "shr") return wholeNumbers(name, shift(name, type), type);
      const own = INT[name], float = FLOAT[name];
      if (own !== undefined || float === undefined) return wholeNumbers(name, own, type);
      // A function of floats: computed in floats and truncated.
      return then(then(float, call(type === "uint32" ? "H.toUint" : "H.toInt")), wrapTo(type));
    }
  }
  throw new UnimplementedError(`Cannot compute with elements of ${type}`);
}

function wholeNumbers(
  name: ScalarOp,
  own: Operation | undefined,
  type: DType,
): Operation | undefined {
  return own && WRAPPING.has(name) ? then(own, wrapTo(type)) : own;
}

/** Returns the conversion from a dtype that is not complex to another. */
export function castOf(from: DType, to: DType): Operation {
  const { kind } = DTYPES[from], isBig = isBigInt(from), target = DTYPES[to].kind;
  const isFloat = kind === "float";
  if (from === to && !isFloat) return same;
  if (to === "bool") {
    return isBig
      ? op((a) => `${a} !== 0n`, (a: bigint) => a !== 0n)
      : op((a) => `${a} !== 0`, (a: number) => a !== 0);
  }
  if (isBigInt(to)) {
    if (isFloat) return call(to === "int64" ? "H.toInt64" : "H.toUint64");
    return then(isBig ? same : op((a) => `BigInt(${a})`, (a: number) => BigInt(a)), wrapTo(to));
  }
  if ((target === "int" || target === "uint") && isFloat) {
    if (to === "uint32") return call("H.toUint");
    if (to === "int32") return call("H.toInt");
    const [low, high] = INTEGER_ENDS[to] as readonly [number, number];
    return op(
      (a) => `H.toRange(${a}, ${low}, ${high})`,
      (a: number) => helpers.toRange(a, low, high),
    );
  }
  const plain = kind === "bool" ? op((a) => `+${a}`, (a: boolean) => +a) : same;
  if (target === "int" || target === "uint") {
    const low = op(
      (a) => `Number(BigInt.asIntN(53, ${a}))`,
      (a: bigint) => Number(BigInt.asIntN(53, a)),
    );
    return then(isBig ? low : plain, wrapTo(to));
  }
  const number = isBig ? op((a) => `Number(${a})`, (a: bigint) => Number(a)) : plain;
  if (to === "float32") return then(number, toFloat32);
  if (to === "float16") return then(number, call("H.roundToHalf"));
  const code = codeOf(to);
  if (code === null) return number;
  const round = (a: number) => code.decode(code.encode(a));
  return then(number, op((a) => `H.round_${to}(${a})`, round));
}

/** Returns the dtype of the parts of a complex number; others stay. */
export function partOf(t: DType): DType {
  return t === "complex64" ? "float32" : t === "complex128" ? "float64" : t;
}
