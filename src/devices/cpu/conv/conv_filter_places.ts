/**
 * The gradient of a convolution's filter without copies of patches: numbers of the image times vectors of the result's gradient, or,
 * where that has few channels, its numbers times vectors of the image.
 */
import { outPlaces, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { RowTable } from "../gemm/gemm_rows.ts";
import { ADD, LAST, PANEL_BYTES, PANEL_COLUMNS } from "../gemm/gemm_tile.ts";
import { placesKernel } from "./conv_filter_kernel.ts";
import type { ConvRows } from "./conv_rows.ts";

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
  // Where columns begin in the gradient of the result, or in the image, and where their C does.
  const parts = isTurned ? segments.map((b, i) => ({ b, c: 4 * length * i })) : [{ b: 0, c: 0 }];
  const table = isTurned ? new RowTable(engine, oc, (i) => 4 * i, (i) => 4 * k * i) : new RowTable(
    engine,
    k,
    (i) => segments[Math.floor(i / length)] + 4 * (i % length),
    (i) => 4 * oc * i,
  );
  const steps = [4 * channels * x.stride, 4 * oc],
    [aStep, bStep] = isTurned ? steps.reverse() : steps;
  const kernels = table.groups.map((group) => placesKernel(engine, group.rows, aStep));
  /** Lines of places of so many images. */
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

  /** What threads share: panels of rows, and columns where these are few. */
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

/** Where tables lie, what pointers are relative to, and the mode of the tile. */
type Place = "tableAt" | "linesAt" | "cBase" | "aBase" | "b" | "mode";
