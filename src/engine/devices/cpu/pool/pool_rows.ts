/** Poolings over two axes by windows of few taps, which are unrolled. Channels last, float32. */
import type { WindowAxis, WindowGeometry } from "../../../kernels/conv/geometry.ts";
import { roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I, Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";
import { cutRows, type PoolKind } from "./pool_parts.ts";
import { insideOf } from "./windows.ts";

/**
 * Table entry of a place outside: no offset, all of which are multiples of four. Those of large images have the highest
 * bit.
 */
const OUTSIDE = -1;
/** Most vectors of channels at once. */
const MOST_VECTORS = 4;
/** Largest window, along either axis, whose columns are kept in variables. */
const MOST_TAPS = 5;
/** Fewest channels: below, most of a vector would be idle. */
const FEWEST_CHANNELS = 4;
/** Bytes of a window's rows that stay in the cache while they are read several times. */
const MOST_BYTES = 16384;
/** Work of folding one element, in floating point operations. */
const WORK = 6;

/**
 * Prepares the kernel, or returns null for other windows. Copies of the border stand beyond it for the maximum, and
 * zeros for averages.
 */
export function prepareRows(engine: Engine, g: WindowGeometry, kind: PoolKind): FastRun | null {
  const [z, y, x] = g.axes;
  const flat = z.filter === 1 && z.in === 1 && z.out === 1;
  const small = Math.max(y.filter, x.filter) <= MOST_TAPS && g.channels >= FEWEST_CHANNELS;
  if (!flat || !small || y.dilation > 1 || x.dilation > 1) return null;
  const counts = [y, x].map((axis) => insideOf(axis).map(({ count }) => count));
  if (counts.flat().includes(0)) return null;
  const pixel = 4 * g.channels, row = pixel * x.in;
  // Where the lines of a window fill much of the cache, reading in order is worth some repeated reads.
  const long = y.filter * row > MOST_BYTES && x.filter <= 3 && 2 * x.stride > x.filter;
  const apart = x.stride >= x.filter || long;
  const columns = columnsOf(x, { step: pixel, kind, apart });
  const rows = Array.from({ length: y.out }, (_, p) => {
    const from = p * y.stride - y.before;
    return [...placesOf(y, { from, count: y.filter, step: row, kind }), counts[0][p]];
  }).flat();
  // Rows, columns, number of columns inside of each window, and a row of zeros.
  const table = Int32Array.from([...rows, ...columns, ...counts[1]]);
  const places = [rows.length, rows.length + columns.length].map((n) => 4 * n);
  const zeros = roundUp(table.byteLength);
  const stride = apart ? x.filter : x.stride;
  // Few channels are processed at once, and the rest of their last vector is stored past the place.
  const vectors = Math.ceil(g.channels / 4), few = vectors <= MOST_VECTORS;
  const lanes = few ? `${vectors} ${g.channels % 4 > 0}` : "";
  const key = `pool ${kind} ${y.filter} ${x.filter} ${stride} ${lanes}`;
  const part = few && g.channels % 4 > 0, taps = [y.filter, x.filter] as const;
  const code: PoolCode = { kind, taps, stride, vectors: few ? vectors : 0, part };
  const run = kernel(engine, key, 11, (s, p) => writeRows(s, p, code));
  const imageBytes = row * y.in, resultRow = pixel * x.out;
  const work = WORK * g.batch * g.channels * x.out * y.out * (y.filter * stride + x.filter);
  return ([to], [from]) => {
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

/** Returns the offsets of so many places from one on, in bytes. */
export function placesOf(
  { in: extent }: WindowAxis,
  { from, count, step, kind }: { from: number; count: number; step: number; kind: PoolKind },
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const at = from + i, inside = Math.max(0, Math.min(extent - 1, at));
    return kind === "average" && at !== inside ? OUTSIDE : inside * step;
  });
}

/** Returns the offsets of the columns that windows read: of each window, or each once. */
export function columnsOf(
  x: WindowAxis,
  { step, kind, apart }: { step: number; kind: PoolKind; apart: boolean },
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

/** Parameters of the code. */
interface PoolCode {
  readonly kind: PoolKind;
  /** Taps of a window. */
  readonly taps: readonly [down: number, across: number];
  /** Columns from window to window; the window's width where each has its own in the table. */
  readonly stride: number;
  /** Vectors of all channels; 0 where there are more than {@linkcode MOST_VECTORS}. */
  readonly vectors: number;
  /** True where the last of these reaches past the channels. */
  readonly part: boolean;
}

/**
 * Target and length of a row of results; number of its lines inside; the columns, and the number inside of each window.
 */
type RowNumbers = Readonly<
  Record<"to" | "width" | "high" | "columns" | "counts" | "zeros" | "channels", I>
>;

/** A row of results while its code is written. */
interface RowCode extends PoolCode, RowNumbers {
  readonly s: Simd;
  /** The rows of the image. */
  readonly lines: readonly I[];
  /** Bytes of a place. */
  readonly pixel: Value<"i32">;
}

/** Parameters: to, from, rows, columns, counts, zeros, images, rows of the result, its columns, channels, bytes of an image. */
function writeRows(
  s: Simd,
  [to, from, rows, columns, counts, zeros, images, height, width, channels, imageBytes]:
    readonly I[],
  code: PoolCode,
): void {
  const { f } = s, { kind, taps: [down, across] } = code;
  const pixel = f.let(i32.shl(channels, 2)), [row, high] = f.locals("i32", 2);
  const lines = f.locals("i32", down);
  const places = { ...code, s, to, lines, high, columns, counts, zeros, width, channels, pixel };
  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      lines.forEach((line, k) => {
        const place = f.let(i32.load(row, 4 * k));
        f.set(line, i32.add(from, place));
        if (kind === "average") f.if(i32.eq(place, OUTSIDE), () => f.set(line, zeros));
      });
      f.set(high, i32.load(row, 4 * down));
      if (code.stride === across) writeApart(places);
      else writeShared(places);
      f.advance(row, 4 * (down + 1));
      f.advance(to, i32.mul(pixel, width));
    });
    f.advance(from, imageBytes);
  });
}

