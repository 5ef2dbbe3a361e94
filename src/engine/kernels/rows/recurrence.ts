/** Recurrent networks over all their steps on the GPU, a workgroup for each row of a batch. */
import type { BufferRef, GpuVariant, Profile } from "../../core/dispatch.ts";
import type { RecurrentCell } from "../../core/meaning.ts";
import type { Problem } from "../../core/op.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ROWS_RECURRENCE, SCALAR_WGSL } from "../../../shaders_generated.ts";
import { flatPlan } from "../dispatches.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";

/** Numbers of gates, and numbers in workgroup memory of a unit. */
const SIZES: Readonly<Record<RecurrentCell, readonly [gates: number, kept: number]>> = {
  lstm: [4, 6],
  gru: [3, 5],
  "gru after": [3, 4],
  tanh: [1, 2],
  relu: [1, 2],
  sigmoid: [1, 2],
};

/** The kernel of adapters whose barriers cost little. */
export const RECURRENCE_VARIANTS: readonly GpuVariant[] = [{
  name: "recurrence",
  fits: (problem, profile) => profile.barriers && fits(problem, profile),
  plan: (problem, profile) => {
    const { inputs: [x, weights], attrs: { reverse } } = problem;
    const cell: RecurrentCell = problem.attrs.cell, [steps, rows] = x.shape;
    const isLstm = cell === "lstm", more = isLstm || cell === "gru after" ? [{ input: 3 }] : [];
    const outputs: BufferRef[] = [{ output: 0 }, { output: 1 }, ...isLstm ? [{ output: 2 }] : []];
    const program = shaderProgram(ROWS_RECURRENCE, {
      units: weights.shape[1],
      gates: SIZES[cell][0],
      reverse,
      lstm: isLstm,
      gru: cell === "gru",
      after: cell === "gru after",
      relu: cell === "relu",
      sigmoid: cell === "sigmoid",
      workgroup: Math.min(256, profile.maxInvocations),
      functions: wgslFunctions(SCALAR_WGSL, ["exp_", "tanh_"]),
    });
    return flatPlan({
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, ...more, ...outputs],
      params: [rows, steps],
      groups: true,
    }, profile);
  },
}];

function fits({ inputs, attrs }: Problem, profile: Profile): boolean {
  const [x, weights] = inputs, [steps, rows] = x.shape, units = weights.shape[1];
  const [, kept] = SIZES[attrs.cell as RecurrentCell];
  return x.dtype === "float32" && rows > 0 && units > 0 && steps <= LOOP_LIMIT &&
    4 * kept * units <= profile.maxWorkgroupBytes;
}
