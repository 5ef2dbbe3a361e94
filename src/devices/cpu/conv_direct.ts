/**
 * Convolutions with little of something: few places, few outputs or a small filter. The filter is packed whole and once, or read
 * where it lies; of the images no more than their sides is copied; all that can be is prepared once for each shape.
 * May import core, kernels and this folder.
 */
import { outPlaces, tapCount, type WindowGeometry } from "../../kernels/conv_geometry.ts";
import { evenBlocks, roundUp } from "./blocks.ts";
import { type ConvPart, type ConvParts, convParts } from "./conv_parts.ts";
import type { Engine, WasmFunction } from "./engine.ts";
import type { FastRun } from "./fast.ts";
import {
  DOT_COLUMNS,
  dotRows,
  dotsKernel,
  dotsLie,
  dotsPacking,
  dotsSegmentBytes,
} from "./gemm_dots.ts";
import { panelKernel } from "./gemm_kernel.ts";
import { packing } from "./gemm_pack.ts";
import { RowTable } from "./gemm_rows.ts";
import { operandsFrom, panelStep, worthObjects } from "./gemm_sums.ts";
import { prepareThin, THIN_ROWS } from "./gemm_thin.ts";
import { type Finish, LAST, PANEL_BYTES, PANEL_COLUMNS, panelRows } from "./gemm_tile.ts";
import type { Pointer } from "./heap.ts";
import { forwardAxes } from "./padded_images.ts";

/** Filters of up to this many bytes are read whole for every few places. */
const NEAR_BYTES = 1 << 14;
/** Larger ones are read by so few places at most, or if they have few outputs. */
const FEW_PLACES = 18, FAR_BYTES = 1 << 19;
/** So many places are worth packing a filter. */
const PACKED_PLACES = 64;
/** So many places for each output are worth turning it for sums by lanes. */
const DOTS_PLACES = 6;
/** Rows whose pointers are in memory at once, and bytes of sides. */
const GROUP_ROWS = 16384, GROUP_BYTES = 1 << 21;
/** Fewer columns are not worth a kernel that goes along them. */
const THIN_COLUMNS = 16;

/** How the filter is read, and by which kernel. */
interface FilterForm {
  /** Most rows of a panel. */
  readonly most: number;
  readonly kernel: (rows: number) => WasmFunction;
  /** Bytes of memory that a packed filter takes; 0 where it is read as it lies. */
  readonly bytes: number;
  readonly pack: (to: Pointer, from: Pointer) => void;
  /** Bytes from row to row, and from panel to panel. */
  readonly step: number;
  readonly panelStep: number;
  /** Bytes before a row where a segment begins. */
  readonly rowAt: (row: number) => number;
}

/** A convolution that fits, or null. */
export function prepareDirect(
  engine: Engine,
  g: WindowGeometry,
  finish?: Finish,
): FastRun | null {
  const { channels, outChannels: n, batch } = g;
  const k = channels * tapCount(g), m = batch * outPlaces(g);
  if (k === 0 || !fits(m, n, k)) return null;
  const parts = convParts(engine, batch, forwardAxes(g), channels, n);
  const { length } = parts;
  const panels = Math.ceil(m / panelRows(engine));
  if (m > FEW_PLACES && worthObjects(engine, panels, n)) return null;
  if (m <= THIN_ROWS && n >= THIN_COLUMNS && !finish && parts.parts.length === 1) {
    return thinRun(engine, g, parts);
  }
  return new DirectConv(engine, g, parts, filterForm(engine, m, n, k, length, finish), finish).run;
}

function fits(m: number, n: number, k: number): boolean {
  const bytes = 4 * k * Math.max(n, PANEL_COLUMNS);
  if (m <= THIN_ROWS && n >= THIN_COLUMNS) return true;
  return bytes <= NEAR_BYTES || (bytes <= FAR_BYTES && (m <= FEW_PLACES || n <= PANEL_COLUMNS));
}

