/** Samples images between and beyond their points: grids, deformed windows. */
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import { like, to } from "./raw.ts";
import { slidingOf } from "./window_shape.ts";
import * as tf from "../build/tf.ts";

/** Treatment of places beyond the ends of an axis. */
type Border = "zeros" | "border" | "reflection";

/** Coordinates `[batch, points, axes]` from 0 to extent−1 in images, and the images as `[batch, places, channels]`. */
export interface Sampler {
  readonly rows: Tensor;
  readonly extents: readonly number[];
  readonly border: Border;
  readonly alignsCorners: boolean;
}

/** Mirrors places at the ends of an axis until they are within. */
function reflected(x: Tensor, low: number, high: number): Tensor {
  const span = high - low;
  if (span <= 0) return tf.mul(tf.zerosLike(x), x);
  const off = tf.abs(tf.sub(x, like(x, low)));
  const turns = tf.floor(tf.div(off, like(x, span))),
    rest = tf.sub(off, tf.mul(turns, like(x, span)));
  const isEven = tf.equal(tf.mod(turns, like(x, 2)), like(x, 0));
  return tf.where(isEven, tf.add(rest, like(x, low)), tf.sub(like(x, high), rest));
}

/**
 * Returns the elements at integral coordinates, one tensor for each axis `[batch, points]`:
 * `[batch, points, channels]`.
 */
export function elementsAt(
  { rows, extents, border, alignsCorners }: Sampler,
  at: readonly Tensor[],
): Tensor {
  let place = tf.zerosLike(at[0]), inside: Tensor | null = null;
  at.forEach((x, axis) => {
    const extent = extents[axis];
    const known = border === "reflection"
      ? tf.round(alignsCorners ? reflected(x, 0, extent - 1) : reflected(x, -0.5, extent - 0.5))
      : x;
    const clipped = tf.minimum(tf.maximum(known, like(x, 0)), like(x, extent - 1));
    if (border === "zeros") {
      const is = tf.logicalAnd(
        tf.greaterEqual(x, like(x, 0)),
        tf.lessEqual(x, like(x, extent - 1)),
      );
      inside = inside === null ? is : tf.logicalAnd(inside, is);
    }
    place = tf.add(tf.mul(place, like(x, extent)), clipped);
  });
  const found = tf.gather(rows, to(place, "int32"), 1, 1);
  return inside === null ? found : tf.where(tf.expandDims(inside, -1), found, tf.zerosLike(found));
}

/** Sums elements around coordinates with weights of each axis. */
function mixedAt(
  sampler: Sampler,
  at: readonly Tensor[],
  taps: readonly number[],
  weight: (part: Tensor, tap: number) => Tensor,
): Tensor {
  const lows = at.map((x) => tf.floor(x)), parts = at.map((x, i) => tf.sub(x, lows[i]));
  let sum: Tensor | null = null;
  const visit = (axis: number, places: Tensor[], w: Tensor | null): void => {
    if (axis === at.length) {
      const term = tf.mul(elementsAt(sampler, places), tf.expandDims(w!, -1));
      sum = sum === null ? term : tf.add(sum, term);
      return;
    }
    for (const tap of taps) {
      const own = weight(parts[axis], tap);
      const place = tf.add(lows[axis], like(lows[axis], tap));
      visit(axis + 1, [...places, place], w === null ? own : tf.mul(w, own));
    }
  };
  visit(0, [], null);
  return sum!;
}

/** Returns linear weights of an element and the next. */
export function linearAt(sampler: Sampler, at: readonly Tensor[]): Tensor {
  return mixedAt(
    sampler,
    at,
    [0, 1],
    (part, tap) => tap === 0 ? tf.sub(like(part, 1), part) : part,
  );
}

/** Returns weights of four elements by cubic curves. */
function cubicAt(sampler: Sampler, at: readonly Tensor[]): Tensor {
  const a = -0.75;
  return mixedAt(sampler, at, [-1, 0, 1, 2], (part, tap) => {
    const d = tf.abs(tf.sub(part, like(part, tap))), d2 = tf.square(d), d3 = tf.mul(d2, d);
    const sum = (...terms: (readonly [Tensor, number])[]) =>
      terms.map(([t, k]) => tf.mul(t, like(t, k))).reduce((x, y) => tf.add(x, y));
    const one = tf.onesLike(d);
    return tap === 0 || tap === 1
      ? sum([d3, a + 2], [d2, -(a + 3)], [one, 1])
      : sum([d3, a], [d2, -5 * a], [d, 8 * a], [one, -4 * a]);
  });
}

