/**
 * Running sums and products on the GPU. `serial`: an invocation per line. `chunked`: lines cut in chunks, whose totals
 * are scanned first. `workgroup`: a workgroup per line or chunk of it, for lines that are contiguous in memory.
 */
import type { BufferRef, Dispatch, GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { type AccType, accType, isHalf, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { SCAN_LINE, SCAN_TILES, SCAN_TOTALS } from "../../../shaders_generated.ts";
import type { Problem } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import type { ScanOp } from "../../core/meaning.ts";
import { partsOf, partType } from "../pointwise/complex_problem.ts";
import { describedVariant } from "../copy/pieces.ts";
import { flatDispatch } from "../dispatches.ts";
import { type Line, lineIn } from "./layout.ts";
import { LOOP_LIMIT } from "./wgsl.ts";
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

function scanOf(op: ScanOp, problem: Problem): Scan {
  const { inputs: [{ dtype: given }], attrs: { exclusive, reverse } } = problem;
  const { inner, ...line } = lineIn(problem, 1), dtype = partType(given);
  const own = { op, dtype, type: accType(dtype), exclusive, reverse };
  return { ...own, line: { ...line, inner: partsOf(given) * inner } };
}

export function scanVariants(op: ScanOp): GpuVariant[] {
  const variant = describedVariant(
    (problem) => scanOf(op, problem),
    ({ line: { outer, length, inner } }) => outer * length * inner,
  );
  const variants = [
    variant(
      "workgroup",
      ({ line: { inner, length } }, { barriers }) => barriers && inner === 1 && length >= 128,
      planWorkgroup,
    ),
    variant("chunked", ({ line }, profile) => chunksOf(line, profile) > 1, planChunked),
    variant("serial", ({ line: { length } }) => length <= LOOP_LIMIT, (scan, profile) => ({
      dispatches: [lineDispatch(scan, scan.line, 1, wholeStep(scan), profile)],
    })),
  ];
  // The parts of a sum are sums of the parts.
  return op === "sum" ? variants.map((v) => ({ ...v, complex: "too" as const })) : variants;
}

function chunksOf({ outer, length, inner }: Line, profile: Profile): number {
  const lines = outer * inner, { lines: wanted } = thresholdsOf(profile);
  const needed = Math.ceil(length / LOOP_LIMIT);
  if (lines * 4 > wanted || length < 256) return needed;
  return Math.max(needed, Math.min(Math.ceil(wanted / lines), Math.floor(length / 32)));
}

/** A dispatch over lines. */
interface LineStep {
  readonly source: BufferRef;
  readonly target: BufferRef;
  /** Initial values. Default: the identity. */
  readonly init?: BufferRef;
  /** `scan` writes every element, `total` only the end. */
  readonly write: "scan" | "total";
  readonly exclusive: boolean;
  /** Element types of tensors: float16 is widened; null for partial results, which are not. */
  readonly from: DType | null;
  readonly to: DType | null;
}

/** Makes the step from the input to the output. */
function wholeStep({ exclusive, dtype }: Scan): LineStep {
  const ends = { source: { input: 0 }, target: { output: 0 } };
  return { ...ends, write: "scan", exclusive, from: dtype, to: dtype };
}

/** Finds the total of each chunk, scans these, and scans the chunks from there. */
function inChunks(
  scan: Scan,
  totals: Line,
  profile: Profile,
  overChunks: (step: LineStep) => Dispatch,
): GpuPlan {
  const whole = wholeStep(scan), bytes = totals.outer * totals.length * totals.inner * 4;
  const between = { source: { temp: 0 }, target: { temp: 1 }, from: null, to: null };
  return {
    temps: [bytes, bytes],
    dispatches: [
      overChunks({ ...whole, target: { temp: 0 }, write: "total", exclusive: false, to: null }),
      lineDispatch(scan, totals, 1, { ...between, write: "scan", exclusive: true }, profile),
      overChunks({ ...whole, init: { temp: 1 } }),
    ],
  };
}

function planChunked(scan: Scan, profile: Profile): GpuPlan {
  const { line } = scan, wanted = Math.max(2, chunksOf(line, profile));
  const chunks = Math.ceil(line.length / Math.ceil(line.length / wanted));
  return inChunks(
    scan,
    { ...line, length: chunks },
    profile,
    (step) => lineDispatch(scan, line, chunks, step, profile),
  );
}

function planWorkgroup(scan: Scan, profile: Profile): GpuPlan {
  const { outer, length } = scan.line, tiles = Math.ceil(length / TILE);
  const wanted = outer >= 64 ? 1 : Math.min(Math.ceil(256 / outer), Math.ceil(tiles / 2));
  // A chunk is whole tiles.
  const chunk = Math.ceil(tiles / wanted) * TILE, chunks = Math.ceil(length / chunk);
  const overChunks = (step: LineStep): Dispatch => tileDispatch(scan, chunk, chunks, step, profile);
  return chunks === 1
    ? { dispatches: [overChunks(wholeStep(scan))] }
    : inChunks(scan, { outer, length: chunks, inner: 1 }, profile, overChunks);
}

function buffersOf({ source, init, target }: LineStep): BufferRef[] {
  return init ? [source, init, target] : [source, target];
}

/** Dispatches an invocation for each chunk of a line. */
function lineDispatch(
  { op, type, reverse }: Scan,
  { outer, length, inner }: Line,
  chunks: number,
  step: LineStep,
  profile: Profile,
): Dispatch {
  const { from, to, exclusive, write, init } = step;
  const workgroup = profile.barriers ? 64 : profile.lanes;
  return flatDispatch({
    program: shaderProgram(SCAN_LINE, {
      from: from === null ? type : wgslType(from),
      to: to === null ? type : wgslType(to),
      acc: type,
      product: op === "prod",
      reverse,
      exclusive,
      total: write === "total",
      init: init !== undefined,
      halfFrom: from !== null && isHalf(from),
      halfTo: to !== null && isHalf(to),
      workgroup,
    }, { name: `scan_${op}_${write}` }),
    buffers: buffersOf(step),
    params: [outer * chunks * inner, inner, length, chunks, Math.ceil(length / chunks)],
  }, profile);
}

/** Dispatches a workgroup for each chunk of a line. */
function tileDispatch(
  { op, dtype, type, reverse, line }: Scan,
  chunk: number,
  chunks: number,
  step: LineStep,
  profile: Profile,
): Dispatch {
  const own = { from: wgslType(dtype), acc: type, product: op === "prod", half: isHalf(dtype) };
  const { exclusive } = step, init = step.init !== undefined;
  return flatDispatch({
    program: step.write === "total"
      ? shaderProgram(SCAN_TOTALS, own, { name: `scan_${op}_totals` })
      : shaderProgram(SCAN_TILES, { ...own, reverse, exclusive, init }, {
        name: `scan_${op}_tiles`,
      }),
    buffers: buffersOf(step),
    params: [line.outer * chunks, line.length, chunks, chunk],
    groups: true,
  }, profile);
}
