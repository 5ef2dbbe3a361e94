/** Products of few rows with rows of levels on the GPU; for more rows the op's parts dequantise the levels first. */
import type { Dispatch, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { epilogueOf } from "../../core/fusion.ts";
import { wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { MATMUL_LEVELS } from "../../../shaders_generated.ts";
import { gpuFits } from "../copy/pieces.ts";
import { flatDispatch, wordsOf } from "../dispatches.ts";
import { printEpilogue } from "./epilogue.ts";
import { mayEnd } from "./variants.ts";

/** Most rows of x: an invocation has a sum for each. */
const MOST_ROWS = 8;
/** Rows of levels that keep a GPU busy by four. */
const MANY_ROWS = 2048;

/** Variants of products with levels. */
export const LEVELS_VARIANTS: readonly GpuVariant[] = [{ name: "levels", fits, plan }];

function fits(problem: Problem, profile: Profile): boolean {
  const { inputs: [x, levels], attrs } = problem, m = sizeOf(x.shape.slice(0, -1));
  return m <= MOST_ROWS && m > 0 && levels.shape[0] > 0 && attrs.inner > 0 &&
    mayEnd(problem, profile) && gpuFits(problem, profile);
}

function plan(problem: Problem, profile: Profile): GpuPlan {
  return { dispatches: [dispatch(problem, profile)] };
}

function dispatch(problem: Problem, profile: Profile): Dispatch {
  const { inputs: [x, levels, , zeros], outputs: [out], attrs: { bits, block, inner } } = problem;
  const [rows, blocks, blockWords] = levels.shape, words = blocks * blockWords;
  const epilogue = epilogueOf(problem) ?? undefined;
  const finish = printEpilogue(epilogue, x.dtype, out.dtype, 1, 4);
  // A row for each invocation where workgroup memory costs much. Else each has at least four words of a row, and what it loads of x
  // serves four rows where there are many.
  const lanes = profile.barriers
    ? Math.min(128, Math.max(powerBelow(words / 4), Math.min(32, powerBelow(words))))
    : 1;
  const threads = profile.barriers ? Math.max(64, lanes) : profile.lanes;
  const own = profile.barriers && rows >= MANY_ROWS ? 4 : 1;
  const program = shaderProgram(MATMUL_LEVELS, {
    x: wgslType(x.dtype),
    c: finish.output,
    bits,
    blockWords,
    each: zeros.shape.length > 0,
    tail: inner < blocks * block,
    vectors: sizeOf(x.shape.slice(0, -1)),
    rows: own,
    threads,
    lanes,
    finish: finish.prelude,
  }, {
    name: `matmul_levels_${bits}`,
    inputs: finish.inputs,
  });
  const operands = (epilogue?.operands ?? []).map((o) => o.buffer);
  const inputs = [0, 1, 2, 3].map((input) => ({ input }));
  const groups = Math.ceil(rows / (threads / lanes * own));
  const fields = { rows, k: inner, words, blocks, last: sizeOf(x.shape) - 1 };
  const made = flatDispatch({
    program,
    buffers: [...inputs, ...operands, { output: 0 }],
    params: [groups],
    groups: true,
  }, profile);
  return { ...made, params: wordsOf(program, fields) };
}

/** Returns the greatest power of two that is not greater. */
function powerBelow(count: number): number {
  return 2 ** Math.floor(Math.log2(count));
}
