/** Moves blocks of space into the batch or into channels, and back: views around one transpose. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { type PartialShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { transpose } from "./move.ts";
import { pad, pairsOf } from "./pad.ts";
import { slice } from "./slice.ts";
import { knownInts, literalInts, reshape } from "./view.ts";
import { asTensor, shapeOfInput, toIndexInput, toInput } from "../input.ts";
import { brief } from "../../core/text.ts";

/** Two numbers for each axis. */
export type Pairs = readonly (readonly [number, number])[];

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
  const product = sizeOf(sizes);
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

/** Defines one of the two ops between blocks and the batch, each the other's gradient. */
function defineBlocks(
  name: string,
  { pairs, way, inverse, expand }: {
    readonly pairs: "paddings" | "crops";
    readonly way: "split" | "join";
    readonly inverse: () => OpDef;
    readonly expand: (x: Tensor, block: readonly number[], pairs: Pairs) => Tensor;
  },
): OpDef {
  return defineOp({
    name,
    inputs: ["input: T", "block_shape: Tblock_shape", `${pairs}: T${pairs}`],
    outputs: ["output: T"],
    attrs: ["T: type", "Tblock_shape: index = int32", `T${pairs}: index = int32`],
    hostInputs: ["block_shape", pairs],
    infer: ([x, block, margins]) => [blockedShape(x.shape, block, margins, way)],
    grad: {
      saves: ["block_shape", pairs],
      vjp: (saved, [dy]) => [apply1(inverse(), [dy, saved.block_shape, saved[pairs]]), null, null],
    },
    expand: ([x, block, margins]) => [
      expand(asTensor(x), literalInts(block)!, pairsOf(literalInts(margins)!)),
    ],
  });
}

const SpaceToBatchND = defineBlocks("SpaceToBatchND", {
  pairs: "paddings",
  way: "split",
  inverse: () => BatchToSpaceND,
  expand: (x, block, paddings) => {
    const rank = x.shape.length, m = block.length;
    const rest: Pairs = Array.from({ length: rank - m - 1 }, () => [0, 0]);
    const wide = pad(x, [[0, 0], ...paddings, ...rest]);
    const [batch, ...space] = wide.shape, places = block.map((b, i) => space[i] / b);
    const inner = space.slice(m);
    const cut = reshape(wide, [batch, ...block.flatMap((b, i) => [places[i], b]), ...inner]);
    const order = [...block.map((_, i) => 2 * i + 2), 0, ...block.map((_, i) => 2 * i + 1)];
    const moved = transpose(cut, [...order, ...rest.map((_, i) => 2 * m + 1 + i)]);
    return reshape(moved, [batch * sizeOf(block), ...places, ...inner]);
  },
});

const BatchToSpaceND = defineBlocks("BatchToSpaceND", {
  pairs: "crops",
  way: "join",
  inverse: () => SpaceToBatchND,
  expand: (x, block, crops) => {
    const m = block.length, [all, ...space] = x.shape;
    const batch = all / sizeOf(block), rest = space.slice(m);
    const cut = reshape(x, [...block, batch, ...space]);
    const order = [m, ...block.flatMap((_, i) => [m + 1 + i, i])];
    const moved = transpose(cut, [...order, ...rest.map((_, i) => 2 * m + 1 + i)]);
    const places = block.map((b, i) => b * space[i]);
    const kept = places.map((n, i) => n - crops[i][0] - crops[i][1]);
    const begin = [0, ...crops.map(([before]) => before), ...rest.map(() => 0)];
    return slice(reshape(moved, [batch, ...places, ...rest]), begin, [batch, ...kept, ...rest]);
  },
});

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
  const parts = (d: number, n: number): number => {
    if (d % n === 0) return d / n;
    throw new ValueError(
      `Dimension size must be evenly divisible by ${n} but is ${d} for shape ${shapeText(x)}`,
    );
  };
  const depth = format === "NCHW" ? 1 : 3;
  return x.map((d, axis) => {
    if (d === null || axis === 0) return d;
    const n = axis === depth ? block * block : block;
    return (axis === depth) === (way === "toDepth") ? d * n : parts(d, n);
  });
}

