/** Running sums and products along an axis. */
import type { ScanOp } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { normalizeAxis, type PartialShape } from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { linearScanCpu, scanCpu, shiftCpu } from "../../kernels/host/scan.ts";
import { hostInts } from "../array/view.ts";
import { applyConverted, intScalar, toIndexInput } from "../input.ts";
import { FLOAT_OR_COMPLEX } from "../pointwise/define_pointwise.ts";
import { conjugate, mul, toNumberInput } from "../pointwise/arithmetic.ts";

/** Checks a known axis; the result has the input's shape. */
function alongAxis(x: PartialShape, axis: Spec): readonly PartialShape[] {
  if (x !== null && axis.value !== undefined) normalizeAxis(hostInts(axis.value)[0], x.length);
  return [x];
}

function axisOf(axis: NdArray, rank: number): number {
  return normalizeAxis(hostInts(axis)[0], rank);
}

function defineScan(name: string, op: ScanOp, grad: GradRule): OpDef {
  return defineOp({
    name,
    inputs: ["x: T", "axis: Tidx"],
    outputs: ["out: T"],
    attrs: [
      "exclusive: bool = false",
      "reverse: bool = false",
      "T: numeric",
      "Tidx: index = int32",
    ],
    hostInputs: ["axis"],
    infer: ([x, axis]) => alongAxis(x.shape, axis),
    grad,
    meaning: { kind: "scan", op },
    cpu: ([x, axis], [out], { attrs }) =>
      scanCpu(op, x, axisOf(axis, x.shape.length), {
        exclusive: attrs.exclusive,
        reverse: attrs.reverse,
      }, out),
  });
}

/**
 * Computes `s[i] = b[i] + c * s[i-1]`, where `c` is `a[i]`, or `a[i-1]` with `shift`: the basis of products' gradients.
 */
const LinearScan = defineOp({
  name: "_LinearScan",
  portable: "parts",
  inputs: ["a: T", "b: T", "axis: Tidx"],
  outputs: ["s: T"],
  attrs: [
    "reverse: bool = false",
    "shift: bool = false",
    `T: ${FLOAT_OR_COMPLEX}`,
    "Tidx: index = int32",
  ],
  hostInputs: ["axis"],
  infer: ([a, , axis]) => alongAxis(a.shape, axis),
  grad: {
    saves: ["a", "axis", "s"],
    vjp: ({ a, axis, s }, [dy], { attrs: { reverse, shift }, needs }) => {
      const opposite = { reverse: !reverse, shift: !shift };
      const back = apply1(LinearScan, [conjugate(a), dy, axis], opposite);
      const forth = reverse ? -1 : 1;
      const da = !needs[0]
        ? null
        : shift
        ? mul(conjugate(s), shiftBy(back, axis, -forth))
        : mul(back, conjugate(shiftBy(s, axis, forth)));
      return [da, back, null];
    },
  },
  meaning: { kind: "special", kernel: "linear scan" },
  cpu: (ins, [out], { attrs }) =>
    linearScanCpu(ins, axisOf(ins[2], ins[0].shape.length), {
      reverse: attrs.reverse,
      shift: attrs.shift,
    }, out),
});

/** Shifts elements `by` places along an axis; zeros move in. */
const Shift = defineOp({
  name: "_Shift",
  portable: "parts",
  inputs: ["x: T", "axis: Tidx"],
  outputs: ["y: T"],
  attrs: ["by: int", `T: ${FLOAT_OR_COMPLEX}`, "Tidx: index = int32"],
  hostInputs: ["axis"],
  infer: ([x, axis]) => alongAxis(x.shape, axis),
  grad: {
    saves: ["axis"],
    vjp: ({ axis }, [dy], { attrs }) => [shiftBy(dy, axis, -attrs.by), null],
  },
  meaning: { kind: "special", kernel: "shift" },
  cpu: ([x, axis], [out], { attrs }) => shiftCpu(x, axisOf(axis, x.shape.length), attrs.by, out),
});

function shiftBy(x: Tensor, axis: OpInput, by: number): Tensor {
  return apply1(Shift, [x, axis], { by });
}

const Cumsum = defineScan("Cumsum", "sum", {
  saves: ["axis"],
  vjp: ({ axis }, [dy], { attrs }) => [
    apply1(Cumsum, [dy, axis], { exclusive: attrs.exclusive, reverse: !attrs.reverse }),
    null,
  ],
});

/** Correct where elements are zero, to any order: a recurrence replaces a division. */
const Cumprod = defineScan("Cumprod", "prod", {
  saves: ["x", "axis"],
  vjp: ({ x, axis }, [dy], { attrs: { exclusive, reverse } }) => {
    const before = apply1(Cumprod, [x, axis], { exclusive: true, reverse });
    const backwards = { reverse: !reverse, shift: !exclusive };
    const after = apply1(LinearScan, [conjugate(x), dy, axis], backwards);
    const shifted = exclusive ? shiftBy(after, axis, reverse ? 1 : -1) : after;
    return [mul(conjugate(before), shifted), null];
  },
});

/** Returns for each element the product of the others along an axis. */
export function othersProduct(x: Tensor, axis: number): Tensor {
  const at = intScalar(axis);
  return mul(
    apply1(Cumprod, [x, at], { exclusive: true, reverse: false }),
    apply1(Cumprod, [x, at], { exclusive: true, reverse: true }),
  );
}

function scan(
  def: OpDef,
  x: Operand,
  fn: string,
  axis: number,
  exclusive: boolean,
  reverse: boolean,
): Tensor {
  const inputs = [toNumberInput(x, fn), toIndexInput(axis, "axis", fn)];
  return applyConverted(def, inputs, [x], { exclusive, reverse });
}

/**
 * Running sum along an axis; `exclusive` leaves each element out of its own sum, `reverse` sums from the end.
 * TensorFlow op `Cumsum`. Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.cumsum([1, 2, 3]).arraySync()); // [1, 3, 6]
 * console.log(tf.cumsum([1, 2, 3], 0, true, true).arraySync()); // [5, 3, 0]
 * ```
 */
export function cumsum<X extends Operand>(
  x: X,
  axis = 0,
  exclusive = false,
  reverse = false,
): Like<X> {
  return scan(Cumsum, x, "cumsum", axis, exclusive, reverse) as Like<X>;
}

/**
 * Running product along an axis; `exclusive` leaves each element out of its own product, `reverse` multiplies from the end.
 * The gradient is right where elements are zero. TensorFlow op `Cumprod`.
 * Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.cumprod([2, 3, 4]).arraySync()); // [2, 6, 24]
 * console.log(tf.cumprod([2, 3, 4], 0, true).arraySync()); // [1, 2, 6]
 * ```
 */
export function cumprod(x: TensorLike, axis = 0, exclusive = false, reverse = false): Tensor {
  return scan(Cumprod, x, "cumprod", axis, exclusive, reverse);
}
