/**
 * The gradient of a convolution's input as a product, which gives the contribution of each place of the result to its
 * window, and the sum of overlapping windows. It multiplies no zeros from outside, and few channels fill the columns of
 * the product.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareProduct } from "../gemm/gemm.ts";
import { PANEL_COLUMNS } from "../gemm/gemm_tile.ts";
import type { Pointer } from "../heap.ts";
import { cutRows } from "../pool/pool_parts.ts";
import type { FunctionBuilder, I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import type { F4 } from "../wasm/simd.ts";
import { kernel } from "../wasm/kernel.ts";

/** Most bytes of windows in memory at once. */
const BLOCK_BYTES = 1 << 20;
/** More lines that meet in one row are not worth code of their own. */
const MOST_LINES = 8;
/**
 * Costs of storing and summing an element of a window, in multiplications of the product; for whole vectors that stay
 * in memory.
 */
const FOLD_WORK = 3, FOLD_WORK_MEMORY = 5;
/**
 * Ratio of multiplications from which this kernel is used: the other one also copies; with many channels it copies
 * little, and windows are long.
 */
const MANY_CHANNELS = 64, WORTH = 0.8, WORTH_MANY = 1.15;
/** Work of an element of a line, in floating point operations. */
const WORK = 2;
/** Bytes that are written past the end of a summed row. */
const STAGE_SLACK = 128;
/** A table entry for a line that no place has. */
const OUTSIDE = -1;

/** Most vectors of a window's line that are kept in variables from place to place. */
const MOST_VECTORS = 8;

/** Shuffles of the first lanes of one vector and the other lanes of a second. */
const FIRST_LANES = [[4, 5, 6, 7], [0, 5, 6, 7], [0, 1, 6, 7], [0, 1, 2, 7]] as const;

/** Sizes that the code depends on, in floats. */
interface FoldCode {
  /** Lines of windows that meet in a row of the image. */
  readonly lines: number;
  /** A line of a window. */
  readonly window: number;
  /** Distance from the window of a place to that of the next. */
  readonly step: number;
}

/**
 * Rows `[from, to)` of the result, whose windows are in memory together, and the rows of the image that they complete.
 */
interface Band {
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly rows: number;
  /** For each of these the lines that meet there, as distances in bytes. */
  readonly lines: Int32Array;
}

