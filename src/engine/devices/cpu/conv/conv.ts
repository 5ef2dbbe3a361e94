/**
 * Convolutions over two and three axes, and their gradients, as products of rows given by pointers. Channels last, float32.
 */
import type { Epilogue } from "../../../core/fusion.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import {
  isPointwiseWindow,
  outPlaces,
  type WindowAxis,
  type WindowGeometry,
} from "../../../kernels/conv/geometry.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { movedOperands, type SumsPrepare } from "../gemm/epilogue.ts";
import { prepareOuter, prepareProduct } from "../gemm/gemm.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { operandsFrom, type PackB, prepareSums } from "../gemm/gemm_sums.ts";
import type { Pointer } from "../heap.ts";
import type { Three } from "./conv_edges.ts";
import { prepareDirect } from "./conv_direct.ts";
import { prepareFold } from "./conv_fold.ts";
import { prepareConvQuads } from "./conv_quads.ts";
import {
  type ConvAxis,
  type ConvRows,
  convRows,
  cross,
  forwardAxes,
  piecesOf,
} from "./conv_rows.ts";
import { floatWindow } from "../pool/windows.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Conv2D and Conv3D; `epilogue` reads the inputs after the first two. */
export const prepareConv: SumsPrepare = (engine, problem, epilogue) => {
  const { inputs: [x, filter] } = problem;
  const g = floatWindow(problem, x.shape, filter.shape);
  if (g === null) return null;
  if (g.batch * outPlaces(g) === 0 || g.outChannels === 0) return () => {};
  return prepareBands(engine, g, epilogue) ?? prepareWindows(engine, g, epilogue);
};

/** Prepares the convolution of all images at once. */
function prepareWindows(engine: Engine, g: WindowGeometry, epilogue?: Epilogue): FastRun | null {
  const { channels: c, outChannels: oc } = g;
  if (isPointwiseWindow(g)) {
    const m = g.batch * outPlaces(g);
    if (c === 1 && !epilogue) {
      const spec = (...shape: number[]): ConcreteSpec => ({ dtype: "float32", shape });
      return prepareOuter(engine, [spec(m, 1), spec(1, oc), spec(m, oc)]);
    }
    const isNarrow = m > THRESHOLDS.convFewRows && oc <= THRESHOLDS.convFewColumns;
    const product = { m, n: oc, k: c, transA: false, transB: false };
    return (isNarrow && prepareDirect(engine, g, epilogue)) ||
      prepareProduct(engine, product, epilogue);
  }
  const direct = prepareDirect(engine, g, epilogue);
  if (direct) return direct;
  const rows = convRows(engine, g.batch, forwardAxes(g), c, oc);
  return runConv(engine, [{ rows, pack: "rows" }], { channels: c, columns: oc }, epilogue);
}

/** Images with more places are cut, into bands of about so many. */
const MOST_PLACES = 1 << 18, BAND_PLACES = 1 << 16;

/** A band of places along one axis: its begin in the image and in the result, and the axis that it forms by itself. */
interface Band {
  readonly from: number;
  readonly to: number;
  readonly axis: WindowAxis;
}

/** Cuts an axis into bands of `size` places each; null where one would read nothing. */
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

/**
 * Prepares the convolution band by band: equal bands share what is prepared for their places. Null where the images are
 * not large, or cannot be cut.
 */
function prepareBands(engine: Engine, g: WindowGeometry, epilogue?: Epilogue): FastRun | null {
  if (outPlaces(g) <= MOST_PLACES) return null;
  const cut = g.axes.findIndex((a) => a.out > 1);
  const inner = g.axes.slice(cut + 1);
  const bytes = (of: "in" | "out", channels: number): number =>
    4 * channels * inner.reduce((n, a) => n * a[of], 1);
  const inBytes = bytes("in", g.channels), outBytes = bytes("out", g.outChannels);
  const places = outBytes / (4 * g.outChannels);
  const bands = bandsOf(g.axes[cut], Math.max(1, Math.floor(BAND_PLACES / places)));
  // Axes before this one have a single place: the other parts check that it reads inside.
  if (bands === null || g.axes.slice(0, cut).some((a) => a.in > 1 || a.filter > 1)) return null;
  const prepared = new Map<string, FastRun>(), runs: FastRun[] = [];
  for (const { axis } of bands) {
    const key = `${axis.in} ${axis.out} ${axis.before} ${axis.after}`;
    let run = prepared.get(key);
    if (run === undefined) {
      const axes = g.axes.map((a, i) => (i === cut ? axis : a)) as unknown as typeof g.axes;
      const made = prepareWindows(engine, { ...g, batch: 1, axes }, epilogue);
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
        const own = movedOperands(epilogue, operands, "element", at);
        runs[i]([y + at], [x + (image * extent + from) * inBytes, filter, ...own]);
      });
    }
  };
}

