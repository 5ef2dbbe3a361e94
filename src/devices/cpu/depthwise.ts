/**
 * Depthwise convolutions of one filter per channel, and their gradients. Channels last, float32.
 * May import core, kernels and this folder.
 */
import type { Problem } from "../../core/op.ts";
import { exprKey } from "../../core/scalar.ts";
import { type Shape, sizeOf } from "../../core/shape.ts";
import { type WindowGeometry, windowGeometry } from "../../kernels/conv_geometry.ts";
import { type ConvAxis, forwardAxes, type Padded, padImages, type Three } from "./padded_images.ts";
import {
  depthwiseFilterRow,
  depthwiseRow,
  type RowFinish,
  type RowWindow,
} from "./depthwise_rows.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import type { Finish } from "./gemm_tile.ts";
import type { Pointer } from "./heap.ts";
import { importHosts, printSimd } from "./print_simd.ts";
import { windowKernel, WindowTable } from "./windows.ts";
import type { Local } from "./wasm/function_builder.ts";
import { f32x4, f64x2, i32 } from "./wasm/instructions.ts";
import type { F4 } from "./wasm/simd.ts";
import type { Value } from "./wasm/value.ts";

type I = Local<"i32">;

/** Windows of up to this many taps have code of their own. */
const MOST_TAPS = 25;

/** The geometry, or null for several filters per channel and channels first. */
function geometryOf(
  input: Shape,
  filter: Shape,
  { attrs, inputs, outputs, hosts }: Problem,
): WindowGeometry | null {
  const isFloat = inputs.every((s, i) => hosts[i] !== undefined || s.dtype === "float32");
  if (!isFloat || outputs[0].dtype !== "float32" || filter[3] !== 1) return null;
  const g = windowGeometry(input, filter, filter[2], attrs);
  return g.channelsFirst ? null : g;
}

/** The window where it has code of its own: few taps that follow each other. */
function rowWindow({ axes: [, h, w] }: WindowGeometry): RowWindow | null {
  if (h.filter * w.filter > MOST_TAPS || w.dilation !== 1 || w.stride > w.filter) return null;
  return { height: h.filter, width: w.filter, stride: w.stride };
}

/** Rows of places: how many of how many, and how the image lies under them. */
interface Rows {
  readonly batch: number;
  readonly channels: number;
  /** Rows of an image of the result, and places of a row. */
  readonly out: readonly [rows: number, places: number];
  /** Steps in the image from row to row of the result, and from row to row of the window. */
  readonly step: readonly [stride: number, dilation: number];
  readonly padded: Padded;
}

function rowsOf(g: WindowGeometry): Rows {
  const [, h, w] = g.axes;
  return {
    batch: g.batch,
    channels: g.channels,
    out: [h.out, w.out],
    step: [h.stride, h.dilation],
    padded: padImages(forwardAxes(g), g.batch, g.channels),
  };
}

/** Visits the rows of the result: where each is, where its window begins, and the distance of the window's rows. */
function eachRow(
  engine: Engine,
  { channels, out: [rows, places], step: [stride, dilation], padded }: Rows,
  images: Pointer,
  visit: (out: number, image: Pointer, rowBytes: number) => void,
  afterImage: (image: number) => void = () => {},
): void {
  const line = padded.steps[1];
  const at = padded.bytes > 0 ? engine.scratch(padded.bytes) : 0;
  padded.clear(engine, at);
  for (const group of padded.groups) {
    const base = padded.fill(engine, at, images, group);
    for (let image = 0; image < group.images; image++) {
      const number = group.first + image;
      for (let y = 0; y < rows; y++) {
        const out = (number * rows + y) * places * 4 * channels;
        visit(out, base + image * padded.imageBytes + y * stride * line, dilation * line);
      }
      afterImage(number);
    }
  }
}

