/** Depthwise convolutions, of one or more filters per channel, and their gradients. Channels last, float32. */
import type { Epilogue } from "../../../core/fusion.ts";
import { NdArray } from "../../../core/nd_array.ts";
import type { Problem } from "../../../core/op.ts";
import { argument } from "../../../core/scalar/expr.ts";
import { type Shape, sizeOf } from "../../../core/shape.ts";
import { inPlaces, type WindowAxis, type WindowGeometry } from "../../../kernels/conv/geometry.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { epilogueKey, importEpilogue, type SumsPrepare } from "../gemm/epilogue.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import { floatWindow, type WindowCode, windowKernel, windowTable } from "../pool/windows.ts";
import { prepareReduction } from "../reduce/reduce.ts";
import type { I } from "../wasm/function_builder.ts";
import { i32 } from "../wasm/instructions.ts";
import { finisher } from "./depthwise_blocks.ts";
import { prepareFilterGradient } from "./depthwise_filter.ts";
import { rowPlan, rowWindow } from "./depthwise_plan.ts";
import { depthwiseRows } from "./depthwise_rows.ts";
import { depthwiseWide, isWide } from "./depthwise_wide.ts";

function geometryOf(problem: Problem, input: Shape, filter: Shape): WindowGeometry | null {
  return floatWindow(problem, input, filter, filter[2] * filter[3]);
}

/** Converts the geometry to a channel for each filter. */
function channelPerFilter(g: WindowGeometry): WindowGeometry {
  return { ...g, channels: g.outChannels };
}

/** DepthwiseConv2dNative; `epilogue` reads the inputs after the first two. */
export const prepareDepthwise: SumsPrepare = (engine, problem, epilogue) => {
  const { inputs: [x, filter] } = problem;
  const g = geometryOf(problem, x.shape, filter.shape);
  if (g === null || epilogue?.operands.some((o) => o.per === "element")) return null;
  if (g.outChannels === 0) return () => {};
  if (rowWindow(g)) return prepareRows(engine, g, epilogue);
  return g.outChannels === g.channels
    ? prepareWindows(engine, g, epilogue)
    : prepareRepeated(engine, g, epilogue);
};

/**
 * Prepares a convolution whose window has its own code; its inputs are the image, the filter and the operands of
 * `epilogue`.
 */
function prepareRows(engine: Engine, g: WindowGeometry, epilogue?: Epilogue): FastRun {
  const problem = { ...g, window: rowWindow(g)! }, wide = isWide(g);
  const run = (wide ? depthwiseWide : depthwiseRows)(engine, problem, epilogue);
  const plan = rowPlan(engine, g, wide);
  return ([y], ins) => plan.run(run, [y, ...ins]);
}

/** Prepares one filter per channel of an image whose channels are repeated. */
function prepareRepeated(engine: Engine, g: WindowGeometry, epilogue?: Epilogue): FastRun | null {
  const size = g.batch * inPlaces(g) * g.channels, shape = [size, g.outChannels / g.channels];
  const bytes = 4 * sizeOf(shape);
  const from = { dtype: "float32", shape: [size, 1] } as const;
  const repeat = preparePointwise(engine, [argument(0)], [from], shape);
  const run = prepareWindows(engine, channelPerFilter(g), epilogue);
  return repeat && ((outs, [x, ...rest]) =>
    engine.heap.lend(bytes, (repeated) => {
      repeat([repeated], [x]);
      run(outs, [repeated, ...rest]);
    }));
}

