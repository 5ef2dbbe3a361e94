/**
 * Prints scalar expressions as JavaScript, in the arithmetic of each dtype: wrapping integers, bigint for 64 bits, pairs for
 * complex, float32 results rounded at each step (float16 and bfloat16 compute in float32).
 */
import { type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../dtype.ts";
import { type Expr, exprType, once, operandsOf, PREDICATES, type ScalarOp } from "./expr.ts";
import * as complexMath from "./complex.ts";
import * as scalarMath from "./math.ts";
import { BIG, BOOL, COMPARISONS, COMPLEX, type ComplexParts, FLOAT, INT } from "./operations.ts";
import { UnimplementedError } from "../errors.ts";

/** Printed statements and the names that hold the results. */
export interface Printed {
  /** `const t1 = …;` lines. */
  readonly lines: string[];
  /** One expression text per result; two (re, im) for complex ones. */
  readonly results: string[][];
  readonly dtypes: DType[];
}

/** What printed code calls as `H`. */
export const JS_HELPERS: Readonly<Record<string, unknown>> = { ...scalarMath, ...complexMath };

/** How values of a dtype are computed with in JavaScript. */
export type Arithmetic = "bool" | "int" | "big" | "float" | "complex" | "string";

/** The arithmetic of a dtype. Throws `UnimplementedError` for handles. */
export function arithmeticOf(dtype: DType): Arithmetic {
  const { kind } = DTYPES[dtype];
  if (kind === "handle") throw new UnimplementedError(`Cannot compute with elements of ${dtype}`);
  if (kind === "int" || kind === "uint") return isBigInt(dtype) ? "big" : "int";
  return kind;
}

/** Results that need no rounding when the operands are float32. */
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
/** Brings an integer result back into its dtype's range. */
function wrapText(text: string, type: DType): string {
  const isSigned = DTYPES[type].kind === "int", bits = 8 * DTYPES[type].bytes;
  if (isBigInt(type)) return `BigInt.as${isSigned ? "Int" : "Uint"}N(64, ${text})`;
  if (bits === 32) return `(${text}) ${isSigned ? "|" : ">>>"} 0`;
  return isSigned ? `(${text}) << ${32 - bits} >> ${32 - bits}` : `(${text}) & ${2 ** bits - 1}`;
}

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
]);

function printReal(op: ScalarOp, a: string, b: string, type: DType): string {
  const kind = arithmeticOf(type);
  const fail = (): never => {
    throw new UnimplementedError(`Cannot print scalar ${op} of ${type} as JavaScript`);
  };
  switch (kind) {
    case "bool":
      return BOOL[op]?.text(a, b) ?? fail();
    case "string":
      return COMPARISONS[op]?.text(`H.compareBytes(${a}, ${b})`, "0") ?? fail();
    case "float": {
      const text = FLOAT[op]?.text(a, b) ?? fail();
      // The quotient is rounded before its floor is taken, as TensorFlow does.
      if (op === "floordiv" && type !== "float64") return `Math.floor(Math.fround(${a} / ${b}))`;
      const rounds = type !== "float64" && !EXACT_IN_FLOAT.has(op) && !PREDICATES.has(op);
      return rounds ? `Math.fround(${text})` : text;
    }
    case "int": {
      if (op === "shl") return wrapText(`${a} << (${b} & ${8 * DTYPES[type].bytes - 1})`, type);
      if (op === "shr") {
        return `${a} ${type === "uint32" ? ">>>" : ">>"} (${b} & ${8 * DTYPES[type].bytes - 1})`;
      }
      const text = INT[op]?.text(a, b);
      // A function of floats: computed as such and cut.
      if (text === undefined) {
        const cut = type === "uint32" ? "H.toUint" : "H.toInt";
        return wrapText(`${cut}(${FLOAT[op]?.text(a, b) ?? fail()})`, type);
      }
      return WRAPPING.has(op) ? wrapText(text, type) : text;
    }
    default: {
      const text = BIG[op]?.text(a, b) ?? fail();
      return WRAPPING.has(op) || op === "shl" ? wrapText(text, type) : text;
    }
  }
}

