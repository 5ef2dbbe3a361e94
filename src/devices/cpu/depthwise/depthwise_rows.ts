/**
 * Kernels of depthwise convolutions: the filters of four channels stay in registers while places pass by.
 */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Epilogue } from "../gemm/epilogue.ts";
import type { Local } from "../wasm/function_builder.ts";
import { f32x4, i32, i32x4 } from "../wasm/instructions.ts";
import { laneNumbers } from "../wasm/simd.ts";
import type { RowProblem, RowWindow } from "./depthwise_plan.ts";
import { type RowCode, rowWalk, TOGETHER } from "./depthwise_walk.ts";

/** Variables for the taps of a window, and what visits them with the addresses of their filters. */
function tapsOf({ s: { f }, step, channel, filter }: RowCode, { height, width }: RowWindow) {
  const taps = Array.from({ length: height }, () => f.locals("f32x4", width));
  const each = (visit: (tap: Local<"f32x4">, at: Local<"i32">) => void): void => {
    const at = f.variable("i32", i32.add(filter, channel));
    taps.flat().forEach((tap, i) => {
      if (i > 0) f.advance(at, step);
      visit(tap, at);
    });
  };
  return { taps, each };
}

/** The convolution. */
export function depthwiseRows(
  engine: Engine,
  problem: RowProblem,
  epilogue: Epilogue | undefined,
): WasmFunction {
  return rowWalk(engine, { ...problem, name: "rows", epilogue }, (code) => {
    const { s, place, step, channel, store, finish } = code, { f } = s;
    const { taps, each } = tapsOf(code, problem.window), sums = f.locals("f32x4", TOGETHER[0]);
    return {
      open: () => each((tap, at) => f.set(tap, f32x4.load(at))),
      begin: (count) => sums.slice(0, count).forEach((sum) => f.set(sum, s.k(0))),
      tap: (v, { i, j, k }) => f.set(sums[k], s.madd(v, taps[i][j], sums[k])),
      end: (count) =>
        f.ramp(place, step, count).forEach((to, k) => store(to, finish(sums[k], channel))),
      close: () => {},
    };
  });
}

/** Adds to the gradient of the filter; the walk's result is the gradient of the result, its filter that of the filter. */
export function depthwiseFilterRows(engine: Engine, problem: RowProblem): WasmFunction {
  return rowWalk(engine, { ...problem, name: "filter gradient" }, (code) => {
    const { s, place, step, again, store } = code, { f } = s;
    const { taps, each } = tapsOf(code, problem.window), gradients = f.locals("f32x4", TOGETHER[0]);
    return {
      open: () => taps.flat().forEach((tap) => f.set(tap, s.k(0))),
      begin: (count) =>
        f.ramp(place, step, count).forEach((at, k) => f.set(gradients[k], f32x4.load(at))),
      tap: (v, { i, j, k }) => f.set(taps[i][j], s.madd(v, gradients[k], taps[i][j])),
      end: () => {},
      close: () => {
        // What the vector before has added is not added again.
        const own = f.let(f32x4.ofBits(i32x4.ge(laneNumbers(f), i32x4.splat(again))));
        each((tap, at) => store(at, f.let(f32x4.add(f32x4.load(at), f32x4.and(tap, own)))));
      },
    };
  });
}
