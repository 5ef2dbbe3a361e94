/**
 * The code of poolings by windows of few taps: a row of results from the rows of the image it is in.
 */
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { storePart } from "../wasm/store_part.ts";
import type { Value } from "../wasm/value.ts";

type I = Local<"i32">;

/** A table entry for a place outside: no offset, all of which are multiples of four. Those of large images have the highest bit. */
export const OUTSIDE = -1;
/** Most vectors of channels in hand. */
export const MOST_VECTORS = 4;

/** What the code depends on. */
export interface PoolCode {
  readonly kind: "max" | "average";
  /** Taps of a window. */
  readonly taps: readonly [down: number, across: number];
  /** Columns from window to window; as many as a window has where each has its own in the table. */
  readonly stride: number;
  /** Vectors of all channels; 0 where there are more than {@linkcode MOST_VECTORS}. */
  readonly vectors: number;
  /** Whether the last of these reaches past the channels. */
  readonly part: boolean;
}

/** A row of results while its code is written. */
interface RowCode extends PoolCode {
  readonly s: Simd;
  /** The row of results. */
  readonly to: I;
  /** The rows of the image. */
  readonly lines: readonly I[];
  /** How many of them are inside. */
  readonly high: I;
  /** Where columns are, how many of each window are inside, and zeros for those outside. */
  readonly columns: I;
  readonly counts: I;
  readonly zeros: I;
  readonly width: I;
  readonly channels: I;
  /** Bytes of a place. */
  readonly pixel: Value<"i32">;
}

const each = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Parameters: to, from, rows, columns, counts, zeros, images, rows of the result, its columns, channels, bytes of an image. */
export function writeRows(
  s: Simd,
  [to, from, rows, columns, counts, zeros, images, height, width, channels, imageBytes]:
    readonly I[],
  code: PoolCode,
): void {
  const { f } = s, { kind, taps: [down, across] } = code;
  const pixel = f.let(i32.shl(channels, 2));
  const row = f.local("i32"), high = f.local("i32"), lines = each(down, () => f.local("i32"));
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

/** Runs `some` for each so many vectors of channels from an offset on. */
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
      // Rather than reach past the channels, some are computed again.
      f.advance(channel, i32.shl(i32.sub(left, 4 * rest), 2));
      some(rest, channel);
      f.set(left, 0);
    });
  }
}

/** Folds what stands at an address into vectors, or begins them with it. */
function take(
  { s, kind }: RowCode,
  { at, into, first }: {
    readonly at: Value<"i32">;
    readonly into: readonly Local<"f32x4">[];
    readonly first: boolean;
  },
): void {
  into.forEach((v, u) => {
    const here = f32x4.load(at, 16 * u);
    // NaN is passed over.
    const before = first ? s.k(-Infinity) : v;
    if (kind === "max") s.f.set(v, f32x4.pmax(before, here));
    else s.f.set(v, first ? here : f32x4.add(v, here));
  });
}

/** Stores the results of a place; `places` counts those left of the row. */
function finish(
  { s: { f }, part, channels }: RowCode,
  { out, results, places }: {
    readonly out: Value<"i32">;
    readonly results: readonly F4[];
    readonly places: I;
  },
): void {
  const last = results.length - 1;
  results.forEach((v, u) => {
    const store = () => f.store(out, v, 16 * u);
    if (!part || u < last) return store();
    // What is stored past the place, the next one's results replace.
    f.if(i32.gt(places, 1), store, () => {
      storePart(f, i32.add(out, 16 * u), v, i32.and(channels, 3));
    });
  });
}

/** How many elements of a window are inside. */
function insideOf({ s: { f }, high }: RowCode, count: Value<"i32">): F4 {
  return f.let(f32x4.ofI32(i32x4.splat(i32.mul(high, count))));
}

/** Windows with columns of their own: place by place. */
function writeApart(row: RowCode): void {
  const { s, kind, taps: [, across], to, lines, columns, counts, zeros, width, pixel } = row;
  const { f } = s;
  const places = f.variable("i32", width), column = f.variable("i32", columns);
  const count = f.variable("i32", counts), out = f.variable("i32", to);
  const taps = each(across, () => lines.map(() => f.local("i32")));
  const sums = each(MOST_VECTORS, () => f.local("f32x4"));
  f.while(places, () => {
    taps.forEach((taps, j) => {
      const place = f.let(i32.load(column, 4 * j));
      taps.forEach((tap, k) => f.set(tap, i32.add(lines[k], place)));
      if (kind === "average") {
        f.if(i32.eq(place, OUTSIDE), () => taps.forEach((tap) => f.set(tap, zeros)));
      }
    });
    const inside = kind === "average" ? insideOf(row, i32.load(count)) : null;
    eachVectors(row, (vectors, channel) => {
      const into = sums.slice(0, vectors);
      taps.flat().forEach((tap, t) =>
        take(row, { at: f.let(i32.add(tap, channel)), into, first: t === 0 })
      );
      const results = inside ? into.map((v) => f.let(f32x4.div(v, inside))) : into;
      finish(row, { out: f.let(i32.add(out, channel)), results, places });
    });
    f.advance(column, 4 * across);
    f.advance(count, 4);
    f.advance(out, pixel);
    f.advance(places, -1);
  });
}

/** Windows that share columns: some channels of all places, so that columns stay in variables from place to place. */
function writeShared(row: RowCode): void {
  const { s, kind, taps: [, across], stride, to, lines, columns, counts, width, pixel } = row;
  const { f } = s;
  const places = f.local("i32"), column = f.local("i32"), count = f.local("i32");
  const out = f.local("i32");
  eachVectors(row, (vectors, channel) => {
    const ring = each(across, () => each(vectors, () => f.local("f32x4")));
    const read = (into: readonly Local<"f32x4">[]): void => {
      const place = f.let(i32.load(column));
      f.advance(column, 4);
      const inside = (): void => {
        const from = f.let(i32.add(place, channel));
        lines.forEach((line, k) =>
          take(row, { at: f.let(i32.add(line, from)), into, first: k === 0 })
        );
      };
      if (kind === "max") return inside();
      f.if(i32.eq(place, OUTSIDE), () => into.forEach((v) => f.set(v, s.k(0))), inside);
    };
    f.set(column, columns);
    f.set(count, counts);
    f.set(out, i32.add(to, channel));
    f.set(places, width);
    ring.slice(0, across - stride).forEach(read);
    f.while(places, () => {
      ring.slice(across - stride).forEach(read);
      let results = each(vectors, (u) =>
        f.let(
          ring.map((c): F4 => c[u]).reduce((a, b) =>
            kind === "max" ? f32x4.pmax(a, b) : f32x4.add(a, b)
          ),
        ));
      if (kind === "average") {
        const inside = insideOf(row, i32.load(count));
        results = results.map((v) => f.let(f32x4.div(v, inside)));
        f.advance(count, 4);
      }
      finish(row, { out, results, places });
      f.advance(out, pixel);
      f.advance(places, -1);
      ring.slice(stride).forEach((c, j) => c.forEach((v, u) => f.set(ring[j][u], v)));
    });
  });
}
