/** Reading images through a projective transform or a rotation on the host. */
import { type NdArray, setElement } from "../../../core/nd_array.ts";
import { imageDims } from "../../image/geometry.ts";
import type { FillMode, Rotation, Warp } from "../../image/warp_geometry.ts";
import { floatsOf } from "./resize.ts";
import { settle } from "../numbers.ts";
import { Accumulator } from "../scatter_accumulate.ts";

/** Folds a coordinate into `[0, extent)` by the fill mode; a constant edge leaves it. */
function mapPlace(at: number, extent: number, mode: FillMode): number {
  if (mode === "CONSTANT") return at;
  let v = at;
  const last = extent - 1;
  if (mode === "REFLECT" && extent > 1) {
    const period = 2 * extent;
    if (v < 0) {
      v = v < period ? period * Math.trunc(-v / period) + v : v;
      v = v < -extent ? v + period : -v - 1;
    } else if (v > last) {
      v -= period * Math.trunc(v / period);
      if (v >= extent) v = period - v - 1;
    }
  } else if (mode === "WRAP" && extent > 1) {
    if (v < 0) v += extent * (Math.trunc(-v / last) + 1);
    else if (v > last) v -= extent * Math.trunc(v / last);
  }
  return Math.max(0, Math.min(last, v));
}

/** Returns the position in the image for an output pixel, or null where the transform has none. */
function placeOf(t: Float64Array, o: number, r: number, c: number): [number, number] | null {
  const k = t[o + 6] * c + t[o + 7] * r + 1;
  if (k === 0) return null;
  return [(t[o + 3] * c + t[o + 4] * r + t[o + 5]) / k, (t[o] * c + t[o + 1] * r + t[o + 2]) / k];
}

/** Calls `visit` for the source pixels of each output pixel, with their weights; `null` for the constant. */
function eachWarped(
  image: readonly number[],
  [, rows, columns]: readonly number[],
  transforms: NdArray,
  warp: Warp,
  visit: (target: number, source: number | null, weight: number) => void,
): void {
  const { batch, height, width } = imageDims(image), t = floatsOf(transforms);
  let target = 0;
  for (let b = 0; b < batch; b++) {
    const o = t.length === 8 ? 0 : 8 * b;
    const at = (r: number, c: number, weight: number): void => {
      const isInside = r >= 0 && r < height && c >= 0 && c < width;
      visit(target, isInside ? (b * height + r) * width + c : null, weight);
    };
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++, target++) {
        const place = placeOf(t, o, r, c);
        if (place === null) {
          visit(target, null, 1);
          continue;
        }
        const y = mapPlace(place[0], height, warp.fillMode);
        const x = mapPlace(place[1], width, warp.fillMode);
        if (warp.interpolation === "NEAREST") {
          at(Math.floor(y + 0.5), Math.floor(x + 0.5), 1);
          continue;
        }
        const top = Math.floor(y), left = Math.floor(x), fy = y - top, fx = x - left;
        at(top, left, (1 - fy) * (1 - fx));
        at(top, left + 1, (1 - fy) * fx);
        at(top + 1, left, fy * (1 - fx));
        at(top + 1, left + 1, fy * fx);
      }
    }
  }
}

export function warpCpu(image: NdArray, transforms: NdArray, warp: Warp, out: NdArray): void {
  const depth = image.shape[3];
  const from = floatsOf(image), sums = new Float64Array(out.size);
  eachWarped(image.shape, out.shape, transforms, warp, (target, source, weight) => {
    if (weight === 0) return;
    for (let d = 0; d < depth; d++) {
      sums[target * depth + d] += weight *
        (source === null ? warp.fillValue : from[source * depth + d]);
    }
  });
  const whole = out.dtype === "int64";
  for (let i = 0; i < sums.length; i++) {
    setElement(out, i, whole ? BigInt(Math.trunc(sums[i])) : sums[i]);
  }
}

/** Adds the gradients of the output to the pixels that were read. */
export function warpGradCpu(dy: NdArray, transforms: NdArray, warp: Warp, dx: NdArray): void {
  const depth = dx.shape[3];
  const from = floatsOf(dy), sums = new Float64Array(dx.size);
  eachWarped(dx.shape, dy.shape, transforms, warp, (target, source, weight) => {
    if (source === null || weight === 0) return;
    for (let d = 0; d < depth; d++) sums[source * depth + d] += weight * from[target * depth + d];
  });
  settle(sums, dx);
}

/** Returns the source pixel of each output pixel, -1 beyond the edge. */
function rotatedPixels(height: number, width: number, { radians, x, y }: Rotation): Int32Array {
  const sin = Math.sin(radians), cos = Math.cos(radians);
  const out = new Int32Array(height * width);
  for (let r = 0, i = 0; r < height; r++) {
    for (let c = 0; c < width; c++, i++) {
      const xx = Math.floor((c - x) * cos - (r - y) * sin + x + 0.5);
      const yy = Math.floor((c - x) * sin + (r - y) * cos + y + 0.5);
      out[i] = xx >= 0 && xx < width && yy >= 0 && yy < height ? yy * width + xx : -1;
    }
  }
  return out;
}

export function rotateCpu(image: NdArray, rotation: Rotation, out: NdArray): void {
  const { batch, height, width, depth } = imageDims(image.shape);
  const places = rotatedPixels(height, width, rotation);
  const from = image.data as Float32Array, to = out.data as Float32Array;
  for (let b = 0, at = 0; b < batch; b++) {
    for (const place of places) {
      const source = (b * height * width + place) * depth;
      for (let d = 0; d < depth; d++, at++) {
        to[at] = place < 0 ? rotation.fill[d] : from[source + d];
      }
    }
  }
}

export function rotateGradCpu(dy: NdArray, rotation: Rotation, dx: NdArray): void {
  const { batch, height, width, depth } = imageDims(dx.shape);
  const places = rotatedPixels(height, width, rotation);
  const sums = new Accumulator(dx), values = dy.data as Float32Array;
  for (let b = 0, at = 0; b < batch; b++) {
    for (const place of places) {
      if (place >= 0) sums.add((b * height * width + place) * depth, values, at, depth);
      at += depth;
    }
  }
  sums.finish();
}
