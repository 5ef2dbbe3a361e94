/** Pools and samples regions of images, which boxes tell. */
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { like, to } from "./raw.ts";
import { elementsAt, imagesOf, linearAt, rowsOf, type Sampler } from "./sampling.ts";
import * as tf from "../build/tf.ts";

/** Pools regions of images to one size, by the mean or maximum of points in each cell. */
function roiAlign(n: NodeCall): Tensor {
  const { attributes } = n, dims = n.concrete(0), regions = n.concrete(1)[0];
  const isMax = attributes.text("mode", "avg") === "max",
    scale = attributes.float("spatial_scale", 1);
  const isHalf = n.version >= 16 &&
    attributes.text("coordinate_transformation_mode", "half_pixel") === "half_pixel";
  const out = [attributes.int("output_height", 1), attributes.int("output_width", 1)];
  const ratio = attributes.int("sampling_ratio", 0), boxes = n.wantNumbers(1);
  const rows = to(rowsOf(n.x(0), dims), "float32"), extents = dims.slice(2);
  const batch = n.index(2), results: Tensor[] = [];
  for (let r = 0; r < regions; r++) {
    const [x1, y1, x2, y2] = boxes.slice(4 * r, 4 * r + 4).map((v) =>
      v * scale - (isHalf ? 0.5 : 0)
    );
    const begin = [y1, x1];
    const whole = [y2 - y1, x2 - x1].map((v) => isHalf ? v : Math.max(1, v));
    const cell = whole.map((v, a) => v / out[a]);
    const samples = cell.map((c) => ratio > 0 ? ratio : Math.max(1, Math.ceil(c)));
    const count = out[0] * out[1] * samples[0] * samples[1];
    const at = [0, 1].map(() => new Float32Array(count)), kept = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      const sx = i % samples[1], sy = Math.floor(i / samples[1]) % samples[0];
      const c = Math.floor(i / (samples[0] * samples[1])),
        px = c % out[1],
        py = Math.floor(c / out[1]);
      const y = begin[0] + py * cell[0] + (sy + 0.5) * cell[0] / samples[0];
      const x = begin[1] + px * cell[1] + (sx + 0.5) * cell[1] / samples[1];
      kept[i] = Number(y >= -1 && y <= extents[0] && x >= -1 && x <= extents[1]);
      at[0][i] = Math.min(extents[0] - 1, Math.max(0, y));
      at[1][i] = Math.min(extents[1] - 1, Math.max(0, x));
    }
    const image = tf.gather(rows, tf.slice(batch, [r], [1]));
    const places = at.map((a) => tf.tensor(new NdArray("float32", [1, count], a)));
    const sampler: Sampler = { rows: image, extents, border: "border", alignsCorners: true };
    const weights = tf.tensor(new NdArray("float32", [1, count, 1], kept));
    const shape = [out[0] * out[1], samples[0] * samples[1], dims[1]];
    if (isMax) {
      results.push(tf.max(tf.reshape(tf.mul(greatestAt(sampler, places), weights), shape), 1));
    } else {
      results.push(tf.mean(tf.reshape(tf.mul(linearAt(sampler, places), weights), shape), 1));
    }
  }
  const all = tf.stack(results, 0);
  return to(imagesOf(all, [regions, dims[1]], out), n.dtype(0));
}

/** Returns the maximum of the weighted elements around coordinates. */
function greatestAt(sampler: Sampler, at: readonly Tensor[]): Tensor {
  const lows = at.map((x) => tf.floor(x)), parts = at.map((x, i) => tf.sub(x, lows[i]));
  const terms = [[0, 0], [0, 1], [1, 0], [1, 1]].map((corner) => {
    const places = lows.map((low, a) => tf.add(low, like(low, corner[a])));
    const weight = corner.map((c, a) => c === 1 ? parts[a] : tf.sub(like(parts[a], 1), parts[a]))
      .reduce((x, y) => tf.mul(x, y));
    return tf.mul(elementsAt(sampler, places), tf.expandDims(weight, -1));
  });
  return terms.reduce((x, y) => tf.maximum(x, y));
}

