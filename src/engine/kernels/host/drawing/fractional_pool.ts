/**
 * Pooling over windows of two neighbouring sizes, whose places are drawn, on the host. After B. Graham, "Fractional max-pooling" (2015); the
 * numbers are TensorFlow's.
 */
import { castArray } from "../../../core/convert.ts";
import { NdArray } from "../../../core/nd_array.ts";
import type { Philox } from "../philox.ts";
import { plain, withPlain } from "../windows.ts";

/** The places where windows along an axis begin, and the axis' extent at the end. */
export type Places = readonly number[];

/** A number of `[0, 1)` of two words. */
function double(from: Philox): number {
  const top = from.next() & 0xfffff;
  return (top * 2 ** 32 + from.next()) / 2 ** 52;
}

/** Extents of windows that all follow from one number, the same distance apart but for rounding. */
function pseudoRandom(extent: number, count: number, from: Philox): number[] {
  const ratio = extent / count, least = Math.floor(ratio);
  // A greater number would make the first window too large, or the last too small.
  const most = Math.min((least + 2) / ratio - 1, (extent + 1 - least) / ratio - (count - 1));
  const u = double(from) * most;
  const edges = Array.from({ length: count + 1 }, (_, i) => Math.ceil(ratio * (i + u)));
  edges[0] = 1, edges[count] = extent + 1;
  return Array.from({ length: count }, (_, i) => edges[i + 1] - edges[i]);
}

/** Extents of windows in a random order. */
function shuffled(extent: number, count: number, from: Philox): number[] {
  const least = Math.floor(extent / count), larger = extent % count;
  const sizes = Array.from({ length: count }, (_, i) => least + (i < larger ? 1 : 0));
  for (let i = 0; i < count - 1; i++) {
    const k = i + from.next() % (count - i);
    [sizes[i], sizes[k]] = [sizes[k], sizes[i]];
  }
  return sizes;
}

/** Draws where `count` windows along an axis begin. */
export function drawPlaces(
  extent: number,
  count: number,
  { from, pseudo }: { readonly from: Philox; readonly pseudo: boolean },
): number[] {
  const places = [0];
  for (const size of (pseudo ? pseudoRandom : shuffled)(extent, count, from)) {
    places.push(places[places.length - 1] + size);
  }
  return places;
}

/** Windows of images: their places, and whether each has the first row and column of the next too. */
export interface FractionalWindows {
  readonly rows: Places;
  readonly columns: Places;
  readonly overlapping: boolean;
}

/** The ends of windows along an axis. */
function endsOf(places: Places, extent: number, overlapping: boolean): number[] {
  return places.slice(1).map((next) => Math.min(extent, overlapping ? next + 1 : next));
}

/** Visits each channel of each window: its place in the result, and those of its elements in the images. */
function eachWindow(
  [batch, height, width, depth]: readonly number[],
  { rows, columns, overlapping }: FractionalWindows,
  visit: (to: number, from: readonly number[]) => void,
): void {
  const bottoms = endsOf(rows, height, overlapping), rights = endsOf(columns, width, overlapping);
  let to = 0;
  for (let b = 0; b < batch; b++) {
    for (const [i, bottom] of bottoms.entries()) {
      for (const [j, right] of rights.entries()) {
        const first: number[] = [];
        for (let y = rows[i]; y < bottom; y++) {
          for (let x = columns[j]; x < right; x++) {
            first.push(((b * height + y) * width + x) * depth);
          }
        }
        for (let c = 0; c < depth; c++) visit(to++, first.map((at) => at + c));
      }
    }
  }
}

type Numbers = { [at: number]: number };
const dataOf = (a: NdArray): Numbers => a.data as Float32Array;

/** The place of the first of the greatest elements. */
function greatest(x: Numbers, from: readonly number[]): number {
  let best = from[0];
  for (const at of from) if (x[best] < x[at]) best = at;
  return best;
}

/** Computes the greatest element of each window. */
export function fractionalMaxCpu(input: NdArray, out: NdArray, windows: FractionalWindows): void {
  const x = dataOf(plain(input));
  withPlain(out, (made) => {
    const y = dataOf(made);
    eachWindow(input.shape, windows, (to, from) => y[to] = x[greatest(x, from)]);
  });
}

/** Takes from other images what stands where the first of the greatest elements of each window does. */
export function fractionalWinnersCpu(
  [input, values]: readonly NdArray[],
  out: NdArray,
  windows: FractionalWindows,
): void {
  const x = dataOf(plain(input)), given = dataOf(plain(values));
  withPlain(out, (made) => {
    const y = dataOf(made);
    eachWindow(input.shape, windows, (to, from) => y[to] = given[greatest(x, from)]);
  });
}

/** Sends each gradient to the first of the greatest elements of its window. */
export function fractionalMaxGradCpu(
  [input, dy]: readonly NdArray[],
  out: NdArray,
  windows: FractionalWindows,
): void {
  const x = dataOf(input), slopes = dataOf(dy), dx = dataOf(out);
  (out.data as Float32Array).fill(zeroOf(out));
  eachWindow(input.shape, windows, (to, from) => dx[greatest(x, from)] += slopes[to]);
}

/** Computes the mean of each window; whole numbers are rounded towards zero. */
export function fractionalMeanCpu(input: NdArray, out: NdArray, windows: FractionalWindows): void {
  const x = dataOf(castArray(input, "float64")), wide = NdArray.zeros("float64", out.shape);
  const y = dataOf(wide);
  eachWindow(input.shape, windows, (to, from) => {
    let sum = 0;
    for (const at of from) sum += x[at];
    y[to] = sum / from.length;
  });
  (out.data as Float32Array).set(castArray(wide, out.dtype).data as Float32Array);
}

/** Spreads each gradient evenly over its window. */
export function fractionalMeanGradCpu(dy: NdArray, out: NdArray, windows: FractionalWindows): void {
  const slopes = dataOf(castArray(dy, "float64")), wide = NdArray.zeros("float64", out.shape);
  const dx = dataOf(wide);
  eachWindow(out.shape, windows, (to, from) => {
    for (const at of from) dx[at] += slopes[to] / from.length;
  });
  (out.data as Float32Array).set(castArray(wide, out.dtype).data as Float32Array);
}

const zeroOf = ({ dtype }: NdArray): number => (dtype === "int64" ? 0n : 0) as number;
