/** Pointwise arithmetic: sums, products, quotients and remainders. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { DTYPES, isInteger } from "../../core/dtype.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import {
  broadcastShapes,
  isConcrete,
  mergeShapes,
  type PartialShape,
  sameShape,
} from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { sumCpu } from "../../kernels/host/pointwise.ts";
import { MOST_TERMS } from "../../kernels/pointwise/bound_exprs.ts";
import { broadcastGrad, definePointwise, FLOAT_OR_COMPLEX, unaryGrad } from "./define_pointwise.ts";
import {
  applyConverted,
  asTensor,
  castInput,
  disposeConverted,
  intVector,
  shapeOfInput,
  toInput,
  toInputs,
  toMatchingInputs,
} from "../input.ts";

const BINARY = { inputs: ["x", "y"], types: "numeric" };
const REAL = { inputs: ["x", "y"], types: "real" };

export const AddV2: OpDef = definePointwise("AddV2", ([x, y]) => s.add(x, y), {
  ...BINARY,
  grad: broadcastGrad([], (_, g) => g, (_, g) => g),
});
export const Sub: OpDef = definePointwise("Sub", ([x, y]) => s.sub(x, y), {
  ...BINARY,
  grad: broadcastGrad([], (_, g) => g, (_, g) => neg(g)),
});
const Mul = definePointwise("Mul", ([x, y]) => s.mul(x, y), {
  ...BINARY,
  grad: broadcastGrad(
    ["x", "y"],
    ({ y }, g) => mul(g, conjugate(y)),
    ({ x }, g) => mul(g, conjugate(x)),
  ),
});
const RealDiv = definePointwise("RealDiv", ([x, y]) => s.div(x, y), {
  ...BINARY,
  grad: broadcastGrad(
    ["x", "y"],
    ({ y }, g) => div(g, conjugate(y)),
    ({ x, y }, g) => neg(mul(div(g, conjugate(y)), conjugate(div(x, y)))),
  ),
});
const DivNoNan = definePointwise("DivNoNan", ([x, y]) => s.select(s.eq(y, 0), 0, s.div(x, y)), {
  inputs: ["x", "y"],
  types: FLOAT_OR_COMPLEX,
  grad: broadcastGrad(
    ["x", "y"],
    ({ y }, g) => divNoNan(g, conjugate(y)),
    ({ x, y }, g) => neg(mul(divNoNan(g, conjugate(y)), conjugate(divNoNan(x, y)))),
  ),
});
const FloorDiv = definePointwise("FloorDiv", ([x, y]) => s.floordiv(x, y), {
  ...REAL,
  grad: null,
});
const FloorMod = definePointwise("FloorMod", ([x, y]) => s.floormod(x, y), {
  ...REAL,
  grad: broadcastGrad(["x", "y"], (_, g) => g, ({ x, y }, g) => neg(mul(g, floorDiv(x, y)))),
});
const Neg = definePointwise("Neg", ([x]) => s.neg(x), {
  types: "numeric",
  grad: unaryGrad([], (_, g) => neg(g)),
});
const Conj: OpDef = definePointwise("Conj", ([input]) => s.conj(input), {
  inputs: ["input"],
  output: "output: T",
  types: "complex",
  grad: unaryGrad([], (_, g) => apply1(Conj, [g])),
});

// TensorFlow's older names of the same meaning, which graphs still hold.
definePointwise("Add", ([x, y]) => s.add(x, y), { ...BINARY, grad: AddV2.grad! });
definePointwise("Div", ([x, y]) => s.div(x, y), { ...BINARY, grad: RealDiv.grad! });
definePointwise("TruncateDiv", ([x, y]) => s.div(x, y), {
  ...BINARY,
  types: "integer",
  grad: null,
});
definePointwise("TruncateMod", ([x, y]) => s.truncmod(x, y), {
  ...REAL,
  // The quotient, rounded towards zero, is constant between its steps.
  grad: broadcastGrad(
    ["x", "y", "z"],
    (_, g) => g,
    ({ x, y, z }, g) => neg(mul(g, div(sub(x, z), y))),
  ),
});

const AddN: OpDef = defineOp({
  name: "AddN",
  inputs: ["inputs: N * T"],
  outputs: ["sum: T"],
  attrs: ["N: int >= 1", "T: numeric"],
  infer: (specs) => [
    specs.map((x) => x.shape).reduce((a: PartialShape, b) => mergeShapes(a, b), null),
  ],
  meaning: {
    kind: "pointwise",
    exprs: (args) => [args.reduce((a, b) => s.add(a, b))],
    sums: true,
  },
  expand: (xs) => {
    let level: readonly Tensor[] = xs.map(asTensor);
    while (level.length > 1) {
      const sums: Tensor[] = [];
      for (let i = 0; i < level.length; i += MOST_TERMS) {
        const terms = level.slice(i, i + MOST_TERMS);
        sums.push(terms.length > 1 ? apply1(AddN, terms) : terms[0]);
      }
      level = sums;
    }
    return level;
  },
  grad: { saves: [], vjp: (_, [g], ctx) => ctx.inputs.map(() => g) },
  cpu: sumCpu,
});

/** Returns the complex conjugate; real tensors stay as they are. */
export function conjugate(x: Tensor): Tensor {
  return DTYPES[x.dtype].kind === "complex" ? apply1(Conj, [x]) : x;
}

