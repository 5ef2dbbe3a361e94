/** Measures of images and of how alike two are. */
import { optionCheck, wantList, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { DTYPES, isFloating } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { type Extent, extentAt, vector } from "../extents.ts";
import { gather } from "../array/gather.ts";
import { concat, stack } from "../array/join.ts";
import { mirrorPad, pad } from "../array/pad.ts";
import { tile } from "../array/repeat.ts";
import { slice } from "../array/slice.ts";
import { rank, reshape, shape } from "../array/view.ts";
import { depthwiseConv2d } from "../conv/conv_depthwise.ts";
import { avgPool } from "../conv/pool_functions.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { log } from "../pointwise/exponential.ts";
import { pow, square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { relu } from "../pointwise/activation.ts";
import { prod } from "../reduce/prod.ts";
import { mean, sum } from "../reduce/reduce.ts";
import {
  convertImageDtype,
  greatest,
  toImages,
  toRankedImages,
  wantDType,
  wantKnown,
} from "./adjust.ts";

/**
 * Sums of distances between neighbouring pixels of each image. Throws `TypeError` for bool and unsigned dtypes. Follows TensorFlow `tf.image.total_variation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.image.totalVariation([[[1], [3]], [[2], [2]]]).item()); // 4
 * ```
 */
export function totalVariation(images: TensorLike): Tensor {
  return compose(() => {
    const x = toRankedImages(images, "totalVariation"), axes = [-3, -2, -1];
    wantDType(x, "totalVariation", (dtype) => ["int", "complex"].includes(DTYPES[dtype].kind));
    const along = (axis: number): Tensor => sum(abs(step(x, x.rank - 3 + axis)), axes);
    return add(along(0), along(1));
  });
}

/** Differences of neighbours along an axis. */
function step(x: Tensor, axis: number): Tensor {
  const along = Array.from({ length: x.rank }, (_, i) => i === axis ? 1 : 0);
  const n = x.staticShape![axis];
  const extent = n === null ? sub(shape(x), along) : along.map((one) => one === 1 ? n - 1 : -1);
  return sub(slice(x, along, extent), slice(x, along.map(() => 0), extent));
}

/**
 * Differences between neighbouring pixels down and across, zeros at the ends: `{ dy, dx }`. Follows TensorFlow `tf.image.image_gradients`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { dy, dx } = tf.image.imageGradients([[[[1], [3]], [[2], [2]]]]);
 * console.log([dy.dataSync(), dx.dataSync()]); // [Float32Array(4) [1, -1, 0, 0], Float32Array(4) [2, 0, 0, 0]]
 * ```
 */
export function imageGradients(image: TensorLike): { dy: Tensor; dx: Tensor } {
  return compose(() => {
    const x = toRankedImages(image, "imageGradients", 4);
    const padded = (axis: number): Tensor =>
      pad(step(x, axis), [0, 1, 2, 3].map((i): [number, number] => [0, i === axis ? 1 : 0]));
    return { dy: padded(1), dx: padded(2) };
  });
}

/** Sobel's filters, down and across. */
const SOBEL = new NdArray(
  "float32",
  [3, 3, 1, 2],
  Float32Array.of(-1, -1, -2, 0, -1, 1, 0, -2, 0, 0, 0, 2, 1, -1, 2, 0, 1, 1),
);

/**
 * Sobel's edges of images `[batch, height, width, channels]`, down and across: `[batch, height, width, channels, 2]`. Follows TensorFlow
 * `tf.image.sobel_edges`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.image.sobelEdges(tf.reshape([0, 1, 2, 0, 1, 2, 0, 1, 2], [1, 3, 3, 1]));
 * console.log(tf.slice(y, [0, 1, 1], [1, 1, 1]).arraySync()); // [[[[[0, 8]]]]]
 * ```
 */
export function sobelEdges(image: TensorLike): Tensor {
  return compose(() => {
    const x = toImages(image, "sobelEdges", 4), depth = extentAt(x, 3);
    const padded = mirrorPad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "reflect");
    const filter = tile(cast(SOBEL, x.dtype), vector([1, 1, depth, 1]));
    const y = depthwiseConv2d(padded, filter, 1, "valid"), outer = x.staticShape?.slice(0, 3);
    const first = outer && isConcrete(outer) ? [...outer] : slice(shape(x), [0], [3]);
    return reshape(y, followedBy(first, [depth, 2]));
  });
}

/** Some extents, then others. */
function followedBy(outer: number[] | Tensor, rest: readonly Extent[]): TensorLike {
  return Array.isArray(outer) ? vector([...outer, ...rest]) : concat([outer, vector(rest)], 0);
}

/** Height, width and channels of images, and the extents before. */
function innerOf(x: Tensor): { inner: Extent[]; outer: number[] | Tensor } {
  const known = x.staticShape;
  if (known !== null) {
    const n = known.length - 3, outer = known.slice(0, -3);
    return {
      inner: [n, n + 1, n + 2].map((axis) => extentAt(x, axis)),
      outer: isConcrete(outer) ? [...outer] : slice(shape(x), [0], [n]),
    };
  }
  const dims = shape(x), ahead = reshape(sub(rank(x), 3), [1]), last = slice(dims, ahead, [3]);
  return {
    inner: [0, 1, 2].map((i) => gather(last, i) as Tensor),
    outer: slice(dims, [0], ahead),
  };
}

/** Both images as floats, with the range of their values. */
function pair(fn: string, a: TensorLike, b: TensorLike, maxVal: number): [Tensor, Tensor, number] {
  wantNumber(maxVal, "maxVal", fn);
  const [x, y] = [a, b].map((image) => toImages(image, fn));
  if (isFloating(x.dtype)) return [x, y, maxVal];
  const [p, q] = [x, y].map((t) => convertImageDtype(t, "float32"));
  return [p, q, maxVal / greatest(x.dtype)];
}

/**
 * Peak signal-to-noise ratio of each pair of images `[…, height, width, channels]`, in decibels; `maxVal` is the range of their values.
 * Follows TensorFlow `tf.image.psnr`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(Math.round(tf.image.psnr(tf.zeros([2, 2, 1]), tf.fill([2, 2, 1], 0.1), 1).item())); // 20
 * ```
 */
export function psnr(a: TensorLike, b: TensorLike, maxVal: number): Tensor {
  return compose(() => {
    const [x, y, most] = pair("psnr", a, b, maxVal);
    const error = mean(square(sub(x, y)), [-3, -2, -1]);
    return sub(20 * Math.log10(most), mul(log(error), 10 / Math.LN10));
  });
}

/** Options of {@linkcode ssim} and {@linkcode ssimMultiscale}. */
export interface SsimOptions {
  /** Width of the window. Default 11. */
  readonly filterSize?: number;
  /** Deviation of the window. Default 1.5. */
  readonly filterSigma?: number;
  /** Default 0.01. */
  readonly k1?: number;
  /** Default 0.03. */
  readonly k2?: number;
  /** Weights of scales, of `ssimMultiscale`. Default those of Wang et al. */
  readonly powerFactors?: readonly number[];
}

const OPTION_NAMES = {
  filterSize: true,
  filterSigma: true,
  k1: true,
  k2: true,
  powerFactors: true,
} as const;
const checkSsim = optionCheck<SsimOptions>("ssim", OPTION_NAMES);
const checkMultiscale = optionCheck<SsimOptions>("ssimMultiscale", OPTION_NAMES);

/** A window of Gauss's as a filter of one channel. */
function gaussian(size: number, sigma: number): NdArray {
  const ends = Array.from({ length: size }, (_, i) => -0.5 * ((i - (size - 1) / 2) / sigma) ** 2);
  const all = ends.flatMap((a) => ends.map((b) => Math.exp(a + b)));
  const total = all.reduce((a, b) => a + b);
  return new NdArray("float32", [size, size, 1, 1], Float32Array.from(all, (v) => v / total));
}

/** Means over places of luminance times contrast, and of contrast, for each image and channel. */
function similarity(
  [x, y, most]: readonly [Tensor, Tensor, number],
  options: SsimOptions,
): { whole: Tensor; contrast: Tensor } {
  const { filterSize = 11, filterSigma = 1.5, k1 = 0.01, k2 = 0.03 } = options;
  const { inner, outer } = innerOf(x), [height, width, depth] = inner;
  if ([height, width].some((n) => typeof n === "number" && n < filterSize)) {
    const [h, w] = [height, width].map((n) => typeof n === "number" ? n : "?");
    throw new ValueError(
      `Error in ssim: images of ${h} by ${w} are smaller than the window of ${filterSize}`,
    );
  }
  const filter = tile(cast(gaussian(filterSize, filterSigma), x.dtype), vector([1, 1, depth, 1]));
  const rows = vector([-1, ...inner]), flat = (t: Tensor): Tensor => reshape(t, rows);
  const smooth = (t: Tensor): Tensor => depthwiseConv2d(flat(t), filter, 1, "valid");
  const c1 = (k1 * most) ** 2, c2 = (k2 * most) ** 2;
  const [mx, my] = [smooth(x), smooth(y)], products = mul(mul(mx, my), 2);
  const squares = add(square(mx), square(my));
  const luminance = div(add(products, c1), add(squares, c1));
  const shared = mul(smooth(mul(x, y)), 2), own = smooth(add(square(x), square(y)));
  const contrast = div(add(sub(shared, products), c2), add(sub(own, squares), c2));
  const all = followedBy(outer, [depth]);
  const over = (t: Tensor): Tensor => reshape(mean(t, [1, 2]), all);
  return { whole: over(mul(luminance, contrast)), contrast: over(contrast) };
}

/**
 * Structural similarity of each pair of images `[…, height, width, channels]`; `maxVal` is the range of their values. Throws `ValueError`
 * for images that are smaller than the window. Follows TensorFlow `tf.image.ssim`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.randomUniform([16, 16, 1]);
 * console.log(tf.image.ssim(x, x, 1).item()); // 1
 * ```
 */
export function ssim(
  a: TensorLike,
  b: TensorLike,
  maxVal: number,
  options: SsimOptions = {},
): Tensor {
  checkSsim(options);
  return compose(() => mean(similarity(pair("ssim", a, b, maxVal), options).whole, -1));
}

/** Weights of five scales, after Wang, Simoncelli and Bovik. */
const SCALES = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

/**
 * Structural similarity at several scales, each half the one before. Throws `ValueError` as {@linkcode ssim}. Follows TensorFlow `tf.image.ssim_multiscale`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.ones([1, 176, 176, 1]);
 * console.log(tf.image.ssimMultiscale(image, image, 1).arraySync()); // [1]
 * ```
 */
export function ssimMultiscale(
  a: TensorLike,
  b: TensorLike,
  maxVal: number,
  options: SsimOptions = {},
): Tensor {
  checkMultiscale(options);
  const { powerFactors = SCALES } = options;
  wantList(powerFactors, "powerFactors", "ssimMultiscale", "numbers");
  return compose(() => {
    let [x, y, most] = pair("ssimMultiscale", a, b, maxVal);
    const terms = powerFactors.map((power, k) => {
      if (k > 0) [x, y] = [halved(x), halved(y)];
      const { whole, contrast } = similarity([x, y, most], options);
      return pow(relu(k === powerFactors.length - 1 ? whole : contrast), power);
    });
    return mean(prod(stack(terms, -1), -1), -1);
  });
}

/** Means of blocks of two by two; odd sizes are padded with their mirror image. */
function halved(x: Tensor): Tensor {
  const { inner, outer } = innerOf(x);
  if (!inner.every((n) => typeof n === "number")) {
    throw wantKnown("ssimMultiscale", x, "height, width and channels");
  }
  const [height, width, depth] = inner;
  const flat = reshape(x, [-1, height, width, depth]);
  const padded = height % 2 + width % 2 === 0
    ? flat
    : mirrorPad(flat, [[0, 0], [0, height % 2], [0, width % 2], [0, 0]], "symmetric");
  const y = avgPool(padded, 2, 2, "valid");
  const [h, w] = [height, width].map((n) => Math.ceil(n / 2));
  return reshape(y, followedBy(outer, [h, w, depth]));
}
