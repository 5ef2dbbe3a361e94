/**
 * Reductions on the GPU. A reduction becomes passes over one group of axes each; a pass with few results is split in two,
 * the first of which leaves partial results. `strided`: an invocation per (partial) result, for columns and for software
 * adapters. `rows`: a workgroup per (partial) row.
 * May import core.
 */
import type { DType } from "../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
  type Program,
  wgslType,
  workgroupFor,
} from "../core/dispatch.ts";
import type { Problem } from "../core/op.ts";
import { sizeOf } from "../core/shape.ts";
import type { ReduceOp } from "./reduce_cpu.ts";
import { axesOf, reduceLayout } from "./reduce_layout.ts";
import {
  type Element,
  rowsProgram,
  type Step,
  stridedProgram,
  type Wide,
} from "./reduce_programs.ts";
import { accType, type Combine, fitsGpu, identityText, LOOP_LIMIT } from "./reduce_wgsl.ts";

const COMBINE: Readonly<Record<ReduceOp, Combine>> = {
  sum: "sum",
  mean: "sum",
  prod: "prod",
  max: "max",
  min: "min",
  any: "max",
  all: "min",
};

/** Elements of a column reduction on a software adapter from which its rows are taken in runs, and the length of a run. */
const FAR = 2 ** 18;
const NEAR_ROWS = 32;

/** One pass: `[outer, length, inner]` → `[outer, parts, inner]`. */
interface Pass {
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
  readonly parts: number;
}

const cache = new Map<string, Program>();

/** Variants for one reduction: as the adapter likes best, and each kind of kernel by itself. */
export function reduceVariants(op: ReduceOp): GpuVariant[] {
  const fits = (problem: Problem, profile: Profile): boolean =>
    fitsGpu([problem.inputs[0], problem.outputs[0]], profile) &&
    // Integer means divide exactly on the host.
    !(op === "mean" && accType(problem.inputs[0].dtype) !== "f32");
  return [
    {
      name: "rows",
      fits: (problem, profile) => profile.family === "gpu" && fits(problem, profile),
      plan: (problem, profile) => planReduction(op, problem, profile, true),
    },
    {
      name: "strided",
      fits,
      plan: (problem, profile) => planReduction(op, problem, profile, false),
    },
  ];
}

function planReduction(
  op: ReduceOp,
  problem: Problem,
  profile: Profile,
  workgroups: boolean,
): GpuPlan {
  const [x] = problem.inputs, [out] = problem.outputs;
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const layout = reduceLayout(x.shape, axesOf(problem.hosts[1]!, x.shape.length));
  const passes = passesOf(layout.dims, layout.reduced, profile, workgroups);
  const type = accType(x.dtype);
  const partial: Element = { storage: type, dtype: null };
  const temps: number[] = [];
  const dispatches: Dispatch[] = [];
  let source: BufferRef = { input: 0 };
  passes.forEach((pass, k) => {
    const last = k === passes.length - 1;
    const step: Step = {
      combine: COMBINE[op],
      type,
      identity: op === "all" ? "1u" : identityText(COMBINE[op], type),
      from: k === 0 ? { storage: wgslType(x.dtype), dtype: x.dtype } : partial,
      to: last ? { storage: wgslType(out.dtype), dtype: out.dtype } : partial,
      // A mean of nothing is NaN.
      count: last && op === "mean" ? layout.count || NaN : null,
    };
    const target: BufferRef = last ? { output: 0 } : { temp: temps.length };
    if (!last) temps.push(pass.outer * pass.parts * pass.inner * 4);
    const useRows = workgroups && pass.inner === 1 && pass.length >= 64;
    dispatches.push(
      (useRows ? rowsDispatch : stridedDispatch)(step, pass, source, target, profile),
    );
    source = target;
  });
  return { dispatches, temps };
}

function passesOf(
  dims: readonly number[],
  reduced: readonly boolean[],
  profile: Profile,
  workgroups: boolean,
): Pass[] {
  const passes: Pass[] = [];
  let inner = 1;
  for (let d = dims.length - 1; d >= 0; d--) {
    if (!reduced[d]) {
      inner *= dims[d];
      continue;
    }
    const outer = dims.slice(0, d).reduce((a, b) => a * b, 1);
    const length = dims[d];
    const parts = partsOf(outer, length, inner, profile, workgroups);
    passes.push({ outer, length, inner, parts });
    if (parts > 1) passes.push({ outer, length: parts, inner, parts: 1 });
  }
  // Nothing to reduce: a pass over an axis of extent 1 copies (and divides by 1).
  if (passes.length === 0) passes.push({ outer: 1, length: 1, inner, parts: 1 });
  return passes;
}

