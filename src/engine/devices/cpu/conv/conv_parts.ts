/**
 * A convolution in parts whose windows all read in one way: windows inside the images along the last axis read the
 * images in place, with the rows of the filter that are inside along the axis before; the others read the padded sides.
 */
import type { Engine } from "../engine.ts";
import { type ConvEdges, convEdges, type Three } from "./conv_edges.ts";
import { type ConvAxis, imageSteps, isInside, reachOf, segmentsOf } from "./conv_rows.ts";

/** Images of up to this many bytes, all together, are padded whole: calls cost more than copies. */
const WHOLE_BYTES = 1 << 15;

/** Places along an axis. */
type Range = Readonly<Record<"from" | "to", number>>;

/** Places of all images that read alike. */
export interface ConvPart {
  /** True: reads the padded sides, not the images. */
  readonly padded: boolean;
  readonly places: number;
  /** Returns the offsets of a place's window in an image and of its result, in bytes. */
  readonly at: (place: number) => { read: number; result: number };
  /** Offsets of the segments, in bytes. */
  readonly segments: readonly number[];
  /** Rows of the filter before the first segment. */
  readonly filterRow: number;
}

/** A convolution in parts, and rows of the filter in a segment. */
export interface ConvParts {
  readonly parts: readonly ConvPart[];
  readonly length: number;
  /** The padded sides, where a part reads them. */
  readonly edges: ConvEdges | null;
}

/** Splits a convolution of `batch` images of `channels` channels into `outChannels`. */
export function convParts(
  engine: Engine,
  batch: number,
  axes: Three<ConvAxis>,
  channels: number,
  outChannels: number,
): ConvParts {
  const [z, y, x] = axes;
  const inside = insideOf(batch, axes, channels);
  const hasEdges = inside.from > 0 || inside.to < x.out;
  const left = reachOf(x, 0, inside.from), right = reachOf(x, inside.to);
  const reaches = [reachOf(z), reachOf(y), left, right] as const;
  const edges = hasEdges ? convEdges(engine, reaches, channels) : null;
  const parts: ConvPart[] = [];
  let length = channels;
  /** Adds a part: the places of some rows in these columns, whose windows begin in columns of their source. */
  const add = (
    { places, columns, steps, taps }: {
      readonly places: Range;
      readonly columns: readonly (readonly [place: number, column: number])[];
      readonly steps: Three<number>;
      readonly taps: Three<Pick<ConvAxis, "offsets">>;
    },
    more: Pick<ConvPart, "padded" | "filterRow">,
  ): void => {
    const own = segmentsOf(taps, steps, channels), height = places.to - places.from;
    length = own.length;
    parts.push({
      ...more,
      places: z.out * height * columns.length,
      at: (place) => {
        const [i, column] = columns[place % columns.length];
        const line = Math.floor(place / columns.length), j = places.from + line % height;
        const k = Math.floor(line / height);
        return {
          read: k * z.stride * steps[0] + j * y.stride * steps[1] + column * steps[2],
          result: 4 * outChannels * ((k * y.out + j) * x.out + i),
        };
      },
      segments: own.segments,
    });
  };
  const all = Array.from({ length: x.out }, (_, i) => i);
  if (edges) {
    const columns = all.filter((i) => i < inside.from || i >= inside.to).map((i) => {
      const before = i < inside.from ? 0 : left.end - left.start;
      return [i, before + (i < inside.from ? i : i - inside.to) * x.stride] as const;
    });
    // Sides begin where the window of their first place does.
    const [a, b, c] = axes.map((a) => ({ offsets: a.offsets.map((o) => o - a.offsets[0]) }));
    const places = { from: 0, to: y.out };
    add({ places, columns, steps: edges.steps, taps: [a, b, c] }, { padded: true, filterRow: 0 });
  }
  if (inside.to > inside.from) {
    const { steps } = imageSteps(axes, channels);
    const columns = all.slice(inside.from, inside.to).map((i) => [i, i * x.stride] as const);
    for (const { places, taps } of runsOf(y)) {
      const rows = { offsets: y.offsets.slice(taps.from, taps.to) };
      const filterRow = taps.from * x.offsets.length * channels;
      add({ places, columns, steps, taps: [z, rows, x] }, { padded: false, filterRow });
    }
  }
  return parts.length === 1 ? { ...joined(parts[0], length), edges } : { parts, length, edges };
}

/** Returns the places along the last axis that read the images themselves. */
function insideOf(batch: number, axes: Three<ConvAxis>, channels: number): Range {
  const [z, , x] = axes, reaches = axes.map((a) => reachOf(a));
  if (reaches.every(isInside)) return { from: 0, to: x.out };
  const extents = reaches.map((r) => Math.max(r.in, r.end) - Math.min(0, r.start));
  const bytes = 4 * channels * batch * extents[0] * extents[1] * extents[2];
  const whole = { from: x.out, to: x.out };
  if (bytes <= WHOLE_BYTES || z.in > 1 || z.out > 1 || z.offsets.length > 1) return whole;
  const { places } = runsOf(x).find(({ taps }) => taps.to - taps.from === x.offsets.length) ??
    { places: whole };
  const window = x.offsets[x.offsets.length - 1] - x.offsets[0];
  const copied = 2 * window + (x.out - (places.to - places.from)) * x.stride;
  return copied < extents[2] / 2 ? places : whole;
}

/** Groups places along an axis into runs that have the same taps inside. */
function runsOf({ in: extent, out, stride, offsets }: ConvAxis): { places: Range; taps: Range }[] {
  const runs: { places: { from: number; to: number }; taps: Range }[] = [];
  for (let q = 0; q < out; q++) {
    const from = offsets.filter((o) => q * stride + o < 0).length;
    const to = Math.max(from, offsets.filter((o) => q * stride + o < extent).length);
    const last = runs[runs.length - 1];
    if (last && last.taps.from === from && last.taps.to === to) last.places.to = q + 1;
    else runs.push({ places: { from: q, to: q + 1 }, taps: { from, to } });
  }
  return runs;
}

/** Merges consecutive segments, as there are where windows are as wide as images. */
function joined(part: ConvPart, length: number): Pick<ConvParts, "parts" | "length"> {
  const { segments } = part;
  const follow = segments.every((s, i) => s === segments[0] + 4 * length * i);
  return follow && segments.length > 1
    ? { parts: [{ ...part, segments: segments.slice(0, 1) }], length: length * segments.length }
    : { parts: [part], length };
}
