/**
 * Reading images through a projective transform or a rotation, on both devices.
 */
import { f32Bits, type GpuPlan, type Profile } from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import { type NdArray, setElement } from "../../core/nd_array.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { streamProgram } from "../copy/fill.ts";
import { flatPlan } from "../dispatches.ts";
import { imageDims } from "./geometry.ts";
import { floatsOf } from "../host/image_resize.ts";
import { settle } from "../host/numbers.ts";
import { Accumulator } from "../host/scatter_accumulate.ts";

/** What is read beyond the edge: a constant, the image mirrored, the image repeated, the edge. */
export type FillMode = "CONSTANT" | "REFLECT" | "WRAP" | "NEAREST";

export interface Warp {
  readonly interpolation: "NEAREST" | "BILINEAR";
  readonly fillMode: FillMode;
  readonly fillValue: number;
}

/** How a transform reads, by its attributes and the value beyond the edge. */
export function warpOf(attrs: Attrs, fill: NdArray | undefined): Warp {
  return {
    interpolation: attrs.interpolation,
    fillMode: attrs.fill_mode as FillMode,
    fillValue: fill ? Number(fill.item()) : 0,
  };
}

/** Brings a coordinate into `[0, extent)` as the fill mode says; constant edges leave it. */
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

/** Place in the image for an output pixel, or null where the transform has none. */
function placeOf(t: Float64Array, o: number, r: number, c: number): [number, number] | null {
  const k = t[o + 6] * c + t[o + 7] * r + 1;
  if (k === 0) return null;
  return [(t[o + 3] * c + t[o + 4] * r + t[o + 5]) / k, (t[o] * c + t[o + 1] * r + t[o + 2]) / k];
}

/** Calls `visit` for the pixels that make each output pixel, with their weights; `null` for the constant. */
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

/** Gives the gradients of the output back to the pixels that were read. */
export function warpGradCpu(dy: NdArray, transforms: NdArray, warp: Warp, dx: NdArray): void {
  const depth = dx.shape[3];
  const from = floatsOf(dy), sums = new Float64Array(dx.size);
  eachWarped(dx.shape, dy.shape, transforms, warp, (target, source, weight) => {
    if (source === null || weight === 0) return;
    for (let d = 0; d < depth; d++) sums[source * depth + d] += weight * from[target * depth + d];
  });
  settle(sums, dx);
}

const MAP: Readonly<Record<FillMode, string>> = {
  CONSTANT: "return v;",
  NEAREST: "return clamp(v, 0.0, last);",
  REFLECT: `if (extent > 1.0) {
let period = 2.0 * extent;
if (v < 0.0) {
  v = period * trunc(-v / period) + v;
  v = select(-v - 1.0, v + period, v < -extent);
} else if (v > last) {
  v = v - period * trunc(v / period);
  v = select(v, period - v - 1.0, v >= extent);
}
}
return clamp(v, 0.0, last);`,
  WRAP: `if (extent > 1.0) {
if (v < 0.0) { v = v + extent * (trunc(-v / last) + 1.0); }
else if (v > last) { v = v - extent * trunc(v / last); }
}
return clamp(v, 0.0, last);`,
};