/** Into how many parts to split an axis so that the adapter has enough to do. */
function partsOf(
  outer: number,
  length: number,
  inner: number,
  profile: Profile,
  workgroups: boolean,
): number {
  const results = outer * inner;
  if (profile.family === "gpu" && workgroups && inner === 1) {
    if (results >= 64 || length < 8192) return 1;
    return Math.min(Math.ceil(length / 4096), Math.ceil(512 / results));
  }
  const software = profile.family === "software";
  const wanted = software ? 64 : 16384, atLeast = software ? 64 : 16;
  // The loop takes four elements at a time.
  const needed = Math.max(1, Math.ceil(length / (4 * LOOP_LIMIT)));
  let parts = needed;
  // One invocation gets through this much faster than a second dispatch begins.
  if (length <= (software ? 1024 : 256)) return needed;
  if (results < wanted && length >= 2 * atLeast) {
    parts = Math.max(
      needed,
      Math.min(Math.floor(length / atLeast), Math.ceil(2 * wanted / results)),
    );
  } else if (software && inner > 1 && length * inner >= FAR) {
    // Rows that are read soon after each other stay in the cache.
    parts = Math.max(needed, Math.ceil(length / NEAR_ROWS));
  }
  const stripe = stripeOf(inner % 4 === 0 ? inner / 4 : inner, parts, profile);
  return Math.ceil(parts / stripe) * stripe;
}

/** Parts that lie interleaved, so that neighbouring invocations read neighbouring elements. */
function stripeOf(columns: number, parts: number, profile: Profile): number {
  return Math.min(parts, Math.ceil((profile.family === "software" ? profile.lanes : 64) / columns));
}

function cached(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}

function stepKey(step: Step): string {
  return `${step.combine},${step.identity},${step.from.storage},${step.to.storage},${
    step.count !== null
  }`;
}

function countWord(step: Step): number {
  return f32Bits(step.count ?? 1);
}

/** Sums partial float32 results `[parts, columns]` over the first axis into a tensor of this dtype. */
export function sumRowsDispatch(
  parts: number,
  columns: number,
  dtype: DType,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const step: Step = {
    combine: "sum",
    type: "f32",
    identity: identityText("sum", "f32"),
    from: { storage: "f32", dtype: null },
    to: { storage: wgslType(dtype), dtype },
    count: null,
  };
  return stridedDispatch(
    step,
    { outer: 1, length: parts, inner: columns, parts: 1 },
    source,
    target,
    profile,
  );
}

function stridedDispatch(
  step: Step,
  pass: Pass,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const { outer, length, inner, parts } = pass;
  const wide: Wide = inner % 4 === 0
    ? "inner"
    : inner === 1 && length % 4 === 0 && length >= 8 * parts
    ? "length"
    : "none";
  const columns = wide === "inner" ? inner / 4 : inner;
  const rows = wide === "length" ? length / 4 : length;
  const threads = outer * parts * columns;
  const stripe = stripeOf(columns, parts, profile);
  const chunk = Math.ceil(rows / Math.ceil(parts / stripe));
  const workgroup = profile.family === "gpu" && threads >= 65536
    ? 256
    : workgroupFor(threads, profile);
  const program = cached(
    `s,${stepKey(step)},${wide},${workgroup}`,
    () => stridedProgram(step, wide, workgroup),
  );
  return {
    program,
    buffers: [source, target],
    params: [threads, columns, rows, parts, stripe, chunk, countWord(step)],
    grid: gridFor(threads, workgroup, profile),
  };
}

function rowsDispatch(
  step: Step,
  pass: Pass,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const width = pass.length % 4 === 0 ? 4 : 1;
  const length = pass.length / width;
  const groups = pass.outer * pass.parts;
  const workgroup = length >= 256 ? 256 : 64;
  const program = cached(
    `r,${stepKey(step)},${width},${workgroup}`,
    () => rowsProgram(step, width, workgroup),
  );
  return {
    program,
    buffers: [source, target],
    params: [groups, length, pass.parts, countWord(step)],
    grid: gridFor(groups, 1, profile),
  };
}
