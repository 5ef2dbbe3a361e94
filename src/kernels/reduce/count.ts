/**
 * Counting of values on the GPU, with atomics; sums of floats go through compare-and-swap.
 */
import {
  type BufferRef,
  type Dispatch,
  flatId,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { sizeOf } from "../../core/shape.ts";
import { fitsGpu } from "./wgsl.ts";

const WORKGROUP = 64;
const cache = new Programs();

/** Kernel of Bincount and DenseBincount: inputs are values, size (host) and weights. Negative values are left out. */
export const bincountVariants: readonly GpuVariant[] = [{
  name: "atomics",
  fits: ({ inputs: [x, , weights], outputs: [out] }, profile) =>
    fitsGpu([x, weights, out], profile) && x.dtype === "int32" &&
    (out.dtype === "float32" || out.dtype === "int32"),
  plan: ({ inputs: [x, , weights], outputs: [out], attrs }, profile) => {
    const bins = sizeOf(out.shape), size = sizeOf(x.shape);
    if (bins === 0) return { dispatches: [] };
    const target: BufferRef = { output: 0 };
    const dispatches: Dispatch[] = [{
      program: program("clear", () =>
        makeProgram({
          name: "bincount_clear",
          inputs: [],
          outputs: ["u32"],
          params: ["n"],
          workgroup: [WORKGROUP, 1, 1],
          body: `let t = ${flatId(WORKGROUP)};
if (t < p.n) { out0[t] = 0u; }`,
        })),
      buffers: [target],
      params: [bins],
      grid: gridFor(bins, WORKGROUP, profile),
    }];
    if (size === 0) return { dispatches };
    const binary = attrs.binary_output === true;
    const weighted = !binary && sizeOf(weights.shape) > 0;
    const float = out.dtype === "float32";
    const type = float ? "f32" : "i32";
    const add = binary
      ? `atomicStore(&out0[bin], bitcast<u32>(${type}(1)));`
      : float
      ? `let w = ${weighted ? "in1[t]" : "1.0"};
var old = atomicLoad(&out0[bin]);
loop {
  let r = atomicCompareExchangeWeak(&out0[bin], old, bitcast<u32>(bitcast<f32>(old) + w));
  if (r.exchanged) { break; }
  old = r.old_value;
}`
      : `atomicAdd(&out0[bin], ${weighted ? "bitcast<u32>(in1[t])" : "1u"});`;
    dispatches.push({
      program: program(`${type},${binary},${weighted}`, () =>
        makeProgram({
          name: "bincount",
          inputs: weighted ? ["i32", type] : ["i32"],
          outputs: ["atomic<u32>"],
          params: ["n", "columns", "bins"],
          workgroup: [WORKGROUP, 1, 1],
          body: `let t = ${flatId(WORKGROUP)};
if (t >= p.n) { return; }
let v = in0[t];
if (v < 0 || u32(v) >= p.bins) { return; }
let bin = (t / p.columns) * p.bins + u32(v);
${add}`,
        })),
      buffers: [{ input: 0 }, ...(weighted ? [{ input: 2 }] : []), target],
      params: [size, x.shape.length === 2 ? x.shape[1] : size, out.shape[out.shape.length - 1]],
      grid: gridFor(size, WORKGROUP, profile),
    });
    return { dispatches };
  },
}];

function program(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}
