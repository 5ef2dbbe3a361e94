/** Scatter ops with maxima, minima and products, which only files have. On the host. */
import { apply1 } from "../../engine/core/apply.ts";
import { defineOp, type GradRule, lookupOp } from "../../engine/core/op.ts";
import { copyElements, setElement } from "../../engine/core/nd_array.ts";
import type { Portable } from "../../engine/core/portable.ts";
import { rowsOf, vectorLayout } from "../../engine/kernels/copy/gather_layout.ts";
import { plain, withPlain } from "../../engine/kernels/host/windows.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { gatherND } from "../../engine/ops/array/gather.ts";
import { scatteredShape } from "../../engine/ops/array/define_scatter.ts";
import { div, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal } from "../../engine/ops/pointwise/compare.ts";

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
): void {
  defineOp({
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

defineScatter("TensorScatterMax", (a, b) => (a < b ? b : a), { grad: EXTREMES });
defineScatter("TensorScatterMin", (a, b) => (b < a ? b : a), { grad: EXTREMES });
defineScatter("_TensorScatterMul", times, {
  grad: null,
  portable: { never: "TensorFlow scatters products into variables alone" },
});