/** Conv2DBackpropInput and Conv3DBackpropInputV2: one product for each phase of the strides. */
export const prepareInputGradient: FastPrepare = (engine, problem) => {
  const { inputs: [, filter], outputs: [dx] } = problem;
  const g = floatWindow(problem, dx.shape, filter.shape);
  if (g === null) return null;
  const { channels: c, outChannels: oc } = g;
  if (g.batch * c * g.axes[0].in * g.axes[1].in * g.axes[2].in === 0) return () => {};
  if (isPointwiseWindow(g)) {
    const m = g.batch * outPlaces(g);
    const product = prepareProduct(engine, { m, n: c, k: oc, transA: false, transB: true });
    return (outs, [, f, dy]) => product(outs, [dy, f]);
  }
  const fold = prepareFold(engine, g);
  if (fold) return fold;
  const phases = g.axes.map(phasesOf), [, height, width] = g.axes.map((a) => a.filter);
  // Every phase reads the same padded gradient.
  const reach = phases.map((list) => list.flatMap((p) => p.axis)) as unknown as Three<ConvAxis[]>;
  const parts = cross(phases, ([z, y, x]): ConvPart => {
    const rows = convRows(engine, g.batch, [z.axis, y.axis, x.axis], oc, c, reach);
    const taps = cross([z.taps, y.taps, x.taps], ([i, j, k]) => (i * height + j) * width + k);
    return { rows, pack: packTaps(engine, g, taps) };
  });
  const run = runConv(engine, parts, { channels: oc, columns: c });
  return (outs, [, f, dy]) => run(outs, [dy, f]);
};

/** Packs taps, each a matrix `[c, oc]` of the filter, transposed. */
function packTaps(
  engine: Engine,
  { channels: c, outChannels: oc }: WindowGeometry,
  taps: readonly number[],
): PackB {
  const pack = packing(engine);
  return (to, b, depth, columns, step) =>
    piecesOf(depth, oc).map(({ segment, start, size, at }): WasmCall => {
      const from = b + 4 * ((taps[segment] * c + columns.from) * oc + start);
      return [pack.columns, [to + 32 * at, from, size, columns.size, 4 * oc, step]];
    });
}

/** Input places of one remainder by the stride, and the taps that reach them. */
interface Phase {
  readonly axis: ConvAxis;
  readonly taps: readonly number[];
}

/**
 * Returns the phases of an axis: the gradient of place `first + step q` comes from places `q + offset` of the result.
 */
function phasesOf(a: WindowAxis): Phase[] {
  return Array.from({ length: Math.min(a.stride, a.in) }, (_, outFirst) => {
    const found = Array.from({ length: a.filter }, (_, tap) => (
      { tap, offset: (outFirst + a.before - tap * a.dilation) / a.stride }
    )).filter(({ offset }) => Number.isInteger(offset)).sort((p, q) => p.offset - q.offset);
    const out = Math.ceil((a.in - outFirst) / a.stride), offsets = found.map((t) => t.offset);
    const places = { out, outFirst, outStep: a.stride, outAll: a.in };
    return { taps: found.map((t) => t.tap), axis: { in: a.out, stride: 1, offsets, ...places } };
  });
}

interface ConvPart {
  readonly rows: ConvRows;
  readonly pack: PackB | "rows";
}

/** Runs the parts over groups of images; where windows overhang, each group is padded into scratch memory. */
function runConv(
  engine: Engine,
  parts: readonly ConvPart[],
  { channels, columns }: { readonly channels: number; readonly columns: number },
  epilogue?: Epilogue,
): FastRun {
  const { padded } = parts[0].rows;
  const sums = parts.map(({ rows: { segments, length, tables }, pack }) =>
    prepareSums(engine, { columns, segments, length, tables, pack, epilogue })
  );
  const forms = sums.map((s) => s.packed!);
  const packedBytes = forms.reduce((n, f) => n + f.bytes, 0);
  const packAll = (to: Pointer, b: Pointer): void => {
    for (const { pack, bytes } of forms) {
      pack(to, b);
      to += bytes;
    }
  };
  // Packed once for all groups where that is not much memory.
  const keeps = padded.groups.length > 1 &&
    parts.every(({ rows }) => rows.segments.length * rows.length * columns < 1 << 20);
  const prepare = (given: boolean, isLevels = false): FastRun => {
    const isPacked = given || keeps;
    const work = sums.map((s) => s.bytes(isPacked ? 0 : 1));
    const workBytes = work.reduce((n, bytes) => n + bytes, given || !keeps ? 0 : packedBytes);
    return ([c], [a, b, ...operands]) => {
      const base = engine.scratch(workBytes + padded.bytes), at = base + workBytes;
      let first = base;
      if (keeps && !given) {
        packAll(base, b);
        b = base;
        first += packedBytes;
      }
      for (const group of padded.groups) {
        const image = padded.fill(at, a, group);
        let own = first, filter = b;
        const kind = group.images === padded.groups[0].images ? 0 : 1;
        parts.forEach(({ rows: { tables, imageBytes } }, k) => {
          const here = { table: tables[kind], a: () => image, c: c + group.first * imageBytes };
          const items = [{ b: filter, rows: [here] }];
          sums[k].run(own, items, operandsFrom(epilogue, operands, c), {
            isPacked,
            isLevels,
          });
          own += work[k];
          if (isPacked) filter += forms[k].bytes;
        });
      }
    };
  };
  const key = forms.map((f) => f.key).join();
  const levels = parts.length === 1 && !keeps ? sums[0].levels : null;
  const ofLevels = levels && {
    levels: {
      ...levels,
      run: prepareConvQuads(engine, {
        rows: parts[0].rows,
        channels,
        outChannels: columns,
        levels,
        epilogue,
        otherwise: prepare(false, true),
      }),
    },
  };
  const form = {
    input: 1,
    key,
    bytes: packedBytes,
    pack: packAll,
    run: prepare(true),
    ...ofLevels,
  };
  return Object.assign(prepare(false), { form });
}
