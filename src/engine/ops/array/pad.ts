/** Pads tensors: with a constant, or by mirroring. */
import { wantList } from "../../core/arguments.ts";
import type { AxisMap, CopyMap } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import {
  type Attrs,
  defineOp,
  type GradContext,
  type OpDef,
  type OpInit,
  type Problem,
} from "../../core/op.ts";
import { type PartialShape, shapeText, stridesOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { plainAxis } from "../../kernels/copy/map.ts";
import { hostInts, knownInts, literalInts, reshape } from "./view.ts";
import { reverse } from "./move.ts";
import { slice } from "./slice.ts";
import { copyKernels } from "./define_copy.ts";
import { asTensor, castInput, shapeOfInput, toIndexInput, toInput } from "../input.ts";
import { add, sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { brief } from "../../core/text.ts";

/** `[before, after]` for each axis. */
export type Paddings = readonly (readonly [number, number])[];

/** Splits numbers into pairs. */
export function pairsOf(flat: readonly number[]): [number, number][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

function paddedShape(x: Spec, paddings: Spec): PartialShape {
  const known = knownInts(paddings);
  const rank = x.shape?.length ?? paddings.shape?.[0] ?? null;
  if (rank === null) return null;
  if (!known) return new Array<null>(rank).fill(null);
  const pairs = pairsOf(known);
  if (pairs.length !== rank || (paddings.shape !== null && paddings.shape.length !== 2)) {
    throw new ValueError(
      `Cannot pad shape ${shapeText(x.shape)} by ${pairs.length} pairs: wanted one for each axis`,
    );
  }
  return pairs.map(([before, after], i) => {
    if (before < 0 || after < 0) {
      throw new ValueError(`Paddings must be non-negative: ${before} ${after}`);
    }
    const d = x.shape?.[i] ?? null;
    return d === null ? null : d + before + after;
  });
}

/** Returns the copy that pads a tensor by a rule for its surroundings. */
function paddedMap(
  { inputs: [{ shape }], hosts, outputs: [out] }: Problem,
  rule: Pick<AxisMap, "rule" | "step">,
): CopyMap {
  const strides = stridesOf(shape);
  const axes = pairsOf(hostInts(hosts[1]!)).map(([begin, after], i): AxisMap =>
    begin === 0 && after === 0
      ? plainAxis(shape[i], strides[i])
      : { dim: out.shape[i], stride: strides[i], begin, extent: shape[i], ...rule }
  );
  return { base: 0, axes };
}

const constantMap = (problem: Problem): CopyMap => paddedMap(problem, { rule: "window" });

/** Returns the part of `dy` inside the padding. */
function unpadded(dy: Tensor, paddings: Tensor, ctx: GradContext): Tensor {
  const known = literalInts(paddings);
  const begin = known
    ? pairsOf(known).map(([before]) => before)
    : reshape(slice(paddings, [0, 0], [-1, 1]), [-1]);
  return slice(dy, begin, ctx.shapeOf(0));
}

/** Defines an op of a tensor and its paddings; by default it pads. */
function definePad(name: string, init: Partial<OpInit>): OpDef {
  return defineOp({
    name,
    inputs: ["input: T", "paddings: Tpaddings"],
    outputs: ["output: T"],
    attrs: ["T: type", "Tpaddings: index = int32"],
    hostInputs: ["paddings"],
    infer: ([x, paddings]) => [paddedShape(x, paddings)],
    ...init,
  });
}

const Pad = definePad("Pad", {
  grad: {
    saves: ["paddings"],
    vjp: ({ paddings }, [dy], ctx) => [unpadded(dy, paddings, ctx), null],
  },
  ...copyKernels(0, constantMap),
});

const PadV2 = definePad("PadV2", {
  inputs: ["input: T", "paddings: Tpaddings", "constant_values: T"],
  grad: {
    saves: ["paddings"],
    vjp: ({ paddings }, [dy], ctx) => {
      const inner = unpadded(dy, paddings, ctx);
      return [inner, null, ctx.needs[2] ? ctx.sumLike(sub(sum(dy), sum(inner)), 2) : null];
    },
  },
  ...copyKernels(0, constantMap, { fill: 2 }),
});

/** 0 excludes the border (`REFLECT`), 1 repeats it (`SYMMETRIC`). */
function borderOf({ mode }: Attrs): 0 | 1 {
  return mode === "REFLECT" ? 0 : 1;
}

function checkMirror(shape: PartialShape, paddings: number[] | undefined, border: 0 | 1): void {
  if (!shape || !paddings) return;
  pairsOf(paddings).forEach(([before, after], i) => {
    const d = shape[i];
    if (d !== null && Math.max(before, after) > d - 1 + border) {
      throw new ValueError(
        `Cannot mirror axis ${i} of shape ${
          shapeText(shape)
        } by [${before}, ${after}]: paddings must be no greater than ${d - 1 + border}`,
      );
    }
  });
}

const MirrorPad: OpDef = definePad("MirrorPad", {
  attrs: ["T: type", "Tpaddings: index = int32", "mode: string"],
  infer: ([x, paddings], attrs) => {
    const shape = paddedShape(x, paddings);
    checkMirror(x.shape, knownInts(paddings), borderOf(attrs));
    return [shape];
  },
  grad: {
    saves: ["paddings"],
    vjp: ({ paddings }, [dy], { attrs: { mode } }) => [
      apply1(MirrorPadGrad, [dy, paddings], { mode }),
      null,
    ],
  },
  ...copyKernels(
    0,
    (problem) => paddedMap(problem, { rule: "mirror", step: borderOf(problem.attrs) }),
  ),
});

const MirrorPadGrad = definePad("MirrorPadGrad", {
  attrs: ["T: numeric", "Tpaddings: index = int32", "mode: string"],
  infer: ([dy, paddings]) => {
    const known = knownInts(paddings);
    if (!known || !dy.shape) return [dy.shape?.map(() => null) ?? null];
    const pairs = pairsOf(known);
    return [dy.shape.map((d, i) => (d === null ? null : d - pairs[i][0] - pairs[i][1]))];
  },
  grad: {
    saves: ["paddings"],
    vjp: ({ paddings }, [ddx], { attrs: { mode } }) => [
      apply1(MirrorPad, [ddx, paddings], { mode }),
      null,
    ],
  },
  // One axis at a time: the middle, with both margins reversed and added to it.
  expand: ([dy, paddings], attrs) => {
    const border = borderOf(attrs);
    const pairs = pairsOf(literalInts(paddings)!);
    return [pairs.reduce((g, pair, axis) => foldAxis(g, axis, pair, border), asTensor(dy))];
  },
});

function foldAxis(
  g: Tensor,
  axis: number,
  [before, after]: [number, number],
  border: 0 | 1,
): Tensor {
  const extent = g.shape[axis] - before - after;
  const part = (begin: number, size: number): Tensor =>
    slice(
      g,
      g.shape.map((_, i) => (i === axis ? begin : 0)),
      g.shape.map((d, i) => (i === axis ? size : d)),
    );
  const lay = (margin: Tensor, begin: number): Tensor =>
    apply1(Pad, [
      reverse(margin, axis),
      toIndexInput(
        g.shape.map((_, i) => (i === axis ? [begin, extent - begin - margin.shape[i]] : [0, 0])),
        "paddings",
        "mirrorPad",
      ),
    ]);
  let out = part(before, extent);
  if (before > 0) out = add(out, lay(part(0, before), 1 - border));
  if (after > 0) out = add(out, lay(part(before + extent, after), extent - after - 1 + border));
  return out;
}

/**
 * Pads a tensor with a constant: `paddings[i]` is the number of elements before and after along axis i. Throws
 * `ValueError` where there is not one pair of non-negative numbers for each axis. TensorFlow ops `Pad` and `PadV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pad([1, 2], [[1, 2]], 9).arraySync()); // [9, 1, 2, 9, 9]
 * ```
 */
export function pad(
  x: TensorLike,
  paddings: Paddings | TensorLike,
  constantValue: TensorLike = 0,
): Tensor {
  const [input, pairs] = padInputs("pad", x, paddings);
  // TensorFlow, too, pads with 0 where the number -0 is told.
  if (constantValue === 0) return apply1(Pad, [input, pairs]);
  const own = typeof constantValue === "number" ? { dtype: input.dtype } : {};
  const value = toInput(constantValue, "constantValue", "pad", own);
  return apply1(PadV2, [input, pairs, castInput(value, input.dtype)]);
}

/**
 * Pads a vector with a constant. See {@linkcode pad}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pad1d([1, 2], [1, 0]).arraySync()); // [0, 1, 2]
 * ```
 */
export function pad1d(
  x: TensorLike,
  paddings: readonly [number, number],
  constantValue = 0,
): Tensor {
  wantList(paddings, "paddings", "pad1d");
  if (paddings.length !== 2) {
    throw new ValueError(`Cannot apply pad1d with ${paddings.length} paddings: wanted two`);
  }
  return pad(x, [paddings], constantValue);
}

/**
 * Pads a matrix with a constant. Throws `ValueError` where there are not two pairs. See {@linkcode pad}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pad2d([[1]], [[0, 1], [1, 0]]).arraySync()); // [[0, 1], [0, 0]]
 * ```
 */
export function pad2d(x: TensorLike, paddings: Paddings, constantValue = 0): Tensor {
  return padOfRank(2, x, paddings, constantValue);
}
/**
 * Pads a tensor of rank 3 with a constant. Throws `ValueError` where there are not three pairs. See {@linkcode pad}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pad3d([[[1]]], [[0, 0], [0, 0], [1, 0]]).arraySync()); // [[[0, 1]]]
 * ```
 */
export function pad3d(x: TensorLike, paddings: Paddings, constantValue = 0): Tensor {
  return padOfRank(3, x, paddings, constantValue);
}
/**
 * Pads a tensor of rank 4 with a constant. Throws `ValueError` where there are not four pairs. See {@linkcode pad}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pad4d([[[[1]]]], [[0, 0], [0, 0], [0, 0], [1, 0]]).shape); // [1, 1, 1, 2]
 * ```
 */
export function pad4d(x: TensorLike, paddings: Paddings, constantValue = 0): Tensor {
  return padOfRank(4, x, paddings, constantValue);
}

function padOfRank(rank: number, x: TensorLike, paddings: Paddings, constantValue: number): Tensor {
  wantList(paddings, "paddings", `pad${rank}d`);
  if (paddings.length !== rank || paddings.some((p) => p?.length !== 2)) {
    throw new ValueError(
      `Cannot apply pad${rank}d: wanted ${rank} pairs of paddings, received ${paddings.length}`,
    );
  }
  return pad(x, paddings, constantValue);
}

/**
 * Pads a tensor with its own mirror image: `"reflect"` leaves the border out, `"symmetric"` repeats it. Throws
 * `ValueError` for paddings larger than the image. TensorFlow op `MirrorPad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.mirrorPad([1, 2, 3], [[2, 1]], "reflect").arraySync()); // [3, 2, 1, 2, 3, 2]
 * ```
 */
export function mirrorPad(
  x: TensorLike,
  paddings: Paddings | TensorLike,
  mode: "reflect" | "symmetric",
): Tensor {
  if (mode !== "reflect" && mode !== "symmetric") {
    throw new ValueError(
      `Cannot mirrorPad in mode ${brief(mode)}: wanted "reflect" or "symmetric"`,
    );
  }
  return apply1(MirrorPad, padInputs("mirrorPad", x, paddings), { mode: mode.toUpperCase() });
}

function padInputs(fn: string, x: TensorLike, paddings: Paddings | TensorLike): [OpInput, OpInput] {
  const input = toInput(x, "x", fn);
  if (shapeOfInput(input)?.length === 0) {
    throw new ValueError(`${fn}(scalar) is not defined. Pass non-scalar to ${fn}`);
  }
  return [input, toIndexInput(paddings as TensorLike, "paddings", fn)];
}
