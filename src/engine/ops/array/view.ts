/** Ops that only change how memory is read: reshape, identity, expandDims, squeeze; and shape queries. */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import {
  isConcrete,
  normalizeAxis,
  type PartialShape,
  type Shape as ConcreteShape,
  shapeText,
  sizeOf,
} from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { ValueError } from "../../core/errors.ts";
import { asTensor, intScalar, intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";

/** Returns the values of an int32 or int64 host array. */
export function hostInts(a: NdArray): number[] {
  const data = a.data as ArrayLike<number | bigint>, ints: number[] = [];
  for (let i = 0; i < data.length; i++) ints.push(Number(data[i]));
  return ints;
}

/** Returns the integers of a host input, or undefined if its value is unknown. */
export function knownInts(spec: Spec | undefined): number[] | undefined {
  return spec?.value && hostInts(spec.value);
}

/** Returns the integers of a literal or of a graph's constant; undefined for values known only at run time. */
export function literalInts(x: Tensor | NdArray | undefined): number[] | undefined {
  if (x === undefined) return undefined;
  if (x instanceof NdArray) return hostInts(x);
  if (!x.isSymbolic) return hostInts(x.ndarraySync());
  return x.op.type === "Const" ? hostInts(x.op.attrs.value) : undefined;
}

/** Defines an op that returns its input under another handle. */
function defineSame(name: string, grad: GradRule | null): OpDef {
  return defineOp({
    name,
    inputs: ["input: T"],
    outputs: ["output: T"],
    attrs: ["T: type"],
    infer: ([x]) => [x.shape],
    meaning: { kind: "view" },
    grad,
  });
}

const Identity = defineSame("Identity", {
  saves: [],
  passesOn: true,
  vjp: (_, [dy]) => [dy],
});
const StopGradient = defineSame("StopGradient", null);

const Reshape = defineOp({
  name: "Reshape",
  inputs: ["tensor: T", "shape: Tshape"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tshape: index = int32"],
  hostInputs: ["shape"],
  meaning: { kind: "view" },
  infer: ([x, shape]) => [reshapeTo(x.shape, shape.value, shape.shape)],
  grad: { saves: [], vjp: (_, [dy], ctx) => [reshape(dy, ctx.shapeOf(0)), null] },
});

function reshapeTo(
  from: PartialShape,
  to: NdArray | undefined,
  toShape: PartialShape,
): PartialShape {
  if (to === undefined) return toShape?.[0] == null ? null : new Array<null>(toShape[0]).fill(null);
  const dims = hostInts(to);
  const wild = dims.indexOf(-1);
  if (dims.some((d, i) => d < -1 || (d === -1 && i !== wild))) {
    throw new ValueError(
      `Cannot reshape to ${shapeText(dims)}: only one dimension may be -1, and none smaller`,
    );
  }
  if (!isConcrete(from)) return dims.map((d) => (d === -1 ? null : d));
  const size = sizeOf(from), rest = dims.reduce((n, d) => (d === -1 ? n : n * d), 1);
  if (wild < 0 ? rest !== size : rest === 0 ? size !== 0 : size % rest !== 0) {
    throw new ValueError(
      `Cannot reshape a tensor with ${size} elements to shape ${
        shapeText(dims)
      } (${rest} elements): size mismatch`,
    );
  }
  if (wild < 0) return dims;
  // Beside a dimension of 0, those above it tell the missing one, as in TensorFlow's kernel.
  return dims.with(wild, rest > 0 ? size / rest : Math.floor(aboveZero(from) / aboveZero(dims)));
}

/** The product of the dimensions above 0. */
const aboveZero = (shape: readonly number[]): number => sizeOf(shape.filter((d) => d > 0));

/** Inserts an axis into a shape, at this place of the result. */
export function withAxis(
  shape: readonly (number | null)[],
  axis: number,
  extent: number | null,
): PartialShape {
  const a = normalizeAxis(axis, shape.length + 1);
  return [...shape.slice(0, a), extent, ...shape.slice(a)];
}

/** Writes integers to an int32 or int64 array. */
export function setInts(out: NdArray, values: readonly number[]): void {
  values.forEach((v, i) => setElement(out, i, out.dtype === "int64" ? BigInt(v) : v));
}

type Answer = (shape: ConcreteShape) => readonly number[];

const answers = new Map<OpDef, Answer>();

/** Defines an op that queries the shape of its input; `infer` returns the answer's shape. */
function defineQuery(
  name: string,
  answer: Answer,
  infer: (x: PartialShape) => PartialShape = () => [],
): OpDef {
  const typed = name !== "Rank";
  const def = defineOp({
    name,
    inputs: ["input: T"],
    outputs: [typed ? "output: out_type" : "output: int32"],
    attrs: ["T: type", ...(typed ? ["out_type: index = int32"] : [])],
    infer: ([x]) => [infer(x.shape)],
    grad: null,
    shapeOnly: true,
    cpu: (_, [out], { inputs: [x] }) => setInts(out, answer(x.shape)),
  });
  answers.set(def, answer);
  return def;
}

/** Returns the result of an op that queries a shape; null for other ops. */
export function answerOf(def: OpDef, dtype: DType, shape: ConcreteShape): NdArray | null {
  const answer = answers.get(def);
  if (answer === undefined) return null;
  const numbers = answer(shape), [length] = def.infer([{ dtype, shape }], {});
  const out = NdArray.zeros(dtype, length as ConcreteShape);
  setInts(out, numbers);
  return out;
}

const Shape = defineQuery("Shape", (shape) => shape, (x) => [x === null ? null : x.length]);
const Rank = defineQuery("Rank", (shape) => [shape.length]);
const Size = defineQuery("Size", (shape) => [sizeOf(shape)]);

/**
 * The same tensor under another handle. TensorFlow op `Identity`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.identity([1, 2]).arraySync()); // [1, 2]
 * ```
 */
export function identity<X extends Operand>(x: X): Like<X> {
  return apply1(Identity, [toInput(x, "x", "identity")]) as Like<X>;
}

/**
 * The same values, through which no gradient flows. TensorFlow op `StopGradient`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const dx = tf.grad((x) => tf.mul(x, tf.stopGradient(x)))(tf.scalar(3));
 * console.log(dx.item()); // 3
 * ```
 */
export function stopGradient<X extends Operand>(x: X): Like<X> {
  return apply1(StopGradient, [toInput(x, "x", "stopGradient")]) as Like<X>;
}

/**
 * The same elements in another shape; one dimension may be -1. Shares memory. TensorFlow op `Reshape`.
 * Throws `ValueError` where the sizes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reshape([1, 2, 3, 4], [2, -1]).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function reshape(x: TensorLike, shape: TensorLike): Tensor {
  return apply1(Reshape, [toInput(x, "x", "reshape"), toIndexInput(shape, "shape", "reshape")]);
}

/**
 * Inserts an axis of extent 1. A reshape, as in TensorFlow.js `expandDims`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.expandDims([1, 2], 1).shape); // [2, 1]
 * ```
 */
export function expandDims<X extends Operand>(x: X, axis = 0): Like<X> {
  const input = toInput(x, "x", "expandDims");
  const shape = shapeOfInput(input);
  return apply1(ExpandDims, [
    input,
    toIndexInput(shape ? normalizeAxis(axis, shape.length + 1) : axis, "axis", "expandDims"),
  ]) as Like<X>;
}

const ExpandDims = defineOp({
  name: "ExpandDims",
  inputs: ["input: T", "dim: Tdim"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tdim: index = int32"],
  hostInputs: ["dim"],
  meaning: { kind: "view" },
  infer: ([x, dim]) => {
    if (x.shape === null || dim.value === undefined) return [null];
    return [withAxis(x.shape, hostInts(dim.value)[0], 1)];
  },
  grad: { saves: [], vjp: (_, [dy], ctx) => [reshape(dy, ctx.shapeOf(0)), null] },
});

const Squeeze = defineOp({
  name: "Squeeze",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: ["T: type", "squeeze_dims: list(int) = []"],
  meaning: { kind: "view" },
  infer: ([x], { squeeze_dims }) => {
    if (x.shape === null) return [null];
    const rank = x.shape.length;
    const axes = new Set((squeeze_dims as number[]).map((a) => normalizeAxis(a, rank)));
    for (const a of axes) {
      if (x.shape[a] !== 1 && x.shape[a] !== null) {
        throw new ValueError(
          `Can not squeeze dim[${a}], expected a dimension of 1, got ${x.shape[a]}`,
        );
      }
    }
    // An unknown dimension may be 1 or not: then the rank is unknown too.
    if (axes.size === 0 && x.shape.includes(null)) return [null];
    return [x.shape.filter((d, i) => (axes.size > 0 ? !axes.has(i) : d !== 1))];
  },
  grad: { saves: [], vjp: (_, [dy], ctx) => [reshape(dy, ctx.shapeOf(0))] },
});

/**
 * Removes axes of extent 1: all, or the given ones. TensorFlow op `Squeeze`. Throws `ValueError` for an axis of another
 * extent.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.squeeze([[[1], [2]]]).shape); // [2]
 * ```
 */
export function squeeze(x: TensorLike, axis?: number | readonly number[] | null): Tensor {
  const axes = typeof axis === "number" ? [axis] : axis ?? [];
  return apply1(Squeeze, [toInput(x, "x", "squeeze")], { squeeze_dims: axes });
}

/** Returns the static shape; null if `setShape` only promised it: the query at run time then checks the promise. */
function certainShape(input: OpInput): PartialShape {
  return (input as { readonly promised?: boolean }).promised ? null : shapeOfInput(input);
}

/**
 * The dimensions as an int32 vector on the host. TensorFlow op `Shape`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.shape([[1, 2, 3]]).arraySync()); // [1, 3]
 * ```
 */
export function shape(x: TensorLike): Tensor {
  const input = toInput(x, "x", "shape");
  const known = certainShape(input);
  return isConcrete(known) ? asTensor(intVector(known)) : apply1(Shape, [input]);
}

/**
 * The number of dimensions as an int32 scalar on the host. TensorFlow op `Rank`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.rank([[1, 2, 3]]).item()); // 2
 * ```
 */
export function rank(x: TensorLike): Tensor {
  const input = toInput(x, "x", "rank");
  const known = certainShape(input);
  return known === null ? apply1(Rank, [input]) : asTensor(intScalar(known.length));
}

/**
 * The number of elements as an int32 scalar on the host. TensorFlow op `Size`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.size([[1, 2, 3]]).item()); // 3
 * ```
 */
export function size(x: TensorLike): Tensor {
  const input = toInput(x, "x", "size");
  const known = certainShape(input);
  return isConcrete(known) ? asTensor(intScalar(sizeOf(known))) : apply1(Size, [input]);
}
