/**
 * Reductions on the GPU. A reduction becomes passes over one group of axes each; a pass with few results is split in
 * two, the first of which leaves partial results. `strided`: an invocation per (partial) result, for columns and for
 * software adapters. `rows`: a workgroup per (partial) row.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  workgroupFor,
} from "../../core/dispatch.ts";
import { accType, gpuBytes } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import { NdArray } from "../../core/nd_array.ts";
import { hasComplex, inParts } from "../pointwise/complex_problem.ts";
import { printEpilogue } from "../matmul/epilogue.ts";
import type { Epilogue } from "../../core/fusion.ts";
import type { ReduceMeaning, ReduceOp } from "../../core/meaning.ts";
import { axesOf, type Line, type ReduceLayout, reduceLayout } from "./layout.ts";
import { rowsProgram, type Step, stridedProgram, type Wide } from "./programs.ts";
import { flatDispatch } from "../dispatches.ts";
import { indexWords } from "../pointwise/layout.ts";
import { printSource, sourceLayout } from "./source.ts";
import { type Prologue, type ReduceTask, reduceTask } from "./task.ts";
import { gpuFits } from "../copy/pieces.ts";
import { type Combine, identityText, LOOP_LIMIT } from "./wgsl.ts";
import { COLUMN_RESULTS, FAR_ELEMENTS, REDUCE_ELEMENTS, thresholdsOf } from "../thresholds.ts";

const COMBINE: Readonly<Record<ReduceOp, Combine>> = {
  sum: "sum",
  mean: "sum",
  prod: "prod",
  max: "max",
  min: "min",
  any: "max",
  all: "min",
};

/** Length of the runs of rows of a large column reduction. */
const NEAR_ROWS = 32;

/** Most words of the uniform block for walks of operands. */
const MAX_WORDS = 48;

/** One dispatch of a reduction: the step, its source and its target. */
interface Work {
  readonly step: Omit<Step, "source" | "finish">;
  readonly prologue: Prologue | null;
  readonly epilogue: Epilogue | null;
  readonly source: BufferRef;
  readonly target: BufferRef;
  /** Element type of the result, for the epilogue. */
  readonly dtype: DType;
}

/** Input and output of a pass: `[outer, length, inner]` → `[outer, parts, inner]`. */
interface Extents extends Line {
  readonly parts: number;
}

interface Pass extends Extents {
  /** Number of interleaved parts, which divides the number of parts. */
  readonly stripe: number;
}

const SINGLE: Wide = { axis: "none", width: 1 };

/** Returns variants for one reduction: the adapter's preference, and each kind of kernel by itself. */
export function reduceVariants(reduction: ReduceMeaning): GpuVariant[] {
  const { op } = reduction, makeTask = reduceTask(reduction);
  const taskOf = (problem: Problem): ReduceTask | null => {
    const own = hasComplex(problem) ? ofParts(reduction, problem) : problem;
    return own && makeTask(own);
  };
  const fits = (problem: Problem, profile: Profile): boolean => {
    const task = taskOf(problem);
    if (task === null || !gpuFits(problem, profile)) return false;
    const { dtype, prologue } = task;
    // Integer means divide exactly on the host.
    return !(op === "mean" && accType(dtype) !== "f32") &&
      (prologue === null || indexWords(sourceLayout(prologue, 1)).length <= MAX_WORDS);
  };
  return [
    {
      name: "rows",
      complex: "too",
      fits: (problem, profile) => profile.barriers && fits(problem, profile),
      plan: (problem, profile) => planReduction(taskOf(problem)!, profile, true),
    },
    {
      name: "strided",
      complex: "too",
      fits,
      plan: (problem, profile) => planReduction(taskOf(problem)!, profile, false),
    },
  ];
}

/** Returns the reduction of the parts of complex numbers, an innermost axis that stays; null where these do not go apart. */
function ofParts({ op, term, finish }: ReduceMeaning, problem: Problem): Problem | null {
  const { inputs: [x, axes], hosts: [, given], outputs: [out] } = problem;
  if (op !== "sum" && op !== "mean" || term || finish || given === undefined) return null;
  const list = axesOf(given, x.shape.length), shape = [list.length];
  return {
    ...problem,
    inputs: [inParts(x), { ...axes, shape }],
    hosts: [undefined, new NdArray("int32", shape, Int32Array.from(list))],
    outputs: [inParts(out)],
  };
}

