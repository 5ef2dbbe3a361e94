/**
 * Moving blocks of space into the batch or into channels, and back: views around one transpose.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { transpose } from "./move.ts";
import { pad } from "./pad.ts";
import { slice } from "./slice.ts";
import { knownInts, literalInts, reshape } from "./view.ts";
import { shapeOfInput, toIndexInput, toInput } from "../input.ts";

/** Two numbers for each axis. */
export type Pairs = readonly (readonly [number, number])[];

function pairsOf(flat: readonly number[]): [number, number][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
}

function listed(x: Tensor | NdArray): number[] {
  return literalInts(x)!;
}

const WITH_PAIRS = (
  pairs: string,
): string[] => ["input: T", "block_shape: Tblock_shape", `${pairs}: T${pairs}`];
const TYPES = (
  pairs: string,
): string[] => ["T: type", "Tblock_shape: index = int32", `T${pairs}: index = int32`];

function blockedShape(
  x: PartialShape,
  block: Spec,
  pairs: Spec,
  way: "split" | "join",
): PartialShape {
  const sizes = knownInts(block), margins = knownInts(pairs);
  const fn = way === "split" ? "spaceToBatchND" : "batchToSpaceND";
  if (x === null) return null;
  if (!sizes || !margins) return x.map((d, i) => (i > (block.shape?.[0] ?? x.length) ? d : null));
  if (x.length < 1 + sizes.length || margins.length !== 2 * sizes.length) {
    throw new ValueError(
      `Cannot apply ${fn} to shape ${
        shapeText(x)
      }: block shape [${sizes}] wants a batch, ${sizes.length} axes and as many pairs`,
    );
  }
  const refuse = (why: string): never => {
    throw new ValueError(`Cannot apply ${fn} to shape ${shapeText(x)}: ${why}`);
  };
  const product = sizes.reduce((a, b) => a * b, 1);
  const whole = (n: number, by: number): number =>
    n % by === 0 ? n / by : refuse(`${n} is not divisible by ${by}`);
  return x.map((d, i) => {
    if (d === null || i > sizes.length) return d;
    if (i === 0) return way === "split" ? d * product : whole(d, product);
    const [before, after] = pairsOf(margins)[i - 1];
    if (before < 0 || after < 0) {
      refuse(`pairs must not be negative, received [${before},${after}]`);
    }
    if (way === "split") return whole(d + before + after, sizes[i - 1]);
    const n = d * sizes[i - 1];
    if (before + after > n) refuse(`${before} and ${after} of ${n} cannot be cropped`);
    return n - before - after;
  });
}

const SpaceToBatchND = defineOp({
  name: "SpaceToBatchND",
  inputs: WITH_PAIRS("paddings"),
  outputs: ["output: T"],
  attrs: TYPES("paddings"),
  hostInputs: ["block_shape", "paddings"],
  infer: ([x, block, paddings]) => [blockedShape(x.shape, block, paddings, "split")],
  grad: {
    saves: ["block_shape", "paddings"],
    vjp: (
      { block_shape, paddings },
      [dy],
    ) => [apply1(BatchToSpaceND, [dy, block_shape, paddings]), null, null],
  },
  expand: ([x, blockInput, paddingInput]) => {
    const block = listed(blockInput), rank = x.shape.length, m = block.length;
    const rest: Pairs = Array.from({ length: rank - m - 1 }, () => [0, 0]);
    const wide = pad(x, [[0, 0], ...pairsOf(listed(paddingInput)), ...rest]);
    const [batch, ...space] = wide.shape;
    const cut = reshape(wide, [
      batch,
      ...block.flatMap((b, i) => [space[i] / b, b]),
      ...space.slice(m),
    ]);
    const blocks = block.map((_, i) => 2 * i + 2), places = block.map((_, i) => 2 * i + 1);
    const moved = transpose(cut, [...blocks, 0, ...places, ...rest.map((_, i) => 2 * m + 1 + i)]);
    const product = block.reduce((a, b) => a * b, 1);
    return [
      reshape(moved, [batch * product, ...block.map((b, i) => space[i] / b), ...space.slice(m)]),
    ];
  },
});

