/**
 * The gradient of a convolution's filter without copies of patches: numbers of the image times vectors of the result's
 * gradient, or, where that has few channels, its numbers times vectors of the image.
 */
import { outPlaces, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import { type Engine, type WasmCall, type WasmFunction, words } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import { ADD, LAST, PANEL_BYTES, PANEL_COLUMNS, tileOf } from "../gemm/gemm_tile.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { Simd } from "../wasm/simd.ts";
import type { ConvRows } from "./conv_rows.ts";

const PLACES = 4;
/** Places whose products are summed before they are added to the total: their operands stay in the cache. */
const TOGETHER = 256;
/** Longer lines use the other kernel, which bounds its sums too. */
const MOST_PLACES = 2 * TOGETHER;
/** Costs of transposing a row of patches for panels, and a segment, in multiplications of a place. */
const COPY_ROW = 7, COPY_SEGMENT = 50;
/** Speed of panels relative to places. */
const FACTOR = 1.2;
/** Steps between places up to this many numbers have a kernel of their own. */
const MOST_STEP = 64;
/** Rows below which the processor waits for its reads: fewer rows take as long. */
const FEW_ROWS = 3;

/**
 * Prepares the gradient place by place, or returns null where that does not pay; there are places, and the filter is
 * not empty.
 */
export function preparePlaces(
  engine: Engine,
  g: WindowGeometry,
  rows: ConvRows,
): FastRun | null {
  const { channels, outChannels: oc, axes } = g, { length } = rows;
  if (axes[2].out > MOST_PLACES) return null;
  const wide = (n: number): number => Math.ceil(n / PANEL_COLUMNS) * PANEL_COLUMNS;
  // Multiplications of a place, for each segment.
  const straight = length * wide(oc), turned = wide(length) * Math.max(oc, FEW_ROWS);
  const copied = straight + length * COPY_ROW + COPY_SEGMENT;
  const isTurned = turned < straight;
  if (FACTOR * Math.min(straight, turned) > copied) return null;
  if (!isTurned && channels * axes[2].stride > MOST_STEP) return null;
  return placesRun(engine, g, rows, isTurned);
}

function placesRun(
  engine: Engine,
  g: WindowGeometry,
  { segments, length, padded, list }: ConvRows,
  isTurned: boolean,
): FastRun {
  const { channels, outChannels: oc, axes: [, , x] } = g, places = outPlaces(g), { heap } = engine;
  const k = segments.length * length, columns = isTurned ? length : oc;
  // First columns in the gradient of the result, or in the image, and in C.
  const parts = isTurned ? segments.map((b, i) => ({ b, c: 4 * length * i })) : [{ b: 0, c: 0 }];
  const readAt = (i: number): number => segments[Math.floor(i / length)] + 4 * (i % length);
  const table = isTurned
    ? new RowTable(engine, oc, (i) => 4 * i, (i) => 4 * k * i)
    : new RowTable(engine, k, readAt, (i) => 4 * oc * i);
  const steps = [4 * channels * x.stride, 4 * oc];
  const [aStep, bStep] = isTurned ? steps.reverse() : steps;
  const kernels = table.groups.map((group) => placesKernel(engine, group.rows, aStep));
  const linesOf = (images: number): Int32Array => {
    const starts = list(images).filter((_, i) => i % x.out === 0);
    return Int32Array.from([...starts].flatMap((at, i) => {
      const result = 4 * oc * x.out * i;
      return isTurned ? [result, at] : [at, result];
    }));
  };
  const lines = new Map(padded.groups.map(({ images }) => [images, linesOf(images)]));
  const lineBytes = Math.max(...[...lines.values()].map((l) => l.byteLength));
  const together = Math.max(1, Math.floor(TOGETHER / x.out));

  /** Divides the work among threads: panels of rows, and columns where these are few. */
  const callsOf = (
    lineCount: number,
    { tableAt, linesAt, cBase, aBase, b, mode }: Readonly<Record<Place, number>>,
  ): WasmCall[] => {
    const work = 2 * lineCount * x.out * table.rows * columns * parts.length;
    const cuts = Math.ceil(engine.parts(work) / parts.length);
    const most = Math.ceil(table.panels / cuts);
    const wide = Math.max(PANEL_COLUMNS, Math.ceil(columns * table.panels / cuts));
    return parts.flatMap((part) =>
      table.groups.flatMap((group, i) =>
        evenBlocks(group.count, most, 1).flatMap((panels) =>
          evenBlocks(columns, wide, PANEL_COLUMNS).map(({ from, size }): WasmCall => [kernels[i], [
            tableAt + group.at + 8 * group.rows * panels.from,
            panels.size,
            size,
            cBase + part.c + 4 * from,
            aBase,
            b + part.b + 4 * from,
            linesAt,
            lineCount,
            together,
            x.out,
            bStep,
            mode,
          ]])
        )
      )
    );
  };
  const bytes = [table.bytes, lineBytes, isTurned ? 4 * oc : 0, isTurned ? 4 * k * oc : 0];
  const sizes = bytes.map(roundUp), all = sizes.reduce((n, size) => n + size, 0);
  return ([df], [x, , dy]) => {
    const tableAt = engine.scratch(all + padded.bytes + PANEL_BYTES), linesAt = tableAt + sizes[0];
    const pointers = linesAt + sizes[1], turned = pointers + sizes[2], images = tableAt + all;
    table.put(heap, tableAt);
    let held = -1;
    for (const group of padded.groups) {
      const own = lines.get(group.images)!;
      if (held !== group.images) heap.i32.set(own, linesAt >>> 2);
      held = group.images;
      const image = padded.fill(images, x, group);
      const gradient = dy + 4 * group.first * places * oc;
      const bases = isTurned
        ? { cBase: turned, aBase: gradient, b: image }
        : { cBase: df, aBase: image, b: gradient };
      const mode = group.first > 0 ? ADD | LAST : LAST;
      engine.callAll(callsOf(own.length / 2, { ...bases, tableAt, linesAt, mode }));
    }
    if (isTurned) {
      const { ramp, turn } = packing(engine);
      ramp(pointers, oc, 0, 4 * k);
      turn(df, 4 * oc, pointers, turned, oc, k);
    }
  };
}

/** Addresses of tables, bases of pointers, and the mode of the tile. */
type Place = "tableAt" | "linesAt" | "cBase" | "aBase" | "b" | "mode";

/**
 * The kernel of `rows` rows, whose numbers are `aStep` bytes apart from place to place. Parameters: panels of a
 * `RowTable` and their number; columns; bases of the pointers of C and of the rows; the first of the columns; lines of
 * places, each with offsets for the pointers of the rows and of the columns; their number, and the number that is
 * summed before they are added to C; places of a line; bytes from place to place of the columns' operand; the mode of
 * the tile.
 */
function placesKernel(engine: Engine, rows: number, aStep: number): WasmFunction {
  return engine.compile(`conv places ${rows} ${aStep}`, (m) => {
    const sums = m.function(null, words(10), null, (f, ...p) => {
      writeTile(new Simd(f, engine.features.relaxed), rows, aStep, p);
    });
    m.function("run", words(12), null, (f, ...p) => {
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

/** Writes the sums of one panel of rows and one of columns. */
function writeTile(s: Simd, rows: number, aStep: number, p: readonly Local<"i32">[]): void {
  const [panel, columns, cBase, aBase, first, lines, count, places, bStep, mode] = p;
  const { f } = s, tile = tileOf(s, rows);
  const a = f.locals("i32", rows), [base, b, left] = f.locals("i32", 3);
  const steps = (number: number): void => {
    for (let k = 0; k < number; k++) {
      const row = [f.let(f32x4.load(b)), f.let(f32x4.load(b, 16))] as const;
      tile.step(k, (i) => f32x4.loadSplat(a[i], k * aStep), row);
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
  tile.store({ panel, cBase, columns, mode, operands: [] });
}
