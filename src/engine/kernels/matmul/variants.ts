/** Matrix products on the GPU: the variants of MatMul and BatchMatMul. */
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { epilogueOf, inputOf } from "../../core/fusion.ts";
import { GPU_DTYPES, gpuBytes } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { chooseKernel, type KernelChoice, planMatMul } from "./plan.ts";
import { type Piece, pieces } from "./pieces.ts";
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
    ...b.dtype !== a.dtype && { dtypeB: b.dtype },
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

/** True where a product in so many pieces can write what it shall: of one row in one piece, whole vectors. */
function mayWrite(
  { shape, epilogue, out }: MatMulTask,
  pieces: number,
  maxBinding: number,
): boolean {
  const write = epilogue?.write;
  if (write === undefined) return true;
  const { m, n, batch } = shape, { from, width, rows } = write;
  const isWhole = n % 4 !== 0 || from % 4 === 0 && width % 4 === 0;
  return pieces === 1 && m === 1 && batch === 1 && isWhole &&
    rows * width * gpuBytes(out) <= maxBinding;
}

/** Plans a product, and says what it writes besides its result. */
function planOf(task: MatMulTask, profile: Profile): GpuPlan {
  const plan = planMatMul(task, profile), write = task.epilogue?.write;
  return write ? { ...plan, changes: [inputOf(write.into)] } : plan;
}

const isFloat = (dtype: DType): boolean => dtype === "float32" || dtype === "float16";

/** True where the GPU can multiply elements of this dtype, and bind the matrices in pieces. */
export function matMulFits(problem: Problem, profile: Profile): boolean {
  const [{ dtype }] = problem.inputs;
  return dtype !== "bool" && GPU_DTYPES.includes(dtype) && mayEnd(problem, profile) &&
    piecesOf(matMulTask(problem), profile) !== null;
}

/** Returns the pieces of a product; null where it cannot be bound so, or not write what it shall. */
function piecesOf(task: MatMulTask, { maxBinding }: Profile): Piece[] | null {
  const list = pieces(task, maxBinding);
  return list && mayWrite(task, list.length, maxBinding) ? list : null;
}

function variant(kind: KernelChoice["kind"]): GpuVariant {
  return {
    name: `matmul_${kind}`,
    fits: (problem, profile) =>
      matMulFits(problem, profile) && chooseKernel(matMulTask(problem), profile).kind === kind,
    plan: (problem, profile) => planOf(matMulTask(problem), profile),
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
    return piecesOf(task, profile)?.every(({ first, last }) => first && last) === true;
  },
  plan: (problem, profile) => planOf(normedTask(problem), profile),
}];

/** Variants of MatMul and BatchMatMul; exactly one of them fits a problem. */
export const MATMUL_VARIANTS: readonly GpuVariant[] =
  (["shared", "register", "columns", "dot"] as const).map(variant);
