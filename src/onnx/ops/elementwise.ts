/** Arithmetic, comparisons and logic, element by element. */
import { DTYPES } from "../../engine/core/dtype.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { followArithmetic } from "../build/entries.ts";
import { op, type OpEntry, type Rule, type RuleOptions } from "../build/rule.ts";
import { binary, isFloat, isWhole, like, put1, to, unary } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Divides integers towards zero. */
function divide(a: Tensor, b: Tensor): Tensor {
  return isWhole(a.dtype) ? put1("TruncateDiv", [a, b]) : tf.div(a, b);
}

/** Returns the remainder: with the divisor's sign, or the dividend's for `fmod`. */
function modulo(n: NodeCall): Tensor {
  const a = n.x(0), b = n.x(1);
  if (n.attributes.flag("fmod")) return put1("TruncateMod", [a, b]);
  if (!isFloat(a.dtype)) return tf.mod(a, b);
  // An infinite divisor leaves a dividend of its sign, and is itself the remainder of one of the other sign.
  const infinite = tf.logicalAnd(tf.isInf(b), tf.isFinite(a));
  const same = tf.logicalOr(tf.equal(a, 0), tf.equal(tf.sign(a), tf.sign(b)));
  return tf.where(infinite, tf.where(same, a, b), tf.mod(a, b));
}

/** Raises to a power in the base's dtype. Integers are raised to floating-point exponents as such. */
function power(n: NodeCall): Tensor {
  const base = n.x(0), exponent = n.known(1);
  // A number in the file is no variable to differentiate by, and a small one is a product.
  if (
    exponent?.size === 1 && isFloat(base.dtype) &&
    exponent.shape.length <= (n.shape(0)?.length ?? 0)
  ) {
    const value = Number(exponent.at(0));
    if (value === 2) return tf.square(base);
    if (value === 1) return tf.identity(base);
    if (value === 0.5) return tf.sqrt(base);
    if (value === 3) return tf.mul(tf.square(base), base);
    return tf.pow(base, like(base, value));
  }
  const e = n.x(1);
  if (isFloat(base.dtype) || !isFloat(e.dtype)) return tf.pow(base, to(e, base.dtype));
  return to(tf.pow(to(base, "float64"), to(e, "float64")), base.dtype);
}

/** Folds the inputs from the first on. */
function fold(f: (a: Tensor, b: Tensor) => Tensor): Rule {
  return ({ xs }) => xs.length === 1 ? tf.identity(xs[0]) : xs.reduce(f);
}

function mean({ xs }: NodeCall): Tensor {
  return xs.length === 1
    ? tf.identity(xs[0])
    : tf.div(xs.reduce((a, b) => tf.add(a, b)), like(xs[0], xs.length));
}

/** Makes the rule of a maximum or minimum of the inputs. */
function extreme(name: "Maximum" | "Minimum"): Rule {
  return fold((a, b) => put1(name, [a, b]));
}

/** Shifts by the bit width or more give zero. */
function bitShift(n: NodeCall): Tensor {
  const x = n.x(0), by = n.x(1), bits = DTYPES[x.dtype].bytes * 8;
  const isLeft = n.attributes.text("direction", "") === "LEFT";
  const { kind } = DTYPES[x.dtype];
  const far = tf.greaterEqual(by, like(by, bits));
  const away = kind === "uint" ? far : tf.logicalOr(far, tf.less(by, like(by, 0)));
  const near = tf.where(away, tf.zerosLike(by), by);
  const shifted = put1(isLeft ? "LeftShift" : "RightShift", [x, near]);
  const rest = kind === "uint" || isLeft
    ? tf.zerosLike(x)
    : tf.where(tf.less(x, like(x, 0)), like(x, -1), tf.zerosLike(x));
  return tf.where(away, rest, shifted);
}

/** The lower bound is applied first, so that the upper one wins if they are in the wrong order. */
function clip(n: NodeCall): Tensor {
  let x = n.x(0);
  if (n.version < 11) {
    const { attributes } = n;
    if (attributes.has("min")) x = tf.maximum(x, like(x, attributes.float("min", 0)));
    return attributes.has("max")
      ? tf.minimum(x, like(x, attributes.float("max", 0)))
      : tf.identity(x);
  }
  if (n.has(1) && n.value(1).kind === "tensor") x = tf.maximum(x, n.x(1));
  if (n.has(2)) x = tf.minimum(x, n.x(2));
  return tf.identity(x);
}

