/** Random parts of images that show enough of given boxes, part of the namespace `tf.image`. On the host. */
import { apply, type OpInput } from "../../core/apply.ts";
import { optionCheck, wantBoolean, wantList, wantNumber } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { type Philox, uniform } from "../../kernels/host/philox.ts";
import { refuse } from "../host/arrays.ts";
import { floatScalar, toFloatInput, toIndexInput } from "../input.ts";
import { philoxOfSeed } from "../random/philox.ts";
import { seedInput } from "../random/shuffle.ts";
import { nextSeed, type Seed, seedSource } from "../random/state.ts";

const ATTRS = [
  "T: {uint8, int8, int16, int32, int64}",
  "aspect_ratio_range: list(float) = [0.75, 1.33]",
  "area_range: list(float) = [0.05, 1.0]",
  "max_attempts: int = 100",
  "use_image_if_no_bounding_boxes: bool = false",
];
const OUTPUTS = ["begin: T", "size: T", "bboxes: float32"];

/** Edges in pixels. */
type Box = readonly [top: number, left: number, bottom: number, right: number];

const round = Math.fround;
/** Rounds to the nearest whole number, of two to the even one. */
const whole = (x: number): number => {
  const floor = Math.floor(x), rest = x - floor;
  return rest > 0.5 || rest === 0.5 && floor % 2 !== 0 ? floor + 1 : floor;
};
const area = ([top, left, bottom, right]: Box): number => (right - left) * (bottom - top);

/** Draws a whole number below `n`, each with the same probability. */
function below(n: number, from: Philox): number {
  if ((n & n - 1) === 0) return from.next() & n - 1;
  const rest = 0xffffffff % n + 1;
  for (;;) {
    const word = from.next();
    if (word >= rest) return word % n;
  }
}

/** Draws a part of an image with a ratio of width to height; null where none fits. */
function crop(
  [height, width]: readonly [number, number],
  [least, most]: readonly number[],
  ratio: number,
  from: Philox,
): Box | null {
  if (most <= 0 || ratio <= 0 || width <= 0 || height <= 0 || least > most) return null;
  const smallest = round(round(round(least) * width) * height);
  const largest = round(round(round(most) * width) * height);
  const sides = (of: number): number => whole(round(Math.sqrt(round(of / ratio))));
  const across = (rows: number): number => whole(round(rows * ratio));
  let rows = sides(smallest), highest = sides(largest);
  if (across(highest) > width) {
    highest = Math.trunc((width + 0.5 - 1e-7) / ratio);
    if (across(highest) > width) highest--;
  }
  highest = Math.min(highest, height);
  rows = Math.min(rows, highest);
  if (rows < highest) rows += below(highest - rows + 1, from);
  let columns = across(rows);
  // Rounding may leave the range: the next row, or the one before, may be within.
  if (rows * columns < smallest) columns = across(++rows);
  if (rows * columns > largest) columns = across(--rows);
  const isIn = rows * columns >= smallest && rows * columns <= largest;
  if (!isIn || columns > width || rows > height || columns <= 0 || rows <= 0) return null;
  const top = rows < height ? below(height - rows, from) : 0;
  const left = columns < width ? below(width - columns, from) : 0;
  return [top, left, top + rows, left + columns];
}

/** True where a part shows enough of one of the boxes. */
function shows(part: Box, boxes: readonly Box[], share: number): boolean {
  return area(part) >= 1 && boxes.some((box) => {
    if (area(box) < 1) return false;
    const common: Box = [
      Math.max(part[0], box[0]),
      Math.max(part[1], box[1]),
      Math.min(part[2], box[2]),
      Math.min(part[3], box[3]),
    ];
    const isEmpty = common[0] > common[2] || common[1] > common[3];
    return round((isEmpty ? 0 : area(common)) / area(box)) >= share;
  });
}

