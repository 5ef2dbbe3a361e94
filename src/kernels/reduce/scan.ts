/**
 * Running sums and products on the GPU. `serial`: an invocation per line. `chunked`: lines cut in chunks, whose totals are
 * scanned first. `workgroup`: a workgroup per line or chunk of it, for lines that lie contiguous in memory.
 */
import {
  type BufferRef,
  type Dispatch,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  type Profile,
} from "../../core/dispatch.ts";
import { type AccType, accType, isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { SCAN_LINE, SCAN_TILES, SCAN_TOTALS } from "../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import type { ScanOp } from "../../core/meaning.ts";
import { axesOf, type Line, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT } from "./wgsl.ts";
import { thresholdsOf } from "../thresholds.ts";

/** As in shaders/scan/tiles.wgsl. */
const WORKGROUP = 256;
/** Elements a workgroup takes at once: four an invocation. */
const TILE = 4 * WORKGROUP;

interface Scan {
  readonly op: ScanOp;
  readonly dtype: DType;
  readonly type: AccType;
  readonly exclusive: boolean;
  readonly reverse: boolean;
  readonly line: Line;
}

/** Variants of a running sum or product. */
export function scanVariants(op: ScanOp): GpuVariant[] {
  const describe = (problem: Problem): Scan => {
    const [x] = problem.inputs;
    const { exclusive, reverse } = problem.attrs;
    const [axis] = axesOf(problem.hosts[1]!, x.shape.length);
    return {
      op,
      dtype: x.dtype,
      type: accType(x.dtype),
      exclusive,
      reverse,
      line: lineOf(x.shape, axis),
    };
  };
  const fits = (problem: Problem, profile: Profile): boolean =>
    fitsGpu([problem.inputs[0], problem.outputs[0]], profile);
  return [
    {
      name: "workgroup",
      fits: (problem, profile) => {
        if (!profile.barriers || !fits(problem, profile)) return false;
        const { line } = describe(problem);
        return line.inner === 1 && line.length >= 128;
      },
      plan: (problem, profile) => planWorkgroup(describe(problem), profile),
    },
    {
      name: "chunked",
      fits: (problem, profile) =>
        fits(problem, profile) && chunksOf(describe(problem).line, profile) > 1,
      plan: (problem, profile) => planChunked(describe(problem), profile),
    },
    {
      name: "serial",
      fits: (problem, profile) =>
        fits(problem, profile) && describe(problem).line.length <= LOOP_LIMIT,
      plan: (problem, profile) => planSerial(describe(problem), profile),
    },
  ];
}

function chunksOf({ outer, length, inner }: Line, profile: Profile): number {
  const lines = outer * inner, { lines: wanted } = thresholdsOf(profile);
  const needed = Math.ceil(length / LOOP_LIMIT);
  if (lines * 4 > wanted || length < 256) return needed;
  return Math.max(needed, Math.min(Math.ceil(wanted / lines), Math.floor(length / 32)));
}

function isEmpty(line: Line): boolean {
  return line.outer * line.length * line.inner === 0;
}

interface LineStep {
  /** Where the running value starts; null: at the identity. */
  readonly init: BufferRef | null;
  /** `scan` writes every element, `total` only the end. */
  readonly write: "scan" | "total";
  readonly exclusive: boolean;
  /** float16 tensors are widened; partial results are not. */
  readonly from: DType | null;
  readonly to: DType | null;
}

function planSerial(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const step: LineStep = {
    init: null,
    write: "scan",
    exclusive: scan.exclusive,
    from: scan.dtype,
    to: scan.dtype,
  };
  return {
    dispatches: [lineDispatch(scan, scan.line, 1, step, { input: 0 }, { output: 0 }, profile)],
  };
}

function planChunked(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const wanted = Math.max(2, chunksOf(scan.line, profile));
  const length = Math.ceil(scan.line.length / wanted),
    chunks = Math.ceil(scan.line.length / length);
  const totals: Line = { outer: scan.line.outer, length: chunks, inner: scan.line.inner };
  const bytes = totals.outer * chunks * totals.inner * 4;
  const { dtype, exclusive } = scan;
  return {
    temps: [bytes, bytes],
    dispatches: [
      lineDispatch(
        scan,
        scan.line,
        chunks,
        { init: null, write: "total", exclusive: false, from: dtype, to: null },
        { input: 0 },
        { temp: 0 },
        profile,
      ),
      lineDispatch(
        scan,
        totals,
        1,
        { init: null, write: "scan", exclusive: true, from: null, to: null },
        { temp: 0 },
        { temp: 1 },
        profile,
      ),
      lineDispatch(
        scan,
        scan.line,
        chunks,
        { init: { temp: 1 }, write: "scan", exclusive, from: dtype, to: dtype },
        { input: 0 },
        { output: 0 },
        profile,
      ),
    ],
  };
}

function lineDispatch(
  scan: Scan,
  line: Line,
  chunks: number,
  step: LineStep,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const threads = line.outer * chunks * line.inner;
  const workgroup = profile.barriers ? 64 : profile.lanes;
  const buffers = step.init ? [source, step.init, target] : [source, target];
  const { op, type, reverse } = scan;
  return {
    program: shaderProgram(SCAN_LINE, {
      from: step.from === null ? type : wgslType(step.from),
      to: step.to === null ? type : wgslType(step.to),
      acc: type,
      product: op === "prod",
      reverse,
      exclusive: step.exclusive,
      total: step.write === "total",
      init: step.init !== null,
      halfFrom: step.from !== null && isHalf(step.from),
      halfTo: step.to !== null && isHalf(step.to),
      workgroup,
    }, { name: `scan_${op}_${step.write}` }),
    buffers,
    params: [threads, line.inner, line.length, chunks, Math.ceil(line.length / chunks)],
    grid: gridFor(threads, workgroup, profile),
  };
}

function planWorkgroup(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const { outer, length } = scan.line;
  const tiles = Math.ceil(length / TILE);
  const wanted = outer >= 64 ? 1 : Math.min(Math.ceil(256 / outer), Math.ceil(tiles / 2));
  // A chunk is whole tiles.
  const chunk = Math.ceil(tiles / wanted) * TILE, chunks = Math.ceil(length / chunk);
  const { dtype, exclusive } = scan;
  const whole: LineStep = { init: null, write: "scan", exclusive, from: dtype, to: dtype };
  if (chunks === 1) {
    return {
      dispatches: [tileDispatch(scan, chunk, 1, whole, { input: 0 }, { output: 0 }, profile)],
    };
  }
  const bytes = outer * chunks * 4;
  const totals: Line = { outer, length: chunks, inner: 1 };
  return {
    temps: [bytes, bytes],
    dispatches: [
      tileDispatch(scan, chunk, chunks, { ...whole, write: "total", to: null }, { input: 0 }, {
        temp: 0,
      }, profile),
      lineDispatch(
        scan,
        totals,
        1,
        { init: null, write: "scan", exclusive: true, from: null, to: null },
        { temp: 0 },
        { temp: 1 },
        profile,
      ),
      tileDispatch(scan, chunk, chunks, { ...whole, init: { temp: 1 } }, { input: 0 }, {
        output: 0,
      }, profile),
    ],
  };
}

function tileDispatch(
  scan: Scan,
  chunk: number,
  chunks: number,
  step: LineStep,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const groups = scan.line.outer * chunks;
  const { op, type, reverse } = scan, from = step.from!;
  const element = { from: wgslType(from), acc: type, product: op === "prod", half: isHalf(from) };
  return {
    program: step.write === "total"
      ? shaderProgram(SCAN_TOTALS, element, { name: `scan_${op}_totals` })
      : shaderProgram(SCAN_TILES, {
        ...element,
        reverse,
        exclusive: step.exclusive,
        init: step.init !== null,
      }, { name: `scan_${op}_tiles` }),
    buffers: step.init ? [source, step.init, target] : [source, target],
    params: [groups, scan.line.length, chunks, chunk],
    grid: gridFor(groups, 1, profile),
  };
}
