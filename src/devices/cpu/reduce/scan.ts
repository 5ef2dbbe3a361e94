/**
 * Running sums and products along an axis, of float32 and integers of 32 bits: which loop takes which shape, and how threads share it.
 */
import { normalizeAxis, sizeOf } from "../../../core/shape.ts";
import { lineOf } from "../../../kernels/reduce/layout.ts";
import type { ScanOp } from "../../../core/meaning.ts";
import type { Problem } from "../../../core/op.ts";
import { evenBlocks } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { scanModule } from "./scan_kernel.ts";

/** Work of an element, in floating point operations. */
const WORK = 8;
/** Columns of a part, at least. */
const PART_COLUMNS = 64;

/** The kernel of running sums or products. */
export function prepareScan(engine: Engine, problem: Problem, op: ScanOp): FastRun | null {
  const { inputs: [{ shape, dtype }], hosts: [, axis], attrs } = problem;
  if (axis === undefined || dtype === "bool") return null;
  const { outer, length, inner } = lineOf(
    shape,
    normalizeAxis(Number(axis.data[0]), shape.length),
  );
  const size = sizeOf(shape), row = length * inner, step = 4 * inner;
  if (size === 0) return () => {};
  const type = dtype === "float32" ? dtype : "int32";
  const { exclusive, reverse } = attrs as { exclusive: boolean; reverse: boolean };
  const { rows, columns } = scanModule(engine, { op, type, exclusive, reverse });
  return ([y], [x]) => {
    const parts = engine.parts(WORK * size);
    if (parts === 1) {
      if (inner === 1) rows(x, y, outer, length);
      else columns(x, y, outer, length, step, inner);
      return;
    }
    const cut = outer > 1
      ? evenBlocks(outer, Math.ceil(outer / parts), 1)
      : evenBlocks(inner, Math.max(PART_COLUMNS, Math.ceil(inner / parts)), 16);
    engine.callAll(cut.map(({ from, size }): WasmCall => {
      const at = 4 * from * (outer > 1 ? row : 1);
      if (inner === 1) return [rows, [x + at, y + at, outer > 1 ? size : 1, length]];
      return outer > 1
        ? [columns, [x + at, y + at, size, length, step, inner]]
        : [columns, [x + at, y + at, 1, length, step, size]];
    }));
  };
}