/** Runs `some` for groups of vectors of channels from an offset on. */
function eachVectors(
  { s: { f }, vectors, channels }: RowCode,
  some: (vectors: number, channel: Value<"i32">) => void,
): void {
  if (vectors > 0) return some(vectors, i32.const(0));
  const channel = f.variable("i32", 0), left = f.variable("i32", channels);
  f.countDown(left, 4 * MOST_VECTORS, () => {
    some(MOST_VECTORS, channel);
    f.advance(channel, 16 * MOST_VECTORS);
  });
  for (let rest = MOST_VECTORS; rest > 0; rest--) {
    f.if(i32.gt(left, 4 * (rest - 1)), () => {
      // Some channels are computed again, rather than read past their end.
      f.advance(channel, i32.shl(i32.sub(left, 4 * rest), 2));
      some(rest, channel);
      f.set(left, 0);
    });
  }
}

/** Folds the elements at an address into vectors, or initializes them. */
function take(
  { s, kind }: RowCode,
  into: readonly Local<"f32x4">[],
  at: Value<"i32">,
  first: boolean,
): void {
  into.forEach((v, u) => {
    const here = f32x4.load(at, 16 * u);
    // NaN is ignored.
    if (kind === "max") s.f.set(v, f32x4.pmax(first ? s.k(-Infinity) : v, here));
    else s.f.set(v, first ? here : f32x4.add(v, here));
  });
}

/** Returns the number of elements of a window inside, where that matters. */
function elementsInside({ s: { f }, high, kind }: RowCode, count: I): F4 | null {
  return kind === "average"
    ? f.let(f32x4.ofI32(i32x4.splat(i32.mul(high, i32.load(count)))))
    : null;
}