/** Converts images `[batch, channels, …]` to rows of channels, one for each place. */
export function rowsOf(x: Tensor, dims: readonly number[]): Tensor {
  return tf.transpose(tf.reshape(x, [dims[0], dims[1], -1]), [0, 2, 1]);
}

/** Converts rows of channels to images. */
export function imagesOf(
  rows: Tensor,
  dims: readonly number[],
  extents: readonly number[],
): Tensor {
  return tf.reshape(tf.transpose(rows, [0, 2, 1]), [dims[0], dims[1], ...extents]);
}

function gridSample(n: NodeCall): Tensor {
  const { attributes } = n, dims = n.concrete(0), grid = n.concrete(1), extents = dims.slice(2);
  const mode = attributes.text("mode", n.version < 20 ? "bilinear" : "linear").replace(/^bi/, "");
  const alignsCorners = attributes.flag("align_corners");
  const border = attributes.text("padding_mode", "zeros") as Border;
  const points = tf.reshape(to(n.x(1), "float32"), [grid[0], -1, extents.length]);
  // The grid names the last axis first, from −1 to 1.
  const at = extents.map((extent, axis) => {
    const x = tf.reshape(
      tf.slice(points, [0, 0, extents.length - 1 - axis], [-1, -1, 1]),
      [grid[0], -1],
    );
    const place = alignsCorners
      ? tf.mul(tf.add(x, 1), (extent - 1) / 2)
      : tf.div(tf.sub(tf.mul(tf.add(x, 1), extent), 1), 2);
    if (border === "border" && mode !== "cubic") {
      return tf.minimum(tf.maximum(place, 0), extent - 1);
    }
    return border === "reflection" && mode !== "cubic"
      ? tf.minimum(
        tf.maximum(
          alignsCorners ? reflected(place, 0, extent - 1) : reflected(place, -0.5, extent - 0.5),
          0,
        ),
        extent - 1,
      )
      : place;
  });
  const sampler: Sampler = {
    rows: to(rowsOf(n.x(0), dims), "float32"),
    extents,
    // Linear interpolation at an end reads beyond it with a weight of 0.
    border: border === "reflection" && mode !== "cubic" ? "border" : border,
    alignsCorners,
  };
  const rows = mode === "nearest"
    ? elementsAt(sampler, at.map((x) => tf.round(x)))
    : mode === "cubic"
    ? cubicAt(sampler, at)
    : linearAt(sampler, at);
  return to(imagesOf(rows, dims, grid.slice(1, -1)), n.dtype(0));
}

/** Transforms places of images by matrices. */
function affineGrid(n: NodeCall): Tensor {
  const size = n.wantInts(1), extents = size.slice(2), aligns = n.attributes.flag("align_corners");
  const count = extents.reduce((a, b) => a * b, 1), axes = extents.length;
  const points = new Float32Array(count * (axes + 1)).fill(1);
  for (let i = 0; i < count; i++) {
    for (let a = axes - 1, rest = i; a >= 0; a--) {
      const extent = extents[a], at = rest % extent;
      rest = Math.floor(rest / extent);
      const place = aligns
        ? extent === 1 ? -1 : -1 + 2 * at / (extent - 1)
        : -1 + (2 * at + 1) / extent;
      points[i * (axes + 1) + axes - 1 - a] = place;
    }
  }
  const base = to(tf.tensor(new NdArray("float32", [1, count, axes + 1], points)), n.dtype(0));
  const grid = tf.matMul(tf.tile(base, [size[0], 1, 1]), n.x(0), false, true);
  return tf.reshape(grid, [size[0], ...extents, axes]);
}

/** Joins blocks of columns to images; overlaps are added. */
function col2Im(n: NodeCall): Tensor {
  const image = n.wantInts(1), block = n.wantInts(2), axes = image.length;
  const { strides, dilations, pads } = slidingOf(n, block), dims = n.concrete(0);
  const taps = block.reduce((a, b) => a * b, 1), channels = dims[1] / taps;
  const counts = image.map((d, i) =>
    Math.floor((d + pads[i][0] + pads[i][1] - dilations[i] * (block[i] - 1) - 1) / strides[i]) + 1
  );
  const places = counts.reduce((a, b) => a * b, 1), size = image.reduce((a, b) => a * b, 1);
  const at = new Int32Array(taps * places);
  const digits = (value: number, extents: readonly number[]): number[] => {
    const out = new Array<number>(extents.length);
    for (let a = extents.length - 1; a >= 0; a--) {
      out[a] = value % extents[a];
      value = Math.floor(value / extents[a]);
    }
    return out;
  };
  for (let t = 0; t < taps; t++) {
    const tap = digits(t, block);
    for (let p = 0; p < places; p++) {
      const place = digits(p, counts);
      let flat = 0;
      for (let a = 0; a < axes; a++) {
        const x = place[a] * strides[a] + tap[a] * dilations[a] - pads[a][0];
        flat = x < 0 || x >= image[a] || flat < 0 ? -1 : flat * image[a] + x;
      }
      // Padding goes to a place after the image.
      at[t * places + p] = flat < 0 ? size : flat;
    }
  }
  const rows = tf.reshape(
    tf.transpose(tf.reshape(n.x(0), [dims[0] * channels, taps, places]), [1, 2, 0]),
    [taps * places, -1],
  );
  const indices = new NdArray("int32", [taps * places, 1], at);
  const sums = tf.scatterND(indices, rows, [size + 1, dims[0] * channels]);
  return tf.reshape(tf.transpose(tf.slice(sums, [0, 0], [size, -1])), [
    dims[0],
    channels,
    ...image,
  ]);
}

