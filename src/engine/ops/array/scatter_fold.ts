/** Maxima, minima, products and differences of elements and what is scattered onto them. On the host. */
import { apply1, compose } from "../../core/apply.ts";
import { defineOp, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { copyElements, setElement } from "../../core/nd_array.ts";
import type { Portable } from "../../core/portable.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { rowsOf, vectorLayout } from "../../kernels/copy/gather_layout.ts";
import { plain, withPlain } from "../../kernels/host/windows.ts";
import { castInput, toDenseInput } from "../input.ts";
import { cast } from "./cast.ts";
import { gatherND } from "./gather.ts";
import { scatteredShape } from "./define_scatter.ts";
import { scatterInputs } from "./scatter.ts";
import { div, mul, neg } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";

/** The elements equal to the extreme share the gradient, as in TensorFlow. */
const EXTREMES: GradRule = {
  saves: ["tensor", "indices", "updates", "output"],
  vjp: ({ tensor, indices, updates, output }, [dy]) => {
    const kept = cast(equal(output, tensor), dy.dtype);
    const came = cast(equal(gatherND(output, indices), updates), dy.dtype);
    const share = div(dy, apply1(lookupOp("TensorScatterAdd")!, [kept, indices, came]));
    return [mul(kept, share), null, mul(came, gatherND(share, indices))];
  },
};

function defineScatter(
  name: string,
  fold: (before: number, value: number) => number,
  { grad, portable }: { readonly grad: GradRule | null; readonly portable?: Portable },
): OpDef {
  return defineOp({
    name,
    ...(portable !== undefined && { portable }),
    inputs: ["tensor: T", "indices: Tindices", "updates: T"],
    outputs: ["output: T"],
    attrs: ["T: real", "Tindices: index"],
    infer: ([x, indices, updates]) => [scatteredShape(indices.shape, updates.shape, x.shape)],
    grad,
    cpu: ([x, indices, updates], [out]) => {
      const layout = vectorLayout(x.shape, indices.shape), { inner } = layout;
      const places = rowsOf(indices, layout, "none");
      // Products of int32 wrap; those of floats do not.
      const combine = fold === times && out.dtype === "int32" ? Math.imul : fold;
      withPlain(out, (made) => {
        copyElements(plain(x), made);
        places.forEach((place, row) => {
          for (let i = 0; i < inner; i++) {
            const at = place * inner + i, value = updates.at(row * inner + i) as number;
            setElement(made, at, combine(made.at(at) as number, value));
          }
        });
      });
    },
  });
}

const times = (a: number, b: number): number => a * b;

export const TensorScatterMax: OpDef = defineScatter(
  "TensorScatterMax",
  (a, b) => (a < b ? b : a),
  { grad: EXTREMES },
);
export const TensorScatterMin: OpDef = defineScatter(
  "TensorScatterMin",
  (a, b) => (b < a ? b : a),
  { grad: EXTREMES },
);
export const TensorScatterMul: OpDef = defineScatter("_TensorScatterMul", times, {
  grad: null,
  portable: { never: "TensorFlow scatters products into variables alone" },
});

function scatterWith(
  def: OpDef,
  fn: string,
): (x: TensorLike, indices: TensorLike, updates: TensorLike) => Tensor {
  return (x, indices, updates) => {
    const [at, rows] = scatterInputs(indices, updates, { fn, into: x });
    const places = castInput(at, at.dtype === "int64" ? "int64" : "int32");
    return apply1(def, [toDenseInput(x, "x", fn), places, rows]);
  };
}

const maxima = scatterWith(TensorScatterMax, "tensorScatterMax");
const minima = scatterWith(TensorScatterMin, "tensorScatterMin");

/**
 * Takes the greater of each element of a copy of `x` and the `updates` at its place, as many as there are. Elements equal
 * to the result share its gradient. Throws as {@linkcode tensorScatterUpdate}. TensorFlow op `TensorScatterMax`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.tensorScatterMax([1, 5, 1], [[1], [2], [2]], [3, 4, 2]).array()); // [1, 5, 4]
 * ```
 */
export function tensorScatterMax(x: TensorLike, indices: TensorLike, updates: TensorLike): Tensor {
  return maxima(x, indices, updates);
}

/**
 * Takes the smaller of each element of a copy of `x` and the `updates` at its place. Otherwise as
 * {@linkcode tensorScatterMax}. TensorFlow op `TensorScatterMin`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.tensorScatterMin([1, 5, 1], [[1], [2]], [3, 4]).array()); // [1, 3, 1]
 * ```
 */
export function tensorScatterMin(x: TensorLike, indices: TensorLike, updates: TensorLike): Tensor {
  return minima(x, indices, updates);
}

/**
 * Subtracts `updates` at index vectors from a copy of `x`. Throws as {@linkcode tensorScatterUpdate}. Follows TensorFlow
 * `tf.tensor_scatter_nd_sub`, op `TensorScatterSub`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.tensorScatterSub([1, 5, 1], [[1], [1]], [3, 4]).array()); // [1, -2, 1]
 * ```
 */
export function tensorScatterSub(x: TensorLike, indices: TensorLike, updates: TensorLike): Tensor {
  const [at, rows] = scatterInputs(indices, updates, { fn: "tensorScatterSub", into: x });
  const whole = toDenseInput(x, "x", "tensorScatterSub");
  const places = castInput(at, at.dtype === "int64" ? "int64" : "int32");
  return compose(() => apply1(lookupOp("TensorScatterAdd")!, [whole, places, neg(rows)]));
}