/** Stores the results of a place; `places` counts those left of the row. */
function finish(
  { s: { f }, part, channels }: RowCode,
  { out, folded, inside, places }: {
    readonly out: Value<"i32">;
    readonly folded: readonly F4[];
    readonly inside: F4 | null;
    readonly places: I;
  },
): void {
  const results = folded.map((v) => (inside ? f.let(f32x4.div(v, inside)) : v));
  results.forEach((v, u) => {
    const store = () => f.store(out, v, 16 * u);
    const some = () => storePart(f, i32.add(out, 16 * u), v, i32.and(channels, 3));
    // The excess past the place is overwritten by the next place.
    if (part && u === results.length - 1) f.if(i32.gt(places, 1), store, some);
    else store();
  });
}

/** Processes windows with columns of their own: place by place. */
function writeApart(row: RowCode): void {
  const { s, kind, taps: [, across], to, lines, columns, counts, zeros, width, pixel } = row;
  const { f } = s, sums = f.locals("f32x4", MOST_VECTORS);
  const taps = Array.from({ length: across }, () => f.locals("i32", lines.length));
  const [places, column, count, out] = [width, columns, counts, to]
    .map((first) => f.variable("i32", first));
  f.countDown(places, 1, () => {
    taps.forEach((taps, j) => {
      const place = f.let(i32.load(column, 4 * j));
      taps.forEach((tap, k) => f.set(tap, i32.add(lines[k], place)));
      if (kind === "average") {
        f.if(i32.eq(place, OUTSIDE), () => taps.forEach((tap) => f.set(tap, zeros)));
      }
    });
    const inside = elementsInside(row, count);
    eachVectors(row, (vectors, channel) => {
      const folded = sums.slice(0, vectors);
      taps.flat().forEach((tap, t) => take(row, folded, f.let(i32.add(tap, channel)), t === 0));
      finish(row, { out: f.let(i32.add(out, channel)), folded, inside, places });
    });
    f.advance(column, 4 * across);
    f.advance(count, 4);
    f.advance(out, pixel);
  });
}

/**
 * Processes windows that share columns: some channels of all places, so that columns stay in variables from place to
 * place.
 */
function writeShared(row: RowCode): void {
  const { s, kind, taps: [, across], stride, to, lines, columns, counts, width, pixel } = row;
  const { f } = s, [places, column, count, out] = f.locals("i32", 4);
  eachVectors(row, (vectors, channel) => {
    const ring = Array.from({ length: across }, () => f.locals("f32x4", vectors));
    const read = (into: readonly Local<"f32x4">[]): void => {
      const place = f.let(i32.load(column));
      f.advance(column, 4);
      const inside = (): void => {
        const from = f.let(i32.add(place, channel));
        lines.forEach((line, k) => take(row, into, f.let(i32.add(line, from)), k === 0));
      };
      if (kind === "max") return inside();
      f.if(i32.eq(place, OUTSIDE), () => into.forEach((v) => f.set(v, s.k(0))), inside);
    };
    const fold = kind === "max" ? f32x4.pmax : f32x4.add;
    f.set(column, columns);
    f.set(count, counts);
    f.set(out, i32.add(to, channel));
    f.set(places, width);
    ring.slice(0, across - stride).forEach(read);
    f.countDown(places, 1, () => {
      ring.slice(across - stride).forEach(read);
      const folded = ring[0].map((_, u) =>
        f.let(ring.map((column): F4 => column[u]).reduce((a, b) => fold(a, b)))
      );
      finish(row, { out, folded, inside: elementsInside(row, count), places });
      f.advance(count, 4);
      f.advance(out, pixel);
      ring.slice(stride).forEach((c, j) => c.forEach((v, u) => f.set(ring[j][u], v)));
    });
  });
}
