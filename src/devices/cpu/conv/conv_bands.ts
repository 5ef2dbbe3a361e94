/**
 * Convolutions of large images, band by band: what is prepared for each place of a band serves all bands like it.
 */
import { outPlaces, type WindowAxis, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { FastRun } from "../fast.ts";
import type { Epilogue } from "../gemm/epilogue.ts";

/** Images with more places are cut, into bands of about so many. */
const MOST_PLACES = 1 << 18, BAND_PLACES = 1 << 16;

/** Some places along one axis; where they begin in the image and in the result; and what they are the axis of. */
interface Band {
  readonly from: number;
  readonly to: number;
  readonly axis: WindowAxis;
}

/** The bands of an axis, of so many places each; null where one would read nothing. */
function bandsOf(a: WindowAxis, size: number): Band[] | null {
  const bands: Band[] = [];
  for (let to = 0; to < a.out; to += size) {
    const out = Math.min(size, a.out - to);
    const first = to * a.stride - a.before;
    const end = first + (out - 1) * a.stride + (a.filter - 1) * a.dilation + 1;
    const from = Math.max(0, first), last = Math.min(a.in, end);
    if (from >= last) return null;
    const axis = { ...a, in: last - from, out, before: from - first, after: end - last };
    bands.push({ from, to, axis });
  }
  return bands;
}

/** The convolution by those that `prepare` makes of bands; null where the images are not large, or cannot be cut. */
export function prepareBands(
  g: WindowGeometry,
  epilogue: Epilogue | undefined,
  prepare: (band: WindowGeometry) => FastRun | null,
): FastRun | null {
  if (outPlaces(g) <= MOST_PLACES) return null;
  const cut = g.axes.findIndex((a) => a.out > 1);
  const inner = g.axes.slice(cut + 1);
  const bytes = (of: "in" | "out", channels: number): number =>
    4 * channels * inner.reduce((n, a) => n * a[of], 1);
  const inBytes = bytes("in", g.channels), outBytes = bytes("out", g.outChannels);
  const places = outBytes / (4 * g.outChannels);
  const bands = bandsOf(g.axes[cut], Math.max(1, Math.floor(BAND_PLACES / places)));
  // Axes before this one have one place: that it reads no more than lies there is for others to see to.
  if (bands === null || g.axes.slice(0, cut).some((a) => a.in > 1 || a.filter > 1)) return null;
  const prepared = new Map<string, FastRun>(), runs: FastRun[] = [];
  for (const { axis } of bands) {
    const key = `${axis.in} ${axis.out} ${axis.before} ${axis.after}`;
    let run = prepared.get(key);
    if (run === undefined) {
      const axes = g.axes.map((a, i) => (i === cut ? axis : a)) as unknown as typeof g.axes;
      const made = prepare({ ...g, batch: 1, axes });
      if (made === null) return null;
      prepared.set(key, run = made);
    }
    runs.push(run);
  }
  const { in: extent, out } = g.axes[cut];
  return ([y], [x, filter, ...operands]) => {
    for (let image = 0; image < g.batch; image++) {
      bands.forEach(({ from, to }, i) => {
        const at = (image * out + to) * outBytes;
        const own = operands.map((p, k) => (epilogue?.operands[k] === "element" ? p + at : p));
        runs[i]([y + at], [x + (image * extent + from) * inBytes, filter, ...own]);
      });
    }
  };
}
