/** stridedSlice with TensorFlow's five masks, and its gradient. */
import type { AxisMap } from "../../core/meaning.ts";
import { apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type Problem } from "../../core/op.ts";
import {
  isConcrete,
  type PartialShape,
  type Shape,
  shapeText,
  stridesOf,
} from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { hostInts, knownInts } from "./view.ts";
import { copyKernels } from "./define_copy.ts";
import { shapeFromHost } from "./fill_ops.ts";
import { intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";

const MASKS = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
const ATTRS = ["T: type", "Index: index = int32", ...MASKS.map((mask) => `${mask}: int = 0`)];

/** The part taken of one axis of the input; `count` is null if unknown. */
interface Taken {
  readonly begin: number;
  readonly step: number;
  readonly count: number | null;
}

/** The parts taken of the input's axes, and the result's shape: with new axes, without shrunk ones. */
interface Cut {
  readonly taken: readonly Taken[];
  readonly shape: PartialShape;
}

/** Applies begins, ends and strides to a shape. Unknown numbers give unknown dimensions. */
function cut(
  shape: readonly (number | null)[],
  begin: readonly number[] | undefined,
  end: readonly number[] | undefined,
  strides: readonly number[] | undefined,
  items: number,
  attrs: Attrs,
): Cut {
  const bit = (mask: number, i: number): boolean => ((mask >> i) & 1) === 1;
  const { begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask } = attrs;
  if (ellipsis_mask !== 0 && (ellipsis_mask & (ellipsis_mask - 1)) !== 0) {
    throw new ValueError("Multiple ellipses in slice spec not allowed");
  }
  let fresh = 0, ellipsis = items;
  for (let i = 0; i < items; i++) {
    if (bit(ellipsis_mask, i)) ellipsis = i;
    else if (bit(new_axis_mask, i)) fresh++;
  }
  const named = items - fresh - (ellipsis < items ? 1 : 0);
  if (named > shape.length) {
    throw new ValueError(
      `Index out of range using input dim ${shape.length}; input has only ${shape.length} dims`,
    );
  }
  const rest = shape.length - named;
  const taken: Taken[] = [];
  const out: (number | null)[] = [];
  const whole = (): void => {
    const d = shape[taken.length];
    taken.push({ begin: 0, step: 1, count: d });
    out.push(d);
  };
  for (let i = 0; i < items; i++) {
    if (i === ellipsis) { for (let k = 0; k < rest; k++) whole(); }
    else if (bit(new_axis_mask, i)) out.push(1);
    else {
      const one = bit(shrink_axis_mask, i);
      const t = takeAxis(
        shape[taken.length],
        bit(begin_mask, i) && !one ? null : begin?.[i],
        bit(end_mask, i) ? null : end?.[i],
        strides?.[i],
        one,
        taken.length,
      );
      taken.push(t);
      if (!one) out.push(t.count);
    }
  }
  while (taken.length < shape.length) whole();
  return { taken, shape: out };
}

/** `null` for a begin or end means as far as possible, `undefined` that it is unknown. */
function takeAxis(
  dim: number | null,
  begin: number | null | undefined,
  end: number | null | undefined,
  step: number | undefined,
  one: boolean,
  axis: number,
): Taken {
  if (step === 0) throw new ValueError(`strides[${axis}] must be non-zero`);
  if (one) {
    if (step !== undefined && step < 0) {
      throw new ValueError("only stride 1 allowed on non-range indexing");
    }
    if (dim === null || begin === undefined) return { begin: begin ?? 0, step: 1, count: 1 };
    const at = begin! < 0 ? begin! + dim : begin!;
    if (at < 0 || at >= dim) {
      throw new ValueError(`slice index ${begin} of dimension ${axis} out of bounds`);
    }
    return { begin: at, step: 1, count: 1 };
  }
  if (dim === null || begin === undefined || end === undefined || step === undefined) {
    return { begin: 0, step: step ?? 1, count: null };
  }
  const [low, high] = step > 0 ? [0, dim] : [-1, dim - 1];
  const clamp = (v: number): number => Math.min(high, Math.max(low, v < 0 ? v + dim : v));
  const from = begin === null ? (step > 0 ? low : high) : clamp(begin);
  const to = end === null ? (step > 0 ? high : low) : clamp(end);
  return { begin: from, step, count: Math.max(0, Math.ceil((to - from) / step)) };
}

function inferCut(
  shape: PartialShape,
  begin: Spec,
  end: Spec,
  strides: Spec,
  attrs: Attrs,
): PartialShape {
  const lists = [knownInts(begin), knownInts(end), knownInts(strides)] as const;
  const items = lists.find((list) => list !== null)?.length ??
    begin.shape?.[0] ?? end.shape?.[0] ?? strides.shape?.[0] ?? null;
  const isVector = ({ shape }: Spec): boolean => shape === null || shape.length === 1;
  if (lists.some((l) => l && l.length !== items) || ![begin, end, strides].every(isVector)) {
    throw new ValueError(
      `Expected begin, end, and strides to be 1D equal size tensors, but got shapes ${
        shapeText(begin.shape)
      }, ${shapeText(end.shape)} and ${shapeText(strides.shape)} instead`,
    );
  }
  if (shape === null || items === null) return null;
  return cut(shape, ...lists, items, attrs).shape;
}

const StridedSlice = defineOp({
  name: "StridedSlice",
  inputs: ["input: T", "begin: Index", "end: Index", "strides: Index"],
  outputs: ["output: T"],
  attrs: ATTRS,
  hostInputs: ["begin", "end", "strides"],
  infer: ([x, begin, end, strides], attrs) => [inferCut(x.shape, begin, end, strides, attrs)],
  grad: {
    saves: ["begin", "end", "strides"],
    vjp: ({ begin, end, strides }, [dy], ctx) => {
      const shape = toInput(ctx.shapeOf(0), "shape", "stridedSlice");
      const inputs = [shape, begin, end, strides, dy];
      return [apply1(StridedSliceGrad, inputs, masksOf(ctx.attrs)), null, null, null];
    },
  },
  ...copyKernels(0, (problem) => {
    const { shape } = problem.inputs[0];
    const places = stridesOf(shape), taken = takenOf(shape, problem);
    const empty = taken.some((t) => t.count === 0);
    return {
      base: empty ? 0 : taken.reduce((n, t, i) => n + t.begin * places[i], 0),
      axes: taken.map((t, i) => plainAxis(t.count!, t.step * places[i])),
    };
  }),
});

function masksOf(attrs: Attrs): Attrs {
  return Object.fromEntries(MASKS.map((mask) => [mask, attrs[mask]]));
}

/** Returns the parts taken of a shape, by the inputs after input 0, or after the shape in the gradient. */
function takenOf(shape: Shape, { hosts, attrs }: Problem): readonly Taken[] {
  const [begin, end, strides] = hosts.slice(1, 4).map((host) => hostInts(host!));
  return cut(shape, begin, end, strides, begin.length, attrs).taken;
}

const StridedSliceGrad = defineOp({
  name: "StridedSliceGrad",
  inputs: ["shape: Index", "begin: Index", "end: Index", "strides: Index", "dy: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  hostInputs: ["shape", "begin", "end", "strides"],
  infer: ([shape]) => [shapeFromHost(shape)],
  grad: {
    saves: ["begin", "end", "strides"],
    vjp: ({ begin, end, strides }, [ddx], { attrs }) => {
      const back = apply1(StridedSlice, [ddx, begin, end, strides], masksOf(attrs));
      return [null, null, null, null, back];
    },
  },
  ...copyKernels(4, (problem) => {
    const { shape } = problem.outputs[0], taken = takenOf(shape, problem);
    const strides = stridesOf(taken.map((t) => t.count!));
    const axes = shape.map((dim, i): AxisMap => {
      const { begin, step, count } = taken[i];
      if (begin === 0 && step === 1 && count === dim) return plainAxis(dim, strides[i]);
      return { dim, stride: strides[i], rule: "window", begin, extent: count!, step };
    });
    return { base: 0, axes };
  }),
});

/**
 * Takes every `strides[i]`-th element from `begin[i]` to before `end[i]`, counted from the end if negative. Bit i of a
 * mask means: begin or end is ignored, item i is `...`, a new axis, or one index whose axis is removed. Throws
 * `ValueError` for a stride of 0 or a single index out of bounds. TensorFlow op `StridedSlice`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.stridedSlice([1, 2, 3, 4, 5], [0], [5], [2]).arraySync()); // [1, 3, 5]
 * console.log(tf.stridedSlice([[1, 2], [3, 4]], [1], [2], [1], 0, 0, 0, 0, 1).arraySync()); // [3, 4]
 * ```
 */
export function stridedSlice(
  x: TensorLike,
  begin: TensorLike,
  end: TensorLike,
  strides?: TensorLike | null,
  beginMask = 0,
  endMask = 0,
  ellipsisMask = 0,
  newAxisMask = 0,
  shrinkAxisMask = 0,
): Tensor {
  const from = toIndexInput(begin, "begin", "stridedSlice");
  const items = shapeOfInput(from);
  const steps = strides ?? (isConcrete(items) ? intVector(new Array(items[0]).fill(1)) : null);
  if (steps === null) {
    throw new ValueError(
      "Cannot apply stridedSlice: strides must be given where begin is not known",
    );
  }
  return apply1(StridedSlice, [
    toInput(x, "x", "stridedSlice"),
    from,
    toIndexInput(end, "end", "stridedSlice"),
    toIndexInput(steps, "strides", "stridedSlice"),
  ], {
    begin_mask: beginMask,
    end_mask: endMask,
    ellipsis_mask: ellipsisMask,
    new_axis_mask: newAxisMask,
    shrink_axis_mask: shrinkAxisMask,
  });
}
