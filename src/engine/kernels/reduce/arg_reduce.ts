/**
 * Index of the greatest or least element on the GPU: `rows`, a workgroup per row; `strided`, an invocation per result.
 * Long axes are split; each part leaves a key and an index.
 */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef, Dispatch, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { REDUCE_ARG } from "../../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ArgOp } from "../../core/meaning.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatDispatch } from "../dispatches.ts";
import { keyFunction } from "../rows/order.ts";
import { type Line, lineIn } from "./layout.ts";
import { LOOP_LIMIT } from "./wgsl.ts";
import { thresholdsOf } from "../thresholds.ts";

const WORKGROUP = 256;

export function argReduceVariants(op: ArgOp): GpuVariant[] {
  return [
    {
      name: "rows",
      fits: (problem, profile) => {
        if (!profile.barriers || !gpuFits(problem, profile)) return false;
        const { inner, length } = lineIn(problem, 1);
        return inner === 1 && length >= 128;
      },
      plan: (problem, profile) => plan(op, problem, profile, true),
    },
    {
      name: "strided",
      fits: gpuFits,
      plan: (problem, profile) => plan(op, problem, profile, false),
    },
  ];
}

function plan(op: ArgOp, problem: Problem, profile: Profile, rows: boolean): GpuPlan {
  const line = lineIn(problem, 1), { outer, length, inner } = line, results = outer * inner;
  if (sizeOf(problem.outputs[0].shape) === 0) return { dispatches: [] };
  const { invocations, lines } = thresholdsOf(profile), { barriers } = profile;
  const wanted = rows ? 256 : barriers ? invocations / 4 : lines;
  const most = Math.floor(length / (rows ? 4096 : barriers ? 32 : 64));
  const parts = Math.max(
    1,
    Math.ceil(length / LOOP_LIMIT),
    Math.min(most, Math.ceil(wanted / results)),
  );
  const from: BufferRef = { input: 0 }, to: BufferRef = { output: 0 };
  const work = { op, dtype: problem.inputs[0].dtype, rows };
  if (parts === 1) {
    return { dispatches: [dispatch({ ...work, stage: "whole" }, line, 1, [from, to], profile)] };
  }
  const temps: BufferRef[] = [{ temp: 0 }, { temp: 1 }], bytes = results * parts * 4;
  const rest: Line = { outer, length: parts, inner };
  return {
    temps: [bytes, bytes],
    dispatches: [
      dispatch({ ...work, stage: "first" }, line, parts, [from, ...temps], profile),
      dispatch({ ...work, stage: "second", rows: false }, rest, 1, [...temps, to], profile),
    ],
  };
}

interface Work {
  readonly op: ArgOp;
  readonly dtype: DType;
  /** True: a workgroup for each part of a line. */
  readonly rows: boolean;
  /** `whole`: elements → indices; `first`: elements → keys and indices; `second`: keys and indices → indices. */
  readonly stage: "whole" | "first" | "second";
}

function dispatch(
  { op, dtype, rows, stage }: Work,
  { outer, length, inner }: Line,
  parts: number,
  buffers: readonly BufferRef[],
  profile: Profile,
): Dispatch {
  const workgroup = rows ? WORKGROUP : profile.barriers ? 64 : profile.lanes;
  const second = stage === "second";
  return flatDispatch({
    program: shaderProgram(REDUCE_ARG, {
      in: second ? "u32" : wgslType(dtype),
      rows,
      keep: stage === "first",
      second,
      half: isHalf(dtype),
      workgroup,
      key: second ? "" : keyFunction(dtype, op === "min"),
    }, { name: `arg_${op}_${stage}` }),
    buffers,
    params: [outer * parts * inner, inner, length, parts],
    groups: rows,
  }, profile);
}
