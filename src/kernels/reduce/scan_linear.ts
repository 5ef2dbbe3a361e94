/**
 * Linear recurrences and shifts along an axis on the GPU.
 */
import {
  flatId,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { loadText, storeText, wgslType } from "../../core/gpu_storage.ts";
import { sizeOf } from "../../core/shape.ts";
import { axesOf, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT } from "./wgsl.ts";

const cache = new Programs();
function cached(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}

/** Serial kernel of the recurrence `s[i] = b[i] + c * s[i-1]`. */
export const linearScanVariants: readonly GpuVariant[] = [{
  name: "serial",
  fits: ({ inputs: [a, b], outputs, hosts }, profile) =>
    fitsGpu([a, b, outputs[0]], profile) &&
    a.shape[axesOf(hosts[2]!, a.shape.length)[0]] <= LOOP_LIMIT,
  plan: ({ inputs, outputs, hosts, attrs }, profile) => {
    const [a] = inputs;
    if (sizeOf(outputs[0].shape) === 0) return { dispatches: [] };
    const { outer, length, inner } = lineOf(a.shape, axesOf(hosts[2]!, a.shape.length)[0]);
    const threads = outer * inner, workgroup = profile.family === "gpu" ? 64 : profile.lanes;
    const load = (buffer: string, index: string): string =>
      loadText(a.dtype, `${buffer}[${index}]`);
    const sign = attrs.reverse ? "-" : "+", back = attrs.reverse ? "+" : "-";
    const program = cached(
      `linear,${a.dtype},${attrs.reverse},${attrs.shift},${workgroup}`,
      () =>
        makeProgram({
          name: "linear_scan",
          inputs: [wgslType(a.dtype), wgslType(a.dtype)],
          outputs: [wgslType(a.dtype)],
          params: ["n", "inner", "length"],
          workgroup: [workgroup, 1, 1],
          body: `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
var k = (t / p.inner) * p.length * p.inner + t % p.inner${
            attrs.reverse ? " + (p.length - 1u) * p.inner" : ""
          };
var s = ${load("in1", "k")};
out0[k] = ${storeText(a.dtype, "s")};
for (var l = 1u; l < p.length; l += 1u) {
  k = k ${sign} p.inner;
  s = ${load("in1", "k")} + ${load("in0", attrs.shift ? `k ${back} p.inner` : "k")} * s;
  out0[k] = ${storeText(a.dtype, "s")};
}`,
        }),
    );
    return {
      dispatches: [{
        program,
        buffers: [{ input: 0 }, { input: 1 }, { output: 0 }],
        params: [threads, inner, length],
        grid: gridFor(threads, workgroup, profile),
      }],
    };
  },
}];

/** Kernel of a shift by whole places along an axis. */
export const shiftVariants: readonly GpuVariant[] = [{
  name: "shift",
  fits: ({ inputs, outputs }, profile) => fitsGpu([inputs[0], outputs[0]], profile),
  plan: ({ inputs, outputs, hosts, attrs }, profile) => {
    const [x] = inputs, size = sizeOf(outputs[0].shape);
    if (size === 0) return { dispatches: [] };
    const { length, inner } = lineOf(x.shape, axesOf(hosts[1]!, x.shape.length)[0]);
    const type = wgslType(x.dtype), forward = attrs.by >= 0;
    const program = cached(`shift,${type},${forward}`, () =>
      makeProgram({
        name: "shift",
        inputs: [type],
        outputs: [type],
        params: ["n", "inner", "length", "by"],
        workgroup: [64, 1, 1],
        body: `let t = ${flatId(64)};
if (t >= p.n) { return; }
let l = (t / p.inner) % p.length;
var v = ${type}(0);
if (${forward ? "l >= p.by" : "l + p.by < p.length"}) { v = in0[t ${
          forward ? "-" : "+"
        } p.by * p.inner]; }
out0[t] = v;`,
      }));
    return {
      dispatches: [{
        program,
        buffers: [{ input: 0 }, { output: 0 }],
        params: [size, inner, length, Math.abs(attrs.by)],
        grid: gridFor(size, 64, profile),
      }],
    };
  },
}];
