/** Resizing on the host, and its gradients. */
import type { NdArray } from "../../../core/nd_array.ts";
import type { Attrs } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { settle } from "../numbers.ts";
import { Accumulator, addable } from "../scatter_accumulate.ts";
import { axisScale, between, imageDims, nearestOf, sourceOf } from "../../image/geometry.ts";
import type { Sampling, Taps } from "../../image/taps.ts";
import { wordsOf } from "../fill.ts";

export function floatsOf(x: NdArray): Float64Array {
  const data = addable(x) as unknown as ArrayLike<number | bigint>;
  const out = new Float64Array(data.length);
  for (let i = 0; i < out.length; i++) out[i] = Number(data[i]);
  return out;
}

/** Interpolates `x` bilinearly into `out`. */
export function resizeBilinearCpu(x: NdArray, out: NdArray, attrs: Attrs): void {
  const { batch, height, width, depth } = imageDims(x.shape);
  const [, rows, columns] = out.shape;
  const vertical = axisScale(height, rows, attrs), horizontal = axisScale(width, columns, attrs);
  const from = x.dtype === "float32" ? x.data as Float32Array : floatsOf(x),
    to = out.data as Float32Array;
  // As in TensorFlow, also with infinite pixels.
  if (height === rows && width === columns) return to.set(from);
  const across = Array.from(
    { length: columns },
    (_, c) => between(horizontal, sourceOf(horizontal, c)),
  );
  let at = 0;
  for (let b = 0; b < batch; b++) {
    for (let r = 0; r < rows; r++) {
      const [top, bottom, down] = between(vertical, sourceOf(vertical, r));
      const upper = (b * height + top) * width, lower = (b * height + bottom) * width;
      for (let c = 0; c < columns; c++) {
        const [left, right, along] = across[c];
        const tl = (upper + left) * depth, tr = (upper + right) * depth;
        const bl = (lower + left) * depth, br = (lower + right) * depth;
        for (let d = 0; d < depth; d++, at++) {
          const above = from[tl + d] + (from[tr + d] - from[tl + d]) * along;
          const below = from[bl + d] + (from[br + d] - from[bl + d]) * along;
          to[at] = above + (below - above) * down;
        }
      }
    }
  }
}

/** Adds each pixel of `dy` to the four it was made of. */
export function resizeBilinearGradCpu(dy: NdArray, dx: NdArray, attrs: Attrs): void {
  const { batch, height, width, depth } = imageDims(dx.shape);
  const [, rows, columns] = dy.shape;
  const vertical = axisScale(height, rows, attrs), horizontal = axisScale(width, columns, attrs);
  const from = addable(dy), sums = new Float64Array(dx.size);
  const across = Array.from(
    { length: columns },
    (_, c) => between(horizontal, sourceOf(horizontal, c)),
  );
  let at = 0;
  for (let b = 0; b < batch; b++) {
    for (let r = 0; r < rows; r++) {
      const [top, bottom, down] = between(vertical, sourceOf(vertical, r));
      const upper = (b * height + top) * width, lower = (b * height + bottom) * width;
      for (let c = 0; c < columns; c++) {
        const [left, right, along] = across[c];
        for (let d = 0; d < depth; d++, at++) {
          const g = from[at];
          sums[(upper + left) * depth + d] += g * (1 - down) * (1 - along);
          sums[(upper + right) * depth + d] += g * (1 - down) * along;
          sums[(lower + left) * depth + d] += g * down * (1 - along);
          sums[(lower + right) * depth + d] += g * down * along;
        }
      }
    }
  }
  settle(sums, dx);
}

/** Visits, for each output pixel of each image, the first element of its nearest pixel. */
function eachNearest(
  from: readonly number[],
  to: readonly number[],
  attrs: Attrs,
  visit: (source: number, target: number) => void,
): void {
  const { batch, height, width } = imageDims(from);
  const [, rows, columns] = to;
  const vertical = axisScale(height, rows, attrs), horizontal = axisScale(width, columns, attrs);
  const across = Array.from({ length: columns }, (_, c) => nearestOf(horizontal, c));
  let at = 0;
  for (let b = 0; b < batch; b++) {
    for (let r = 0; r < rows; r++) {
      const line = (b * height + nearestOf(vertical, r)) * width;
      for (let c = 0; c < columns; c++) visit(line + across[c], at++);
    }
  }
}

export function resizeNearestCpu(x: NdArray, out: NdArray, attrs: Attrs): void {
  const source = wordsOf(x.data, x.dtype), target = wordsOf(out.data, out.dtype).words;
  const width = x.shape[3] * source.slots;
  eachNearest(x.shape, out.shape, attrs, (s, t) => {
    for (let d = 0; d < width; d++) target[t * width + d] = source.words[s * width + d];
  });
}

/** Adds each pixel of `dy` to the one it copied. */
export function resizeNearestGradCpu(dy: NdArray, dx: NdArray, attrs: Attrs): void {
  const sums = new Accumulator(dx), values = addable(dy), depth = dx.shape[3];
  eachNearest(dx.shape, dy.shape, attrs, (s, t) => sums.add(s * depth, values, t * depth, depth));
  sums.finish();
}

/** Visits each pair of related lines of an axis. */
function lines(
  taps: readonly Taps[],
  { outer, size, inner }: { outer: number; size: number; inner: number },
  line: (source: number, result: number, weight: number) => void,
): void {
  for (let o = 0; o < outer; o++) {
    taps.forEach(({ at, weights }, i) => {
      const result = (o * taps.length + i) * inner;
      at.forEach((place, k) => line((o * size + place) * inner, result, weights[k]));
    });
  }
}

const doubles = (shape: readonly number[]) => new Float64Array(sizeOf(shape));

/** Makes a function that adds runs of `n` elements, each times a weight, to others. */
function adder(from: Float64Array, to: Float64Array, n: number) {
  return (f: number, t: number, weight: number): void => {
    for (let j = 0; j < n; j++) to[t + j] += from[f + j] * weight;
  };
}

export function resample(x: NdArray, out: NdArray, { rows, columns }: Sampling): void {
  const { batch, height, width, depth } = imageDims(x.shape), row = width * depth;
  const between = doubles([batch, rows.length, row]), to = doubles(out.shape);
  lines(rows, { outer: batch, size: height, inner: row }, adder(floatsOf(x), between, row));
  const all = batch * rows.length;
  lines(columns, { outer: all, size: width, inner: depth }, adder(between, to, depth));
  settle(to, out);
}

/** Adds the gradient of each element of the result to its source elements. */
export function resampleBack(dy: NdArray, dx: NdArray, { rows, columns }: Sampling): void {
  const { batch, height, width, depth } = imageDims(dx.shape), row = width * depth;
  const between = doubles([batch, rows.length, row]), to = doubles(dx.shape);
  const back = (add: ReturnType<typeof adder>): typeof add => (s, r, weight) => add(r, s, weight);
  const all = batch * rows.length;
  lines(
    columns,
    { outer: all, size: width, inner: depth },
    back(adder(floatsOf(dy), between, depth)),
  );
  lines(rows, { outer: batch, size: height, inner: row }, back(adder(between, to, row)));
  settle(to, dx);
}