/** Prints expressions; `args[i]` are the texts of argument i (two for complex). */
export function printJs(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  args: readonly (readonly string[])[],
): Printed {
  const lines: string[] = [];
  let n = 0;
  const name = (text: string): string => {
    const v = `t${n++}`;
    lines.push(`const ${v} = ${text};`);
    return v;
  };
  const print = once((e, hint): string[] => {
    if (e.op === "keep") return print(e.args[0], hint);
    if (e.op === "arg") return [...args[e.value!]];
    if (e.op === "const") return printConst(e.value!, hint);
    const { operands, type } = operandsOf(e, dtypes, hint);
    const xs = operands.map((o) => print(o, type));
    if (e.op === "cast") return printCast(xs[0], type, e.dtype!).map(name);
    if (e.op === "select") {
      const [c] = print(e.args[0], "bool");
      return xs[0].map((_, k) => name(`${c} ? ${xs[0][k]} : ${xs[1][k]}`));
    }
    if (e.op === "complex") return [xs[0][0], xs[1][0]];
    if (DTYPES[type].kind === "complex") return printComplex(e.op, xs, name);
    return [name(printReal(e.op, xs[0][0], xs[1]?.[0] ?? "", type))];
  });
  const results: string[][] = [], out: DType[] = [];
  for (const e of exprs) {
    const t = exprType(e, dtypes);
    out.push(t);
    results.push(print(e, t));
  }
  return { lines, results, dtypes: out };
}

/** A constant as the dtype holds it. */
export function constantValue(v: number, type: DType): number | bigint | boolean {
  if (type === "bool") return v !== 0;
  if (isBigInt(type)) return BigInt(Math.trunc(v));
  const kind = DTYPES[type].kind;
  if (kind === "int" || kind === "uint") return Math.trunc(v);
  return type === "float64" || type === "complex128" ? v : Math.fround(v);
}

function printConst(v: number, type: DType): string[] {
  const c = constantValue(v, type);
  if (typeof c === "bigint") return [c < 0n ? `(${c}n)` : `${c}n`];
  if (typeof c === "boolean") return [String(c)];
  const text = Object.is(c, -0) || c < 0 ? `(${Object.is(c, -0) ? "-0" : c})` : String(c);
  return DTYPES[type].kind === "complex" ? [text, "0"] : [text];
}

function printCast(x: readonly string[], from: DType, to: DType): string[] {
  const [a] = x, big = isBigInt(from), kind = DTYPES[from].kind;
  if (DTYPES[to].kind === "complex") {
    const im = x[1] ?? "0";
    return [
      printCast([a], partOf(from), partOf(to))[0],
      x[1] ? printCast([im], partOf(from), partOf(to))[0] : im,
    ];
  }
  if (kind === "complex") return printCast([a], partOf(from), to);
  if (from === to && kind !== "float") return [a];
  switch (to) {
    case "bool":
      return [big ? `${a} !== 0n` : from === "bool" ? a : `${a} !== 0`];
    case "int64":
    case "uint64":
      if (kind === "float") return [`H.${to === "int64" ? "toInt64" : "toUint64"}(${a})`];
      return [wrapText(big ? a : `BigInt(${a})`, to)];
  }
  const low = big ? `Number(BigInt.asIntN(53, ${a}))` : from === "bool" ? `+${a}` : a;
  switch (DTYPES[to].kind) {
    case "int":
    case "uint":
      if (kind !== "float") return [wrapText(low, to)];
      if (to === "uint32") return [`H.toUint(${a})`];
      return [
        to === "int32" ? `H.toInt(${a})` : `H.toRange(${a}, ${INTEGER_ENDS[to]!.join(", ")})`,
      ];
  }
  const number = big ? `Number(${a})` : low;
  switch (to) {
    case "float32":
      return [`Math.fround(${number})`];
    case "float16":
      return [`H.roundToHalf(${number})`];
    case "bfloat16":
      return [`H.roundToBfloat(${number})`];
  }
  return [number];
}

/** Dtype of the parts of a complex number; others stay. */
export function partOf(t: DType): DType {
  return t === "complex64" ? "float32" : t === "complex128" ? "float64" : t;
}

function printComplex(
  op: ScalarOp,
  xs: readonly (readonly string[])[],
  name: (text: string) => string,
): string[] {
  const texts = COMPLEX[op]?.(...xs.flat() as ComplexParts);
  if (texts) return texts.map((text) => (xs[0].includes(text) ? text : name(text)));
  if (!(`c${op}` in complexMath)) {
    throw new UnimplementedError(`Cannot compute ${op} of complex numbers`);
  }
  const pair = name(`H.c${op}(${xs.flat().join(", ")})`);
  return [`${pair}[0]`, `${pair}[1]`];
}
