/** Products of float64: tiles of up to four rows by four columns, against panels of B that are packed block by block. */
import type { Problem } from "../../../core/op.ts";
import { type MatMulShape, matrixPairs } from "../../../kernels/matmul/shape.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I } from "../wasm/function_builder.ts";
import { f64, f64x2, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { Simd } from "../wasm/simd.ts";

const BYTES = 8;
/** Rows and columns of a tile; a panel has as many columns. */
const ROWS = 4, COLUMNS = 4;
/** Length of the sums, and columns, of a block of B: it stays in the second cache. */
const BLOCK_DEPTH = 256, BLOCK_COLUMNS = 256;
/** Rows above which packing B costs little beside the product. */
const LEAST_ROWS = 4;

/** Prepares products of float64 in batches; null for few rows, which loops multiply as fast. */
export function prepareWide(
  engine: Engine,
  shape: MatMulShape,
  { outputs }: Problem,
): FastRun | null {
  const { m, n, k, transA, transB } = shape;
  if (outputs[0].dtype !== "float64" || k === 0) return null;
  if (m === 0 || n === 0) return () => {};
  if (m < LEAST_ROWS && !transB) return null;
  const pack = kernel(engine, "wide pack", 7, packPanels);
  const panels = new Map<number, WasmFunction>();
  const panel = (rows: number): WasmFunction => {
    let made = panels.get(rows);
    if (!made) {
      panels.set(
        rows,
        made = kernel(engine, `wide panel ${rows}`, 9, (s, p) => writePanel(s, rows, p)),
      );
    }
    return made;
  };
  const rows = rowsOf(m), depths = evenBlocks(k, BLOCK_DEPTH, 1);
  const columns = evenBlocks(n, BLOCK_COLUMNS, COLUMNS);
  const panelBytes = BYTES * COLUMNS * Math.min(k, depths[0].size);
  const room = roundUp(panelBytes * Math.ceil(Math.min(n, columns[0].size) / COLUMNS));
  const aRow = BYTES * (transA ? 1 : k), aDepth = BYTES * (transA ? m : 1);
  const bRow = BYTES * (transB ? 1 : n), bColumn = BYTES * (transB ? k : 1);
  const one = (c: number, a: number, b: number): void => {
    const at = engine.scratch(room);
    for (const { from: j, size: width } of columns) {
      for (const { from: p, size: depth } of depths) {
        const step = BYTES * COLUMNS * depth;
        const parts = engine.parts(2 * m * width * depth);
        const packs = evenBlocks(width, Math.ceil(width / parts), COLUMNS).map((part): WasmCall => [
          pack,
          [
            at + part.from / COLUMNS * step,
            b + p * bRow + (j + part.from) * bColumn,
            depth,
            part.size,
            bRow,
            bColumn,
            step,
          ],
        ]);
        engine.callAll(packs);
        const each = Math.ceil(m / ROWS / parts);
        engine.callAll(
          rows.flatMap(({ from, count, size }) =>
            evenBlocks(count, each, 1).map((part): WasmCall => {
              const row = from + part.from * size;
              const first = [c + BYTES * (row * n + j), a + row * aRow + p * aDepth, at];
              return [panel(size), [
                ...first,
                part.size,
                width,
                depth,
                BYTES * n,
                aRow,
                p === 0 ? aDepth : -aDepth,
              ]];
            })
          ),
        );
      }
    }
  };
  const pairs = matrixPairs(shape);
  return ([c], [a, b]) =>
    pairs.forEach((pair, i) =>
      one(c + BYTES * i * m * n, a + BYTES * pair.a * m * k, b + BYTES * pair.b * k * n)
    );
}

/** Divides rows into panels of four, and one of the rest. */
function rowsOf(m: number): { from: number; count: number; size: number }[] {
  const whole = Math.floor(m / ROWS), rest = m % ROWS;
  return [
    { from: 0, count: whole, size: ROWS },
    { from: whole * ROWS, count: rest > 0 ? 1 : 0, size: rest },
  ].filter(({ count }) => count > 0);
}

/** Parameters: to, B, its rows and columns, bytes from row to row and from column to column, bytes of a panel. */
function packPanels({ f }: Simd, [to, b, k, n, row, column, step]: readonly I[]): void {
  f.while(i32.gt(n, 0), () => {
    const at = f.variable("i32", to), from = f.variable("i32", b);
    const columns = [0, 1, 2, 3].map((j) => {
      // Columns past the last repeat it: they are never stored.
      const own = f.variable("i32", i32.sub(n, 1));
      f.if(i32.gt(own, j), () => f.set(own, j));
      f.set(own, i32.mul(own, column));
      return own;
    });
    const left = f.variable("i32", k);
    f.countDown(left, 1, () => {
      columns.forEach((own, j) => f.store(at, f64.load(i32.add(from, own)), BYTES * j));
      f.advance(at, BYTES * COLUMNS);
      f.advance(from, row);
    });
    f.advance(to, step);
    f.advance(b, i32.shl(column, 2));
    f.advance(n, -COLUMNS);
  });
}

/**
 * Parameters: C, A, panels of B, number of panels of rows, columns, length of the sums, bytes of a row of C, bytes from row to row of A,
 * and those from element to element of a row, negative where sums are added to the contents of C.
 */
function writePanel(
  s: Simd,
  rows: number,
  [c, a, b, count, n, k, cRow, aRow, aDepth]: readonly I[],
): void {
  const { f } = s, adds = f.let(i32.lt(aDepth, 0));
  f.if(adds, () => f.set(aDepth, i32.sub(0, aDepth)));
  const sums = Array.from({ length: rows }, () => f.locals("f64x2", 2));
  f.countDown(count, 1, () => {
    const left = f.variable("i32", n), panel = f.variable("i32", b), to = f.variable("i32", c);
    f.while(i32.gt(left, 0), () => {
      sums.flat().forEach((sum) => f.set(sum, f64x2.const(0)));
      const at = f.ramp(a, aRow, rows), depth = f.variable("i32", k);
      const term = (offset: number): void => {
        const right = [0, 16].map((half) => f.let(f64x2.load(panel, offset + half)));
        at.forEach((p, i) => {
          const x = f.let(f64x2.loadSplat(p));
          sums[i].forEach((sum, h) => f.set(sum, s.madd(x, right[h], sum)));
          f.advance(p, aDepth);
        });
      };
      for (const turn of [4, 1]) {
        f.countDown(depth, turn, () => {
          for (let u = 0; u < turn; u++) term(BYTES * COLUMNS * u);
          f.advance(panel, BYTES * COLUMNS * turn);
        });
      }
      const places = f.ramp(to, cRow, rows);
      f.if(
        adds,
        () =>
          sums.forEach((row, i) =>
            row.forEach((sum, h) => f.set(sum, f64x2.add(sum, f64x2.load(places[i], 16 * h))))
          ),
      );
      f.if(i32.ge(left, COLUMNS), () => {
        sums.forEach((row, i) => row.forEach((sum, h) => f.store(places[i], sum, 16 * h)));
      }, () => {
        sums.forEach(([low, high], i) => {
          f.storeLane(places[i], low, 8, 0);
          f.if(i32.gt(left, 1), () => f.storeLane(places[i], low, 8, 1, 8));
          f.if(i32.gt(left, 2), () => f.storeLane(places[i], high, 8, 0, 16));
        });
      });
      f.advance(to, BYTES * COLUMNS);
      f.advance(left, -COLUMNS);
    });
    f.advance(a, i32.mul(aRow, rows));
    f.advance(c, i32.mul(cRow, rows));
  });
}
