/** Scalar expressions of complex numbers as nodes on their real and imaginary parts. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import {
  type Expr,
  once,
  operandsOf,
  PREDICATES,
  type ScalarOp,
} from "../../engine/core/scalar/expr.ts";
import { writePrimitive } from "./expressions.ts";
import { compare, where } from "./helpers.ts";
import type { NodeWriter } from "./node_writer.ts";
import type { Ref } from "./ref.ts";

/** A real and an imaginary part; null stands for an imaginary part of 0. */
type Parts = readonly [Ref, Ref | null];

type Write = (n: NodeWriter, xs: readonly Parts[]) => Parts;

/** Reads a real number from each of the parts. */
type Real = (n: NodeWriter, re: Ref, im: Ref) => Ref;

const add = (n: NodeWriter, a: Ref, b: Ref): Ref => n.node("Add", [a, b]);
const sub = (n: NodeWriter, a: Ref, b: Ref): Ref => n.node("Sub", [a, b]);
const mul = (n: NodeWriter, a: Ref, b: Ref): Ref => n.node("Mul", [a, b]);
const div = (n: NodeWriter, a: Ref, b: Ref): Ref => n.node("Div", [a, b]);
const neg = (n: NodeWriter, a: Ref): Ref => n.node("Neg", [a]);
const half = (n: NodeWriter, a: Ref): Ref => mul(n, a, n.scalar(0.5, a.dtype));
const zero = (n: NodeWriter, { dtype }: Ref): Ref => n.scalar(0, dtype);

function imagOf(n: NodeWriter, [re, im]: Parts): Ref {
  return im ?? zero(n, re);
}

const squared: Real = (n, re, im) => add(n, mul(n, re, re), mul(n, im, im));

/** The larger part is taken out, so that no square overflows. */
const magnitude: Real = (n, re, im) => {
  const [a, b] = [n.node("Abs", [re]), n.node("Abs", [im])];
  const large = n.node("Max", [a, b]), small = n.node("Min", [a, b]);
  const isPlain = n.node("Or", [
    compare(n, "Equal", large, zero(n, large)),
    n.node("IsInf", [large], {}, { dtype: "bool" }),
  ]);
  const divisor = where(n, isPlain, n.scalar(1, large.dtype), large),
    ratio = div(n, small, divisor);
  const length = n.node("Sqrt", [add(n, mul(n, ratio, ratio), n.scalar(1, ratio.dtype))]);
  return where(n, isPlain, large, mul(n, large, length));
};

const quotient: Write = (n, [a, b]) => {
  const [c, d] = b, [re, im] = a;
  if (d === null) return [div(n, re, c), im && div(n, im, c)];
  const i = imagOf(n, a), length = squared(n, c, d);
  return [
    div(n, add(n, mul(n, re, c), mul(n, i, d)), length),
    div(n, sub(n, mul(n, i, c), mul(n, re, d)), length),
  ];
};

const product: Write = (n, [[a, b], [c, d]]) => {
  if (d === null) return [mul(n, a, c), b && mul(n, b, c)];
  if (b === null) return [mul(n, a, c), mul(n, a, d)];
  return [sub(n, mul(n, a, c), mul(n, b, d)), add(n, mul(n, a, d), mul(n, b, c))];
};

function partwise(op: "Add" | "Sub"): Write {
  return (n, [a, b]) => {
    const re = n.node(op, [a[0], b[0]]);
    if (a[1] === null && b[1] === null) return [re, null];
    return [re, n.node(op, [imagOf(n, a), imagOf(n, b)])];
  };
}

const exponential: Write = (n, [x]) => {
  const size = n.node("Exp", [x[0]]), angle = imagOf(n, x);
  return [mul(n, size, n.node("Cos", [angle])), mul(n, size, n.node("Sin", [angle]))];
};

const logarithm: Write = (n, [x]) => {
  const im = imagOf(n, x);
  const angle = writePrimitive(n, "atan2", [im, x[0]]);
  return [n.node("Log", [magnitude(n, x[0], im)]), angle];
};

/** The root with a real part that is not negative. */
const root: Write = (n, [x]) => {
  const [re] = x, im = imagOf(n, x), size = magnitude(n, re, im);
  const of = (a: Ref): Ref => n.node("Sqrt", [half(n, n.node("Max", [a, zero(n, a)]))]);
  const isBelow = compare(n, "Less", im, zero(n, im)), y = of(sub(n, size, re));
  return [of(add(n, size, re)), where(n, isBelow, neg(n, y), y)];
};

/** Makes a sine or cosine of `x + iy`: products of those of x and of `e^y` with `e^-y`. */
function circular(re: "Sin" | "Cos"): Write {
  return (n, [x]) => {
    const other = re === "Sin" ? "Cos" : "Sin", im = imagOf(n, x);
    const a = mul(n, n.node(re, [x[0]]), n.node("Cosh", [im]));
    const b = mul(n, n.node(other, [x[0]]), n.node("Sinh", [im]));
    return [a, re === "Sin" ? b : neg(n, b)];
  };
}