/** The same on the GPU: inputs image and transforms. */
export function warpGpu(
  image: ConcreteSpec,
  transforms: ConcreteSpec,
  warp: Warp,
  out: ConcreteSpec,
  profile: Profile,
): GpuPlan {
  const { height, width, depth } = imageDims(image.shape), [, rows, columns] = out.shape;
  const stored = wgslType(image.dtype);
  const sample = warp.interpolation === "NEAREST"
    ? "v = at(b, floor(y + 0.5), floor(x + 0.5), d);"
    : `let top = floor(y);
let left = floor(x);
let fx = x - left;
let above = (1.0 - fx) * at(b, top, left, d) + fx * at(b, top, left + 1.0, d);
let below = (1.0 - fx) * at(b, top + 1.0, left, d) + fx * at(b, top + 1.0, left + 1.0, d);
v = (1.0 - (y - top)) * above + (y - top) * below;`;
  const program = streamProgram({
    name: "warp",
    inputs: [stored, "f32"],
    outputs: [stored],
    params: ["height", "width", "depth", "rows", "columns", "step", "fill:f32"],
    prelude: `fn fold(place: f32, extent: f32) -> f32 {
var v = place;
let last = extent - 1.0;
${MAP[warp.fillMode]}
}
fn at(b: u32, y: f32, x: f32, d: u32) -> f32 {
if (!(y >= 0.0 && y < f32(p.height) && x >= 0.0 && x < f32(p.width))) { return p.fill; }
return f32(in0[((b * p.height + u32(y)) * p.width + u32(x)) * p.depth + d]);
}`,
    body: `let pixel = i / p.depth;
let d = i - pixel * p.depth;
let line = pixel / p.columns;
let c = f32(pixel - line * p.columns);
let b = line / p.rows;
let r = f32(line - b * p.rows);
let o = b * p.step;
let k = in1[o + 6u] * c + in1[o + 7u] * r + 1.0;
var v = p.fill;
if (k != 0.0) {
  let y = fold((in1[o + 3u] * c + in1[o + 4u] * r + in1[o + 5u]) / k, f32(p.height));
  let x = fold((in1[o] * c + in1[o + 1u] * r + in1[o + 2u]) / k, f32(p.width));
  ${sample}
}
out0[i] = ${stored}(v);`,
  });
  const step = sizeOf(transforms.shape) === 8 ? 0 : 8;
  const sizes = [sizeOf(out.shape), height, width, depth, rows, columns, step];
  return flatPlan({
    program,
    buffers: [{ input: 0 }, { input: 1 }, { output: 0 }],
    params: [...sizes, f32Bits(warp.fillValue)],
  }, profile);
}

/** A rotation by `radians` about a point. */
export interface Rotation {
  readonly radians: number;
  /** Column of the centre. */
  readonly x: number;
  /** Row of the centre. */
  readonly y: number;
  /** What is read beyond the edge, per channel. */
  readonly fill: readonly number[];
}

function fillsOf(fill: readonly number[], depth: number): number[] {
  if (fill.length === 1) return new Array<number>(depth).fill(fill[0]);
  // The fourth channel is opacity.
  return Array.from({ length: depth }, (_, d) => (d === 3 ? 255 : fill[d] ?? 0));
}

/** The rotation of images of a shape, by its attributes. */
export function rotationOf(
  shape: readonly number[],
  { radians, fill_value, center }: Attrs,
): Rotation {
  return {
    radians,
    x: shape[2] * center[0],
    y: shape[1] * center[1],
    fill: fillsOf(fill_value, shape[3]),
  };
}

/** Source pixel of each output pixel, -1 beyond the edge. */
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

/** Channels up to which a rotation's fill values fit the uniform block. */
export const ROTATE_DEPTH = 16;

export function rotateGpu(image: ConcreteSpec, rotation: Rotation, profile: Profile): GpuPlan {
  const { height, width, depth } = imageDims(image.shape), { radians, x, y, fill } = rotation;
  const fills = Array.from({ length: depth }, (_, d) => `fill${d}`);
  const chosen = fills.reduce(
    (text, f, d) => (d === 0 ? `p.${f}` : `select(${text}, p.${f}, d == ${d}u)`),
    "",
  );
  const program = streamProgram({
    name: "rotate",
    inputs: ["f32"],
    outputs: ["f32"],
    params: [
      ...["height", "width", "depth"],
      ...["sin", "cos", "x", "y", ...fills].map((name) => `${name}:f32`),
    ],
    body: `let pixel = i / p.depth;
let d = i - pixel * p.depth;
let line = pixel / p.width;
let c = f32(pixel - line * p.width) - p.x;
let b = line / p.height;
let r = f32(line - b * p.height) - p.y;
let x = floor(c * p.cos - r * p.sin + p.x + 0.5);
let y = floor(c * p.sin + r * p.cos + p.y + 0.5);
var v = ${chosen};
if (x >= 0.0 && x < f32(p.width) && y >= 0.0 && y < f32(p.height)) {
  v = in0[((b * p.height + u32(y)) * p.width + u32(x)) * p.depth + d];
}
out0[i] = v;`,
  });
  const floats = [Math.sin(radians), Math.cos(radians), x, y, ...fills.map((_, d) => fill[d])];
  return flatPlan({
    program,
    buffers: [{ input: 0 }, { output: 0 }],
    params: [sizeOf(image.shape), height, width, depth, ...floats.map(f32Bits)],
  }, profile);
}