function finishOf(finish: Finish | undefined): Parameters<typeof depthwiseRow>[2] {
  if (!finish) return undefined;
  const { expr, operands } = finish;
  const apply: RowFinish = (s, sum, pointers, channel) => {
    const args = operands.map((per, i): F4 =>
      s.f.let(
        per === "all" ? f32x4.loadSplat(pointers[i]) : f32x4.load(i32.add(pointers[i], channel)),
      )
    );
    return printSimd(s, [expr], ["float32", ...operands.map(() => "float32" as const)], [
      sum,
      ...args,
    ])[0] as F4;
  };
  return {
    key: `${exprKey(expr)} ${operands}`,
    operands: operands.length,
    apply,
    imports: (m) => importHosts(m, [expr]),
  };
}

/** DepthwiseConv2dNative; `finish` reads the inputs after the first two. */
export function prepareDepthwise(
  engine: Engine,
  problem: Problem,
  finish?: Finish,
): FastRun | null {
  const { inputs: [x, filter] } = problem;
  const g = geometryOf(x.shape, filter.shape, problem);
  if (g === null || finish?.operands.includes("element")) return null;
  const window = rowWindow(g);
  return window ? prepareRows(engine, g, window, finish) : prepareWindows(engine, g, finish);
}

function prepareRows(
  engine: Engine,
  g: WindowGeometry,
  window: RowWindow,
  finish: Finish | undefined,
): FastRun {
  const run = depthwiseRow(engine, window, finishOf(finish));
  const rows = rowsOf(g);
  return ([y], [x, filter, ...operands]) =>
    eachRow(engine, rows, x, (out, image, rowBytes) => {
      run(y + out, image, filter, rows.out[1], g.channels, rowBytes, ...operands);
    });
}

const at = (base: I, offset: I, channel: I): Value<"i32"> =>
  i32.add(i32.add(base, offset), channel);
/** Address of a tap's filter at the channel in hand. */
const ofTap = (base: I, tap: I, channels: Value<"i32">, channel: I): Value<"i32"> =>
  i32.add(i32.add(base, i32.mul(tap, channels)), channel);

/** Any window, place by place. */
function prepareWindows(engine: Engine, g: WindowGeometry, finish: Finish | undefined): FastRun {
  const table = new WindowTable(g);
  const after = finishOf(finish);
  const name = `depthwise ${after?.key}`;
  const run = windowKernel(
    engine,
    name,
    3 + (after?.operands ?? 0),
    (w, [y, p, weights, ...operands]) => {
      const { f, s } = w;
      const sums = Array.from({ length: w.width }, () => f.variable("f32x4", s.k(0)));
      w.taps((image, tap) => {
        const factors = w.load(ofTap(weights, tap, w.channelBytes, w.channel));
        w.load(at(p, image, w.channel)).forEach((v, u) =>
          f.set(sums[u], s.madd(v, factors[u], sums[u]))
        );
      });
      const results = sums.map((sum, u) =>
        after ? f.let(after.apply(s, sum, operands, i32.add(w.channel, 16 * u))) : sum
      );
      w.store(at(y, w.out, w.channel), results);
    },
    after?.imports,
  );
  return ([y], [x, ...rest]) =>
    run(table, [[y, "result"], [x, "image"], ...rest.map((p) => [p, "all"] as const)]);
}

/** DepthwiseConv2dNativeBackpropInput. */
export const prepareDepthwiseInputGradient: FastPrepare = (engine, problem) => {
  const { inputs: [, filter], outputs: [dx] } = problem;
  const g = geometryOf(dx.shape, filter.shape, problem);
  if (g === null) return null;
  const window = rowWindow(g);
  if (window && g.axes.every((a) => a.stride === 1 && a.dilation === 1)) {
    return prepareTurned(engine, g, window);
  }
  const bytes = 4 * sizeOf(dx.shape), table = new WindowTable(g);
  const run = windowKernel(engine, "depthwise input gradient", 3, (w, [to, weights, dy]) => {
    const gradient = w.load(at(dy, w.out, w.channel));
    w.taps((image, tap) => {
      const factors = w.load(ofTap(weights, tap, w.channelBytes, w.channel));
      const here = w.f.let(at(to, image, w.channel));
      w.store(here, w.load(here).map((v, u) => w.f.let(w.s.madd(gradient[u], factors[u], v))));
    });
  });
  return ([to], [, weights, dy]) => {
    engine.zero(to, bytes);
    run(table, [[to, "image"], [weights, "all"], [dy, "result"]]);
  };
};

