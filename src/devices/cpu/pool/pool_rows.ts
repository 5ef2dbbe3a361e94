/**
 * Poolings over two axes by windows of few taps, which are written out.
 * Channels last, float32.
 */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import { kernel } from "../wasm/kernel.ts";
import { cutRows, type PoolRun } from "./pool_parts.ts";
import { MOST_VECTORS, OUTSIDE, writeRows } from "./pool_rows_kernel.ts";
import { insideOf } from "./windows.ts";

/** Largest window, along either axis, whose columns are kept in variables. */
const MOST_TAPS = 5;
/** Fewest channels: below, most of a vector would be idle. */
const FEWEST_CHANNELS = 4;
/** Bytes of the rows of a window that stay near while they are read several times. */
const MOST_BYTES = 16384;
/** Work of folding one element, in floating point operations. */
const WORK = 6;

/** The kernel, or null for other windows. Past the border stand copies of the border for the greatest, and zeros for averages. */
export function prepareRows(
  engine: Engine,
  g: WindowGeometry,
  kind: "max" | "average",
): PoolRun | null {
  const [z, y, x] = g.axes;
  const flat = z.filter === 1 && z.in === 1 && z.out === 1;
  const small = Math.max(y.filter, x.filter) <= MOST_TAPS && g.channels >= FEWEST_CHANNELS;
  if (!flat || !small || y.dilation > 1 || x.dilation > 1) return null;
  const counts = [y, x].map((axis) => insideOf(axis).map(({ count }) => count));
  if (counts.flat().includes(0)) return null;
  const pixel = 4 * g.channels, row = pixel * x.in;
  // Where the lines of a window fill much of the cache, reading them in order is worth reading some twice.
  const long = y.filter * row > MOST_BYTES && x.filter <= 3 && 2 * x.stride > x.filter;
  const apart = x.stride >= x.filter || long;
  const columns = columnsOf(x, { step: pixel, kind, apart });
  const rows = Array.from({ length: y.out }, (_, p) => {
    const from = p * y.stride - y.before;
    return [...placesOf(y, { from, count: y.filter, step: row, kind }), counts[0][p]];
  }).flat();
  // Rows, columns, how many columns of each window are inside, and a row of zeros.
  const table = Int32Array.from([...rows, ...columns, ...counts[1]]);
  const places = [rows.length, rows.length + columns.length].map((n) => 4 * n);
  const zeros = roundUp(table.byteLength);
  const stride = apart ? x.filter : x.stride;
  // Few channels are taken all at once, and what is left of their last vector stored past the place.
  const vectors = Math.ceil(g.channels / 4), few = vectors <= MOST_VECTORS;
  const lanes = few ? `${vectors} ${g.channels % 4 > 0}` : "";
  const key = `pool ${kind} ${y.filter} ${x.filter} ${stride} ${lanes}`;
  const run = kernel(engine, key, 11, (s, p) =>
    writeRows(s, p, {
      kind,
      taps: [y.filter, x.filter],
      stride,
      vectors: few ? vectors : 0,
      part: few && g.channels % 4 > 0,
    }));
  const imageBytes = row * y.in, resultRow = pixel * x.out;
  const work = WORK * g.batch * g.channels * x.out * y.out * (y.filter * stride + x.filter);
  return (to, from) => {
    const parts = cutRows(engine, { images: g.batch, rows: y.out, work });
    const at = engine.scratch(zeros + row + 16);
    engine.heap.i32.set(table, at >>> 2);
    engine.zero(at + zeros, row + 16);
    engine.callAll(parts.map(({ image, images, row: first, rows: count }): WasmCall => [run, [
      to + (image * y.out + first) * resultRow,
      from + image * imageBytes,
      at + 4 * (y.filter + 1) * first,
      at + places[0],
      at + places[1],
      at + zeros,
      images,
      count,
      x.out,
      g.channels,
      imageBytes,
    ]]));
  };
}

/** Where so many places from one on are, in bytes. */
export function placesOf(
  { in: extent }: WindowAxis,
  { from, count, step, kind }: {
    readonly from: number;
    readonly count: number;
    readonly step: number;
    readonly kind: "max" | "average";
  },
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const at = from + i, inside = Math.max(0, Math.min(extent - 1, at));
    return kind === "average" && at !== inside ? OUTSIDE : inside * step;
  });
}

/** Where the columns are that windows read: of each window, or each once. */
export function columnsOf(
  x: WindowAxis,
  { step, kind, apart }: {
    readonly step: number;
    readonly kind: "max" | "average";
    readonly apart: boolean;
  },
): number[] {
  const { out, stride, filter, before } = x;
  if (!apart) {
    const count = (out - 1) * stride + filter;
    return placesOf(x, { from: -before, count, step, kind });
  }
  return Array.from(
    { length: out },
    (_, p) => placesOf(x, { from: p * stride - before, count: filter, step, kind }),
  ).flat();
}
