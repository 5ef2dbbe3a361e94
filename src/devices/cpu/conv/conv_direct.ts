/**
 * Convolutions with little of something: few places, few outputs or a small filter. The filter is packed whole and once, or read
 * where it lies; of the images no more than their sides is copied; all that can be is prepared once for each shape.
 */
import { outPlaces, tapCount, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Epilogue } from "../gemm/epilogue.ts";
import {
  DOT_COLUMNS,
  dotRows,
  dotsKernel,
  dotsLie,
  dotsPacking,
  dotsSegmentBytes,
} from "../gemm/gemm_dots.ts";
import { panelKernel } from "../gemm/gemm_kernel.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import { type ColumnBlock, operandsFrom, panelStep } from "../gemm/gemm_sums.ts";
import { LAST, PANEL_BYTES, PANEL_COLUMNS, panelRows } from "../gemm/gemm_tile.ts";
import type { Pointer } from "../heap.ts";
import { type ConvPart, type ConvParts, convParts } from "./conv_parts.ts";
import { thinRun } from "./conv_thin.ts";
import { forwardAxes } from "./padded_images.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Rows whose pointers are in memory at once, and bytes of sides. */
const GROUP_ROWS = 16384, GROUP_BYTES = 1 << 21;

/** How some columns of the filter are read, and by which kernel. */
interface FilterForm {
  /** First column. */
  readonly from: number;
  /** How many. */
  readonly columns: number;
  /** Most rows of a panel. */
  readonly most: number;
  readonly kernel: (rows: number) => WasmFunction;
  /** Bytes of memory that they take when packed; 0 where they are read as they lie. */
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
  return new DirectConv(engine, g, parts, forms, epilogue).kernel;
}

function fits(m: number, n: number, k: number): boolean {
  const bytes = 4 * k * Math.max(n, PANEL_COLUMNS);
  if (m <= THRESHOLDS.convOncePlaces) return true;
  return bytes <= THRESHOLDS.convNearBytes ||
    (bytes <= THRESHOLDS.convFarBytes &&
      (m <= THRESHOLDS.convFewPlaces || n <= THRESHOLDS.convFewColumns));
}

/** A product `[m, k] · [k, n]` whose sums have segments of this length. */
interface FilterShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly length: number;
}