function filterForm(
  engine: Engine,
  m: number,
  n: number,
  k: number,
  length: number,
  finish: Finish | undefined,
): FilterForm {
  if (n <= DOT_COLUMNS && length > 2 && (dotsLie(length, n) || m >= DOTS_PLACES * n)) {
    const segmentBytes = dotsSegmentBytes(length, n), count = k / length;
    const lies = dotsLie(length, n), pack = lies ? null : dotsPacking(engine, n);
    return {
      most: dotRows(engine, n),
      kernel: (rows) => dotsKernel(engine, rows, n, finish),
      bytes: lies ? 0 : roundUp(segmentBytes * count),
      pack: (to, from) => void pack?.(to, from, count, length),
      step: 0,
      panelStep: 0,
      rowAt: (row) => segmentBytes * row / length,
    };
  }
  const most = panelRows(engine);
  if (n !== PANEL_COLUMNS && m >= PACKED_PLACES) {
    const { rows } = packing(engine), step = panelStep(k);
    return {
      most,
      kernel: (rows) => panelKernel(engine, rows, "packed", finish),
      bytes: roundUp(step * Math.ceil(n / PANEL_COLUMNS)),
      pack: (to, from) => void rows(to, from, k, n, 4 * n, step),
      step: PANEL_BYTES,
      panelStep: step,
      rowAt: (row) => PANEL_BYTES * row,
    };
  }
  // Rows of eight columns lie as if they were packed.
  const source = n === PANEL_COLUMNS ? "packed" : "direct";
  return {
    most,
    kernel: (rows) => panelKernel(engine, rows, source, finish),
    bytes: 0,
    pack: () => {},
    step: 4 * n,
    panelStep: PANEL_BYTES,
    rowAt: (row) => 4 * n * row,
  };
}

/** A call of a kernel. Places in memory are relative until it is made. */
interface DirectCall {
  readonly kernel: WasmFunction;
  /** Of these, addresses are filled in. */
  readonly args: number[];
  readonly padded: boolean;
  readonly panels: number;
  readonly segments: number;
  readonly filter: number;
  /** Bytes of a panel of pointers. */
  readonly panelBytes: number;
  readonly count: number;
}

/** The places of a number of images, as calls. */
interface Plan {
  readonly images: number;
  /** Offsets of segments, and pointers of rows. */
  readonly numbers: Int32Array;
  readonly calls: readonly DirectCall[];
  readonly panels: number;
}

/** Indices of arguments: see `PanelCall`. */
const PANELS = 0, SEGMENTS = 1, A = 4, B = 5, C = 7, COUNT = 10, OPERANDS = 13;

class DirectConv {
  readonly #engine: Engine;
  readonly #g: WindowGeometry;
  readonly #parts: ConvParts;
  readonly #form: FilterForm;
  readonly #finish: Finish | undefined;
  readonly #plans: readonly Plan[];
  readonly #imageBytes: number;
  readonly #resultBytes: number;
  readonly #filterAt: number;
  readonly #edgesAt: number;
  readonly #bytes: number;
  readonly #images: number;
  readonly #work: number;

