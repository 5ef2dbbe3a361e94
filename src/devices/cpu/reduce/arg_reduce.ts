/**
 * Where the greatest and least elements are along an axis: which kernel takes which shape, and how threads share it.
 */
import type { DType } from "../../../core/dtype.ts";
import { normalizeAxis } from "../../../core/shape.ts";
import type { ArgOp } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { type Line, lineOf } from "../../../kernels/reduce/layout.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmExports, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { overLines } from "./lines.ts";
import { argModule, COLUMNS, hasArgModule } from "./arg_reduce_kernel.ts";

/** Work of an element, in floating point operations. */
const WORK = 8;
/** Parts of a single row, at most. */
const MOST_PARTS = 32;
/** Rows up to this long are taken four at a time, one in each lane. */
const NARROW = 32;
/** Columns of a part, at least. */
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
  return overRows(engine, outer >= 4 && length <= NARROW ? module.narrow : module.rows, line);
}

function overRows(engine: Engine, run: WasmFunction, { outer: m, length: n }: Line): FastRun {
  // Whole vectors of results.
  const pieces = { count: m, work: WORK * m * n, multiple: 4 };
  return ([o], [p]) => {
    if (pieces.work < engine.worthSharing) return void run(p, m, n, o);
    engine.inParts(run, pieces, (from, size) => [p + 4 * from * n, size, n, o + 4 * from]);
  };
}

/** The parts of a row give one candidate each. */
function overOneRow(
  engine: Engine,
  { rows }: WasmExports,
  { op, dtype, length }: { readonly op: ArgOp; readonly dtype: DType; readonly length: number },
): FastRun {
  return ([o], [p]) => {
    const parts = Math.min(MOST_PARTS, engine.parts(WORK * length));
    if (parts === 1) return void rows(p, 1, length, o);
    const cut = evenBlocks(length, Math.ceil(length / parts), 64);
    const spare = engine.scratch(4 * parts);
    engine.callAll(
      cut.map(({ from, size }, k): WasmCall => [rows, [p + 4 * from, 1, size, spare + 4 * k]]),
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
