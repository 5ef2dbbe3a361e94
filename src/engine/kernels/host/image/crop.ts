/** Crops resized to one size, and their gradients with respect to images and boxes; on the host. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Attrs } from "../../../core/op.ts";
import { type ImageDims, imageDims } from "../../image/geometry.ts";
import { floatsOf } from "./resize.ts";
import { settle } from "../numbers.ts";

/** Returns the position in the image of step `at` of `steps` from `begin` to `end` (as parts of the image). */
export function cropPlace(
  begin: number,
  end: number,
  extent: number,
  at: number,
  steps: number,
): number {
  const span = extent - 1;
  return steps > 1
    ? begin * span + at * (end - begin) * span / (steps - 1)
    : 0.5 * (begin + end) * span;
}

/** Returns the two pixels around a position and its distance from the first; null outside of the image. */
export function corners(
  place: number,
  extent: number,
  nearest: boolean,
): [low: number, high: number, far: number] | null {
  if (!(place >= 0 && place <= extent - 1)) return null;
  if (nearest) {
    const at = Math.floor(place + 0.5);
    return [at, at, 0];
  }
  const low = Math.floor(place);
  return [low, Math.ceil(place), place - low];
}

/** Throws `InvalidArgumentError` where a box names no image. */
export function checkOwner(box: number, owner: number, batch: number): void {
  if (owner < 0 || owner >= batch) {
    throw new InvalidArgumentError(`box_index[${box}] = ${owner} is not in [0, ${batch})`);
  }
}

type Corner = readonly [number, number, number];

/** Visits each crop pixel: its box, image, corners (null outside), and number among all pixels. */
function eachPixel(
  image: ImageDims,
  [boxes, owners]: readonly NdArray[],
  [, rows, columns]: readonly number[],
  nearest: boolean,
  visit: (
    box: number,
    owner: number,
    y: Corner | null,
    x: Corner | null,
    pixel: number,
    r: number,
    c: number,
  ) => void,
): void {
  const edges = floatsOf(boxes);
  let pixel = 0;
  for (let k = 0; k < owners.size; k++) {
    const owner = (owners.data as Int32Array)[k];
    checkOwner(k, owner, image.batch);
    const [y1, x1, y2, x2] = edges.subarray(4 * k, 4 * k + 4);
    for (let r = 0; r < rows; r++) {
      const y = corners(cropPlace(y1, y2, image.height, r, rows), image.height, nearest);
      for (let c = 0; c < columns; c++, pixel++) {
        const x = y && corners(cropPlace(x1, x2, image.width, c, columns), image.width, nearest);
        visit(k, owner, y, x, pixel, r, c);
      }
    }
  }
}

export function cropCpu([x, ...boxes]: readonly NdArray[], out: NdArray, attrs: Attrs): void {
  const image = imageDims(x.shape), { width, height, depth } = image;
  const from = floatsOf(x), to = out.data as Float32Array;
  const nearest = attrs.method === "nearest";
  eachPixel(image, boxes, out.shape, nearest, (_, owner, y, x, pixel) => {
    for (let d = 0; d < depth; d++) {
      if (!y || !x) {
        to[pixel * depth + d] = attrs.extrapolation_value;
        continue;
      }
      const at = (yy: number, xx: number): number =>
        from[((owner * height + yy) * width + xx) * depth + d];
      if (nearest) {
        to[pixel * depth + d] = at(y[0], x[0]);
        continue;
      }
      const above = at(y[0], x[0]) + (at(y[0], x[1]) - at(y[0], x[0])) * x[2];
      const below = at(y[1], x[0]) + (at(y[1], x[1]) - at(y[1], x[0])) * x[2];
      to[pixel * depth + d] = above + (below - above) * y[2];
    }
  });
}

/** Adds each crop pixel's gradient to the image pixels it was made of. */
export function cropImageGradCpu(
  [dy, ...boxes]: readonly NdArray[],
  dx: NdArray,
  attrs: Attrs,
): void {
  const image = imageDims(dx.shape), { width, height, depth } = image;
  const from = floatsOf(dy), sums = new Float64Array(dx.size);
  eachPixel(image, boxes, dy.shape, attrs.method === "nearest", (_, owner, y, x, pixel) => {
    if (!y || !x) return;
    for (let d = 0; d < depth; d++) {
      const g = from[pixel * depth + d];
      const give = (yy: number, xx: number, w: number): void => {
        sums[((owner * height + yy) * width + xx) * depth + d] += g * w;
      };
      give(y[0], x[0], (1 - y[2]) * (1 - x[2]));
      give(y[0], x[1], (1 - y[2]) * x[2]);
      give(y[1], x[0], y[2] * (1 - x[2]));
      give(y[1], x[1], y[2] * x[2]);
    }
  });
  settle(sums, dx);
}

/** Computes the gradient with respect to the boxes: the change of the crops when their edges move. Bilinear only. */
export function cropBoxesGradCpu([dy, x, ...boxes]: readonly NdArray[], out: NdArray): void {
  const image = imageDims(x.shape), { width, height, depth } = image;
  const from = floatsOf(x), given = floatsOf(dy);
  const rows = dy.shape[1], columns = dy.shape[2];
  const sums = new Float64Array(out.size);
  eachPixel(image, boxes, dy.shape, false, (box, owner, y, xx, pixel, r, c) => {
    if (!y || !xx) return;
    let downwards = 0, across = 0;
    for (let d = 0; d < depth; d++) {
      const at = (row: number, column: number): number =>
        from[((owner * height + row) * width + column) * depth + d];
      const tl = at(y[0], xx[0]), tr = at(y[0], xx[1]), bl = at(y[1], xx[0]), br = at(y[1], xx[1]);
      const g = given[pixel * depth + d];
      downwards += g * ((1 - xx[2]) * (bl - tl) + xx[2] * (br - tr));
      across += g * ((1 - y[2]) * (tr - tl) + y[2] * (br - bl));
    }
    const fy = rows > 1 ? r / (rows - 1) : 0.5, fx = columns > 1 ? c / (columns - 1) : 0.5;
    sums[4 * box] += downwards * (height - 1) * (1 - fy);
    sums[4 * box + 1] += across * (width - 1) * (1 - fx);
    sums[4 * box + 2] += downwards * (height - 1) * fy;
    sums[4 * box + 3] += across * (width - 1) * fx;
  });
  (out.data as Float32Array).set(sums);
}
