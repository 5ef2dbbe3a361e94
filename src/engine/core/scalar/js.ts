/**
 * Prints scalar expressions as JavaScript, in the arithmetic of each dtype: wrapping integers, bigint for 64 bits, pairs for
 * complex, float32 results rounded at each step (float16 and bfloat16 compute in float32).
 */
import { codeOf, type DType, DTYPES, isBigInt } from "../dtype.ts";
import { type Expr, exprType, once, operandsOf, type ScalarOp } from "./expr.ts";
import * as complexMath from "./complex.ts";
import * as scalarMath from "./math.ts";
import { castOf, COMPLEX, type ComplexParts, operationOf, partOf } from "./operations.ts";
import { UnimplementedError } from "../errors.ts";

/** Printed statements and the names that hold the results. */
export interface Printed {
  readonly lines: string[];
  /** One expression text per result; two (re, im) for complex ones. */
  readonly results: string[][];
  readonly dtypes: DType[];
}

/** Functions that printed code calls as `H`. */
export const JS_HELPERS: Readonly<Record<string, unknown>> = {
  ...scalarMath,
  ...complexMath,
  ...Object.assign({}, ...Object.keys(DTYPES).map((name) => codeHelpers(name as DType))),
};

/** Returns the functions of a dtype's code: `decode_`, `encode_` and `round_` before its name. */
function codeHelpers(dtype: DType): Record<string, unknown> {
  const code = codeOf(dtype);
  if (code === null) return {};
  const { decode, encode } = code;
  return {
    [`decode_${dtype}`]: decode,
    [`encode_${dtype}`]: encode,
    [`round_${dtype}`]: (x: number) => decode(encode(x)),
  };
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
    return [name(operationOf(e.op, type).text(xs[0][0], xs[1]?.[0] ?? ""))];
  });
  const results: string[][] = [], out: DType[] = [];
  for (const e of exprs) {
    const t = exprType(e, dtypes);
    out.push(t);
    results.push(print(e, t));
  }
  return { lines, results, dtypes: out };
}

/** Returns a constant in the representation of a dtype. */
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

function printCast([re, im]: readonly string[], from: DType, to: DType): string[] {
  const { text } = castOf(partOf(from), partOf(to));
  if (DTYPES[to].kind !== "complex") return [text(re, "")];
  return [text(re, ""), im ? text(im, "") : "0"];
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
