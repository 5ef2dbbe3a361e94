/**
 * Convolutions over two and three axes, and their gradients, as products of rows given by pointers. Channels last, float32.
 */
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import {
  isPointwiseWindow,
  outPlaces,
  type WindowAxis,
  type WindowGeometry,
} from "../../../kernels/conv/geometry.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import type { Epilogue, SumsPrepare } from "../gemm/epilogue.ts";
import { prepareOuter, prepareProduct } from "../gemm/gemm.ts";
import { packing } from "../gemm/gemm_pack.ts";
import { operandsFrom, type PackB, prepareSums } from "../gemm/gemm_sums.ts";
import type { Pointer } from "../heap.ts";
import { prepareBands } from "./conv_bands.ts";
import type { Three } from "./conv_edges.ts";
import { prepareDirect } from "./conv_direct.ts";
import { prepareFold } from "./conv_fold.ts";
import { type ConvAxis, type ConvRows, convRows, cross, forwardAxes } from "./conv_rows.ts";
import { floatWindow } from "../pool/windows.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Conv2D and Conv3D; `epilogue` reads the inputs after the first two. */
export const prepareConv: SumsPrepare = (engine, problem, epilogue) => {
  const { inputs: [x, filter] } = problem;
  const g = floatWindow(problem, x.shape, filter.shape);
  if (g === null) return null;
  if (g.batch * outPlaces(g) === 0 || g.outChannels === 0) return () => {};
  return prepareBands(g, epilogue, (band) => prepareWindows(engine, band, epilogue)) ??
    prepareWindows(engine, g, epilogue);
};

/** The convolution of all images at once. */
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
  return runConv(engine, [{ rows, pack: "rows" }], oc, epilogue);
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
  const run = runConv(engine, parts, c);
  return (outs, [, f, dy]) => run(outs, [dy, f]);
};

/** Packs taps, each a matrix `[c, oc]` of the filter, turned. */
function packTaps(
  engine: Engine,
  { channels: c, outChannels: oc }: WindowGeometry,
  taps: readonly number[],
): PackB {
  const pack = packing(engine);
  return (to, b, depth, columns, step) => {
    const calls: WasmCall[] = [], end = depth.from + depth.size;
    for (let at = depth.from; at < end;) {
      const start = at % oc, size = Math.min(oc - start, end - at);
      const from = b + 4 * ((taps[Math.floor(at / oc)] * c + columns.from) * oc + start);
      const place = to + 32 * (at - depth.from);
      calls.push([pack.columns, [place, from, size, columns.size, 4 * oc, step]]);
      at += size;
    }
    return calls;
  };
}

/** Input places of one remainder by the stride, and the taps that reach them. */
interface Phase {
  readonly axis: ConvAxis;
  readonly taps: readonly number[];
}

/** Along one axis: the gradient of place `first + step q` comes from places `q + offset` of the result. */
function phasesOf(a: WindowAxis): Phase[] {
  const phases: Phase[] = [];
  for (let first = 0; first < Math.min(a.stride, a.in); first++) {
    const found: { tap: number; offset: number }[] = [];
    for (let tap = 0; tap < a.filter; tap++) {
      const reach = first + a.before - tap * a.dilation;
      if (reach % a.stride === 0) found.push({ tap, offset: reach / a.stride });
    }
    found.sort((p, q) => p.offset - q.offset);
    phases.push({
      taps: found.map((t) => t.tap),
      axis: {
        in: a.out,
        out: Math.ceil((a.in - first) / a.stride),
        outStep: a.stride,
        outFirst: first,
        outAll: a.in,
        stride: 1,
        offsets: found.map((t) => t.offset),
      },
    });
  }
  return phases;
}

interface ConvPart {
  readonly rows: ConvRows;
  readonly pack: PackB | "rows";
}

/** Runs the parts over groups of images, each group padded into memory of its own where the window overhangs. */
function runConv(
  engine: Engine,
  parts: readonly ConvPart[],
  columns: number,
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
  const prepare = (given: boolean): FastRun => {
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
          sums[k].run(own, items, operandsFrom(epilogue, operands, c), { isPacked });
          own += work[k];
          if (isPacked) filter += forms[k].bytes;
        });
      }
    };
  };
  const key = forms.map((f) => f.key).join();
  const form = { input: 1, key, bytes: packedBytes, pack: packAll, run: prepare(true) };
  return Object.assign(prepare(false), { form });
}
