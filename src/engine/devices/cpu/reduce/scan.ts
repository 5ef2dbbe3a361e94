/**
 * Running sums and products along an axis, of float32 and integers of 32 bits: the choice of a loop by shape, and its
 * division among threads.
 */
import { normalizeAxis, sizeOf } from "../../../core/shape.ts";
import { lineOf } from "../../../kernels/reduce/layout.ts";
import type { ScanOp } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { overLines } from "./lines.ts";
import { scanModule } from "./scan_kernel.ts";

/** Work of an element, in floating point operations. */
const WORK = 8;
/** Least columns of a part. */
const PART_COLUMNS = 64;

export function prepareScan(engine: Engine, problem: Problem, op: ScanOp): FastRun | null {
  const { inputs: [{ shape, dtype }], hosts: [, axis], attrs } = problem;
  if (axis === undefined || dtype === "bool") return null;
  const line = lineOf(shape, normalizeAxis(Number(axis.data[0]), shape.length));
  const { outer, length, inner } = line, step = 4 * inner;
  if (sizeOf(shape) === 0) return () => {};
  const type = dtype === "float32" ? dtype : "int32";
  const { exclusive, reverse } = attrs as { exclusive: boolean; reverse: boolean };
  const { rows, columns } = scanModule(engine, { op, type, exclusive, reverse });
  const over = overLines(engine, line, { work: WORK, least: PART_COLUMNS });
  const work = WORK * sizeOf(shape);
  return ([y], [x]) => {
    if (work >= engine.worthSharing) {
      over(inner === 1 ? rows : columns, (block, column, blocks, width) => {
        const at = block * length * step + 4 * column, from = x + at, to = y + at;
        return inner === 1 ? [from, to, blocks, length] : [from, to, blocks, length, step, width];
      });
    } else if (inner === 1) rows(x, y, outer, length);
    else columns(x, y, outer, length, step, inner);
  };
}
