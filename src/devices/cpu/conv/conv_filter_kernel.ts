/**
 * Sums of products over the places of a convolution, read where they lie: tiles of rows, one number a place each, by eight columns.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import { tilesOf } from "../gemm/gemm_kernel.ts";
import { ADD, PANEL_BYTES, PANEL_COLUMNS } from "../gemm/gemm_tile.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";

/** Places that are written out. */
const PLACES = 4;

/**
 * The kernel of `rows` rows, whose numbers are `aStep` bytes from place to place. Parameters: panels of a `RowTable` and how many;
 * columns; what is added to the pointers of C and of the rows; the first of the columns; lines of places, for each what is added to
 * the pointers of the rows and to that of the columns; how many, and how many are summed before they are added to C; places of a
 * line; bytes from place to place of what the columns read; the mode of the tile.
 */
export function placesKernel(engine: Engine, rows: number, aStep: number): WasmFunction {
  return engine.compile(`conv places ${rows} ${aStep}`, (m) => {
    const sums = m.function(null, new Array<"i32">(10).fill("i32"), null, (f, ...p) => {
      writeTile(new Simd(f, engine.features.relaxed), rows, aStep, p);
    });
    m.function("run", new Array<"i32">(12).fill("i32"), null, (f, ...p) => {
      const [panels, count, columns, cBase, aBase, b, lines, lineCount, together, ...more] = p;
      const [places, bStep, mode] = more;
      const [here, c, from, left, open, panel] = f.locals("i32", 6);
      f.while(i32.gt(lineCount, 0), () => {
        f.set(here, together);
        f.if(i32.gt(here, lineCount), () => f.set(here, lineCount));
        f.set(panel, panels);
        f.set(open, count);
        f.countDown(open, 1, () => {
          f.set(c, cBase);
          f.set(from, b);
          f.set(left, columns);
          f.while(i32.gt(left, 0), () => {
            f.run(sums, panel, left, c, aBase, from, lines, here, places, bStep, mode);
            f.advance(c, PANEL_BYTES);
            f.advance(from, PANEL_BYTES);
            f.advance(left, -PANEL_COLUMNS);
          });
          f.advance(panel, 8 * rows);
        });
        f.advance(lines, i32.shl(here, 3));
        f.set(lineCount, i32.sub(lineCount, here));
        f.set(mode, i32.or(mode, ADD));
      });
    });
  }).run;
}

/** The sums of one panel of rows and one of columns. */
function writeTile(s: Simd, rows: number, aStep: number, p: readonly Local<"i32">[]): void {
  const [panel, columns, cBase, aBase, first, lines, count, places, bStep, mode] = p;
  const { f } = s, tiles = tilesOf(s, rows), [tile, ...others] = tiles;
  const a = f.locals("i32", rows), [base, b, left] = f.locals("i32", 3);
  const steps = (number: number): void => {
    for (let k = 0; k < number; k++) {
      const row = [f.let(f32x4.load(b)), f.let(f32x4.load(b, 16))] as const;
      tiles[k % tiles.length].step((i) => f32x4.loadSplat(a[i], k * aStep), row);
      f.advance(b, bStep);
    }
    a.forEach((x) => f.advance(x, number * aStep));
  };
  f.countDown(count, 1, () => {
    f.set(base, i32.add(aBase, i32.load(lines)));
    a.forEach((x, i) => f.set(x, i32.add(i32.load(panel, 4 * (a.length + i)), base)));
    f.set(b, i32.add(first, i32.load(lines, 4)));
    f.set(left, places);
    f.countDown(left, PLACES, () => steps(PLACES));
    f.countDown(left, 1, () => steps(1));
    f.advance(lines, 8);
  });
  others.forEach((other) => tile.add(other));
  tile.store({ panel, cBase, columns, mode, operands: [] });
}