/** Without strides the gradient of the image is a convolution of the gradient with the filter turned round. */
function prepareTurned(engine: Engine, g: WindowGeometry, window: RowWindow): FastRun {
  const run = depthwiseRow(engine, window, undefined);
  const axes = g.axes.map((a): ConvAxis => ({
    in: a.out,
    out: a.in,
    outStep: 1,
    outFirst: 0,
    outAll: a.in,
    stride: 1,
    offsets: Array.from({ length: a.filter }, (_, t) => a.before - a.filter + 1 + t),
  })) as unknown as Three<ConvAxis>;
  const rows: Rows = {
    batch: g.batch,
    channels: g.channels,
    out: [g.axes[1].in, g.axes[2].in],
    step: [1, 1],
    padded: padImages(axes, g.batch, g.channels),
  };
  const taps = window.height * window.width, tapBytes = 4 * g.channels;
  // The window of the first place begins where its first offset reads, which may lie inside.
  const begin = axes.reduce(
    (n, a, i) => n + (rows.padded.before[i] + a.offsets[0]) * rows.padded.steps[i],
    0,
  );
  return ([to], [, filter, dy]) => {
    const { heap } = engine;
    const turned = heap.alloc(taps * tapBytes);
    for (let t = 0; t < taps; t++) {
      const from = filter + (taps - 1 - t) * tapBytes;
      heap.u8.copyWithin(turned + t * tapBytes, from, from + tapBytes);
    }
    eachRow(engine, rows, dy, (out, image, rowBytes) => {
      run(to + out, image + begin, turned, rows.out[1], g.channels, rowBytes);
    });
    heap.free(turned, taps * tapBytes);
  };
}

/** DepthwiseConv2dNativeBackpropFilter: float32 within an image, float64 over the images. */
export const prepareDepthwiseFilterGradient: FastPrepare = (engine, problem) => {
  const { inputs: [x], outputs: [df] } = problem;
  const g = geometryOf(x.shape, df.shape, problem);
  const window = g && rowWindow(g);
  if (g === null || window === null) return null;
  const row = depthwiseFilterRow(engine, window);
  const rows = rowsOf(g);
  const { fold, settle } = wideSums(engine);
  const size = sizeOf(df.shape), sumBytes = 32 * Math.ceil(size / 4), places = g.axes[2].out;
  return ([to], [images, , dy]) => {
    const sums = engine.heap.alloc(sumBytes);
    engine.zero(sums, sumBytes);
    engine.zero(to, 4 * size);
    eachRow(engine, rows, images, (out, image, rowBytes) => {
      row(to, image, dy + out, places, g.channels, rowBytes);
    }, () => {
      fold(sums, to, size);
      engine.zero(to, 4 * size);
    });
    settle(to, sums, size);
    engine.heap.free(sums, sumBytes);
  };
};

/** `fold(sums, part, count)` adds float32 to float64; `settle(out, sums, count)` rounds them. Both walk whole vectors. */
function wideSums(engine: Engine) {
  return engine.compile("depthwise sums", (m) => {
    m.function("fold", ["i32", "i32", "i32"], null, (f, sums, part, count) => {
      f.while(i32.gt(count, 0), () => {
        const v = f.let(f32x4.load(part)), high = f32x4.shuffle(v, v, [2, 3, 2, 3]);
        f.store(sums, f64x2.add(f64x2.load(sums), f64x2.ofF32(v)));
        f.store(sums, f64x2.add(f64x2.load(sums, 16), f64x2.ofF32(high)), 16);
        f.advance(sums, 32);
        f.advance(part, 16);
        f.advance(count, -4);
      });
    });
    m.function("settle", ["i32", "i32", "i32"], null, (f, out, sums, count) => {
      f.while(i32.gt(count, 0), () => {
        const [low, high] = [0, 16].map((o) => f32x4.ofF64(f64x2.load(sums, o)));
        f.store(out, f32x4.shuffle(low, high, [0, 1, 4, 5]));
        f.advance(out, 16);
        f.advance(sums, 32);
        f.advance(count, -4);
      });
    });
  });
}