/** Prepares any window, place by place. */
function prepareWindows(engine: Engine, g: WindowGeometry, epilogue?: Epilogue): FastRun {
  const table = windowTable(g), pointers = 3 + (epilogue?.operands.length ?? 0);
  const write = (w: WindowCode, [y, p, weights, ...operands]: readonly I[]): void => {
    const { f, s } = w;
    const sums = Array.from({ length: w.width }, () => f.variable("f32x4", s.k(0)));
    w.taps((image, tap) => {
      const factors = w.load(w.atTap(weights, tap));
      w.load(w.at(p, image)).forEach((v, u) => f.set(sums[u], s.madd(v, factors[u], sums[u])));
    });
    const finish = finisher(s, epilogue, operands);
    w.store(w.at(y, w.out), sums.map((sum, u) => finish(sum, i32.add(w.channel, 16 * u))));
  };
  const key = `depthwise ${epilogueKey(epilogue)}`;
  const run = windowKernel(engine, key, pointers, write, importEpilogue(epilogue));
  return ([y], [x, ...rest]) =>
    run(table, [[y, "result"], [x, "image"], ...rest.map((p) => [p, "all"] as const)]);
}

/** DepthwiseConv2dNativeBackpropInput. */
export const prepareDepthwiseInputGradient: FastPrepare = (engine, problem) => {
  const { inputs: [, filter], outputs: [dx] } = problem;
  const g = geometryOf(problem, dx.shape, filter.shape);
  if (g === null) return null;
  if (g.channels === 0) return () => {};
  if (g.outChannels === g.channels) return prepareInputGradient(engine, g);
  const run = prepareInputGradient(engine, channelPerFilter(g));
  const shape = [sizeOf(dx.shape), filter.shape[3]], bytes = 4 * sizeOf(shape);
  const sum = prepareReduction(engine, {
    inputs: [{ dtype: "float32", shape }, { dtype: "int32", shape: [1] }],
    hosts: [undefined, new NdArray("int32", [1], Int32Array.of(1))],
    outputs: [{ dtype: "float32", shape: shape.slice(0, 1) }],
    attrs: {},
  }, { op: "sum" });
  return sum && (([to], ins) =>
    engine.heap.lend(bytes, (gradients) => {
      run([gradients], ins);
      sum([to], [gradients]);
    }));
};

/** Prepares the gradient with one filter per channel. */
function prepareInputGradient(engine: Engine, g: WindowGeometry): FastRun {
  if (rowWindow(g) && g.axes.every((a) => a.stride === 1)) return prepareTurned(engine, g);
  const bytes = 4 * g.batch * inPlaces(g) * g.channels, table = windowTable(g);
  const run = windowKernel(engine, "depthwise input gradient", 3, (w, [to, weights, dy]) => {
    const gradient = w.load(w.at(dy, w.out));
    w.taps((image, tap) => {
      const factors = w.load(w.atTap(weights, tap));
      w.update(w.at(to, image), (v, u) => w.s.madd(gradient[u], factors[u], v));
    });
  });
  return ([to], [, weights, dy]) => {
    engine.zero(to, bytes);
    run(table, [[to, "image"], [weights, "all"], [dy, "result"]]);
  };
}

/** Prepares the gradient without strides: a convolution of the gradient with the reversed filter. */
function prepareTurned(engine: Engine, g: WindowGeometry): FastRun {
  const axes = g.axes.map((a): WindowAxis => {
    const reach = (a.filter - 1) * a.dilation;
    return { ...a, in: a.out, out: a.in, before: reach - a.before, after: reach - a.after };
  }) as unknown as WindowGeometry["axes"];
  const run = prepareRows(engine, { ...g, axes });
  const taps = g.axes[1].filter * g.axes[2].filter, tapBytes = 4 * g.channels;
  return (outs, [, filter, dy]) =>
    engine.heap.lend(taps * tapBytes, (turned) => {
      for (let t = 0; t < taps; t++) {
        const from = filter + (taps - 1 - t) * tapBytes;
        engine.heap.u8.copyWithin(turned + t * tapBytes, from, from + tapBytes);
      }
      run(outs, [dy, turned]);
    });
}

/** DepthwiseConv2dNativeBackpropFilter. */
export const prepareDepthwiseFilterGradient: FastPrepare = (engine, problem) => {
  const { inputs: [x], outputs: [df] } = problem;
  const g = geometryOf(problem, x.shape, df.shape);
  return g && prepareFilterGradient(engine, g);
};
