/**
 * Convolutions with few places, few outputs or a small filter. The filter is packed whole and once, or read in place;
 * only the sides of the images are copied; the rest is prepared once for each shape.
 */
import type { Epilogue } from "../../../core/fusion.ts";
import { outPlaces, tapCount, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { movedOperands } from "../gemm/epilogue.ts";
import {
  DOT_COLUMNS,
  dotRows,
  dotsKernel,
  dotsLie,
  dotsPacking,
  dotsSegmentBytes,
} from "../gemm/gemm_dots.ts";
import { panelArguments, panelKernel } from "../gemm/gemm_kernel.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import { type ColumnBlock, operandsFrom, panelStep } from "../gemm/gemm_sums.ts";
import { LAST, PANEL_BYTES, PANEL_COLUMNS, panelRows } from "../gemm/gemm_tile.ts";
import { prepareThin } from "../gemm/gemm_thin.ts";
import type { Pointer } from "../heap.ts";
import { i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import { put } from "./conv_edges.ts";
import { type ConvPart, type ConvParts, convParts } from "./conv_parts.ts";
import { forwardAxes, imageSteps } from "./conv_rows.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Most rows whose pointers are in memory at once, and most bytes of sides. */
const GROUP_ROWS = 16384, GROUP_BYTES = 1 << 21;

/** The kernel and layout for `columns` of the filter from `from` on. */
interface FilterForm {
  readonly from: number;
  readonly columns: number;
  /** Most rows of a panel. */
  readonly most: number;
  readonly kernel: (rows: number) => WasmFunction;
  /** Bytes of the packed columns; 0 where they are read in place. */
  readonly bytes: number;
  readonly pack: (to: Pointer, from: Pointer) => void;
  /** Bytes from row to row, and from panel to panel. */
  readonly step: number;
  readonly panelStep: number;
  /** Bytes before a row where a segment begins. */
  readonly rowAt: (row: number) => number;
}

/** Prepares a convolution of this kind, or returns null. */
export function prepareDirect(
  engine: Engine,
  g: WindowGeometry,
  epilogue?: Epilogue,
): FastRun | null {
  const { channels, outChannels: n, batch } = g;
  const k = channels * tapCount(g), m = batch * outPlaces(g);
  if (k === 0 || !fits(m, n, k)) return null;
  const parts = convParts(engine, batch, forwardAxes(g), channels, n);
  const { length } = parts;
  if (
    m <= THRESHOLDS.convOncePlaces && n >= THRESHOLDS.convThinColumns && !epilogue &&
    parts.parts.length === 1
  ) {
    return thinRun(engine, g, parts);
  }
  const forms = filterForms(engine, { m, n, k, length }, epilogue);
  return directRun(engine, g, parts, { forms, epilogue });
}

function fits(m: number, n: number, k: number): boolean {
  const bytes = 4 * k * Math.max(n, PANEL_COLUMNS);
  if (m <= THRESHOLDS.convOncePlaces) return true;
  return bytes <= THRESHOLDS.convNearBytes ||
    (bytes <= THRESHOLDS.convFarBytes &&
      (m <= THRESHOLDS.convFewPlaces || n <= THRESHOLDS.convFewColumns));
}

/** A product `[m, k] · [k, n]` whose sums have segments of this length. */
type FilterShape = Readonly<Record<"m" | "n" | "k" | "length", number>>;

function filterForms(engine: Engine, shape: FilterShape, epilogue?: Epilogue): FilterForm[] {
  const { m, n, length } = shape;
  const dots = (from: number, size: number): FilterForm =>
    dotsForm(engine, shape, { from, size }, epilogue);
  const tile = (columns: number): FilterForm => tileForm(engine, shape, columns, epilogue);
  if (length <= 2) return [tile(n)];
  if (n <= DOT_COLUMNS && (dotsLie(length, n) || m >= THRESHOLDS.convDotsPlaces * n)) {
    return [dots(0, n)];
  }
  // A half-empty last panel.
  const rest = n % PANEL_COLUMNS;
  const isCut = m >= THRESHOLDS.convPackedPlaces && n <= THRESHOLDS.convCutColumns;
  return isCut && n > rest && rest > 0 && rest <= DOT_COLUMNS
    ? [tile(n - rest), dots(n - rest, rest)]
    : [tile(n)];
}

function dotsForm(
  engine: Engine,
  { n, k, length }: FilterShape,
  { from, size }: ColumnBlock,
  epilogue: Epilogue | undefined,
): FilterForm {
  const segmentBytes = dotsSegmentBytes(length, size), count = k / length;
  const lies = n === 1 && dotsLie(length, n), pack = lies ? null : dotsPacking(engine, size);
  return {
    from,
    columns: size,
    most: dotRows(engine, size),
    kernel: (rows) => dotsKernel(engine, rows, size, epilogue),
    bytes: lies ? 0 : roundUp(segmentBytes * count),
    pack: (to, b) => void pack?.(to, b, count, length, 4 * n),
    step: 0,
    panelStep: 0,
    rowAt: (row) => segmentBytes * row / length,
  };
}

function tileForm(
  engine: Engine,
  { m, n, k }: FilterShape,
  columns: number,
  epilogue: Epilogue | undefined,
): FilterForm {
  const isPacked = n !== PANEL_COLUMNS && m >= THRESHOLDS.convPackedPlaces;
  // Rows of eight columns have the packed layout.
  const source = isPacked || n === PANEL_COLUMNS ? "packed" : "direct";
  const packRows = isPacked ? packing(engine).rows : null, panel = panelStep(k);
  const step = isPacked ? PANEL_BYTES : 4 * n;
  return {
    from: 0,
    columns,
    most: panelRows(engine),
    kernel: (rows) => panelKernel(engine, rows, source, epilogue),
    bytes: isPacked ? roundUp(panel * Math.ceil(columns / PANEL_COLUMNS)) : 0,
    pack: (to, b) => void packRows?.(to, b, k, columns, 4 * n, panel),
    step,
    panelStep: isPacked ? panel : PANEL_BYTES,
    rowAt: (row) => step * row,
  };
}

/** A call of a kernel. Addresses are relative until it is made. */
interface DirectCall {
  readonly kernel: WasmFunction;
  readonly relative: readonly number[];
  readonly args: number[];
  readonly padded: boolean;
  readonly form: FilterForm;
  /** Bytes of a panel of pointers, and number of panels. */
  readonly panelBytes: number;
  readonly count: number;
}

/** The calls for a number of images; `numbers` are offsets of segments, and pointers of rows. */
interface Plan {
  readonly images: number;
  readonly numbers: Int32Array;
  readonly calls: readonly DirectCall[];
}

/** Indices of arguments: see `panelArguments`. */
const PANELS = 0, SEGMENTS = 1, A = 4, B = 5, C = 7, COUNT = 10, OPERANDS = 12;

function directRun(
  engine: Engine,
  g: WindowGeometry,
  { parts, length, edges }: ConvParts,
  { forms, epilogue }: {
    readonly forms: readonly FilterForm[];
    readonly epilogue: Epilogue | undefined;
  },
): FastRun {
  const { batch, channels, outChannels, axes } = g, places = outPlaces(g);
  const { imageBytes } = imageSteps(axes, channels), resultBytes = 4 * outChannels * places;
  const imageWork = 2 * channels * tapCount(g) * outChannels * places;
  const most = Math.min(GROUP_ROWS / places, GROUP_BYTES / (edges?.imageBytes ?? 1), batch);
  const group = Math.max(1, Math.floor(most));

  const none = epilogue?.operands.map(() => 0) ?? [];
  const tableOf = ({ places, at, padded }: ConvPart, images: number, most: number): RowTable => {
    const step = padded ? edges!.imageBytes : imageBytes;
    const one = Array.from({ length: places }, (_, place) => at(place));
    return new RowTable(
      engine,
      images * places,
      (row) => Math.floor(row / places) * step + one[row % places].read,
      (row) => Math.floor(row / places) * resultBytes + one[row % places].result,
      most,
    );
  };
  const planOf = (images: number): Plan => {
    const numbers: number[] = [], calls: DirectCall[] = [];
    const add = (own: Iterable<number>): number => {
      const at = 4 * numbers.length;
      for (const n of own) numbers.push(n);
      return at;
    };
    for (const part of parts) {
      const { segments: offsets, padded, filterRow } = part, segments = add(offsets);
      for (const form of forms) {
        const { step, panelStep, rowAt, columns, from } = form;
        const table = tableOf(part, images, form.most), at = add(table.data);
        for (const { rows, count, at: first } of table.groups) {
          const relative = panelArguments({
            panels: at + first,
            count,
            segments,
            segmentCount: offsets.length,
            segmentBytes: 4 * length,
            aBase: 0,
            cBase: 4 * from,
            b: rowAt(filterRow),
            bStep: step,
            bPanelStep: panelStep,
            columns,
            mode: LAST,
            operands: movedOperands(epilogue, none, "column", 4 * from),
          });
          const args = [...relative], kernel = form.kernel(rows);
          calls.push({ kernel, relative, args, padded, form, panelBytes: 8 * rows, count });
        }
      }
    }
    return { images, numbers: Int32Array.from(numbers), calls };
  };
  const plans = [...new Set([group, batch % group || group])].map(planOf);
  const tableBytes = roundUp(plans[0].numbers.byteLength);
  const formBytes = forms.reduce((n, { bytes }) => n + bytes, 0);
  const bytes = tableBytes + formBytes + (edges?.bytes(group) ?? 0);

  const pack = (to: Pointer, filter: Pointer): void => {
    engine.packings++;
    for (const { pack, from, bytes } of forms) {
      pack(to, filter + 4 * from);
      to += bytes;
    }
  };
  const call = ({ calls, images }: Plan): void => {
    const parts = engine.parts(imageWork * images);
    if (parts === 1) {
      for (let i = 0; i < calls.length; i++) calls[i].kernel(...calls[i].args);
      return;
    }
    const panels = calls.reduce((n, { count }) => n + count, 0), most = Math.ceil(panels / parts);
    engine.callAll(
      calls.flatMap(({ kernel, args, panelBytes, count }) =>
        evenBlocks(count, most, 1).map(({ from, size }) => {
          const own = args.slice();
          own[PANELS] += from * panelBytes;
          own[COUNT] = size;
          return [kernel, own] as const;
        })
      ),
    );
  };
  const run = (isPacked: boolean): FastRun => ([y], [x, filter, ...more]) => {
    const base = engine.scratch(bytes), packed = isPacked ? filter : base + tableBytes;
    const sides = base + tableBytes + formBytes;
    if (!isPacked && formBytes > 0) pack(packed, filter);
    const operands = operandsFrom(epilogue, more, y);
    for (let first = 0; first < batch; first += group) {
      const isLast = batch - first < group, plan = plans[isLast ? 1 : 0];
      if (isLast || first === 0) engine.heap.i32.set(plan.numbers, base >>> 2);
      const image = x + first * imageBytes, result = y + first * resultBytes;
      edges?.fill(sides, image, plan.images);
      for (let i = 0; i < plan.calls.length; i++) {
        const { relative, args, padded, form } = plan.calls[i];
        args[PANELS] = relative[PANELS] + base;
        args[SEGMENTS] = relative[SEGMENTS] + base;
        args[A] = padded ? sides : image;
        // A second form, of the last columns, follows the first.
        const own = packed + (form === forms[0] ? 0 : forms[0].bytes);
        args[B] = relative[B] + (form.bytes > 0 ? own : filter);
        args[C] = relative[C] + result;
        for (let k = OPERANDS; k < args.length; k++) args[k] = relative[k] + operands[k - OPERANDS];
      }
      call(plan);
    }
  };
  if (forms.some(({ bytes }) => bytes === 0)) return run(false);
  const kinds = forms.map(({ from, columns, step }) => `${from} ${columns} ${step}`);
  const key = `direct ${[channels, tapCount(g), length]}: ${kinds}`;
  const form = { input: 1, key, bytes: formBytes, pack, run: run(true) };
  return Object.assign(run(false), { form });
}

/**
 * Prepares a convolution of so few places that the filter is read in order, once: their patches form the rows of a
 * small matrix. Its image has one part.
 */
function thinRun(
  engine: Engine,
  g: WindowGeometry,
  { parts: [part], length, edges }: ConvParts,
): FastRun {
  const { batch, outChannels: n, channels, axes } = g, { places, at, segments } = part;
  const m = batch * places, k = length * segments.length;
  const imageBytes = edges?.imageBytes ?? 4 * channels * axes[0].in * axes[1].in * axes[2].in;
  const thin = prepareThin(engine, { m, n, k, transB: false });
  const gather = patchKernel(engine);
  const numbers = Int32Array.from([
    ...segments.flatMap((offset) => [offset, 4 * length]),
    ...Array.from(
      { length: m },
      (_, row) => Math.floor(row / places) * imageBytes + at(row % places).read,
    ),
  ]);
  const pointers = 8 * segments.length, patches = roundUp(numbers.byteLength);
  const sides = patches + roundUp(4 * k * m + 16), bytes = sides + (edges?.bytes(batch) ?? 0);
  return ([y], [x, filter]) => {
    const base = engine.scratch(bytes), rows = base + patches;
    let from = x;
    if (edges) edges.fill(from = base + sides, x, batch);
    engine.heap.i32.set(numbers, base >>> 2);
    gather(rows, 4 * k, base + pointers, from, m, base, segments.length);
    thin([y], [rows, filter]);
  };
}

/**
 * `run(to, step, pointers, base, rows, pieces, count)`: copies from each pointer the pieces (offset and bytes), side by
 * side.
 */
function patchKernel(engine: Engine): WasmFunction {
  return kernel(engine, "conv patches", 7, ({ f }, p) => {
    const [to, step, pointers, base, rows, pieces, count] = p;
    const [target, bytes, row, piece, left] = f.locals("i32", 5);
    f.countDown(rows, 1, () => {
      f.set(target, to);
      f.set(row, i32.add(i32.load(pointers), base));
      f.set(piece, pieces);
      f.set(left, count);
      f.countDown(left, 1, () => {
        f.set(bytes, i32.load(piece, 4));
        put(f, target, bytes, i32.add(row, i32.load(piece)));
        f.advance(piece, 8);
      });
      f.advance(to, step);
      f.advance(pointers, 4);
    });
  });
}
