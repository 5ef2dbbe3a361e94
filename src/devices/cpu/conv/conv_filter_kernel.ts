/**
 * Sums of products over the places of a convolution, read where they lie: tiles of rows, one number a place each, by eight columns.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import { ADD, LAST, PANEL_BYTES, PANEL_COLUMNS, Tile } from "../gemm/gemm_tile.ts";
import type { FunctionBuilder, Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";

type I = Local<"i32">;

/** Tiles that take turns, by rows: sums of few rows would wait for each other. */
const SIDE_BY_SIDE: Readonly<Record<number, number>> = { 1: 4, 2: 2 };
/** Places that are written out. */
const PLACES = 4;

/** A call. Panels are those of a `RowTable`. */
export interface PlacesCall {
  readonly panels: number;
  /** How many panels. */
  readonly count: number;
  readonly columns: number;
  /** Added to the pointers of C, and to those of the rows. */
  readonly cBase: number;
  readonly aBase: number;
  /** The first of the columns. */
  readonly b: number;
  /** Lines of places: for each, what is added to the pointers of the rows and to that of the columns. */
  readonly lines: number;
  readonly lineCount: number;
  /** So many lines are summed before they are added to C. */
  readonly together: number;
  /** Places of a line, and bytes from place to place of what the columns read. */
  readonly places: number;
  readonly bStep: number;
  /** Adds to what C holds. */
  readonly add: boolean;
}

/** The arguments of a call. */
export function placesArguments(c: PlacesCall): number[] {
  const lines = [c.lines, c.lineCount, c.together, c.places];
  const mode = (c.add ? ADD : 0) | LAST;
  return [c.panels, c.count, c.columns, c.cBase, c.aBase, c.b, ...lines, c.bStep, mode];
}

/** The kernel of `rows` rows, whose numbers are `aStep` bytes from place to place. */
export function placesKernel(engine: Engine, rows: number, aStep: number): WasmFunction {
  return engine.compile(`conv places ${rows} ${aStep}`, (m) => {
    const sums = m.function(null, new Array<"i32">(10).fill("i32"), null, (f, ...p) => {
      const s = new Simd(f, engine.features.relaxed);
      const tiles = Array.from(
        { length: SIDE_BY_SIDE[rows] ?? 1 },
        () => new Tile(s, rows, undefined),
      );
      writeTile(f, tiles, aStep, p);
    });
    m.function("run", new Array<"i32">(12).fill("i32"), null, (f, ...p) => {
      const [panels, count, columns, cBase, aBase, b, lines, lineCount, together, ...more] = p;
      const [places, bStep, mode] = more;
      const here = f.local("i32"), c = f.local("i32"), from = f.local("i32");
      const left = f.local("i32"), open = f.local("i32"), panel = f.local("i32");
      f.while(i32.gt(lineCount, 0), () => {
        f.set(here, together);
        f.if(i32.gt(here, lineCount), () => f.set(here, lineCount));
        f.set(panel, panels);
        f.set(open, count);
        f.while(i32.gt(open, 0), () => {
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
          f.advance(open, -1);
        });
        f.advance(lines, i32.shl(here, 3));
        f.set(lineCount, i32.sub(lineCount, here));
        f.set(mode, i32.or(mode, ADD));
      });
    });
  }).run;
}

/** The sums of one panel of rows and one of columns. */
function writeTile(
  f: FunctionBuilder,
  tiles: readonly Tile[],
  aStep: number,
  p: readonly I[],
): void {
  const [panel, columns, cBase, aBase, first, lines, count, places, bStep, mode] = p;
  const [tile, ...others] = tiles;
  const a = tile.rows.map(() => f.local("i32"));
  const base = f.local("i32"), b = f.local("i32"), left = f.local("i32");
  const steps = (number: number): void => {
    for (let k = 0; k < number; k++) {
      const row = [f.let(f32x4.load(b)), f.let(f32x4.load(b, 16))] as const;
      tiles[k % tiles.length].step((i) => f32x4.loadSplat(a[i], k * aStep), row);
      f.advance(b, bStep);
    }
    a.forEach((x) => f.advance(x, number * aStep));
  };
  f.while(i32.gt(count, 0), () => {
    f.set(base, i32.add(aBase, i32.load(lines)));
    a.forEach((x, i) => f.set(x, i32.add(i32.load(panel, 4 * (a.length + i)), base)));
    f.set(b, i32.add(first, i32.load(lines, 4)));
    f.set(left, places);
    f.while(i32.ge(left, PLACES), () => {
      steps(PLACES);
      f.advance(left, -PLACES);
    });
    f.while(i32.gt(left, 0), () => {
      steps(1);
      f.advance(left, -1);
    });
    f.advance(lines, 8);
    f.advance(count, -1);
  });
  others.forEach((other) => tile.add(other));
  tile.store({ panel, cBase, columns, mode, operands: [] });
}
