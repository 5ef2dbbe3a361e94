/** Linear recurrences and shifts along an axis on the GPU. */
import type { GpuVariant } from "../../core/dispatch.ts";
import { isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { SCAN_LINEAR, SCAN_SHIFT } from "../../../shaders_generated.ts";
import { sizeOf } from "../../core/shape.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { lineIn } from "./layout.ts";
import { LOOP_LIMIT } from "./wgsl.ts";

/** Serial kernel of the recurrence `s[i] = b[i] + c * s[i-1]`. */
export const linearScanVariants: readonly GpuVariant[] = [{
  name: "serial",
  fits: (problem, profile) => gpuFits(problem, profile) && lineIn(problem, 2).length <= LOOP_LIMIT,
  plan: (problem, profile) => {
    const { inputs: [a], outputs, attrs } = problem;
    if (sizeOf(outputs[0].shape) === 0) return { dispatches: [] };
    const { outer, length, inner } = lineIn(problem, 2);
    const workgroup = profile.barriers ? 64 : profile.lanes;
    return flatPlan({
      program: shaderProgram(SCAN_LINEAR, {
        element: wgslType(a.dtype),
        reverse: attrs.reverse === true,
        shift: attrs.shift === true,
        half: isHalf(a.dtype),
        workgroup,
      }, { name: "linear_scan" }),
      buffers: [{ input: 0 }, { input: 1 }, { output: 0 }],
      params: [outer * inner, inner, length],
    }, profile);
  },
}];

/** Kernel of a shift by whole places along an axis. */
export const shiftVariants: readonly GpuVariant[] = [{
  name: "shift",
  fits: gpuFits,
  plan: (problem, profile) => {
    const { inputs: [x], outputs: [out], attrs } = problem, { length, inner } = lineIn(problem, 1);
    const own = { element: wgslType(x.dtype), forward: attrs.by >= 0 };
    return flatPlan({
      program: shaderProgram(SCAN_SHIFT, own, { name: "shift" }),
      buffers: [{ input: 0 }, { output: 0 }],
      params: [sizeOf(out.shape), inner, length, Math.abs(attrs.by)],
    }, profile);
  },
}];
