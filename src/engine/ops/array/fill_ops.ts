/** The ops behind constants: Fill, ZerosLike, OnesLike, and SumLike, which undoes broadcasting. */
import { apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { toNdArray } from "../../core/convert.ts";
import { type Attrs, defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type PartialShape, sameShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { InternalError, ValueError } from "../../core/errors.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { fillCpu, fillNumber } from "../../kernels/host/fill.ts";
import { knownInts, reshape } from "./view.ts";
import { asTensor, intVector, toIndexInput, toInput } from "../input.ts";

/** Returns the shape in a host input; unknown dimensions if its value is unknown. */
export function shapeFromHost(dims: Spec): PartialShape {
  const rank = dims.shape?.[0] ?? null;
  return knownInts(dims) ?? (rank === null ? null : new Array<null>(rank).fill(null));
}

/** Returns the shape that a host input asks for. Throws `ValueError` for one below 0, which a run may find. */
export function wantedShape(dims: Spec): PartialShape {
  const shape = shapeFromHost(dims);
  if (!shape?.some((d) => d !== null && d < 0)) return shape;
  throw new ValueError(
    `Cannot make a tensor of shape [${shape}]: dimensions must be non-negative integers`,
  );
}

const Fill = defineOp({
  name: "Fill",
  inputs: ["dims: index_type", "value: T"],
  outputs: ["output: T"],
  attrs: ["T: type", "index_type: index = int32"],
  hostInputs: ["dims"],
  infer: ([dims]) => [wantedShape(dims)],
  grad: { saves: [], vjp: (_, [dy], ctx) => [null, ctx.sumLike(dy, 1)] },
  meaning: { kind: "fill", how: "element" },
  cpu: ([, value], [out]) => fillCpu(out, value),
});

// Eager only: the value is a parameter, so that a fill uploads nothing.
const FillNumber = defineOp({
  name: "FillNumber",
  portable: { never: "only eager code makes it" },
  inputs: ["dims: int32"],
  outputs: ["output: T"],
  attrs: ["T: type", "value: float"],
  hostInputs: ["dims"],
  infer: ([dims]) => [wantedShape(dims)],
  grad: null,
  ...numberKernels(({ value }) => value),
});

/** Returns the meaning and host kernel of an op that fills with a number from its attributes. */
function numberKernels(
  number: (attrs: Attrs) => number,
): Required<Pick<OpDef, "meaning" | "cpu">> {
  return {
    meaning: { kind: "fill", how: "number", number },
    cpu: (_, [out], { attrs }) => fillNumber(out, number(attrs)),
  };
}

const ZerosLike = defineLike("ZerosLike", 0);
const OnesLike = defineLike("OnesLike", 1);

function defineLike(name: string, value: number): OpDef {
  return defineOp({
    name,
    inputs: ["x: T"],
    outputs: ["y: T"],
    attrs: ["T: type"],
    infer: ([x]) => [x.shape],
    grad: null,
    ...numberKernels(() => value),
  });
}

/** Sums `dy` to the shape of `like`: the gradient of broadcasting with unknown shapes. */
defineOp({
  name: "SumLike",
  portable: "parts",
  inputs: ["dy: T", "like: T"],
  outputs: ["output: T"],
  attrs: ["T: numeric"],
  infer: ([, like]) => [like.shape],
  expand: ([grad, like]) => {
    const dy = asTensor(grad), have = dy.shape, want = like.shape;
    if (sameShape(have, want)) return [dy];
    const lead = have.length - want.length;
    const axes = have.flatMap((d, i) => (i < lead || (want[i - lead] === 1 && d !== 1) ? [i] : []));
    const sum = axes.length === 0 ? dy : apply1(lookupOp("Sum")!, [dy, intVector(axes)]);
    return [sameShape(sum.shape, want) ? sum : reshape(sum, want)];
  },
  grad: {
    saves: [],
    vjp: (_, [g], ctx) => [
      apply1(lookupOp("BroadcastTo")!, [g, toInput(ctx.shapeOf(0), "shape", "SumLike")]),
      null,
    ],
  },
});

/** Makes a tensor of one repeated number: in a graph a `Fill` node; eagerly nothing is uploaded. */
export function filled(dims: OpInput, dtype: DType, value: number): Tensor {
  // Negative zero and zero would share a launch.
  const direct = dims instanceof NdArray && dims.dtype === "int32" && !Object.is(value, -0) &&
    !currentInterpreter().symbolic;
  if (direct) return apply1(FillNumber, [dims], { T: dtype, value });
  const text = value === 0 ? "" : String(value);
  const element = DTYPES[dtype].kind === "string" ? text : value;
  return apply1(Fill, [dims, toNdArray(element, { dtype })]);
}

/** Makes a tensor of one repeated element. */
export function filledWith(dims: OpInput, value: OpInput): Tensor {
  const { kind } = DTYPES[value.dtype];
  const plain = kind === "float" || kind === "int" || kind === "uint" || kind === "bool";
  if (plain && value instanceof NdArray && value.dtype !== "int64" && value.dtype !== "uint64") {
    return filled(dims, value.dtype, Number(value.item()));
  }
  return apply1(Fill, [dims, value]);
}

/** Makes zeros or ones of another tensor's shape and dtype. */
export function filledLike(like: OpInput, value: 0 | 1): Tensor {
  return apply1(value === 0 ? ZerosLike : OnesLike, [like]);
}

/** Makes zeros of a spec, for missing gradients. `like` is the tensor itself, for unknown shapes. */
export function zerosOfSpec(spec: Spec, like?: OpInput): Tensor {
  if (isConcrete(spec.shape)) return filled(intVector(spec.shape), spec.dtype, 0);
  if (like === undefined) {
    throw new InternalError("Cannot make zeros: the shape is unknown and no tensor is at hand");
  }
  return filledLike(like, 0);
}

/** Makes ones of a tensor's shape, and of its dtype or another. */
export function onesOfTensor(t: Tensor, dtype: DType = t.dtype): Tensor {
  return filledAs(t, 1, dtype);
}

/** Makes zeros of a tensor's shape and dtype. */
export function zerosOfTensor(t: Tensor): Tensor {
  return filledAs(t, 0, t.dtype);
}

function filledAs(t: Tensor, value: 0 | 1, dtype: DType): Tensor {
  const shape = t.staticShape;
  if (isConcrete(shape)) return filled(intVector(shape), dtype, value);
  const like = dtype === t.dtype ? t : apply1(lookupOp("Cast")!, [t], { DstT: dtype });
  return filledLike(like, value);
}

/** Converts the dimensions of a new tensor to a host input. Throws `ValueError` for negative or fractional ones. */
export function dimsInput(shape: TensorLike, fn: string): OpInput {
  if (shape === undefined || shape === null) {
    throw new TypeError(`Cannot apply ${fn}: no shape was given`);
  }
  if (!Array.isArray(shape)) return toIndexInput(shape, "shape", fn);
  if (shape.some((d) => typeof d === "object")) return toIndexInput(shape, "shape", fn);
  const dims = shape as readonly number[];
  if (dims.some((d) => !Number.isInteger(d) || d < 0)) {
    throw new ValueError(
      `Cannot apply ${fn} with shape ${shapeText(dims)}: dimensions must be non-negative integers`,
    );
  }
  return intVector(dims);
}
