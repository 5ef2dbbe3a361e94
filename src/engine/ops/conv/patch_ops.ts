/** Ops that cut patches of images and volumes, and their gradients. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { type Shape, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { split } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { hostInts } from "../array/view.ts";
import { asTensor, intVector, toIndexInput } from "../input.ts";
import { axisOf, patchesOf, placesIn, slicesOf, type Taps } from "./patch_slices.ts";
import { addN } from "../pointwise/arithmetic.ts";

const NUMBERS =
  "{float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool, complex64}";

/** Reads attributes of an op over inputs of this rank. Throws `ValueError` for bad ones. */
function tapsOf(attrs: Attrs, rank: number, op: string): Taps {
  const { padding } = attrs;
  if (padding !== "VALID" && padding !== "SAME") {
    throw new ValueError(`Cannot apply ${op} with padding ${padding}: wanted VALID or SAME`);
  }
  const lists = { ksizes: attrs.ksizes, strides: attrs.strides, rates: attrs.rates };
  const [sizes, strides, rates] = Object.entries(lists).map(([name, list]) => {
    if (list.length === 0) return new Array<number>(rank - 2).fill(1);
    const isWhole = list.every((n: number) => Number.isInteger(n) && n > 0);
    if (list.length === rank && isWhole && list[0] === 1 && list[rank - 1] === 1) {
      return (list as number[]).slice(1, -1);
    }
    throw new ValueError(
      `Cannot apply ${op} with ${name} [${list}]: wanted ${rank} whole numbers above 0, the first and last 1`,
    );
  });
  return { sizes, strides, rates, padding };
}

/** Adds each element of patches to the place that it was taken from. */
function imageOf(shape: Shape, dy: OpInput, taps: Taps): Tensor {
  const { axes, around, padded } = placesIn(shape, taps), back = lookupOp("StridedSliceGrad")!;
  const slices = slicesOf(taps, axes, padded), parts = split(asTensor(dy), slices.length, -1);
  const sum = addN(
    slices.map(({ begin, end, step }, i) =>
      apply1(back, [...[padded, begin, end, step].map(intVector), parts[i]])
    ),
  );
  return slice(sum, around.map(([before]) => before), [...shape]);
}

/** Defines an op that takes patches and its gradient, each the other's gradient. */
function define(name: string, input: string, rank: 4 | 5): OpDef {
  // TensorFlow has no steps within patches of volumes.
  const rates = rank === 4 ? "rates: list(int)" : "rates: list(int) = []";
  const lists = ["ksizes: list(int)", "strides: list(int)", rates, "padding: string"];
  const shared = ({ ksizes, strides, rates, padding }: Attrs): Attrs => ({
    ...{ ksizes, strides, rates, padding },
  });
  const gradient: OpDef = defineOp({
    name: `_${name}Grad`,
    portable: "parts",
    inputs: ["shape: int32", "dy: T"],
    outputs: ["output: T"],
    attrs: [...lists, "T: {float16, bfloat16, float32, float64, complex64}"],
    hostInputs: ["shape"],
    infer: ([shape]) => [shapeFromHost(shape)],
    grad: { saves: [], vjp: (_, [dx], ctx) => [null, apply1(op, [dx], shared(ctx.attrs))] },
    expand: ([shape, dy], given) => [
      imageOf(hostInts(shape as NdArray), dy, tapsOf(given, rank, name)),
    ],
  });
  const op: OpDef = defineOp({
    name,
    ...(rank === 4
      ? {}
      : { portable: { without: { rates: (v) => (v as number[]).length === 0 } } }),
    inputs: [`${input}: T`],
    outputs: ["patches: T"],
    attrs: [...lists, `T: ${NUMBERS}`],
    infer: ([{ shape }], given) => {
      const taps = tapsOf(given, rank, name);
      if (shape !== null && shape.length !== rank) {
        throw new ValueError(
          `Cannot apply ${name}: wanted rank ${rank}, received shape ${shapeText(shape)}`,
        );
      }
      const known = shape ?? new Array<null>(rank).fill(null), depth = known[rank - 1];
      const inner = known.slice(1, -1).map((n, k) => n === null ? null : axisOf(n, k, taps).count);
      const each = taps.sizes.reduce((a, b) => a * b, 1);
      return [[known[0], ...inner, depth === null ? null : depth * each]];
    },
    grad: {
      saves: [],
      vjp: (_, [dy], ctx) => [
        apply1(gradient, [toIndexInput(ctx.shapeOf(0), "shape", name), dy], shared(ctx.attrs)),
      ],
    },
    expand: ([x], given) => [patchesOf(x, tapsOf(given, rank, name))],
  });
  return op;
}

export const ExtractImagePatches: OpDef = define("ExtractImagePatches", "images", 4);
export const ExtractVolumePatches: OpDef = define("ExtractVolumePatches", "input", 5);

/** The ops of this file that files may have. */
export const PATCHES: readonly OpDef[] = [ExtractImagePatches, ExtractVolumePatches];
