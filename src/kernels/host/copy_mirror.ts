/**
 * Gradient of mirror padding on the host: every padded place gives to the one it mirrors.
 */
import type { AxisMap } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { stridesOf } from "../../core/shape.ts";
import { stepOf } from "../copy/map.ts";
import { Accumulator, addable } from "./scatter_accumulate.ts";

/** Adds each element of `dy` to its origin in `dx`. `border` is 1 where padding repeats the border. */
export function mirrorPadGradCpu(
  dy: NdArray,
  paddings: readonly (readonly [number, number])[],
  border: 0 | 1,
  dx: NdArray,
): void {
  const to = new Accumulator(dx), values = addable(dy);
  const strides = stridesOf(dx.shape);
  const axes = dy.shape.map((dim, i): AxisMap => ({
    dim,
    stride: strides[i],
    rule: "mirror",
    begin: paddings[i][0],
    extent: dx.shape[i],
    step: border,
  }));
  let at = 0;
  const walk = (d: number, place: number): void => {
    if (d === axes.length) return to.add(place, values, at++);
    for (let c = 0; c < axes[d].dim; c++) walk(d + 1, place + stepOf(axes[d], c) * axes[d].stride);
  };
  walk(0, 0);
  to.finish();
}
