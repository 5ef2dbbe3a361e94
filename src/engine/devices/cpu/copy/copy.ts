/** Copies: transpose, slice, pad, tile, reverse and the like, from the `CopyMap` that the loops use too. */
import type { AxisMap, CopyMap, MeaningOf } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { inWords, mayFill, mergeAxes, stepOf } from "../../../kernels/copy/map.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import {
  type CopyRun,
  NOWHERE,
  prepareTables,
  type Segment,
  type Unit,
  unitsOf,
} from "./copy_rows.ts";
import { wordAt } from "./fill.ts";
import { turnRun } from "./copy_turn.ts";

/** Most entries of tables, which are kept as long as the kernel. */
const MOST_ENTRIES = 1 << 16;
/** Least extent of both sides of a block that is transposed. */
const TURN_AT_LEAST = 4;
/** A last axis of more segments gets a table. */
const MOST_SEGMENTS = 4;

/**
 * Prepares the kernel of an op that copies, or returns null where its axes are too long for tables. Elements that are no words are
 * copied as several words or bytes; those of float16 that are transposed are not, as blocks of float32 are quicker.
 */
export function prepareCopy(
  engine: Engine,
  problem: Problem,
  { from, map, fill }: MeaningOf<"copy">,
): FastRun | null {
  const [{ dtype }] = problem.outputs, { unit, count } = unitsOf(dtype);
  const elements = mergeAxes(map(problem));
  if (elements.axes.some((a) => a.dim === 0)) return () => {};
  const isTurned = dtype === "float16" && turnedAxis(elements) >= 0;
  if (isTurned || (count > 1 && fill !== undefined)) return null;
  const merged = count === 1 ? elements : mergeAxes(inWords(elements, count));
  const turn = turnedAxis(merged);
  const run = turn >= 0
    ? prepareTurn(engine, merged, turn, unit)
    : prepareRows(engine, merged, unit);
  if (run === null) return null;
  if (fill === undefined) return ([to], ins) => run(to, ins[from], 0);
  return ([to], ins) => run(to, ins[from], wordAt(engine.heap, dtype, ins[fill]));
}

/** Returns the axis along which the input is contiguous, where that is not the last: then blocks are transposed. */
function turnedAxis(map: CopyMap): number {
  const last = map.axes[map.axes.length - 1];
  if (mayFill(map) || last.rule !== "plain" || last.stride < 2 || last.dim < TURN_AT_LEAST) {
    return -1;
  }
  return map.axes.findIndex((a) => a.rule === "plain" && a.stride === 1 && a.dim >= TURN_AT_LEAST);
}

function prepareTurn(
  engine: Engine,
  { axes, base }: CopyMap,
  turned: number,
  unit: Unit,
): CopyRun {
  const turn = turnRun(engine, unit), last = axes.length - 1;
  const steps = axes.map((_, d) => axes.slice(d + 1).reduce((n, a) => n * a.dim, unit as number));
  const outer = axes.map((axis, d) => ({ axis, step: steps[d] }))
    .filter((_, d) => d !== turned && d !== last);
  const sizes = [axes[turned].dim, axes[last].dim, steps[turned], unit * axes[last].stride];
  return (to, from) => {
    const walk = (d: number, o: Pointer, p: Pointer): void => {
      if (d === outer.length) return void turn(o, p, ...sizes);
      const { axis, step } = outer[d];
      for (let c = 0; c < axis.dim; c++) {
        walk(d + 1, o + c * step, p + unit * axis.stride * stepOf(axis, c));
      }
    };
    walk(0, to, from + unit * base);
  };
}

function prepareRows(engine: Engine, { axes, base }: CopyMap, unit: Unit): CopyRun | null {
  const last = axes.length - 1;
  const segments = segmentsOf(axes[last], unit);
  const listed = segments ? axes.slice(0, last) : axes;
  if (listed.reduce((n, a) => n + a.dim, 0) > MOST_ENTRIES) return null;
  const tables = listed.map((axis) => tableOf(axis, unit));
  const copy = prepareTables(engine, { unit, tables, segments });
  return (to, from, fill) => copy(to, from + unit * base, fill);
}

/** Describes the last axis by a few segments, or returns null. */
function segmentsOf(axis: AxisMap, unit: Unit): Segment[] | null {
  const { dim, stride, rule } = axis;
  if (rule === "plain" && Math.abs(stride) < 2) {
    return [{ kind: stride === 0 ? "still" : stride > 0 ? "run" : "back", count: dim, offset: 0 }];
  }
  const segments: Segment[] = [];
  const isFilled = (step: number): boolean => rule === "window" && step < 0;
  for (let c = 0; c < dim;) {
    if (segments.length === MOST_SEGMENTS) return null;
    const first = stepOf(axis, c), filled = isFilled(first);
    let end = c + 1, way = 0;
    for (; end < dim; end++) {
      const step = stepOf(axis, end);
      if (filled !== isFilled(step)) break;
      if (end === c + 1 && !filled) way = step - first;
      if (!filled && step !== first + (end - c) * way) break;
    }
    const count = end - c, move = way * stride;
    if (Math.abs(move) > 1) return null;
    segments.push({
      kind: filled ? "fill" : move < 0 ? "back" : move > 0 || count === 1 ? "run" : "still",
      count,
      offset: filled ? 0 : unit * first * stride,
    });
    c = end;
  }
  return segments;
}

/** Returns the source offset of each coordinate, in bytes. */
function tableOf(axis: AxisMap, unit: Unit): Int32Array {
  return Int32Array.from({ length: axis.dim }, (_, c) => {
    const t = stepOf(axis, c);
    return axis.rule === "window" && t < 0 ? NOWHERE : unit * t * axis.stride;
  });
}