function filterForms(
  engine: Engine,
  shape: FilterShape,
  epilogue: Epilogue | undefined,
): FilterForm[] {
  const { m, n, length } = shape;
  const dots = (from: number, columns: number): FilterForm =>
    dotsForm(engine, shape, { from, size: columns }, epilogue);
  const tile = (columns: number): FilterForm => tileForm(engine, shape, columns, epilogue);
  if (length > 2) {
    if (n <= DOT_COLUMNS && (dotsLie(length, n) || m >= THRESHOLDS.convDotsPlaces * n)) {
      return [dots(0, n)];
    }
    // A last panel that is half empty.
    const rest = n % PANEL_COLUMNS;
    if (
      m >= THRESHOLDS.convPackedPlaces && n > rest && n <= THRESHOLDS.convCutColumns && rest > 0 &&
      rest <= DOT_COLUMNS
    ) {
      return [tile(n - rest), dots(n - rest, rest)];
    }
  }
  return [tile(n)];
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
  const shared = { from: 0, columns, most: panelRows(engine) };
  if (n !== PANEL_COLUMNS && m >= THRESHOLDS.convPackedPlaces) {
    const { rows } = packing(engine), step = panelStep(k);
    return {
      ...shared,
      kernel: (rows) => panelKernel(engine, rows, "packed", epilogue),
      bytes: roundUp(step * Math.ceil(columns / PANEL_COLUMNS)),
      pack: (to, b) => void rows(to, b, k, columns, 4 * n, step),
      step: PANEL_BYTES,
      panelStep: step,
      rowAt: (row) => PANEL_BYTES * row,
    };
  }
  // Rows of eight columns lie as if they were packed.
  const source = n === PANEL_COLUMNS ? "packed" : "direct";
  return {
    ...shared,
    kernel: (rows) => panelKernel(engine, rows, source, epilogue),
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
  readonly form: number;
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
const PANELS = 0, SEGMENTS = 1, A = 4, B = 5, C = 7, COUNT = 10, OPERANDS = 12;

class DirectConv {
  readonly #engine: Engine;
  readonly #g: WindowGeometry;
  readonly #parts: ConvParts;
  readonly #forms: readonly FilterForm[];
  readonly #epilogue: Epilogue | undefined;
  readonly #plans: readonly Plan[];
  readonly #imageBytes: number;
  readonly #resultBytes: number;
  /** Where the forms are in memory, and then the sides. */
  readonly #formsAt: readonly number[];
  readonly #formsBytes: number;
  readonly #edgesAt: number;
  readonly #bytes: number;
  readonly #images: number;
  readonly #work: number;

  constructor(
    engine: Engine,
    g: WindowGeometry,
    parts: ConvParts,
    forms: readonly FilterForm[],
    epilogue: Epilogue | undefined,
  ) {
    this.#engine = engine;
    this.#g = g;
    this.#parts = parts;
    this.#forms = forms;
    this.#epilogue = epilogue;
    const { batch, channels, outChannels, axes } = g, places = outPlaces(g), { edges } = parts;
    this.#imageBytes = 4 * channels * axes[0].in * axes[1].in * axes[2].in;
    this.#resultBytes = 4 * outChannels * places;
    this.#work = 2 * channels * tapCount(g) * outChannels * places;
    const most = Math.min(GROUP_ROWS / places, GROUP_BYTES / (edges?.imageBytes ?? 1), batch);
    this.#images = Math.max(1, Math.floor(most));
    const sizes = new Set([this.#images, batch % this.#images || this.#images]);
    this.#plans = [...sizes].map((images) => this.#plan(images));
    let at = roundUp(this.#plans[0].numbers.byteLength);
    const first = at;
    this.#formsAt = forms.map(({ bytes }) => (at += bytes) - bytes - first);
    this.#formsBytes = at - first;
    this.#edgesAt = at;
    this.#bytes = at + (edges ? edges.bytes(this.#images) : 0);
  }

  #plan(images: number): Plan {
    const { parts, edges } = this.#parts;
    const numbers: Int32Array[] = [], calls: DirectCall[] = [];
    let at = 0, panels = 0;
    const put = (own: Int32Array): number => {
      numbers.push(own);
      at += own.length;
      return 4 * (at - own.length);
    };
    for (const part of parts) {
      const segments = put(Int32Array.from(part.segments));
      const tables = new Map<number, { table: RowTable; tableAt: number }>();
      this.#forms.forEach(({ most }, form) => {
        let here = tables.get(most);
        if (here === undefined) {
          const table = this.#table(part, images, edges?.imageBytes ?? 0, most);
          tables.set(most, here = { table, tableAt: put(table.data) });
        }
        const { table, tableAt } = here;
        for (const group of table.groups) {
          calls.push(this.#call(part, form, { ...group, at: tableAt + group.at, segments }));
          panels += group.count;
        }
      });
    }
    const all = new Int32Array(at);
    let filled = 0;
    for (const own of numbers) {
      all.set(own, filled);
      filled += own.length;
    }
    return { images, numbers: all, calls, panels };
  }

  #table({ places, at, padded }: ConvPart, images: number, edgeBytes: number, most: number) {
    const step = padded ? edgeBytes : this.#imageBytes;
    const one = Array.from({ length: places }, (_, place) => at(place));
    return new RowTable(
      this.#engine,
      images * places,
      (row) => Math.floor(row / places) * step + one[row % places].read,
      (row) => Math.floor(row / places) * this.#resultBytes + one[row % places].result,
      most,
    );
  }

  #call(
    { padded, segments: offsets, filterRow }: ConvPart,
    form: number,
    group: { rows: number; count: number; at: number; segments: number },
  ): DirectCall {
    const { kernel, step, panelStep, rowAt, columns } = this.#forms[form], { rows, count } = group;
    const segmentBytes = 4 * this.#parts.length;
    const fixed = [0, 0, offsets.length, segmentBytes, 0, 0, step, 0, columns, LAST];
    return {
      kernel: kernel(rows),
      args: [...fixed, count, panelStep, ...this.#epilogue?.operands.map(() => 0) ?? []],
      padded,
      panels: group.at,
      segments: group.segments,
      form,
      filter: rowAt(filterRow),
      panelBytes: 8 * rows,
      count,
    };
  }

  /** The kernel, with the form of the filter where it is packed. */
  get kernel(): FastRun {
    const run: FastRun = (outs, ins) => this.#run(outs, ins, false);
    if (this.#forms.some(({ bytes }) => bytes === 0)) return run;
    const shape = [this.#g.channels, tapCount(this.#g), this.#parts.length];
    const forms = this.#forms.map(({ from, columns, step }) => `${from} ${columns} ${step}`);
    const form = {
      input: 1,
      key: `direct ${shape}: ${forms}`,
      bytes: this.#formsBytes,
      pack: (to: Pointer, filter: Pointer) => this.#pack(to, filter),
      run: ((outs, ins) => this.#run(outs, ins, true)) satisfies FastRun,
    };
    return Object.assign(run, { form });
  }

  #pack(to: Pointer, filter: Pointer): void {
    this.#engine.packings++;
    this.#forms.forEach(({ pack, from }, i) => pack(to + this.#formsAt[i], filter + 4 * from));
  }

  #run([y]: readonly Pointer[], [x, filter, ...more]: readonly Pointer[], isPacked: boolean): void {
    const engine = this.#engine, { edges } = this.#parts, forms = this.#forms;
    const base = engine.scratch(this.#bytes), sides = base + this.#edgesAt;
    let packed = filter;
    if (!isPacked && this.#formsBytes > 0) {
      packed = sides - this.#formsBytes;
      this.#pack(packed, filter);
    }
    const operands = operandsFrom(this.#epilogue, more, y);
    let held: Plan | undefined;
    for (let first = 0; first < this.#g.batch; first += this.#images) {
      const left = this.#g.batch - first;
      const plan = this.#plans[left < this.#images ? 1 : 0], { images, calls } = plan;
      if (plan !== held) engine.heap.i32.set(plan.numbers, base >>> 2);
      held = plan;
      const image = x + first * this.#imageBytes, result = y + first * this.#resultBytes;
      edges?.fill(sides, image, images);
      for (let i = 0; i < calls.length; i++) {
        const { args, padded, panels, segments, form, filter: rows } = calls[i];
        const { from, bytes } = forms[form];
        args[PANELS] = base + panels;
        args[SEGMENTS] = base + segments;
        args[A] = padded ? sides : image;
        args[B] = (bytes > 0 ? packed + this.#formsAt[form] : filter) + rows;
        args[C] = result + 4 * from;
        for (let k = 0; k < operands.length; k++) {
          const perColumn = this.#epilogue!.operands[k] === "column";
          args[OPERANDS + k] = operands[k] + (perColumn ? 4 * from : 0);
        }
      }
      this.#runCalls(plan, engine.parts(this.#work * images));
    }
  }

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