function planReduction(task: ReduceTask, profile: Profile, workgroups: boolean): GpuPlan {
  const { op, out } = task;
  if (sizeOf(out.shape) === 0) return { dispatches: [] };
  const layout = reduceLayout(task.shape, axesOf(task.axes, task.shape.length));
  // Only elements that are words in memory are loaded by eights.
  const words = task.prologue === null && gpuBytes(task.dtype) === 4;
  const own = words ? profile : { ...profile, words64: false };
  const passes = passesOf(layout, own, workgroups);
  const type = accType(task.dtype);
  const temps: number[] = [];
  const dispatches: Dispatch[] = [];
  let source: BufferRef = { input: 0 };
  passes.forEach((pass, k) => {
    const last = k === passes.length - 1;
    const target: BufferRef = last ? { output: 0 } : { temp: temps.length };
    if (!last) temps.push(pass.outer * pass.parts * pass.inner * 4);
    const useRows = workgroups && pass.inner === 1 && pass.length >= 64;
    const work: Work = {
      step: {
        combine: COMBINE[op],
        type,
        identity: op === "all" ? "1u" : identityText(COMBINE[op], type),
        from: k === 0 ? task.dtype : null,
        to: last ? out.dtype : null,
        // An empty mean is NaN.
        count: last && op === "mean" ? layout.count || NaN : null,
      },
      prologue: k === 0 ? task.prologue : null,
      epilogue: last ? task.epilogue : null,
      source,
      target,
      dtype: task.dtype,
    };
    dispatches.push((useRows ? rowsDispatch : stridedDispatch)(work, pass, own));
    source = target;
  });
  return { dispatches, temps };
}

function passesOf({ dims, reduced }: ReduceLayout, profile: Profile, workgroups: boolean): Pass[] {
  const passes: Pass[] = [];
  let inner = 1;
  for (let d = dims.length - 1; d >= 0; d--) {
    if (!reduced[d]) {
      inner *= dims[d];
      continue;
    }
    const line = { outer: sizeOf(dims.slice(0, d)), length: dims[d], inner };
    const parts = partsOf(line, profile, workgroups), extents = { ...line, parts };
    passes.push({ ...extents, stripe: stripeOf(extents, profile) });
    if (parts > 1) passes.push({ ...line, length: parts, parts: 1, stripe: 1 });
  }
  // Without reduced axes: a pass over an axis of extent 1 copies (and divides by 1).
  if (passes.length === 0) passes.push({ outer: 1, length: 1, inner, parts: 1, stripe: 1 });
  return passes;
}

/** Returns the number of parts of an axis that keeps the adapter busy. */
function partsOf(line: Line, profile: Profile, workgroups: boolean): number {
  const { outer, length, inner } = line, results = outer * inner;
  if (profile.barriers && workgroups && inner === 1) {
    if (results >= 64 || length < 8192) return 1;
    return Math.min(Math.ceil(length / 4096), Math.ceil(512 / results));
  }
  const { barriers } = profile;
  const { invocations: wanted, partTerms: atLeast, oneDispatchTerms } = thresholdsOf(profile);
  // The loop takes four elements at a time.
  const needed = Math.max(1, Math.ceil(length / (4 * LOOP_LIMIT)));
  let parts = needed;
  // One invocation finishes these before a second dispatch begins.
  if (length <= oneDispatchTerms) return needed;
  if (results < wanted && length >= 2 * atLeast) {
    parts = Math.max(
      needed,
      Math.min(Math.floor(length / atLeast), Math.ceil(2 * wanted / results)),
    );
  } else if (!barriers && inner > 1 && length * inner >= FAR_ELEMENTS) {
    // Rows that are read soon after each other stay in the cache.
    parts = Math.max(needed, Math.ceil(length / NEAR_ROWS));
  }
  const stripe = stripeOf({ ...line, parts }, profile);
  return Math.ceil(parts / stripe) * stripe;
}

