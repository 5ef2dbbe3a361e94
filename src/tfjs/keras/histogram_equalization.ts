/** Contrast-limited adaptive histogram equalization of Keras (K. Zuiderveld, "Contrast limited adaptive histogram equalization", 1994). */
import * as tf from "../../../mod.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { type Kind, numbers, pair, type Settings, shapeOf } from "./layer_kinds.ts";

/** Values of a pixel. */
const LEVELS = 256;

/** Numbers of tiles along the axes of images, and extents of a tile. */
interface Tiles {
  readonly grid: readonly [number, number];
  readonly size: readonly [number, number];
}

/** The tiles, of those with one more around them, between whose middles a row or column lies, and how far from the first. */
function between(grid: number, size: number): { first: number[]; next: number[]; part: number[] } {
  const places = Array.from({ length: grid * size }, (_, i) => (i - size / 2) / size + 1);
  const inside = (at: number): number => Math.max(0, Math.min(grid + 1, at));
  return {
    first: places.map((at) => inside(Math.floor(at))),
    next: places.map((at) => inside(Math.floor(at) + 1)),
    part: places.map((at) => at - Math.floor(at)),
  };
}

/** The new value of each level in each tile: `[batch, tiles down, tiles across, channels * levels]`. */
function curves(
  levels: tf.Tensor,
  { grid: [down, across], size: [height, width] }: Tiles,
  limit: number,
) {
  const depth = Number(shapeOf(levels).at(-1)), count = height * width;
  const tiled = tf.reshape(levels, [-1, down, height, across, width, depth]);
  const rows = tf.reshape(tf.transpose(tiled, [0, 1, 3, 5, 2, 4]), [-1, count]);
  let counts: tf.Tensor = tf.cast(tf.denseBincount(rows, [], LEVELS), "float32");
  if (limit > 0) {
    const cut = tf.minimum(counts, limit * count / LEVELS);
    counts = tf.add(cut, tf.div(tf.sum(tf.sub(counts, cut), -1, true), LEVELS));
  }
  const sums = tf.cumsum(counts, -1), least = tf.min(sums, -1, true), rest = tf.sub(count, least);
  const whole = tf.where(tf.equal(rest, 0), tf.onesLike(rest), rest);
  const curve = tf.clipByValue(tf.div(tf.mul(tf.sub(sums, least), 255), whole), 0, 255);
  return tf.reshape(curve, [-1, down, across, depth * LEVELS]);
}

/** Repeats the first and the last entry along an axis. */
function ringed(x: tf.Tensor, axis: number, count: number): tf.Tensor {
  const at = [0, ...Array.from({ length: count }, (_, i) => i), count - 1];
  return tf.gather(x, tf.tensor(at, [count + 2], "int32"), axis);
}

/** Equalizes images `[batch, height, width, channels]` of values from 0 to 255. */
function equalized(x: tf.Tensor, given: readonly [number, number], limit: number): tf.Tensor {
  const [, height, width, depth] = shapeOf(x).map(Number);
  const size = [Math.ceil(height / given[0]), Math.ceil(width / given[1])] as const;
  const [rows, columns] = [size[0] * given[0], size[1] * given[1]];
  const padded = tf.mirrorPad(
    x,
    [[0, 0], [0, rows - height], [0, columns - width], [0, 0]],
    "symmetric",
  );
  const levels = tf.cast(tf.clipByValue(padded, 0, 255), "int32");
  const curve = curves(levels, { grid: given, size }, limit);
  const all = tf.reshape(ringed(ringed(curve, 1, given[0]), 2, given[1]), [
    -1,
    (given[0] + 2) * (given[1] + 2) * depth * LEVELS,
  ]);
  const y = between(given[0], size[0]), z = between(given[1], size[1]);
  /** The values of a tile's curve at the pixels. */
  const of = (down: readonly number[], across: readonly number[]): tf.Tensor => {
    const starts = down.flatMap((i) =>
      across.flatMap((j) =>
        Array.from({ length: depth }, (_, c) => ((i * (given[1] + 2) + j) * depth + c) * LEVELS)
      )
    );
    const base = tf.tensor(starts, [1, rows, columns, depth], "int32");
    const at = tf.reshape(tf.add(levels, base), [-1, rows * columns * depth]);
    return tf.reshape(tf.gather(all, at, 1, 1), [-1, rows, columns, depth]);
  };
  const mix = (a: tf.Tensor, b: tf.Tensor, part: tf.Tensor): tf.Tensor =>
    tf.add(tf.mul(a, tf.sub(1, part)), tf.mul(b, part));
  const across = tf.tensor(z.part, [1, 1, columns, 1]), down = tf.tensor(y.part, [1, rows, 1, 1]);
  const top = mix(of(y.first, z.first), of(y.first, z.next), across);
  const bottom = mix(of(y.next, z.first), of(y.next, z.next), across);
  return tf.slice(mix(top, bottom, down), [0, 0, 0, 0], [-1, height, width, -1]);
}

function gridOf({ tileGridSize, name }: Settings): [number, number] {
  const grid = pair(tileGridSize ?? 8);
  if (grid.every((n) => Number.isInteger(n) && n > 0)) return grid;
  throw new ValueError(
    `Cannot make layer ${name}: tileGridSize must be whole numbers of at least 1, received ${grid}`,
  );
}

const clahe: Kind = {
  check: gridOf,
  call({ inputs: [x], config }) {
    const [from, to] = numbers(config.valueRange ?? [0, 255]),
      limit = Number(config.clipLimit ?? 4);
    const isFirst = config.dataFormat === "channelsFirst" || config.dataFormat === "channels_first";
    const shape = shapeOf(x);
    if (shape.length !== 4 || shape.slice(1).includes(null)) {
      throw new UnimplementedError(
        `Cannot make layer ${config.name}: it needs images of known size`,
      );
    }
    const isWide = from === 0 && to === 255, given = tf.cast(x, "float32");
    const wide = isWide ? given : tf.mul(tf.div(tf.sub(given, from), to - from), 255);
    const last = isFirst ? tf.transpose(wide, [0, 2, 3, 1]) : wide;
    const y = equalized(last, gridOf(config), limit);
    const back = isFirst ? tf.transpose(y, [0, 3, 1, 2]) : y;
    return isWide ? back : tf.add(tf.mul(tf.div(back, 255), to - from), from);
  },
};

/** Layers by the names of Keras. */
export const EQUALIZATIONS: Readonly<Record<string, Kind>> = {
  ContrastLimitedAdaptiveHistogramEqualization: clahe,
};
