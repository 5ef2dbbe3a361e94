/** Fourier transforms along axes before the last: those of rows on devices without a kernel, between transpositions. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { transpose } from "../array/move.ts";
import { asTensor } from "../input.ts";
import { div, mul } from "../pointwise/arithmetic.ts";
import { extentOf } from "./extent.ts";
import { fft, ifft } from "./spectral.ts";

/** A transform of complex numbers along an axis before the last, counted from the end. */
const FftAlong: OpDef = defineOp({
  name: "_FFTAlong",
  portable: "parts",
  inputs: ["input: Tcomplex"],
  outputs: ["output: Tcomplex"],
  attrs: ["Tcomplex: complex = complex64", "axis: int = -2", "inverse: bool = false"],
  meaning: { kind: "fourier", gives: "along" },
  infer: ([x]) => [x.shape],
  expand([x], { axis, inverse }) {
    const input = asTensor(x), last = input.rank - 1, own = input.rank + (axis as number);
    const order = Array.from({ length: input.rank }, (_, i) => i);
    [order[own], order[last]] = [last, own];
    return [transpose((inverse ? ifft : fft)(transpose(input, order)), order)];
  },
  grad: {
    saves: [],
    vjp: (_, [dy], ctx) => {
      const { axis, inverse } = ctx.attrs as { axis: number; inverse: boolean };
      const turned = fftAlong(dy, axis, !inverse);
      return [(inverse ? div : mul)(turned, extentOf(ctx, axis, dy))];
    },
  },
});

/** Transforms a complex tensor along an axis before the last, counted from the end. */
export function fftAlong(x: OpInput, axis: number, inverse: boolean): Tensor {
  return apply1(FftAlong, [x], { axis, inverse });
}
