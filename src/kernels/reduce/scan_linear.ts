/**
 * Linear recurrences and shifts along an axis on the GPU.
 */
import { type GpuVariant, gridFor } from "../../core/dispatch.ts";
import { isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { SCAN_LINEAR, SCAN_SHIFT } from "../../shaders_generated.ts";
import { sizeOf } from "../../core/shape.ts";
import { axesOf, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT } from "./wgsl.ts";

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
    const threads = outer * inner, workgroup = profile.barriers ? 64 : profile.lanes;
    const program = shaderProgram(SCAN_LINEAR, {
      element: wgslType(a.dtype),
      reverse: attrs.reverse === true,
      shift: attrs.shift === true,
      half: isHalf(a.dtype),
      workgroup,
    }, { name: "linear_scan" });
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
    const program = shaderProgram(SCAN_SHIFT, {
      element: wgslType(x.dtype),
      forward: attrs.by >= 0,
    }, { name: "shift" });
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
