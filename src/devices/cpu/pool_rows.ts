/**
 * Poolings over two axes whose windows overlap: a column of the window is folded once and serves all windows it is in.
 * Channels last, float32. May import kernels and this folder.
 */
import type { WindowAxis, WindowGeometry } from "../../kernels/conv_geometry.ts";
import { evenBlocks, roundUp } from "./blocks.ts";
import type { Engine, WasmCall } from "./engine.ts";
import type { Pointer } from "./heap.ts";
import { f32x4, i32, i32x4 } from "./wasm/instructions.ts";
import type { Local } from "./wasm/function_builder.ts";
import { type F4, Simd } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";
import { storePart } from "./windows.ts";

type I = Local<"i32">;

/** Largest window, along either axis, whose columns are kept in variables. */
const MOST_TAPS = 5;
/** Most channels: rows of more are better walked place by place. */
const MOST_CHANNELS = 512;
/** Work of one place of one channel, in floating point operations. */
const WORK = 40;

/** Pools images of `from`. */
export type PoolRun = (to: Pointer, from: Pointer) => void;

/** The kernel, or null for other windows. Past the border stand copies of the border for the greatest, and zeros for averages. */
export function prepareOverlapping(
  engine: Engine,
  g: WindowGeometry,
  kind: "max" | "average",
): PoolRun | null {
  const [z, y, x] = g.axes;
  const flat = z.filter === 1 && z.in === 1 && z.out === 1;
  const small = Math.max(y.filter, x.filter) <= MOST_TAPS && g.channels <= MOST_CHANNELS;
  const plain = y.dilation === 1 && x.dilation === 1 && x.stride < x.filter;
  if (!flat || !small || !plain) return null;
  const counts = [y, x].map(insideOf);
  if (counts.flat().includes(0)) return null;
  const pixel = 4 * g.channels, row = pixel * x.in;
  const columns = placesOf(x, (x.out - 1) * x.stride + x.filter, pixel, kind);
  const rows = Array.from({ length: y.out }, (_, p) => {
    const from = { ...y, before: y.before - p * y.stride };
    return [...placesOf(from, y.filter, row, kind), counts[0][p]];
  }).flat();
  // Rows, columns, how many columns of each window are inside, and a row of zeros.
  const table = Int32Array.from([...rows, ...columns, ...counts[1]]);
  const places = [rows.length, rows.length + columns.length].map((n) => 4 * n);
  const zeros = roundUp(table.byteLength);
  const { run } = engine.compile(`pool ${kind} ${y.filter} ${x.filter} ${x.stride}`, (m) => {
    m.function("run", new Array<"i32">(11).fill("i32"), null, (f, ...p) => {
      writePool(new Simd(f, engine.features.relaxed), p as unknown as I[], {
        kind,
        taps: [y.filter, x.filter],
        stride: x.stride,
      });
    });
  });
  const imageBytes = row * y.in, resultBytes = pixel * x.out * y.out;
  return (to, from) => {
    const at = engine.scratch(zeros + row);
    engine.heap.i32.set(table, at >>> 2);
    engine.zero(at + zeros, row);
    const parts = engine.parts(WORK * g.batch * resultBytes / 4);
    engine.callAll(
      evenBlocks(g.batch, Math.ceil(g.batch / parts), 1).map(({ from: first, size }): WasmCall => [
        run,
        [
          to + first * resultBytes,
          from + first * imageBytes,
          at,
          at + places[0],
          at + places[1],
          at + zeros,
          size,
          y.out,
          x.out,
          g.channels,
          imageBytes,
        ],
      ]),
    );
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

/** Where so many places from the first tap on are, in bytes. */
function placesOf(
  { before, in: extent }: WindowAxis,
  count: number,
  step: number,
  kind: "max" | "average",
): number[] {
  return Array.from({ length: count }, (_, i) => {
    const at = i - before, inside = Math.max(0, Math.min(extent - 1, at));
    return kind === "average" && at !== inside ? OUTSIDE : inside * step;
  });
}

interface PoolCode {
  readonly kind: "max" | "average";
  readonly taps: readonly [down: number, across: number];
  readonly stride: number;
}

/** Parameters: to, from, rows, columns, counts, zeros, images, rows of the result, its columns, channels, bytes of an image. */
function writePool(
  s: Simd,
  [to, from, rows, columns, counts, zeros, images, height, width, channels, imageBytes]:
    readonly I[],
  { kind, taps: [down, across], stride }: PoolCode,
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
  const walk = (vectors: number, store: (at: I, v: readonly F4[]) => void): void => {
    const column = f.variable("i32", columns), count = f.variable("i32", counts);
    const out = f.variable("i32", i32.add(to, channel));
    const ring = each(across, () => each(vectors, () => f.local("f32x4")));
    const read = (into: readonly Local<"f32x4">[]): void => {
      const place = f.let(i32.load(column));
      f.advance(column, 4);
      const inside = (): void =>
        lines.forEach((line, k) => {
          const at = f.let(i32.add(line, place));
          into.forEach((v, u) => {
            const here = f32x4.load(at, 16 * u);
            f.set(v, k === 0 ? first(here) : fold(v, here));
          });
        });
      if (kind === "max") return inside();
      f.if(i32.lt(place, 0), () => into.forEach((v) => f.set(v, s.k(0))), inside);
    };
    ring.slice(0, across - stride).forEach(read);
    f.times(width, () => {
      ring.slice(across - stride).forEach(read);
      const all = each(vectors, (u) => f.let(ring.map((c): F4 => c[u]).reduce(fold)));
      if (kind === "max") store(out, all);
      else {
        const inside = f.let(f32x4.ofI32(i32x4.splat(i32.mul(high, i32.load(count)))));
        store(out, all.map((v) => f.let(f32x4.div(v, inside))));
        f.advance(count, 4);
      }
      f.advance(out, pixel);
      ring.slice(stride).forEach((c, j) => c.forEach((v, u) => f.set(ring[j][u], v)));
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
      for (const vectors of [4, 1]) {
        f.while(i32.ge(left, 4 * vectors), () => {
          begin();
          walk(vectors, (at, v) => v.forEach((e, u) => f.store(at, e, 16 * u)));
          f.advance(channel, 16 * vectors);
          f.advance(left, -4 * vectors);
        });
      }
      f.if(left, () => {
        begin();
        walk(1, (at, [v]) => storePart(f, at, v, left));
      });
      f.advance(row, 4 * (down + 1));
      f.advance(to, i32.mul(pixel, width));
    });
    f.advance(from, imageBytes);
  });
}