  constructor(
    engine: Engine,
    g: WindowGeometry,
    parts: ConvParts,
    form: FilterForm,
    finish: Finish | undefined,
  ) {
    this.#engine = engine;
    this.#g = g;
    this.#parts = parts;
    this.#form = form;
    this.#finish = finish;
    const { batch, channels, outChannels, axes } = g, places = outPlaces(g), { edges } = parts;
    this.#imageBytes = 4 * channels * axes[0].in * axes[1].in * axes[2].in;
    this.#resultBytes = 4 * outChannels * places;
    this.#work = 2 * channels * tapCount(g) * outChannels * places;
    const most = Math.min(GROUP_ROWS / places, GROUP_BYTES / (edges?.imageBytes ?? 1), batch);
    this.#images = Math.max(1, Math.floor(most));
    const sizes = new Set([this.#images, batch % this.#images || this.#images]);
    this.#plans = [...sizes].map((images) => this.#plan(images));
    this.#filterAt = roundUp(this.#plans[0].numbers.byteLength);
    this.#edgesAt = this.#filterAt + form.bytes;
    this.#bytes = this.#edgesAt + (edges ? edges.bytes(this.#images) : 0);
  }

  #plan(images: number): Plan {
    const { parts, length } = this.#parts, { edges } = this.#parts;
    const tables = parts.map((part) => this.#table(part, images, edges?.imageBytes ?? 0));
    const size = parts.reduce((s, p, i) => s + p.segments.length + tables[i].bytes / 4, 0);
    const numbers = new Int32Array(size), calls: DirectCall[] = [];
    let at = 0, panels = 0;
    parts.forEach((part, i) => {
      const segments = 4 * at;
      numbers.set(part.segments, at);
      at += part.segments.length;
      tables[i].copyTo(numbers, at);
      for (const group of tables[i].groups) {
        calls.push(this.#call(part, length, { ...group, at: 4 * at + group.at, segments }));
        panels += group.count;
      }
      at += tables[i].bytes / 4;
    });
    return { images, numbers, calls, panels };
  }

  #table({ places, at, padded }: ConvPart, images: number, edgeBytes: number): RowTable {
    const step = padded ? edgeBytes : this.#imageBytes;
    const one = Array.from({ length: places }, (_, place) => at(place));
    return new RowTable(
      this.#engine,
      images * places,
      (row) => Math.floor(row / places) * step + one[row % places].read,
      (row) => Math.floor(row / places) * this.#resultBytes + one[row % places].result,
      this.#form.most,
    );
  }

  #call(
    { padded, segments: offsets, filterRow }: ConvPart,
    length: number,
    group: { rows: number; count: number; at: number; segments: number },
  ): DirectCall {
    const { kernel, step, panelStep, rowAt } = this.#form, { rows, count } = group;
    const fixed = [0, 0, offsets.length, 4 * length, 0, 0, step, 0, this.#g.outChannels, LAST];
    return {
      kernel: kernel(rows),
      args: [...fixed, count, panelStep, 0, ...this.#finish?.operands.map(() => 0) ?? []],
      padded,
      panels: group.at,
      segments: group.segments,
      filter: rowAt(filterRow),
      panelBytes: 8 * rows,
      count,
    };
  }

  readonly run: FastRun = ([y], [x, filter, ...more]) => {
    const engine = this.#engine, { edges } = this.#parts;
    const base = engine.scratch(this.#bytes), sides = base + this.#edgesAt;
    let f = filter;
    if (this.#form.bytes > 0) this.#form.pack(f = base + this.#filterAt, filter);
    const operands = operandsFrom(this.#finish, more, y);
    let held: Plan | undefined;
    for (let first = 0; first < this.#g.batch; first += this.#images) {
      const left = this.#g.batch - first;
      const plan = this.#plans[left < this.#images ? 1 : 0], { images, calls } = plan;
      if (plan !== held) engine.heap.i32.set(plan.numbers, base >>> 2);
      held = plan;
      const image = x + first * this.#imageBytes, result = y + first * this.#resultBytes;
      edges?.fill(sides, image, images);
      for (let i = 0; i < calls.length; i++) {
        const { args, padded, panels, segments, filter } = calls[i];
        args[PANELS] = base + panels;
        args[SEGMENTS] = base + segments;
        args[A] = padded ? sides : image;
        args[B] = f + filter;
        args[C] = result;
        for (let k = 0; k < operands.length; k++) args[OPERANDS + k] = operands[k];
      }
      this.#runCalls(plan, engine.parts(this.#work * images));
    }
  };

  #runCalls({ calls, panels }: Plan, parts: number): void {
    if (parts === 1) {
      for (let i = 0; i < calls.length; i++) calls[i].kernel(...calls[i].args);
      return;
    }
    const most = Math.ceil(panels / parts);
    this.#engine.callAll(
      calls.flatMap(({ kernel, args, panelBytes, count }) =>
        evenBlocks(count, most, 1).map(({ from, size }) => {
          const own = args.slice();
          own[PANELS] += from * panelBytes;
          own[COUNT] = size;
          return [kernel, own] as const;
        })
      ),
    );
  }
}

/** So few places that the filter is read in order, once. */
function thinRun(engine: Engine, g: WindowGeometry, { parts: [part], length, edges }: ConvParts) {
  const { batch, outChannels: n, channels, axes } = g, { places, at, segments } = part;
  const m = batch * places;
  const image = part.padded
    ? edges!.imageBytes
    : 4 * channels * axes[0].in * axes[1].in * axes[2].in;
  const readAt = (row: number): number => Math.floor(row / places) * image + at(row % places).read;
  // So few rows lie along one axis: evenly.
  const rowStep = m > 1 ? readAt(1) - readAt(0) : 0;
  const [begin, goOn] = [false, true].map((add) =>
    prepareThin(engine, { m, n, k: length, transB: false, rowStep, add })
  );
  const first = readAt(0), bytes = edges?.bytes(batch) ?? 0;
  const run: FastRun = ([y], [x, filter]) => {
    let from = x;
    if (edges) edges.fill(from = engine.scratch(bytes), x, batch);
    segments.forEach((offset, i) => {
      (i === 0 ? begin : goOn)(y, from + first + offset, filter + 4 * n * length * i);
    });
  };
  return run;
}