/** Convolves by windows whose taps are moved by offsets, as one product. */
function deformConv(n: NodeCall): Tensor {
  const { attributes } = n, w = n.concrete(1), dims = n.concrete(0), kernel = w.slice(2);
  const sliding = slidingOf(n, attributes.ints("kernel_shape") ?? kernel);
  const { strides, dilations, pads } = sliding, groups = attributes.int("group", 1);
  const offsetGroups = attributes.int("offset_group", 1), taps = kernel.reduce((a, b) => a * b, 1);
  const out = n.concrete(2).slice(2), count = out[0] * out[1], batch = dims[0];
  const each = dims[1] / offsetGroups, extents = dims.slice(2);
  const base = [0, 1].map((axis) => {
    const at = new Float32Array(taps * count);
    for (let t = 0; t < taps; t++) {
      for (let p = 0; p < count; p++) {
        const tap = axis === 0 ? Math.floor(t / kernel[1]) : t % kernel[1];
        const place = axis === 0 ? Math.floor(p / out[1]) : p % out[1];
        at[t * count + p] = place * strides[axis] + tap * dilations[axis] - pads[axis][0];
      }
    }
    return tf.tensor(new NdArray("float32", [1, taps * count], at));
  });
  const offsets = tf.reshape(to(n.x(2), "float32"), [batch, offsetGroups, taps, 2, count]);
  const masks = n.has(4)
    ? tf.reshape(to(n.x(4), "float32"), [batch, offsetGroups, taps * count, 1])
    : null;
  const columns: Tensor[] = [];
  for (let g = 0; g < offsetGroups; g++) {
    const at = [0, 1].map((axis) => {
      const moved = tf.reshape(tf.slice(offsets, [0, g, 0, axis, 0], [-1, 1, -1, 1, -1]), [
        batch,
        -1,
      ]);
      return tf.add(moved, base[axis]);
    });
    const images = tf.slice(to(n.x(0), "float32"), [0, g * each, 0, 0], [-1, each, -1, -1]);
    const rows = rowsOf(images, [batch, each]);
    let found = linearAt({ rows, extents, border: "zeros", alignsCorners: false }, at);
    if (masks !== null) {
      found = tf.mul(
        found,
        tf.reshape(tf.slice(masks, [0, g, 0, 0], [-1, 1, -1, -1]), [batch, -1, 1]),
      );
    }
    columns.push(tf.reshape(found, [batch, taps, count, each]));
  }
  // [batch, places, channels, taps] by groups, with the filters as [channels of a group × taps, outputs].
  const all = tf.transpose(tf.concat(columns, -1), [0, 2, 3, 1]), depth = dims[1] / groups;
  const filters = tf.split(to(n.x(1), "float32"), groups, 0);
  const parts = filters.map((filter, g) => {
    const rows = tf.reshape(tf.slice(all, [0, 0, g * depth, 0], [-1, -1, depth, -1]), [
      batch,
      count,
      depth * taps,
    ]);
    const matrix = tf.transpose(tf.reshape(filter, [w[0] / groups, depth * taps]));
    return tf.matMul(rows, matrix);
  });
  let y = tf.concat(parts, -1);
  if (n.has(3)) y = tf.add(y, to(n.x(3), "float32"));
  return to(tf.reshape(tf.transpose(y, [0, 2, 1]), [batch, w[0], ...out]), n.dtype(0));
}

/** Ops that sample images. */
export const SAMPLING: readonly OpEntry[] = [
  op("AffineGrid", 20, affineGrid, { known: [1] }),
  op("Col2Im", 18, col2Im, { known: [1, 2] }),
  op("DeformConv", 19, deformConv),
  op("GridSample", 16, gridSample),
  op("GridSample", 1, gridSample, { domain: "com.microsoft" }),
];