/** Defines one of the two ops between space and depth, each the other's gradient. */
function defineDepth(
  name: string,
  way: "toSpace" | "toDepth",
  inverse: () => OpDef,
): OpDef {
  return defineOp({
    name,
    inputs: ["input: T"],
    outputs: ["output: T"],
    attrs: ["T: type", "block_size: int >= 2", 'data_format: string = "NHWC"'],
    infer: ([x], { block_size, data_format }) => [
      depthShape(x.shape, block_size, data_format, way),
    ],
    grad: {
      saves: [],
      vjp: (_, [dy], { attrs: { block_size, data_format } }) => [
        apply1(inverse(), [dy], { block_size, data_format }),
      ],
    },
    expand: ([x], { block_size: b, data_format }) => {
      const shape = x.shape as number[], to = depthShape(shape, b, data_format, way) as number[];
      const toSpace = way === "toSpace", [deep, flat] = toSpace ? [shape, to] : [to, shape];
      let cut: number[], order = [0, 1, 3, 2, 4, 5];
      if (data_format === "NCHW") {
        const [n, , h, w] = deep, c = flat[1];
        cut = toSpace ? [n, b, b, c, h, w] : [n, c, h, b, w, b];
        order = toSpace ? [0, 3, 4, 1, 5, 2] : [0, 3, 5, 1, 2, 4];
      } else {
        const [n, h, w] = deep, c = flat[3];
        cut = toSpace ? [n, h, w, b, b, c] : [n, h, b, w, b, c];
      }
      return [reshape(transpose(reshape(x, cut), order), to)];
    },
  });
}

const DepthToSpace: OpDef = defineDepth("DepthToSpace", "toSpace", () => SpaceToDepth);
const SpaceToDepth = defineDepth("SpaceToDepth", "toDepth", () => DepthToSpace);

/**
 * Pads the axes behind the batch, cuts them into blocks, and moves the places within a block into the batch.
 * Throws `ValueError` where blocks do not fit. TensorFlow op `SpaceToBatchND`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * console.log(tf.spaceToBatchND(x, [2, 2], [[0, 0], [0, 0]]).shape); // [4, 1, 1, 1]
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
 * const x = tf.tensor4d([1, 2, 3, 4], [4, 1, 1, 1]);
 * console.log(tf.batchToSpaceND(x, [2, 2], [[0, 0], [0, 0]]).arraySync()); // [[[[1], [2]], [[3], [4]]]]
 * ```
 */
export function batchToSpaceND(x: TensorLike, blockShape: readonly number[], crops: Pairs): Tensor {
  return apply1(BatchToSpaceND, blockInputs("batchToSpaceND", x, blockShape, crops));
}

function blockInputs(fn: string, x: TensorLike, block: readonly number[], pairs: Pairs): OpInput[] {
  wantList(block, "blockShape", fn, "numbers");
  wantList(pairs, "pairs", fn);
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
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 1, 1, 4]);
 * console.log(tf.depthToSpace(x, 2).arraySync()); // [[[[1], [2]], [[3], [4]]]]
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
 * const x = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * console.log(tf.spaceToDepth(x, 2).arraySync()); // [[[[1, 2, 3, 4]]]]
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
  wantNumber(blockSize, "blockSize", fn);
  if (!(blockSize > 1)) {
    throw new ValueError(`blockSize should be > 1 for ${fn}, but was: ${blockSize}`);
  }
  if (dataFormat !== "NHWC" && dataFormat !== "NCHW") {
    throw new ValueError(
      `Cannot apply ${fn} with data format ${brief(dataFormat)}: wanted NHWC or NCHW`,
    );
  }
  return apply1(fn === "depthToSpace" ? DepthToSpace : SpaceToDepth, [toInput(x, "x", fn)], {
    block_size: blockSize,
    data_format: dataFormat,
  });
}
