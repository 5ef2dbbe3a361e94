/**
 * Resizing on the GPU. Gradients are gathered: each input pixel looks through the output pixels it may have gone into.
 */
import {
  f32Bits,
  flatId,
  type GpuPlan,
  gridFor,
  makeProgram,
  type Profile,
} from "../../core/dispatch.ts";
import { accType, wgslType, wordType } from "../../core/gpu_storage.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { STREAM_WORKGROUP } from "../copy/fill.ts";
import { axisScale, imageDims } from "./geometry.ts";

const PARAMS = ["n", "height", "width", "depth", "rows", "columns", "down:f32", "across:f32"];

function paramsOf(
  from: readonly number[],
  to: readonly number[],
  n: number,
  depth: number,
  attrs: Attrs,
): number[] {
  const { height, width } = imageDims(from);
  const [, rows, columns] = to;
  return [
    n,
    height,
    width,
    depth,
    rows,
    columns,
    f32Bits(axisScale(height, rows, attrs).scale),
    f32Bits(axisScale(width, columns, attrs).scale),
  ];
}

/** Statements that split the flat index into `b`, `r`, `c` and `d` of a grid of these extents. */
function pixelLines(rows: string, columns: string): string {
  return `let id = ${flatId(STREAM_WORKGROUP)};
if (id >= p.n) { return; }
let pixel = id / p.depth;
let d = id - pixel * p.depth;
let line = pixel / ${columns};
let c = pixel - line * ${columns};
let b = line / ${rows};
let r = line - b * ${rows};`;
}

/** WGSL functions of the place in the input for output coordinate `at`. */
function placeFunctions({ align_corners, half_pixel_centers }: Attrs): string {
  const source = half_pixel_centers ? "(f32(at) + 0.5) * scale - 0.5" : "f32(at) * scale";
  const place = `${half_pixel_centers ? "(f32(at) + 0.5)" : "f32(at)"} * scale`;
  const nearest = align_corners ? `floor(${place} + 0.5)` : `floor(${place})`;
  return `fn source(at: u32, scale: f32) -> f32 { return ${source}; }
fn nearest(at: u32, scale: f32, extent: u32) -> u32 { return min(extent - 1u, u32(max(0.0, ${nearest}))); }
fn low(place: f32) -> u32 { return u32(max(0.0, floor(place))); }
fn high(place: f32, extent: u32) -> u32 { return min(extent - 1u, u32(max(0.0, ceil(place)))); }`;
}

/** Bilinear interpolation of input 0; four channels at once where there are as many. */
export function resizeBilinearGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const wide = x.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const stored = wgslType(x.dtype);
  const real = wide ? "vec4<f32>" : "f32";
  const read = (y: string, xx: string): string =>
    `${real}(in0[((b * p.height + ${y}) * p.width + ${xx}) * p.depth + d])`;
  const program = makeProgram({
    name: "resize_bilinear",
    inputs: [wide ? `vec4<${stored}>` : stored],
    outputs: [real],
    params: PARAMS,
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: placeFunctions(attrs),
    body: `${pixelLines("p.rows", "p.columns")}
let y = source(r, p.down);
let x = source(c, p.across);
let top = low(y);
let bottom = high(y, p.height);
let left = low(x);
let right = high(x, p.width);
let fy = y - floor(y);
let fx = x - floor(x);
let a = ${read("top", "left")};
let e = ${read("bottom", "left")};
let above = a + (${read("top", "right")} - a) * fx;
let below = e + (${read("bottom", "right")} - e) * fx;
out0[id] = above + (below - above) * fy;`,
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: paramsOf(x.shape, out.shape, size / unit, x.shape[3] / unit, attrs),
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Copies the nearest pixels of input 0. */
export function resizeNearestGpu(
  x: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const wide = x.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const word = wide ? `vec4<${wordType(x.dtype)}>` : wordType(x.dtype);
  const program = makeProgram({
    name: "resize_nearest",
    inputs: [word],
    outputs: [word],
    params: PARAMS,
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: placeFunctions(attrs),
    body: `${pixelLines("p.rows", "p.columns")}
let y = nearest(r, p.down, p.height);
let x = nearest(c, p.across, p.width);
out0[id] = in0[((b * p.height + y) * p.width + x) * p.depth + d];`,
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: paramsOf(x.shape, out.shape, size / unit, x.shape[3] / unit, attrs),
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Gradient of either way of resizing: input 0 is the gradient of the output. */
export function resizeGradGpu(
  way: "bilinear" | "nearest",
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(dx.shape);
  if (size === 0) return { dispatches: [] };
  const wide = dx.shape[3] % 4 === 0;
  const unit = wide ? 4 : 1;
  const given = wgslType(dy.dtype), stored = wgslType(dx.dtype);
  const sum = accType(dx.dtype);
  const vector = (t: string): string => (wide ? `vec4<${t}>` : t);
  const half = attrs.half_pixel_centers ? "0.5" : "0.0";
  // Output coordinates that reach within one pixel; the first and last pixel also stand for all beyond.
  const range = `fn first(at: u32, inverse: f32) -> u32 {
if (at == 0u || inverse == 0.0) { return 0u; }
return u32(max(0.0, floor((f32(at) - 1.0 + ${half}) * inverse - ${half})));
}
fn last(at: u32, inverse: f32, extent: u32, count: u32) -> u32 {
if (at + 1u == extent || inverse == 0.0) { return count - 1u; }
return min(count - 1u, u32(max(0.0, ceil((f32(at) + 1.0 + ${half}) * inverse - ${half}))));
}`;
  const weight = way === "bilinear"
    ? `fn weight(at: u32, scale: f32, mine: u32, extent: u32) -> f32 {
let place = source(at, scale);
let far = place - floor(place);
return select(0.0, 1.0 - far, low(place) == mine) + select(0.0, far, high(place, extent) == mine);
}`
    : `fn weight(at: u32, scale: f32, mine: u32, extent: u32) -> f32 {
return select(0.0, 1.0, nearest(at, scale, extent) == mine);
}`;
  const term = `${vector(sum)}(in0[((b * p.rows + y) * p.columns + x) * p.depth + d])`;
  const program = makeProgram({
    name: `resize_${way}_grad`,
    inputs: [vector(given)],
    outputs: [vector(stored)],
    params: [...PARAMS, "up:f32", "back:f32"],
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: `${placeFunctions(attrs)}\n${range}\n${weight}`,
    body: `${pixelLines("p.height", "p.width")}
let y1 = last(r, p.up, p.height, p.rows);
let x0 = first(c, p.back);
let x1 = last(c, p.back, p.width, p.columns);
var sum = ${vector(sum)}();
for (var y = first(r, p.up); y <= y1; y++) {
  let wy = weight(y, p.down, r, p.height);
  if (wy != 0.0) {
    for (var x = x0; x <= x1; x++) {
      let w = wy * weight(x, p.across, c, p.width);
      if (w != 0.0) { sum += ${sum === "f32" ? `w * ${term}` : term}; }
    }
  }
}
out0[id] = ${stored === sum ? "sum" : `${vector(stored)}(sum)`};`,
  });
  const { height, width } = imageDims(dx.shape);
  const inverse = (scale: number): number => f32Bits(scale === 0 ? 0 : 1 / scale);
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }],
      params: [
        ...paramsOf(dx.shape, dy.shape, size / unit, dx.shape[3] / unit, attrs),
        inverse(axisScale(height, dy.shape[1], attrs).scale),
        inverse(axisScale(width, dy.shape[2], attrs).scale),
      ],
      grid: gridFor(size / unit, STREAM_WORKGROUP, profile),
    }],
  };
}