/** First and last element of each cell of an axis, both within the image; an empty cell has no element. */
interface Cells {
  /** Places of each cell's elements, as many for each: the last is repeated. */
  readonly at: Int32Array;
  readonly each: number;
  /** 0 for a cell without elements. */
  readonly full: Uint8Array;
}

/** Divides the regions of an axis, given by their first and last element, into cells of whole elements. */
function cellsOf(
  regions: readonly (readonly [number, number])[],
  cells: number,
  extent: number,
): Cells {
  const within = (v: number): number => Math.min(extent, Math.max(0, v));
  const spans = regions.flatMap(([first, last]) => {
    const size = Math.max(1, last - first + 1) / cells;
    return Array.from({ length: cells }, (_, c): [number, number] => [
      within(first + Math.floor(c * size)),
      within(first + Math.ceil((c + 1) * size)),
    ]);
  });
  const each = spans.reduce((most, [from, to]) => Math.max(most, to - from), 1);
  const at = new Int32Array(spans.length * each), full = new Uint8Array(spans.length);
  spans.forEach(([from, to], i) => {
    full[i] = Number(to > from);
    for (let k = 0; k < each; k++) {
      at[i * each + k] = Math.min(extent - 1, Math.max(0, Math.min(to - 1, from + k)));
    }
  });
  return { at, each, full };
}

/** Rounds to the nearest integer, halves away from zero. */
function rounded(x: number): number {
  return Math.sign(x) * Math.round(Math.abs(Math.fround(x)));
}

/** Pools regions of images to one size, by the maximum of the elements in each cell. */
function maxRoiPool(n: NodeCall): Tensor {
  const dims = n.concrete(0), count = n.concrete(1)[0], boxes = n.wantNumbers(1);
  const out = n.attributes.ints("pooled_shape") ?? n.fail("it has no pooled_shape");
  const scale = n.attributes.float("spatial_scale", 1);
  const owners = Int32Array.from({ length: count }, (_, r) => boxes[5 * r]);
  if (owners.some((b) => b < 0 || b >= dims[0])) {
    n.fail(`a region is of an image that is not one of ${dims[0]}`);
  }
  // [regions, height, width, channels]
  let y = tf.gather(tf.transpose(n.x(0), [0, 2, 3, 1]), new NdArray("int32", [count], owners));
  [0, 1].forEach((axis) => {
    const bounds = Array.from({ length: count }, (_, r): [number, number] => {
      const [first, last] = [boxes[5 * r + 2 - axis], boxes[5 * r + 4 - axis]];
      return [rounded(first * scale), rounded(last * scale)];
    });
    const { at, each, full } = cellsOf(bounds, out[axis], dims[axis + 2]);
    // The axis in hand is the first behind the regions; it ends as the second, and the other takes its place.
    const places = new NdArray("int32", [count, out[axis] * each], at);
    const [, , other, channels] = y.staticShape as number[];
    const found = tf.reshape(tf.gather(y, places, 1, 1), [count, out[axis], each, other, channels]);
    const isFull = tf.tensor(new NdArray("bool", [count, out[axis], 1, 1], full));
    y = tf.transpose(tf.where(isFull, tf.max(found, 2), like(y, 0)), [0, 2, 1, 3]);
  });
  return tf.transpose(y, [0, 3, 1, 2]);
}

/** Crops boxes out of images and resizes them, as TensorFlow does. */
function crop(n: NodeCall): RuleOutput {
  const { attributes } = n, mode = attributes.text("mode", "bilinear");
  if (mode !== "bilinear" && mode !== "nearest") n.fail(`its mode is "${mode}"`);
  const y = tf.cropAndResize(
    n.last(0),
    n.x(1),
    n.index(2),
    n.wantInts(3) as [number, number],
    mode as "bilinear",
    attributes.float("extrapolation_value", 0),
  );
  return Value.channelsLast(to(y, n.dtype(0)));
}

/** Ops of regions. */
export const REGIONS: readonly OpEntry[] = [
  op("CropAndResize", 1, crop, { domain: "com.microsoft", known: [3] }),
  op("MaxRoiPool", 1, maxRoiPool),
  op("RoiAlign", 10, roiAlign),
];