/** Converts two operands to one dtype with arithmetic: booleans count as int32. */
export function toArithmeticInputs(
  a: Operand,
  b: Operand,
  fn: string,
  names?: readonly [string, string],
): [OpInput, OpInput] {
  const pair = toMatchingInputs(a, b, fn, names);
  if (pair[0].dtype !== "bool") return pair;
  return [castInput(pair[0], "int32"), castInput(pair[1], "int32")];
}

/** Converts two operands to one dtype with fractions: integers and booleans become float32. */
export function toFloatInputs(a: Operand, b: Operand, fn: string): [OpInput, OpInput] {
  const [x, y] = toMatchingInputs(a, b, fn);
  const { kind } = DTYPES[x.dtype];
  if (kind === "float" || kind === "complex") return [x, y];
  const floats: [OpInput, OpInput] = [castInput(x, "float32"), castInput(y, "float32")];
  disposeConverted([x, y], [a, b]);
  return floats;
}

/** Converts an operand of arithmetic: booleans count as int32. */
export function toNumberInput(x: Operand, fn: string): OpInput {
  const input = toInput(x, "x", fn);
  return input.dtype === "bool" ? castInput(input, "int32") : input;
}

/** Joins texts, broadcast as numbers are. */
export function sumOfTexts(inputs: readonly OpInput[]): Tensor {
  const op = (name: string, ...given: OpInput[]): Tensor => apply1(lookupOp(name)!, given);
  const [a, b] = inputs.map(shapeOfInput), to = broadcastShapes(a, b);
  const isScalar = a?.length === 0 || b?.length === 0;
  if (isScalar || isConcrete(a) && isConcrete(b) && sameShape(a, b)) {
    return op("StringJoin", ...inputs);
  }
  return compose(() => {
    const dims = isConcrete(to)
      ? intVector(to)
      : op("BroadcastArgs", ...inputs.map((x) => op("Shape", x)));
    return op("StringJoin", ...inputs.map((x) => op("BroadcastTo", x, dims)));
  });
}

/**
 * Sum of two tensors, broadcasting; dtypes are brought to the wider one, booleans count as int32, texts are joined. TensorFlow op `AddV2`.
 * Throws `ValueError` for shapes that do not broadcast, `TypeError` for texts with numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.add([1, 2], 10).arraySync()); // [11, 12]
 * ```
 */
export function add<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  const inputs = toArithmeticInputs(a, b, "add");
  if (inputs[0].dtype === "string") return sumOfTexts(inputs) as Like<X, Y>;
  return applyConverted(AddV2, inputs, [a, b]) as Like<X, Y>;
}

/**
 * Difference of two tensors, broadcasting. TensorFlow op `Sub`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sub([1, 2], 10).arraySync()); // [-9, -8]
 * ```
 */
