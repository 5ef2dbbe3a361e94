/**
 * Poolings over two axes by windows of few taps, written out: a column of the window is folded once and serves all windows it is
 * in. Channels last, float32. May import kernels and this folder.
 */
import type { WindowAxis, WindowGeometry } from "../../kernels/conv_geometry.ts";
import { roundUp } from "./blocks.ts";
import type { Engine, WasmCall } from "./engine.ts";
import { cutRows, type PoolRun } from "./pool_parts.ts";
import { f32x4, i32, i32x4 } from "./wasm/instructions.ts";
import type { Local } from "./wasm/function_builder.ts";
import { type F4, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import { storePart } from "./windows.ts";

type I = Local<"i32">;

/** Largest window, along either axis, whose columns are kept in variables. */
const MOST_TAPS = 5;
/** Fewest channels: below, most of a vector would be idle. */
const FEWEST_CHANNELS = 4;
/** Work of one place of one channel, in floating point operations. */
const WORK = 40;

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
  const counts = [y, x].map(insideOf);
  if (counts.flat().includes(0)) return null;
  const pixel = 4 * g.channels, row = pixel * x.in;
  const columns = columnsOf(x, pixel, kind);
  const rows = Array.from({ length: y.out }, (_, p) => {
    const from = p * y.stride - y.before;
    return [...placesOf(y, { from, count: y.filter, step: row, kind }), counts[0][p]];
  }).flat();
  // Rows, columns, how many columns of each window are inside, and a row of zeros.
  const table = Int32Array.from([...rows, ...columns, ...counts[1]]);
  const places = [rows.length, rows.length + columns.length].map((n) => 4 * n);
  const zeros = roundUp(table.byteLength);
  const stride = Math.min(x.stride, x.filter);
  // Few channels are taken all at once, and what is left of their last vector stored past the place.
  const vectors = Math.ceil(g.channels / 4), few = vectors <= MOST_VECTORS;
  const lanes = few ? `${vectors} ${g.channels % 4 > 0}` : "";
  const key = `pool ${kind} ${y.filter} ${x.filter} ${stride} ${lanes}`;
  const { run } = engine.compile(key, (m) => {
    m.function("run", new Array<"i32">(11).fill("i32"), null, (f, ...p) => {
      const code = {
        kind,
        taps: [y.filter, x.filter],
        stride,
        vectors: few ? vectors : 0,
        part: few && g.channels % 4 > 0,
      } as const;
      writePool(new Simd(f, engine.features.relaxed), p as unknown as I[], code);
    });
  });
  const imageBytes = row * y.in, resultRow = pixel * x.out;
  const work = WORK * g.batch * g.channels * x.out * y.out;
  return (to, from) => {
    const parts = cutRows(engine, { images: g.batch, rows: y.out, work });
    const at = engine.scratch(zeros + row);
    engine.heap.i32.set(table, at >>> 2);
    engine.zero(at + zeros, row);
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

/** How many taps of each place lie inside. */
function insideOf({ out, stride, before, filter, in: extent }: WindowAxis): number[] {
  return Array.from({ length: out }, (_, p) => {
    const from = p * stride - before;
    return Math.max(0, Math.min(extent, from + filter) - Math.max(0, from));
  });
}

/** A table entry for a place outside. */
const OUTSIDE = -1;

/** Where so many places from one on are, in bytes. */
function placesOf(
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

/** Where the columns are that windows read, each once where they overlap. */
function columnsOf(x: WindowAxis, step: number, kind: "max" | "average"): number[] {
  const { out, stride, filter, before } = x;
  if (stride < filter) {
    const count = (out - 1) * stride + filter;
    return placesOf(x, { from: -before, count, step, kind });
  }
  return Array.from({ length: out }, (_, p) =>
    placesOf(x, { from: p * stride - before, count: filter, step, kind })
  ).flat();
}

/** Most vectors of channels in hand. */
const MOST_VECTORS = 4;

interface PoolCode {
  readonly kind: "max" | "average";
  readonly taps: readonly [down: number, across: number];
  readonly stride: number;
  /** Vectors of all channels; 0 where there are more than are in hand. */
  readonly vectors: number;
  /** Whether the last of these reaches past the channels. */
  readonly part: boolean;
}

/** Parameters: to, from, rows, columns, counts, zeros, images, rows of the result, its columns, channels, bytes of an image. */
function writePool(
  s: Simd,
  [to, from, rows, columns, counts, zeros, images, height, width, channels, imageBytes]:
    readonly I[],
  { kind, taps: [down, across], stride, vectors: all, part }: PoolCode,
): void {
  const { f } = s;
  const each = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(i));
  const fold = (a: F4, b: F4): F4 => kind === "max" ? f32x4.pmax(a, b) : f32x4.add(a, b);
  // NaN is passed over.
  const first = (v: F4): F4 => kind === "max" ? f32x4.pmax(s.k(-Infinity), v) : v;
  const pixel = f.let(i32.shl(channels, 2));
  const row = f.local("i32"), channel = f.local("i32"), left = f.local("i32");
  const lines = each(down, () => f.local("i32")), high = f.local("i32");

  /** One row of results, for these vectors of channels. */
  const walk = (vectors: number): void => {
    const column = f.variable("i32", columns), count = f.variable("i32", counts);
    const out = f.variable("i32", i32.add(to, channel)), places = f.variable("i32", width);
    const ring = each(across, () => each(vectors, () => f.local("f32x4")));
    const apart = stride === across;
    const read = (into: readonly Local<"f32x4">[], more = false): void => {
      const place = f.let(i32.load(column));
      f.advance(column, 4);
      const inside = (): void =>
        lines.forEach((line, k) => {
          const at = f.let(i32.add(line, place));
          into.forEach((v, u) => {
            const here = f32x4.load(at, 16 * u);
            f.set(v, k === 0 && !more ? first(here) : fold(v, here));
          });
        });
      if (kind === "max") return inside();
      const outside = (): void => into.forEach((v) => f.set(v, s.k(0)));
      f.if(i32.lt(place, 0), more ? () => {} : outside, inside);
    };
    if (!apart) ring.slice(0, across - stride).forEach((c) => read(c));
    f.while(places, () => {
      let results: F4[];
      if (apart) {
        each(across, (j) => read(ring[0], j > 0));
        results = ring[0];
      } else {
        ring.slice(across - stride).forEach((c) => read(c));
        results = each(vectors, (u) => f.let(ring.map((c): F4 => c[u]).reduce(fold)));
      }
      if (kind === "average") {
        const inside = f.let(f32x4.ofI32(i32x4.splat(i32.mul(high, i32.load(count)))));
        results = results.map((v) => f.let(f32x4.div(v, inside)));
        f.advance(count, 4);
      }
      const store = (count: number): void =>
        results.slice(0, count).forEach((v, u) => f.store(out, v, 16 * u));
      if (part) {
        store(vectors - 1);
        const last = i32.add(out, 16 * (vectors - 1)), v = results[vectors - 1];
        // What is stored past the place, the next one's results replace.
        f.if(
          i32.gt(places, 1),
          () => f.store(last, v),
          () => storePart(f, last, v, i32.and(channels, 3)),
        );
      } else store(vectors);
      f.advance(out, pixel);
      f.advance(places, -1);
      if (!apart) ring.slice(stride).forEach((c, j) => c.forEach((v, u) => f.set(ring[j][u], v)));
    });
  };

  f.times(images, () => {
    f.set(row, rows);
    f.times(height, () => {
      f.set(channel, 0);
      f.set(left, channels);
      const begin = (): void =>
        lines.forEach((line, k) => {
          const place: Value<"i32"> = f.let(i32.load(row, 4 * k));
          f.set(line, i32.add(i32.add(from, place), channel));
          if (kind === "average") {
            f.if(i32.lt(place, 0), () => f.set(line, i32.add(zeros, channel)));
          }
        });
      f.set(high, i32.load(row, 4 * down));
      const some = (vectors: number): void => {
        begin();
        walk(vectors);
      };
      if (all > 0) some(all);
      else {
        f.while(i32.ge(left, 4 * MOST_VECTORS), () => {
          some(MOST_VECTORS);
          f.advance(channel, 16 * MOST_VECTORS);
          f.advance(left, -4 * MOST_VECTORS);
        });
        for (let vectors = MOST_VECTORS; vectors > 0; vectors--) {
          f.if(i32.gt(left, 4 * (vectors - 1)), () => {
            // Rather than reach past the channels, some are computed again.
            f.advance(channel, i32.shl(i32.sub(left, 4 * vectors), 2));
            some(vectors);
            f.set(left, 0);
          });
        }
      }
      f.advance(row, 4 * (down + 1));
      f.advance(to, i32.mul(pixel, width));
    });
    f.advance(from, imageBytes);
  });
}