/** Returns the number of interleaved parts, so that neighbouring invocations read neighbouring elements. */
function stripeOf(pass: Extents, { barriers, lanes, words64 }: Profile): number {
  const { axis, width } = wideOf(pass, words64);
  const columns = axis === "inner" ? pass.inner / width : pass.inner;
  return Math.min(pass.parts, Math.ceil((barriers ? 64 : lanes) / columns));
}

/** Returns the elements that an invocation takes together. */
function wideOf({ outer, length, inner, parts }: Extents, eights: boolean): Wide {
  if (inner % 4 === 0) {
    const eight = eights && inner % 8 === 0 && outer * inner >= COLUMN_RESULTS;
    return { axis: "inner", width: eight ? 8 : 4 };
  }
  if (inner > 1 || length % 4 !== 0 || length < 8 * parts) return SINGLE;
  // Few elements gain nothing, and every other batch size would need another program.
  const eight = eights && length % 8 === 0 && length >= 16 * parts &&
    outer * length >= REDUCE_ELEMENTS;
  return { axis: "length", width: eight ? 8 : 4 };
}

/** Prints the texts of a step: `width` elements are read at once, `stored` results written. */
function printStep(work: Work, width: Wide["width"], stored: 1 | 4): Step {
  const { step, prologue, epilogue, dtype } = work;
  const source = prologue && printSource(prologue, sourceLayout(prologue, width));
  const first = source?.inputs.length ?? 1;
  return {
    ...step,
    source,
    finish: epilogue && printEpilogue(epilogue, dtype, step.to!, stored, first),
  };
}

/** Returns the elements that a program may take at once, at most `width`. */
function widthOf({ prologue }: Work, width: Wide["width"]): Wide["width"] {
  return prologue && sourceLayout(prologue, width).wide < width ? 1 : width;
}

function buffersOf({ prologue, epilogue, source, target }: Work): BufferRef[] {
  const operands = epilogue?.operands.map((o) => o.buffer) ?? [];
  return [...(prologue?.buffers ?? [source]), ...operands, target];
}

/** Returns the words after those of the kind of kernel. */
function wordsOf({ step, prologue }: Work, width: Wide["width"]): number[] {
  const walk = prologue ? indexWords(sourceLayout(prologue, width)) : [];
  return [f32Bits(step.count ?? 1), ...walk];
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
  const work: Work = {
    step: {
      combine: "sum",
      type: "f32",
      identity: identityText("sum", "f32"),
      from: null,
      to: dtype,
      count: null,
    },
    prologue: null,
    epilogue: null,
    source,
    target,
    dtype: "float32",
  };
  const pass: Pass = { outer: 1, length: parts, inner: columns, parts: 1, stripe: 1 };
  return stridedDispatch(work, pass, profile);
}

function stridedDispatch(work: Work, pass: Pass, profile: Profile): Dispatch {
  const { outer, length, inner, parts, stripe } = pass;
  const { step, epilogue } = work;
  const halves = step.from === "float16" || step.to === "float16";
  const wanted = wideOf(pass, profile.words64 && !halves && epilogue === null);
  const wide = widthOf(work, wanted.width) === wanted.width ? wanted : SINGLE;
  const { axis, width } = wide;
  const columns = axis === "inner" ? inner / width : inner;
  const rows = axis === "length" ? length / width : length;
  const threads = outer * parts * columns;
  const chunk = Math.ceil(rows / Math.ceil(parts / stripe));
  const workgroup = profile.barriers && threads >= 65536 ? 256 : workgroupFor(threads, profile);
  const printed = printStep(work, width, axis === "inner" ? 4 : 1);
  return flatDispatch({
    program: stridedProgram(printed, wide, workgroup),
    buffers: buffersOf(work),
    params: [threads, columns, rows, parts, stripe, chunk, ...wordsOf(work, width)],
  }, profile);
}

function rowsDispatch(work: Work, pass: Pass, profile: Profile): Dispatch {
  const width = widthOf(work, pass.length % 4 === 0 ? 4 : 1);
  const length = pass.length / width;
  const groups = pass.outer * pass.parts;
  const workgroup = length >= 256 ? 256 : 64;
  return flatDispatch({
    program: rowsProgram(printStep(work, width, 1), width, workgroup),
    buffers: buffersOf(work),
    params: [groups, length, pass.parts, ...wordsOf(work, width)],
    groups: true,
  }, profile);
}
