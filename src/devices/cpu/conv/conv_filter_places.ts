/**
 * The gradient of a convolution's filter without copies of patches: numbers of the image times vectors of the result's gradient, or,
 * where that has few channels, its numbers times vectors of the image.
 */
import { outPlaces, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall, WasmFunction } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import { PANEL_BYTES, PANEL_COLUMNS } from "../gemm/gemm_tile.ts";
import { placesArguments, type PlacesCall, placesKernel } from "./conv_filter_kernel.ts";
import type { ConvRows } from "./conv_rows.ts";
import type { ImageGroup } from "./padded_images.ts";

/** Places whose products are summed before they are added to the others: what they read stays near. */
const TOGETHER = 256;
/** Longer lines are cut by the other way, which sums no more at once. */
const MOST_PLACES = 2 * TOGETHER;
/** Turning a row of patches for panels, and a segment, in multiplications of a place. */
const COPY_ROW = 7, COPY_SEGMENT = 50;
/** How much faster panels are multiplied. */
const FACTOR = 1.2;
/** So many numbers from place to place have a kernel of their own. */
const MOST_STEP = 64;
/** Fewer rows leave the processor waiting for what it reads: so many are as slow. */
const FEW_ROWS = 3;

/** The gradient place by place, or null where it does not pay; there are places, and the filter is not empty. */
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
  return new FilterPlaces(engine, g, rows, isTurned).run;
}

/** Sums of some rows of the filter's gradient, or of the turned one. */
interface Part {
  /** Where its columns begin in the gradient of the result, or in the image, in bytes. */
  readonly b: number;
  /** Where its C begins. */
  readonly c: number;
}

class FilterPlaces {
  readonly #engine: Engine;
  readonly #g: WindowGeometry;
  readonly #rows: ConvRows;
  readonly #isTurned: boolean;
  readonly #parts: readonly Part[];
  readonly #table: RowTable;
  /** Of each group of panels. */
  readonly #kernels: readonly WasmFunction[];
  readonly #columns: number;
  /** Lines of places of each size of group. */
  readonly #lines: ReadonlyMap<number, Int32Array>;
  readonly #bytes: Readonly<Record<"table" | "lines" | "list" | "turned", number>>;

  constructor(engine: Engine, g: WindowGeometry, rows: ConvRows, isTurned: boolean) {
    const { outChannels: oc } = g, { segments, length, padded } = rows;
    const k = segments.length * length;
    this.#engine = engine;
    this.#g = g;
    this.#rows = rows;
    this.#isTurned = isTurned;
    this.#parts = isTurned ? segments.map((b, i) => ({ b, c: 4 * length * i })) : [{ b: 0, c: 0 }];
    this.#columns = isTurned ? length : oc;
    this.#table = isTurned
      ? new RowTable(engine, oc, (i) => 4 * i, (i) => 4 * k * i)
      : new RowTable(
        engine,
        k,
        (i) => segments[Math.floor(i / length)] + 4 * (i % length),
        (i) => 4 * oc * i,
      );
    const aStep = 4 * (isTurned ? oc : g.channels * g.axes[2].stride);
    this.#kernels = this.#table.groups.map((group) => placesKernel(engine, group.rows, aStep));
    this.#lines = new Map(
      padded.groups.map(({ images }) => [images, this.#linesOf(images)] as const),
    );
    this.#bytes = {
      table: roundUp(this.#table.bytes),
      lines: roundUp(Math.max(...[...this.#lines.values()].map((l) => l.byteLength))),
      list: isTurned ? roundUp(4 * oc) : 0,
      turned: isTurned ? roundUp(4 * k * oc) : 0,
    };
  }

  #linesOf(images: number): Int32Array {
    const { outChannels: oc, axes: [, , x] } = this.#g, list = this.#rows.list(images);
    const lines = new Int32Array(2 * list.length / x.out);
    for (let i = 0; i < list.length; i += x.out) {
      const pair = [list[i], 4 * oc * i];
      lines.set(this.#isTurned ? pair.reverse() : pair, 2 * i / x.out);
    }
    return lines;
  }

  readonly run: FastRun = ([df], [x, , dy]) => {
    const engine = this.#engine, { heap } = engine, { padded, segments, length } = this.#rows;
    const { outChannels: oc } = this.#g, places = outPlaces(this.#g), bytes = this.#bytes;
    const table = engine.scratch(
      bytes.table + bytes.lines + bytes.list + bytes.turned + padded.bytes + PANEL_BYTES,
    );
    const lines = table + bytes.table, list = lines + bytes.lines, turned = list + bytes.list;
    const images = turned + bytes.turned;
    this.#table.put(heap, table);
    padded.clear(engine, images);
    let held = -1;
    for (const group of padded.groups) {
      if (held !== group.images) heap.i32.set(this.#lines.get(group.images)!, lines >>> 2);
      held = group.images;
      const image = padded.fill(engine, images, x, group);
      const gradient = dy + 4 * group.first * places * oc;
      const bases = this.#isTurned
        ? { cBase: turned, aBase: gradient, b: image }
        : { cBase: df, aBase: image, b: gradient };
      engine.callAll(this.#calls(group, { ...bases, panels: table, lines }));
    }
    if (this.#isTurned) {
      const { ramp, turn } = packing(engine), k = segments.length * length;
      ramp(list, oc, 0, 4 * k);
      turn(df, 4 * oc, list, turned, oc, k);
    }
  };

  /** What threads share: panels of rows, and columns where these are few. */
  #calls(
    { first, images }: ImageGroup,
    { cBase, b, ...at }: Pick<PlacesCall, "panels" | "cBase" | "aBase" | "b" | "lines">,
  ): WasmCall[] {
    const engine = this.#engine, { channels, outChannels: oc, axes: [, , x] } = this.#g;
    const table = this.#table, count = this.#lines.get(images)!.length / 2;
    const work = 2 * count * x.out * table.rows * this.#columns * this.#parts.length;
    const cuts = Math.ceil(engine.parts(work) / this.#parts.length);
    const most = Math.ceil(table.panels / cuts);
    const wide = Math.max(PANEL_COLUMNS, Math.ceil(this.#columns * table.panels / cuts));
    const bStep = 4 * (this.#isTurned ? channels * x.stride : oc);
    return this.#parts.flatMap((part) =>
      table.groups.flatMap((group, i) =>
        evenBlocks(group.count, most, 1).flatMap((panels) =>
          evenBlocks(this.#columns, wide, PANEL_COLUMNS).map(({ from, size }): WasmCall => [
            this.#kernels[i],
            placesArguments({
              ...at,
              panels: at.panels + group.at + 8 * group.rows * panels.from,
              count: panels.size,
              columns: size,
              cBase: cBase + part.c + 4 * from,
              b: b + part.b + 4 * from,
              lineCount: count,
              together: Math.max(1, Math.floor(TOGETHER / x.out)),
              places: x.out,
              bStep,
              add: first > 0,
            }),
          ])
        )
      )
    );
  }
}
