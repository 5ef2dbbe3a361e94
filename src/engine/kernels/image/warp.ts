/** Reading images through a projective transform or a rotation on the GPU. */
import { f32Bits, type GpuPlan, type GpuVariant, type Profile } from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { boundWhole } from "../copy/pieces.ts";
import { streamProgram } from "../copy/stream.ts";
import { flatPlan } from "../dispatches.ts";
import { imageDims } from "./geometry.ts";
import { type FillMode, type Rotation, rotationOf, type Warp, warpOf } from "./warp_geometry.ts";

/** Projective transforms: inputs are image, transforms, and on the host the size and the value beyond the edge. */
export const warpVariants: readonly GpuVariant[] = boundWhole([{
  name: "warp",
  plan: ({ inputs: [images, transforms], outputs: [out], hosts, attrs }, profile) =>
    warpGpu(images, transforms, warpOf(attrs, hosts[3]), out, profile),
}]);

export const rotationVariants: readonly GpuVariant[] = boundWhole([{
  name: "rotate",
  fits: ({ inputs }) => inputs[0].shape[3] <= ROTATE_DEPTH,
  plan: ({ inputs: [image], attrs }, profile) =>
    rotateGpu(image, rotationOf(image.shape, attrs), profile),
}]);

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

function warpGpu(
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

/** Most channels whose fill values of a rotation fit the uniform block. */
const ROTATE_DEPTH = 16;

function rotateGpu(image: ConcreteSpec, rotation: Rotation, profile: Profile): GpuPlan {
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