/** Prepares the gradient by overlapping windows, or returns null where that does not pay. */
export function prepareFold(engine: Engine, g: WindowGeometry): FastRun | null {
  const [z, y, x] = g.axes;
  const isFlat = [z.filter, z.in, z.out].every((n) => n === 1);
  const code: FoldCode = {
    lines: Math.ceil(y.filter / (y.stride / gcd(y.stride, y.dilation))),
    window: x.filter * g.channels,
    step: x.stride * g.channels,
  };
  if (!isFlat || x.dilation > 1 || code.lines > MOST_LINES || !canFold(code)) return null;
  if (y.out * x.out === 0 || g.outChannels === 0 || !isWorth(g)) return null;
  return foldRun(engine, g, code);
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Compares the multiplications. */
function isWorth({ axes: [, y, x], channels, outChannels }: WindowGeometry): boolean {
  const wide = (n: number): number => Math.ceil(n / PANEL_COLUMNS) * PANEL_COLUMNS;
  // All phases of the strides together have each tap once for each step of the image.
  const gathered = gatheredTaps(y) * gatheredTaps(x) * wide(channels) * outChannels;
  const window = x.filter * channels;
  const fold = channels % 4 === 0 && window > 32 ? FOLD_WORK_MEMORY : FOLD_WORK;
  const columns = y.filter * (wide(y.filter * window) / y.filter * outChannels + window * fold);
  return gathered > (channels < MANY_CHANNELS ? WORTH : WORTH_MANY) * y.out * x.out * columns;
}

/** Returns the number of taps of all places of the image along an axis. */
function gatheredTaps({ in: extent, filter, stride }: WindowAxis): number {
  return Math.ceil(extent / stride) * filter;
}

function foldRun(engine: Engine, g: WindowGeometry, code: FoldCode): FastRun {
  const { channels, outChannels, axes: [, y, x] } = g, { lines: most, window, step } = code;
  const run = foldKernel(engine, code), { heap } = engine;
  const columns = y.filter * window, lineBytes = 4 * columns * x.out;
  const rowBytes = 4 * channels * x.in;
  const images = Math.max(1, Math.floor(BLOCK_BYTES / (lineBytes * y.out)));
  // Whole images, or bands of one.
  const groups = evenBlocks(g.batch, images, 1);
  const reach = Math.ceil((y.filter - 1) * y.dilation / y.stride);
  const together = Math.max(reach, Math.floor(BLOCK_BYTES / lineBytes), 1);
  const rows = evenBlocks(y.out, images > 1 ? y.out : together, 1);
  // Lines that are kept from band to band.
  const kept = rows.length > 1 ? reach : 0, keptBytes = kept * lineBytes;
  const bandOf = (from: number, to: number): Band => {
    const rowOf = (place: number): number =>
      Math.min(y.in, Math.max(0, place * y.stride - y.before));
    const start = Math.max(0, from - kept), first = from === 0 ? 0 : rowOf(from);
    const rows = (to === y.out ? y.in : rowOf(to)) - first;
    const lines = new Int32Array(most * rows).fill(OUTSIDE);
    for (let row = 0; row < rows; row++) {
      let at = most * row;
      for (let tap = 0; tap < y.filter; tap++) {
        const reach = first + row + y.before - tap * y.dilation, place = reach / y.stride;
        if (reach % y.stride !== 0 || place < start || place >= to) continue;
        lines[at++] = (place - from + kept) * lineBytes + 4 * tap * window;
      }
    }
    return { from, to, first, rows, lines };
  };
  const bands = rows.map(({ from, size }) => bandOf(from, from + size));
  const places = groups.flatMap((group) => rows.map((r) => group.size * r.size * x.out));
  const products = new Map([...new Set(places)].map((m) => [
    m,
    prepareProduct(engine, { m, n: columns, k: outChannels, transA: false, transB: true }),
  ]));
  const stageBytes = roundUp(
    4 * Math.max(channels * (x.before + x.in), x.out * step + window),
  );

  /** Sums the rows of images that a band completes. */
  const fold = (
    to: Pointer,
    band: Band,
    { images, zeros, base }: Readonly<Record<"images" | "zeros" | "base", number>>,
  ): void => {
    const work = WORK * images * band.rows * x.out * most * window;
    const parts = cutRows(engine, { images, rows: band.rows, work });
    const tableBytes = roundUp(band.lines.byteLength), ownBytes = stageBytes + STAGE_SLACK;
    const at = engine.scratch(tableBytes + parts.length * ownBytes);
    heap.i32.set(band.lines, at >>> 2);
    const imageBytes = (band.to - band.from) * lineBytes;
    engine.callAll(parts.map(({ image, images, row, rows }, k): WasmCall => [run, [
      to + (image * y.in + band.first + row) * rowBytes,
      rows,
      at + 4 * most * row,
      base + image * imageBytes,
      zeros,
      at + tableBytes + k * ownBytes,
      x.out,
      4 * columns,
      4 * channels * x.before,
      rowBytes,
      stageBytes,
      images,
      imageBytes,
      4 * window,
      4 * step,
    ]]));
  };
  // A line of zeros, the kept lines, those of the band; vectors are read past the end.
  const bandBytes = groups[0].size * rows[0].size * lineBytes;
  const bytes = roundUp(lineBytes + keptBytes + bandBytes + 16);
  return ([dx], [, filter, dy]) =>
    heap.lend(bytes, (zeros) => {
      const base = zeros + lineBytes, lines = base + keptBytes;
      engine.zero(zeros, lineBytes);
      for (const { from: image, size: images } of groups) {
        for (const band of bands) {
          const count = band.to - band.from;
          const gradient = dy + 4 * outChannels * x.out * (image * y.out + band.from);
          products.get(images * count * x.out)!([lines], [gradient, filter]);
          fold(dx + image * y.in * rowBytes, band, { images, zeros, base });
          const end = lines + count * lineBytes;
          if (band.to < y.out) heap.u8.copyWithin(base, end - keptBytes, end);
        }
      }
    });
}

/** True where a kernel exists: for whole vectors, or a line that fits into variables. */
function canFold({ window, step }: FoldCode): boolean {
  return (window % 4 === 0 && step % 4 === 0) || Math.max(window, step) <= 4 * MOST_VECTORS;
}

/**
 * Sums the rows of the image: for each row, `table` has the distances from `base` of the lines that meet there;
 * negative ones are `zeros`. The row is summed in `stage`, which has `stageBytes` and a few vectors more, and copied
 * from `skip` on.
 */
function foldKernel(engine: Engine, code: FoldCode): WasmFunction {
  const inVariables = Math.max(code.window, code.step) <= 4 * MOST_VECTORS;
  const key = inVariables ? `${code.lines} ${code.window} ${code.step}` : `${code.lines}`;
  return kernel(engine, `conv fold ${key}`, 15, ({ f }, p) => {
    const [to, rows, table, base, zeros, stage, places, placeBytes, ...more] = p;
    const [skip, rowBytes, stageBytes, images, imageBytes, windowBytes, stepBytes] = more;
    const lines = f.locals("i32", code.lines), [at, entry] = f.locals("i32", 2);
    f.times(images, () => {
      f.set(entry, table);
      f.times(rows, () => {
        lines.forEach((line, k) => {
          f.set(line, i32.load(entry, 4 * k));
          const isOutside = i32.lt(line, 0);
          f.if(isOutside, () => f.set(line, zeros), () => f.set(line, i32.add(line, base)));
        });
        f.advance(entry, 4 * code.lines);
        f.set(at, stage);
        if (inVariables) {
          inRegisters(f, code, { lines, at, places, placeBytes });
          const end = i32.add(stage, stageBytes);
          f.if(i32.ltU(at, end), () => f.fill(at, 0, i32.sub(end, at)));
        } else {
          f.fill(stage, 0, stageBytes);
          inMemory(f, { lines, at, places, placeBytes, windowBytes, stepBytes });
        }
        f.copy(to, i32.add(stage, skip), rowBytes);
        f.advance(to, rowBytes);
      });
      f.advance(base, imageBytes);
    });
  });
}

/** Addresses and numbers of a row. */
type FoldRow = Readonly<Record<"at" | "places" | "placeBytes", I>> & { lines: readonly I[] };

function sumOf(lines: readonly I[], offset: number): F4 {
  return lines.map((line): F4 => f32x4.load(line, offset)).reduce((a, b) => f32x4.add(a, b));
}

/** Keeps the window of a place and its sums in variables, which shift by a step. */
function inRegisters(
  f: FunctionBuilder,
  { window, step }: FoldCode,
  { lines, at, places, placeBytes }: FoldRow,
): void {
  const given = Math.ceil(window / 4), count = Math.max(given, Math.ceil(step / 4));
  const sums = f.locals("f32x4", count), rest = window % 4;
  const none: F4 = f.constant("f32x4", 0);
  for (const sum of sums) f.set(sum, none);
  const store = (vectors: number): void =>
    sums.slice(0, vectors).forEach((sum, v) => f.store(at, sum, 16 * v));
  f.times(places, () => {
    for (let v = 0; v < given; v++) {
      const all = sumOf(lines, 16 * v);
      // The last vector continues with the next line of the window.
      const own = v === given - 1 && rest > 0 ? f32x4.shuffle(all, none, FIRST_LANES[rest]) : all;
      f.set(sums[v], f32x4.add(sums[v], own));
    }
    // The excess is overwritten by the next place.
    store(Math.ceil(step / 4));
    sums.forEach((sum, v) => {
      const from = Math.floor((step + 4 * v) / 4), lane = step % 4;
      const low = sums[from] ?? none, high = sums[from + 1] ?? none;
      const order = [lane, lane + 1, lane + 2, lane + 3] as const;
      f.set(sum, lane === 0 ? low : f32x4.shuffle(low, high, order));
    });
    lines.forEach((line) => f.advance(line, placeBytes));
    f.advance(at, 4 * step);
  });
  store(count);
  f.advance(at, 16 * count);
}

/** Adds vectors of the window to those in memory. */
function inMemory(
  f: FunctionBuilder,
  { lines, at, places, placeBytes, windowBytes, stepBytes }:
    & FoldRow
    & Readonly<Record<"windowBytes" | "stepBytes", I>>,
): void {
  const here = f.local("i32"), end = f.local("i32");
  const beyond = f.variable("i32", i32.sub(placeBytes, windowBytes));
  f.times(places, () => {
    f.set(here, at);
    f.set(end, i32.add(at, windowBytes));
    f.while(i32.ltU(here, end), () => {
      f.store(here, f32x4.add(f32x4.load(here), sumOf(lines, 0)));
      f.advance(here, 16);
      lines.forEach((line) => f.advance(line, 16));
    });
    lines.forEach((line) => f.advance(line, beyond));
    f.advance(at, stepBytes);
  });
}