function sample(
  [size, given]: readonly NdArray[],
  out: readonly NdArray[],
  { attrs, share, from }: {
    readonly attrs: Attrs;
    readonly share: number;
    readonly from: Philox;
  },
): void {
  const { aspect_ratio_range: ratios, area_range: areas, max_attempts: attempts } = attrs;
  if (size.size !== 3) refuse(`image_size must contain 3 elements, received shape [${size.shape}]`);
  const [height, width] = [0, 1].map((i) => Number(size.at(i)));
  if (!(share >= 0)) refuse(`Min object covered must be non-negative: ${share}`);
  for (const [name, range] of Object.entries({ aspect_ratio_range: ratios, area_range: areas })) {
    if (range.length !== 2 || !range.every((v: number) => v > 0)) {
      refuse(`${name} must be two numbers above 0, received [${range}]`);
    }
  }
  if (areas.some((v: number) => v > 1)) refuse(`area_range must be up to 1, received [${areas}]`);
  if (!(attempts > 0)) refuse(`max_attempts must be above 0, received ${attempts}`);
  const edges = given.data as Float32Array, boxes: Box[] = [];
  for (let i = 0; i < edges.length; i += 4) {
    const box = edges.subarray(i, i + 4);
    if (!box.every((v) => v >= 0 && v <= 1)) refuse(`Boxes must be in [0, 1], received [${box}]`);
    const [top, left, bottom, right] = Array.from(
      box,
      (v, k) => Math.trunc(round(v * (k % 2 === 0 ? height : width))),
    );
    boxes.push([top, left, bottom, right]);
  }
  const image: Box = [0, 0, height, width];
  if (boxes.length === 0) {
    if (!attrs.use_image_if_no_bounding_boxes) {
      refuse("There are no boxes, and use_image_if_no_bounding_boxes is not set");
    }
    boxes.push(image);
  }
  const [flattest, widest] = ratios.map(round);
  let found = image;
  for (let i = 0; i < attempts; i++) {
    const ratio = round(round(uniform(from, "float32") * round(widest - flattest)) + flattest);
    const part = crop([height, width], areas, ratio, from);
    if (part === null || !shows(part, boxes, round(share))) continue;
    found = part;
    break;
  }
  const [top, left, bottom, right] = found, isWide = size.dtype === "int64";
  const write = (to: NdArray, values: readonly number[]) =>
    values.forEach((v, i) => setElement(to, i, isWide ? BigInt(v) : v));
  write(out[0], [top, left, 0]);
  write(out[1], [bottom - top, right - left, -1]);
  const parts = [top / height, left / width, bottom / height, right / width];
  (out[2].data as Float32Array).set(parts);
}

function shapesOf([size, boxes]: readonly Spec[]): PartialShape[] {
  mergeShapes(size.shape, [3]);
  mergeShapes(boxes.shape, [null, null, 4]);
  return [[3], [3], [1, 1, 4]];
}

const SIZES = ["image_size: T", "bounding_boxes: float32"], SHARE = "min_object_covered: float32";

const Stateless: OpDef = defineOp({
  name: "StatelessSampleDistortedBoundingBox",
  inputs: [...SIZES, SHARE, "seed: Tseed"],
  outputs: OUTPUTS,
  attrs: [...ATTRS, "Tseed: index"],
  infer: shapesOf,
  grad: null,
  cpu: ([size, boxes, share, seed], out, { attrs }) =>
    sample([size, boxes], out, {
      attrs,
      share: Number(share.item()),
      from: philoxOfSeed(seed),
    }),
});

/** The ops with a sequence: the first version has the share as an attribute. */
const STATEFUL: readonly OpDef[] = ["SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"]
  .map((name, i) =>
    defineOp({
      name,
      inputs: [...SIZES, ...i === 0 ? [] : [SHARE]],
      outputs: OUTPUTS,
      attrs: [
        "seed: int64 = 0",
        "seed2: int64 = 0",
        ...i === 0 ? ["min_object_covered: float = 0.1"] : [],
        ...ATTRS,
      ],
      infer: shapesOf,
      grad: null,
      stateful: true,
      cpu: ([size, boxes, share], out, { attrs }) =>
        sample([size, boxes], out, {
          attrs,
          share: share === undefined ? attrs.min_object_covered : Number(share.item()),
          from: philoxOfSeed(nextSeed(attrs)),
        }),
    })
  );

/** The ops of this file. */
export const DISTORTED_BOXES: readonly OpDef[] = [Stateless, ...STATEFUL];

/** Options of {@linkcode statelessSampleDistortedBoundingBox}. */
export interface DistortedBoxOptions {
  /** The least share of one of the boxes that a part shows. Default 0.1. */
  readonly minObjectCovered?: number;
  /** The least and the greatest ratio of width to height. Default `[0.75, 1.33]`. */
  readonly aspectRatioRange?: readonly [number, number];
  /** The least and the greatest share of the image. Default `[0.05, 1]`. */
  readonly areaRange?: readonly [number, number];
  /** After so many attempts the whole image is the part. Default 100. */
  readonly maxAttempts?: number;
  /** True: without boxes the image is one. Default false. */
  readonly useImageIfNoBoundingBoxes?: boolean;
}

/** Begin and size of a part, `[y, x, 0]` and `[height, width, -1]`, as `slice` takes them, and its edges, `[1, 1, 4]`. */
export interface DistortedBox {
  readonly begin: Tensor;
  readonly size: Tensor;
  readonly bboxes: Tensor;
}

