/** Prints scalar expressions as WGSL. NaN and infinity are tested by bits: compilers may assume they do not exist. */
import { type DType, DTYPES } from "../dtype.ts";
import { castTo, type Expr, exprType, literalOf, once, operandsOf, type ScalarOp } from "./expr.ts";
import { UnimplementedError } from "../errors.ts";
import { f32Bits, ZERO_PARAM } from "../dispatch.ts";
import { loadText, storeText } from "../gpu_storage.ts";
import { SCALAR_WGSL } from "../../../shaders_generated.ts";
import { wgslFunctions } from "./wgsl_functions.ts";

/** Printed statements, result texts and the helper functions they call. */
export interface PrintedWgsl {
  readonly lines: string[];
  /** One text per result, in the register type of its dtype (`bool` for bool). */
  readonly results: string[];
  readonly dtypes: DType[];
  /** Names of the called helper functions. */
  readonly helpers: readonly string[];
  readonly prelude: string;
}

/** Returns the WGSL type of a dtype's values in registers: float16 computes in f32. */
export function registerType(dtype: DType): string {
  switch (dtype) {
    case "float32":
    case "float16":
      return "f32";
    case "int32":
      return "i32";
    case "uint32":
      return "u32";
    case "bool":
      return "bool";
    case "complex64":
      return "vec2<f32>";
  }
  throw new UnimplementedError(`Cannot compute ${dtype} on the GPU`);
}

/** Returns the register text of a value loaded from a storage buffer. */
export function loadElement(dtype: DType, text: string): string {
  if (dtype === "bool") return `(${text} != 0u)`;
  return loadText(dtype, text);
}

/** Returns the storage text of a value in a register. */
export function storeElement(dtype: DType, text: string): string {
  if (dtype === "bool") return `select(0u, 1u, ${text})`;
  return storeText(dtype, text);
}

/** The type of operands, and a function that declares a helper and returns its name. */
interface Printing {
  readonly type: DType;
  readonly use: (helper: string) => string;
}
type Nodes = Partial<Record<ScalarOp, (a: string, b: string, to: Printing) => string>>;

const same = (a: string): string => a;
const infix = (sign: string) => (a: string, b: string): string => `(${a} ${sign} ${b})`;
const builtin = (name: string) => (a: string): string => `${name}(${a})`;
const ofWords = (sign: string) => (a: string, b: string): string => `(u32(${a}) ${sign} u32(${b}))`;
/** Prints a call of a helper for signed integers, or of another for others. */
const helper = (signed: string, unsigned: string) => (a: string, b: string, to: Printing): string =>
  `${to.use(to.type === "int32" ? signed : unsigned)}(${a}, ${b})`;

const EXACT_TESTS: Nodes = { isnan: () => "false", isinf: () => "false", isfinite: () => "true" };
const BOOL: Nodes = {
  ...EXACT_TESTS,
  not: (a) => `!(${a})`,
  eq: infix("=="),
  ne: infix("!="),
  xor: infix("!="),
  or: infix("|"),
  add: infix("|"),
  max: infix("|"),
  and: infix("&"),
  mul: infix("&"),
  min: infix("&"),
  lt: ofWords("<"),
  le: ofWords("<="),
  gt: ofWords(">"),
  ge: ofWords(">="),
};
const NUMBER: Nodes = {
  add: infix("+"),
  sub: infix("-"),
  mul: infix("*"),
  real: same,
  conj: same,
  imag: (_a, _b, { type }) => wgslConst(0, type),
};
const INTEGER: Nodes = {
  ...NUMBER,
  ...EXACT_TESTS,
  lt: infix("<"),
  le: infix("<="),
  gt: infix(">"),
  ge: infix(">="),
  eq: infix("=="),
  ne: infix("!="),
  bitand: infix("&"),
  bitor: infix("|"),
  bitxor: infix("^"),
  bitnot: (a) => `(~${a})`,
  shl: (a, b) => `(${a} << (u32(${b}) & 31u))`,
  shr: (a, b) => `(${a} >> (u32(${b}) & 31u))`,
  div: helper("idiv_", "udiv_"),
  floordiv: helper("ifloordiv_", "udiv_"),
  floormod: helper("ifloormod_", "umod_"),
  truncmod: helper("itruncmod_", "umod_"),
  pow: helper("ipow_", "upow_"),
  neg: (a, _, { type }) => type === "int32" ? `(-${a})` : `(0u - ${a})`,
  abs: (a, _, { type }) => type === "int32" ? `abs(${a})` : a,
  sign: (a, _, { type }) => type === "int32" ? `sign(${a})` : `min(${a}, 1u)`,
  min: (a, b) => `min(${a}, ${b})`,
  max: (a, b) => `max(${a}, ${b})`,
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
};
const FLOAT: Nodes = {
  ...NUMBER,
  complex: (a, b) => `vec2<f32>(${a}, ${b})`,
  div: infix("/"),
  neg: (a) => `(-${a})`,
  // Comparisons must hold for NaN although compilers may reverse them.
  gt: (a, b, { use }) => `${use("lt_")}(${b}, ${a})`,
  ge: (a, b, { use }) => `${use("le_")}(${b}, ${a})`,
  ne: (a, b, { use }) => `!${use("eq_")}(${a}, ${b})`,
  // Built-in functions that are correct everywhere.
  abs: builtin("abs"),
  floor: builtin("floor"),
  ceil: builtin("ceil"),
  round: builtin("round"),
  trunc: builtin("trunc"),
};
/** Of complex numbers, vectors of their parts; the other primitives are helpers whose names begin with `c`. */
const COMPLEX: Nodes = {
  add: infix("+"),
  sub: infix("-"),
  neg: (a) => `(-${a})`,
  real: (a) => `${a}.x`,
  imag: (a) => `${a}.y`,
  conj: (a) => `vec2<f32>(${a}.x, -${a}.y)`,
  abs: (a, _, { use }) => `${use("hypot_")}(${a}.x, ${a}.y)`,
  eq: (a, b, { use }) => `${use("ceq_")}(${a}, ${b})`,
  ne: (a, b, { use }) => `!${use("ceq_")}(${a}, ${b})`,
};

