/**
 * The gradient of a convolution's input as a product, what each place of the result gives to its window, and the sum of these where
 * windows overlap. It multiplies no zeros from outside, and few channels fill the columns of the product.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { prepareProduct, type ProductRun } from "../gemm/gemm.ts";
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
  return new Fold(engine, g, code).run;
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

class Fold {
  readonly #engine: Engine;
  readonly #g: WindowGeometry;
  readonly #code: FoldCode;
  readonly #kernel: WasmFunction;
  /** Whole images, or bands of one. */
  readonly #groups: readonly { from: number; size: number }[];
  readonly #bands: readonly Band[];
  readonly #products: ReadonlyMap<number, ProductRun>;
  readonly #lineBytes: number;
  /** Bytes of lines that are kept from band to band. */
  readonly #keptBytes: number;
  readonly #stageBytes: number;

  constructor(engine: Engine, g: WindowGeometry, code: FoldCode) {
    this.#engine = engine;
    this.#g = g;
    this.#code = code;
    this.#kernel = foldKernel(engine, code);
    const [, y, x] = g.axes, { channels, outChannels } = g, columns = y.filter * code.window;
    this.#lineBytes = 4 * columns * x.out;
    const images = Math.max(1, Math.floor(BLOCK_BYTES / (this.#lineBytes * y.out)));
    this.#groups = evenBlocks(g.batch, images, 1);
    const reach = Math.ceil((y.filter - 1) * y.dilation / y.stride);
    const most = Math.max(reach, Math.floor(BLOCK_BYTES / this.#lineBytes), 1);
    const rows = evenBlocks(y.out, images > 1 ? y.out : most, 1);
    this.#keptBytes = rows.length > 1 ? reach * this.#lineBytes : 0;
    this.#bands = rows.map(({ from, size }) => this.#band(from, from + size));
    const places = this.#groups.flatMap((group) => rows.map((r) => group.size * r.size * x.out));
    this.#products = new Map([...new Set(places)].map((m) => [
      m,
      prepareProduct(engine, { m, n: columns, k: outChannels, transA: false, transB: true }),
    ]));
    const row = channels * (x.before + x.in), summed = x.out * code.step + code.window;
    this.#stageBytes = roundUp(4 * Math.max(row, summed));
  }

  #band(from: number, to: number): Band {
    const [, y] = this.#g.axes, { lines: most, window } = this.#code, lineBytes = this.#lineBytes;
    const kept = this.#keptBytes / lineBytes, start = Math.max(0, from - kept);
    const rowOf = (place: number): number =>
      Math.min(y.in, Math.max(0, place * y.stride - y.before));
    const first = from === 0 ? 0 : rowOf(from), rows = (to === y.out ? y.in : rowOf(to)) - first;
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

  readonly run: FastRun = ([dx], [, filter, dy]) => {
    const engine = this.#engine, { heap } = engine, { outChannels, axes: [, y, x] } = this.#g;
    const lineBytes = this.#lineBytes, keptBytes = this.#keptBytes;
    const most = this.#groups[0].size * (this.#bands[0].to - this.#bands[0].from);
    // A line of zeros, those kept, those of the band; vectors are read past the end.
    const bytes = roundUp(lineBytes + keptBytes + most * lineBytes + 16);
    heap.lend(bytes, (zeros) => {
      const kept = zeros + lineBytes, lines = kept + keptBytes;
      engine.zero(zeros, lineBytes);
      for (const { from: image, size } of this.#groups) {
        for (const band of this.#bands) {
          const { from, to } = band, m = size * (to - from) * x.out;
          const gradient = dy + 4 * outChannels * x.out * (image * y.out + from);
          this.#products.get(m)!(lines, gradient, filter);
          this.#fold(dx, band, { image, images: size, zeros, base: kept });
          if (to < y.out) {
            const end = lines + (to - from) * lineBytes;
            heap.u8.copyWithin(kept, end - keptBytes, end);
          }
        }
      }
    });
  };

  /** Sums the rows of the image that belong to a band. */
  #fold(
    dx: Pointer,
    { from, to, first, rows, lines }: Band,
    { image, images, zeros, base }: {
      readonly image: number;
      readonly images: number;
      readonly zeros: Pointer;
      readonly base: Pointer;
    },
  ): void {
    const engine = this.#engine, { channels, axes: [, y, x] } = this.#g;
    const { lines: most, window, step } = this.#code, rowBytes = 4 * channels * x.in;
    const parts = cutRows(engine, {
      images,
      rows,
      work: WORK * images * rows * x.out * most * window,
    });
    const stageBytes = this.#stageBytes + STAGE_SLACK, tableBytes = roundUp(lines.byteLength);
    const at = engine.scratch(tableBytes + parts.length * stageBytes);
    engine.heap.i32.set(lines, at >>> 2);
    const imageBytes = (to - from) * this.#lineBytes;
    engine.callAll(parts.map((part, k): WasmCall => [this.#kernel, [
      dx + ((image + part.image) * y.in + first + part.row) * rowBytes,
      part.rows,
      at + 4 * most * part.row,
      base + part.image * imageBytes,
      zeros,
      at + tableBytes + k * stageBytes,
      x.out,
      4 * y.filter * window,
      4 * channels * x.before,
      rowBytes,
      this.#stageBytes,
      part.images,
      imageBytes,
      4 * window,
      4 * step,
    ]]));
  }
}
