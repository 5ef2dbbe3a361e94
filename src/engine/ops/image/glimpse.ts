/** Windows of images that may reach beyond them, part of the namespace `tf.image`. On the host. */
import { apply1 } from "../../core/apply.ts";
import { optionCheck, wantBoolean } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { mergeShapes } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { threefry } from "../../kernels/pointwise/threefry.ts";
import { hostInts, knownInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { toFloatInput, toIndexInput } from "../input.ts";
import { eagerKey } from "../random/state.ts";
import { brief } from "../../core/text.ts";

/** Pixels of a glimpse beyond its image. */
export type GlimpseNoise = "uniform" | "gaussian" | "zero";

function noiseOf({ noise, uniform_noise: isUniform }: Attrs): GlimpseNoise {
  if (isUniform && noise !== "" && noise !== "uniform") {
    refuse("The uniform_noise and noise could not be specified at the same time");
  }
  if (noise === "") return isUniform ? "uniform" : "gaussian";
  if (noise === "uniform" || noise === "gaussian" || noise === "zero") return noise;
  return refuse(`The noise could only be uniform, gaussian, or zero, got ${noise}`);
}

/** Returns the first row, or column, of a glimpse. */
function startOf(
  offset: number,
  [extent, window]: readonly [number, number],
  { normalized, centered, version }: {
    readonly normalized: boolean;
    readonly centered: boolean;
    readonly version: number;
  },
): number {
  const round = Math.fround;
  let at = normalized ? round(offset * extent) : offset;
  if (centered) {
    if (normalized) at = round(at / 2);
    at = round(at + extent / 2);
  }
  if (version === 1 || normalized && centered) at = round(at - window / 2);
  return Math.trunc(at);
}

/** Fills a glimpse with noise of its image's range, or of each channel's mean and deviation. */
function addNoise(
  noise: GlimpseNoise,
  image: Float32Array,
  out: Float32Array,
  depth: number,
): void {
  if (noise === "zero") return;
  const [k0, k1] = eagerKey(null), words = new Uint32Array(2);
  const uniform = (word: number): number => (word + 0.5) / 2 ** 32;
  if (noise === "uniform") {
    let low = Infinity, high = -Infinity;
    for (const v of image) [low, high] = [Math.min(low, v), Math.max(high, v)];
    for (let i = 0; i < out.length; i++) {
      threefry(k0, k1, i, 0, words);
      out[i] = low + uniform(words[0]) * (high - low);
    }
    return;
  }
  for (let c = 0; c < depth; c++) {
    const values = image.filter((_, i) => i % depth === c), n = values.length;
    const mean = values.reduce((sum, v) => sum + v, 0) / n;
    const deviation = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / n);
    const low = values.reduce((a, b) => Math.min(a, b)),
      high = values.reduce((a, b) => Math.max(a, b));
    for (let i = c; i < out.length; i += depth) {
      threefry(k0, k1, i, 0, words);
      const normal = Math.sqrt(-2 * Math.log(uniform(words[0]))) *
        Math.cos(2 * Math.PI * uniform(words[1]));
      out[i] = Math.max(low, Math.min(high, mean + deviation * normal));
    }
  }
}

function extract(
  [input, , offsets]: readonly NdArray[],
  out: NdArray,
  attrs: Attrs,
  version: number,
) {
  const [batch, height, width, depth] = input.shape, [, rows, columns] = out.shape;
  const from = input.data as Float32Array, to = out.data as Float32Array;
  const noise = noiseOf(attrs), each = height * width * depth, size = rows * columns * depth;
  const form = { normalized: attrs.normalized, centered: attrs.centered, version };
  to.fill(0);
  for (let b = 0; b < batch; b++) {
    const [y, x] = [0, 1].map((i) => (offsets.data as Float32Array)[2 * b + i]);
    const top = startOf(y, [height, rows], form), left = startOf(x, [width, columns], form);
    const image = from.subarray(b * each, (b + 1) * each);
    const glimpse = to.subarray(b * size, (b + 1) * size);
    const isInside = top >= 0 && left >= 0 && top + rows <= height && left + columns <= width;
    if (!isInside && each > 0) addNoise(noise, image, glimpse, depth);
    for (let i = 0; i < rows; i++) {
      const row = top + i;
      if (row < 0 || row >= height) continue;
      for (let j = 0; j < columns; j++) {
        const column = left + j;
        if (column < 0 || column >= width) continue;
        const at = (row * width + column) * depth;
        glimpse.set(image.subarray(at, at + depth), (i * columns + j) * depth);
      }
    }
  }
}