/** Greatest whole power that is printed as products: the helper makes products to the same one. */
const MOST_FACTORS = 64;
const isFactors = (exponent: number): boolean =>
  Number.isInteger(exponent) && exponent >= 0 && exponent <= MOST_FACTORS;

/** Prints expressions over arguments whose register texts are `args`. */
export function printWgsl(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  args: readonly string[],
): PrintedWgsl {
  const lines: string[] = [];
  const used = new Set<string>();
  let n = 0;
  const use = (helper: string): string => (used.add(helper), helper);
  const print = once((e, hint): string => {
    const text = printNode(e, hint);
    if (e.op === "arg" || e.op === "const") return text;
    lines.push(`let t${n} = ${text};`);
    return `t${n++}`;
  });
  const printNode = (e: Expr, hint: DType): string => {
    if (e.op === "arg") return args[e.value!];
    if (e.op === "const") return wgslConst(e.value!, hint, use);
    const { operands, type } = operandsOf(e, dtypes, hint);
    const exponent = e.op === "pow" && DTYPES[type].kind === "float" ? literalOf(e.args[1]) : NaN;
    if (isFactors(exponent)) {
      return power(print(e.args[0], type), exponent);
    }
    const xs = operands.map((o) => print(o, type));
    if (e.op === "cast") return wgslCast(xs[0], type, e.dtype!, use);
    if (e.op === "keep") return keepText(xs[0], type, e.value === 1);
    if (e.op === "select") return `select(${xs[1]}, ${xs[0]}, ${print(e.args[0], "bool")})`;
    return wgslNode(e.op, xs[0], xs[1], { type, use });
  };
  /** Prints the products by which the helper `pow_` raises to a whole power, in its order. */
  const power = (base: string, exponent: number): string => {
    const named = (text: string): string => (lines.push(`let t${n} = ${text};`), `t${n++}`);
    let result = "", factor = base;
    for (let left = exponent; left > 0; left >>= 1) {
      if (left < exponent) factor = named(`(${factor} * ${factor})`);
      if (left & 1) result = result === "" ? factor : named(`(${result} * ${factor})`);
    }
    return result || "1.0f";
  };
  const out: DType[] = [];
  const results = exprs.map((e) => {
    const t = exprType(e, dtypes);
    out.push(t);
    // Storing rounds by itself.
    const isRounding = e.op === "cast" && t === "float16";
    return print(isRounding ? castTo(e.args[0], "float32") : e, t);
  });
  const helpers = [...used];
  return { lines, results, dtypes: out, helpers, prelude: wgslFunctions(SCALAR_WGSL, helpers) };
}

const weights = new WeakMap<Expr, number>();

/** Returns the characters of the helper functions that an expression calls, each counted at every call: drivers inline them. */
export function helperText(exprs: readonly Expr[]): number {
  const weigh = (e: Expr, seen: Set<Expr>): number => {
    if (seen.has(e)) return 0;
    seen.add(e);
    const isProducts = e.op === "pow" && isFactors(literalOf(e.args[1]));
    const own = isProducts ? 0 : lengthOf(`${e.op}_`);
    return e.args.reduce((sum, x) => sum + weigh(x, seen), own);
  };
  let total = 0;
  for (const e of exprs) {
    let known = weights.get(e);
    if (known === undefined) weights.set(e, known = weigh(e, new Set()));
    total += known;
  }
  return total;
}