const KEYS = {
  minObjectCovered: true,
  aspectRatioRange: true,
  areaRange: true,
  maxAttempts: true,
  useImageIfNoBoundingBoxes: true,
} as const;
const checkStateless = optionCheck<DistortedBoxOptions>(
  "image.statelessSampleDistortedBoundingBox",
  KEYS,
);
const checkStateful = optionCheck<DistortedBoxOptions & { readonly seed?: Seed | null }>(
  "image.sampleDistortedBoundingBox",
  { ...KEYS, seed: true },
);

function inputsOf(
  imageSize: TensorLike,
  boundingBoxes: TensorLike,
  options: DistortedBoxOptions,
  fn: string,
): { inputs: OpInput[]; attrs: Attrs } {
  const {
    minObjectCovered = 0.1,
    aspectRatioRange: ratios = [0.75, 1.33],
    areaRange: areas = [0.05, 1],
    maxAttempts = 100,
    useImageIfNoBoundingBoxes: usesImage = false,
  } = options;
  wantNumber(minObjectCovered, "minObjectCovered", fn);
  wantNumber(maxAttempts, "maxAttempts", fn);
  wantList(ratios, "aspectRatioRange", fn, "two numbers");
  wantList(areas, "areaRange", fn, "two numbers");
  wantBoolean(usesImage, "useImageIfNoBoundingBoxes", fn);
  const isIn = (range: readonly number[], end: number) =>
    range.length === 2 && range.every((v) => v > 0 && v <= end);
  if (
    !isIn(ratios, Infinity) || !isIn(areas, 1) || !(maxAttempts >= 1) || !(minObjectCovered >= 0)
  ) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted ratios above 0, areas above 0 and up to 1, attempts from 1 on and a share from 0 on, received [${ratios}], [${areas}], ${maxAttempts} and ${minObjectCovered}`,
    );
  }
  const size = toIndexInput(imageSize, "imageSize", fn);
  if (!isInteger(size.dtype)) {
    throw new TypeError(`Cannot use ${size.dtype} as imageSize of ${fn}: wanted whole numbers`);
  }
  return {
    inputs: [size, toFloatInput(boundingBoxes, "boundingBoxes", fn), floatScalar(minObjectCovered)],
    attrs: {
      aspect_ratio_range: [...ratios],
      area_range: [...areas],
      max_attempts: maxAttempts,
      use_image_if_no_bounding_boxes: usesImage,
    },
  };
}

/**
 * Draws a part of an image of `imageSize`, `[height, width, depth]`, that shows enough of one of the boxes `[batch, n, 4]`, each `[y1, x1, y2, x2]`
 * in parts of height and width: always the same for the same seed, two whole numbers, and TensorFlow's. Throws `TypeError` for sizes that are
 * no whole numbers, `ValueError` for shapes and ranges that do not fit, `InvalidArgumentError` for boxes beyond the image and for none.
 * TensorFlow op `StatelessSampleDistortedBoundingBox`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const box = [[[0.25, 0.25, 0.75, 0.75]]];
 * const { size } = tf.image.statelessSampleDistortedBoundingBox([100, 100, 3], box, [1, 2], { areaRange: [1, 1], aspectRatioRange: [1, 1] });
 * console.log(await size.array()); // [100, 100, -1]
 * ```
 */
export function statelessSampleDistortedBoundingBox(
  imageSize: TensorLike,
  boundingBoxes: TensorLike,
  seed: TensorLike,
  options: DistortedBoxOptions = {},
): DistortedBox {
  const fn = "image.statelessSampleDistortedBoundingBox";
  checkStateless(options);
  const { inputs, attrs } = inputsOf(imageSize, boundingBoxes, options, fn);
  const [begin, size, bboxes] = apply(Stateless, [...inputs, seedInput(seed, fn)], attrs);
  return { begin, size, bboxes };
}

/**
 * {@linkcode statelessSampleDistortedBoundingBox} with a seed of its own, or none. A seed gives the same part as in `random.normal`. Throws as
 * that does. TensorFlow op `SampleDistortedBoundingBoxV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { begin, bboxes } = tf.image.sampleDistortedBoundingBox([50, 40, 3], [[[0, 0, 1, 1]]], { seed: 1 });
 * console.log(begin.shape, bboxes.shape); // [3] [1, 1, 4]
 * ```
 */
export function sampleDistortedBoundingBox(
  imageSize: TensorLike,
  boundingBoxes: TensorLike,
  options: DistortedBoxOptions & { readonly seed?: Seed | null } = {},
): DistortedBox {
  const fn = "image.sampleDistortedBoundingBox";
  checkStateful(options);
  const { inputs, attrs } = inputsOf(imageSize, boundingBoxes, options, fn);
  const source = seedSource(options.seed);
  const [begin, size, bboxes] = "key" in source
    ? apply(Stateless, [...inputs, source.key], attrs)
    : apply(STATEFUL[1], inputs, { ...attrs, ...source.attrs });
  return { begin, size, bboxes };
}
