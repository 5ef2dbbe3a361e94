/**
 * Poolings by windows of any kind, of two and three axes: rows of the image are folded into one, and then places of that row.
 * Channels last, float32. May import kernels and this folder.
 */
import type { WindowAxis, WindowGeometry } from "../../kernels/conv_geometry.ts";
import { roundUp } from "./blocks.ts";
import type { Engine, WasmCall } from "./engine.ts";
import { cutRows, type PoolRun } from "./pool_parts.ts";
import type { Local } from "./wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "./wasm/instructions.ts";
import { type F4, Simd } from "./wasm/simd.ts";
import { insideOf, storePart } from "./windows.ts";

type I = Local<"i32">;

/** Work of folding one element, in floating point operations. */
const WORK = 6;

/** Places next to each other whose windows have as many taps inside, each one stride from the last. */
interface Run {
  readonly places: number;
  readonly start: number;
  readonly count: number;
}

function runsOf(axis: WindowAxis): Run[] {
  const runs: Run[] = [];
  for (const { start, count } of insideOf(axis)) {
    const last = runs.at(-1);
    if (last && last.count === count && start === last.start + last.places * axis.stride) {
      runs[runs.length - 1] = { ...last, places: last.places + 1 };
    } else runs.push({ places: 1, start, count });
  }
  return runs;
}

/** Numbers of the table that a row of results has, and a run. */
const ROW_ENTRY = 3, RUN_ENTRY = 4;

/** The kernel for any window. */
export function prepareFolds(
  engine: Engine,
  g: WindowGeometry,
  kind: "max" | "average",
): PoolRun {
  const [z, y, x] = g.axes;
  const pixel = 4 * g.channels, row = pixel * x.in, plane = row * y.in;
  const down = insideOf(y);
  const rows = insideOf(z).flatMap((a) =>
    down.flatMap((b) => [a.start * plane + b.start * row, a.count, b.count])
  );
  const runs = runsOf(x);
  // Places one after the other are one long place.
  const joined = x.stride === 1;
  const across = runs.flatMap(({ places, start, count }) => [
    joined ? 1 : places,
    joined ? places * g.channels : g.channels,
    start * pixel,
    count,
  ]);
  const used = Math.max(
    0,
    ...runs.map((r) => r.start + (r.places - 1) * x.stride + (r.count - 1) * x.dilation + 1),
  );
  const table = Int32Array.from([...rows, ...across]);
  // Vectors reach past the end of the row.
  const tableBytes = roundUp(table.byteLength), rowBytes = roundUp(used * pixel + 16);
  const few = g.channels < 4 && !joined && x.filter <= MOST_TAPS && x.dilation === 1;
  const thin = few ? { channels: g.channels, taps: x.filter } : null;
  const { run } = engine.compile(`pool ${kind} ${thin?.channels} ${thin?.taps}`, (m) => {
    m.function("run", new Array<"i32">(14).fill("i32"), null, (f, ...p) => {
      writeFolds(new Simd(f, engine.features.relaxed), p as unknown as I[], { kind, thin });
    });
  });
  const height = z.out * y.out, resultRow = pixel * x.out;
  const work = WORK * g.batch * height * g.channels *
    (used * z.filter * y.filter + x.out * x.filter);
  return (to, from) => {
    const parts = cutRows(engine, { images: g.batch, rows: height, work });
    const at = engine.scratch(tableBytes + parts.length * rowBytes);
    engine.heap.i32.set(table, at >>> 2);
    engine.callAll(parts.map(({ image, images, row: first, rows: count }, k): WasmCall => [run, [
      to + (image * height + first) * resultRow,
      from + image * plane * z.in,
      at + 4 * ROW_ENTRY * first,
      at + 4 * rows.length,
      at + tableBytes + k * rowBytes,
      images,
      count,
      runs.length,
      used * g.channels,
      plane * z.in,
      plane * z.dilation,
      row * y.dilation,
      pixel * x.dilation,
      pixel * x.stride,
    ]]));
  };
}

/** Widest first: vectors that are folded together. */
const WIDTHS = [8, 4, 2, 1] as const;
/** Most taps that are written out where places are thin. */
const MOST_TAPS = 5;

interface FoldCode {
  readonly kind: "max" | "average";
  /** Channels and taps where a place is less than a vector, and its taps are written out. */
  readonly thin: { readonly channels: number; readonly taps: number } | null;
}

/**
 * Parameters: to, from, rows, runs, folded row, images, rows of the result, runs of a row, floats of a folded row, bytes of an image,
 * from plane to plane of taps, from row to row, from column to column, and from place to place.
 */