function hyperbolic(re: "Sinh" | "Cosh"): Write {
  return (n, [x]) => {
    const other = re === "Sinh" ? "Cosh" : "Sinh", im = imagOf(n, x);
    return [
      mul(n, n.node(re, [x[0]]), n.node("Cos", [im])),
      mul(n, n.node(other, [x[0]]), n.node("Sin", [im])),
    ];
  };
}

function ratio(above: Write, below: Write): Write {
  return (n, xs) => quotient(n, [above(n, xs), below(n, xs)]);
}

/** Is `exp(b log(a))`; a power of 0 is 0, but for an exponent of 0. */
const power: Write = (n, [a, b]) => {
  const [re, im] = exponential(n, [product(n, [b, logarithm(n, [a])])]);
  const isZero = ([x, y]: Parts): Ref =>
    compare(n, "Equal", n.node("Max", [n.node("Abs", [x]), n.node("Abs", [y ?? x])]), zero(n, x));
  const one = n.scalar(1, re.dtype), none = zero(n, re), isBase = isZero(a);
  return [where(n, isBase, where(n, isZero(b), one, none), re), where(n, isBase, none, im!)];
};

/** Makes a test of both parts. */
function equal(isNegated: boolean): Write {
  return (n, [a, b]) => {
    const both = n.node("And", [
      compare(n, "Equal", a[0], b[0]),
      compare(n, "Equal", imagOf(n, a), imagOf(n, b)),
    ]);
    return [isNegated ? n.node("Not", [both]) : both, null];
  };
}

const PRIMITIVES: Partial<Record<ScalarOp, Write>> = {
  abs: (n, [x]) => [magnitude(n, x[0], imagOf(n, x)), null],
  add: partwise("Add"),
  complex: (_, [[re], [im]]) => [re, im],
  conj: (n, [[re, im]]) => [re, im && neg(n, im)],
  cos: circular("Cos"),
  cosh: hyperbolic("Cosh"),
  div: quotient,
  eq: equal(false),
  exp: exponential,
  imag: (n, [x]) => [imagOf(n, x), null],
  log: logarithm,
  mul: product,
  ne: equal(true),
  pow: power,
  neg: (n, [[re, im]]) => [neg(n, re), im && neg(n, im)],
  real: (_, [[re]]) => [re, null],
  rsqrt: (n, xs) => quotient(n, [[n.scalar(1, xs[0][0].dtype), null], root(n, xs)]),
  select: (n, [[test], a, b]) => [
    where(n, test, a[0], b[0]),
    where(n, test, imagOf(n, a), imagOf(n, b)),
  ],
  sin: circular("Sin"),
  sinh: hyperbolic("Sinh"),
  sqrt: root,
  sub: partwise("Sub"),
  tan: ratio(circular("Sin"), circular("Cos")),
  tanh: ratio(hyperbolic("Sinh"), hyperbolic("Cosh")),
};

const isComplex = (dtype: DType): boolean => DTYPES[dtype].kind === "complex";

const floatOf = (dtype: DType): DType => dtype === "complex128" ? "float64" : "float32";

/** Writes an expression of a node's operands; its numbers take the dtype `hint`. */
export function writeComplexExpr(n: NodeWriter, expr: Expr, hint: DType): Parts {
  const dtypes = n.xs.map((x) => x.dtype);
  const write = once((e: Expr, hint: DType): Parts => {
    switch (e.op) {
      case "arg":
        return n.xs[e.value!].parts ?? [n.xs[e.value!], null];
      case "const":
        return [n.scalar(e.value!, isComplex(hint) ? floatOf(hint) : hint), null];
      case "keep":
        return write(e.args[0], hint);
      case "cast": {
        const [re, im] = write(e.args[0], hint), to = e.dtype!;
        if (!isComplex(to)) return [n.cast(re, to), null];
        return [n.cast(re, floatOf(to)), im && n.cast(im, floatOf(to))];
      }
    }
    const { type } = operandsOf(e, dtypes, hint);
    const operands = e.args.map((a, i) => write(a, e.op === "select" && i === 0 ? "bool" : type));
    if (!isComplex(type) && e.op !== "complex") {
      return [writePrimitive(n, e.op, operands.map(([re]) => re)), null];
    }
    const primitive = PRIMITIVES[e.op];
    if (primitive !== undefined) return primitive(n, operands);
    const what = PREDICATES.has(e.op) ? "the test" : "the function";
    return n.lacks(
      `ONNX has no complex numbers, and ${what} ${e.op} of their parts is not written`,
    );
  });
  return write(expr, hint);
}
