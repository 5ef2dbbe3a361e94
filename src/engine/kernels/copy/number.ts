/** Numbered elements on the GPU: ranges, evenly spaced numbers, one-hot rows. */
import type { DType } from "../../core/dtype.ts";
import { f32Bits, type GpuPlan, type GpuVariant, type Profile } from "../../core/dispatch.ts";
import { accType, wgslType, wordType } from "../../core/gpu_storage.ts";
import { flatPlan } from "../dispatches.ts";
import type { Line } from "../reduce/layout.ts";
import { hotLayout, numberOf, rampOf } from "./number_layout.ts";
import { boundWhole } from "./pieces.ts";
import { streamProgram, valueWord, wordOfParam } from "./stream.ts";

/** The variants of ranges and evenly spaced numbers. */
export function rampVariants(how: "steps" | "spaced"): readonly GpuVariant[] {
  return boundWhole([{
    name: "ramp",
    plan: (problem, profile) => {
      const { start, step, stop } = rampOf(how, problem), { shape, dtype } = problem.outputs[0];
      return rampGpu(shape[0], dtype, Number(start), Number(step), profile, stop);
    },
  }]);
}

function rampGpu(
  size: number,
  dtype: DType,
  start: number,
  step: number,
  profile: Profile,
  last?: number,
): GpuPlan {
  const type = wgslType(dtype);
  const of = accType(dtype), word = of === "f32" ? f32Bits : (v: number): number => v >>> 0;
  const value = `p.start + ${of}(i) * p.step`;
  const end = last !== undefined && size > 1;
  const program = streamProgram({
    name: "ramp",
    inputs: [],
    outputs: [type],
    params: [`start:${of}`, `step:${of}`, `last:${of}`],
    body: `out0[i] = ${type}(${end ? `select(${value}, p.last, i + 1u == p.n)` : value});`,
  });
  return flatPlan({
    program,
    buffers: [{ output: 0 }],
    params: [size, word(start), word(step), word(last ?? 0)],
  }, profile);
}

/** The variants of one-hot rows of int32 indices. */
export const markVariants: readonly GpuVariant[] = boundWhole([{
  name: "one_hot",
  fits: ({ inputs }) => inputs[0].dtype === "int32",
  plan: (problem, profile) => {
    const { outputs: [{ dtype }], hosts: [, , on, off] } = problem;
    return oneHotGpu(dtype, numberOf(on), numberOf(off), hotLayout(problem), profile);
  },
}]);

function oneHotGpu(
  dtype: DType,
  on: number,
  off: number,
  { outer, length, inner }: Line,
  profile: Profile,
): GpuPlan {
  const word = wordType(dtype);
  const program = streamProgram({
    name: "one_hot",
    inputs: ["i32"],
    outputs: [word],
    params: ["depth", "inner", "on", "off"],
    body: `let row = i / p.inner;
let c = i - row * p.inner;
let o = row / p.depth;
let d = row - o * p.depth;
let word = select(p.off, p.on, in0[o * p.inner + c] == i32(d));
out0[i] = ${wordOfParam(word, "word")};`,
  });
  return flatPlan({
    program,
    buffers: [{ input: 0 }, { output: 0 }],
    params: [outer * length * inner, length, inner, valueWord(on, dtype), valueWord(off, dtype)],
  }, profile);
}