function isInf(n: NodeCall): Tensor {
  const x = n.x(0), { attributes } = n;
  const signs = [
    attributes.flag("detect_positive", true),
    attributes.flag("detect_negative", true),
  ];
  const infinite = tf.isInf(x);
  if (signs[0] && signs[1]) return infinite;
  if (!signs[0] && !signs[1]) return tf.logicalAnd(infinite, false);
  const sign = signs[0] ? tf.greater(x, like(x, 0)) : tf.less(x, like(x, 0));
  return tf.logicalAnd(infinite, sign);
}

function equal(a: Tensor, b: Tensor): Tensor {
  return tf.equal(a, b);
}

/** Selects among inputs, each of which may have axes of extent 1. */
function where(n: NodeCall): Tensor {
  return tf.where(n.x(0), n.x(1), n.x(2));
}

const narrow = { narrow: true };

/** Marks arithmetic of shape computations with {@linkcode narrow}. */
function counts(f: (a: number, b: number) => number): RuleOptions {
  return { narrow: true, follow: followArithmetic(f) };
}

const ENTRIES: readonly OpEntry[] = [
  op("Abs", 1, unary(tf.abs)),
  op("Acos", 7, unary(tf.acos)),
  op("Acosh", 9, unary(tf.acosh)),
  op("Add", 1, binary(tf.add), counts((a, b) => a + b)),
  op("And", 1, binary(tf.logicalAnd)),
  op("Asin", 7, unary(tf.asin)),
  op("Asinh", 9, unary(tf.asinh)),
  op("Atan", 7, unary(tf.atan)),
  op("Atanh", 9, unary(tf.atanh)),
  op("BitShift", 11, bitShift),
  op("BitwiseAnd", 18, binary((a, b) => put1("BitwiseAnd", [a, b]))),
  op("BitwiseNot", 18, unary((x) => put1("Invert", [x]))),
  op("BitwiseOr", 18, binary((a, b) => put1("BitwiseOr", [a, b]))),
  op("BitwiseXor", 18, binary((a, b) => put1("BitwiseXor", [a, b]))),
  op("Ceil", 1, unary(tf.ceil)),
  op("Clip", 1, clip),
  op("Cos", 7, unary(tf.cos)),
  op("Cosh", 9, unary(tf.cosh)),
  op("Div", 1, binary(divide), counts((a, b) => b === 0 ? NaN : Math.trunc(a / b))),
  op("Equal", 1, binary(equal), narrow),
  op("Erf", 9, unary(tf.erf)),
  op("Exp", 1, unary(tf.exp)),
  op("Floor", 1, unary(tf.floor)),
  op("Greater", 1, binary(tf.greater), narrow),
  op("GreaterOrEqual", 12, binary(tf.greaterEqual), narrow),
  op("Identity", 1, (n) => n.value(0), { folds: false }),
  op("IsInf", 10, isInf),
  op("IsNaN", 9, unary(tf.isNaN)),
  op("Less", 1, binary(tf.less), narrow),
  op("LessOrEqual", 12, binary(tf.lessEqual), narrow),
  op("Log", 1, unary(tf.log)),
  op("Max", 1, extreme("Maximum"), narrow),
  op("Mean", 1, mean),
  op("Min", 1, extreme("Minimum"), narrow),
  op("Mod", 10, modulo, narrow),
  op("Mul", 1, binary(tf.mul), counts((a, b) => a * b)),
  op("Neg", 1, unary(tf.neg), narrow),
  op("Not", 1, unary(tf.logicalNot)),
  op("Or", 1, binary(tf.logicalOr)),
  op("Pow", 1, power),
  op("Reciprocal", 1, unary(tf.reciprocal)),
  op("Round", 11, unary(tf.round)),
  op("Sign", 9, unary(tf.sign)),
  op("Sin", 7, unary(tf.sin)),
  op("Sinh", 9, unary(tf.sinh)),
  op("Sqrt", 1, unary(tf.sqrt)),
  op("Sub", 1, binary(tf.sub), counts((a, b) => a - b)),
  op("Sum", 1, fold(tf.add)),
  op("Tan", 7, unary(tf.tan)),
  op("Tanh", 1, unary(tf.tanh)),
  op("Where", 9, where, narrow),
  op("Xor", 1, binary(tf.logicalXor)),
];

/** Ops that work element by element. */
export const ELEMENTWISE: readonly OpEntry[] = ENTRIES.map((entry) => ({
  ...entry,
  pointwise: true,
  halves: "computed",
}));