function lengthOf(helper: string): number {
  if (!(helper in SCALAR_WGSL)) return 0;
  const { text, needs } = SCALAR_WGSL[helper as keyof typeof SCALAR_WGSL];
  return needs.reduce((sum: number, name: string) => sum + lengthOf(name), text.length);
}

/** Prints a WGSL literal of a dtype, in its register type. */
export function wgslConst(
  v: number,
  type: DType,
  use: (helper: string) => string = (h) => h,
): string {
  switch (type) {
    case "bool":
      return v ? "true" : "false";
    case "int32":
      return v === -2147483648 ? "i32(-2147483647 - 1)" : `i32(${Math.trunc(v)})`;
    case "uint32":
      return `${Math.trunc(v) >>> 0}u`;
    case "complex64":
      return `vec2<f32>(${wgslConst(v, "float32", use)}, 0.0f)`;
  }
  const f = Math.fround(v);
  if (Number.isNaN(f)) return `${use("nan_")}()`;
  if (!Number.isFinite(f)) return f > 0 ? `${use("inf_")}()` : `(-${use("inf_")}())`;
  // Numbers that not every compiler parses exactly are printed as bits.
  if (Object.is(f, -0) || (f !== 0 && Math.abs(f) < 1.1754944e-38)) {
    return `bitcast<f32>(${f32Bits(f)}u)`;
  }
  // The decimal of the rounded float, so that both compilers read the same bits.
  const text = String(f);
  const literal = /[.e]/.test(text) ? text : `${text}.0`;
  return f < 0 ? `(${literal}f)` : `${literal}f`;
}

/** Prints a value so that compilers cannot know it before the kernel runs. */
function keepText(x: string, type: DType, again: boolean): string {
  const { kind } = DTYPES[type], op = again ? "+" : "^";
  if (kind === "complex") {
    return `bitcast<vec2<f32>>(bitcast<vec2<u32>>(${x}) ${op} vec2<u32>(p.${ZERO_PARAM}))`;
  }
  return kind === "float" ? `bitcast<f32>(bitcast<u32>(${x}) ${op} p.${ZERO_PARAM})` : x;
}

function wgslCast(x: string, from: DType, to: DType, use: (helper: string) => string): string {
  if (from === "complex64") return to === from ? x : wgslCast(`${x}.x`, "float32", to, use);
  if (to === "complex64") return `vec2<f32>(${wgslCast(x, from, "float32", use)}, 0.0f)`;
  const fromFloat = DTYPES[from].kind === "float";
  // Rounds to float16 as a chain of ops would.
  if (to === "float16") {
    return from === to ? x : `${use("tohalf_")}(${fromFloat ? x : `f32(${x})`})`;
  }
  if (from === to || (fromFloat && to === "float32")) return x;
  if (to === "bool" && fromFloat) return `((bitcast<u32>(${x}) & 0x7fffffffu) != 0u)`;
  if (to === "bool") return `(${x} != ${wgslConst(0, from)})`;
  if (to === "int32" && fromFloat) return `${use("toint_")}(${x})`;
  if (to === "uint32" && fromFloat) return `${use("touint_")}(${x})`;
  return `${registerType(to)}(${x})`;
}

function wgslNode(op: ScalarOp, a: string, b: string, to: Printing): string {
  const text = nodeOfKind(op, a, b, to);
  if (text === undefined) {
    throw new UnimplementedError(`Cannot print scalar ${op} of ${to.type} as WGSL`);
  }
  return text;
}

function nodeOfKind(op: ScalarOp, a: string, b: string, to: Printing): string | undefined {
  const { kind } = DTYPES[to.type];
  if (kind === "bool") return BOOL[op]?.(a, b, to);
  if (kind === "float" || kind === "complex") {
    const call = b === undefined ? `(${a})` : `(${a}, ${b})`;
    const [nodes, helper] = kind === "float" ? [FLOAT, `${op}_`] : [COMPLEX, `c${op}_`];
    return nodes[op]?.(a, b, to) ?? (helper in SCALAR_WGSL ? to.use(helper) + call : undefined);
  }
  const text = INTEGER[op]?.(a, b, to);
  if (text !== undefined) return text;
  // A function of floats: computed in floats and truncated.
  const float = nodeOfKind(op, `f32(${a})`, b && `f32(${b})`, { ...to, type: "float32" });
  return float && wgslCast(float, "float32", to.type, to.use);
}
