/**
 * The gradient of a convolution's input as a product, what each place of the result gives to its window, and the sum of these where
 * windows overlap. It multiplies no zeros from outside, and few channels fill the columns of the product.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareProduct } from "../gemm/gemm.ts";
import { PANEL_COLUMNS } from "../gemm/gemm_tile.ts";
import type { Pointer } from "../heap.ts";
import { cutRows } from "../pool/pool_parts.ts";
import { canFold, type FoldCode, foldKernel } from "./conv_fold_kernel.ts";

/** Bytes of windows that are in memory at once. */
const BLOCK_BYTES = 1 << 20;
/** More lines that meet in one row are not worth code of their own. */
const MOST_LINES = 8;
/** Storing and summing an element of a window, in multiplications of the product; for whole vectors that stay in memory. */
const FOLD_WORK = 3, FOLD_WORK_MEMORY = 5;
/** The other way must multiply this much more: it also copies; with many channels it copies little, and windows are long. */
const MANY_CHANNELS = 64, WORTH = 0.8, WORTH_MANY = 1.15;
/** Work of an element of a line, in floating point operations. */
const WORK = 2;
/** Bytes that are written past the end of a summed row. */
const STAGE_SLACK = 128;
/** A table entry for a line that no place has. */
const OUTSIDE = -1;

/** Rows of the result, whose windows are in memory together, and the rows of the image that no later ones give to. */
interface Band {
  /** Rows of the result. */
  readonly from: number;
  readonly to: number;
  /** Rows of the image. */
  readonly first: number;
  readonly rows: number;
  /** For each of these the lines that meet there, as distances in bytes. */
  readonly lines: Int32Array;
}

/** The gradient by overlapping windows, or null where it does not pay. */
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

/** Taps of all places of the image along an axis. */
function gatheredTaps({ in: extent, filter, stride }: WindowAxis): number {
  return Math.ceil(extent / stride) * filter;
}

function foldRun(engine: Engine, g: WindowGeometry, code: FoldCode): FastRun {
  const { channels, outChannels, axes: [, y, x] } = g, { lines: most, window, step } = code;
  const run = foldKernel(engine, code), { heap } = engine;
  const columns = y.filter * window,
    lineBytes = 4 * columns * x.out,
    rowBytes = 4 * channels * x.in;
  const images = Math.max(1, Math.floor(BLOCK_BYTES / (lineBytes * y.out)));
  // Whole images, or bands of one.
  const groups = evenBlocks(g.batch, images, 1);
  const reach = Math.ceil((y.filter - 1) * y.dilation / y.stride);
  const together = Math.max(reach, Math.floor(BLOCK_BYTES / lineBytes), 1);
  const rows = evenBlocks(y.out, images > 1 ? y.out : together, 1);
  // Lines that are kept from band to band.
  const kept = rows.length > 1 ? reach : 0, keptBytes = kept * lineBytes;
  const bands = rows.map(({ from, size }) =>
    bandOf(y, { from, to: from + size, kept, lineBytes, code })
  );
  const places = groups.flatMap((group) => rows.map((r) => group.size * r.size * x.out));
  const products = new Map([...new Set(places)].map((m) => [
    m,
    prepareProduct(engine, { m, n: columns, k: outChannels, transA: false, transB: true }),
  ]));
  const stageBytes = roundUp(
    4 * Math.max(channels * (x.before + x.in), x.out * step + window),
  );

  /** Sums the rows of images that belong to a band. */
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
  // A line of zeros, those kept, those of the band; vectors are read past the end.
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
          products.get(images * count * x.out)!(lines, gradient, filter);
          fold(dx + image * y.in * rowBytes, band, { images, zeros, base });
          const end = lines + count * lineBytes;
          if (band.to < y.out) heap.u8.copyWithin(base, end - keptBytes, end);
        }
      }
    });
}

function bandOf(
  y: WindowAxis,
  { from, to, kept, lineBytes, code: { lines: most, window } }: {
    readonly from: number;
    readonly to: number;
    readonly kept: number;
    readonly lineBytes: number;
    readonly code: FoldCode;
  },
): Band {
  const rowOf = (place: number): number => Math.min(y.in, Math.max(0, place * y.stride - y.before));
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
}
