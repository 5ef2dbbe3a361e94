/**
 * Index of the greatest or least element on the GPU: `rows`, a workgroup per row; `strided`, an invocation per result. Long
 * axes are split; each part leaves a key and an index.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
} from "../../core/dispatch.ts";
import { isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { REDUCE_ARG } from "../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ArgOp } from "../../core/meaning.ts";
import { keyFunction } from "../rows/order.ts";
import { axesOf, type Line, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT } from "./wgsl.ts";
import { thresholdsOf } from "../thresholds.ts";

const WORKGROUP = 256;

/** Variants of argMax and argMin. */
export function argReduceVariants(op: ArgOp): GpuVariant[] {
  const lineIn = ({ inputs, hosts }: Problem): Line =>
    lineOf(inputs[0].shape, axesOf(hosts[1]!, inputs[0].shape.length)[0]);
  const fits = ({ inputs, outputs }: Problem, profile: Profile): boolean =>
    fitsGpu([inputs[0], outputs[0]], profile);
  return [
    {
      name: "rows",
      fits: (problem, profile) => {
        if (!profile.barriers || !fits(problem, profile)) return false;
        const { inner, length } = lineIn(problem);
        return inner === 1 && length >= 128;
      },
      plan: (problem, profile) => plan(op, problem, lineIn(problem), profile, true),
    },
    {
      name: "strided",
      fits,
      plan: (problem, profile) => plan(op, problem, lineIn(problem), profile, false),
    },
  ];
}

function plan(op: ArgOp, problem: Problem, line: Line, profile: Profile, rows: boolean): GpuPlan {
  const { outer, length, inner } = line;
  const results = outer * inner;
  if (sizeOf(problem.outputs[0].shape) === 0) return { dispatches: [] };
  const wanted = rows ? 256 : thresholdsOf(profile).lines;
  const most = Math.floor(length / (rows ? 4096 : 64));
  const parts = Math.max(
    1,
    Math.ceil(length / LOOP_LIMIT),
    Math.min(most, Math.ceil(wanted / results)),
  );
  const { dtype } = problem.inputs[0];
  if (parts === 1) {
    return {
      dispatches: [
        dispatch(op, dtype, line, 1, "whole", [{ input: 0 }, { output: 0 }], profile, rows),
      ],
    };
  }
  const bytes = results * parts * 4;
  const rest: Line = { outer, length: parts, inner };
  const temps: BufferRef[] = [{ temp: 0 }, { temp: 1 }];
  return {
    temps: [bytes, bytes],
    dispatches: [
      dispatch(op, dtype, line, parts, "first", [{ input: 0 }, ...temps], profile, rows),
      dispatch(op, dtype, rest, 1, "second", [...temps, { output: 0 }], profile, false),
    ],
  };
}

/** `whole`: elements → indices; `first`: elements → keys and indices; `second`: keys and indices → indices. */
type Stage = "whole" | "first" | "second";

function dispatch(
  op: ArgOp,
  dtype: DType,
  { outer, length, inner }: Line,
  parts: number,
  stage: Stage,
  buffers: readonly BufferRef[],
  profile: Profile,
  rows: boolean,
): Dispatch {
  const results = outer * parts * inner;
  const workgroup = rows ? WORKGROUP : profile.barriers ? 64 : profile.lanes;
  const second = stage === "second";
  const program = shaderProgram(REDUCE_ARG, {
    in: second ? "u32" : wgslType(dtype),
    rows,
    keep: stage === "first",
    second,
    half: isHalf(dtype),
    workgroup,
    key: second ? "" : keyFunction(dtype, op === "min"),
  }, { name: `arg_${op}_${stage}` });
  return {
    program,
    buffers,
    params: [results, inner, length, parts],
    grid: rows ? gridFor(results, 1, profile) : gridFor(results, workgroup, profile),
  };
}