const BatchToSpaceND = defineOp({
  name: "BatchToSpaceND",
  inputs: WITH_PAIRS("crops"),
  outputs: ["output: T"],
  attrs: TYPES("crops"),
  hostInputs: ["block_shape", "crops"],
  infer: ([x, block, crops]) => [blockedShape(x.shape, block, crops, "join")],
  grad: {
    saves: ["block_shape", "crops"],
    vjp: (
      { block_shape, crops },
      [dy],
    ) => [apply1(SpaceToBatchND, [dy, block_shape, crops]), null, null],
  },
  expand: ([x, blockInput, cropInput]) => {
    const block = listed(blockInput), m = block.length;
    const [batch, ...space] = x.shape;
    const rest = space.slice(m);
    const product = block.reduce((a, b) => a * b, 1);
    const cut = reshape(x, [...block, batch / product, ...space]);
    const order = block.flatMap((_, i) => [m + 1 + i, i]);
    const moved = transpose(cut, [m, ...order, ...rest.map((_, i) => 2 * m + 1 + i)]);
    const wide = reshape(moved, [batch / product, ...block.map((b, i) => b * space[i]), ...rest]);
    const pairs = pairsOf(listed(cropInput));
    const size = wide.shape.map((
      d,
      i,
    ) => (i === 0 || i > m ? d : d - pairs[i - 1][0] - pairs[i - 1][1]));
    return [slice(wide, wide.shape.map((_, i) => (i === 0 || i > m ? 0 : pairs[i - 1][0])), size)];
  },
});

/** Batch, height, width and depth of an image shape, wherever its channels are. */
function placesOf(format: string): { height: number; width: number; depth: number } {
  return format === "NCHW" ? { height: 2, width: 3, depth: 1 } : { height: 1, width: 2, depth: 3 };
}

function depthShape(
  x: PartialShape,
  block: number,
  format: string,
  way: "toSpace" | "toDepth",
): PartialShape {
  if (x === null) return [null, null, null, null];
  if (x.length !== 4) {
    throw new ValueError(`Cannot move depth and space of shape ${shapeText(x)}: wanted rank 4`);
  }
  const { height, width, depth } = placesOf(format);
  const times = (d: number | null, n: number): number | null => (d === null ? null : d * n);
  const parts = (d: number | null, n: number): number | null => {
    if (d !== null && d % n !== 0) {
      throw new ValueError(
        `Dimension size must be evenly divisible by ${n} but is ${d} for shape ${shapeText(x)}`,
      );
    }
    return d === null ? null : d / n;
  };
  const out = [...x];
  const space = way === "toSpace" ? times : parts, channels = way === "toSpace" ? parts : times;
  out[height] = space(x[height], block);
  out[width] = space(x[width], block);
  out[depth] = channels(x[depth], block * block);
  return out;
}

const DEPTH_ATTRS = ["T: type", "block_size: int >= 2", 'data_format: string = "NHWC"'];

const DepthToSpace = defineOp({
  name: "DepthToSpace",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: DEPTH_ATTRS,
  infer: (
    [x],
    { block_size, data_format },
  ) => [depthShape(x.shape, block_size, data_format, "toSpace")],
  grad: {
    saves: [],
    vjp: (
      _,
      [dy],
      { attrs: { block_size, data_format } },
    ) => [apply1(SpaceToDepth, [dy], { block_size, data_format })],
  },
  expand: ([x], { block_size: b, data_format }) => {
    if (data_format === "NCHW") {
      const [n, c, h, w] = x.shape;
      const moved = transpose(reshape(x, [n, b, b, c / (b * b), h, w]), [0, 3, 4, 1, 5, 2]);
      return [reshape(moved, [n, c / (b * b), h * b, w * b])];
    }
    const [n, h, w, c] = x.shape;
    const moved = transpose(reshape(x, [n, h, w, b, b, c / (b * b)]), [0, 1, 3, 2, 4, 5]);
    return [reshape(moved, [n, h * b, w * b, c / (b * b)])];
  },
});

const SpaceToDepth = defineOp({
  name: "SpaceToDepth",
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: DEPTH_ATTRS,
  infer: (
    [x],
    { block_size, data_format },
  ) => [depthShape(x.shape, block_size, data_format, "toDepth")],
  grad: {
    saves: [],
    vjp: (
      _,
      [dy],
      { attrs: { block_size, data_format } },
    ) => [apply1(DepthToSpace, [dy], { block_size, data_format })],
  },
  expand: ([x], { block_size: b, data_format }) => {
    if (data_format === "NCHW") {
      const [n, c, h, w] = x.shape;
      const moved = transpose(reshape(x, [n, c, h / b, b, w / b, b]), [0, 3, 5, 1, 2, 4]);
      return [reshape(moved, [n, c * b * b, h / b, w / b])];
    }
    const [n, h, w, c] = x.shape;
    const moved = transpose(reshape(x, [n, h / b, b, w / b, b, c]), [0, 1, 3, 2, 4, 5]);
    return [reshape(moved, [n, h / b, w / b, c * b * b])];
  },
});

