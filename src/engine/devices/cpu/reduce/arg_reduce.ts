/**
 * Indices of the greatest and least elements along an axis: the choice of a kernel by shape, and its division among
 * threads.
 */
import type { DType } from "../../../core/dtype.ts";
import { normalizeAxis } from "../../../core/shape.ts";
import type { ArgOp } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { type Line, lineOf } from "../../../kernels/reduce/layout.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmExports } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { overLines } from "./lines.ts";
import { argModule, COLUMNS, hasArgModule } from "./arg_reduce_kernel.ts";

/** Work of an element, in floating point operations. */
const WORK = 8;
/** Most parts of a single row. */
const MOST_PARTS = 32;
/** Longest rows that are taken four at a time, one in each lane. */
const NARROW = 32;
/** Least columns of a part. */
const PART_COLUMNS = 64;

export function prepareArgReduction(engine: Engine, problem: Problem, op: ArgOp): FastRun | null {
  const { inputs: [{ shape, dtype }], outputs: [out], hosts: [, dimension] } = problem;
  if (dimension === undefined || !hasArgModule(op, dtype) || out.dtype !== "int32") return null;
  const line = lineOf(shape, normalizeAxis(Number(dimension.item()), shape.length));
  const { outer, length, inner } = line;
  if (outer * length * inner === 0) return () => {};
  const module = argModule(engine, op, dtype);
  if (inner > 1) return overColumns(engine, module, line);
  if (outer === 1) return overOneRow(engine, module, { op, dtype, length });
  const run = outer >= 4 && length <= NARROW ? module.narrow : module.rows;
  // Whole vectors of results.
  const pieces = { count: outer, work: WORK * outer * length, multiple: 4 };
  return ([o], [p]) => {
    if (pieces.work < engine.worthSharing) return void run(o, p, outer, length);
    engine.alongSteps(run, pieces, [o, p], [4, 4 * length], [length]);
  };
}

/** Divides a single row into parts that give one candidate each. */
function overOneRow(
  engine: Engine,
  { rows }: WasmExports,
  { op, dtype, length }: { readonly op: ArgOp; readonly dtype: DType; readonly length: number },
): FastRun {
  return ([o], [p]) => {
    const parts = Math.min(MOST_PARTS, engine.parts(WORK * length));
    if (parts === 1) return void rows(o, p, 1, length);
    const cut = evenBlocks(length, Math.ceil(length / parts), 64);
    const spare = engine.scratch(4 * parts);
    engine.callAll(
      cut.map(({ from, size }, k): WasmCall => [rows, [spare + 4 * k, p + 4 * from, 1, size]]),
    );
    const { f32, i32 } = engine.heap, data = dtype === "float32" ? f32 : i32;
    let best = NaN, at = 0;
    cut.forEach(({ from }, k) => {
      const place = from + i32[(spare >>> 2) + k], v = data[(p >>> 2) + place];
      const better = op === "max" ? v > best : v < best;
      if (better || (best !== best && v === v)) [best, at] = [v, place];
    });
    i32[o >>> 2] = at;
  };
}

function overColumns(engine: Engine, { columns }: WasmExports, line: Line): FastRun {
  const { length, inner } = line, step = 4 * inner, room = roundUp(4 * Math.min(COLUMNS, inner));
  const over = overLines(engine, line, { work: WORK, least: PART_COLUMNS, room });
  return ([o], [p]) =>
    over(columns, (block, column, blocks, width, room) => {
      const from = p + block * length * step + 4 * column, to = o + block * step + 4 * column;
      return [from, blocks, length, width, step, to, room];
    });
}