export function sub<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Sub, toArithmeticInputs(a, b, "sub"), [a, b]) as Like<X, Y>;
}

/**
 * Product of two tensors, broadcasting; int32 products wrap. TensorFlow op `Mul`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.mul([1, 2], 10).arraySync()); // [10, 20]
 * ```
 */
export function mul<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Mul, toArithmeticInputs(a, b, "mul"), [a, b]) as Like<X, Y>;
}

/**
 * Divides two tensors, broadcasting. Integers give integers, rounded down, and an integral number beside them is one of
 * them: convert pixels to float32 before dividing them by 255. TensorFlow op `RealDiv`, `FloorDiv` for integers. Throws
 * `ValueError` for shapes that do not broadcast, and on the CPU `InvalidArgumentError` for integers divided by zero,
 * which WebGPU makes 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.div([1, 5], 2).arraySync()); // [0.5, 2.5]
 * console.log(tf.div(tf.tensor([-5], [1], "int32"), 2).arraySync()); // [-3]
 * ```
 */
export function div<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  const pair = toArithmeticInputs(a, b, "div");
  return applyConverted(isInteger(pair[0].dtype) ? FloorDiv : RealDiv, pair, [a, b]) as Like<X, Y>;
}

/**
 * Quotient of two tensors, 0 where divided by 0. Broadcasts; integers become float32. TensorFlow op `DivNoNan`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.divNoNan([4, 1], [2, 0]).arraySync()); // [2, 0]
 * ```
 */
export function divNoNan<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(DivNoNan, toFloatInputs(a, b, "divNoNan"), [a, b]) as Like<X, Y>;
}

/**
 * Quotient rounded down, broadcasting. Not differentiable. TensorFlow op `FloorDiv`. Throws `ValueError` for shapes that do not
 * broadcast, and on the CPU `InvalidArgumentError` for integers divided by zero, which WebGPU makes 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.floorDiv([7, -7], 2).arraySync()); // [3, -4]
 * ```
 */
export function floorDiv<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(FloorDiv, toArithmeticInputs(a, b, "floorDiv"), [a, b]) as Like<X, Y>;
}

/**
 * Remainder of {@linkcode floorDiv}: it has the sign of the divisor. Broadcasts. TensorFlow op `FloorMod`. Throws as
 * {@linkcode floorDiv} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.mod([7, -7], 3).arraySync()); // [1, 2]
 * ```
 */
export function mod<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(FloorMod, toArithmeticInputs(a, b, "mod"), [a, b]) as Like<X, Y>;
}

/**
 * `-x`. TensorFlow op `Neg`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.neg([1, -2]).arraySync()); // [-1, 2]
 * ```
 */
export function neg<X extends Operand>(x: X): Like<X> {
  return applyConverted(Neg, [toNumberInput(x, "neg")], [x]) as Like<X>;
}

/**
 * Adds a list of tensors of one shape and dtype. TensorFlow op `AddN`. Throws `TypeError` for a value that is no list,
 * `ValueError` for an empty one and for shapes or dtypes that differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.addN([[1, 2], [3, 4], [5, 6]]).arraySync()); // [9, 12]
 * ```
 */
export function addN(tensors: readonly TensorLike[]): Tensor {
  if (!Array.isArray(tensors)) {
    throw new TypeError("The argument passed to tf.addN() must be a list of tensors");
  }
  if (tensors.length === 0) {
    throw new ValueError("Must pass at least one tensor to tf.addN(), but got 0");
  }
  const xs = toInputs(tensors, "tensors", "addN");
  const shape = shapeOfInput(xs[0]);
  for (const x of xs) {
    if (x.dtype !== xs[0].dtype) {
      throw new ValueError(
        `All tensors passed to tf.addN() must have the same dtype: received ${x.dtype} beside ${
          xs[0].dtype
        }`,
      );
    }
    try {
      mergeShapes(shape, shapeOfInput(x));
    } catch (e) {
      throw new ValueError(
        `All tensors passed to tf.addN() must have the same shape: ${(e as Error).message}`,
      );
    }
  }
  return apply1(AddN, xs);
}