/**
 * Pads the axes behind the batch, cuts them into blocks, and moves the places within a block into the batch.
 * Throws `ValueError` where blocks do not fit. TensorFlow op `SpaceToBatchND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * assertEquals(tf.spaceToBatchND(x, [2, 2], [[0, 0], [0, 0]]).shape, [4, 1, 1, 1]);
 * ```
 */
export function spaceToBatchND(
  x: TensorLike,
  blockShape: readonly number[],
  paddings: Pairs,
): Tensor {
  return apply1(SpaceToBatchND, blockInputs("spaceToBatchND", x, blockShape, paddings));
}

/**
 * Undoes {@linkcode spaceToBatchND}: moves the batch back into blocks and crops the axes.
 * Throws `ValueError` where blocks do not fit. TensorFlow op `BatchToSpaceND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor4d([1, 2, 3, 4], [4, 1, 1, 1]);
 * assertEquals(tf.batchToSpaceND(x, [2, 2], [[0, 0], [0, 0]]).arraySync(), [[[[1], [2]], [[3], [4]]]]);
 * ```
 */
export function batchToSpaceND(x: TensorLike, blockShape: readonly number[], crops: Pairs): Tensor {
  return apply1(BatchToSpaceND, blockInputs("batchToSpaceND", x, blockShape, crops));
}

function blockInputs(fn: string, x: TensorLike, block: readonly number[], pairs: Pairs): OpInput[] {
  const input = toInput(x, "x", fn);
  const shape = shapeOfInput(input);
  if (shape && shape.length < 1 + block.length) {
    throw new ValueError(
      `Error in ${fn}: input rank ${shape.length} should be > than [blockShape] ${block.length}`,
    );
  }
  if (pairs.length !== block.length) {
    throw new ValueError(
      `Error in ${fn}: ${pairs.length} pairs must be equal to [blockShape] ${block.length}`,
    );
  }
  return [input, toIndexInput(block, "blockShape", fn), toIndexInput(pairs, "pairs", fn)];
}

/**
 * Moves channels into blocks of height and width. `dataFormat` says where channels are.
 * Throws `ValueError` where they do not divide. TensorFlow op `DepthToSpace`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 1, 1, 4]);
 * assertEquals(tf.depthToSpace(x, 2).arraySync(), [[[[1], [2]], [[3], [4]]]]);
 * ```
 */
export function depthToSpace(
  x: TensorLike,
  blockSize: number,
  dataFormat: "NHWC" | "NCHW" = "NHWC",
): Tensor {
  return moveDepth("depthToSpace", x, blockSize, dataFormat);
}

/**
 * Moves blocks of height and width into channels. `dataFormat` says where channels are.
 * Throws `ValueError` where they do not divide. TensorFlow op `SpaceToDepth`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * assertEquals(tf.spaceToDepth(x, 2).arraySync(), [[[[1, 2, 3, 4]]]]);
 * ```
 */
export function spaceToDepth(
  x: TensorLike,
  blockSize: number,
  dataFormat: "NHWC" | "NCHW" = "NHWC",
): Tensor {
  return moveDepth("spaceToDepth", x, blockSize, dataFormat);
}

function moveDepth(fn: string, x: TensorLike, blockSize: number, dataFormat: string): Tensor {
  if (!(blockSize > 1)) {
    throw new ValueError(`blockSize should be > 1 for ${fn}, but was: ${blockSize}`);
  }
  if (dataFormat !== "NHWC" && dataFormat !== "NCHW") {
    throw new ValueError(`Cannot apply ${fn} with data format ${dataFormat}: wanted NHWC or NCHW`);
  }
  return apply1(fn === "depthToSpace" ? DepthToSpace : SpaceToDepth, [toInput(x, "x", fn)], {
    block_size: blockSize,
    data_format: dataFormat,
  });
}