function writeFolds(
  s: Simd,
  [to, from, rows, runs, folded, images, height, runCount, floats, imageBytes, ...steps]:
    readonly I[],
  { kind, thin }: FoldCode,
): void {
  const { f } = s;
  const [zStep, yStep, xStep, placeStep] = steps;
  const [zCount, yCount, lines] = [0, 1, 2].map(() => f.local("i32"));
  const row = f.local("i32"), start = f.local("i32"), out = f.variable("i32", to);
  const left = f.local("i32"), at = f.local("i32"), into = f.local("i32");
  const sums = Array.from({ length: WIDTHS[0] }, () => f.local("f32x4"));
  // NaN is passed over.
  const none = s.k(kind === "max" ? -Infinity : 0);
  const fold = (a: F4, b: F4): F4 => kind === "max" ? f32x4.pmax(a, b) : f32x4.add(a, b);

  const clear = (width: number): void => sums.slice(0, width).forEach((v) => f.set(v, none));
  const take = (width: number, from: I): void =>
    sums.slice(0, width).forEach((v, u) => f.set(v, fold(v, f32x4.load(from, 16 * u))));
  /** Folds so many vectors, as long as there are as many. */
  const walk = (width: number, once: () => void, step: () => void): void =>
    f.while(i32.ge(left, 4 * width), () => {
      once();
      f.advance(at, 16 * width);
      step();
      f.advance(left, -4 * width);
    });

  const p = f.local("i32"), q = f.local("i32"), n = f.local("i32"), k = f.local("i32");
  const down = (width: number): void => {
    clear(width);
    f.set(q, at);
    f.set(k, zCount);
    f.while(k, () => {
      f.set(p, q);
      f.set(n, yCount);
      f.while(n, () => {
        take(width, p);
        f.advance(p, yStep);
        f.advance(n, -1);
      });
      f.advance(q, zStep);
      f.advance(k, -1);
    });
    sums.slice(0, width).forEach((v, u) => f.store(into, v, 16 * u));
    f.advance(into, 16 * width);
  };

  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      f.set(zCount, i32.load(row, 4));
      f.set(yCount, i32.load(row, 8));
      f.set(lines, i32.mul(zCount, yCount));
      f.set(at, i32.add(from, i32.load(row)));
      f.set(into, folded);
      f.set(left, i32.and(i32.add(floats, 3), -4));
      for (const width of WIDTHS) walk(width, () => down(width), () => {});
      const run = f.variable("i32", runs);
      f.times(runCount, () => {
        const taps = f.let(i32.load(run, 12));
        const inside = f.let(i32.mul(lines, taps));
        // No window is divided by nothing.
        const divisor = kind === "max" ? none : f.let(f32x4.ofI32(
          i32x4.max(i32x4.splat(inside), s.i(1)),
        ));
        const finish = (v: F4): F4 => kind === "max" ? v : f.let(f32x4.div(v, divisor));
        f.set(start, i32.add(folded, i32.load(run, 8)));
        const across = (width: number, part: boolean): void => {
          clear(width);
          f.set(p, at);
          f.set(n, taps);
          f.while(n, () => {
            take(width, p);
            f.advance(p, xStep);
            f.advance(n, -1);
          });
          sums.slice(0, width).forEach((v, u) => {
            if (part) storePart(f, out, finish(v), left);
            else f.store(out, finish(v), 16 * u);
          });
        };
        const any = (): void => {
          f.set(at, start);
          f.set(left, i32.load(run, 4));
          for (const width of WIDTHS) {
            walk(width, () => across(width, false), () => f.advance(out, 16 * width));
          }
          f.if(left, () => {
            across(1, true);
            f.advance(out, i32.shl(left, 2));
          });
        };
        const few = ({ channels, taps: count }: NonNullable<FoldCode["thin"]>): void => {
          const columns = Array.from(
            { length: count },
            (_, k): F4 => f32x4.load(start, 4 * channels * k),
          );
          storePart(f, out, finish(f.let(columns.reduce(fold))), channels);
          f.advance(out, 4 * channels);
        };
        const places = (once: () => void): void =>
          f.times(i32.load(run), () => {
            once();
            f.advance(start, placeStep);
          });
        if (thin === null) places(any);
        else f.if(i32.eq(taps, thin.taps), () => places(() => few(thin)), () => places(any));
        f.advance(run, 4 * RUN_ENTRY);
      });
      f.advance(row, 4 * ROW_ENTRY);
    });
    f.advance(from, imageBytes);
  });
}
