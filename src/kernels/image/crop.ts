/**
 * Crops resized to one size, and their gradient with respect to the image, on the GPU.
 * A box of an image that does not exist gives zeros.
 */
import {
  f32Bits,
  flatId,
  type GpuPlan,
  gridFor,
  makeProgram,
  type Profile,
} from "../../core/dispatch.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import type { Attrs } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { fillGpu, STREAM_WORKGROUP } from "../copy/fill.ts";
import { imageDims } from "./geometry.ts";

const PARAMS = ["n", "batch", "height", "width", "depth", "rows", "columns", "outside:f32"];

const PLACE = `fn place(begin: f32, end: f32, extent: u32, at: u32, steps: u32) -> f32 {
let span = f32(extent - 1u);
if (steps > 1u) { return begin * span + f32(at) * ((end - begin) * span / f32(steps - 1u)); }
return 0.5 * (begin + end) * span;
}`;

/** Statements that find the corners: `inside`, `y0`, `y1`, `fy`, `x0`, `x1`, `fx`, the image `owner`, the channel `d`. */
function pixelLines(boxes: string, owners: string, nearest: boolean): string {
  const corner = (a: string, place: string): string =>
    nearest
      ? `let ${a}0 = u32(max(0.0, floor(${place} + 0.5))); let ${a}1 = ${a}0; let f${a} = 0.0;`
      : `let ${a}0 = u32(max(0.0, floor(${place}))); let ${a}1 = u32(max(0.0, ceil(${place}))); let f${a} = ${place} - floor(${place});`;
  return `let id = ${flatId(STREAM_WORKGROUP)};
if (id >= p.n) { return; }
let pixel = id / p.depth;
let d = id - pixel * p.depth;
let line = pixel / p.columns;
let c = pixel - line * p.columns;
let box = line / p.rows;
let r = line - box * p.rows;
let owner = u32(${owners}[box]);
let py = place(${boxes}[4u * box], ${boxes}[4u * box + 2u], p.height, r, p.rows);
let px = place(${boxes}[4u * box + 1u], ${boxes}[4u * box + 3u], p.width, c, p.columns);
let inside = (py >= 0.0) & (py <= f32(p.height - 1u)) & (px >= 0.0) & (px <= f32(p.width - 1u));
${corner("y", "py")}
${corner("x", "px")}`;
}

function paramsOf(n: number, image: ConcreteSpec, crops: ConcreteSpec, attrs: Attrs): number[] {
  const { batch, height, width, depth } = imageDims(image.shape);
  return [
    n,
    batch,
    height,
    width,
    depth,
    crops.shape[1],
    crops.shape[2],
    f32Bits(attrs.extrapolation_value ?? 0),
  ];
}

/** Cuts the boxes out of the images: inputs image, boxes, box indices. */
export function cropGpu(
  image: ConcreteSpec,
  out: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const n = sizeOf(out.shape);
  if (n === 0) return { dispatches: [] };
  const stored = wgslType(image.dtype);
  const read = (y: string, x: string): string =>
    `f32(in0[((owner * p.height + ${y}) * p.width + ${x}) * p.depth + d])`;
  const program = makeProgram({
    name: "crop_and_resize",
    inputs: [stored, "f32", "i32"],
    outputs: ["f32"],
    params: PARAMS,
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: PLACE,
    body: `${pixelLines("in1", "in2", attrs.method === "nearest")}
var v = p.outside;
if (owner >= p.batch) { v = 0.0; } else if (inside) {
  let a = ${read("y0", "x0")};
  let e = ${read("y1", "x0")};
  let above = a + (${read("y0", "x1")} - a) * fx;
  let below = e + (${read("y1", "x1")} - e) * fx;
  v = above + (below - above) * fy;
}
out0[id] = v;`,
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: paramsOf(n, image, out, attrs),
      grid: gridFor(n, STREAM_WORKGROUP, profile),
    }],
  };
}

/** Gives gradients back to the image: inputs gradients, boxes, box indices. float32 only: sums are atomic. */
export function cropImageGradGpu(
  dy: ConcreteSpec,
  dx: ConcreteSpec,
  attrs: Attrs,
  profile: Profile,
): GpuPlan {
  const n = sizeOf(dy.shape);
  const start = fillGpu(dx, profile, { value: 0 }).dispatches;
  if (n === 0 || sizeOf(dx.shape) === 0) return { dispatches: start };
  const give = (y: string, x: string, w: string): string =>
    `give(((owner * p.height + ${y}) * p.width + ${x}) * p.depth + d, g * ${w});`;
  const program = makeProgram({
    name: "crop_and_resize_grad",
    inputs: ["f32", "f32", "i32"],
    outputs: ["atomic<u32>"],
    params: PARAMS,
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude: `${PLACE}
fn give(to: u32, v: f32) {
  var old = atomicLoad(&out0[to]);
  loop {
    let tried = atomicCompareExchangeWeak(&out0[to], old, bitcast<u32>(bitcast<f32>(old) + v));
    if (tried.exchanged) { break; }
    old = tried.old_value;
  }
}`,
    body: `${pixelLines("in1", "in2", attrs.method === "nearest")}
if (inside && owner < p.batch) {
  let g = in0[id];
  ${give("y0", "x0", "(1.0 - fy) * (1.0 - fx)")}
  ${give("y0", "x1", "(1.0 - fy) * fx")}
  ${give("y1", "x0", "fy * (1.0 - fx)")}
  ${give("y1", "x1", "fy * fx")}
}`,
  });
  return {
    dispatches: [...start, {
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: paramsOf(n, dx, dy, attrs),
      grid: gridFor(n, STREAM_WORKGROUP, profile),
    }],
  };
}
