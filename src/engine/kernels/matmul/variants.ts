/** Matrix products on the GPU: the variants of MatMul and BatchMatMul. */
import type { GpuVariant, Profile } from "../../core/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { epilogueOf } from "../../core/fusion.ts";
import { GPU_DTYPES } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { chooseKernel, type KernelChoice, planMatMul } from "./plan.ts";
import { pieces } from "./pieces.ts";
import { matMulShape } from "./shape.ts";
import { type MatMulTask, MOST_NORMED } from "./source.ts";

/** Makes the task of a problem's product. */
export function matMulTask(problem: Problem): MatMulTask {
  const { inputs: [a, b], outputs: [out], attrs } = problem;
  const transA = Boolean(attrs.transpose_a ?? attrs.adj_x),
    transB = Boolean(attrs.transpose_b ?? attrs.adj_y);
  return {
    shape: matMulShape(a.shape, b.shape, out.shape, transA, transB),
    dtype: a.dtype,
    out: out.dtype,
    a: { input: 0 },
    b: { input: 1 },
    c: { output: 0 },
    epilogue: epilogueOf(problem) ?? undefined,
  };
}

/** True where an adapter binds the operands of a product's epilogue, and each has the expected number of elements. */
export function mayEnd(problem: Problem, { maxBuffers }: Profile): boolean {
  return epilogueOf(problem) !== undefined && problem.inputs.length < maxBuffers;
}

const isFloat = (dtype: DType): boolean => dtype === "float32" || dtype === "float16";

/** True where the GPU can multiply elements of this dtype, and bind the matrices in pieces. */
export function matMulFits(problem: Problem, profile: Profile): boolean {
  const { dtype } = problem.inputs[0];
  return dtype !== "bool" && GPU_DTYPES.includes(dtype) && mayEnd(problem, profile) &&
    pieces(matMulTask(problem), profile.maxBinding) !== null;
}

function variant(kind: KernelChoice["kind"]): GpuVariant {
  return {
    name: `matmul_${kind}`,
    fits: (problem, profile) =>
      matMulFits(problem, profile) && chooseKernel(matMulTask(problem), profile).kind === kind,
    plan: (problem, profile) => planMatMul(matMulTask(problem), profile),
  };
}

/** Makes the task of a problem's product of rows that it normalizes. */
function normedTask({ inputs, ...problem }: Problem): MatMulTask {
  const [x, scale, offset, b, ...more] = inputs;
  const { epsilon } = problem.attrs;
  // As of a product whose operands come first, and scale and offset behind them.
  const task = matMulTask({ ...problem, inputs: [x, b, scale, offset, ...more] });
  return {
    ...task,
    b: { input: 3 },
    norm: { scale: { input: 1 }, offset: { input: 2 }, epsilon },
  };
}

/** Variants of products of normalized rows: of few, whose sums are whole. */
export const NORMED_VARIANTS: readonly GpuVariant[] = [{
  name: "matmul_normed",
  fits: (problem, profile) => {
    const task = normedTask(problem), { shape: { m, k, batch }, dtype } = task;
    const isFew = batch === 1 && m <= MOST_NORMED && k > 0;
    if (!isFew || !isFloat(dtype) || !mayEnd(problem, profile)) return false;
    const list = pieces(task, profile.maxBinding);
    return list !== null && list.every(({ first, last }) => first && last);
  },
  plan: (problem, profile) => planMatMul(normedTask(problem), profile),
}];

/** Variants of MatMul and BatchMatMul; exactly one of them fits a problem. */
export const MATMUL_VARIANTS: readonly GpuVariant[] =
  (["shared", "register", "columns", "dot"] as const).map(variant);