/** The op, whose offsets always tell the middle of a glimpse, and its second version, whose do where they are centred parts. */
export const GLIMPSES: readonly OpDef[] = ["ExtractGlimpse", "ExtractGlimpseV2"].map((name, i) =>
  defineOp({
    name,
    inputs: ["input: float32", "size: int32", "offsets: float32"],
    outputs: ["glimpse: float32"],
    attrs: [
      "centered: bool = true",
      "normalized: bool = true",
      "uniform_noise: bool = true",
      'noise: string = "uniform"',
    ],
    hostInputs: ["size"],
    infer: ([input, size, offsets]) => {
      const [batch, , , depth] = mergeShapes(input.shape, [null, null, null, null])!;
      const known = knownInts(size), rows = mergeShapes(offsets.shape, [batch, 2])![0];
      if (known !== undefined && (known.length !== 2 || known.some((n) => n !== null && n < 0))) {
        throw new ValueError(`Cannot extract glimpses of size [${known}]: wanted [height, width]`);
      }
      return [[batch ?? rows, known?.[0] ?? null, known?.[1] ?? null, depth]];
    },
    grad: null,
    stateful: true,
    cpu: (inputs, [out], { attrs }) => {
      if (hostInts(inputs[1]).length !== 2) refuse("size must have two elements");
      extract(inputs, out, attrs, i + 1);
    },
  })
);

/** Options of {@linkcode extractGlimpse}. */
export interface GlimpseOptions {
  /** True: offsets count from the middle of an image, and where they are normalized too tell the middle of the glimpse, else its corner. Default true. */
  readonly centered?: boolean;
  /** True: offsets are parts of an image's height and width; of half of them where they are centred. Default true. */
  readonly normalized?: boolean;
  /** Pixels beyond an image: numbers of its range, of its channels' means and deviations, or zeros. Default `"uniform"`. */
  readonly noise?: GlimpseNoise;
}

const check = optionCheck<GlimpseOptions>("image.extractGlimpse", {
  centered: true,
  normalized: true,
  noise: true,
});

/**
 * A window of `size`, `[height, width]`, of each image `[batch, height, width, depth]`, at `offsets`, `[batch, 2]` as `[y, x]`: float32. It may
 * reach beyond the image. Throws `ValueError` for shapes that do not fit and other noise. TensorFlow op `ExtractGlimpseV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.reshape(tf.range(0, 9), [1, 3, 3, 1]);
 * const options = { centered: false, normalized: false, noise: "zero" } as const;
 * console.log(await tf.image.extractGlimpse(x, [2, 2], [[1, 2]], options).data()); // Float32Array(4) [5, 0, 8, 0]
 * ```
 */
export function extractGlimpse(
  input: TensorLike,
  size: TensorLike,
  offsets: TensorLike,
  options: GlimpseOptions = {},
): Tensor {
  const fn = "image.extractGlimpse";
  check(options);
  const { centered = true, normalized = true, noise = "uniform" } = options;
  wantBoolean(centered, "centered", fn);
  wantBoolean(normalized, "normalized", fn);
  if (!["uniform", "gaussian", "zero"].includes(noise)) {
    throw new ValueError(
      `Cannot apply ${fn} with noise ${brief(noise)}: wanted "uniform", "gaussian" or "zero"`,
    );
  }
  const inputs = [
    toFloatInput(input, "input", fn),
    toIndexInput(size, "size", fn),
    toFloatInput(offsets, "offsets", fn),
  ];
  return apply1(GLIMPSES[1], inputs, { centered, normalized, uniform_noise: false, noise });
}
